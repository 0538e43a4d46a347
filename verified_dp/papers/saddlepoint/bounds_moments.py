"""Moments of a tilted loss: derivatives of its transform with proved errors (T94), absolute third moments (T95).

With L~ the loss L of one law under the measure e^{tL} dP / M(t), and a centre c:

    m_i = E (L~ - c)^i = (d/dz)^i e^{-(z-t)c} M(z) at z = t, over M(t).

M is a sum over nodes plus an error that is analytic too, so that Cauchy bounds the error's derivatives; or a sum over
atoms; or, for any other transform, its values on a circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

from flint import acb, arb, ctx

from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.families.finite.atomic import AtomicLaw
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.laplace import BoundedRangeLoss, LaplaceLoss
from verified_dp.core.kernel.balls import BOUND_BITS, ball, lower_end, plus_minus, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.exact import square
from verified_dp.core.kernel.law import SWAPPED, DirectLaw, Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.papers.saddlepoint.bounds_interval import TiltedMoments, enclose_interval_moments
from verified_dp.search.deadline import timed

CIRCLE_RATIO = 4
"""The circle on which a transform is sampled has this part of the radius on which it is bounded."""


@dataclass(frozen=True)
class MomentRule:
    """Witness for one law. radius: of the disc around the tilt on which errors (or the transform) are bounded.

    nodes: height 0, for a law whose transform is a sum over nodes. points: on the circle, an even number, for others.
    """

    radius: Fraction
    nodes: NodeRule | None = None
    points: int = 0

    def is_central(self, law: MixtureLines) -> bool:
        """The side conditions of T94 that do not depend on the tilt: 0 < b < pi s^2/d, 0 < h <= 2s, a window."""
        rule = self.nodes
        if rule is None or not (self.radius > 0 and rule.height == 0 and rule.step > 0 and rule.half_width > 0):
            return False
        fits = bool(ball(rule.half_width) < law.enclose_strip()) and rule.first <= 0 < rule.last
        return fits and rule.step**2 <= 4 * square(law.sigma)


@dataclass(frozen=True)
class NodeTable:
    """Real nodes of one law: log(h phi_s) + u, v, and e^{r v}, at one precision."""

    bases: list[arb]
    losses: list[arb]
    turns: list[arb]


@dataclass(frozen=True)
class MomentTable:
    """A composition with one rule per law and what does not depend on the tilt. prec: bits."""

    loss: ComposedLoss
    rules: tuple[MomentRule, ...]
    nodes: tuple[NodeTable | None, ...]
    prec: int


def tabulate_moments(loss: ComposedLoss, rules: Sequence[MomentRule], prec: int) -> MomentTable:
    """Enclose the nodes of every law that has them at the given precision. Raises Unsupported for a wrong rule."""
    with ctx.workprec(prec):
        nodes = tuple(_tabulate(law, rule) for (law, _), rule in timed(zip(loss.parts, rules, strict=True)))
    return MomentTable(loss, tuple(rules), nodes, prec)


def _tabulate(law: Law, rule: MomentRule) -> NodeTable | None:
    if not isinstance(law, MixtureLines):
        return None
    if rule.nodes is None or not rule.is_central(law):
        raise Unsupported("a law with nodes needs a rule of height 0 that fits its strip")
    step, log_step = ball(rule.nodes.step), ball(rule.nodes.step).log()
    pairs = law.exponents([acb(step * j) for j in range(rule.nodes.first, rule.nodes.last + 1)])
    losses = [loss.real for _, loss in pairs]
    return NodeTable([base.real + log_step for base, _ in pairs], losses,
                     [(ball(rule.radius) * loss).exp() for loss in losses])


def enclose_moments(table: MomentTable, index: int, tilt: arb, order: int) -> TiltedMoments:
    """Enclose M(t) and m_1..m_order of the law of that index, for every tilt of the ball, at the table's bits.

    Tilts are > 0; any with nodes or atoms, and of losses on an interval 0 and -1. The centre is an exact number near
    the mean. Where a side condition fails everything is infinite or nan.
    """
    law, rule, nodes = table.loss.parts[index][0], table.rules[index], table.nodes[index]
    with ctx.workprec(table.prec):
        if isinstance(law, MixtureLines) and nodes is not None:
            return _moments_of_nodes(law, rule, nodes, tilt, order)
        if isinstance(law, AtomicLaw):
            return _moments_of_atoms(law, tilt, order)
        if tilt.is_zero():
            return enclose_interval_moments(law, order)
        if tilt == -1:
            return enclose_interval_moments(law.in_order(SWAPPED[law.order]), order).mirrored()
        if isinstance(law, DirectLaw):
            return _moments_on_circle(law, rule, tilt, order)
        raise Unsupported(f"no transform of {type(law).__name__} is known: its moments cannot be enclosed")


@proved_by("T94-tilted-moments")
def _moments_of_nodes(law: MixtureLines, rule: MomentRule, nodes: NodeTable, tilt: arb,
                      order: int) -> TiltedMoments:
    """m_i M = sum_j W_j (v_j - c)^i + error_i, |error_i| <= i! e^{r|c|} E / r^i, E a bound of |error| on the disc."""
    weights = [(base + tilt * loss).exp() for base, loss in zip(nodes.bases, nodes.losses, strict=True)]
    error = _bound_disc_error(law, rule, nodes, tilt, weights)
    centre = _exact(sum((w * v for w, v in zip(weights, nodes.losses, strict=True)), arb(0)) / sum(weights, arb(0)))
    with ctx.workprec(BOUND_BITS):
        spread = upper_end(error * (ball(rule.radius) * abs(centre)).exp())
    mass = sum(weights, arb(0)) + plus_minus(error)
    offsets, terms, values = [loss - centre for loss in nodes.losses], weights, []
    for i in range(1, order + 1):
        terms = [term * offset for term, offset in zip(terms, offsets, strict=True)]
        values.append((sum(terms, arb(0)) + plus_minus(_cauchy(spread, rule.radius, i))) / mass)
    return TiltedMoments(mass, centre, values)


def _factorial(n: int) -> int:
    return n * _factorial(n - 1) if n else 1


def _exact(near: arb) -> arb:
    """An exact number near the ball's points, 0 where there is none."""
    end = lower_end(near)
    return end if end.is_finite() else arb(0)


@proved_by("T94-tilted-moments")
def _cauchy(bound: arb, radius: Fraction, i: int) -> arb:
    """i! bound / radius^i."""
    return upper_end(bound * _factorial(i) / ball(radius) ** i)


@proved_by("T94-tilted-moments")
def _bound_disc_error(law: MixtureLines, rule: MomentRule, nodes: NodeTable, tilt: arb,
                      weights: Sequence[arb]) -> arb:
    """Bound |M(z) - sum_j W_j(z)| for |z - t| <= r by its size at the two real ends x = t +- r.

    2 N(x) e^{r Theta} / (e^{2 pi b/h} - 1) + tails(x), N = e^{b^2/(2s^2)} cos(d_P b/(2s^2))^{-(-1-x)_+}
    cos(d_Q b/(2s^2))^{-x_+} M(x), Theta = (a_max - b_min) b/s^2, of the means of P and Q and their spreads.
    """
    node_rule = rule.nodes
    with ctx.workprec(BOUND_BITS):
        radius = ball(rule.radius)
        if node_rule is None:
            return arb.pos_inf()
        half_width, reach = ball(node_rule.half_width), law.above[-1][0] - law.below[0][0]
        geometric = (2 * arb.pi() * ball(node_rule.half_width / node_rule.step)).expm1()
        swing = (radius * ball(reach) * half_width / ball(law.sigma) ** 2).exp()
        ends = arb(0), ball(node_rule.step * node_rule.first), ball(node_rule.step * node_rule.last)
        bound = arb(0)
        for x, sign in ((tilt - radius, -1), (tilt + radius, 1)):
            turned = (w * turn if sign == 1 else w / turn for w, turn in zip(weights, nodes.turns, strict=True))
            tails = upper_end(law.bound_tails(acb(x), *ends))
            kappa = upper_end(2 * _strip_factor(law, x, half_width) / geometric)
            if not kappa < 1:
                return arb.pos_inf()
            mass = (upper_end(sum(turned, arb(0))) + tails) / (1 - kappa)
            bound = bound.max(upper_end(kappa * mass * swing + tails))
        return bound


@proved_by("T94-tilted-moments", "T19-line-integral")
def _strip_factor(law: MixtureLines, x: arb, half_width: arb) -> arb:
    """N(x) / M(x) at any real x."""
    twice = 2 * ball(law.sigma) ** 2
    cosines = [(half_width * ball(side[-1][0] - side[0][0]) / twice).cos() for side in (law.above, law.below)]
    lift = (-1 - x).max(arb(0)) * cosines[0].log() + x.max(arb(0)) * cosines[1].log()
    return (half_width * half_width / twice - lift).exp()


@proved_by("T94-tilted-moments")
def _moments_of_atoms(law: AtomicLaw, tilt: arb, order: int) -> TiltedMoments:
    """Sums over the atoms with finite loss."""
    atoms = [(p, (p / q).log()) for p, q in law.enclose_finite_atoms()]
    terms = [p * (tilt * loss).exp() for p, loss in atoms]
    mass, values = sum(terms, arb(0)), []
    centre = _exact(sum((term * loss for term, (_, loss) in zip(terms, atoms, strict=True)), arb(0)) / mass)
    for _ in range(order):
        terms = [term * (loss - centre) for term, (_, loss) in zip(terms, atoms, strict=True)]
        values.append(sum(terms, arb(0)) / mass)
    return TiltedMoments(mass, centre, values)


@proved_by("T94-tilted-moments")
def _moments_on_circle(law: DirectLaw, rule: MomentRule, tilt: arb, order: int) -> TiltedMoments:
    """i! a_i with a_i = (1/N) sum_k f(t + r w^k) w^{-ik} / r^i, f(z) = e^{-(z-t)c} M(z), w = e^{2 pi i/N}, r = R/4.

    The error of a_i is at most B R^-i / (4^N - 1), B = e^{R|c|} max M(t +- R).
    """
    count, radius = rule.points, ball(rule.radius)
    if not (count > order and count % 2 == 0 and radius > 0 and radius < tilt):
        return TiltedMoments(arb.pos_inf(), arb(0), [arb.pos_inf() for _ in range(order)])
    small = radius / CIRCLE_RATIO
    points = [acb(ball(Fraction(2 * k, count))).exp_pi_i() for k in range(count)]
    half = [law.enclose_transform(tilt + small * point) for point in points[: count // 2 + 1]]
    around = upper_end(law.enclose_moment(tilt - radius)).max(upper_end(law.enclose_moment(tilt + radius)))
    first = _taylor(half, points, 1)
    centre = _exact(first[1] / (small * first[0]))
    turned = [value * (-small * point * centre).exp() for value, point in zip(half, points, strict=False)]
    wrap = upper_end((radius * abs(centre)).exp() * around / (arb(CIRCLE_RATIO) ** count - 1))
    taylor = [a / small**i + plus_minus(wrap / radius**i) for i, a in enumerate(_taylor(turned, points, order))]
    return TiltedMoments(taylor[0], centre, [a * _factorial(i) / taylor[0] for i, a in enumerate(taylor) if i])


def _taylor(half: Sequence[acb], points: Sequence[acb], order: int) -> list[arb]:
    """(1/N) sum_k f_k w^{-ik}, i = 0..order, from the f_k of half a circle: f at the conjugate is the conjugate."""
    count = len(points)
    sides = [2 if 0 < k < count // 2 else 1 for k in range(len(half))]
    return [sum((side * (value * points[(-i * k) % count]).real
                 for k, (side, value) in enumerate(zip(sides, half, strict=True))), arb(0)) / count
            for i in range(order + 1)]


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


def central_moments(moments: TiltedMoments) -> list[arb]:
    """Enclose the second, third and fourth moments about the mean."""
    m1, m2, m3, m4 = moments.values[:4]
    square = m1 * m1
    third = m3 - 3 * m1 * m2 + 2 * m1 * square
    return [m2 - square, third, m4 - 4 * m1 * m3 + 6 * square * m2 - 3 * square * square]


@proved_by("T95-third-moment")
def bound_third_moment(moments: TiltedMoments) -> arb:
    """Bound E|Y|^3 <= sqrt(E Y^2 E Y^4), Y = L~ - K'."""
    second, _, fourth = central_moments(moments)
    return upper_end((upper_end(second).max(arb(0)) * upper_end(fourth).max(arb(0))).sqrt())


@proved_by("T95-third-moment")
def bound_deviation(moments: TiltedMoments) -> arb:
    """Bound E|Y| <= sqrt(E Y^2)."""
    return upper_end(upper_end(central_moments(moments)[0]).max(arb(0)).sqrt())


def _raised(x: arb, power: int) -> arb:
    """x or x^3, also on balls around 0."""
    return x if power == 1 else x * x * x


def _signed(moments: TiltedMoments, power: int) -> arb:
    """E Y^power: 0 or the third central moment."""
    return arb(0) if power == 1 else central_moments(moments)[1]


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
        total += p * (tilt * loss).exp() * _raised(abs(loss - moments.mean()), power)
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
    mean, rate = moments.mean(), tilt + arb(1) / 2
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
    mean = moments.mean()
    split = _solve(law, mean)
    if split is None or rule.nodes is None:
        return None
    step = rule.nodes.step
    end = ball(step * (rule.nodes.last if law.order == "add" else rule.nodes.first))
    part = _integrate_below(law, tilt, mean, *((split, end) if law.order == "add" else (end, split)), power)
    slip = _raised(abs(law.exponents([acb(split)])[0][1].real - mean), power)
    decay = ball(rule.radius)
    tails = _factorial(power) / decay**power * (decay * mean).exp() * law.bound_tails(
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
