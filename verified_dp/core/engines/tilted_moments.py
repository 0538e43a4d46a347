"""Moments of a tilted loss: derivatives of its transform with proved errors (T94).

With L~ the loss L of one law under the measure e^{tL} dP / M(t), and a centre c:

    m_i = E (L~ - c)^i = (d/dz)^i e^{-(z-t)c} M(z) at z = t, over M(t).

M is a sum over nodes plus an error that is analytic too, so that Cauchy bounds the error's derivatives; or a sum over
atoms; or, for any other transform, its values on a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from flint import acb, arb, ctx

from verified_dp.core.engines.direct import DirectLaw, is_direct
from verified_dp.core.engines.lines import has_nodes
from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.engines.rules import is_atomic
from verified_dp.core.kernel.balls import BOUND_BITS, ball, lower_end, plus_minus, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.exact import square
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import nothing, paced

CIRCLE_RATIO = 4
"""The circle on which a transform is sampled has this part of the radius on which it is bounded."""
NO_NODES = NodeRule(Fraction(0), Fraction(0), Fraction(0), 0, 0)
"""In the place of a rule where there is none."""


@dataclass(frozen=True)
class TiltedMoments:
    """mass: M(t). values: m_1, m_2, ... about the centre."""

    mass: arb
    centre: arb
    values: list[arb]

    @property
    def mean(self) -> arb:
        """Enclose K'(t) = c + m_1."""
        return self.centre + self.values[0]

    @cached_property
    def variance(self) -> arb:
        """Enclose K''(t) = m_2 - m_1^2."""
        return self.values[1] - self.values[0] * self.values[0]

    @cached_property
    def rest(self) -> arb:
        """E(Y-Y')^4/24 = (kappa_4 + 6 kappa_2^2)/12, Y' an independent copy of Y = L~."""
        second, _, fourth = self.central
        return (fourth + 3 * second * second) / 12

    @cached_property
    def central(self) -> tuple[arb, arb, arb]:
        """Enclose the second, third and fourth moments about the mean."""
        m1, m2, m3, m4 = self.values[:4]
        square = m1 * m1
        return m2 - square, m3 - 3 * m1 * m2 + 2 * m1 * square, m4 - 4 * m1 * m3 + 6 * square * m2 - 3 * square * square

    @cached_property
    def absolute(self) -> list[arb]:
        """Bounds of E|L~ - c|^j, up to the last even j: m_j, for odd j sqrt(m_{j-1} m_{j+1})."""
        ends = [arb(1), *map(upper_end, self.values)]
        return [upper_end((ends[j - 1] * ends[j + 1]).sqrt()) if j % 2 else ends[j] for j in range(len(ends))]


@dataclass(frozen=True)
class MomentRule:
    """Of one law. radius: of the disc around the tilt on which errors (or the transform) are bounded.

    nodes: height 0, for a law whose transform is a sum over nodes. points: on the circle, an even number, for others.
    """

    radius: Fraction
    nodes: NodeRule = NO_NODES
    points: int = 0

    @proved_by("T94-tilted-moments")
    def is_central(self, law: MixtureLines) -> bool:
        """The side conditions of T94 that do not depend on the tilt: 0 < b < pi s^2/d, 0 < h <= 2s, a window."""
        rule = self.nodes
        shaped = self.radius > 0 and rule.height == 0 and rule.step > 0 and rule.half_width > 0
        return (shaped and rule.first <= 0 < rule.last and rule.step**2 <= 4 * square(law.sigma)
                and bool(ball(rule.half_width) < law.enclose_strip()))


def has_range(law: Law) -> bool:
    """Whether its finite loss has both ends: then a closed form of its transform holds at every z."""
    return law.enclose_largest_loss() is not None and law.enclose_smallest_loss() is not None


@dataclass(frozen=True)
class NodeTable:
    """Real nodes or atoms of one law, log(h phi_s) + u or log p, and v, at one precision."""

    bases: list[arb]
    losses: list[arb]


@dataclass(frozen=True)
class MomentTable:
    """A composition with one rule per law and what does not depend on the tilt. prec: bits."""

    loss: ComposedLoss
    rules: tuple[MomentRule, ...]
    nodes: tuple[NodeTable | None, ...]
    prec: int


def tabulate_moments(loss: ComposedLoss, rules: Sequence[MomentRule], prec: int,
                     between: Callable[[], None] = nothing) -> MomentTable:
    """Enclose the nodes or atoms of every law that has them. Raises InvalidInput for a wrong rule."""
    with ctx.workprec(prec):
        nodes = tuple(_tabulate(law, rule) for (law, _), rule in paced(zip(loss.parts, rules, strict=True), between))
    return MomentTable(loss, tuple(rules), nodes, prec)


@proved_by("T94-tilted-moments")
def _tabulate(law: Law, rule: MomentRule) -> NodeTable | None:
    if not has_nodes(law):
        atoms = law.enclose_finite_atoms() if is_atomic(law) else ()
        return NodeTable([p.log() for p, _ in atoms], [(p / q).log() for p, q in atoms]) if atoms else None
    if not rule.is_central(law):
        raise InvalidInput("rules", rule.nodes.half_width, "of height 0 and inside of the strip of a law with nodes")
    step, log_step = ball(rule.nodes.step), ball(rule.nodes.step).log()
    pairs = law.exponents([acb(step * j) for j in range(rule.nodes.first, rule.nodes.last + 1)])
    return NodeTable([base.real + log_step for base, _ in pairs], [loss.real for _, loss in pairs])


def enclose_moments(table: MomentTable, index: int, tilt: arb, order: int) -> TiltedMoments:
    """Enclose M(t) and m_1..m_order of the law of that index, for every tilt of the ball, at the table's bits.

    Any tilt with nodes or atoms, or of a closed form whose loss has both ends, else > 0. The centre is an exact number
    near the mean. Where a side condition fails everything is infinite or nan.
    """
    law, rule, nodes = table.loss.parts[index][0], table.rules[index], table.nodes[index]
    with ctx.workprec(table.prec):
        if nodes is not None:
            return _moments_of_nodes(law, rule, nodes, tilt, order)
        if is_direct(law):
            return _moments_on_circle(law, rule, tilt, order)
        raise Unsupported(f"no transform of {type(law).__name__} is known: its moments cannot be enclosed")


@proved_by("T94-tilted-moments")
def _moments_of_nodes(law: Law, rule: MomentRule, nodes: NodeTable, tilt: arb, order: int) -> TiltedMoments:
    """m_i M = sum_j W_j (v_j - c)^i + error_i, |error_i| <= i! e^{r|c|} E / r^i, E a bound of |error| on the disc.

    Atoms leave no error.
    """
    weights = [(base + tilt * loss).exp() for base, loss in zip(nodes.bases, nodes.losses, strict=True)]
    error = _bound_disc_error(law, rule, nodes, tilt, weights) if has_nodes(law) else arb(0)
    centre = _exact(sum((w * v for w, v in zip(weights, nodes.losses, strict=True)), arb(0)) / sum(weights, arb(0)))
    mass, offsets, values = sum(weights, arb(0)) + plus_minus(error), [loss - centre for loss in nodes.losses], []
    spread = upper_end(error * (ball(rule.radius) * abs(centre)).exp())
    for i in range(1, order + 1):
        weights = [weight * offset for weight, offset in zip(weights, offsets, strict=True)]
        spread = upper_end(spread * i / ball(rule.radius)) if has_nodes(law) else spread
        values.append((sum(weights, arb(0)) + plus_minus(spread)) / mass)
    return TiltedMoments(mass, centre, values)


def _exact(near: arb) -> arb:
    """An exact number near the ball's points, 0 where there is none."""
    end = lower_end(near)
    return end if end.is_finite() else arb(0)


@proved_by("T94-tilted-moments", "T19-line-integral")
def _bound_disc_error(law: MixtureLines, rule: MomentRule, nodes: NodeTable, tilt: arb,
                      weights: Sequence[arb]) -> arb:
    """Bound |M(z) - sum_j W_j(z)| for |z - t| <= r by its size at the two real ends x = t +- r.

    2 N(x) e^{r Theta} / (e^{2 pi b/h} - 1) + tails(x), N of the lines at heights +-b, Theta = (a_max - b_min) b/s^2 of
    the means of P and Q.
    """
    node_rule = rule.nodes
    with ctx.workprec(BOUND_BITS):
        radius = ball(rule.radius)
        half_width, reach = ball(node_rule.half_width), law.above[-1][0] - law.below[0][0]
        geometric = (2 * arb.pi() * ball(node_rule.half_width / node_rule.step)).expm1()
        swing = (radius * ball(reach) * half_width / ball(law.sigma) ** 2).exp()
        ends = arb(0), ball(node_rule.step * node_rule.first), ball(node_rule.step * node_rule.last)
        bound = arb(0)
        for x in (tilt - radius, tilt + radius):
            turned = (w * ((x - tilt) * loss).exp() for w, loss in zip(weights, nodes.losses, strict=True))
            tails = upper_end(law.bound_tails(acb(x), *ends))
            kappa = upper_end(2 * law.enclose_strip_factor(x, arb(0), half_width) / geometric)
            if not kappa < 1:
                return arb.pos_inf()
            mass = (upper_end(sum(turned, arb(0))) + tails) / (1 - kappa)
            bound = bound.max(upper_end(kappa * mass * swing + tails))
        return bound


@proved_by("T94-tilted-moments")
def _moments_on_circle(law: DirectLaw, rule: MomentRule, tilt: arb, order: int) -> TiltedMoments:
    """i! a_i with a_i = (1/N) sum_k f(t + r w^k) w^{-ik} / r^i, f(z) = e^{-(z-t)c} M(z), w = e^{2 pi i/N}, r = R/4.

    The error of a_i is at most B R^-i / (4^N - 1), B = e^{R|c|} max M(t +- R).
    """
    count, radius = rule.points, ball(rule.radius)
    if not (count > order and count % 2 == 0 and radius > 0 and (has_range(law) or radius < tilt)):
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
    return TiltedMoments(taylor[0], centre, [a * arb.fac_ui(i) / taylor[0] for i, a in enumerate(taylor) if i])


def _taylor(half: Sequence[acb], points: Sequence[acb], order: int) -> list[arb]:
    """(1/N) sum_k f_k w^{-ik}, i = 0..order, from the f_k of half a circle: f at the conjugate is the conjugate."""
    count = len(points)
    sides = [2 if 0 < k < count // 2 else 1 for k in range(len(half))]
    return [sum((side * (value * points[(-i * k) % count]).real
                 for k, (side, value) in enumerate(zip(sides, half, strict=True))), arb(0)) / count
            for i in range(order + 1)]
