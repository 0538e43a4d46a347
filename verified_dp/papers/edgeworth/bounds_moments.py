"""Moments of the privacy loss under its exponential tilts dP_t = e^{tL} dP / M(t), enclosed by quadrature (T103).

t = 0 is the law Y of the loss under P. t = -1 is its law X under Q where the loss is not -inf:
E_Q[f(L); L > -inf] = E_P[e^{-L} f(L); L < inf]. Other t >= -1 are the tilts of the saddle-point method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, singledispatch

from flint import acb, arb, ctx, fmpz

from verified_dp.core.balls import ball, integer_above, lower_end, normal_tail, plus_minus, upper_end
from verified_dp.core.errors import Unsupported
from verified_dp.core.laws.atomic import AtomicLaw
from verified_dp.core.laws.gaussian import GaussianLoss
from verified_dp.core.laws.laplace import BoundedRangeLoss, LaplaceLoss
from verified_dp.core.laws.law import Law
from verified_dp.core.laws.mixture import MixtureLoss
from verified_dp.core.laws.sampled import SampledLoss
from verified_dp.core.laws.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.theorems import proved_by

HIGHEST = 6
"""Central moments up to this order: what Edgeworth expansions up to order 4 read."""
PRECISION, FINE, ROUGH, BISECTIONS = 160, 60, 36, 48
"""Bits of the arithmetic, those asked of the integrals in the last and in the first pass, halvings to the centre."""

Point = Callable[[acb, bool], tuple[acb, acb]]
"""(x, must be analytic there) -> (log of the density of P at x, loss at x)."""
Tail = Callable[[arb, arb, int], arb]
"""(tilt, centre, j) -> bound of E[e^{tL} |L - centre|^j] over the x that are left out."""


@dataclass(frozen=True)
class LossMoments:
    """Of one step's loss under P_t: mass M(t), mean m, central[j] = E(L-m)^j, absolute[j] = E|L-m|^j for j = 1, 3."""

    mass: arb
    mean: arb
    central: tuple[arb, ...]
    absolute: dict[int, arb]


@dataclass(frozen=True)
class LossDensity:
    """The finite loss under P: atoms (loss, mass), and a density along left <= x <= right where the loss grows in x.

    point None: atoms alone. tail: of what lies beyond left and right.
    """

    atoms: Sequence[tuple[arb, arb]]
    point: Point | None
    left: arb
    right: arb
    tail: Tail


@dataclass(frozen=True)
class _Scale:
    """L is measured as w = (L - centre) / unit, both exact."""

    centre: arb
    unit: arb


def enclose_loss_moments(law: Law, tilt: Fraction) -> LossMoments:
    """Enclose the moments of the loss under P_t, t >= -1; they are kept.

    Raises: Unsupported where the law has no description as atoms and a density along a line.
    """
    return _enclose_moments(law, tilt)  # type: ignore[arg-type]


@lru_cache(maxsize=256)
@proved_by("T103-loss-moments")
def _enclose_moments(law: Law, tilt: Fraction) -> LossMoments:
    """A rough pass for centre and unit, then the fine one."""
    if isinstance(law, SampledGaussianLoss) and law.order == "add" and -1 <= tilt <= 0:
        return _mirrored(enclose_loss_moments(law.in_order("remove"), -1 - tilt))
    with ctx.workprec(PRECISION):
        if isinstance(law, GaussianLoss):
            return _gaussian_moments(ball(law.mean_shift_squared), ball(tilt))
        density = describe_loss(law, tilt)
        rough, _ = _enclose_raw(density, ball(tilt), _Scale(arb(0), arb(1)), 2, ROUGH)
        mean = rough[1] / rough[0]
        unit = upper_end((rough[2] / rough[0] - mean * mean).max(arb(0)).sqrt())
        centre = lower_end(mean)
        scale = _Scale(centre, unit) if centre.is_finite() and unit.is_finite() and unit > 0 else _Scale(arb(0), arb(1))
        raw, absolute = _enclose_raw(density, ball(tilt), scale, HIGHEST, FINE)
        return _recentred(raw, absolute, scale)


@proved_by("T103-loss-moments")
def _mirrored(moments: LossMoments) -> LossMoments:
    """Of -L: the add order under P_t is the remove order under P_{-1-t}."""
    central = tuple(-value if j % 2 else value for j, value in enumerate(moments.central))
    return LossMoments(moments.mass, -moments.mean, central, moments.absolute)


@proved_by("T103-loss-moments")
def _gaussian_moments(variance: arb, tilt: arb) -> LossMoments:
    """L is N(v/2 + t v, v) under P_t, M(t) = e^{t(t+1) v/2}."""
    central = [arb(1), arb(0), variance, arb(0), 3 * variance * variance, arb(0), 15 * variance * variance * variance]
    first = (2 * variance / arb.pi()).sqrt()
    return LossMoments((tilt * (tilt + 1) * variance / 2).exp(), (tilt + arb(1) / 2) * variance, tuple(central),
                       {1: first, 3: 2 * variance * first})


@proved_by("T103-loss-moments")
def _recentred(raw: Sequence[arb], absolute: dict[int, arb], scale: _Scale) -> LossMoments:
    """From moments of w about 0: h = E w, E(w-h)^j = sum C(j,i) E w^i (-h)^{j-i}; | ||w-h||_j - ||w||_j | <= |h|."""
    about = [value / raw[0] for value in raw]
    shift, unit = about[1], scale.unit
    steps = _powers(-shift, HIGHEST)
    central = [sum((fmpz.bin_uiui(j, i) * about[i] * steps[j - i] for i in range(j + 1)), arb(0))
               for j in range(HIGHEST + 1)]
    central[0], central[1], central[2] = arb(1), arb(0), central[2].max(arb(0))
    units = _powers(unit, HIGHEST)
    norms = {j: _root(value / raw[0], j) + plus_minus(abs(shift)) for j, value in absolute.items()}
    sizes = {j: _powers(norm.max(arb(0)), j)[j] * units[j] for j, norm in norms.items()}
    moved = tuple(value * power for value, power in zip(central, units, strict=True))
    return LossMoments(raw[0], scale.centre + unit * shift, moved, sizes)


def _powers(base: arb, highest: int) -> list[arb]:
    """1, x, ..., x^highest by products."""
    found = [arb(1)]
    for _ in range(highest):
        found.append(found[-1] * base)
    return found


def _root(value: arb, degree: int) -> arb:
    """The root of a number that is at least 0, wherever the ball reaches."""
    if degree == 1:
        return value.max(arb(0))
    return value.root(degree) if value > 0 else arb(0).union(upper_end(value).max(arb(0)).root(degree))


@proved_by("T103-loss-moments")
def _enclose_raw(density: LossDensity, tilt: arb, scale: _Scale, highest: int,
                 bits: int) -> tuple[list[arb], dict[int, arb]]:
    """Enclose E_P[e^{tL} w^j; L < inf] for j <= highest, and E_P[e^{tL} |w|^j] for j = 1, 3."""
    signed, absolute = [arb(0)] * (highest + 1), {1: arb(0), 3: arb(0)}
    for loss, mass in density.atoms:
        weight, ladder = mass * (tilt * loss).exp(), _powers((loss - scale.centre) / scale.unit, highest)
        signed = [total + weight * power for total, power in zip(signed, ladder, strict=True)]
        absolute = {j: size + weight * abs(ladder[j]) for j, size in absolute.items() if j <= highest}
    if density.point is None:
        return signed, absolute
    low, high, units = *_find_centre(density, density.point, scale.centre), _powers(scale.unit, highest)
    for j in range(highest + 1):
        integrand = _integrand(density.point, tilt, scale, j)
        below = _integrate(integrand, density.left, low, bits)
        above = _integrate(integrand, high, density.right, bits)
        near = integrand(acb(low.union(high)), False).real * (high - low)
        rest = density.tail(tilt, scale.centre, j) / units[j]
        signed[j] += below + near + above + plus_minus(rest)
        if j in absolute:
            absolute[j] += above - below + abs(near) + plus_minus(rest)
    return signed, absolute


def _integrand(point: Point, tilt: arb, scale: _Scale, power: int) -> Callable[[acb, bool], acb]:
    """x -> density e^{tL} w^power."""
    def value(x: acb, analytic: bool) -> acb:
        log_density, loss = point(x, analytic)
        result, w = (log_density + tilt * loss).exp(), (loss - scale.centre) / scale.unit
        for _ in range(power):
            result *= w
        return result

    return value


def _integrate(integrand: Callable[[acb, bool], acb], left: arb, right: arb, bits: int) -> arb:
    return acb.integral(integrand, acb(left), acb(right), rel_tol=arb(2) ** -bits, abs_tol=arb(2) ** -(2 * bits)).real


@proved_by("T103-loss-moments")
def _find_centre(density: LossDensity, point: Point, centre: arb) -> tuple[arb, arb]:
    """(low, high): the loss is at most the centre for x <= low and at least the centre for x >= high; by bisection."""
    left, right = lower_end(density.left), upper_end(density.right)
    below, _ = _bisect(left, right, lambda x: bool(point(acb(x), False)[1].real <= centre))
    _, above = _bisect(left, right, lambda x: not point(acb(x), False)[1].real >= centre)
    return below.max(density.left), above.min(density.right)


def _bisect(low: arb, high: arb, is_left: Callable[[arb], bool]) -> tuple[arb, arb]:
    """Neighbouring exact points: every point that became `low` is left, every one that became `high` is not."""
    for _ in range(BISECTIONS):
        middle = lower_end((low + high) / 2)
        low, high = (middle, high) if is_left(middle) else (low, middle)
    return low, high


@singledispatch
def describe_loss(law: Law, tilt: Fraction) -> LossDensity:
    """The finite loss of a law as atoms and a density, its window wide enough for the tilt."""
    raise Unsupported(
        f"the Edgeworth accountant has no moments of {type(law).__name__}: it takes Gaussian and Laplace noise, their "
        "Poisson samples, mixtures of Gaussians, bounded range and finite laws; use auto", "method")


def no_tail(tilt: arb, centre: arb, power: int) -> arb:
    """Nothing is left out."""
    return arb(0)


@describe_loss.register
def _atomic(law: AtomicLaw, tilt: Fraction) -> LossDensity:
    return LossDensity(law.enclose_loss_atoms() or [], None, arb(0), arb(0), no_tail)


@describe_loss.register(LaplaceLoss)
@describe_loss.register(BoundedRangeLoss)
@proved_by("T103-loss-moments")
def _interval(law: LaplaceLoss | BoundedRangeLoss, tilt: Fraction) -> LossDensity:
    """Along the loss itself: the density is e^{x/2} times its value at 0, on (-mu, mu)."""
    mu = ball(law.largest_loss())
    log_middle = law.enclose_density(arb(0)).log()

    def point(x: acb, analytic: bool) -> tuple[acb, acb]:
        return log_middle + x / 2, x

    return LossDensity(law.enclose_loss_atoms() or [], point, -mu, mu, no_tail)


@describe_loss.register
@proved_by("T103-loss-moments", "T49-sampled")
def _sampled(law: SampledLoss, tilt: Fraction) -> LossDensity:
    """Along the base's loss l: remove ((1-q) e^{-l} + q) P1 with loss log m, m = 1 - q + q e^l; add e^{-l} P1, -log m.

    In the add order x = -l, so that the loss grows. Asks a base of finite range whose P0 lives where P1 does.
    """
    base, q = law.base.in_order("remove"), ball(law.probability)
    if not isinstance(base, LaplaceLoss | BoundedRangeLoss | AtomicLaw) or not (
            base.in_order("add").enclose_infinity_mass().is_zero()):
        raise Unsupported(f"the Edgeworth accountant has no moments of sampled {type(base).__name__}", "method")
    plain, remove = describe_loss(base, tilt), law.order == "remove"
    sign = 1 if remove else -1
    inner = plain.point

    def point(x: acb, analytic: bool) -> tuple[acb, acb]:
        log_density, loss = inner(sign * x, analytic) if inner is not None else (x, x)
        mixed = (1 - q + q * loss.exp()).log(analytic=analytic)
        return log_density - loss + (mixed if remove else 0), sign * mixed

    atoms = [_sampled_atom(q, remove, loss, mass) for loss, mass in plain.atoms]
    return LossDensity(atoms, point if inner is not None else None, plain.left, plain.right, no_tail)


def _sampled_atom(q: arb, remove: bool, loss: arb, mass: arb) -> tuple[arb, arb]:
    mixed, without = 1 - q + q * loss.exp(), mass * (-loss).exp()
    return (mixed.log(), without * mixed) if remove else (-mixed.log(), without)


@describe_loss.register
def _sampled_gaussian(law: SampledGaussianLoss, tilt: Fraction) -> LossDensity:
    q = law.sampling_probability
    with_it, mirrored = ((Fraction(0), 1 - q), (Fraction(1), q)), ((Fraction(-1), q), (Fraction(0), 1 - q))
    plain = ((Fraction(0), Fraction(1)),)
    above = plain if law.order == "add" else with_it
    below = plain if law.order == "remove" else mirrored
    return _gaussian_line(ball(law.noise_multiplier), above, below, tilt)


@describe_loss.register
def _mixture(law: MixtureLoss, tilt: Fraction) -> LossDensity:
    return _gaussian_line(ball(law.sigma), law.above, law.below, tilt)


Mixture = Sequence[tuple[Fraction, Fraction]]


@proved_by("T103-loss-moments")
def _gaussian_line(s: arb, above: Mixture, below: Mixture, tilt: Fraction) -> LossDensity:
    """Mixtures of N(mean, s^2) along the line: L is the difference of logs of sums of w e^{(2 mean x - mean^2)/(2s^2)}.

    With A the largest |mean| each log is at most (2A|x| + A^2)/(2s^2) in size, so that with p = |1+t| + |t| + 3

        E[e^{tL} |L - c|^j; |x| > R] <= 2 j! e^{|c| + p A^2/(2s^2) + (pA)^2/(2s^2)} P(Z > (R - pA)/s).
    """
    reach = max(abs(mean) for mean, _ in (*above, *below))  # exact: fractions
    slope, twice = ball((3 + abs(tilt) + abs(1 + tilt)) * reach), 2 * s * s
    log_norm = -(s * (2 * arb.pi()).sqrt()).log()
    lift = slope * (ball(reach) + slope) / twice
    log_p, log_q = _log_mixture(above, twice), _log_mixture(below, twice)

    def point(x: acb, analytic: bool) -> tuple[acb, acb]:
        first = log_p(x, analytic)
        return log_norm - x * x / twice + first, first - log_q(x, analytic)

    least = ball(min((weight for _, weight in (*above, *below))))  # exact: fractions
    window = slope + s * integer_above((2 * (lift + PRECISION - 2 * HIGHEST * least.log().min(arb(0)))).sqrt())

    def tail(t: arb, centre: arb, power: int) -> arb:
        return 2 * fmpz.fac_ui(fmpz(power)) * (abs(centre) + lift).exp() * normal_tail((window - slope) / s)

    return LossDensity([], point, -upper_end(window), upper_end(window), tail)


def _log_mixture(mixture: Mixture, twice: arb) -> Callable[[acb, bool], acb]:
    """x -> log sum of weight e^{(2 mean x - mean^2) / twice}."""
    terms = [(2 * ball(mean) / twice, ball(weight).log() - ball(mean * mean) / twice) for mean, weight in mixture]
    constant = sum((ball(weight) for mean, weight in mixture if mean == 0), arb(0))
    moving = [term for term, (mean, _) in zip(terms, mixture, strict=True) if mean != 0]

    def value(x: acb, analytic: bool) -> acb:
        if len(terms) == 1:
            return terms[0][0] * x + terms[0][1]
        return sum(((slope * x + start).exp() for slope, start in moving), acb(constant)).log(analytic=analytic)

    return value
