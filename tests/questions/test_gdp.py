"""The least mu: never below delta, refuted just under it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import pytest
from flint import arb, ctx

from verified_dp import (
    ApproximateDP,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    MixtureOfGaussians,
    PoissonSampled,
    RandomizedResponse,
    compose,
    privacy_profile,
)
from verified_dp.core.kernel.balls import ball, lower_dyadic, upper_dyadic
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composition import Composition, Mechanism
from verified_dp.core.kernel.gaussian import enclose_gaussian_profile
from verified_dp.enclosure import Enclosure
from verified_dp.questions.gdp import GaussianFit, Known, farthest_move, is_below_gaussian, is_too_small

SAMPLED = compose((PoissonSampled(Gaussian("1"), "0.01"), 1000))
CASES: dict[str, tuple[Composition, str, str | None]] = {
    "Laplace": (compose((Laplace("5", "1"), 3)), "replace", None),
    "many Laplace": (compose((Laplace("20", "1"), 100)), "add-or-remove", None),
    "sampled": (SAMPLED, "add-or-remove", "3"),
    "one order": (SAMPLED, "add", "3"),
    "discrete": (compose(DiscreteGaussian("4", 1)), "remove", "2"),
}


def gaussian(oracle: ModuleType, mu: object, epsilon: Fraction) -> object:
    m, e = oracle.real(mu), oracle.real(epsilon)
    tail = [oracle.mp.erfc((e / m + sign * m / 2) / oracle.mp.sqrt(2)) / 2 for sign in (-1, 1)]
    return tail[0] - oracle.mp.exp(e) * tail[1]


@pytest.mark.theorem("T129-gaussian-guarantee")
@pytest.mark.parametrize("name", CASES)
def test_no_delta_is_above_and_some_delta_is_above_a_little_less(oracle: ModuleType, name: str) -> None:
    composition, relation, most = CASES[name]
    profile = privacy_profile(composition, relation)
    found = profile.gdp(most)
    assert found.status == "certified" and found.quantity == "gdp"
    end = Fraction(most or 2)
    swapped = {"add": "remove", "remove": "add"}.get(relation, relation)
    above = []
    for n in range(41):
        epsilon = end * n / 40
        both = [privacy_profile(composition, one).delta(epsilon, 5) for one in (relation, swapped)]
        assert all(oracle.real(one.lower) <= gaussian(oracle, found.upper, epsilon) for one in both)
        above += [oracle.real(one.upper) > gaussian(oracle, found.lower.as_fraction() * Fraction(99, 100), epsilon)
                  for one in both]
    assert any(above)


@pytest.mark.theorem("T129-gaussian-guarantee")
def test_closed_forms(oracle: ModuleType) -> None:
    """Gaussian steps; randomised response, whose delta at 0 decides: tanh(1/2) = 2 F(mu/2) - 1."""
    mu = privacy_profile(compose((Gaussian("2"), 3)), "add-or-remove").gdp(digits=9)
    assert mu.lower.as_fraction() ** 2 <= Fraction(3, 4) <= mu.upper.as_fraction() ** 2 and mu.status == "certified"
    answer = privacy_profile(RandomizedResponse(2, epsilon="1"), "replace").gdp()
    root = 2 * oracle.mp.sqrt(2) * oracle.mp.erfinv(oracle.mp.tanh(oracle.mpf(1) / 2))
    assert oracle.real(answer.lower) <= root <= oracle.real(answer.upper)


@pytest.mark.theorem("T129-gaussian-guarantee")
@pytest.mark.parametrize(("step", "count", "relation", "square"), [
    (PoissonSampled(Gaussian("1"), "0.01"), 1000, "add-or-remove", 1000),
    (PoissonSampled(Gaussian("2"), "0.9"), 3, "add", Fraction(3, 4)),
    (PoissonSampled(Gaussian("2"), "0.5"), 3, "replace", Fraction(3, 4)),
    (MixtureOfGaussians("2", ["0", "1", "3"], ["0.5", "0.3", "0.2"]), 4, "remove", 9),
])
def test_sampling_gains_nothing_at_all_epsilons(step: Mechanism, count: int, relation: str, square: Fraction) -> None:
    found = privacy_profile(compose((step, count)), relation).gdp()
    assert found.status == "certified" and found.lower.as_fraction() ** 2 <= square <= found.upper.as_fraction() ** 2


@pytest.mark.theorem("T129-gaussian-guarantee")
@pytest.mark.parametrize(("relation", "q", "epsilon"), [("remove", "1/2", "14"), ("replace", "1/10", "120")])
def test_far_out_sampled_steps_exceed_a_smaller_mu(relation: str, q: str, epsilon: str) -> None:
    """Of two steps mu is sqrt(2): a sixth less does at small eps and not at large ones."""
    profile, square = privacy_profile(compose((PoissonSampled(Gaussian("1"), q), 2)), relation), Fraction(25, 18)
    with ctx.workprec(200):
        below, above = (enclose_gaussian_profile(square, ball(Fraction(e))) for e in ("1/2", epsilon))
        assert profile.delta("1/2").upper.as_fraction() < Fraction(float(below))
        assert profile.delta(epsilon).lower.as_fraction() > Fraction(float(above))


@pytest.mark.theorem("T129-gaussian-guarantee")
def test_at_all_epsilons() -> None:
    """Records replaced in large samples lie two distances apart, outermost means one; never with mass at infinity."""
    large = privacy_profile(compose((PoissonSampled(Gaussian("1"), "3/4"), 2)), "replace").gdp(digits=2)
    assert large.lower.as_fraction() ** 2 >= 2 - Fraction(1, 10**4) and large.upper.as_fraction() ** 2 < 9
    assert large.status == "wide"
    caught = privacy_profile(ApproximateDP("1", "1e-6"), "replace")
    assert caught.gdp().lower.is_infinite and caught.gdp(1).status == "certified"


@pytest.mark.theorem("T129-gaussian-guarantee")
def test_bounded_steps_beside_gaussian_ones() -> None:
    """Squares add up: at most those of the parts alone, at least the Gaussian ones."""
    noise = privacy_profile(Laplace("5", "1"), "remove").gdp().upper.as_fraction() ** 2
    both = compose((Laplace("5", "1"), 3), (PoissonSampled(Gaussian("1"), "0.01"), 10))
    found = privacy_profile(both, "remove").gdp()
    assert found.lower.as_fraction() ** 2 * (1 + Fraction(1, 10**5)) >= 10
    assert found.upper.as_fraction() ** 2 <= (10 + 3 * noise) * (1 + Fraction(1, 10**5))


@pytest.mark.theorem("T129-gaussian-guarantee")
def test_couplings_in_order() -> None:
    thirds = [(Fraction(0), Fraction(2, 3)), (Fraction(2), Fraction(1, 3))]
    assert farthest_move(thirds, [(Fraction(-1), Fraction(1, 2)), (Fraction(0), Fraction(1, 2))]) == 2
    assert farthest_move(thirds, [(Fraction(0), Fraction(2, 3)), (Fraction(1), Fraction(1, 3))]) == 1
    assert farthest_move(thirds, [(Fraction(-1), Fraction(1, 3)), (Fraction(0), Fraction(2, 3))]) == 2
    with pytest.raises(ValueError, match="equal sums"):
        farthest_move(thirds, [(Fraction(0), Fraction(1, 2))])


def curve(square: str, bump: tuple[str, str] | None = None) -> Callable[[Fraction, int], Enclosure]:
    """A Gaussian's delta, or that of another one on an interval next to a point."""
    def delta(epsilon: Fraction, digits: int) -> Enclosure:
        near = bump is not None and abs(epsilon - Fraction(bump[0])) < Fraction(1, 100)
        value = enclose_gaussian_profile(Fraction(bump[1] if near and bump else square), ball(epsilon))
        return Enclosure(lower_dyadic(value), upper_dyadic(value), quantity="delta", method="closed-form",
                         order="both", relation="replace")

    return delta


@pytest.mark.theorem("T129-gaussian-guarantee")
def test_cells_prove_a_curve_and_find_a_bump() -> None:
    with ctx.workprec(160):
        low, high = GaussianFit([curve("4")], Fraction(6), 4).enclose()
        assert low <= 2 <= high and high - low < arb("2e-4")
        low, _ = GaussianFit([curve("4", ("3", "5"))], Fraction(6), 3).enclose()
        assert low > arb("2.2"), "3 is a corner of the first cells' halves"
        ends = [Known(Fraction(e), Bounds(delta, delta, {})) for e in (1, 2)
                for delta in [enclose_gaussian_profile(Fraction(1), arb(e))]]
        assert not is_below_gaussian(*ends, Fraction(1)), "chord and tangent of one curve"
        assert is_below_gaussian(*ends, Fraction(3, 2)) and is_too_small(ends[0], Fraction(9, 10))
        assert not is_too_small(ends[0], Fraction(11, 10))
