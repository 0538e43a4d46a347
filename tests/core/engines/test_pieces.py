"""Exact compositions: against exact rationals, published 30-digit values, direct sums, and the contour."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, prod

import mpmath
import pytest
from flint import arb, ctx

from verified_dp.core.engines import truncated
from verified_dp.core.engines.closed import ClosedFormWitness, has_closed_form
from verified_dp.core.engines.pieces import count_pieces
from verified_dp.core.engines.sums import is_exact
from verified_dp.core.families.finite.atomic import DiscreteLaplaceLoss, FiniteLoss, OddsLoss, SampledAtomicLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law

F = Fraction
Masses = list[tuple[Fraction, Fraction]]


def composed(*parts: tuple[Law, int]) -> ComposedLoss:
    return ComposedLoss("symmetric", parts, F(0))


def enclosed(loss: ComposedLoss, epsilon: str | Fraction, prec: int = 300) -> Bounds:
    assert has_closed_form(loss)
    return ClosedFormWitness(prec).evaluate(loss).delta(F(epsilon))


def assert_is(bounds: Bounds, exact: mpmath.mpf, tolerance: str) -> None:
    """The enclosure is narrow and at the exact value."""
    with mpmath.workdps(70):
        lower, upper = (mpmath.mpf(end.str(65, radius=False)) for end in (bounds.lower, bounds.upper))
        assert upper - lower < mpmath.mpf(tolerance)
        assert abs(lower - exact) < mpmath.mpf(tolerance)


def composed_exactly(parts: list[tuple[Masses, int]], epsilon: str) -> mpmath.mpf:
    """sum (P - e^eps Q)_+ over all outcomes of the composition, P and Q exact rationals."""
    outcomes: Counter[tuple[Fraction, Fraction]] = Counter({(F(1), F(1)): 1})
    for masses, count in parts:
        for _ in range(count):
            step: Counter[tuple[Fraction, Fraction]] = Counter()
            for ((p, q), times), (a, b) in product(outcomes.items(), masses):
                step[p * a, q * b] += times
            outcomes = step
    with mpmath.workdps(70):
        alpha = mpmath.exp(mpmath.mpf(F(epsilon).numerator) / F(epsilon).denominator)
        rows = [(times * mpmath.mpf(p.numerator) / p.denominator, times * mpmath.mpf(q.numerator) / q.denominator)
                for (p, q), times in outcomes.items()]
        return mpmath.fsum(max(p - alpha * q, 0) for p, q in rows)


RESPONSE = [(F(5, 8), F(1, 8)), (F(1, 8), F(5, 8)), (F(1, 4), F(1, 4))]
COIN = [(F(3, 4), F(1, 4)), (F(1, 4), F(3, 4))]
SKEW = [(F(1, 2), F(1, 3)), (F(1, 3), F(1, 6)), (F(1, 6), F(1, 2))]
HOLED = [(F(1, 2), F(1, 5)), (F(2, 5), F(1, 5)), (F(0), F(3, 5)), (F(1, 10), F(0))]


@pytest.mark.theorem("T47-enumeration", "T46-atoms", "T44-infinity-mass", "T54-randomized-response", "T55-finite")
@pytest.mark.parametrize("masses", [RESPONSE, COIN, SKEW, HOLED], ids=["response", "coin", "skew", "holed"])
@pytest.mark.parametrize("count", [1, 2, 10])
@pytest.mark.parametrize("epsilon", ["-2", "0", "0.7", "3", "12"])
def test_finite_laws_against_exact_rationals(masses: Masses, count: int, epsilon: str) -> None:
    bounds = enclosed(composed((FiniteLoss(tuple(masses), "symmetric"), count)), epsilon)
    assert_is(bounds, composed_exactly([(masses, count)], epsilon), "1e-55")


@pytest.mark.theorem("T47-enumeration", "T44-infinity-mass")
@pytest.mark.parametrize("epsilon", ["-1", "0.2", "2"])
def test_different_finite_laws_together(epsilon: str) -> None:
    parts = [(SKEW, 2), (HOLED, 3), (COIN, 4)]
    loss = composed(*((FiniteLoss(tuple(masses), "symmetric"), count) for masses, count in parts))
    assert_is(enclosed(loss, epsilon), composed_exactly(parts, epsilon), "1e-55")


@pytest.mark.theorem("T54-randomized-response", "T47-enumeration")
@pytest.mark.parametrize(("count", "epsilon"), [(10, "4"), (10_000, "5400"), (10_000, "5700")])
def test_many_answers_are_a_binomial_sum(count: int, epsilon: str) -> None:
    """P(heads = n) = comb 3^n / 4^k against comb 3^(k-n) / 4^k, exact until the last step."""
    bounds = enclosed(composed((FiniteLoss(tuple(COIN), "symmetric"), count)), epsilon, 1600)
    low = count // 2 + int(F(epsilon) / (2 * F(math.log(3)))) + 1  # (2n - k) log 3 > eps
    kept = range(low, min(low + 700, count) + 1)
    heads, tails = (sum(comb(count, n) * 3**power(n) for n in kept) for power in (lambda n: n, lambda n: count - n))
    with mpmath.workdps(60 + count // 3):
        total = (heads - mpmath.exp(mpmath.mpf(epsilon)) * tails) / mpmath.mpf(4) ** count
        ratio = mpmath.mpf(bounds.lower.str(40, radius=False)) / total
        assert abs(ratio - 1) < mpmath.mpf("1e-30")
        assert mpmath.mpf((bounds.upper - bounds.lower).str(5, radius=False)) < total * mpmath.mpf("1e-30")


@pytest.mark.theorem("T45-pieces", "T40-laplace")
@pytest.mark.parametrize(("ratio", "count", "epsilon", "value"), [
    ("1", 10, "5", "0.207025721449690873428454462223"),
    ("1/2", 20, "3", "0.206550881580435646138802131414"),
    ("1/5", 200, "12", "0.000493599127285591330234998075421"),
])  # fmt: skip
def test_laplace_noise_to_thirty_digits(ratio: str, count: int, epsilon: str, value: str) -> None:
    with mpmath.workdps(40):
        assert_is(enclosed(composed((LaplaceLoss(F(ratio)), count)), epsilon), mpmath.mpf(value), "2e-30")


def spread(law: str, mu: float, cells: int) -> dict[int, mpmath.mpf]:
    """P masses of a fine midpoint discretisation of a law on [-mu, mu]; keys are twice the place in cells."""
    width = mpmath.mpf(2 * mu) / cells
    density = {"laplace": mpmath.exp(-mpmath.mpf(mu) / 2) / 4, "range": 1 / (4 * mpmath.sinh(mpmath.mpf(mu) / 2))}[law]
    edges = [2 * density * mpmath.exp((n * width - mu) / 2) for n in range(cells + 1)]
    masses = {2 * n + 1 - cells: edges[n + 1] - edges[n] for n in range(cells)}
    if law == "laplace":
        masses[cells] = mpmath.mpf(1) / 2
        masses[-cells] = mpmath.exp(-mpmath.mpf(mu)) / 2
    return masses


@pytest.mark.theorem("T45-pieces", "T43-bounded-range", "T40-laplace")
@pytest.mark.parametrize("law", ["laplace", "range"])
@pytest.mark.parametrize("count", [2, 3])
def test_pieces_are_the_convolution(law: str, count: int) -> None:
    """A few steps by a fine discretisation of the law of the loss itself."""
    cells, mu, epsilon = 60, 1.0, 0.4
    masses, total = spread(law, mu, cells), mpmath.mpf(0)
    for places in product(masses, repeat=count):
        loss = sum(places) * mu / cells
        if loss > epsilon:
            total += prod(masses[place] for place in places) * (1 - mpmath.exp(epsilon - loss))
    made = LaplaceLoss(F(1)) if law == "laplace" else BoundedRangeLoss(F(1))
    assert float(enclosed(composed((made, count)), F(2, 5)).lower) == pytest.approx(float(total), rel=2e-3)


@pytest.mark.theorem("T45-pieces", "T47-enumeration", "T44-infinity-mass")
def test_splitting_a_count_changes_nothing() -> None:
    """Laplace noise with twice the loss is not two steps; one law under two names is."""
    one = composed((LaplaceLoss(F(1)), 5), (OddsLoss(F(1, 3), F(1, 50), 2), 4))
    two = composed((LaplaceLoss(F(1)), 2), (LaplaceLoss(F(1), "add"), 3), (OddsLoss(F(1, 3), F(1, 50), 2), 1),
                   (OddsLoss(F(1, 3), F(1, 50), 2, "add"), 3))
    for epsilon in ("-1", "0.5", "3"):
        a, b = enclosed(one, epsilon), enclosed(two, epsilon)
        assert a.lower <= b.upper and b.lower <= a.upper and b.upper - b.lower < 1e-60


@pytest.mark.theorem("T45-pieces")
def test_a_single_step_is_its_own_curve() -> None:
    """The expansion at k = 1 against the closed form of the step; also where eps meets a place exactly."""
    from verified_dp.core.engines.pieces import enclose_exactly
    from verified_dp.core.kernel.balls import ball

    for law in (LaplaceLoss(F(2)), BoundedRangeLoss(F(2)), OddsLoss(F(2), F(1, 7), 3), DiscreteLaplaceLoss(F(1), 2)):
        for epsilon in ("-5", "-2", "-1", "0", "1/3", "2", "3"):
            with ctx.workprec(200):
                exact, curve = (made(ball(F(epsilon))) for made in (
                    lambda e, law=law: enclose_exactly(composed((law, 1)), e), law.enclose_hockey_stick))
                assert exact.overlaps(curve) and exact.rad() < 1e-50


@pytest.mark.theorem("T48-discrete-laplace", "T47-enumeration")
def test_lattices_are_what_they_claim() -> None:
    for law in (DiscreteLaplaceLoss(F(3), 4), OddsLoss(F(1, 3), F(1, 9), 5), FiniteLoss(tuple(RESPONSE), "symmetric")):
        with ctx.workprec(100):
            lattice = law.lattice()
            assert lattice is not None
            for (p, q), index in zip(law.enclose_finite_atoms(), lattice[1], strict=True):
                assert (p / q).log().overlaps(index * lattice[0])
    assert FiniteLoss(tuple(SKEW), "symmetric").lattice() is None


@pytest.mark.theorem("T56-approximate-dp", "T44-infinity-mass")
def test_optimal_composition_of_approximate_dp() -> None:
    """Kairouz, Oh, Viswanath: 30 x (1, .001) is (22, .06)- and not (20, .06)-DP; without delta 30 x 1 is (30, 0)-DP."""
    loss = composed((OddsLoss(F(1), F(1, 1000), 0), 30))
    assert enclosed(loss, "22").upper < 0.06 < enclosed(loss, "20").lower
    pure = composed((OddsLoss(F(1), F(0), 0), 30))
    assert enclosed(pure, "30").upper < 1e-60 and enclosed(pure, "29.99").lower > 0
    both = composed((OddsLoss(F(1), F(1, 10), 0), 1), (OddsLoss(F(2), F(2, 10), 0), 1))
    assert_is(enclosed(both, "3"), mpmath.mpf(28) / 100, "1e-16")


def test_what_is_too_long_is_not_called_closed() -> None:
    assert not has_closed_form(composed((LaplaceLoss(F(1)), 20_000)))
    assert not has_closed_form(composed((FiniteLoss(tuple(SKEW), "symmetric"), 10**12)))
    assert not has_closed_form(composed((SampledLoss(LaplaceLoss(F(1)), F(1, 2), "remove"), 2)))
    assert count_pieces(composed((SampledLoss(LaplaceLoss(F(1)), F(1, 2), "remove"), 2))) is None
    assert is_exact(composed((SampledAtomicLoss(DiscreteLaplaceLoss(F(1), 2), F(1, 2), "remove"), 20)))


@pytest.mark.theorem("T59-truncated-pieces")
def test_many_releases_of_small_loss() -> None:
    """k = 4000, b = 100 against the contour; the bound of the rest holds and is needed."""
    from verified_dp.core.engines.pieces import enclose_columns, enclose_tails, places, prepare_tails
    from verified_dp.core.engines.truncated import bound_rest, enclose_truncated
    from verified_dp.core.kernel.balls import ball
    from verified_dp.search.deadline import Budget
    from verified_dp.search.one_direction import OneDirection

    many = composed((LaplaceLoss(F(1, 100)), 2000))
    answer = OneDirection(many).enclose(F(3), 20.0, "contour", Budget(20))
    assert not is_exact(many)
    with ctx.workprec(80):
        found = enclose_truncated(many, ball(F(3)))
        assert answer.bounds.lower < found < answer.bounds.upper and found.rad() < found * 1e-15
    few = composed((LaplaceLoss(F(1, 10)), 60))
    with ctx.workprec(200):
        epsilon, mu = ball(F(1)), ball(F(1, 10))
        whole = ClosedFormWitness(200).evaluate(few).delta(F(1)).lower
        for kept in (0, 2, 5, 9):
            columns = enclose_columns((-mu / 2).exp() / 2, (-mu / 2).exp() / 4, 60, kept)
            part = (epsilon / 2).exp() * enclose_tails(prepare_tails(places(mu, 60), columns), epsilon)
            rest = bound_rest(F(1, 10), 60, kept, epsilon)
            assert part < whole < part + rest and rest < 40 * (whole - part)


@pytest.mark.theorem("T59-truncated-pieces")
@pytest.mark.parametrize("kept", [0, 2, 5, 9])
@pytest.mark.parametrize("epsilon", ["1/2", "2"])
def test_the_rest_covers_what_few_pieces_leave_out(kept: int, epsilon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Far fewer continuous steps than are chosen: the whole answer lies inside, and the part alone is too small."""
    law, count = LaplaceLoss(F(1, 2)), 20
    loss = composed((law, count))
    whole = enclosed(loss, epsilon)
    with ctx.workprec(120):
        eps = ball(F(epsilon))
        rest = truncated.bound_rest(law.ratio, count, kept, eps)
        monkeypatch.setattr(truncated, "choose_kept", lambda *_: (kept, rest))
        found = truncated.enclose_truncated(loss, eps)
        assert found.lower() <= whole.lower and whole.upper <= found.upper()
        assert found.lower() < whole.lower - arb("1e-6") * whole.lower


@pytest.mark.theorem("T59-truncated-pieces", "T03-chernoff")
@pytest.mark.parametrize("kept", [0, 7, 19])
def test_the_rest_is_at_most_what_any_exponent_says(kept: int) -> None:
    """C(l) e^{-l eps} comb(k,J+1) g^{J+1} (a+g)^{k-J-1}, C(l) = l^l / (1+l)^{1+l}, in floats."""
    count, mu, epsilon, bounds = 40, 0.5, 18.0, []
    for exponent in (2.0 ** (n / 4) for n in range(-8, 20)):
        right, left = math.exp(exponent * mu), math.exp(-(1 + exponent) * mu)
        atoms, inner = (right + left) / 2, (right - left) / (2 * (1 + 2 * exponent))
        share = comb(count, kept + 1) * inner ** (kept + 1) * (atoms + inner) ** (count - kept - 1)
        factor = exponent**exponent / (1 + exponent) ** (1 + exponent)
        bounds.append(factor * math.exp(-exponent * epsilon) * share)
    with ctx.workprec(80):
        found = float(truncated.bound_rest(F(1, 2), count, kept, arb(epsilon)))
    assert 0 < found <= min(bounds) * (1 + 1e-12)


@pytest.mark.theorem("T47-enumeration")
def test_ratios_that_are_powers_of_a_fraction_have_a_lattice() -> None:
    law = FiniteLoss(((F(9, 19), F(4, 19)), (F(6, 19), F(9, 19)), (F(4, 19), F(6, 19))), "symmetric")
    found = law.lattice()
    assert found is not None and found[1] == [2, -1, -1] and found[0].overlaps(ball(F(3, 2)).log())
