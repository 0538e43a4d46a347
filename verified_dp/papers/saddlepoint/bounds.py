"""The saddle point, and the rigorous interval of the saddle-point accountant (T97 to T99).

    D(eps) = e^{K(t) - eps t} E f(S~),   f(x) = e^{-t(x-eps)} (1 - e^{-(x-eps)})_+,   S~ the loss tilted by t > 0,

is compared with the same expectation for a normal S~: that is exact for Gaussian steps, and the Berry-Esseen theorem
bounds the difference in general.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.engines.expansion import enclose_series
from verified_dp.core.engines.expansion_cells import Steps, enclose_steps
from verified_dp.core.engines.tilted_moments import MomentTable
from verified_dp.core.kernel.balls import ball, plus_minus, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Undecided
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.papers.saddlepoint.bounds_moments import enclose_absolute_moment
from verified_dp.search.deadline import check_time

EQUAL_STEPS = ((Fraction("0.4690"), Fraction(0)), (Fraction("0.3322"), Fraction("0.429")),
               (Fraction("0.3031"), Fraction("0.646")))
"""(A, B): A (beta + B) / sqrt k bounds the Kolmogorov distance of k equal summands, beta = E|Y|^3 / sd^3."""
ANY_STEPS = Fraction("0.56")
"""times sum E|Y_i|^3 / (sum Var Y_i)^{3/2} for independent summands."""


def enclose_state(table: MomentTable, tilt: arb, order: int = 2) -> Steps:
    """Enclose K, K' and K'' of the composition at every tilt of the ball; `order` moments of each law."""
    with ctx.workprec(table.prec):
        return enclose_steps(table, tilt, 2, order, check_time)


@proved_by("T97-saddle-point")
def enclose_saddle(table: MomentTable, epsilon: Fraction, guess: Fraction, radius: Fraction) -> arb:
    """Enclose the only t > 0 with K'(t) = eps + 1/t + 1/(1+t): one interval Newton step from guess +- radius.

    Raises Undecided where the step does not map the interval into itself.
    """
    if not 0 < radius < guess:
        raise InvalidInput("saddle.radius", radius, "positive and less than the guess")
    with ctx.workprec(table.prec):
        middle, interval = ball(guess), ball(guess) + plus_minus(ball(radius))
        slope = enclose_state(table, middle).cumulants[1] - ball(epsilon) - 1 / middle - 1 / (1 + middle)
        near, far = 1 / interval, 1 / (1 + interval)
        bend = enclose_state(table, interval).cumulants[2] + near * near + far * far
        newton = middle - slope / bend
        if not (bend > 0 and abs(newton - middle) < ball(radius)):
            raise Undecided("the saddle point is not isolated at this precision")
        return newton


@proved_by("T98-sp-clt")
def enclose_normal_part(state: Steps, epsilon: arb) -> arb:
    """Enclose E f(Z), Z ~ N(K', K''): e^{(a^2 - g^2)/2} Q(a) - e^{(b^2 - g^2)/2} Q(b).

    g = (K' - eps)/sqrt K'', a = t sqrt K'' - g, b = (t+1) sqrt K'' - g.
    """
    return enclose_series(state, epsilon, {0: arb(1)})


@proved_by("T99-berry-esseen")
def bound_distance(table: MomentTable, state: Steps, constant: Fraction | None = None) -> arb:
    """Bound sup_x |P(S~ <= x) - Phi((x - K')/sqrt K'')|, by the constants of a citation.

    Equal steps: the least of A (beta + B)/sqrt k. Otherwise 0.56 sum k_i E|Y_i|^3 / K''^{3/2}, where Gaussian steps
    contribute to K'' alone. constant: in place of these, C sum k_i E|Y_i|^3 / K''^{3/2}; not below the cited one.
    state: with four moments of each law.
    """
    loss, variance = table.loss, state.cumulants[2]
    check_constant(loss, constant)
    with ctx.workprec(table.prec):
        total = sum((count * enclose_absolute_moment(table, i, state.tilt, moments)
                     for i, (count, moments) in enumerate(state.laws)), arb(0))
        ratio = total / (variance * variance.sqrt()) if loss.parts else arb(0)
        if constant is not None or not has_equal_steps(loss):
            bound = ball(ANY_STEPS if constant is None else constant) * ratio
        else:
            root = arb(loss.parts[0][1]).sqrt()  # beta / sqrt k is the ratio
            bound = arb(1)
            for factor, shift in EQUAL_STEPS:
                bound = bound.min(upper_end(ball(factor) * (ratio + ball(shift) / root)))
        return upper_end(bound).min(arb(1))


def has_equal_steps(loss: ComposedLoss) -> bool:
    """Whether all steps have one law, none of them merged into a Gaussian."""
    return len(loss.parts) == 1 and not loss.mean_shift_squared


def check_constant(loss: ComposedLoss, constant: Fraction | None) -> None:
    """Raises InvalidInput for a constant below the proved one."""
    least = EQUAL_STEPS[0][0] if has_equal_steps(loss) else ANY_STEPS
    if constant is not None and constant < least:
        raise InvalidInput("constant", constant, f"at least {least}, the least constant that is proved for these steps")


@proved_by("T99-berry-esseen", "T03-chernoff")
def enclose_by_berry_esseen(table: MomentTable, tilt: Fraction, epsilon: Fraction,
                            constant: Fraction | None = None) -> tuple[Bounds, arb]:
    """Enclose delta(eps) by e^{K(t) - eps t} (E f(Z) +- 2 C(t) Delta), and the normal part alone (no bound).

    C(t) = t^t/(1+t)^{1+t} = max f; the infinity mass is added; also at most the Chernoff bound e^{K - eps t} C(t).
    Any tilt > 0 is admissible.
    """
    if not tilt > 0:
        raise InvalidInput("tilt", tilt, "positive")
    with ctx.workprec(table.prec):
        point, mass = ball(tilt), table.loss.enclose_infinity_mass()
        state = enclose_state(table, point, 4)
        scale = (state.log_mass - ball(epsilon) * point).exp()
        peak = upper_end(scale * bound_chernoff_factor(point))
        if not state.cumulants[2] > 0:
            return Bounds(arb(0), upper_end(peak + mass).min(arb(1)), {"chernoff": peak}), arb(0).union(arb(1))
        normal = scale * enclose_normal_part(state, ball(epsilon)) + mass
        error = upper_end(2 * peak * bound_distance(table, state, constant))
        bounds = bounds_from_sum(normal, {"berry_esseen": error}, {})
        return Bounds(bounds.lower, bounds.upper.min(upper_end(peak + mass)), bounds.budget), normal


@proved_by("T172-plain-central-limit")
def enclose_by_plain_normal(table: MomentTable, epsilon: Fraction,
                            constant: Fraction | None = None) -> tuple[Bounds, arb]:
    """Enclose delta(eps) by (1 - m) (E (1 - e^{eps-Z})_+ +- Delta) + m, and the normal part alone; m = P(S = inf).

    Z normal, its mean and variance untilted: Q(b) - e^{(a^2-b^2)/2} Q(a), b = (eps - K')/sqrt K'', a = b + sqrt K''.
    """
    with ctx.workprec(table.prec):
        mass, state = table.loss.enclose_infinity_mass(), enclose_state(table, arb(0), 4)
        if not state.cumulants[2] > 0:
            return Bounds(arb(0), arb(1), {}), arb(0).union(arb(1))
        normal = mass + (1 - mass) * enclose_normal_part(state, ball(epsilon))
        error = upper_end((1 - mass) * bound_distance(table, state, constant))
        return bounds_from_sum(normal, {"berry_esseen": error}, {}), normal
