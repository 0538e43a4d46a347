"""The conversions of published accountants: from one Renyi order, or three, to delta (T67 to T69)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.engines.moment import MomentValues
from verified_dp.core.engines.nodes import NodeSet
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.questions.moments import enclose_log_moment


def add_infinity_mass(infinity_mass: arb, bound: arb) -> Bounds:
    """P(S = inf) <= delta <= P(S = inf) + bound, cut to [0, 1]."""
    upper = upper_end(infinity_mass + bound).min(arb(1))
    return Bounds(lower_end(infinity_mass).max(arb(0)), upper, {"renyi": upper_end(bound).min(arb(1))})


@proved_by("T67-one-order")
def bound_mironov(values: MomentValues, epsilon: Fraction) -> arb:
    """Bound D(eps) by M(l) e^{-l eps}."""
    with ctx.workprec(values.witness.prec):
        return upper_end((values.sizes[0] - ball(values.witness.exponent * epsilon)).exp())


@proved_by("T67-one-order", "T03-chernoff")
def bound_canonne(values: MomentValues, epsilon: Fraction) -> arb:
    """Bound D(eps) by C(l) M(l) e^{-l eps}."""
    with ctx.workprec(values.witness.prec):
        return values.bound_sharply(ball(epsilon))


@proved_by("T180-moment")
def bound_asoodeh(values: MomentValues, epsilon: Fraction) -> arb:
    """Bound D(eps) by the best that one order gives; without a tangent on the left it is the sharp Chernoff bound."""
    return values.bound_by_tangents(epsilon).min(bound_canonne(values, epsilon))


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
