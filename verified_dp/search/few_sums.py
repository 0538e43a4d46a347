"""eps(delta) of few steps with few finite losses: between two neighbouring sums of losses delta is A - e^eps B."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from flint import arb

from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss

_MOST = 512
"""Sums that are listed."""

Place = tuple[arb, arb]
"""(loss, mass under P)."""


def solve_few(loss: ComposedLoss, target: Fraction) -> tuple[arb, float] | None:
    """A positive eps where delta is the target, and bits that cover what cancels near it, of finite laws alone.

    None where the answer is an end that is known without a search, or there are more sums. It proves nothing.
    """
    laws = [(law.enclose_loss_atoms() or [], count) for law, count in loss.parts]
    if not all(atoms and count < _MOST for atoms, count in laws) or math.prod(
            math.comb(count + len(atoms) - 1, count) for atoms, count in laws) > _MOST:
        return None
    sums = [(arb(0), arb(1))]
    for atoms, count in laws:
        sums = [(s + more, p * mass) for more, mass in _sums(atoms, count) for s, p in sums]
    goal, above, below, zero = ball(target), loss.enclose_infinity_mass(), arb(0), arb(0)
    if not goal > above:
        return None
    sums.sort(key=lambda one: float(one[0]), reverse=True)
    for (s, p), (end, _) in zip(sums, [*sums[1:], (zero, zero)], strict=True):
        if not s > 0:
            return None
        above, below = above + p, below + p * (-s).exp()
        if above - end.max(zero).exp() * below > goal:
            epsilon = ((above - goal) / below).log()
            lost = (above / goal).log() - (epsilon * (above - goal) / goal).min(arb(1)).log()
            return (epsilon, float(lost) / math.log(2)) if epsilon > 0 else None
    return None


def _sums(atoms: list[Place], count: int) -> Iterator[Place]:
    """The sums of `count` losses, and their masses."""
    (s, p), *others = atoms
    if not others:
        yield count * s, p**count
        return
    for taken in range(count + 1):
        own = math.comb(count, taken) * p**taken
        yield from ((taken * s + more, own * mass) for more, mass in _sums(others, count - taken))
