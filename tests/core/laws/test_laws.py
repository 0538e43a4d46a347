"""Every law against its own identities, quadrature of the definitions, and values of other libraries."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines.direct import DirectLaw
from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.batches.truncated_batch import TruncatedBatchLoss
from verified_dp.core.families.clones.clones import CloneLoss, CloneOddsLoss
from verified_dp.core.families.discrete.discrete_gaussian import (
    SMOOTH,
    DiscreteGaussianLoss,
    _enclose_lower_sum,
    _lower_sum,
    enclose_distribution,
)
from verified_dp.core.families.finite.atomic import DiscreteLaplaceLoss, FiniteLoss, OddsLoss, SampledAtomicLoss
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss, bound_past_half_turn
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.core.kernel.law import SWAPPED as CORE_SWAPPED
from verified_dp.core.kernel.law import Law

F = Fraction
PAIR = ((F(1, 2), F(1, 5)), (F(2, 5), F(1, 5)), (F(0), F(3, 5)), (F(1, 10), F(0)))
MIXTURE = MixtureLoss(F(1), ((F(0), F(1, 5)), (F(1), F(3, 5)), (F(2), F(1, 5))), ((F(0), F(1)),), "remove")
DRAWN = MixtureLoss(F(3), ((F(0), F(1, 2)), (F(2), F(1, 2))), ((F(-2), F(1, 2)), (F(0), F(1, 2))), "symmetric")
TRUNCATED = TruncatedBatchLoss(5, F(1, 3), 2, SampledLoss(LaplaceLoss(F(1)), F(1, 3), "remove"),
                               SampledLoss(LaplaceLoss(F(2)), F(1, 2), "remove"), "remove")
LAWS: list[Law] = [
    LaplaceLoss(F(1)), LaplaceLoss(F(1, 20)), BoundedRangeLoss(F(2)), GaussianLoss(F(1, 4)),
    OddsLoss(F(1), F(0), 3), OddsLoss(F(1, 2), F(1, 10), 0), FiniteLoss(PAIR, "remove"),
    DiscreteLaplaceLoss(F(2), 4), DiscreteLaplaceLoss(F(1, 3), 1), DiscreteGaussianLoss(F(25, 4), 3),
    DiscreteGaussianLoss(F(1, 3), 1), MIXTURE, MIXTURE.in_order("add"), DRAWN, FixedBatchLoss(F(1, 10), F(3, 2)),
    SampledGaussianLoss(F(1, 10), F(1), "remove"), SampledGaussianLoss(F(1, 10), F(1), "symmetric"),
    SampledLoss(LaplaceLoss(F(1)), F(1, 2), "remove"), SampledLoss(FiniteLoss(PAIR, "remove"), F(1, 3), "remove"),
    SampledLoss(DiscreteGaussianLoss(F(4), 2), F(1, 5), "remove"),
    SampledAtomicLoss(DiscreteLaplaceLoss(F(2), 4), F(3, 10), "remove"), TRUNCATED, TRUNCATED.in_order("add"),
    CloneLoss(2, F(1)), CloneLoss(30, F(3, 2)), CloneOddsLoss(7, F(3)),
]  # fmt: skip
EPSILONS = [F(-7), F(-2), F(-1), F(-1, 3), F(0), F(1, 5), F(1, 2), F(1), F(3, 2), F(2), F(7)]
SWAPPED = {"remove": "add", "add": "remove", "symmetric": "symmetric"}
laws = pytest.mark.parametrize("law", LAWS, ids=repr)


def stick(law: Law, epsilon: Fraction, prec: int = 200) -> arb:
    with ctx.workprec(prec):
        return law.enclose_hockey_stick(ball(epsilon))


@pytest.mark.theorem("T40-laplace", "T43-bounded-range", "T46-atoms", "T48-discrete-laplace", "T49-sampled",
                     "T50-discrete-gaussian", "T51-mixtures", "T52-without-replacement")
@laws
def test_reversal_ties_the_two_orders(law: Law) -> None:
    """T16: H_a(P||Q) = 1 - a + a H_{1/a}(Q||P), an independent route to every value."""
    swapped = law.in_order(SWAPPED[law.order])
    assert swapped.in_order(law.order) == law
    for epsilon in EPSILONS:
        with ctx.workprec(200):
            alpha, value = ball(epsilon).exp(), stick(law, epsilon)
            assert value.overlaps(1 - alpha + alpha * stick(swapped, -epsilon)), epsilon
            assert value.rad() < 1e-30 * (1 + alpha)


@pytest.mark.theorem("T16-reversal")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
def test_the_swapped_order_exchanges_the_pair(order: str) -> None:
    """T16 with the order that the package itself takes for (Q, P)."""
    law = SampledGaussianLoss(F(1, 10), F(1), order)
    alpha, value = ball(F(1, 3)).exp(), stick(law, F(1, 3))
    assert value.overlaps(1 - alpha + alpha * stick(law.in_order(CORE_SWAPPED[order]), -F(1, 3)))


@laws
def test_curves_fall_and_are_convex(law: Law) -> None:
    """As functions of alpha, with at least (1 - alpha)_+ and at most 1."""
    with ctx.workprec(200):
        points = [(ball(e).exp(), stick(law, e)) for e in EPSILONS]
        slopes = [(b - a) / (y - x) for (x, a), (y, b) in pairwise(points)]
        assert all(not value < (1 - alpha).max(arb(0)) and not value > 1 for alpha, value in points)
        assert all(not slope > 0 for slope in slopes)
        assert all(not later < earlier for earlier, later in pairwise(slopes))


@laws
def test_wide_balls_hold_every_value(law: Law) -> None:
    """A ball over a kink, an atom or an end of the support encloses the values at all of its points."""
    with ctx.workprec(100):
        ends = [end for end in (law.enclose_largest_loss(), law.enclose_smallest_loss()) if end is not None]
        for centre in [arb(0), arb(1), arb(-1), *ends]:
            for radius in (1e-25, 1e-6, 0.01):
                wide = law.enclose_hockey_stick(arb(centre.mid(), radius))
                for share in (-1, -0.5, 0, 0.3, 1):
                    assert wide.overlaps(law.enclose_hockey_stick(centre.mid() + share * arb(radius))), (centre, radius)
                assert wide.rad() < 3 * radius + 1e-20, (centre, radius)


@laws
def test_ends_of_the_loss(law: Law) -> None:
    """Past the largest loss H is the infinity mass, before it is more; below the smallest it is 1 - alpha Q(P > 0)."""
    with ctx.workprec(200):
        largest, smallest, mass = law.enclose_largest_loss(), law.enclose_smallest_loss(), law.enclose_infinity_mass()
        if largest is not None:
            assert law.enclose_hockey_stick(largest + 0.01).overlaps(mass)
            assert law.enclose_hockey_stick(largest - 0.01) > mass
        else:
            assert law.enclose_hockey_stick(arb(9)) > mass
        if smallest is not None:
            never = law.in_order(SWAPPED[law.order]).enclose_infinity_mass()
            below, above = smallest - 0.01, smallest + 0.01
            assert law.enclose_hockey_stick(below).overlaps(1 - below.exp() * (1 - never))
            assert law.enclose_hockey_stick(above) > 1 - above.exp() * (1 - never)


@pytest.mark.theorem("T43-bounded-range", "T49-sampled", "T50-discrete-gaussian", "T51-mixtures",
                     "T52-without-replacement", "T46-atoms", "T40-laplace")
@laws
def test_moments_and_transforms_belong_to_the_curve(law: Law) -> None:
    """int e^{l eps} D(eps) d eps = M(l) / (l(l+1)): the moment from the curve alone, by a sum on a fine grid."""
    step = 0.02
    with ctx.workprec(120):
        mass = law.enclose_infinity_mass()
        values = [(n * step, float(law.enclose_hockey_stick(arb(n * step)) - mass)) for n in range(-2000, 1000)]
        for exponent in (0.5, 1.0, 2.5):
            total = sum(math.exp(exponent * epsilon) * value for epsilon, value in values)
            found = total * step * exponent * (exponent + 1)
            moment = law.enclose_moment(arb(exponent))
            assert found < float(moment.upper()) * (1 + 1e-3)
            if isinstance(law, DirectLaw):
                assert found == pytest.approx(float(moment), rel=1e-3)
                assert law.enclose_transform(acb(exponent)).real.overlaps(moment)
        if isinstance(law, DirectLaw):
            never = law.in_order(SWAPPED[law.order]).enclose_infinity_mass()
            assert law.enclose_transform(acb(-1)).real.overlaps(1 - never)


@pytest.mark.theorem("T49-sampled")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_moments_of_a_sample_with_impossible_outcomes(order: str) -> None:
    """Exact sums over the mixed masses: where the record makes an outcome impossible, the add order still counts it."""
    q, exponent = F(1, 3), 2
    law = SampledLoss(FiniteLoss(PAIR, "remove"), q, order)
    mixed = [((1 - q) * b + q * a, b) for a, b in PAIR]
    pairs = mixed if order == "remove" else [(b, a) for a, b in mixed]
    exact = sum(p * (p / b) ** exponent for p, b in pairs if b and p)
    with ctx.workprec(100):
        assert law.enclose_moment(arb(exponent)).upper() > ball(exact)


@pytest.mark.theorem("T41-laplace-tail", "T43-bounded-range", "T46-atoms", "T50-discrete-gaussian")
@pytest.mark.parametrize("law", [law for law in LAWS if isinstance(law, DirectLaw)], ids=repr)
def test_transform_bound_holds_beyond(law: DirectLaw) -> None:
    with ctx.workprec(100):
        for tilt in (0.1, 1.0, 8.0):
            for start in (0.01, 0.5, 1.5, 3.0, 40.0):
                bound = law.bound_transform_beyond(arb(tilt), arb(start))
                assert bound <= law.enclose_moment(arb(tilt)).upper()
                for n in range(120):
                    assert not law.enclose_transform(acb(tilt, start + 0.37 * n)).abs_lower() > bound


@pytest.mark.theorem("T41-laplace-tail")
def test_laplace_tail_is_sharp() -> None:
    """The atoms alone, hardly more, beyond a quarter turn; the value itself before it."""
    law, tilt = LaplaceLoss(F(1, 200)), arb(9)
    atoms = ((tilt / 200).exp() + (-(1 + tilt) / 200).exp()) / 2
    assert law.bound_transform_beyond(tilt, arb(400)) < atoms * (1 + arb(4e-5))
    near = law.bound_transform_beyond(tilt, arb(20))
    assert (near / law.enclose_moment(tilt)).log() * 20000 < -45


def laplace_oracle(scale: float, shift: float, epsilon: float) -> mpmath.mpf:
    """int (p - e^eps q)_+ by quadrature between the kinks."""
    cut = min(max((shift - epsilon * scale) / 2, 0), shift)

    def excess(t: mpmath.mpf) -> mpmath.mpf:
        p, q = (mpmath.exp(-abs(t - m) / scale) / (2 * scale) for m in (0, shift))
        return max(p - mpmath.exp(epsilon) * q, mpmath.mpf(0))

    return mpmath.quad(excess, sorted({-60 * scale, 0, cut, shift, 60 * scale}))


@pytest.mark.theorem("T40-laplace")
@pytest.mark.parametrize("epsilon", [-1.5, -0.5, -0.1, 0.0, 0.3, 0.49])
def test_laplace_is_the_quadrature(epsilon: float) -> None:
    value = stick(LaplaceLoss(F(1, 2)), Fraction(epsilon))
    assert float(value) == pytest.approx(float(laplace_oracle(4, 2, epsilon)), abs=1e-9)


PEERS = [  # dp_accounting, privacy_loss_mechanism_test.py, 7 or more digits
    (LaplaceLoss(F(1)), "1", 0.0), (LaplaceLoss(F(1)), "0", 0.39346934), (LaplaceLoss(F(1)), "-2", 0.86466472),
    (SampledLoss(LaplaceLoss(F(1)), F("0.6"), "add"), "0.2", 0.1401134521354217),
    (SampledLoss(LaplaceLoss(F(1)), F("0.3"), "add"), "0", 0.1180408020862099),
    (SampledLoss(LaplaceLoss(F(1)), F("0.6"), "remove"), "0.2", 0.1741992102060086),
    (SampledLoss(LaplaceLoss(F(1)), F("0.2"), "remove"), "-0.25", 0.2211992169285951),
    (SampledLoss(LaplaceLoss(F(1)), F("0.2"), "remove"), "-0.2", 0.1812692469),
    (SampledLoss(LaplaceLoss(F(1)), F("0.2"), "remove"), "0.2", 0.02391739939),
    (DiscreteLaplaceLoss(F(1), 1), "1", 0.0), (DiscreteLaplaceLoss(F(2), 4), "0.5", 0.54202002),
    (DiscreteLaplaceLoss(F(2), 4), "-0.5", 0.7222211),
    (SampledAtomicLoss(DiscreteLaplaceLoss(F(2), 4), F("0.7"), "add"), "0.5", 0.2293628348747755),
    (SampledAtomicLoss(DiscreteLaplaceLoss(F(2), 4), F("0.7"), "remove"), "0.5", 0.3523838505224567),
    (SampledAtomicLoss(DiscreteLaplaceLoss(F(2), 4), F("0.6"), "remove"), "1", 0.178181891763215),
    (MIXTURE.in_order("add"), "1", 0.036691263832032806),
    (MixtureLoss(F(1), ((F(1), F("0.2")), (F(2), F("0.8"))), ((F(0), F(1)),), "remove"), "1", 0.433276675545065),
    (MixtureLoss(F(1), ((F(1), F("0.2")), (F(2), F("0.8"))), ((F(0), F(1)),), "remove").in_order("add"), "1",
     0.3894964356580768),
    (FiniteLoss(PAIR, "remove"), "0", 0.6), (FiniteLoss(PAIR, "add"), "0", 0.6),
]  # fmt: skip


@pytest.mark.theorem("T49-sampled", "T48-discrete-laplace", "T51-mixtures")
@pytest.mark.parametrize(("law", "epsilon", "expected"), PEERS, ids=str)
def test_values_of_other_libraries(law: Law, epsilon: str, expected: float) -> None:
    assert float(stick(law, F(epsilon))) == pytest.approx(expected, abs=5e-8)


@pytest.mark.theorem("T49-sampled", "T51-mixtures")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_three_routes_to_a_sampled_gaussian(order: str) -> None:
    """The closed form, a sample of the plain Gaussian, and a mixture of two components."""
    closed = SampledGaussianLoss(F(1, 10), F(2), order)
    sampled = SampledLoss(GaussianLoss(F(1, 4)), F(1, 10), order)
    mixture = MixtureLoss(F(2), ((F(0), F(9, 10)), (F(1), F(1, 10))), ((F(0), F(1)),), "remove").in_order(order)
    for epsilon in [*EPSILONS, F(-1, 10), F(1, 20)]:
        values = [stick(law, epsilon) for law in (closed, sampled, mixture)]
        assert values[0].overlaps(values[1]) and values[0].overlaps(values[2]), epsilon


@pytest.mark.theorem("T49-sampled")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_atoms_of_a_sample_are_its_curve(order: str) -> None:
    base = DiscreteLaplaceLoss(F(3), 5)
    atoms, curve = SampledAtomicLoss(base, F(1, 4), order), SampledLoss(base, F(1, 4), order)
    for epsilon in EPSILONS:
        assert stick(atoms, epsilon).overlaps(stick(curve, epsilon))
    with ctx.workprec(100):
        for exponent in (0.3, 4.0):
            assert curve.enclose_moment(arb(exponent)).contains(atoms.enclose_moment(arb(exponent)).mid())


def discrete_masses(s2: Fraction, shift: int, radius: int = 160) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    rate = mpmath.mpf(s2.denominator) / (2 * s2.numerator)
    weights = {x: mpmath.exp(-x * x * rate) for x in range(-2 * radius, 2 * radius)}
    total = mpmath.fsum(weights.values())
    return [(weights[x] / total, weights[x - shift] / total) for x in range(-radius, radius)]


@pytest.mark.theorem("T50-discrete-gaussian")
@pytest.mark.parametrize(("s2", "shift"), [(F(25, 4), 3), (F(1, 3), 1), (F(30), 7)])
def test_discrete_gaussian_is_the_sum_over_its_masses(s2: Fraction, shift: int) -> None:
    with mpmath.workdps(40):
        masses = discrete_masses(s2, shift)
        for epsilon in EPSILONS:
            alpha = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
            exact = mpmath.fsum(max(p - alpha * q, 0) for p, q in masses)
            found = stick(DiscreteGaussianLoss(s2, shift), epsilon).str(38, radius=False)
            assert abs(mpmath.mpf(found) - exact) < 1e-30


@pytest.mark.theorem("T50-discrete-gaussian")
def test_discrete_gaussian_keeps_relative_accuracy_far_out() -> None:
    with ctx.workprec(80):
        tail = enclose_distribution(F(2), -400)
        assert tail > 0 and tail.rad() < tail * arb(2) ** -60
        assert enclose_distribution(F(2), 400) < 1 + arb(1e-20)


@pytest.mark.theorem("T63-discrete-gaussian-sums")
@pytest.mark.parametrize(("s2", "shift"), [(F(1, 3), 1), (F(7), 2), (F(1, 1000), 1), (F(400), 35)])
def test_theta_transform_is_the_sum_over_the_masses(s2: Fraction, shift: int) -> None:
    """Also at complex z, where a product of many rotating boxes would lose everything."""
    law = DiscreteGaussianLoss(s2, shift)
    for z in (acb(1), acb(0.5, 3), acb(5, -2), acb(-1)):
        with ctx.workprec(400):
            masses = [(x, (-arb(x * x) / (2 * ball(s2))).exp()) for x in range(-900, 900)]
            terms = (mass * (z * ball(shift * (shift - 2 * x) / (2 * s2))).exp() for x, mass in masses)
            exact = sum(terms, acb(0)) / sum((mass for _, mass in masses), arb(0))
        with ctx.workprec(128):
            found = law.enclose_transform(z)
            size = law.enclose_moment(z.real)
            assert abs(found - exact) < size * arb(2) ** -80
            assert found.overlaps(exact + acb(arb(0, 1e-80), arb(0, 1e-80)))


@pytest.mark.theorem("T63-discrete-gaussian-sums")
@pytest.mark.parametrize("s2", [F(1), F(5, 2), F(9), F(400), F(10**5)])
def test_euler_maclaurin_holds_the_sum(s2: Fraction) -> None:
    """With few bits few terms are taken, and the remainder's bound has to hold what they leave."""
    radii = []
    for last in (-1, -2, -5, -17):
        with ctx.workprec(250):
            exact = _lower_sum(s2, last)
        for prec in (6, 10, 20, 40, 80):
            with ctx.workprec(prec):
                found = _enclose_lower_sum(s2, last)
                assert found.overlaps(exact), (last, prec)
                assert -last > s2 or found.rad() < exact * arb(2) ** (12 - prec)
                radii.append(found.rad())
    assert any(radius > 0 for radius in radii)


@pytest.mark.theorem("T63-discrete-gaussian-sums", "T50-discrete-gaussian")
def test_wide_noise_is_quick_and_both_sums_agree() -> None:
    """s^2 = 10^10 has 10^6 terms of note; at the border of the two ways they overlap."""
    with ctx.workprec(150):
        for last in (-1, -128, -1300, -10000):
            assert _enclose_lower_sum(F(SMOOTH), last).overlaps(_lower_sum(F(SMOOTH), last))
        law = DiscreteGaussianLoss(F(10**10), 1)
        stick, plain = law.enclose_hockey_stick(ball(F(1, 10**7))), GaussianLoss(F(1, 10**10))
        assert stick.rad() < stick * arb(2) ** -100
        assert abs(stick - plain.enclose_hockey_stick(ball(F(1, 10**7)))) < stick * arb(1e-9)


@pytest.mark.theorem("T51-mixtures")
@pytest.mark.parametrize("epsilon", ["-1", "0.1", "2"])
def test_mixture_is_the_quadrature(epsilon: str) -> None:
    places, step = np.linspace(-40, 60, 200_001, retstep=True)

    def density(mixture: tuple[tuple[Fraction, Fraction], ...]) -> np.ndarray:
        return sum(float(w) * np.exp(-(places - float(m)) ** 2 / 18) for m, w in mixture) / math.sqrt(18 * math.pi)

    positive = np.maximum(density(DRAWN.above) - math.exp(float(epsilon)) * density(DRAWN.below), 0)
    assert float(stick(DRAWN, F(epsilon))) == pytest.approx(positive.sum() * step, abs=1e-6)


@pytest.mark.theorem("T51-mixtures")
@pytest.mark.parametrize("law", [MIXTURE, DRAWN], ids=repr)
@pytest.mark.parametrize("prec", [53, 64, 200])
def test_the_cut_of_a_mixture_lies_between_its_ends(law: MixtureLoss, prec: int) -> None:
    with ctx.workprec(prec):
        for epsilon in map(ball, (F(-1, 9), F(1, 5), F(3, 2))):
            low, high = law._bracket(epsilon) or (arb(0), arb(0))
            assert low < high and low.is_exact() and high.is_exact()
            assert law._enclose_loss(low)[0] < epsilon < law._enclose_loss(high)[0]


@pytest.mark.theorem("T52-without-replacement")
@pytest.mark.parametrize("exponent", ["1/2", "3"])
def test_moments_of_a_small_batch_are_near_those_of_none(exponent: str) -> None:
    """At most 1 + 1 - q + q e^{2 l (l+1) / s^2}; s = 1, q = 10^-12."""
    found = FixedBatchLoss(F(1, 10**12), F(1)).enclose_moment(ball(F(exponent)))
    assert 2 <= found.upper() < 2.04


@pytest.mark.theorem("T41-laplace-tail")
@pytest.mark.parametrize("missing", ["enclose_largest_loss", "enclose_smallest_loss"])
def test_without_an_end_half_a_turn_says_nothing(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With both ends the value at W counts where W is at most half a turn; without one only M(c) and `far`."""
    law, tilt, frequency = LaplaceLoss(F(1)), arb(1), arb(1)

    def far(tilt: arb, frequency: arb) -> arb:
        return law.enclose_moment(tilt) * (arb(99) / 100 if frequency < 1.5 else arb(1) / 2)

    with ctx.workprec(80):
        both = bound_past_half_turn(law, tilt, frequency, far)
        assert both < far(tilt, frequency) and both >= law.enclose_transform(acb(1, 1)).abs_lower()
        monkeypatch.setattr(LaplaceLoss, missing, lambda self: None)
        assert abs(bound_past_half_turn(law, tilt, frequency, far) - far(tilt, frequency)) < arb("1e-20")


@pytest.mark.theorem("T15-gaussian")
@pytest.mark.parametrize("z", [(0.5, 0.0), (2.0, 3.0), (-0.5, -1.0)])
def test_the_transform_of_a_gaussian_is_the_integral_of_its_density(z: tuple[float, float]) -> None:
    """E e^{zL}, L normal with mean mu^2/2 and variance mu^2 = 9/4, by quadrature at complex z."""
    with mpmath.workdps(30), ctx.workprec(100):
        point, variance = mpmath.mpc(*z), mpmath.mpf(9) / 4
        exact = mpmath.quad(lambda x: mpmath.npdf(x, variance / 2, mpmath.sqrt(variance)) * mpmath.exp(point * x),
                            mpmath.linspace(-20, 25, 46))
        found = GaussianLoss(F(9, 4)).enclose_transform(acb(*z))
        for part, true in ((found.real, exact.real), (found.imag, exact.imag)):
            assert abs(part - arb(mpmath.nstr(true, 28))) < arb("1e-20")
