"""The landscape of |M(z) e^{-z eps} / z^2| over the plane, in floating point, for the choice of a bent path."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from verified_dp.search.models import FloatLoss
from verified_dp.search.transforms import FloatLaw, MixtureLaw, Side, log_tail

_HEIGHTS = 26
_SPREAD = 13.0
"""Half-width, in noise multipliers, of the part of a line around 0 that is sampled."""


class LawTable:
    """log of int |integrand| on many lines at once, for one law, at any points (x, w)."""

    def __init__(self, law: FloatLaw, count: float) -> None:
        self.law, self.count, s = law, count, law.s
        left, self.right, fine = self._grid()
        self.t = np.linspace(left, self.right, int(min(700, max(100, (self.right - left) / fine))))
        self.step = float(self.t[1] - self.t[0])
        highest = 0.92 * min(law.strip, 40 * s)
        lowest = min(0.01 * highest, 0.3 * s / math.sqrt(count))
        ladder = int(min(_HEIGHTS / 2, 1 + 2.5 * math.log(0.06 * highest / lowest)))
        self.heights = np.concatenate([np.geomspace(lowest, 0.06 * highest, ladder)[:-1],
                                       np.linspace(0.06 * highest, highest, _HEIGHTS - ladder)])
        rows = [law.shifted(self.t, float(height)) for height in self.heights]
        self.base, self.loss, self.angle = (np.array([row[i] for row in rows]) for i in range(3))

    def _grid(self) -> tuple[float, float, float]:
        """Both ends of the part of a line that is sampled, and the step."""
        law, reach = self.law, _SPREAD * self.law.s
        centre = law.variance * (law.log_rest - law.log_q) + 0.5
        left = law.window(1.0)[0] - 2 * law.s if law.order == "add" else -reach
        left = min(left, -reach - max(0.0, -centre)) if law.order != "remove" else left
        return left, max(centre + 12 * law.variance, reach), min(law.s / 5, law.variance / 2.2)

    @property
    def _widest(self) -> float:
        """The widest cells on the real axis."""
        return min(1.2 * self.law.s, 0.9 * self.law.variance)

    def exponents(self, x: np.ndarray, w: np.ndarray, heights: slice | list[int]) -> np.ndarray:
        """log |integrand|: one row per point and height."""
        base, loss, angle = self.base[heights], self.loss[heights], self.angle[heights]
        return base + x[:, None, None] * loss - w[:, None, None] * angle

    def logs(self, x: np.ndarray, w: np.ndarray, heights: slice = slice(None)) -> np.ndarray:
        """One row per point, one column per height."""
        exponents = self.exponents(x, w, heights)
        peak = np.clip(exponents.argmax(axis=2), 1, len(self.t) - 2)
        flat, at = exponents.ravel(), peak + len(self.t) * np.arange(peak.size).reshape(peak.shape)
        before, top, after = flat[at - 1], flat[at], flat[at + 1]
        sharp = 2 * top - before - after >= 4
        top = np.maximum(top, np.maximum(before, after))
        exponents -= top[:, :, None]
        body = top + np.log(np.exp(exponents, out=exponents).sum(axis=2) * self.step)
        return np.where(sharp, np.inf, np.logaddexp(body, self._beyond(x, w, self.heights[heights])))

    def _beyond(self, x: np.ndarray, w: np.ndarray, heights: np.ndarray) -> np.ndarray:
        """log of the integral to the right of the grid: a piece of the lobe at x + 1 (add: at -x)."""
        law = self.law
        p = (-x if law.order == "add" else x + 1)[:, None]
        lobe = p * law.log_q + p * (p - 1) / (2 * law.variance) + log_tail((self.right - p) / law.s)
        lobe = np.where(p > 0, lobe, -np.inf) - w[:, None] * heights / law.variance + heights**2 / (2 * law.variance)
        return lobe if law.order != "symmetric" else np.where(x[:, None] < 0, np.inf, lobe - x[:, None] * law.log_rest)

    def widest_cell(self, heights: np.ndarray | float) -> np.ndarray:
        """The widest cells worth a try on lines of these heights."""
        return np.minimum(self._widest, 0.8 * (self.law.strip - np.asarray(heights)))

    def coarsest_cells(self, x: np.ndarray, w: np.ndarray, index: int, allowed: np.ndarray) -> float:
        """The widest cells for which the kernel's bound of the integral exceeds it at most e^allowed times."""
        g = self.exponents(x, w, slice(index, index + 1))[:, 0]
        slope, bend = np.gradient(g, self.step, axis=1), _second(g, self.step)
        size = np.hypot(np.abs(x) + 1, w)[:, None]
        top = g.max(axis=1, keepdims=True)
        plain = np.log(np.exp(g - top).sum(axis=1))
        widest = float(self.widest_cell(self.heights[index]))
        for share in (1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.22, 0.16, 0.12, 0.08, 0.05, 0.03):
            half = share * widest / 2
            rise = np.abs(slope) * half
            bound = np.maximum(bend + size * self._looseness(float(self.heights[index]), half), 0)
            rise = np.minimum(rise * rise / 6, rise) + bound * half * half / 2
            if (np.log(np.exp(g - top + rise).sum(axis=1)) - plain <= allowed).all():
                break
        return 2 * half

    def _looseness(self, height: float, half: float) -> np.ndarray:
        """How far an enclosure of v'' over a cell reaches beyond its value at the centre, on the grid."""
        law, growth = self.law, 1.4 * math.expm1(half / self.law.variance)
        rest, turn = math.exp(law.log_rest), height / law.variance
        total = np.zeros_like(self.t)
        for t in (self.t, -self.t) if law.order == "symmetric" else (self.t,):
            part = np.exp(np.minimum(law.log_q + (2 * t - 1) / (2 * law.variance), 300.0))
            modulus = np.hypot(rest + part * math.cos(turn), part * math.sin(turn))
            gap = np.maximum(modulus - growth * part, 1e-9)
            total += rest * part * ((1 + growth) / gap**2 - 1 / modulus**2) / law.variance**2
        return total

    def window(self, x: np.ndarray, w: np.ndarray, sizes: np.ndarray, height: float) -> tuple[float, float]:
        """Ends beyond which T10's tails on a line are below e^sizes at every point."""
        law = self.law
        common = height * height / (2 * law.variance) - np.minimum(w, 0) * height / law.variance * 2
        room = (sizes - common)[:, None]
        cosine = math.log(math.cos(height / (2 * law.variance)))
        p = -x if law.order == "add" else x + 1
        lobe = np.maximum(p * law.log_q + p * (p - 1) / (2 * law.variance), 0) - np.abs(x) * law.log_rest
        reach = law.s * (4 + math.sqrt(2 * max(0.0, float((lobe - room[:, 0]).max()))))
        low = np.linspace(0, max(-float(self.t[0]), reach), 80)
        high = np.linspace(0, max(self.right, float(p.max()) + reach), 100)
        left = self._left_tails(x[:, None], low, cosine)
        right = self._right_tails(x[:, None], w[:, None], high, height, cosine)
        return -_first(low, (left < room).all(axis=0)), _first(high, (right < room).all(axis=0))

    def _angles(self, high: np.ndarray, height: float) -> np.ndarray:
        """arg m(high + i height)."""
        ratio = np.exp(np.minimum(self.law.log_q + (2 * high - 1) / (2 * self.law.variance) - self.law.log_rest, 600.0))
        turn = height / self.law.variance
        return np.arctan2(ratio * math.sin(turn), 1 + ratio * math.cos(turn))

    def _left_tails(self, x: np.ndarray, low: np.ndarray, cosine: float) -> np.ndarray:
        law, tail = self.law, log_tail(low / self.law.s)
        if law.order == "symmetric":
            return tail - x * np.maximum(cosine, self._least_modulus(low, cosine, True))
        exponent = -x if law.order == "add" else x + 1
        return tail + np.minimum(exponent, 0) * self._least_modulus(-low, cosine, False)

    def _right_tails(self, x: np.ndarray, w: np.ndarray, high: np.ndarray, height: float, cosine: float) -> np.ndarray:
        law = self.law
        p = -x if law.order == "add" else x + 1
        odds = law.log_q + (2 * high - 1) / (2 * law.variance)
        ratio = law.log_q + np.logaddexp(0.0, law.log_rest - odds)
        growing = p * ratio + p * (p - 1) / (2 * law.variance) + log_tail((high - p) / law.s)
        falling = log_tail(high / law.s) + p * self._least_modulus(high, cosine, True)
        bound = np.where(p >= 0, growing, falling) - np.maximum(w, 0) * self._angles(high, height)
        return bound - x * self._least_modulus(-high, cosine, False) if law.order == "symmetric" else bound

    def _least_modulus(self, end: np.ndarray, cosine: float, rightwards: bool) -> np.ndarray:
        """log of the lower bound of |m| beyond `end` on a line."""
        law = self.law
        part = law.log_q + (2 * end - 1) / (2 * law.variance)
        ratio = np.exp(-np.abs(part - law.log_rest))
        apart = np.maximum(part, law.log_rest) + np.log1p(-ratio)
        if rightwards:
            return np.maximum(cosine + np.logaddexp(law.log_rest, part), np.where(part > law.log_rest, apart, -np.inf))
        return np.maximum(cosine + law.log_rest, np.where(part < law.log_rest, apart, -np.inf))


class MixtureTable(LawTable):
    """Line integrals of a mixture on many lines at once."""

    law: MixtureLaw

    def _grid(self) -> tuple[float, float, float]:
        law = self.law
        ends = [-13.0 * law.s, 13.0 * law.s]
        for side in (law.above, law.below):
            if side.spread:
                place = _balance(side)
                ends += [place - 12 * law.variance / side.spread, place + 12 * law.variance / side.spread]
        low, high = min(ends), max(ends)
        fine = min(law.s / 5, law.variance / 2.2 / law.distance)
        return (low, high, fine) if law.sign > 0 else (-high, -low, fine)

    def _beyond(self, x: np.ndarray, w: np.ndarray, heights: np.ndarray) -> np.ndarray:
        law, rows = self.law, []
        for sign, side in ((1, law.above), (-1, law.below)):
            end = np.array([float(self.t[-1] if sign * law.sign > 0 else self.t[0]) * law.sign])
            turn = abs(float(side.means[-1])) * heights / law.variance
            rows.append(law.log_tails(x, end, sign)[:, None] - w[:, None] * turn)
        return np.logaddexp(*rows) + heights**2 / (2 * law.variance)

    @property
    def _widest(self) -> float:
        return min(1.2 * self.law.s, 0.9 * self.law.variance / self.law.distance)

    def _looseness(self, height: float, half: float) -> np.ndarray:
        law, total = self.law, np.zeros_like(self.t)
        for side in (law.above, law.below):
            if side.spread:
                growth = 1.4 * math.expm1(half * side.spread / law.variance)
                terms = side.terms(law.sign * self.t)
                size = np.logaddexp.reduce(terms, axis=0)
                modulus = np.exp(side.log_at(law.sign * self.t, height)[0] - size)
                moving = np.exp(np.logaddexp.reduce(terms[1:], axis=0) - size)
                gap = np.maximum(modulus - growth * moving, 1e-9)
                count = 1.0 if len(terms) == 2 else 3.0
                rest = np.exp(terms[0] - size) if len(terms) == 2 else 1.0
                total += side.spread**2 * rest * moving * ((1 + count * growth) / gap**2 - 1 / modulus**2) / (
                    law.variance**2)
        return np.maximum(total, 0.0)

    def window(self, x: np.ndarray, w: np.ndarray, sizes: np.ndarray, height: float) -> tuple[float, float]:
        law = self.law
        common = height * height / (2 * law.variance) - np.minimum(w, 0) * height / law.variance * law.far
        room, sides = (sizes - common)[:, None], (law.above, law.below)
        above, below = (math.log(math.cos(side.spread * height / (2 * law.variance))) for side in sides)
        reach = 8 * law.s + float(np.abs(self.t).max()) + law.far * (float(np.abs(x).max()) + 1)
        found = []
        for sign, side in ((-1, law.below), (1, law.above)):
            ends = np.linspace(0, reach, 200)
            turn = np.abs(side.log_at(sign * ends, height)[1])
            tails = law.log_tails(x[:, None], sign * ends, sign, (above, below)) - np.maximum(w, 0)[:, None] * turn
            refused = np.flatnonzero(~(tails < room).all(axis=0))
            found.append(sign * float(ends[min(int(refused[-1]) + 1, len(ends) - 1)] if len(refused) else ends[0]))
        return (found[0], found[1]) if law.sign > 0 else (-found[1], -found[0])


def _balance(side: Side) -> float:
    """Where the furthest component is as large as the nearest one."""
    ends = side.means[[0, -1]]
    return float((ends**2 @ [-0.5, 0.5] - side.variance * (side.logs[-1] - side.logs[0])) / (ends[1] - ends[0]))



def law_table(law: FloatLaw, count: float) -> LawTable:
    """The line integrals of a law."""
    return MixtureTable(law, count) if isinstance(law, MixtureLaw) else LawTable(law, count)


def _second(rows: np.ndarray, step: float) -> np.ndarray:
    """Second differences along the last axis over step^2, the ends repeated."""
    middle = (rows[:, 2:] - 2 * rows[:, 1:-1] + rows[:, :-2]) / (step * step)
    return np.pad(middle, ((0, 0), (1, 1)), mode="edge")


def _first(ends: np.ndarray, accepted: np.ndarray) -> float:
    """The first end from which on all are accepted, the last where none is."""
    refused = np.flatnonzero(~accepted)
    return float(ends[min(int(refused[-1]) + 1, len(ends) - 1)] if len(refused) else ends[0])


@dataclass
class Landscape:
    """log |M e^{-z eps} / z^2| bounded over the plane, for a composition.

    others: more eps, each with how far its own values may exceed those of eps (`search.stretch`).
    """

    loss: FloatLoss
    epsilon: float
    tables: list[LawTable]
    others: Sequence[tuple[float, float]] = ()

    def turned(self, x: np.ndarray) -> np.ndarray:
        """log |e^{-z eps}|, of all eps the largest."""
        found = -x * self.epsilon
        for epsilon, room in self.others:
            found = np.maximum(found, -x * epsilon - room)
        return found

    @property
    def spread(self) -> float:
        """The largest noise multiplier: it scales how far the path bends."""
        return max(law.s for law, _ in self.loss.parts)

    def rest(self, x: np.ndarray, w: np.ndarray | float, reach: np.ndarray | float) -> np.ndarray:
        """Everything but the laws: Gaussian steps, e^{-z eps}, 1/z^2."""
        gaussian = self.loss.mean_shift_squared / 2 * (x * (x + 1) - np.square(np.maximum(w, 0.0)))
        return gaussian + self.turned(x) - 2 * np.log(reach)

    def values(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The least over all lines, at each point."""
        total = self.rest(x, w, np.maximum(np.abs(x), w))
        for table in self.tables:
            total = total + table.count * table.logs(x, w).min(axis=1)
        return total

    def suprema(self, corners: np.ndarray, lines: slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """For each rectangle (4 points (x, w)): log of the kernel's bound, and which of `lines` gives it per law."""
        x, w = corners[..., 0], corners[..., 1]
        left, low = x.min(axis=1), w.min(axis=1)
        reach = np.maximum(left, low)
        kernel = np.sqrt(np.maximum(reach, 1e-300) * np.maximum(np.maximum(left + 1, low), 1e-300))
        gaussian = np.maximum((x * (x + 1)).max(axis=1), 0) - np.square(np.maximum(low, 0))
        totals = self.loss.mean_shift_squared / 2 * gaussian[:, None] + self.turned(x) - 2 * np.log(kernel)[:, None]
        heights = np.zeros((len(corners), len(self.tables)), dtype=int)
        for i, table in enumerate(self.tables):
            logs = table.logs(x.ravel(), w.ravel(), lines).reshape(*x.shape, -1)
            summed = totals[:, :, None] + table.count * logs
            heights[:, i] = summed.max(axis=1).argmin(axis=1)
            totals = np.take_along_axis(summed, heights[:, i][:, None, None], axis=2)[:, :, 0]
        return np.where(reach > 0, totals.max(axis=1), np.inf), heights
