"""delta along a list of eps by one product, against the same values at each eps alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from flint import acb, arb, ctx

from verified_dp import DiscreteGaussian, Gaussian, Laplace, PoissonSampled, compose, privacy_profile
from verified_dp.core.engines.contour import LineValues
from verified_dp.core.engines.rays import RaysValues
from verified_dp.core.engines.shared import cut, turned_sum
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composition import Mechanism
from verified_dp.search import along
from verified_dp.search.along import Errors, enclose_along, errors_of_line, errors_of_rays
from verified_dp.search.answer import width_bits
from verified_dp.search.deadline import Budget
from verified_dp.search.following import Following
from verified_dp.search.turns import turned_sums

pytestmark = pytest.mark.theorem("T225-along")
CASES: list[tuple[Mechanism, int, type]] = [
    (PoissonSampled(Gaussian("1.5"), "0.01"), 10**4, LineValues), (PoissonSampled(Gaussian(1), "0.01"), 2, RaysValues),
    (Laplace("20", 1), 1000, LineValues), (PoissonSampled(DiscreteGaussian(4, 1), "0.01"), 1000, LineValues)]
EPSILONS = [Fraction(1, 4) + Fraction(5 * i, 4 * 63) for i in range(64)]


def served(step: Mechanism, count: int, epsilons: Sequence[Fraction] = EPSILONS) -> list[LineValues | RaysValues]:
    """The values of what serves the eps."""
    order = privacy_profile(compose((step, count)), "remove").following()._orders[0]
    assert isinstance(order, Following)
    with ctx.workprec(128):
        order.serve(epsilons, 15.0, "auto", Budget(None))
        kept = [] if order._served else [order.enclose(epsilons[len(epsilons) // 2], 24.0, "auto", Budget(None))]
    return [one.values for one in (*(one.answer for one in order._served), *kept)]  # type: ignore[misc]


@pytest.mark.parametrize(("step", "count", "kind"), CASES)
def test_lists_enclose_what_each_eps_alone_does(step: Mechanism, count: int, kind: type) -> None:
    for values in served(step, count):
        assert isinstance(values, kind)
        with ctx.workprec(128):
            found = enclose_along(values, EPSILONS)
            for at, one in zip(EPSILONS, found, strict=True):
                own = values.delta(at)
                assert one.lower <= own.upper and own.lower <= one.upper
                assert width_bits(one) >= width_bits(own) - 5
                assert all(one.budget[name] >= size * (1 - arb(2) ** -40) for name, size in own.budget.items()
                           if size > 0 and name != "rounding")


@pytest.mark.parametrize(("step", "count"), [CASES[0][:2]])
def test_errors_left_out_would_show(step: Mechanism, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum of a few terms alone, without its errors, is not delta."""
    values = served(step, count)[0]
    monkeypatch.setattr(along, "errors_of_line", lambda _: Errors([arb(1)], {}))
    with ctx.workprec(128):
        wrong = enclose_along(values, EPSILONS)
    sharp = privacy_profile(compose((step, count)), "remove").delta(EPSILONS[::9], 30)
    assert any(one.upper < best.lower.as_fraction() or one.lower > best.upper.as_fraction()  # type: ignore[union-attr]
               for one, best in zip((_Ends.of(bounds) for bounds in wrong[::9]), sharp, strict=True))


class _Ends:
    """Exact ends of bounds."""

    def __init__(self, lower: Fraction, upper: Fraction) -> None:
        self.lower, self.upper = lower, upper

    @classmethod
    def of(cls, bounds: along.Bounds) -> _Ends:
        low, high = bounds.ends()
        return cls(low.as_fraction(), high.as_fraction())  # type: ignore[union-attr]


@pytest.mark.parametrize(("step", "count", "kind"), CASES[:2])
def test_errors_are_those_of_the_values_and_convex(step: Mechanism, count: int, kind: type) -> None:
    values = served(step, count)[0]
    errors = errors_of_line(values) if isinstance(values, LineValues) else errors_of_rays(values)
    ends = [errors.bound(ball(EPSILONS[i])) for i in (0, 63)]
    for at in EPSILONS[1:-1:5]:
        found, own = errors.bound(ball(at)), values.bound_errors(at)
        for name, size in found.items():
            assert abs(size / own[name] - 1) < 1e-6 and size <= ends[0][name].max(ends[1][name]) * (1 + arb(2) ** -40)


def test_growing_lists_alone() -> None:
    values = served(*CASES[0][:2])[0]
    assert enclose_along(values, []) == []
    with pytest.raises(ValueError, match="grow"):
        enclose_along(values, [Fraction(1), Fraction(1, 2)])


def test_one_product_for_all_turns() -> None:
    with ctx.workprec(100):
        terms = [acb(arb(3 * m % 7), arb(m % 5)) / (m + 1) for m in range(23)]
        turns = [acb(0, arb(i) / 7).exp() for i in range(9)]
        for turn, one in zip(turns, turned_sums(cut(terms), turns), strict=True):
            assert one.overlaps(turned_sum(cut(terms), turn))
            assert one.overlaps(sum((term * turn**m for m, term in enumerate(terms)), acb(0)))


@pytest.mark.theorem("T16-reversal")
def test_the_swapped_pair_from_the_same_line() -> None:
    profile = privacy_profile(compose((PoissonSampled(Gaussian(1), "0.01"), 1000)), "add-or-remove")
    larger, smaller = profile.following()._orders
    assert isinstance(larger, Following)
    with ctx.workprec(128):
        larger.serve(EPSILONS, 30.0, "auto", Budget(None))
        found = larger.swapped_along(EPSILONS)
        assert len(found) == len(EPSILONS)
        for at in EPSILONS[::9]:
            own = smaller.enclose(at, 30.0, "auto", Budget(None)).bounds
            assert found[at].lower <= own.upper and own.lower <= found[at].upper and width_bits(found[at]) > 5
