"""Steps with finitely many outcomes: sums over one half of all counts, looked up in the sorted other half (T163).

An outcome of the composition is a count for each outcome of each law. E is the event of a loss above eps, decided by
losses rounded to multiples of 2^-scale: a wrong decision next to eps costs next to nothing. Counts outside of windows
are left out and bounded.

    delta(eps) = P(S = inf) + P(E) - e^eps Q(E) + (counts left out, decisions: >= 0)
    P(E) = sum over the first half a of P(a) P(losses of the second half above eps - loss of a), and so for Q
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import itemgetter, mul
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.engines.shared import binomial_mass
from verified_dp.core.families.finite.atomic import AtomicLaw
from verified_dp.core.kernel.balls import BOUND_BITS, ball, integer_below, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, paced, words

Item = tuple[int, arb, arb]
"""Some counts: minus their loss in units of 2^-scale, and their masses under P and under Q."""

Columns = tuple[list[int], list[arb], list[arb]]
"""The same of several, as three lists."""

_UNIT: list[Item] = [(0, arb(1), arb(1))]
EXTRA = 64
"""Bits of a sum over all items beside those that are asked for."""
_ITEM = 12
"""Units that one of them takes: two products, two sums, its place in the order."""


@dataclass(frozen=True)
class Window:
    """Counts from low to high of one outcome are kept; half: 0 or 1, where they are summed."""

    half: int
    low: int
    high: int

    @property
    def size(self) -> int:
        """How many counts."""
        return self.high - self.low + 1


@dataclass(frozen=True)
class Outcome:
    """One outcome of a law: minus its loss in units, and mass^n / n! for the counts from low to high."""

    place: int
    low: int
    high: int
    above: list[arb]
    below: list[arb]


@proved_by("T163-halves")
def enclose_powers(mass: arb, window: Window) -> list[arb]:
    """Enclose mass^n / n! for n = low, ..., high."""
    value = (window.low * mass.log() - arb(window.low + 1).lgamma()).exp()
    return list(accumulate(range(window.low + 1, window.high + 1), lambda term, n: term * mass / n, initial=value))


@proved_by("T163-halves")
def enclose_shares(outcomes: Sequence[Outcome], totals: range,
                   between: Callable[[], None] = nothing) -> dict[int, list[Item]]:
    """All counts of these outcomes within their windows, by their sum: the places added, the powers multiplied."""
    found, least, most = {0: _UNIT}, 0, 0
    low, high = sum(one.low for one in outcomes), sum(one.high for one in outcomes)
    for one in outcomes:
        low, high, least, most = low - one.low, high - one.high, least + one.low, most + one.high
        sums = range(max(least, totals.start - high), min(most, totals.stop - 1 - low) + 1)  # exact: integers
        found = {total: [(place + n * one.place, p * one.above[n - one.low], q * one.below[n - one.low])
                         for taken, items in found.items() for n in (total - taken,) if one.low <= n <= one.high
                         for place, p, q in items] for total in paced(sums, between)}
    return found


@proved_by("T163-halves")
def enclose_pairs(outcomes: Sequence[tuple[int, Outcome]], count: int,
                  between: Callable[[], None] = nothing) -> list[tuple[list[Item], list[Item]]]:
    """What both halves hold of one law's steps: every pair of lists has counts that add up to all its steps."""
    first, second = ([one for half, one in outcomes if half == side] for side in (0, 1))
    least = max(sum(one.low for one in first), count - sum(one.high for one in second))  # exact: integers
    most = min(sum(one.high for one in first), count - sum(one.low for one in second))  # exact: integers
    if least > most:
        return []
    ours = enclose_shares(first, range(least, most + 1), between)
    others = enclose_shares(second, range(count - most, count - least + 1), between)
    return [(ours[n], others[count - n]) for n in range(least, most + 1)]


def _product(first: list[Item], second: list[Item], between: Callable[[], None]) -> list[Item]:
    """Places add, masses multiply."""
    if second is _UNIT:
        return first
    return second if first is _UNIT else [(x + y, p * r, q * s) for x, p, q in paced(first, between)
                                          for y, r, s in second]


def _columns(items: list[Item]) -> Columns:
    return [place for place, _, _ in items], [p for _, p, _ in items], [q for _, _, q in items]


@dataclass(frozen=True)
class Ladder:
    """The second half: its places in growing order, and the masses of the first n of them."""

    places: list[int]
    above: list[arb]
    below: list[arb]

    @classmethod
    def of(cls, items: list[Item]) -> Ladder:
        """Sorted and summed."""
        places, above, below = _columns(sorted(items, key=itemgetter(0)))  # exact: integers
        return cls(places, list(accumulate(above, initial=arb(0))), list(accumulate(below, initial=arb(0))))


@proved_by("T163-halves", "T135-binomial-sums")
def bound_missed(count: int, share: arb, rest: arb, window: Window) -> arb:
    """Bound P(N < low) + P(N > high), N the number among `count` of what happens with `share`, else `rest`."""
    if rest.is_zero():
        return arb(0) if window.high == count else arb(1)
    return (_bound_more(count, share, rest, window.high) + _bound_more(count, rest, share, count - window.low)).min(
        arb(1))


def _bound_more(count: int, share: arb, rest: arb, most: int) -> arb:
    """Bound P(N > most) by a geometric series."""
    ratio = share / rest * (count - most) / (most + 1)
    return upper_end(binomial_mass(count, most, share, rest) * ratio / (1 - ratio)) if ratio < 1 else arb(1)


@dataclass(frozen=True)
class HalvesWitness:
    """Any values give a correct enclosure; good ones a narrow one.

    tilt c >= 0: of the bound on what is left out. windows: for each law one for each of its finite outcomes.
    """

    tilt: Fraction
    windows: tuple[tuple[Window, ...], ...]
    prec: int

    kind: ClassVar[str] = "halves"
    method: ClassVar[str] = "closed-form"

    @proved_by("T163-halves")
    def applies(self, loss: ComposedLoss) -> bool:
        """Finitely many outcomes in every step, a window for each of them."""
        fitting = len(self.windows) == len(loss.parts) > 0 and all(
            _suits(law, count, windows) for (law, count), windows in zip(loss.parts, self.windows, strict=True))
        return fitting and self.tilt >= 0 and not loss.mean_shift_squared

    @proved_by("T163-halves")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> HalvesValues:
        """Both halves' masses, the second one sorted and summed; what is left out."""
        steps = sum(count for _, count in loss.parts)
        scale, gap = self.prec + steps.bit_length(), arb(0)
        with ctx.workprec(self.prec + 2 * steps.bit_length() + 32):
            pairs, ways = [(_UNIT, _UNIT)], arb(1)
            for (law, count), windows in zip(loss.parts, self.windows, strict=True):
                outcomes, error = prepare_outcomes(law, windows, scale)
                gap, ways = gap + count * error, ways * arb(count + 1).gamma()
                pairs = [(_product(a, c, between), _product(b, d, between)) for a, b in pairs
                         for c, d in enclose_pairs(outcomes, count, between)]
            infinity = loss.enclose_infinity_mass()
            halves = [(_columns(first), Ladder.of(second)) for first, second in paced(pairs, between)]
        with ctx.workprec(BOUND_BITS + 2 * steps.bit_length()):
            return HalvesValues(self, halves, ways, infinity, scale, upper_end(gap),
                                *bound_left_out(loss, self.windows, ball(self.tilt)))

    def work(self, loss: ComposedLoss) -> Work:
        """Of both halves' items, and of one look at the second half for each of the first."""
        items, wide = sum(count_items(self.windows)), words(self.prec + EXTRA)
        tables = sum(EXPONENTIAL + 2 * _ITEM * abs(window.size) for windows in self.windows for window in windows)
        return Work((_ITEM * items + tables) * wide, (items + tables // _ITEM) * entry_bytes(self.prec))


def count_items(windows: Sequence[Sequence[Window]]) -> tuple[int, int]:
    """At most so many items in each half, intermediate ones included."""
    found = [1, 1]
    for own in windows:
        sizes = [[abs(window.size) for window in own if window.half == side] for side in (0, 1)]
        for side in (0, 1):
            found[side] *= _count(sizes[side], alone=not sizes[1 - side])
    return found[0], found[1]


def _count(sizes: list[int], alone: bool) -> int:
    """Of one law: where all outcomes are in this half, its steps fix the count of the longest window."""
    sizes = sorted(sizes)  # exact: integers
    products = list(accumulate(sizes[:-1] if alone else sizes, mul))
    return sum(products) + 1 if alone else sum(products) or 1


@dataclass(frozen=True)
class HalvesValues:
    """Both halves before eps is known.

    halves: pairs that belong together. ways: the product of all factorials of counts of steps. gap: in units, how far
    a sum of places may be from its loss. moment: M(c). missed: bounds the tilted share of what is left out.
    """

    witness: HalvesWitness
    halves: list[tuple[Columns, Ladder]]
    ways: arb
    infinity: arb
    scale: int
    gap: arb
    moment: arb
    missed: arb

    @proved_by("T163-halves")
    def delta(self, epsilon: Fraction) -> Bounds:
        """P(S = inf) + P(E) - e^eps Q(E), and above it what is left out and what was decided wrongly."""
        with ctx.workprec(self.witness.prec + EXTRA):
            target, above, below = -epsilon * 2**self.scale // 1, arb(0), arb(0)
            for (owns, ps, qs), ladder in self.halves:
                rungs = [bisect_left(ladder.places, target - own) for own in owns]
                above += sum(map(mul, ps, map(ladder.above.__getitem__, rungs)), arb(0))
                below += sum(map(mul, qs, map(ladder.below.__getitem__, rungs)), arb(0))
            total = self.infinity + self.ways * (above - ball(epsilon).exp() * below)
            lost, wrong = self._bound_rest(ball(epsilon), self.gap + 1)
            budget = {"truncation": lost, "rounding": upper_end(total.rad() + wrong)}
            return Bounds(lower_end(total).max(arb(0)), upper_end(total + lost + wrong).min(arb(1)), budget)

    @proved_by("T163-halves", "T03-chernoff")
    def _bound_rest(self, epsilon: arb, units: arb) -> tuple[arb, arb]:
        """Bound D of the counts left out, and sum of P |1 - e^(eps - S)| over |S - eps| <= r = units 2^-scale.

        C(c) e^{-c eps} M(c) (tilted share), and (e^r - 1) min(1, e^{-c (eps - r)} M(c)).
        """
        tilt, reach = ball(self.witness.tilt), units * arb(2) ** -self.scale
        size = self.moment * (-tilt * epsilon).exp()
        factor = bound_chernoff_factor(tilt) if self.witness.tilt else arb(1)
        return (upper_end(factor * size * self.missed),
                upper_end(reach.expm1() * (size * (tilt * reach).exp()).min(arb(1))))


def _suits(law: Law, count: int, windows: Sequence[Window]) -> bool:
    """Atoms alone; a window within 0..count for each finite one."""
    inside = all(one.half in (0, 1) and 0 <= one.low <= one.high <= count for one in windows)
    return inside and isinstance(law, AtomicLaw) and len(windows) == len(law.enclose_losses())


@proved_by("T163-halves", "T60-tails")
def prepare_outcomes(law: Law, windows: Sequence[Window], scale: int) -> tuple[list[tuple[int, Outcome]], arb]:
    """(half, outcome) for each finite outcome, the longest window last; how far, in units, a place may be off."""
    found, gap = list[tuple[int, Outcome]](), arb(0)
    for (loss, mass), window in zip(law.enclose_loss_atoms() or [], windows, strict=True):
        exact = -loss * arb(2) ** scale
        place = integer_below(exact)
        gap = gap.max(upper_end(abs(exact - place)))
        powers = [enclose_powers(one, window) for one in (mass, mass * (-loss).exp())]
        found.append((window.half, Outcome(place, window.low, window.high, *powers)))
    return sorted(found, key=lambda one: one[1].high - one[1].low), gap  # exact: integers


@proved_by("T163-halves")
def bound_left_out(loss: ComposedLoss, windows: Sequence[Sequence[Window]], tilt: arb) -> tuple[arb, arb]:
    """(M(c), a bound of the tilted probability that some count is outside of its window)."""
    log_moment, missed = arb(0), arb(0)
    for (law, count), own in zip(loss.parts, windows, strict=True):
        weights = [mass * (tilt * place).exp() for place, mass in law.enclose_loss_atoms() or []]
        before, after = (list(accumulate(row, initial=arb(0))) for row in (weights, weights[::-1]))
        total = before[-1]
        log_moment += count * total.log()
        for index, window in enumerate(own):
            others = before[index] + after[-2 - index]
            missed += bound_missed(count, weights[index] / total, others / total, window)
    return upper_end(log_moment.exp()), upper_end(missed.min(arb(1)))
