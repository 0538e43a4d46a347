"""Prawitz smoothing of the tilted loss: delta from the transform on a finite segment alone (T100 to T102).

    D(eps) = Re int_0^T M(z) e^{-z eps} g(s/T) / (pi z(z+1)) ds  +-  Re int_0^T M(z) e^{-z eps} (1 - s/T) V(z) / T ds,

    z = t + is,   g(u) = pi u(1-u) cot(pi u) + u,   V(z) = 2 (t/z) r^z - 2 ((t+1)/(z+1)) r^{z+1} - (t-z)/(z(z+1)),

r = t/(1+t). It holds for every law, atoms or not, every t > 0 and every T > 0: nothing is assumed of M beyond T. Where
M is small beyond U < T the rest is bounded instead of integrated, and a larger T costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb, ctx

from verified_dp.core.engines.chernoff import bound_mass
from verified_dp.core.engines.contour import bound_composed_beyond, enclose_direct_transforms
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.nodes import NodeRule, NodeSet, bound_line_error, enclose_nodes
from verified_dp.core.engines.powers import Column, enclose_products
from verified_dp.core.kernel.balls import BOUND_BITS, ball, gauss_rule, plus_minus, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.deadline import timed


@dataclass(frozen=True)
class PrawitzWitness:
    """Any values that meet the side conditions give a correct enclosure; good ones a narrow one.

    tilt: t > 0. top: T. cut: 0 < U <= T, the segment that is integrated, in `panels` equal panels of `points` Gauss
    points, with error bounds on ellipses of sum of semi-axes `ellipse` half-lengths. nodes, tail_nodes: per law with
    nodes, for the transform and for its bound beyond U. prec: bits.
    """

    tilt: Fraction
    top: Fraction
    cut: Fraction
    panels: int
    points: int
    ellipse: Fraction
    nodes: tuple[NodeRule, ...]
    tail_nodes: tuple[NodeRule, ...]
    prec: int

    @property
    def half_length(self) -> Fraction:
        """r of one panel."""
        return self.cut / (2 * self.panels)

    @property
    def reach(self) -> Fraction:
        """How far the ellipses extend to the left and right of the line Re z = t."""
        return self.half_length * (self.ellipse - 1 / self.ellipse) / 2


@dataclass(frozen=True)
class PrawitzValues:
    """What does not depend on eps.

    heights, centre, spread: at the Gauss points s, weight times M times the two kernels. quadrature, node_tail: what
    the transforms' errors add. masses: bounds of M at t - reach and t + reach; kernels: of the two kernels, summed over
    the panels. beyond: bounds of both integrals over (U, T) without e^{-t eps}. infinity_mass: P(S = inf).
    """

    witness: PrawitzWitness
    heights: list[arb]
    centre: list[acb]
    spread: list[acb]
    quadrature: arb
    node_tail: arb
    masses: tuple[arb, arb]
    kernels: arb
    beyond: arb
    infinity_mass: arb


@proved_by("T102-prawitz-quadrature")
def check_prawitz(witness: PrawitzWitness, laws: int) -> bool:
    """The side conditions that are comparisons of exact numbers."""
    shaped = witness.panels >= 1 and witness.points >= 2 and witness.ellipse > 1 and 0 < witness.cut <= witness.top
    return shaped and 0 < witness.reach < witness.tilt and len(witness.nodes) == len(witness.tail_nodes) == laws


@proved_by("T100-prawitz")
def enclose_window(u: acb) -> acb:
    """Enclose g(u) = pi u(1-u) cot(pi u) + u, analytic for -1 < Re u < 2: its value is 1 at 0 and 0 at 1.

    By h(x) = pi x cot(pi x): (1-u) h(u) + u, or u (1 - h(1-u)) around 1.
    """
    near = (1 - u) * (u.cos_pi() / u.sinc_pi()) + u
    if near.is_finite() and u.real < arb(3) / 4:
        return near
    return u * (1 - (1 - u).cos_pi() / (1 - u).sinc_pi())


@proved_by("T101-prawitz-tilted")
def enclose_variation(z: acb, tilt: arb) -> acb:
    """Enclose V(z) = int |f'(x)| e^{-is(x - eps)} dx: 2 A(y*) - A(0), f rising up to y* = log((1+t)/t) past eps."""
    log_ratio = -(1 / tilt).log1p()
    turn = 2 * (z * log_ratio).exp()
    return turn * (tilt / z - (tilt + 1) / (z + 1) * log_ratio.exp()) - (tilt - z) / z / (z + 1)


def _kernels(z: acb, s: acb, witness: PrawitzWitness) -> tuple[acb, acb]:
    """(g / (pi z(z+1)), (1 - s/T) V / T)."""
    u = s / ball(witness.top)
    centre = enclose_window(u) / arb.pi() / z / (z + 1)  # z(z+1) of a wide ball may contain 0
    return centre, (1 - u) * enclose_variation(z, ball(witness.tilt)) / ball(witness.top)


@proved_by("T102-prawitz-quadrature", "T12-powers")
def evaluate_prawitz(loss: ComposedLoss, witness: PrawitzWitness) -> PrawitzValues:
    """Enclose everything that does not depend on eps. Raises InvalidInput where a side condition fails."""
    if not (lines(loss).has_transform and check_prawitz(witness, len(lines(loss).node_parts))):
        raise InvalidInput("witness", "PrawitzWitness", "a witness that meets its side conditions")
    with ctx.workprec(witness.prec):
        tilt, half = ball(witness.tilt), ball(witness.half_length)
        node_sets = [enclose_nodes(law, rule)
                     for (law, _), rule in timed(zip(lines(loss).node_parts, witness.nodes, strict=True))]
        errors = [bound_line_error(nodes, tilt) for nodes in node_sets]
        heights, centre, spread, quadrature, node_tail = [], [], [], arb(0), arb(0)
        for panel in range(witness.panels):
            for node, weight in timed(gauss_rule(witness.points)):
                s = half * (2 * panel + 1 + node)
                z = acb(tilt, s)
                product, by_quadrature, by_tail = _enclose_transform(loss, node_sets, errors, z)
                factors = [half * weight * kernel for kernel in _kernels(z, acb(s), witness)]
                size = sum((factor.abs_upper() for factor in factors), arb(0))
                heights.append(s)
                centre.append(product * factors[0])
                spread.append(product * factors[1])
                quadrature, node_tail = quadrature + by_quadrature * size, node_tail + by_tail * size
        infinity_mass = loss.enclose_infinity_mass()
    with ctx.workprec(BOUND_BITS):
        ends = (witness.tilt - witness.reach, witness.tilt + witness.reach)
        counted = [(nodes, count) for nodes, (_, count) in zip(node_sets, lines(loss).node_parts, strict=True)]
        masses = [upper_end(bound_mass(loss, counted, x) / bound_chernoff_factor(ball(x))) for x in ends]
        return PrawitzValues(
            witness, heights, centre, spread, upper_end(quadrature), upper_end(node_tail), (masses[0], masses[1]),
            _bound_kernels(witness), _bound_beyond(loss, witness), infinity_mass)


def _enclose_transform(loss: ComposedLoss, node_sets: list[NodeSet], errors: list[tuple[arb, arb]],
                       z: acb) -> tuple[acb, arb, arb]:
    by_nodes = [Column([sum(nodes.weights(z), acb(0))], *error, count)
                for nodes, error, (_, count) in zip(node_sets, errors, lines(loss).node_parts, strict=True)]
    found = enclose_products(by_nodes + enclose_direct_transforms(loss, z), [loss.enclose_gaussian_exponent(z)])
    return found.values[0], *found.bound_errors([arb(1)])


@proved_by("T102-prawitz-quadrature", "T17-gauss-legendre")
def _bound_kernels(witness: PrawitzWitness) -> arb:
    """Sum over the panels of r (64/15) rho^{-2n} / (1 - rho^-2) sup (|kernel| + |other kernel|) on the ellipse."""
    rho, half = ball(witness.ellipse), ball(witness.half_length)
    along, across = half * (rho + 1 / rho) / 2, plus_minus(ball(witness.reach))
    total = arb(0)
    for panel in range(witness.panels):
        s = acb(half * (2 * panel + 1) + plus_minus(along), across)
        z = acb(ball(witness.tilt) + across, s.real)
        total += sum((kernel.abs_upper() for kernel in _kernels(z, s, witness)), arb(0))
    return upper_end(half * total * 64 / 15 * rho ** (-2 * witness.points) / (1 - 1 / (rho * rho)))


@proved_by("T102-prawitz-quadrature", "T11-tail-for-free")
def _bound_beyond(loss: ComposedLoss, witness: PrawitzWitness) -> arb:
    """Bound both integrals over (U, T) by B (1/(pi U) + min(2 C(t), 3 (2t+1) log(T/U) / T)), |M| <= B there."""
    if witness.cut == witness.top:
        return arb(0)
    tilt, cut, top = ball(witness.tilt), ball(witness.cut), ball(witness.top)
    beyond = bound_composed_beyond(loss, witness.tail_nodes, tilt, cut)
    spread = (2 * bound_chernoff_factor(tilt)).min(3 * (2 * tilt + 1) * (top / cut).log() / top)
    return upper_end(beyond * (1 / (arb.pi() * cut) + spread))


@proved_by("T101-prawitz-tilted", "T102-prawitz-quadrature")
def enclose_by_prawitz(values: PrawitzValues, epsilon: Fraction) -> Bounds:
    """Enclose delta(eps) = P(S = inf) + D(eps): smoothing, quadrature and what lies beyond U widen both sides."""
    witness = values.witness
    with ctx.workprec(witness.prec):
        shift, scale = ball(epsilon), (-ball(witness.tilt * epsilon)).exp()
        turns = [acb(0, -s * shift).exp() for s in values.heights]
        total = scale * sum((value * turn for value, turn in zip(values.centre, turns, strict=True)), acb(0)).real
        width = scale * sum((value * turn for value, turn in zip(values.spread, turns, strict=True)), acb(0)).real
        left, right = (mass * (-ball(x * epsilon)).exp() for mass, x in zip(
            values.masses, (witness.tilt - witness.reach, witness.tilt + witness.reach), strict=True))
        errors = {
            "smoothing": upper_end(width).max(arb(0)),
            "quadrature": values.kernels * left.max(right) + scale * values.quadrature,
            "node_tail": scale * values.node_tail,
            "frequency_tail": scale * values.beyond,
        }
        return bounds_from_sum(total + values.infinity_mass, errors, {})
