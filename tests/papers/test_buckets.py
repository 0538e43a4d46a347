"""Privacy buckets (T174): a baseline whose two ends are proved."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from flint import arb, ctx

from verified_dp import (
    ApproximateDP,
    Composition,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Relation,
    compose,
    privacy_profile,
)
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.papers import accountant
from verified_dp.papers.buckets import bounds
from verified_dp.papers.buckets.bounds import enclose_by_buckets, fill, widen

pytestmark = pytest.mark.theorem("T174-privacy-buckets")
CASES = [
    (compose((PoissonSampled(Gaussian("1"), "1/20"), 60)), "remove", "1/2"),
    (compose((PoissonSampled(Gaussian("2"), "1/10"), 40), (Laplace(20, 1), 7)), "add", "1/2"),
    (compose((RandomizedResponse(3, epsilon="1/5"), 30)), "replace", "1"),
    (compose((DiscreteGaussian(20, 1), 9)), "replace", "1/3"),
    (compose((ApproximateDP("1/10", "1/1000"), 5)), "replace", "1/4"),
]


@pytest.mark.parametrize(("composition", "relation", "epsilon"), CASES)
def test_certified_deltas_lie_between(composition: Composition, relation: str, epsilon: str) -> None:
    """Four times as many buckets: about a quarter of the width."""
    profile = privacy_profile(composition, relation)
    truth, widths = profile.delta(epsilon), []
    for buckets in (512, 2048):
        found = accountant(profile, "buckets", buckets=buckets).delta(epsilon).enclosure
        assert found is not None and found.lower <= truth.upper and truth.lower <= found.upper
        widths.append(float(found.upper.as_fraction() - found.lower.as_fraction()))
    assert 0 < widths[1] < 0.5 * widths[0]


def test_too_few_buckets_are_widened() -> None:
    """From a width that one step asks for to one that holds the sum, or what is past the last goes to infinity."""
    profile = privacy_profile(CASES[0][0], "remove")
    narrow = accountant(profile, "buckets", buckets=256, width="1/100").delta("1/2")
    assert float(narrow.parameters["width at last"]) in [0.01 * 2**n for n in range(1, 6)]
    assert narrow.enclosure is not None and narrow.enclosure.upper >= profile.delta("1/2").lower


def test_every_rounding_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masses put one bucket lower above, or higher below, miss the truth."""
    loss = privacy_losses(CASES[2][0], Relation.of("replace"))[0]
    (law, _), = loss.laws
    with ctx.workprec(80):
        exact = law.enclose_hockey_stick(arb(1) / 10)
        one = fill(law, Fraction(1, 64), 64)
        for buckets in (one, widen(one)):
            found = enclose_by_buckets(buckets, Fraction(1, 10), arb(0))
            assert found.lower <= exact <= found.upper
        low = replace(one, above=[*one.above[1:], arb(0)])
        high = replace(one, below=[arb(0), *one.below[:-1]])
        assert enclose_by_buckets(low, Fraction(1, 10), arb(0)).upper < exact
        assert enclose_by_buckets(high, Fraction(1, 10), arb(0)).lower > exact


def test_what_overflows_is_counted() -> None:
    loss = privacy_losses(CASES[0][0], Relation.of("remove"))[0]
    (law, _), = loss.laws
    with ctx.workprec(80):
        one = fill(law, Fraction(1, 64), 64)
        two = bounds.compose(one, one)
        assert two.infinity > 2 * one.infinity
        total = sum(two.above, arb(0)) + two.infinity
        assert total >= 1 and sum(two.below, arb(0)) <= 1


def test_parameters() -> None:
    profile = privacy_profile(CASES[0][0], "remove")
    for wrong in ({"buckets": 10}, {"buckets": 18}, {"width": 0}):
        with pytest.raises(InvalidInput, match="buckets"):
            accountant(profile, "buckets", **wrong)
