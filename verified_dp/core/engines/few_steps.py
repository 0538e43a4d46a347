"""Few steps whose outcomes are listed: those of some steps, looked up in the sorted outcomes of the others (T231).

Masses are integers, rounded down, in units of 2^-prec; what rounding and lists leave out is what they lack of all mass.

    P(E) - e^eps (Q(E) + what Q lacks) <= delta(eps) - P(S = inf) <= P(E) - e^eps Q(E) + what P lacks + decisions
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from operator import itemgetter, mul
from typing import ClassVar, NamedTuple

from flint import arb, ctx, fmpz

from verified_dp.core.engines.rules import is_atomic
from verified_dp.core.engines.shared import floor_of
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import SWAPPED, Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, IMPOSSIBLE, Work, nothing, paced, words

Item = tuple[int, int, int]
"""Outcomes of some steps: minus their loss, and their masses under P and under Q, in units."""


@dataclass(frozen=True)
class Columns:
    """Items as three lists."""

    places: list[int]
    above: list[int]
    below: list[int]

    @classmethod
    def of(cls, items: Sequence[Item]) -> Columns:
        """In their sequence."""
        places, above, below = zip(*items, strict=True) if items else ((), (), ())
        return cls(list(places), list(above), list(below))


class Group(NamedTuple):
    """An item times the first `length` items of a list."""

    item: Item
    items: Columns
    length: int


@proved_by("T231-few-steps")
def list_outcomes(law: Law, reach: int, prec: int) -> tuple[list[Item], arb]:
    """The items of one step, masses rounded down; bounds, in units, of how far a place may be off."""
    listed, items, gap, unit = law.enclose_listed(reach), list[Item](), arb(0), arb(2) ** prec
    for loss, mass in listed.atoms if listed is not None else []:
        exact = -loss * unit
        place = floor_of(exact)
        gap = gap.max(exact - place)
        above, below = (max(floor_of(one * unit), 0) for one in (mass, mass * (-loss).exp()))  # exact: integers
        items.append((place, above, below))
    return items, upper_end(gap)


@proved_by("T231-few-steps")
def share(atoms: Sequence[Item], count: int, prec: int, between: Callable[[], None] = nothing) -> list[Group]:
    """All outcomes of `count` steps, each set of them once: by the last of the atoms, so many times, and the others."""
    levels: list[list[Item]] = [[(0, 1 << prec, 1 << prec)], *([] for _ in range(count))]
    found = list[tuple[Item, int, int]]()
    for place, above, below in paced(atoms, between):
        powers = [(0, 1 << prec, 1 << prec)]
        for n in range(count):
            powers.append((powers[n][0] + place, powers[n][1] * above >> prec, powers[n][2] * below >> prec))
        for total in range(count, 0, -1):
            for n in range(1, total + 1):
                (u, p, q), ways = powers[n], int(fmpz.bin_uiui(total, n))
                if total == count:
                    found.append(((u, ways * p, ways * q), total - n, len(levels[total - n])))
                else:
                    levels[total] += [(u + v, ways * p * r >> prec, ways * q * s >> prec)
                                      for v, r, s in levels[total - n]]
    columns = [Columns.of(level) for level in levels[:count]]
    return [Group(item, columns[level], length) for item, level, length in found if length]


def _products(first: Sequence[Item], second: Sequence[Item], prec: int, between: Callable[[], None]) -> list[Item]:
    """Of steps of different laws."""
    return [(u + v, p * r >> prec, q * s >> prec) for u, p, q in paced(first, between) for v, r, s in second]


@proved_by("T231-few-steps")
def listed_items(groups: Sequence[Group], prec: int, between: Callable[[], None] = nothing) -> list[Item]:
    """All items of the groups, one by one."""
    return [(u + v, p * r >> prec, q * s >> prec) for (u, p, q), rows, length in paced(groups, between)
            for v, r, s in zip(rows.places[:length], rows.above, rows.below, strict=False)]


@dataclass(frozen=True)
class FewStepsWitness:
    """Any values give a correct enclosure; good ones a narrow one.

    reaches: how far the outcomes of each law are listed. firsts: how many of its steps are in the first half.
    """

    reaches: tuple[int, ...]
    firsts: tuple[int, ...]
    prec: int

    kind: ClassVar[str] = "few-steps"
    method: ClassVar[str] = "closed-form"

    @proved_by("T231-few-steps")
    def applies(self, loss: ComposedLoss) -> bool:
        """Outcomes that are listed in every step, and nothing else."""
        fitting = len(self.reaches) == len(self.firsts) == len(loss.parts) > 0 and not loss.mean_shift_squared
        return fitting and all(0 <= first <= count and law.lists(reach) for (law, count), reach, first in zip(
            loss.parts, self.reaches, self.firsts, strict=True))

    @proved_by("T231-few-steps")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> FewStepsValues:
        """Both halves, the second one sorted and summed."""
        prec, gap = self.prec, arb(0)
        unit: list[Item] = [(0, 1 << prec, 1 << prec)]
        others, groups, second = unit, [Group(unit[0], Columns.of(unit), 1)], unit
        with ctx.workprec(prec + 32):
            for (law, count), reach, first in zip(loss.parts, self.reaches, self.firsts, strict=True):
                atoms, error = list_outcomes(law, reach, prec)
                gap += count * error
                if first:
                    others = _products(others, listed_items(groups, prec), prec, between)
                    groups = share(atoms, first, prec, between)
                if first < count:
                    second = _products(second, listed_items(share(atoms, count - first, prec), prec), prec, between)
            ladder = Columns.of(sorted(second, key=itemgetter(0)))  # exact: integers
            infinity, swapped = (loss.in_order(order).enclose_infinity_mass() for order in (
                loss.order, SWAPPED[loss.order]))
            return FewStepsValues(self, others, groups, ladder, infinity, swapped, upper_end(gap))

    def work(self, loss: ComposedLoss) -> Work:
        """Of the items of both halves, and of a look at each number of steps for each outcome."""
        items = sum(count_items(loss, self))
        items += sum(_outcomes(law, reach) * count * count
                     for (law, count), reach in zip(loss.parts, self.reaches, strict=False))
        return Work(_ITEM * items * words(self.prec) + EXPONENTIAL * sum(map(abs, self.reaches)), 300 * items)


_MOST = 2**20
"""Outcomes and steps of one law beyond which nobody counts."""
_ITEM = 20
"""Units that one takes: its products, and a look at the sorted half."""


def count_items(loss: ComposedLoss, witness: FewStepsWitness) -> tuple[int, int]:
    """How many there are in each half."""
    found = [1, 1]
    for (law, count), reach, first in zip(loss.parts, witness.reaches, witness.firsts, strict=False):
        atoms = _outcomes(law, reach)
        for half, steps in enumerate((abs(first), abs(count - first))):
            found[half] *= int(fmpz.bin_uiui(atoms + steps - 1, steps)) if atoms + steps < _MOST else IMPOSSIBLE
    return found[0], found[1]


def _outcomes(law: Law, reach: int) -> int:
    """About how many are listed."""
    return law.outcomes if is_atomic(law) else 2 * abs(reach) + 1


@dataclass(frozen=True)
class FewStepsValues:
    """Both halves before eps is known.

    others, groups: the first half, all products of one of each. infinity: P(S = inf); swapped: Q(S = -inf). gap: in
    units, how far a sum of places may be from its loss.
    """

    witness: FewStepsWitness
    others: list[Item]
    groups: list[Group]
    ladder: Columns
    infinity: arb
    swapped: arb
    gap: arb

    @cached_property
    @proved_by("T231-few-steps")
    def _sums(self) -> tuple[list[int], list[int]]:
        """The masses of the first n items of the second half."""
        return list(accumulate(self.ladder.above, initial=0)), list(accumulate(self.ladder.below, initial=0))

    @proved_by("T231-few-steps")
    def _event(self, target: int) -> tuple[arb, arb]:
        """The P and the Q mass of the items whose places add up to less than the target."""
        places, (above, below), p_total, q_total = self.ladder.places, self._sums, 0, 0
        for v, r, s in self.others:
            for (u, p, q), rows, length in self.groups:
                left = target - u - v
                rungs = [bisect_left(places, left - own) for own in rows.places[:length]]
                p_total += r * p * sum(map(mul, map(above.__getitem__, rungs), rows.above))
                q_total += s * q * sum(map(mul, map(below.__getitem__, rungs), rows.below))
        return self._unit * p_total, self._unit * q_total

    @cached_property
    @proved_by("T231-few-steps")
    def _lost(self) -> tuple[arb, arb]:
        """Bound the P and the Q mass of finite losses that the items lack."""
        above, below = (sum(item[side] for item in self.others) * sums[-1] for side, sums in enumerate(self._sums, 1))
        above *= sum(p * sum(rows.above[:length]) for (_, p, _), rows, length in self.groups)
        below *= sum(q * sum(rows.below[:length]) for (_, _, q), rows, length in self.groups)
        return (upper_end(1 - self.infinity - self._unit * above).max(arb(0)),
                upper_end(1 - self.swapped - self._unit * below).max(arb(0)))

    @property
    def _unit(self) -> arb:
        """Of a product of two items of the first half, one of a list of theirs, and one of the second half."""
        return arb(2) ** (-4 * self.witness.prec)

    @proved_by("T231-few-steps")
    def delta(self, epsilon: Fraction) -> Bounds:
        """P(S = inf) + P(E) - e^eps Q(E), less what Q lacks, and above it what P lacks and what was decided wrongly."""
        prec = self.witness.prec
        with ctx.workprec(prec + 32):
            (above, below), (lost, lack), growth = self._event(-epsilon * 2**prec // 1), self._lost, ball(epsilon).exp()
            wrong = ((self.gap + 1) * arb(2) ** -prec).expm1()
            total = self.infinity + above - growth * below
            lower, upper = lower_end(total - growth * lack), upper_end(total + lost + wrong)
            budget = {"truncation": upper_end(lost + growth * lack), "rounding": upper_end(wrong + total.rad())}
            return Bounds(lower.max(arb(0)), upper.min(arb(1)), budget)
