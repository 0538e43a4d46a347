"""Shuffled epochs: attacks that are chosen in floating point, and orders whose two ends come from different pairs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from flint import arb, ctx

from verified_dp.core.engines.closed import is_single
from verified_dp.core.engines.exact import ExactWitness
from verified_dp.core.engines.reductions import ReadValues
from verified_dp.core.families.batches.attack import AttackWitness, from_above, from_below, shuffled_epochs
from verified_dp.core.families.batches.shuffled import Corner, ShuffledEpoch
from verified_dp.core.kernel.balls import ball, lower_dyadic, upper_dyadic
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.search.answer import Answer, intersect
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import Bracket, bracket_epsilon, is_above

_PREC = 128
_BITS = 60
"""Significant bits of a rate."""
POINTS, FEW_POINTS = 32, 16
"""Thresholds against one epoch, and against several."""
SHARP, BLUNT = 14.0, 6.0
"""Bits of the attack's delta in one step, and in several: more do not make a lower end better that is not the truth."""


@cache
def choose_corners(epoch: ShuffledEpoch, points: int = POINTS) -> tuple[Corner, ...]:
    """The concave hull of the rates at thresholds from where the other batches' largest lies to where nothing does."""
    with ctx.workprec(_PREC):
        s = ball(epoch.noise_multiplier)
        usual = s * (2 * arb(epoch.rounds).log()).sqrt()
        low, high = (lower_dyadic(end).as_fraction() for end in (usual - 2 * s, usual.max(arb(2)) + 5 * s))
        return hull([choose_corner(epoch, high - (high - low) * n / points) for n in range(points + 1)])


def choose_corner(epoch: ShuffledEpoch, threshold: Fraction) -> Corner:
    """The threshold with its rates rounded outward to few bits."""
    return rounded(threshold, *epoch.enclose_rates(threshold))


def rounded(threshold: Fraction, without: arb, with_it: arb) -> Corner:
    """The rates (q, p), outward to few bits."""
    with ctx.workprec(_BITS):
        q, p = upper_dyadic(+without).as_fraction(), lower_dyadic(+with_it).as_fraction()
    return threshold, q, p


def hull(corners: list[Corner]) -> tuple[Corner, ...]:
    """Those on the concave polygon over (0, 0), the rates (q, p) and (1, 1), by rising q."""
    line: list[Corner] = [(Fraction(0), Fraction(0), Fraction(0))]
    end = Fraction(0), Fraction(1), Fraction(1)
    for corner in [*sorted((c for c in corners if 0 < c[1] < c[2] < 1), key=lambda c: c[1:]), end]:
        while len(line) > 1 and _slope(line[-2], line[-1]) <= _slope(line[-2], corner):
            line.pop()
        if corner[1] > line[-1][1] and corner[2] >= line[-1][2]:
            line.append(corner)
    return tuple(line[1:-1])


def _slope(a: Corner, b: Corner) -> Fraction:
    return (b[2] - a[2]) / (b[1] - a[1])


class AttackedOrder(OneDirection):
    """An order with shuffled epochs: its upper ends are those of Gaussian steps, its lower ones those of the attacks.

    make: what asks both, a `OneDirection` or one that keeps what serves several questions.
    """

    is_attacked = True

    def __init__(self, loss: ComposedLoss, make: Callable[[ComposedLoss], OneDirection] = OneDirection) -> None:
        super().__init__(loss)
        self._attacks = tuple(choose_corners(epoch, POINTS if count == 1 else FEW_POINTS)
                              for epoch, count, _ in shuffled_epochs(loss))
        above = ComposedLoss(loss.order, loss.parts, loss.mean_shift_squared)
        below = AttackWitness(self._attacks, ExactWitness(64)).reduced(loss)
        self._above, self._below = make(above), make(below)
        self._sharp = SHARP if is_single(below) else BLUNT

    def enclose(self, epsilon: Fraction, bits: float, method: str, budget: Budget) -> Answer:
        """As `OneDirection.enclose`; where nothing useful is known from below, more bits do not help."""
        above = self._from_above(self._above.enclose(epsilon, bits, method, budget))
        below = self._below.enclose(epsilon, min(bits, self._sharp), "auto", budget)
        return intersect([above, self._from_below(below)])

    def _from_above(self, answer: Answer) -> Answer:
        one = answer.proving("upper")
        values = ReadValues(one.values, from_above)
        return Answer(one.epsilon, one.witness, values, from_above(one.bounds, one.epsilon))

    def _from_below(self, answer: Answer) -> Answer:
        one = answer.proving("lower")
        witness, values = AttackWitness(self._attacks, one.witness), ReadValues(one.values, from_below)
        return Answer(one.epsilon, witness, values, from_below(one.bounds, one.epsilon))

    def bracket(self, target: Fraction, digits: int, method: str, budget: Budget) -> Bracket:
        """The attacks' lower end, where it exceeds the target as a number, and the Gaussians' upper one."""
        above = bracket_epsilon(self._above, target, digits, method, budget)
        below = bracket_epsilon(self._below, target, min(digits, int(self._sharp / 3)), "auto", budget).lower
        low = None if below is None else self._from_below(below)
        return Bracket(low if low is not None and is_above(low, target) else None,
                       None if above.upper is None else self._from_above(above.upper))
