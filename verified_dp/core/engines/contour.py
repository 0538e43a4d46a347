"""The contour method on a vertical line: a trapezoidal sum with every error bounded (T01 to T06, T08 to T12).

    D(eps) = (1/2pi) int M(c+iw) e^{-(c+iw) eps} / ((c+iw)(c+1+iw)) dw
           = (eta/2pi) sum_{|m| <= m0} G(m eta)  -  aliases (>= 0)  +- frequency tail  +- transform errors +- rounding.

`evaluate_line` does all the work that does not depend on eps; `enclose_on_line` is then cheap at every eps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb, ctx

from verified_dp.core.balls import BOUND_BITS, ball, powers, upper_end
from verified_dp.core.bounds import Bounds, bound_chernoff_factor, bounds_from_sum
from verified_dp.core.engines.nodes import (
    NodeRule,
    NodeSet,
    bound_line_error,
    bound_transform_beyond,
    enclose_nodes,
)
from verified_dp.core.engines.powers import Transform, enclose_product, turn_sums
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.core.laws.law import DirectLaw, RuleLaw
from verified_dp.core.theorems import proved_by


@dataclass(frozen=True)
class LineWitness:
    """Any values give a correct enclosure; good ones a narrow one.

    tilt: c > 0. step: eta > 0. count: m0 >= 1 frequencies. nodes, tail_nodes: one rule per law, for the sum and
    for the bound beyond m0 eta. right > tilt > left >= 0: exponents of the alias bounds (left = 0: D <= 1 is used).
    prec: bits.
    """

    tilt: Fraction
    step: Fraction
    count: int
    nodes: tuple[NodeRule, ...]
    tail_nodes: tuple[NodeRule, ...]
    right: Fraction
    left: Fraction
    prec: int


@dataclass(frozen=True)
class LineValues:
    """What a line yields before eps is known.

    terms: the composed transform over z(z+1) at z = tilt + i m step, twice for m >= 1. quadrature, node_tail: what the
    transforms' errors add to their sum. beyond: bound on |M| past the last frequency. right_mass, left_mass: C(l) M(l).
    infinity_mass: P(S = inf), which delta adds to D.
    """

    witness: LineWitness
    terms: list[acb]
    quadrature: arb
    node_tail: arb
    beyond: arb
    right_mass: arb
    left_mass: arb
    infinity_mass: arb


@proved_by("T06-trapezoidal-enclosure")
def check_line(witness: LineWitness, laws: int) -> bool:
    """The side conditions of T02, T04 and T06 that are plain comparisons of exact numbers."""
    ordered = 0 <= witness.left < witness.tilt < witness.right
    return ordered and witness.step > 0 and witness.count >= 1 and (
        len(witness.nodes) == len(witness.tail_nodes) == laws)


@proved_by("T03-chernoff", "T09-total-mass")
def bound_mass(loss: ComposedLoss, node_sets: list[NodeSet], exponent: Fraction) -> arb:
    """Bound C(l) M(l), so that D(eps) <= C(l) M(l) e^{-l eps}, for l = exponent > 0."""
    point = ball(exponent)
    log_mass = loss.enclose_gaussian_exponent(acb(point)).real
    for law, count in loss.direct_parts:
        log_mass += count * law.enclose_moment(point).log()
    for nodes, (_, count) in zip(node_sets, loss.node_parts, strict=True):
        quadrature, node_tail = bound_line_error(nodes, point)
        value = sum(nodes.weights(acb(point)), acb(0)).abs_upper()
        log_mass += count * (value + quadrature + node_tail).log()
    return upper_end(log_mass.exp() * bound_chernoff_factor(point))


@proved_by("T06-trapezoidal-enclosure")
def enclose_transforms_on_line(nodes: NodeSet, tilt: arb, step: arb, count: int) -> list[acb]:
    """Enclose sum_j W_j e^{i m eta v_j} for m = 0..count."""
    return turn_sums(nodes.weights(acb(tilt)), [(loss * acb(0, step)).exp() for loss in nodes.losses], count)


@proved_by("T12-powers")
def evaluate_line(loss: ComposedLoss, witness: LineWitness) -> LineValues:
    """Enclose the composed transform on the witness's line, and bound everything else that does not depend on eps."""
    with ctx.workprec(witness.prec):
        tilt, step = ball(witness.tilt), ball(witness.step)
        node_sets = [enclose_nodes(law, rule) for (law, _), rule in zip(loss.node_parts, witness.nodes, strict=True)]
        errors = [bound_line_error(nodes, tilt) for nodes in node_sets]
        columns = [enclose_transforms_on_line(nodes, tilt, step, witness.count) for nodes in node_sets]
        direct = [_enclose_direct_on_line(law, tilt, step, witness.count) for law, _ in loss.direct_parts]
        terms, quadrature, node_tail = [], arb(0), arb(0)
        for m in range(witness.count + 1):
            z = acb(tilt, m * step)
            by_nodes = [Transform(column[m], *error, count)
                        for column, error, (_, count) in zip(columns, errors, loss.node_parts, strict=True)]
            by_rule = [Transform(column[m], error, arb(0), count)
                       for (column, error), (_, count) in zip(direct, loss.direct_parts, strict=True)]
            product, by_quadrature, by_tail = enclose_product(by_nodes + by_rule, loss.enclose_gaussian_exponent(z))
            kernel = z * (z + 1)
            sides = 2 if m else 1
            terms.append(sides * product / kernel)
            quadrature += sides * by_quadrature / kernel.abs_lower()
            node_tail += sides * by_tail / kernel.abs_lower()
    with ctx.workprec(BOUND_BITS):
        right = bound_mass(loss, node_sets, witness.right)
        left = bound_mass(loss, node_sets, witness.left) if witness.left else arb(1)
        frequency = ball(witness.step * witness.count)
        beyond = bound_composed_beyond(loss, witness.tail_nodes, ball(witness.tilt), frequency)
    with ctx.workprec(witness.prec):
        infinity_mass = loss.enclose_infinity_mass()
    return LineValues(
        witness, terms, upper_end(quadrature), upper_end(node_tail), beyond, right, left, infinity_mass)


@proved_by("T06-trapezoidal-enclosure")
def _enclose_direct_on_line(law: DirectLaw, tilt: arb, step: arb, count: int) -> tuple[list[acb], arb]:
    """Enclose M(tilt + i m step) for m = 0..count up to an error: one by one, or all by the law's rule."""
    if not isinstance(law, RuleLaw):
        return [law.enclose_transform(acb(tilt, m * step)) for m in range(count + 1)], arb(0)
    rule = law.enclose_rule(tilt, count * step)
    weights = [acb(weight) for weight in rule.weights]
    return turn_sums(weights, [acb(0, loss * step).exp() for loss in rule.losses], count), rule.error


def enclose_direct_transforms(loss: ComposedLoss, z: acb) -> list[Transform]:
    """Enclose the transforms at z that need no nodes: their only error is rounding."""
    return [Transform(law.enclose_transform(z), arb(0), arb(0), count) for law, count in loss.direct_parts]


@proved_by("T11-tail-for-free")
def bound_composed_beyond(loss: ComposedLoss, rules: Sequence[NodeRule], tilt: arb, frequency: arb) -> arb:
    """Bound |M(tilt + iw)| of the composition for every w >= frequency; rules: one for each law with nodes."""
    log_bound = loss.enclose_gaussian_exponent(acb(tilt, frequency)).real
    for direct, count in loss.direct_parts:
        log_bound += count * direct.bound_transform_beyond(tilt, frequency).log()
    for (law, count), rule in zip(loss.node_parts, rules, strict=True):
        log_bound += count * bound_transform_beyond(enclose_nodes(law, rule), tilt, frequency).log()
    return upper_end(log_bound.exp())


@proved_by("T05-frequency-truncation")
def bound_frequency_tail(values: LineValues, epsilon: Fraction) -> arb:
    """Bound (eta/2pi) sum_{|m| > m0} |G(m eta)| by e^{-c eps} B / (pi Omega)."""
    witness = values.witness
    omega = ball(witness.step * witness.count)
    return upper_end((-ball(witness.tilt * epsilon)).exp() * values.beyond / (arb.pi() * omega))


@proved_by("T04-alias-bounds")
def bound_aliases(values: LineValues, epsilon: Fraction) -> arb:
    """Bound sum over n != 0 of e^{c n X} D(eps + n X), X = 2 pi / eta: two geometric series."""
    witness = values.witness
    period = 2 * arb.pi() / ball(witness.step)
    tilt, left, right = ball(witness.tilt), ball(witness.left), ball(witness.right)
    from_right = values.right_mass * (-right * ball(epsilon)).exp() * _geometric_tail((right - tilt) * period)
    from_left = values.left_mass * (-left * ball(epsilon)).exp() * _geometric_tail((tilt - left) * period)
    return upper_end(from_right + from_left)


@proved_by("T04-alias-bounds")
def _geometric_tail(rate: arb) -> arb:
    """Enclose r / (1 - r), r = e^{-rate}."""
    return 1 / rate.expm1()


@proved_by("T01-inversion", "T02-aliasing", "T06-trapezoidal-enclosure")
def enclose_on_line(values: LineValues, epsilon: Fraction) -> Bounds:
    """Enclose delta(eps) = P(S = inf) + D(eps): (sum) - (frequency tail) - (aliases) <= D <= (sum) + (frequency tail).

    The transforms' errors widen both sides.
    """
    witness = values.witness
    with ctx.workprec(witness.prec):
        turn = acb(0, -ball(witness.step * epsilon)).exp()
        phases = powers(turn, witness.count + 1)
        prefactor = (-ball(witness.tilt * epsilon)).exp() * ball(witness.step) / (2 * arb.pi())
        total = prefactor * sum((term * phase for term, phase in zip(values.terms, phases, strict=True)), acb(0)).real
        errors = {"quadrature": prefactor * values.quadrature, "node_tail": prefactor * values.node_tail}
    with ctx.workprec(BOUND_BITS):
        errors["frequency_tail"] = bound_frequency_tail(values, epsilon)
        aliasing = bound_aliases(values, epsilon)
    with ctx.workprec(witness.prec):
        return bounds_from_sum(total + values.infinity_mass, errors, {"aliasing": aliasing})
