"""Bounds on delta from one Renyi order (T65 to T70): the moments accountants, and the optimal conversion.

With l = renyi_order - 1 > 0, M(l) = E[e^{l S}; S < inf] = e^{l D}, D the Renyi divergence, p = P(S < inf), a = e^eps:

    mironov    D(eps) <= M(l) e^{-l eps}
    canonne    D(eps) <= C(l) M(l) e^{-l eps},   C(l) = l^l / (1+l)^{1+l}
    asoodeh    D(eps) <= (M(l) - (l+1) p u^l + l u^{l+1}) / ((l+1) (v^l - u^l))
               for any 0 <= u < v with l (v^{l+1} - u^{l+1}) <= (l+1) a (v^l - u^l)
    variance   D(eps) <= M(l) e^{-l eps} (m + sqrt(w)) / 2,   m, w: tilted first and second moment of S - eps

and delta(eps) = 1 - p + D(eps).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import acb, arb, ctx

from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.nodes import NodeRule, NodeSet, bound_line_error, enclose_nodes, work_of_moment
from verified_dp.core.kernel.balls import ball, lower_end, plus_minus, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import has_only_moments
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import Work, nothing, paced


@proved_by("T70-moment-enclosure")
def enclose_log_moment(loss: ComposedLoss, nodes: Sequence[NodeSet], exponent: arb,
                       between: Callable[[], None] = nothing) -> tuple[arb, arb]:
    """Exact ends of an enclosure of log M(l), for a ball l > 0: the sum over the parts of count * log M_i(l).

    -inf, +inf where a moment is not known from below, from above. nodes: those of each sampled Gaussian law.
    """
    lower = upper = loss.enclose_gaussian_exponent(acb(exponent)).real
    sets = iter(nodes)
    by_nodes = {law: next(sets) for law, _ in lines(loss).sampled_parts}
    for law, count in paced(loss.parts, between):
        if has_only_moments(law):
            lower, upper = arb.neg_inf(), upper + count * law.bound_log_moment(exponent)
            continue
        if law in by_nodes:
            low, high = _ends_by_nodes(by_nodes[law], exponent)
        else:
            moment = law.enclose_moment(exponent)
            low, high = lower_end(moment), upper_end(moment)
        lower += count * (low.log() if low > 0 else arb.neg_inf())
        upper += count * (high.log() if high > 0 else arb.pos_inf())
    return lower_end(lower), upper_end(upper)


@proved_by("T70-moment-enclosure", "T08-shifted-line")
def _ends_by_nodes(nodes: NodeSet, exponent: arb) -> tuple[arb, arb]:
    """Exact ends of M(l): the sum over the nodes, up to quadrature and node tails."""
    quadrature, tails = bound_line_error(nodes, exponent)
    error = quadrature + tails
    if not error.is_finite():
        return arb.neg_inf(), arb.pos_inf()
    moment = sum(nodes.weights(acb(exponent)), acb(0)).real + plus_minus(error)
    return lower_end(moment), upper_end(moment)


def enclose_all_nodes(loss: ComposedLoss, rules: Sequence[NodeRule],
                      between: Callable[[], None] = nothing) -> list[NodeSet]:
    """The nodes of every sampled Gaussian law."""
    return [enclose_nodes(law, rule)
            for (law, _), rule in paced(zip(lines(loss).sampled_parts, rules, strict=True), between)]


@proved_by("T70-moment-enclosure")
def enclose_divergence(loss: ComposedLoss, renyi_order: Fraction, rules: Sequence[NodeRule],
                       prec: int) -> tuple[arb, arb]:
    """Exact ends of D_a(P || Q) = log M(a - 1) / (a - 1) of one order of a composition, any real a > 1.

    It is +inf where the infinity mass is positive. The lower end is at least 0.
    """
    with ctx.workprec(prec):
        exponent = ball(renyi_order - 1)
        lower, upper = enclose_log_moment(loss, enclose_all_nodes(loss, rules), exponent)
        mass = loss.enclose_infinity_mass()
        if mass > 0:
            return arb.pos_inf(), arb.pos_inf()
        top = upper_end(upper / exponent) if mass.is_zero() else arb.pos_inf()
        return lower_end(lower / exponent).max(arb(0)), top


def add_infinity_mass(infinity_mass: arb, bound: arb) -> Bounds:
    """P(S = inf) <= delta <= P(S = inf) + bound, cut to [0, 1]."""
    upper = upper_end(infinity_mass + bound).min(arb(1))
    return Bounds(lower_end(infinity_mass).max(arb(0)), upper, {"renyi": upper_end(bound).min(arb(1))})


@proved_by("T67-one-order")
def bound_mironov(values: RenyiValues, epsilon: Fraction) -> arb:
    """Bound D(eps) by M(l) e^{-l eps}."""
    with ctx.workprec(values.witness.prec):
        return upper_end((values.log_moment - ball(values.witness.exponent * epsilon)).exp())


@proved_by("T67-one-order", "T03-chernoff")
def bound_canonne(values: RenyiValues, epsilon: Fraction) -> arb:
    """Bound D(eps) by C(l) M(l) e^{-l eps}."""
    with ctx.workprec(values.witness.prec):
        return upper_end(bound_mironov(values, epsilon) * bound_chernoff_factor(ball(values.witness.exponent)))


@proved_by("T68-joint-range")
def bound_asoodeh(values: RenyiValues, epsilon: Fraction) -> arb:
    """Bound D(eps) by (M(l) - (l+1) p u^l + l u^{l+1}) / ((l+1) (v^l - u^l)), here divided by a^l, a = e^eps.

    With x = u/a, y = v/a it asks x < y and l (y^{l+1} - x^{l+1}) <= (l+1) (y^l - x^l); +inf where that is not certain.
    """
    witness = values.witness
    if not (witness.low > 0 and witness.high > 0):
        return arb.pos_inf()
    with ctx.workprec(witness.prec):
        exponent, low = ball(witness.exponent), ball(witness.low)
        x, y = low * (-ball(epsilon)).exp(), ball(witness.high)
        x_power, y_power = (exponent * x.log()).exp(), (exponent * y.log()).exp()
        spread = y_power - x_power
        if not (x < y and exponent * (y * y_power - x * x_power) <= (exponent + 1) * spread):
            return arb.pos_inf()
        relative = (values.log_moment - exponent * low.log()).exp()  # M / u^l
        rest = relative - (exponent + 1) * (1 - values.infinity_mass) + exponent * low
        return upper_end(rest * x_power / ((exponent + 1) * spread)).max(arb(0))


@proved_by("T69-variance")
def bound_variance(loss: ComposedLoss, nodes: Sequence[NodeSet], exponent: Fraction, mesh: Fraction,
                   epsilon: Fraction) -> arb:
    """Bound D(eps) by M(l) e^{-l eps} (m + sqrt(w)) / 2 for any mesh h, 0 < h < l.

    m = (r - 1) / h, w = (r + s - 2) / h^2 with r = e^{-h eps} M(l+h) / M(l), s = e^{h eps} M(l-h) / M(l) are at least
    the first and the second moment of S - eps under the law tilted by l. +inf where a moment is not enclosed.
    """
    shifts = (Fraction(0), mesh, -mesh)
    logs = [enclose_log_moment(loss, nodes, ball(exponent + shift)) for shift in shifts]
    if not all(low.is_finite() and high.is_finite() for low, high in logs):
        return arb.pos_inf()
    tilted = [low.union(high) - ball((exponent + shift) * epsilon)
              for (low, high), shift in zip(logs, shifts, strict=True)]
    right, left = (tilted[1] - tilted[0]).expm1(), (tilted[2] - tilted[0]).expm1()
    step = ball(mesh)
    first, second = right / step, (right + left) / (step * step)
    return upper_end(tilted[0].exp() * (first + second.max(arb(0)).sqrt()) / 2).max(arb(0))


@dataclass(frozen=True)
class RenyiWitness:
    """Any admissible values give a bound; good ones a small one.

    exponent: l = renyi_order - 1 > 0. low = u in [0, 1]. high = v / e^eps > 0; high = 0: C(l) alone is used.
    nodes: one rule per sampled Gaussian law. prec: bits.
    """

    exponent: Fraction
    low: Fraction
    high: Fraction
    nodes: tuple[NodeRule, ...]
    prec: int

    kind: ClassVar[str] = "renyi"
    method: ClassVar[str] = "renyi"

    @proved_by("T70-moment-enclosure")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions that are plain comparisons of exact numbers."""
        inside = 0 <= self.low <= 1 and self.high >= 0
        return self.exponent > 0 and inside and len(self.nodes) == len(lines(loss).sampled_parts)

    @proved_by("T70-moment-enclosure")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> RenyiValues:
        """Bound log M(l) and enclose P(S = inf)."""
        with ctx.workprec(self.prec):
            nodes = enclose_all_nodes(loss, self.nodes, between)
            _, upper = enclose_log_moment(loss, nodes, ball(self.exponent), between)
            return RenyiValues(self, upper, loss.enclose_infinity_mass())

    def work(self, loss: ComposedLoss) -> Work:
        """Of the moment."""
        return work_of_moment(loss, self.nodes, self.prec)


@dataclass(frozen=True)
class RenyiValues:
    """What an order yields before eps is known: an upper bound of log M(l), and P(S = inf)."""

    witness: RenyiWitness
    log_moment: arb
    infinity_mass: arb

    @proved_by("T65-renyi-composition")
    def delta(self, epsilon: Fraction) -> Bounds:
        """P(S = inf) <= delta(eps) <= P(S = inf) + the smaller of the sharp Chernoff and the optimal bound."""
        with ctx.workprec(self.witness.prec):
            bound = bound_canonne(self, epsilon).min(bound_asoodeh(self, epsilon))
            return add_infinity_mass(self.infinity_mass, bound)
