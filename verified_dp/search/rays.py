"""Choose two rays for few compositions: where losses begin to be high, how the low ones' ray turns, the panels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.engines.rays import MAX_LEVELS, Level, Ray, RaysWitness
from verified_dp.search.deadline import check_time
from verified_dp.search.line import dyadic, kept_window, node_rule
from verified_dp.search.models import FloatLoss
from verified_dp.search.saddle import Saddle
from verified_dp.search.transforms import FloatLaw, log_sums

_TRIED = ((0.5, 0.48), (0.75, 0.48), (0.5, 0.36), (0.3, 0.48), (0.75, 0.36))
"""Starts, as shares of the saddle point (to the left windows are shorter, and more cancels), and heights of the nodes'
lines, as shares of the strip: the first for which rays are found are taken."""
_SLOPES, _UP = np.radians([3.0, 12.0, 24.0, 38.0, 54.0, 70.0, 84.0]), np.array([math.pi / 2])
_REACHES = np.geomspace(0.2, 2000, 18), np.geomspace(1e-5, 2000, 36)
"""Lengths of rays that are tried; shorter ones where none of these is found."""
_FINE, _FINER, _MANY_BITS = 0.6, 0.3, 60.0
"""Nodes so far apart, in noise multipliers, stand for all of a law; of so many bits or more the second."""
_CUTS = 16
"""So many cuts are tried."""
_ELLIPSES = np.array([1.5, 2.0, 2.8, 4.0, 6.0, 9.0, 14.0])
_FIRST, _COARSE, _BACKINGS, _ROOM = 10 ** (-7 / 53 * np.arange(263, -1, -1)), 6, 3, -3.0
"""First half-panels as shares of half the ray, of which first every so many, how many are tried, log of the error of
one where more may follow."""
_PANELS = np.array([1, 2, 3, 4, 6, 8, 12, 18])
_MOST_LEVELS, _MOST_PANELS, _MOST_NODES = MAX_LEVELS, 400, 10**6


class RuleTable:
    """log |W_j|, Re v_j and Im v_j of some nodes of a rule, the lowest losses first.

    log_share: log of the chance of the law, where it is one of several.
    """

    def __init__(self, law: FloatLaw, count: float, rule: NodeRule, fine: float, log_share: float = 0.0) -> None:
        self.law, self.count, self.rule = law, count, rule
        self.side = -1 if law.order == "add" else 1
        self.first, last = sorted((self.side * rule.first, self.side * rule.last))
        self.stride = max(1, int(fine * law.s / float(rule.step)))
        places = np.arange(self.first, last + 1, self.stride)
        base, self.loss, self.angle = law.shifted(self.side * places * float(rule.step), float(rule.height))
        self.base = base + math.log(float(rule.step) * self.stride) + log_share
        self.highest = np.maximum.accumulate(self.loss)

    @property
    def size(self) -> int:
        """All nodes of the rule."""
        return self.rule.last - self.rule.first + 1

    @property
    def lowest(self) -> float:
        """The least loss."""
        return float(self.loss[0])

    def tried(self) -> np.ndarray:
        """Losses where the high ones may begin."""
        ends = np.searchsorted(self.angle, [0.02 * self.angle[-1], 0.98 * self.angle[-1]])
        return self.highest[np.unique(np.linspace(ends[0], ends[1], _CUTS).astype(int).clip(1, len(self.loss) - 1))]

    def below(self, losses: np.ndarray) -> np.ndarray:
        """How many nodes have losses below each of some, at least one and not all."""
        return np.clip(np.searchsorted(self.highest, losses), 1, len(self.loss) - 1)

    def cuts(self, number: np.ndarray) -> list[tuple[NodeRule, int]]:
        """The rule, and where the witness cuts it after so many of the nodes kept here."""
        return [(self.rule, self.first + (int(number) - 1) * self.stride + 1)]

    def _terms(self, z: np.ndarray, end: int | None = None) -> np.ndarray:
        """log |W_j| of the nodes before one; one row per point."""
        return np.asarray(self.base[:end] + np.multiply.outer(z.real, self.loss[:end])
                          - np.multiply.outer(z.imag, self.angle[:end]))

    def low_sums(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """log of the sums of |W_j| of the first nodes; one row per point."""
        if len(numbers) > 1:
            return np.asarray(np.logaddexp.accumulate(self._terms(z), axis=1)[:, numbers - 1])
        return log_sums(self._terms(z, int(numbers[0])))[:, None]

    def high_sums(self, z: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log of the sums of |W_j| of the other nodes, and of all."""
        terms = self._terms(z)
        if len(numbers) > 1:
            return np.logaddexp.accumulate(terms[:, ::-1], axis=1)[:, -numbers - 1], log_sums(terms)[:, None]
        return log_sums(terms[:, int(numbers[0]):])[:, None], log_sums(terms)[:, None]


class SeveralTables:
    """Of a law that is one of several (T166): as `RuleTable`, a row of numbers for each of these."""

    def __init__(self, tables: list[RuleTable], count: float) -> None:
        self.tables, self.count = tables, count

    @property
    def size(self) -> int:
        """All nodes of the rules."""
        return sum(table.size for table in self.tables)

    @property
    def lowest(self) -> float:
        """The least loss."""
        return min(table.lowest for table in self.tables)

    def tried(self) -> np.ndarray:
        """Losses where the high ones of one of the laws may begin."""
        return np.concatenate([table.tried() for table in self.tables])

    def below(self, losses: np.ndarray) -> np.ndarray:
        """As `RuleTable.below`."""
        return np.stack([table.below(losses) for table in self.tables])

    def cuts(self, number: np.ndarray) -> list[tuple[NodeRule, int]]:
        """The rules, and where the witness cuts them."""
        return [found for table, own in zip(self.tables, number, strict=True) for found in table.cuts(own)]

    def low_sums(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """As `RuleTable.low_sums`."""
        return np.asarray(np.logaddexp.reduce([table.low_sums(z, own) for table, own in zip(
            self.tables, numbers, strict=True)], axis=0))

    def high_sums(self, z: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `RuleTable.high_sums`."""
        pairs = [table.high_sums(z, own) for table, own in zip(self.tables, numbers, strict=True)]
        rest, whole = (np.logaddexp.reduce([pair[i] for pair in pairs], axis=0) for i in (0, 1))
        return rest, whole


@dataclass(frozen=True)
class Sums:
    """log of T187's bounds of what each ray integrates, for some cuts, over the errors allowed at some eps.

    epsilons, targets: the least eps first, and log of the error allowed at each. mean_shift_squared: of the plain
    Gaussian steps, whose factor is not in `logs`.
    """

    mean_shift_squared: float
    tables: list[RuleTable | SeveralTables]
    numbers: list[np.ndarray]
    epsilons: np.ndarray
    targets: np.ndarray

    def decay(self, x: np.ndarray) -> np.ndarray:
        """log of |e^{-z eps}| over the error allowed, at the eps where it is largest, Re z = x."""
        return np.asarray((-np.multiply.outer(x, self.epsilons) - self.targets).max(axis=-1))

    def logs(self, z: np.ndarray, high: bool) -> np.ndarray:
        """Without the kernel; one row per point, one column per cut."""
        total, parts = self.decay(z.real)[:, None], []
        for table, numbers in zip(self.tables, self.numbers, strict=True):
            if not high:
                total = total + table.count * table.low_sums(z, numbers)
                continue
            rest, whole = table.high_sums(z, numbers)
            total = total + table.count * whole
            parts.append(math.log(table.count) + rest - whole)
        return np.asarray(total + np.logaddexp.reduce(parts, axis=0) if high else total)

    def gaussian(self, z: np.ndarray, least: np.ndarray) -> np.ndarray:
        """log of the kernel's bound of the plain Gaussian steps' factor at z, for polygons with these least heights."""
        return np.asarray((z.real * (z.real + 1) + least * (least - 2 * z.imag)) * self.mean_shift_squared / 2)

    def only(self, index: int) -> Sums:
        """With one cut."""
        return replace(self, numbers=[numbers[..., index:index + 1] for numbers in self.numbers])


@dataclass(frozen=True)
class RayShape:
    """A ray in floating point: the angle, half of the first panel's length, panels and ellipse per level."""

    slope: float
    half: float
    points: int
    levels: list[tuple[int, float]]

    @property
    def panels(self) -> int:
        return sum(panels for panels, _ in self.levels)

    def ray(self) -> Ray:
        """In short dyadics."""
        stride = dyadic(2 * self.half * math.cos(self.slope), 12), dyadic(2 * self.half * math.sin(self.slope), 12)
        if self.slope == math.pi / 2:
            stride = stride[0] * 0, stride[1]
        return Ray(stride, self.points, tuple(Level(panels, dyadic(ellipse, 8)) for panels, ellipse in self.levels))


@dataclass(frozen=True)
class RaysPlan:
    """Both rays in floating point, and the bits of precision they need."""

    tilt: float
    sums: Sums
    low: RayShape
    high: RayShape
    prec: int

    @property
    def seconds(self) -> float:
        """A rough prediction of the kernel's time."""
        nodes = sum(table.size for table in self.sums.tables)
        work = sum(nodes * (shape.points * (1.5 + 0.4 * len(shape.levels)) + shape.panels * (1 + 0.1 * shape.points))
                   + 15 * shape.panels * shape.points for shape in (self.low, self.high))
        return 1e-6 * work * max(1.0, self.prec / 150)


def plan_rays(loss: FloatLoss, epsilon: float, saddle: Saddle, bits: float,
              others: Sequence[tuple[float, float]] = ()) -> RaysPlan | None:
    """Choose the start, the nodes' line and both rays for a relative error 2^-bits; None where none is found.

    others: larger eps, and how far log of their errors may exceed that of the first one.
    """
    half_lines = any(one.rest is not None for one in loss.revealed)
    if loss.direct or half_lines or not loss.laws:
        return None
    epsilons, excess = np.array([(epsilon, 0.0), *others]).T
    targets, fine = saddle.log_delta - (bits + 3) * math.log(2) + excess, _FINE if bits < _MANY_BITS else _FINER
    with np.errstate(all="ignore"):
        plans = (_plan_at(loss, saddle.tilt * share, height, fine, epsilons, targets, reaches)
                 for reaches in _REACHES for share, height in _TRIED)
        return next((plan for plan in plans if plan is not None), None)


def _rule(law: FloatLaw, c: float, want: float, share: float) -> NodeRule:
    """Nodes at this share of the strip's height, whose errors are below e^-want M(c)."""
    height = share * law.strip
    step = min(2 * math.pi * height / (want + float(law.strip_growth(c, 2 * height)) + 1), 1.9 * law.s)
    low, high = kept_window(law, c, law.cumulants(c)[0] - want, height)
    return node_rule(height, height, step, float(low), float(high))


def _tables(loss: FloatLoss, rules: Sequence[NodeRule], fine: float) -> list[RuleTable | SeveralTables]:
    rest = iter(rules[len(loss.parts):])
    found: list[RuleTable | SeveralTables] = [
        RuleTable(law, count, rule, fine) for (law, count), rule in zip(loss.parts, rules, strict=False)]
    return found + [SeveralTables([RuleTable(family.leader, one.count, next(rest), fine, float(share))
                                   for family, share in zip(one.families, one.log_shares, strict=True)], one.count)
                    for one in loss.revealed]


def _plan_at(loss: FloatLoss, c: float, share: float, fine: float, epsilons: np.ndarray, targets: np.ndarray,
             reaches: np.ndarray) -> RaysPlan | None:
    size = loss.cumulants(c)[0] + float((-c * epsilons - targets).max()) - math.log(c)
    want = size + math.log(4 * loss.count)
    rules = [_rule(law, c, want, share) for law, _ in loss.laws]
    if max(rule.last - rule.first for rule in rules) > _MOST_NODES:
        return None
    tables = _tables(loss, rules, fine)
    tried = tables[0].tried()
    sums = Sums(loss.mean_shift_squared, tables, [table.below(tried) for table in tables], epsilons, targets)
    chosen = _choose_cut(sums, c, reaches)
    if chosen is None:
        return None
    sums, low, up, far = chosen
    start = np.array([c + 0j])
    most = max(float(sums.logs(start, high)[0, 0]) for high in (False, True)) - 2 * math.log(c) + math.log(
        max(low.half, up.half)) + float(sums.gaussian(start, start.imag)[0])
    far += 1 + c
    extra = sum(math.log2(table.count) for table in tables) + math.log2(far) + max(len(low.levels), len(up.levels))
    extra = max(extra, math.log2(far * far * loss.mean_shift_squared + 1))
    return RaysPlan(c, sums, low, up, math.ceil(most / math.log(2) + extra + 4))


def _choose_cut(sums: Sums, c: float, reaches: np.ndarray) -> tuple[Sums, RayShape, RayShape, float] | None:
    """The cut and the slope with the shortest rays that can be cut into panels; both, and the longer one's length."""
    start = np.array([c + 0j])
    need = float(sums.logs(start, False).max() + sums.gaussian(start, start.imag)[0])
    scale = need / max(
        sums.epsilons[0] - sum(table.count * table.lowest for table in sums.tables), 1e-300)
    if sums.mean_shift_squared:
        scale = min(scale, math.sqrt(max(2 * need, 1.0) / sums.mean_shift_squared))
    tried = scale * reaches
    rays, up = _lengths(sums, c, _SLOPES, tried, False), _lengths(sums, c, _UP, tried, True)[0]
    total = rays + up
    cuts = total.argmin(axis=1)
    for slope in np.argsort(total.min(axis=1)):
        cut = int(cuts[slope])
        if not math.isfinite(total[slope, cut]):
            break
        one, length, high = sums.only(cut), float(rays[slope, cut]), float(up[cut])
        low = _cut_ray(one, c, float(_SLOPES[slope]), length, False)
        steep = None if low is None else _cut_ray(one, c, math.pi / 2, high, True)
        if low is not None and steep is not None:
            return one, low, steep, max(length, high)
    return None


def _lengths(sums: Sums, c: float, slopes: np.ndarray, tried: np.ndarray, high: bool) -> np.ndarray:
    """How far rays of some slopes, one row each, must go until the rest is negligible, for each cut."""
    z = c + np.multiply.outer(np.exp(1j * slopes), tried)
    logs = sums.logs(z.ravel(), high).reshape(*z.shape, -1)
    logs = logs + (sums.gaussian(z, z.imag) - math.log(2) - np.log(np.abs(z)))[..., None]
    first = (logs < 0).argmax(axis=1)
    before = np.maximum(first - 1, 0)
    above, below = (np.take_along_axis(logs, at[:, None], axis=1)[:, 0] for at in (before, first))
    shares = np.where(first > 0, np.clip(above / (above - below), 0, 1), 1)
    found = tried[before] * (tried[first] / tried[before]) ** shares
    return np.where((logs < 0).any(axis=1), 1.05 * found, np.inf)


def _cut_ray(sums: Sums, c: float, slope: float, length: float, high: bool) -> RayShape | None:
    """Levels of panels whose length doubles, as few as the errors of each allow."""
    check_time()
    turn = complex(math.cos(slope), math.sin(slope))
    start = np.array([c + 0j])
    need = float(sums.logs(start, high)[0, 0] + sums.gaussian(start, start.imag)[0])
    points = min(max(12, math.ceil(0.28 * need)), 128)
    tried = _FIRST * length / 2
    fits = _fits(sums, c, turn, tried[::_COARSE], high, points)
    most = int(np.flatnonzero(fits)[-1]) * _COARSE if fits.any() else 0
    tried = tried[max(most - _BACKINGS, 0):most + _COARSE]
    for half in tried[_fits(sums, c, turn, tried, high, points)][::-1][:_BACKINGS]:
        levels = _levels(sums, c, turn, length, high, points, float(half))
        if levels is not None:
            return RayShape(slope, float(half), points, levels)
    return None


def _fits(sums: Sums, c: float, turn: complex, halves: np.ndarray, high: bool, points: int) -> np.ndarray:
    """Whether a first panel of each half-length has so small an error that others may follow."""
    errors, _ = _errors(sums, c, turn, np.zeros(len(halves)), halves, np.ones(len(halves)), high, points)
    return errors < _ROOM


def _levels(sums: Sums, c: float, turn: complex, length: float, high: bool, points: int,
            half: float) -> list[tuple[int, float]] | None:
    """Panels and ellipses from a first half-length on: at every level the fewest after which panels may be doubled."""
    place, levels = 0.0, list[tuple[int, float]]()
    while len(levels) < _MOST_LEVELS:
        rest = max(1, math.ceil(min((length - place) / (2 * half), 1e15)))
        panels = np.append(_PANELS[rest > _PANELS], rest)
        ends = place + 2 * half * panels
        errors, ellipses = _errors(sums, c, turn, np.append(np.full(len(panels), place), ends),
                                   np.append(np.full(len(panels), half), np.full(len(panels), 2 * half)),
                                   np.append(panels, np.ones(len(panels))), high, points)
        fits, next_fits = np.split(errors < np.repeat([0, _ROOM], len(panels)), 2)
        good = np.flatnonzero(fits & (next_fits | (panels >= rest)))
        if not len(good) or panels[good[0]] > _MOST_PANELS:
            return None
        i = int(good[0])
        levels.append((int(panels[i]), float(ellipses[i])))
        if panels[i] >= rest:
            return levels
        place, half = float(ends[i]), 2 * half
    return None


def _errors(sums: Sums, c: float, turn: complex, places: np.ndarray, halves: np.ndarray, panels: np.ndarray, high: bool,
            points: int) -> tuple[np.ndarray, np.ndarray]:
    """log of the Gauss-Legendre errors of panels along a ray over those allowed, with the best ellipses."""
    rho = _ELLIPSES[None, :]
    along, across = halves[:, None] * ((rho + 1 / rho) / 2 - 1), halves[:, None] * (rho - 1 / rho) / 2
    near, far = places[:, None] - along, (places + 2 * halves * panels)[:, None] + along
    z = c + turn * np.stack([near - 1j * across, near + 1j * across, far - 1j * across, far + 1j * across], axis=-1)
    left, low = z.real.min(axis=-1), z.imag.min(axis=-1)
    nearest = np.maximum(left, low)
    kernel = np.log(nearest) + np.log(np.maximum(left + 1, low))
    logs = sums.logs(z.ravel(), high)[:, 0].reshape(z.shape) + sums.gaussian(z, np.maximum(low, 0)[..., None])
    logs = logs.max(axis=-1) - kernel
    errors = logs + np.log((halves * panels)[:, None] * 64 / 15 / (1 - rho**-2)) - 2 * points * np.log(rho)
    errors = np.where(nearest > 0, errors, np.inf) + math.log(8)
    best = np.nanargmin(np.where(np.isnan(errors), np.inf, errors), axis=1)
    return errors[np.arange(len(errors)), best], _ELLIPSES[best]


def choose_rays(plan: RaysPlan) -> RaysWitness:
    """Turn a plan into a witness."""
    rules, cuts = zip(*(found for table, numbers in zip(plan.sums.tables, plan.sums.numbers, strict=True)
                        for found in table.cuts(numbers[..., 0])), strict=True)
    return RaysWitness(dyadic(plan.tilt), rules, cuts, plan.low.ray(), plan.high.ray(), plan.prec)
