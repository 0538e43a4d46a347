"""Absolute first and third moments of a tilted loss (T95)."""

from __future__ import annotations

from functools import singledispatch

from flint import acb, arb, ctx

from verified_dp.core.engines.tilted_moments import MomentRule, MomentTable, TiltedMoments
from verified_dp.core.families.finite.atomic import AtomicLaw
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel.balls import BOUND_BITS, ball, lower_end, plus_minus, upper_end
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by


def enclose_absolute_moment(table: MomentTable, index: int, tilt: arb, moments: TiltedMoments, power: int = 3) -> arb:
    """Enclose (or bound: then the lower end is 0) E|L~ - K'|^power of one law, power 1 or 3.

    moments: at least four about any centre.
    """
    law = table.loss.parts[index][0]
    with ctx.workprec(table.prec):
        bound = bound_third_moment(moments) if power == 3 else bound_deviation(moments)
        exact = _absolute_moment(law, table.rules[index], tilt, moments, power)
        if exact is None or not exact.is_finite():
            return arb(0).union(bound)
        return exact.min(bound)


@proved_by("T95-third-moment")
def bound_third_moment(moments: TiltedMoments) -> arb:
    """Bound E|Y|^3 <= sqrt(E Y^2 E Y^4), Y = L~ - K'."""
    second, _, fourth = moments.central
    return upper_end((upper_end(second).max(arb(0)) * upper_end(fourth).max(arb(0))).sqrt())


@proved_by("T95-third-moment")
def bound_deviation(moments: TiltedMoments) -> arb:
    """Bound E|Y| <= sqrt(E Y^2)."""
    return upper_end(upper_end(moments.variance).max(arb(0)).sqrt())


def _raised(x: arb, power: int) -> arb:
    """x or x^3, also on balls around 0."""
    return x if power == 1 else x * x * x


def _signed(moments: TiltedMoments, power: int) -> arb:
    """E Y^power: 0 or the third central moment."""
    return arb(0) if power == 1 else moments.central[1]


@singledispatch
def _absolute_moment(law: Law, rule: MomentRule, tilt: arb, moments: TiltedMoments, power: int) -> arb | None:
    return None


@_absolute_moment.register
@proved_by("T95-third-moment")
def _atoms(law: AtomicLaw, rule: MomentRule, tilt: arb, moments: TiltedMoments, power: int) -> arb | None:
    """The sum over the atoms."""
    total = arb(0)
    for p, q in law.enclose_finite_atoms():
        loss = (p / q).log()
        total += p * (tilt * loss).exp() * _raised(abs(loss - moments.mean), power)
    return total / moments.mass


@_absolute_moment.register(LaplaceLoss)
@_absolute_moment.register(BoundedRangeLoss)
@proved_by("T95-third-moment")
def _uniform(law: LaplaceLoss | BoundedRangeLoss, rule: MomentRule, tilt: arb, moments: TiltedMoments,
             power: int) -> arb | None:
    """E Y^n + 2 E (-Y)_+^n: the atom at -mu, and density times (K' - l)^n from -mu to K', a gamma integral."""
    if isinstance(law, LaplaceLoss):
        mu = ball(law.ratio)
        atom, density = (-mu).exp() / 2, (-mu / 2).exp() / 4
    else:
        mu = ball(law.bounded_range)
        atom, density = arb(0), 1 / (4 * (mu / 2).sinh())
    mean, rate = moments.mean, tilt + arb(1) / 2
    width = mean + mu
    if not width > 0:
        return None
    x = rate * width
    incomplete = 1 - (-x).exp() * (x + 1) if power == 1 else 6 - (-x).exp() * (((x + 3) * x + 6) * x + 6)
    inside = density * (rate * mean).exp() * incomplete / rate ** (power + 1)
    below = atom * (-tilt * mu).exp() * _raised(width, power) + inside
    return _signed(moments, power) + 2 * below / moments.mass


@_absolute_moment.register
@proved_by("T95-third-moment")
def _sampled(law: SampledGaussianLoss, rule: MomentRule, tilt: arb, moments: TiltedMoments, power: int) -> arb | None:
    """E Y^n + 2 E (-Y)_+^n: the integral over the side of t* where v < K', v(t*) = K', split near t*."""
    mean = moments.mean
    split = _solve(law, mean)
    if split is None or not rule.nodes.step > 0:
        return None
    step = rule.nodes.step
    end = ball(step * (rule.nodes.last if law.order == "add" else rule.nodes.first))
    part = _integrate_below(law, tilt, mean, *((split, end) if law.order == "add" else (end, split)), power)
    slip = _raised(abs(law.exponents([acb(split)])[0][1].real - mean), power)
    decay = ball(rule.radius)
    tails = arb.fac_ui(power) / decay**power * (decay * mean).exp() * law.bound_tails(
        acb(tilt - decay), arb(0), ball(step * rule.nodes.first), ball(step * rule.nodes.last))
    below = (part + arb(0).union(upper_end(tails))) / moments.mass + plus_minus(slip)
    return _signed(moments, power) + 2 * below


def _solve(law: SampledGaussianLoss, value: arb) -> arb | None:
    """An exact t with v(t) near the value (any t is admissible): bisection on a doubling bracket."""
    side = -1 if law.order == "add" else 1

    def below(t: arb) -> bool:
        return bool(law.exponents([acb(t)])[0][1].real < value)

    reach = upper_end(ball(law.noise_multiplier))
    low, high = -side * reach, side * reach
    for _ in range(60):
        if below(low) and not below(high):
            break
        low, high = 2 * low, 2 * high
    else:
        return None
    for _ in range(60):
        middle = lower_end((low + high) / 2)
        low, high = (middle, high) if below(middle) else (low, middle)
    return low


@proved_by("T95-third-moment")
def _integrate_below(law: SampledGaussianLoss, tilt: arb, mean: arb, left: arb, right: arb, power: int) -> arb:
    """Enclose int_left^right (K' - v)^n phi_s e^{u + t v} dt; analytic where the logarithms of v are."""
    if left >= right:
        return arb(0)
    q, s = ball(law.sampling_probability), ball(law.noise_multiplier)
    variance, rest, norm = s * s, 1 - q, s * (2 * arb.pi()).sqrt()
    scale, small = 1 / variance, q * (-1 / (2 * variance)).exp()

    def log_ratio(t: acb, analytic: bool) -> acb:
        return (rest + small * (t * scale).exp()).log(analytic=analytic)

    def integrand(t: acb, analytic: bool) -> acb:
        ell = log_ratio(t, analytic)
        if law.order == "add":
            loss, exponent = -ell, -tilt * ell
        elif law.order == "remove":
            loss, exponent = ell, (1 + tilt) * ell
        else:
            loss = ell - log_ratio(-t, analytic)
            exponent = ell + tilt * loss
        gap = mean - loss
        return (gap if power == 1 else gap * gap * gap) * (exponent - t * t * scale / 2).exp()

    with ctx.workprec(BOUND_BITS):
        goal = arb(2) ** -30
        return acb.integral(integrand, acb(left), acb(right), rel_tol=goal, abs_tol=arb(2) ** -200).real / norm
