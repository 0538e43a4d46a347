"""Choose marks: which losses are large, the line of the outcomes that have one, and a moment of the others (T149)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from verified_dp.core.engines.marked import Mark, MarkedWitness
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.search.deadline import check_time
from verified_dp.search.line import dyadic, log_error, node_rule
from verified_dp.search.models import FloatLoss
from verified_dp.search.saddle import Saddle
from verified_dp.search.transforms import FloatLaw, Floats, geometric, log_sum

_EXPONENTS = geometric(0.2, 80, 72)
"""Tilts and exponents of alias bounds, in tilts of the saddle point: to the right of it periods are shorter."""
_PLACES = np.linspace(-18.0, 14.0, 25)
"""Places of marks, in their scales from where losses begin to grow."""
_VOTES = (2, 3, 5, 8, 12, 18, 28)
_RESTS = geometric(0.02, 2e4, 48)
"""Moments of the outcomes without marks."""
_HEIGHTS = np.append(geometric(0.0005, 0.3, 9), np.linspace(0.4, 0.86, 6))
"""Heights of lines as shares of the strip."""
_FREQUENCIES = 64
_AWAY = np.linspace(0, 250, 1001)
"""Ends of windows tried, in scales from the mark."""
_POINTS = 360
_SHARES = np.linspace(0.04, 0.49, 24)


@dataclass(frozen=True)
class _Line:
    """Tilt, period and alias exponents; bits by which the sum's largest term exceeds delta."""

    tilt: float
    period: float
    right: float
    left: float
    excess: float


def _choose_line(loss: FloatLoss, epsilon: float, saddle: Saddle, bits: float) -> _Line:
    xs, target = saddle.tilt * _EXPONENTS, log_error(saddle, bits)
    logs = loss.log_masses(xs)
    sizes = logs - xs * epsilon - np.log(xs) - np.log1p(xs)
    excess = np.maximum(sizes - saddle.log_delta, 0.0) / math.log(2)
    apart = xs - xs[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        periods = np.maximum(logs - xs * epsilon - target, 1e-3) / np.abs(apart)
    rights, lefts = np.where(apart > 0, periods, np.inf), np.where(apart < 0, periods, np.inf)
    lefts = np.append(lefts, (-target / xs)[:, None], axis=1)
    best = np.maximum(rights.min(axis=1), lefts.min(axis=1))
    i = int((best * (bits + excess + 40) ** 1.5).argmin())
    return _Line(float(xs[i]), float(best[i]), float(xs[rights[i].argmin()]), float(np.append(xs, 0.0)[
        lefts[i].argmin()]), float(excess[i]))


def _log_shares(t: np.ndarray, places: np.ndarray, scale: float, votes: int, height: float = 0.0) -> tuple[
        np.ndarray, np.ndarray]:
    """log |X| and log |1 - X| at t + i height for marks right of some places; one row each."""
    odds = np.exp(np.clip((t - places[:, None]) / scale, -300, 300) + 1j * height / scale)
    found = []
    for chance, other in ((1 / (1 + 1 / odds), 1 / (1 + odds)), (1 / (1 + odds), 1 / (1 + 1 / odds))):
        total = np.zeros_like(odds)
        for i in reversed(range(votes)):
            total = total * other + math.comb(votes - 1 + i, i)
        found.append(votes * np.log(np.abs(chance)) + np.log(np.abs(total)))
    return found[0], found[1]


class _MarkedLaw:
    """A law on a grid of its places, whose losses are marked to the right of some."""

    def __init__(self, law: FloatLaw, count: float, c: float, right: float) -> None:
        self.law, self.count, self.scale, self.sign = law, count, law.strip / math.pi, -1 if law.order == "add" else 1
        low, high = zip(law.window(c), law.window(right), strict=True)
        self.t = np.linspace(min(low), max(high), _POINTS)
        self.base, self.loss = law.exponents(self.t)
        self.log_step = math.log(self.t[1] - self.t[0])
        slope = np.abs(np.gradient(self.loss, self.t))
        least = int(slope.argmin())
        self.start = float(self.t[least + (slope[least:] > slope[least:].max() / 2).argmax()])

    def places(self, losses: np.ndarray) -> np.ndarray:
        """Where it has some losses."""
        order = np.argsort(self.loss)
        return np.interp(losses, self.loss[order], self.t[order])

    def rest_logs(self, places: np.ndarray, votes: int, exponents: np.ndarray) -> np.ndarray:
        """count log L at some exponents: one row for each, one column for each place."""
        kept = _log_shares(self.t, places, self.scale, votes)[1]
        total = np.exp(self.base).sum()
        with np.errstate(over="ignore"):
            exponents = exponents[:, None, None] * self.loss + kept
            gains = np.where(exponents < 30, np.exp(self.base) * np.expm1(np.minimum(exponents, 30.0)),
                             np.exp(self.base + exponents))
            return np.asarray(self.count * np.log1p(gains.sum(axis=2) / total))

    def tails(self, c: float, w: np.ndarray, places: np.ndarray, votes: int, height: float) -> np.ndarray:
        """log of count times the bound of |H(c + iw)| by a line: one row for each frequency."""
        base, loss, angle = self.law.shifted(self.t, height)
        sizes = base + c * loss + _log_shares(self.t, places, self.scale, votes, height)[0]
        top = sizes.max()
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.exp(-np.outer(w, angle)) @ np.exp(sizes - top).T) + (
                top + self.log_step + math.log(self.count)))

    def log_part(self, x: float, place: float, votes: int, marked: bool = True) -> float:
        """log of count times the part of M at x with a mark, over M; without: of that part alone."""
        shares = _log_shares(self.t, np.array([place]), self.scale, votes)
        terms = self.base + x * self.loss
        part = log_sum(terms + shares[0 if marked else 1][0])
        return part - log_sum(terms) + math.log(self.count) if marked else part + self.log_step

    def ends(self, x: float, place: float, votes: int, marked: bool, needs: np.ndarray) -> tuple[
            np.ndarray, np.ndarray]:
        """The window beyond which the tails of a part are below e^-need times the part."""
        target = self.log_part(x, place, votes, False) - needs
        if marked:
            target = self.log_part(x, place, votes) - math.log(self.count) + self.law.log_mass(x) - needs
            places = place - self.scale * _AWAY
            return self._first(x, places, -1, votes, target), self.law.ends(x, target, 1)
        near = self._first(x, place + self.scale * _AWAY, 1, votes, target)
        return -self.law.ends(x, target, -1), near

    def _first(self, x: float, places: np.ndarray, side: int, votes: int, targets: np.ndarray) -> np.ndarray:
        """The first of some places away from the mark from which on a part's tail is below the targets."""
        kept = _log_shares(places, places[:1], self.scale, votes)[0 if side < 0 else 1][0]
        tails = self.law.log_tails_beyond(x, side * places, side) + kept
        return places[(tails[None, :] < targets[:, None]).argmax(axis=1)]

    def growth(self, reach: Floats, votes: int) -> Floats:
        """log of the marks' growth."""
        return (1 - 2 * votes) * np.log(np.cos(np.minimum(np.abs(reach) / (2 * self.scale), 1.57)))


@dataclass(frozen=True)
class _Marks:
    """The votes, a place for each law, the moment of the others, the cut-off, and heights for the tails.

    shares: the heights as shares of the strips.
    """

    votes: int
    places: list[float]
    rest: float
    omega: float
    shares: list[float]


def _choose_marks(loss: FloatLoss, laws: list[_MarkedLaw], epsilon: float, line: _Line,
                  target: float) -> _Marks | None:
    """Of all marks that leave next to nothing unmarked, those whose transform decays first."""
    lead, best, least = laws[0], None, math.inf
    tried = np.interp(lead.start + lead.scale * _PLACES, lead.t, lead.loss)
    w = geometric(0.02, 1e5, _FREQUENCIES) * 2 * math.pi / max(line.period, 1e-6) * 10
    size = loss.cumulants(line.tilt)[0] - line.tilt * epsilon - np.log(math.pi * w)
    rests = _RESTS if lead.sign > 0 else -1 - _RESTS
    factors = _RESTS * np.log(_RESTS) - (1 + _RESTS) * np.log1p(_RESTS) + (
        loss.mean_shift_squared / 2 * rests * (rests + 1) - rests * epsilon)
    for votes in _VOTES:
        check_time()
        places = [law.places(tried) for law in laws]
        logs = sum((law.rest_logs(own, votes, rests) for law, own in zip(laws, places, strict=True)),
                   factors[:, None])
        allowed = np.flatnonzero(np.nanmin(logs, axis=0, initial=np.inf) < target)
        if not len(allowed):
            continue
        total, heights = np.full((len(w), len(allowed)), -np.inf), []
        for law, own in zip(laws, places, strict=True):
            rows = np.stack([law.tails(line.tilt, w, own[allowed], votes, float(share) * law.law.strip)
                             for share in _HEIGHTS])
            heights.append(rows.argmin(axis=0))
            total = np.logaddexp(total, rows.min(axis=0))
        small = total + size[:, None] < target
        firsts = np.where(small.any(axis=0), small.argmax(axis=0), len(w))
        i = int(firsts.argmin())
        cost = float(w[min(int(firsts[i]), len(w) - 1)]) * (2 * votes - target + 20)
        if firsts[i] < len(w) and cost < least:
            least, best = cost, _Marks(votes, [float(own[allowed[i]]) for own in places], float(rests[(
                logs[:, allowed[i]] < target).argmax()]), float(w[firsts[i]]), [
                float(_HEIGHTS[rows[firsts[i], i]]) for rows in heights])
    return best


@dataclass(frozen=True)
class MarkedPlan:
    """A line with marks in floating point."""

    line: _Line
    marks: _Marks
    laws: list[_MarkedLaw]
    nodes: list[NodeRule]
    rest_nodes: list[NodeRule]
    target: float
    wanted: float
    bits: float

    @property
    def count(self) -> int:
        """Of frequencies."""
        return max(1, math.ceil(self.marks.omega * self.line.period / (2 * math.pi)))

    @property
    def seconds(self) -> float:
        """A rough prediction of the kernel's time."""
        nodes = sum(rule.last - rule.first for rule in self.nodes)
        return (self.count * (7e-5 + 1.1e-7 * nodes) + 1e-4 * nodes) * max(1.0, self.bits / 100)


def plan_marked(loss: FloatLoss, epsilon: float, saddle: Saddle, bits: float) -> MarkedPlan | None:
    """Choose tilt, period and marks; None where there are none."""
    if loss.direct or not loss.parts or any(len(family.parts) > 1 for family in loss.families):
        return None
    with np.errstate(all="ignore"):
        line, target = _choose_line(loss, epsilon, saddle, bits), log_error(saddle, bits)
        laws = [_MarkedLaw(law, count, line.tilt, line.right) for law, count in loss.parts]
        marks = _choose_marks(loss, laws, epsilon, line, target)
        if marks is None:
            return None
        wanted = (bits + line.excess + 5) * math.log(2)
        aliases = (line.right, line.left) if line.left else (line.right,)
        known = (-1e-9, -1 + 1e-9) if marks.rest < 0 else ()
        nodes, rest_nodes = list[NodeRule](), list[NodeRule]()
        for law, place in zip(laws, marks.places, strict=True):
            more, votes = math.log(law.count), marks.votes
            nodes.append(_rule(law, place, votes, True, [_Want(x, max(want + law.log_part(x, place, votes), 1.0)) for (
                x, want) in ((line.tilt, wanted), *((x, 3.0) for x in aliases))]))
            rest_nodes.append(_rule(law, place, votes, False, [_Want(x, want + more) for x, want in (
                (line.tilt, wanted), *((x, 3.0) for x in (marks.rest, *aliases)),
                *((x, 4 - target) for x in known))]))
    return MarkedPlan(line, marks, laws, nodes, rest_nodes, target, wanted, bits)


class _Want(NamedTuple):
    """An exponent, and log of what a part of M must be known to there, relative to itself."""

    exponent: float
    want: float


def _rule(law: _MarkedLaw, place: float, votes: int, marked: bool, wants: Sequence[_Want],
          share: float | None = None) -> NodeRule:
    """The fewest nodes for the part with a mark or without; share: of the strip, where the height is given."""
    strip = law.law.strip
    heights = _SHARES * min(strip, 2.2 * law.law.s * math.sqrt(wants[0].want)) if share is None else np.full(
        len(_SHARES), share * strip)
    widths = heights if share is None else _SHARES / _SHARES[-1] * min(share, 0.98 - share) * strip
    steps, lows, highs = (np.full(len(heights), end) for end in (math.inf, math.inf, -math.inf))
    for x, want in wants:
        need = want + law.growth(heights + widths, votes)
        growth = law.law.strip_growth(x, heights + widths)
        steps = np.minimum(steps, np.minimum(2 * math.pi * widths / (need + growth + 1), 1.9 * law.law.s))
        low, high = law.ends(x, place, votes, marked, need + np.square(heights) / (2 * law.law.variance) + 1)
        lows, highs = np.minimum(lows, low), np.maximum(highs, high)
    best = int(((highs - lows) / steps).argmin())
    return node_rule(float(heights[best]), float(widths[best]), float(steps[best]), float(lows[best]),
                     float(highs[best]))


def choose_marked(plan: MarkedPlan) -> MarkedWitness:
    """Turn a plan into a witness."""
    line, marks, c = plan.line, plan.marks, plan.line.tilt
    tails, chosen, extra = [], [], 0.0
    for law, place, share, rule in zip(plan.laws, marks.places, marks.shares, plan.nodes, strict=True):
        want = max(plan.wanted + law.log_part(c, place, marks.votes), 1.0)
        tails.append(_rule(law, place, marks.votes, True, [_Want(c, want)], share))
        chosen.append(Mark(law.sign * dyadic(place, 16), dyadic(law.scale, 16), marks.votes))
        reach = 2 * float(rule.height)
        grown = float(law.law.strip_growth(c, reach)) + float(law.growth(reach, marks.votes))
        extra = max(extra, math.log2(law.count) + 0.6 * grown / math.log(2) + math.log2(1 + law.law.cumulants(c)[0]))
    bits = plan.bits + line.excess + extra + 24 + (max(-plan.target / math.log(2), 0.0) if marks.rest < 0 else 0.0)
    return MarkedWitness(
        tilt=dyadic(c), step=dyadic(2 * math.pi / line.period), count=plan.count, nodes=tuple(plan.nodes),
        tail_nodes=tuple(tails), rest_nodes=tuple(plan.rest_nodes), marks=tuple(chosen), right=dyadic(line.right),
        left=dyadic(line.left), rest=dyadic(marks.rest), prec=math.ceil(bits))
