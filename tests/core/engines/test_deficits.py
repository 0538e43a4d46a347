"""Next to the largest loss: series of deficits against quadrature, closed forms, the contour, and hostile witnesses."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
from flint import acb, arb, arb_poly, ctx

from verified_dp.certificate import certify
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.deficits import DeficitsWitness, Series, all_tops, enclose_payoff, enclose_share, fit
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import FiniteLoss, OddsLoss, SampledAtomicLoss
from verified_dp.core.families.finite.mechanism import ApproximateDP
from verified_dp.core.families.laplace.laplace import BoundedRangeLoss, LaplaceLoss
from verified_dp.core.families.laplace.mechanism import Exponential, Laplace
from verified_dp.core.families.laplace.sampled_laplace import SampledLaplaceLoss
from verified_dp.core.families.laplace.shifts import LaplaceMixtureLoss
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball, ball_of, lower_dyadic
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Claim, Relation, Spec, compose
from verified_dp.core.kernel.errors import InvalidInput, Undecided
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.profile import privacy_profile
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection
from verified_dp.verifiers import independent

FINITE = FiniteLoss(((Fraction(1, 2), Fraction(1, 6)), (Fraction(1, 3), Fraction(1, 2)),
                     (Fraction(1, 6), Fraction(1, 3))), "remove")
WITH_NEVER = FiniteLoss(((Fraction(1, 20), Fraction(0)), (Fraction(9, 20), Fraction(3, 10)),
                         (Fraction(1, 2), Fraction(3, 5)), (Fraction(0), Fraction(1, 10))), "remove")


def sampled(order: str, mu: Fraction = Fraction(1), q: Fraction = Fraction(1, 100)) -> SampledLaplaceLoss:
    return SampledLaplaceLoss(LaplaceLoss(mu), q, order)


def loss_of(*parts: tuple[Law, int]) -> ComposedLoss:
    return ComposedLoss(parts[0][0].order, parts, Fraction(0))


def below_end(loss: ComposedLoss, gap: Fraction) -> Fraction:
    with ctx.workprec(400):
        end = loss.enclose_largest_loss()
        assert end is not None
        return lower_dyadic(end).as_fraction() - gap


def ours(loss: ComposedLoss, epsilon: Fraction, reach: Fraction, points: int = 60, terms: int = 300,
         prec: int = 700) -> Bounds:
    return evaluate(loss, DeficitsWitness(reach, points, terms, prec)).delta(epsilon)


def narrow(bounds: Bounds, bits: int) -> bool:
    return bool(bounds.lower > 0 and bounds.upper - bounds.lower < bounds.upper * arb((1, -bits)))


def curve(x: mpmath.mpf, mu: int, q: mpmath.mpf, order: str) -> mpmath.mpf:
    """One step's hockey-stick curve, from the masses of Laplace noise on half-lines."""

    def plain(y: mpmath.mpf) -> mpmath.mpf:
        return max(mpmath.mpf(0), 1 - mpmath.exp((y - mu) / 2), 1 - mpmath.exp(y))

    alpha = mpmath.exp(x)
    if order == "remove":
        return 1 - alpha if alpha <= 1 - q else q * plain(mpmath.log(1 + (alpha - 1) / q))
    rest = 1 - alpha * (1 - q)
    return mpmath.mpf(0) if rest <= 0 else rest * plain(mpmath.log(alpha * q / rest))


def two_steps(epsilon: Fraction, mu: int, q: Fraction, order: str) -> mpmath.mpf:
    """Two steps: the mean of the second one's curve at eps minus the first one's loss, over the first one's outputs."""
    with mpmath.workdps(30):
        eps, share = mpmath.mpf(epsilon.numerator) / epsilon.denominator, mpmath.mpf(q.numerator) / q.denominator
        sign = 1 if order == "remove" else -1

        def density(x: mpmath.mpf) -> mpmath.mpf:
            without, with_it = mpmath.exp(-abs(x)) / 2, mpmath.exp(-abs(x - mu)) / 2
            return (1 - share) * without + share * with_it if order == "remove" else without

        def lost(x: mpmath.mpf) -> mpmath.mpf:
            return sign * mpmath.log(1 - share + share * mpmath.exp(abs(x) - abs(x - mu)))

        def value(x: mpmath.mpf) -> mpmath.mpf:
            return density(x) * curve(eps - lost(x), mu, share, order)

        ends = [lost(mpmath.mpf(0)), lost(mpmath.mpf(mu))]
        kinks = [(mpmath.log((mpmath.exp(sign * (eps - end)) - 1 + share) / share) + mu) / 2
                 for end in ends if mpmath.exp(sign * (eps - end)) > 1 - share]
        places = sorted({mpmath.mpf(0), mpmath.mpf(mu), *(x for x in kinks if 0 < x < mu)})
        middle = mpmath.quad(value, places)
        return middle + sum(value(x) for x in (mpmath.mpf(0), mpmath.mpf(mu)))  # beyond: e^{-|x|} has integral 1


@pytest.mark.theorem("T161-next-to-the-end", "T49-sampled")
@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize("gap", ["1/1000", "1/100", "1/45", "1/30"])
def test_two_sampled_steps_meet_quadrature(order: str, gap: str) -> None:
    """Within the first density, and past its end, where the polynomial is taken away again."""
    loss, mu, q = loss_of((sampled(order), 2)), 1, Fraction(1, 100)
    epsilon = below_end(loss, Fraction(gap)).limit_denominator(10**12)
    if epsilon <= 0:
        pytest.skip("past the whole support")
    found = ours(loss, epsilon, Fraction(gap) * 17 / 16, 80, 400, 1500)
    with mpmath.workdps(30):
        truth = two_steps(epsilon, mu, q, order)
        low, high = (mpmath.mpf(end.str(40, radius=False)) for end in (found.lower, found.upper))
        assert narrow(found, 40)
        assert abs(truth - low) < mpmath.mpf(10) ** -12 * truth
        assert low < truth * (1 + mpmath.mpf(10) ** -12)
        assert truth * (1 - mpmath.mpf(10) ** -12) < high


@pytest.mark.theorem("T161-next-to-the-end", "T60-tails")
@pytest.mark.parametrize("law", [
    LaplaceLoss(Fraction(1)), BoundedRangeLoss(Fraction(2)), sampled("remove"), sampled("add"), FINITE,
    sampled("remove", Fraction(3, 2), Fraction(1, 2)), sampled("add", Fraction(2), Fraction(1, 2)),
    SampledLoss(BoundedRangeLoss(Fraction(1)), Fraction(1, 5), "remove"),
    SampledLoss(WITH_NEVER, Fraction(1, 5), "remove"), SampledLoss(WITH_NEVER, Fraction(1, 5), "add"),
    SampledAtomicLoss(OddsLoss(Fraction(1), Fraction(1, 50), 1), Fraction(1, 3), "add"),
    LaplaceMixtureLoss(((Fraction(0), Fraction(1, 2)), (Fraction(1), Fraction(1, 4)), (Fraction(2), Fraction(1, 4))),
                       ((Fraction(0), Fraction(1)),), "remove"),
    LaplaceMixtureLoss(((Fraction(0), Fraction(1)),),
                       ((Fraction(-1), Fraction(1, 3)), (Fraction(0), Fraction(2, 3))), "add"),
    LaplaceMixtureLoss(((Fraction(0), Fraction(4, 5)), (Fraction(1), Fraction(1, 5))),
                       ((Fraction(-1), Fraction(1, 5)), (Fraction(0), Fraction(4, 5))), "symmetric")])
def test_one_step_is_its_own_curve(law: Law) -> None:
    """From just below the end to past the smallest loss."""
    loss = loss_of((law, 1))
    with ctx.workprec(300):
        largest, smallest = law.enclose_largest_loss(), law.enclose_smallest_loss()
        assert largest is not None
        assert smallest is not None
        span = lower_dyadic(largest - smallest).as_fraction() if smallest.is_finite() else Fraction(1)
    for share in (Fraction(1, 10**9), Fraction(1, 5), Fraction(9, 10), Fraction(11, 10)):
        epsilon = below_end(loss, share * span)
        found = ours(loss, epsilon, share * span * 17 / 16, 110, 160, 1000)
        with ctx.workprec(300):
            truth = law.enclose_hockey_stick(ball(epsilon))
        assert not truth < found.lower
        assert not truth > found.upper
        assert narrow(found, 30), (share, found)


@pytest.mark.theorem("T161-next-to-the-end", "T45-pieces")
@pytest.mark.parametrize("gap", ["1/10", "2", "7/2"])
def test_unlike_steps_meet_the_closed_form(gap: str) -> None:
    loss = loss_of((LaplaceLoss(Fraction(1, 2)), 3), (FINITE, 2), (BoundedRangeLoss(Fraction(3, 4)), 2))
    epsilon = below_end(loss, Fraction(gap))
    found = ours(loss, epsilon, Fraction(gap) * 17 / 16, 40, 250, 900)
    truth = evaluate(loss, ClosedFormWitness(400)).delta(epsilon)
    assert narrow(found, 40)
    assert found.lower < truth.upper
    assert truth.lower < found.upper


@pytest.mark.theorem("T161-next-to-the-end")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_many_steps_meet_the_contour(order: str) -> None:
    """A composition of 1000 where both reach."""
    profile = privacy_profile(compose((PoissonSampled(Laplace(1, 1), "0.01"), 1000)), order)
    epsilon = below_end(profile.losses[0], Fraction(1, 20)).limit_denominator(10**6)
    found = ours(profile.losses[0], epsilon, Fraction(1, 19), 60, 500, 1500)
    other = profile.delta(str(epsilon), digits=6, method="contour")
    assert narrow(found, 30)
    assert found.lower < ball_of(other.upper)
    assert ball_of(other.lower) < found.upper


@pytest.mark.theorem("T161-next-to-the-end")
@pytest.mark.parametrize("seed", range(24))
def test_whatever_the_witness(seed: int) -> None:
    """Few points, terms and bits, any reach: the enclosure holds the narrow one."""
    rng = random.Random(seed)
    order = rng.choice(["remove", "add"])
    parts = [(sampled(order, Fraction(rng.randint(1, 4), 4), Fraction(1, rng.randint(2, 50))), rng.randint(1, 5)),
             (SampledAtomicLoss(OddsLoss(Fraction(1, 2), Fraction(rng.randint(0, 1), 100), rng.randint(0, 1)),
                                Fraction(1, 7), order), rng.randint(1, 3))]
    loss = loss_of(*parts[:rng.randint(1, 2)])
    tops = all_tops([law for law, _ in loss.parts])
    assert tops is not None
    gap = Fraction(rng.randint(1, 30), 20) * lower_dyadic(tops[0].places[1]).as_fraction()
    epsilon = below_end(loss, gap)
    found = OneDirection(loss).enclose_by("deficits", epsilon, 20.0, Budget(60.0))  # None where a sum takes no time
    good = evaluate(loss, ClosedFormWitness(200)).delta(epsilon) if found is None else found.bounds
    assert narrow(good, 20)
    for _ in range(4):
        wild = DeficitsWitness(gap * Fraction(rng.randint(17, 40), 16), rng.randint(2, 30), rng.randint(2, 40),
                               rng.randint(40, 300))
        try:
            poor = evaluate(loss, wild).delta(epsilon)
        except Undecided:
            continue
        assert poor.lower <= good.upper
        assert good.lower <= poor.upper


@pytest.mark.theorem("T161-next-to-the-end")
@pytest.mark.parametrize("change", [{"reach": Fraction(0)}, {"reach": Fraction(-1)}, {"points": 1}, {"points": 501},
                                    {"terms": 1}, {"terms": 20_001}])
def test_side_conditions(change: dict[str, object]) -> None:
    loss = loss_of((sampled("remove"), 3))
    plain = DeficitsWitness(Fraction(1, 100), 30, 60, 200)
    assert evaluate(loss, plain).delta(below_end(loss, Fraction(1, 200))).upper < 1
    with pytest.raises(InvalidInput):
        evaluate(loss, replace(plain, **change))  # type: ignore[arg-type]


@pytest.mark.theorem("T161-next-to-the-end")
def test_nothing_is_said_beyond_the_reach_or_of_too_many_ways() -> None:
    loss, witness = loss_of((sampled("remove"), 3)), DeficitsWitness(Fraction(1, 100), 30, 60, 200)
    with pytest.raises(Undecided):
        evaluate(loss, witness).delta(below_end(loss, Fraction(1, 90)))
    atoms = SampledAtomicLoss(OddsLoss(Fraction(1, 2), Fraction(0), 1), Fraction(1, 7), "remove")
    with pytest.raises(Undecided):
        evaluate(loss_of((atoms, 10**6)), replace(witness, reach=Fraction(50)))
    noise = SampledLoss(DiscreteGaussianLoss(Fraction(4), 1), Fraction(1, 10), "add")
    assert noise.near_supremum() is None
    for other in (loss_of((noise, 2)), replace(loss, mean_shift_squared=Fraction(1)), replace(loss, parts=())):
        with pytest.raises(InvalidInput):
            evaluate(other, witness)


@pytest.mark.theorem("T161-next-to-the-end")
def test_what_is_beyond_the_last_term_is_kept() -> None:
    """Few terms give the value of many, and more; the payoff is 1 - e^{-G t}."""

    def value(series: Series, t: arb) -> arb:
        powers = (series.weights[n] * t ** (series.order + n - 1) / arb(series.order + n).gamma()
                  for n in range(len(series.weights)))
        return sum(powers, arb(0))

    with ctx.workprec(200):
        step, payoff = Series(1, arb_poly([3, -2, arb(5) / 3, 7, -1])), enclose_payoff(arb(2), 60)
        for t in (arb(1) / 7, arb(1)):
            assert value(payoff, t).overlaps(-(-2 * t).expm1())
            assert value(payoff, t).rad() < arb(2) ** -100
            whole = value(step.power(6, 200).times(payoff, 300), t)
            for terms in (2, 3, 8, 20):
                cut = value(step.power(6, terms).times(enclose_payoff(arb(2), terms), terms), t)
                assert cut.contains(whole.mid())
                assert cut.rad() > whole.rad()


@pytest.mark.theorem("T161-next-to-the-end")
def test_the_square_of_a_ball_holds_all_products() -> None:
    """A weight may stand for a function, whose values at two places differ."""
    wide = Series(0, arb_poly([arb(0, 1)]))
    assert wide.times(wide, 4).weights[0].contains(arb(-1))


@pytest.mark.theorem("T161-next-to-the-end")
def test_polynomials_follow_densities_as_closely_as_stated() -> None:
    with ctx.workprec(300):
        top = sampled("add").near_supremum()
        assert top is not None
        density = top.densities[0]
        assert density is not None
        for points, end in ((4, "0.002"), (10, "0.01"), (30, "0.02")):
            line, error = fit(density, arb(0), arb(end), arb("0.03"), points)
            missed = [abs(line(arb(end) * n / 40 / arb("0.03")) / density(acb(arb(end) * n / 40)).real - 1)
                      for n in range(41)]
            assert not any(one > error for one in missed)
            assert error < 10**5 * max(float(one) for one in missed)
        share = enclose_share(arb(1) / 100, 7)
        assert share.contains((arb(99) / 100) ** -7)
        assert share.contains((arb(101) / 100) ** -7)


@pytest.mark.theorem("T161-next-to-the-end")
@pytest.mark.parametrize("prec", [10, 12, 20, 60])
def test_the_error_of_a_polynomial_is_rounded_upwards(prec: int) -> None:
    """4 U rho^{-(n-1)}/(rho - 1) for the constant 1: the largest rho is 17."""
    with ctx.workprec(prec):
        _, error = fit(lambda d: acb(1), arb(0), arb(1), arb(1), 120)
        assert enclose_share(error, 1).contains(arb(1))
    with ctx.workprec(400):
        assert error >= arb(4) / (arb(17)**119 * 16)


@pytest.mark.parametrize("gap", ["1e-3", "1e-6", "1e-12", "1e-30"])
@pytest.mark.parametrize("count", [2, 10, 1000, 10**6])
def test_delta_next_to_the_end_has_all_digits(gap: str, count: int) -> None:
    """The least is that of the atoms at the end alone; the contour and the lattice left all of it open."""
    steps = compose((PoissonSampled(Laplace(1, 1), "0.01"), count))
    profile = privacy_profile(steps, "remove")
    epsilon = below_end(profile.losses[0], Fraction(gap))
    found = profile.delta(epsilon, digits=12)
    assert (found.status, found.method) == ("certified", "closed-form")
    law, _ = profile.losses[0].parts[0]
    with ctx.workprec(250):
        largest = law.enclose_largest_loss()
        assert largest is not None
        least = law.enclose_tails(largest - arb(2) ** -150)[0] ** count * -ball(-Fraction(gap)).expm1()
        assert ball_of(found.upper) > least
        assert ball_of(found.lower) < least * 10**200


@pytest.mark.parametrize("target", ["1e-300", "1e-5000"])
@pytest.mark.parametrize("order", ["remove", "add"])
def test_epsilon_of_tiny_deltas_is_narrow(target: str, order: str) -> None:
    steps = compose((PoissonSampled(Laplace(1, 1), "0.01"), 10), (PoissonSampled(Exponential("1/3"), "0.1"), 2),
                    (ApproximateDP("1/2", 0), 3))
    found = privacy_profile(steps, order).epsilon(target, digits=12)
    assert found.status == "certified"
    assert found.upper.as_fraction() - found.lower.as_fraction() < found.upper.as_fraction() / 10**12


@pytest.mark.parametrize(("kind", "relation", "epsilon", "delta"), [
    ("one", "remove", "0.0335", "1e-5"), ("one", "add", "0.0125", "1e-3"),
    pytest.param("two", "add", "1.63", "1e-4", marks=pytest.mark.long), ("groups", "replace", "1.7", "1e-3")])
def test_both_checkers_accept(kind: str, relation: str, epsilon: str, delta: str) -> None:
    steps = {"one": compose((PoissonSampled(Laplace(1, 1), "0.01"), 2)),
             "two": compose((PoissonSampled(Laplace(1, 1), "0.01"), 10), (PoissonSampled(Exponential("1/3"), "0.1"), 2),
                            (ApproximateDP("1/2", "1e-6"), 3)),
             "groups": compose((PoissonSampled(Laplace(2, 1), "0.9"), 2))}[kind]
    claim = Claim("", "", epsilon, delta, epsilon, delta)
    certificate = certify(Spec(Relation.of(relation), steps, claim), digits=6)
    assert certificate.verify().valid
    assert "deficits" in {one["witness"]["kind"] for one in certificate["evaluations"]}
    assert independent.verify(certificate.to_bytes()).valid
