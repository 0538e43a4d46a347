"""The engine behind bounds from one Renyi order: an order chosen by optimisation, delta bounded with it in balls."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.moment import MomentValues, MomentWitness
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.core.kernel.witnesses import Witness, evaluate
from verified_dp.search.answer import Answer
from verified_dp.search.deadline import check_time
from verified_dp.search.line import as_float
from verified_dp.search.magnitudes import require_floats
from verified_dp.search.renyi import (
    MomentModel,
    Order,
    choose_order,
    choose_order_witness,
    epsilon_at,
    least_order,
)
from verified_dp.search.two_points import (
    FAINTEST,
    Guarantee,
    TwoPoints,
    choose_divergences,
    largest_delta,
    largest_epsilon,
)

BITS = 34.0
"""Relative accuracy with which the bound itself is evaluated: its distance from delta is far larger."""
FEW_BITS = 10.0
"""The same when time is short."""
SAME = Fraction(1, 10**10)
"""Within such a share of eps the same pair of two points decides."""
ROUGH = 16
"""Steps of a search for an order when time is short: its logarithm to about a hundredth."""
FEW_LAWS = 8
"""So many stand for all where an order is sought and time is short."""
SECONDS = 4e-4
"""Of one law's moment to few bits, at least."""
NEAR = 0.15
"""Orders whose logarithms are this close to one that was evaluated when time was short are not evaluated again."""


class MomentEngine:
    """Bounds on delta of one composition of one order from its moments."""

    def __init__(self, loss: ComposedLoss) -> None:
        self.loss = loss
        self._pair: tuple[Fraction, TwoPoints] | None = None
        self._quick: list[MomentValues] = []

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """What is known, in both directions, where bounds on divergences are all that is known."""
        orders = self.loss, self.loss.in_order(SWAPPED[self.loss.order])
        finite = all(loss.enclose_infinity_mass().is_zero() for loss in orders)
        return Guarantee(self.loss) if finite and self.loss.only_moments and not lines(self.loss).node_parts else None

    @cached_property
    def model(self) -> MomentModel:
        """The moments in floating point. Raises Unsupported where there is no room for them."""
        require_floats(self.loss)
        return MomentModel(self.loss)

    def witnesses(self, epsilon: Fraction) -> list[Witness]:
        """Those of which one gives the best bound: of two powers, of one order."""
        where = as_float(epsilon)
        found = None if self.guarantee is None else self._two_points(self.guarantee, epsilon)
        chosen = [] if found is None or not found.is_seen(where) else choose_divergences(found, epsilon)
        return [*chosen, self.witness(choose_order(self.model, where, "asoodeh"), epsilon)]

    def solve(self, epsilon: Fraction) -> Answer:
        """The best bound of one order at eps, or of two powers."""
        answers = [self._answer(witness, epsilon) for witness in self.witnesses(epsilon)]
        return min(answers, key=lambda answer: float(answer.bounds.upper.log()))

    @cached_property
    def few(self) -> MomentModel:
        """A few of the laws in the place of all."""
        require_floats(self.loss)
        return MomentModel(self.loss, FEW_LAWS)

    def quick(self, epsilon: Fraction) -> Answer:
        """The bound of a nearly best order, chosen for a few laws, to few bits; one order serves many eps."""
        if self.loss.only_moments:
            return self.solve(epsilon)
        self._near(choose_order(self.few, as_float(epsilon), "canonne", ROUGH))
        found = [Answer(epsilon, values.witness, values, values.delta(epsilon)) for values in self._quick]
        return min(found, key=lambda answer: float(answer.bounds.upper))

    def _near(self, choice: Order) -> MomentValues:
        """The values of an order, or of one close to it."""
        for values in self._quick:
            if abs(math.log(choice.exponent / float(values.witness.exponent))) < NEAR:
                return values
        check_time(SECONDS * len(self.loss.laws))
        values = choose_order_witness(self.few, choice, 0.0, FEW_BITS).evaluate(self.loss, check_time)
        self._quick.append(values)
        return values

    def witness(self, choice: Order, epsilon: Fraction, exponent: Fraction | None = None) -> MomentWitness:
        """How to bound delta(eps) by a chosen order; exponent: the exact l where it was asked for."""
        return choose_order_witness(self.model, choice, as_float(epsilon), BITS, exponent)

    def run(self, choice: Order, epsilon: Fraction) -> Answer:
        """The bound of a chosen order at eps."""
        return self._answer(self.witness(choice, epsilon), epsilon)

    def _answer(self, witness: Witness, epsilon: Fraction) -> Answer:
        values = evaluate(self.loss, witness, check_time)
        return Answer(epsilon, witness, values, values.delta(epsilon))

    def _two_points(self, guarantee: Guarantee, epsilon: Fraction) -> TwoPoints:
        """The pair that decides at eps; the last one that was found if it was found next to it."""
        near = self._pair
        if near is None or abs(near[0] - epsilon) > SAME * abs(epsilon):
            near = self._pair = epsilon, largest_delta(guarantee, as_float(epsilon))
        return near[1]

    def log_bound(self, epsilon: Fraction) -> float:
        """log of the bound that `solve` should give, without the infinity mass."""
        if self.guarantee is not None:
            found = self._two_points(self.guarantee, epsilon)
            if found.is_seen(as_float(epsilon)):
                return math.log(found.size(as_float(epsilon)))
        return self._log_bound_of_one(epsilon)

    def _log_bound_of_one(self, epsilon: Fraction) -> float:
        return min(0.0, choose_order(self.model, as_float(epsilon), "asoodeh").log_bound)

    def guess_epsilon(self, log_target: float) -> float:
        """Where the bound reaches the target: of two points, one order, or of moments alone by bisection below it."""
        if self.guarantee is not None and log_target > math.log(FAINTEST):
            found, pair = largest_epsilon(self.guarantee, math.exp(log_target))
            if pair.is_seen(found):
                self._pair = Fraction(found), pair
                return found
        if not self.loss.only_moments:
            values = self._near(Order(least_order(self.few, log_target, ROUGH), 0.0))
            return max(epsilon_at(float(values.witness.exponent), float(values.sizes[0]), log_target), 0.0)
        order = least_order(self.model, log_target, ROUGH)
        low, high = 0.0, max(epsilon_at(order, self.model.log_moment(order), log_target), 0.0)
        for _ in range(44):
            middle = (low + high) / 2
            low, high = (middle, high) if self._log_bound_of_one(Fraction(middle)) > log_target else (low, middle)
        return high
