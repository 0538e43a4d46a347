"""What asks for delta of one order: a search of its own for shuffled epochs, and for mixtures of many components."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.search.deadline import Budget
from verified_dp.search.known import is_a
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import Bracket, bracket_epsilon


def order_of(loss: ComposedLoss, make: Callable[[ComposedLoss], OneDirection] = OneDirection) -> OneDirection:
    """What asks for delta of one order."""
    if getattr(loss, "shuffled", ()):
        from verified_dp.search.attack import AttackedOrder

        return AttackedOrder(loss, make)
    if any(is_a(law, "gaussian.mixture:MixtureLoss") for law, _ in loss.parts):
        from verified_dp.search.shortened import LongOrder, is_long

        if is_long(loss):
            return LongOrder(loss, make)
    return make(loss)


def bracket_order(order: OneDirection, target: Fraction, digits: int, method: str, budget: Budget) -> Bracket:
    """`bracket_epsilon`, also with shuffled epochs or mixtures of many components."""
    own = getattr(order, "bracket", None)
    return bracket_epsilon(order, target, digits, method, budget) if own is None else own(
        target, digits, method, budget)
