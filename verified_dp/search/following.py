"""One order asked at many eps: what does not depend on eps is computed once for a whole stretch of them.

An evaluation's values give delta at any eps (`Answer.at`), sharp near the eps they were chosen for; where all eps are
known beforehand, `serve` chooses few that are sharp at every one of them.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from verified_dp.core.engines.closed import ClosedFormWitness, has_closed_form, is_quick
from verified_dp.core.engines.contour import LineValues
from verified_dp.core.engines.direct import direct_parts
from verified_dp.core.engines.lines import lines
from verified_dp.core.kernel.bounds import Bounds, reverse_bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Undecided, Unsupported
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.witnesses import Witness
from verified_dp.search.along import enclose_along, with_one_budget
from verified_dp.search.answer import Answer, is_narrow, width_bits
from verified_dp.search.deadline import Budget, OutOfTime
from verified_dp.search.estimates import LARGEST_TILT, ROUGH
from verified_dp.search.line import as_float, choose_line, dyadic, plan_line
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.planners.line import MAX_TILT, ROUGHLY, SLOW_LINE
from verified_dp.search.rays import RaysPlan, choose_rays, plan_rays
from verified_dp.search.saddle import Saddle, saddle_at
from verified_dp.search.stretch import Stretch, Tilts, choose_tilts
from verified_dp.search.transforms import geometric

MARGIN = 26.0
"""More bits than asked, so that an evaluation stays sharp over a longer stretch."""
MANY = 64
"""Evaluations that are kept."""
LEAST, SAMPLES = 4, 5
"""Fewer eps are asked one by one. At how many of a stretch delta is estimated."""
LOST, SPARE, TRIES = 96.0, 4.0, 4
"""Bits that a sum may lose before the stretch is halved, bits asked beyond those needed, and evaluations of one."""
MOMENTS, NEARLY = 48, 1e-3
"""Tilts tried for moments; by how much they have to be below, in logarithms."""
PER_TERM, EACH = 2e-7, 0.05
"""Seconds for one term of a sum at one eps, and for each eps, where a question of its own may take as many."""
RATIO, FEW_TIMES = 30.0, 16.0
"""How many times the first eps the last one may be for one pair of rays; the largest sum of least losses, for all."""
FARTHER = 30.0
"""By how much less log delta is held to be where it was lost in its error."""


_FIRST = 8
"""How many eps are looked at on each side of one that was asked, before as many more as stay narrow."""


class Served(NamedTuple):
    """An evaluation for all eps from one to another."""

    low: float
    high: float
    answer: Answer


def _bounds_along(answer: Answer, epsilons: Sequence[Fraction]) -> list[Bounds]:
    """What the answer says of each of these growing eps."""
    if not epsilons:
        return []
    if answer.ends is None:
        with suppress(Undecided):
            return enclose_along(answer.values, epsilons)
    return with_one_budget([answer.at(epsilon).bounds for epsilon in epsilons])


class Following(OneDirection):
    """A `OneDirection` that first asks the values it has. What it answers is proved as any answer is."""

    def __init__(self, loss: ComposedLoss) -> None:
        super().__init__(loss)
        self._kept: list[Answer] = []
        self._served: list[Served] = []

    def enclose(self, epsilon: Fraction, bits: float, method: str, budget: Budget) -> Answer:
        """As `OneDirection.enclose`, to more bits where that costs little: it stays sharp over a longer stretch."""
        found = self.kept(epsilon, bits, method)
        if found is None:
            smooth = self.has_contour and not (direct_parts(self.loss) or self.few)
            found = super().enclose(epsilon, bits + MARGIN if smooth else bits, method, budget)
            if all(one.values is not None for _, one in found.by_side()):
                self._kept = [*self._kept[-MANY + 1:], found]
        return found

    def kept(self, epsilon: Fraction, bits: float, method: str) -> Answer | None:
        """The first kept evaluation that is sharp enough here: for a stretch around it, or of the nearest ones."""
        at = as_float(epsilon)
        near = sorted(self._kept, key=lambda one: abs(as_float(one.epsilon) - at))[:2]
        for one in [*(one.answer for one in self._served if one.low <= at <= one.high), *near]:
            if method in ("auto", one.method) and is_narrow((found := one.at(epsilon)).bounds, bits):
                return found
        return None

    def along(self, epsilons: Sequence[Fraction], bits: float, method: str) -> list[tuple[Bounds, str] | None]:
        """(bounds, method) at each of these growing eps by what is known; None where that is not so narrow."""
        at, found = [as_float(epsilon) for epsilon in epsilons], list[tuple[Bounds, str] | None]([None] * len(epsilons))

        def fill(answer: Answer, places: Sequence[int]) -> bool:
            """Whether that is narrow at all of these places."""
            wanted = [i for i in places if found[i] is None]
            for i, bounds in zip(wanted, _bounds_along(answer, [epsilons[i] for i in wanted]), strict=True):
                found[i] = (bounds, answer.method) if is_narrow(bounds, bits) else None
            return all(found[i] for i in wanted)

        for one in self._served:
            if method in ("auto", one.answer.method):
                fill(one.answer, range(bisect_left(at, one.low), bisect_right(at, one.high)))
        for answer in [one for one in self._kept[::-1] if method in ("auto", one.method)] if None in found else ():
            middle = bisect_left(at, as_float(answer.epsilon))
            for side in (range(middle, len(at)), range(middle - 1, -1, -1)):
                left, size = [i for i in side if found[i] is None], _FIRST
                while left and fill(answer, sorted(left[:size])):
                    left, size = left[size:], 4 * size
        return found

    @proved_by("T16-reversal")
    def swapped_along(self, epsilons: Sequence[Fraction]) -> dict[Fraction, Bounds]:
        """delta of the swapped pair at those of these growing eps which lines serve, from the same values at -eps."""
        found = dict[Fraction, Bounds]()
        for one in self._served:
            if isinstance(one.answer.values, LineValues) and not one.answer.values.witness.reaches:
                wanted = [epsilon for epsilon in epsilons[::-1] if one.low <= as_float(epsilon) <= one.high]
                beside = enclose_along(one.answer.values, [-epsilon for epsilon in wanted])
                found.update({at: reverse_bounds(bounds, at) for at, bounds in zip(wanted, beside, strict=True)})
        return found

    def moments_below(self, logs: Mapping[float, float]) -> Iterator[Answer]:
        """Bounds by one moment each, which should show delta below e^log at these eps, for as many as moments can."""
        if not (self.has_contour and logs) or self.is_trivial or self.epoch_model is not None:
            return
        at, aims = np.array(list(logs)), np.array(list(logs.values()))
        tilts = geometric(1e-2, min(30 * (1 - aims.min() / (at.max() + 1e-9)), LARGEST_TILT), MOMENTS)
        factors = tilts * np.log(tilts) - (1 + tilts) * np.log1p(tilts)
        shown = (self.float_model.log_masses(tilts) + factors)[:, None] - np.outer(tilts, at) < aims - NEARLY
        while shown.any():
            best = int(shown.sum(axis=1).argmax())
            yield self.chernoff(dyadic(float(at[shown[best]][0])), float(tilts[best]))
            shown = shown & ~shown[best]

    def serve(self, epsilons: Sequence[Fraction], bits: float, method: str, budget: Budget, end: float = 0.0) -> None:
        """Make evaluations that answer these eps, in growing order and >= 0, where lines or paths are asked at all.

        end: where given, eps themselves shall be known to that precision, which takes log2(end / eps) bits more.
        """
        if method not in ("auto", "contour") or self.is_trivial or self.why_no_floats is not None:
            return
        if has_closed_form(self.loss) and is_quick(self.loss):
            if method == "auto" and len(epsilons) >= LEAST:
                answer = self.evaluate(epsilons[0], ClosedFormWitness(math.ceil(2 * bits) + 40))
                self._served.append(Served(as_float(epsilons[0]), as_float(epsilons[-1]), answer))
            return
        if not self.has_contour or (end and direct_parts(self.loss)):
            return
        parts = self._groups([epsilon for epsilon in epsilons if as_float(epsilon) < self.model.largest])
        with suppress(OutOfTime, Unsupported):
            while parts and not budget.spent:
                part = parts.pop()
                if len(part) >= LEAST:
                    more = math.log2(max(end / as_float(part[0] or part[1]), 1.0))
                    parts += self._serve(part, bits + more, budget)

    def _groups(self, epsilons: Sequence[Fraction]) -> list[Sequence[Fraction]]:
        """Few steps apart by the size of eps, from the sum of the least losses on: one pair of rays for each."""
        least = self.least
        if not (self.few and epsilons and least < math.inf) or self.loss.order == "add":
            return [epsilons]
        ends, most = [0.0, *map(as_float, epsilons)], as_float(epsilons[-1])
        if most <= FEW_TIMES * least:
            return [epsilons]
        many = max(math.ceil(math.log(max(most / least, 1.0)) / math.log(RATIO)), 1) if least > 0 else 0
        cuts = [bisect_left(ends, most * (least / most) ** (i / many)) - 1 for i in range(many, -1, -1)] if many else []
        places = [0, *(max(cut, 0) for cut in cuts[:-1]), len(epsilons)]
        return [epsilons[low:high + 1] for low, high in pairwise(places) if low < high]

    @property
    def least(self) -> float:
        """The size of `least_sum`, next to which delta is not smooth; or inf."""
        parts, noded = self.loss.parts, lines(self.loss).node_parts
        if not parts or self.loss.mean_shift_squared or len(noded) < len(parts):
            return math.inf
        return -float(self.least_sum())

    def _serve(self, part: Sequence[Fraction], bits: float, budget: Budget) -> list[Sequence[Fraction]]:
        """One evaluation for all of them; the halves where it would lose too much."""
        stretch, wanted, before = self._stretch(part), bits + SPARE, -math.inf
        for _ in range(TRIES):
            if stretch is None:
                break
            tilts = choose_tilts(self.float_model, stretch, wanted)
            if tilts.lost > LOST:
                return [part[:len(part) // 2 + 1], part[len(part) // 2:]]
            choose, seconds = self._chosen(part, stretch, tilts, wanted)
            if seconds > EACH * len(part) and seconds > len(part) * self._alone(part[len(part) // 2], bits):
                return [part[:len(part) // 2 + 1], part[len(part) // 2:]] if len(part) > 2 * LEAST else []
            if not budget.allows(seconds):
                break
            found = self.evaluate(part[len(part) // 2], choose())
            bounds = enclose_along(found.values, [part[i] for i in stretch.places])
            reached = min(map(width_bits, bounds))
            if reached >= bits or reached < before + 1:
                self._served.append(Served(as_float(part[0]), as_float(part[-1]), found))
                wide = [i for i, one in zip(stretch.places, bounds, strict=True) if width_bits(one) < bits]
                return [part[:wide[-1] + 1]] if wide and wide[-1] < stretch.places[-1] else []
            wanted, before = wanted + (bits - reached) / 2, reached
            stretch = replace(stretch, logs=np.array([self._known(part[i], log, one) for i, log, one in zip(
                stretch.places, stretch.logs.tolist(), bounds, strict=True)]))
        return []

    @staticmethod
    def _places_of(part: Sequence[Fraction]) -> tuple[int, ...]:
        """The first, the last and some between."""
        return tuple(sorted({round(share * (len(part) - 1)) for share in np.linspace(0, 1, SAMPLES)}))

    def _known(self, epsilon: Fraction, log: float, bounds: Bounds) -> float:
        """About log delta(eps): of its bounds where these say it, else less than it was held to be."""
        if width_bits(bounds) > 1:
            return float(bounds.lower.log())
        jump = self.log_jump(epsilon) if self.few else -math.inf
        return jump if -math.inf < jump < log else log - FARTHER

    def _stretch(self, part: Sequence[Fraction]) -> Stretch | None:
        """The first, the last and some between; None where no line is tried."""
        places = self._places_of(part)
        saddles = [self.saddle(part[i]) for i in places]
        if self.is_faint(saddles[-1]):
            return None
        tilts, logs = [saddle.tilt for saddle in saddles], [saddle.log_delta - self._roughness(saddle)
                                                            for saddle in saddles]
        return Stretch(places, np.array([as_float(part[i]) for i in places]), np.array(logs), min(tilts), max(tilts))

    @staticmethod
    def _roughness(saddle: Saddle) -> float:
        """By how much the estimate may exceed log delta."""
        return ROUGHLY * math.log(2) if saddle.curvature * saddle.tilt**2 > ROUGH else 0.0

    def _alone(self, epsilon: Fraction, bits: float) -> float:
        """About the seconds that one eps takes by a line of its own, or a path where steps are few."""
        line = plan_line(self.float_model, as_float(epsilon), self.saddle(epsilon), bits).seconds
        return min(line, EACH) if self.few else line

    def _chosen(self, part: Sequence[Fraction], stretch: Stretch, tilts: Tilts, bits: float) -> tuple[
            Callable[[], Witness], float]:
        """A line or a path for the whole stretch, and the seconds it takes."""
        model, start = self.float_model, as_float(part[0])
        saddles = [stretch.saddle(tilt, saddle_at(model, start, tilt).curvature) for tilt in (tilts.line, tilts.path)]
        line = plan_line(model, start, saddles[0], bits, length=stretch.length)
        if line.bits < bits - SPARE:  # what does not decay is bounded by the sum, which has to lose little
            line = plan_line(model, start, saddles[1], bits, length=stretch.length)
        choose: Callable[[], Witness] = partial(choose_line, model, line)
        seconds = line.seconds + len(part) * line.count * PER_TERM
        if line.seconds > SLOW_LINE and saddles[1].tilt < MAX_TILT and len(model.parts) == len(self.loss.parts):
            rays = self._rays(part, stretch, bits)
            if rays is not None and rays.seconds < seconds:
                choose, seconds = partial(choose_rays, rays), rays.seconds
        return choose, seconds

    def _rays(self, part: Sequence[Fraction], stretch: Stretch, bits: float) -> RaysPlan | None:
        """Two rays for the whole stretch, by the size of delta if one large loss decides."""
        known = [self.jumping(part[i], Saddle(stretch.low, log, 0.0)).log_delta
                 for i, log in zip(stretch.places, stretch.logs.tolist(), strict=True)]
        first = Saddle(stretch.low, known[0], 0.0)
        return plan_rays(self.float_model, as_float(part[0]), first, bits,
                         replace(stretch, logs=np.array(known)).others(first))
