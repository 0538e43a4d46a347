"""delta of a composition by a lattice of this checker's own: no witness is asked (see `measures` and `discretise`).

The grid, the tilt, the windows and the bits are chosen by floating point, which can only make the answer wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from .atoms import AtomicLaw
from .balls import Ball, Unknown, ball, precision, smaller
from .discretise import enclose_step
from .losses import ComposedLoss
from .measures import Measure, coarsened, left_out, multiply, value_at
from .shifts import DiscreteGaussianLoss

MOST = 2**20
"""Places of a grid."""


def _log(x: Ball) -> float:
    """The logarithm of about a ball's middle, as a float."""
    if x.m <= 0:
        return -math.inf
    shift = max(x.m.bit_length() - 60, 0)
    return math.log(x.m >> shift) + (x.e + shift) * math.log(2)


def float_of(x: Ball) -> float:
    size = _log(Ball(abs(x.m), 0, x.e))
    return math.copysign(math.exp(min(size, 700.0)), x.m) if x.m else 0.0


@dataclass(frozen=True)
class Sketch:
    """Masses of a law in floating point: (loss, log of the mass) by rising losses; the span where it is finite."""

    points: tuple[tuple[float, float], ...]

    def log_moment(self, tilt: float) -> float:
        sizes = [size + tilt * x for x, size in self.points]
        top = max(sizes)
        return top + math.log(math.fsum(math.exp(size - top) for size in sizes))

    def spread(self, tilt: float) -> tuple[float, float]:
        """Mean and variance of the tilted law."""
        whole = self.log_moment(tilt)
        masses = [(x, math.exp(size + tilt * x - whole)) for x, size in self.points]
        mean = math.fsum(x * m for x, m in masses)
        return mean, math.fsum((x - mean) ** 2 * m for x, m in masses)


@lru_cache(maxsize=64)
def sketch(law: Any) -> Sketch:
    with precision(96):
        if isinstance(law, AtomicLaw):
            atoms = zip(law.finite_atoms(), law.losses(), strict=True)
            return Sketch(tuple(sorted((float_of(loss), _log(p)) for (p, _), loss in atoms)))
        least, most = law.smallest(), law.largest()
        low = -math.inf if least is None else float_of(ball(least))
        high = math.inf if most is None else float_of(ball(most))
        scales = [2.0 ** (n / 6) for n in range(-180, 80)]
        near = {x for s in scales for x in (s, -s, low + s, high - s)} | {0.0, low, high}
        points = sorted(x for x in near if low <= x <= high and math.isfinite(x))
        return Sketch(tuple(_masses(law, points)))


def _masses(law: Any, points: Sequence[float]) -> Iterator[tuple[float, float]]:
    """(middle, log of the mass) from each point to the next, as far as that is seen."""
    infinity = law.infinity()
    before, last = 1 - infinity, points[0]
    for x in points:
        try:
            above = law.tails(ball(Fraction(x)))[0] - infinity
        except ArithmeticError:
            continue
        mass = before - above
        if mass.m > 4 * mass.r:
            yield (last + x) / 2, _log(mass)
        elif not mass.radius().shifted(16) < before:
            continue  # at an atom
        before, last = above, x
        if not above.m > above.r:
            return
    if before.m > 4 * before.r:
        yield last, _log(before)


@dataclass(frozen=True)
class Plan:
    """tilt, and the spread of the tilted composition."""

    tilt: Fraction
    deviation: float


def plan_of(loss: ComposedLoss, epsilon: Fraction) -> Plan:
    parts = [(sketch(law), count) for law, count in loss.laws]
    eps = float(epsilon)

    def bound(c: float) -> float:
        """log C(c) M(c) e^{-c eps}."""
        return (math.fsum(k * s.log_moment(c) for s, k in parts) - c * eps
                + (c * math.log(c) if c else 0) - (1 + c) * math.log1p(c))

    low, high = 0.0, 1.0
    while bound(2 * high) < bound(high) and high < 1e9:
        high *= 2
    high *= 2
    for _ in range(80):
        a, b = low + (high - low) * 0.382, low + (high - low) * 0.618
        low, high = (low, b) if bound(a) < bound(b) else (a, high)
    c = (low + high) / 2
    digits = max(2, 10 - math.frexp(c)[1]) if c else 2
    tilt = Fraction(round(c * 2**digits), 2**digits)
    variance = math.fsum(k * s.spread(float(tilt))[1] for s, k in parts)
    return Plan(tilt, math.sqrt(variance))


@dataclass(frozen=True)
class Lattice:
    """What one run found: both measures composed; the places that were lost are counted in `above`."""

    tilt: Fraction
    above: Measure
    below: Measure
    infinity: Ball
    prec: int

    def enclose(self, epsilon: Fraction) -> tuple[Ball, Ball]:
        with precision(self.prec):
            low = self.infinity + value_at(self.below, epsilon, self.tilt)
            high = self.infinity + value_at(self.above, epsilon, self.tilt) + left_out(self.above, epsilon, self.tilt)
            return low.lower(), smaller(high.upper(), 1)


def _power_of_two(x: float) -> int:
    return math.floor(math.log2(x))


def run(loss: ComposedLoss, plan: Plan, fineness: float) -> Lattice:
    """Places `deviation/fineness` apart in the end."""
    tilt, h = plan.tilt, Fraction(plan.deviation / fineness)
    laws = loss.laws
    steps: dict[int, tuple[Fraction, Fraction]] = {}
    unit: Fraction | None = None
    order = sorted(range(len(laws)), key=lambda n: -_stiffness(laws[n][0]))
    for n in order:
        law, count = laws[n]
        wanted = float(h) / math.sqrt(count)
        if unit is None:
            step, offset = grid_of(law, count, wanted, float(h))
            unit = step
        else:
            step = unit * Fraction(2) ** _power_of_two(wanted / float(unit) * 1.42)
            offset = offset_of(law, step)
        steps[n] = step, offset
    noise = 2 * math.log2(fineness) + 10
    prec = int(noise) + 64 + max(count for _, count in laws).bit_length() + 2 * int(math.log2(fineness) + 1) + 40
    above, below = list[Measure](), list[Measure]()
    with precision(prec):
        for n, (law, count) in enumerate(laws):
            step, offset = steps[n]
            room = int(noise) + count.bit_length()
            vertices = vertices_of(law, float(tilt), step, offset, room, fineness)
            sides = enclose_step(law, vertices, offset, step, tilt, room + len(vertices).bit_length() + 12)
            for up, side, found in ((True, sides[0], above), (False, sides[1], below)):
                found.append(_power(side, count, tilt, float(h), noise, up))
        whole = []
        for up, found in ((True, above), (False, below)):
            top = max(one.step for one in found)
            leveled = [_leveled(one, top, tilt, up) for one in found]
            result = leveled[0]
            for one in leveled[1:]:
                result = multiply(result, one, int(noise) + 4, int(noise) + 32)
            whole.append(result)
        return Lattice(tilt, whole[0], whole[1], loss.infinity(), prec)


def _leveled(measure: Measure, step: Fraction, tilt: Fraction, up: bool) -> Measure:
    while measure.step < step:
        measure = coarsened(measure, tilt, up=up)
    return measure


def _power(base: Measure, count: int, tilt: Fraction, h: float, noise: float, up: bool) -> Measure:
    """base^count, on a grid that grows with the deviation."""
    found, power = base, 1
    for digit in bin(count)[3:]:
        for factor, more in ((found, power), *(((base, 1),) if digit == "1" else ())):
            left = math.log2(count / power)
            room = int(noise + left) + 2
            if factor is base:
                base = factor = _leveled(base, found.step, tilt, up)
            found = multiply(found, factor, room, room + 24)
            power += more
        while float(found.step) * 2 <= h * math.sqrt(power / count):
            found = coarsened(found, tilt, up=up)
        if len(found.weights) > MOST:
            raise Unknown("very many places")
    return found


def _stiffness(law: Any) -> int:
    """Laws whose atoms ask for a grid of their own come first."""
    if isinstance(law, AtomicLaw | DiscreteGaussianLoss):
        return 2
    return 1 if law.largest() is not None else 0


def _near(x: Ball | Fraction, step: Fraction) -> Fraction:
    """A number a little below x."""
    low = x.lower().middle() if isinstance(x, Ball) else x
    grain = Fraction(2) ** (_power_of_two(float(step)) - 50)
    return (low // grain - 1) * grain


def offset_of(law: Any, step: Fraction) -> Fraction:
    """So that the largest loss lies a little right of a place, or the smallest: there nearly all of it may be."""
    with precision(160):
        if isinstance(law, DiscreteGaussianLoss):
            return _near(law._loss(0), step) % step
        end = law.smallest() if law.largest() is None else law.largest()
        return Fraction(0) if end is None else _near(end, step) % step


def grid_of(law: Any, count: int, wanted: float, most: float) -> tuple[Fraction, Fraction]:
    """(step, offset): on the losses of atoms, or on both ends, where there are such."""
    with precision(200):
        if isinstance(law, DiscreteGaussianLoss):
            unit = Fraction(law.sensitivity) / law.sigma_squared
            return _multiple(unit, most), offset_of(law, unit)
        if isinstance(law, AtomicLaw) and (known := law.lattice()) is not None:
            one, indices = known
            size = one * (math.gcd(*(i - indices[0] for i in indices)) or 1)
            unit = _rational(size) if size.r else size.middle()
            return _multiple(unit, most), offset_of(law, unit)
        ends = law.smallest(), law.largest()
        if None in ends:
            return Fraction(wanted), offset_of(law, Fraction(wanted))
        span = ball(ends[1]) - ends[0]
        if not span > 0:
            return Fraction(wanted), offset_of(law, Fraction(wanted))
        even = 1 << count.bit_length() // 2  # what the atoms of a few steps lie on stays on coarser grids
        cells = max(math.ceil(float_of(span) / wanted / even), 1) * even
        if isinstance(law, AtomicLaw) and len(law.finite_atoms()) > 2:
            losses = [float_of(x - ends[0]) / float_of(span) for x in law.losses()]
            tried = range(cells, 2 * cells + 8 * even if cells < 5000 else cells + 1, even)
            cells = min(tried, key=lambda n: sum((x * n + 1e-9) % 1 for x in losses))
        step = _rational(span / cells)
        return step, offset_of(law, step)


def _rational(x: Ball) -> Fraction:
    """A number a little below it, of few digits."""
    grain = Fraction(2) ** (x.top() - 100)
    return x.lower().middle() // grain * grain


def _multiple(unit: Fraction, most: float) -> Fraction:
    """The unit, or the first of its halves that is fine enough."""
    return unit / Fraction(2) ** max(math.ceil(math.log2(float(unit) / most)), 0)


def vertices_of(law: Any, tilt: float, step: Fraction, offset: Fraction, room: int, fineness: float) -> list[int]:
    """Places: each one where nearly all of the tilted mass is, further apart where there is little."""
    points, h, start = sketch(law).points, float(step), float(offset)
    whole = sketch(law).log_moment(tilt)
    sizes = [(x, size + tilt * x - whole) for x, size in points]
    least = -room * math.log(2) - 4
    inside = [x for x, size in sizes if size > least]
    end = law.largest()
    first = math.floor((min(inside) * (1.2 if min(inside) < 0 else .8) - start) / h) - 2
    last = math.ceil((max(inside) * (1.2 if max(inside) > 0 else .8) - start) / h) + 2
    with precision(160):
        if end is not None:
            top = -((offset - ball(end).upper().middle()) // step)
            last = min(last, int(top)) if not isinstance(law, AtomicLaw) else int(top)
        low = law.smallest()
        if low is not None:
            first = max(first, int((ball(low).lower().middle() - offset) // step))
    # what lies beyond x on the far side, tilted
    right, total = [], 0.0
    for x, size in reversed(sizes):
        total += math.exp(size)
        right.append((x, total))
    right.reverse()
    left, total = [], 0.0
    for x, size in sizes:
        total += math.exp(size)
        left.append((x, total))
    middle, widest = sketch(law).spread(tilt)[0], min(1 / ((tilt + 1) * h), 1024.0)
    if isinstance(law, AtomicLaw | DiscreteGaussianLoss):
        if last - first > MOST:
            raise Unknown("very many places")
        return list(range(first, last + 1))
    found = [max(min(round((middle - start) / h), last), first)]
    for direction, limit, table in ((1, last, right), (-1, first, left)):
        i, stride, row = found[-1 if direction > 0 else 0], 1, []
        entries = iter(table if direction > 0 else reversed(table))
        x, size = next(entries)
        while i != limit:
            at = start + i * h
            while direction * (x - at) < 0:
                following = next(entries, None)
                if following is None:
                    break
                x, size = following
            while size * 4 * stride * stride < 1 / 64 and 2 * stride <= widest:
                stride *= 2
            i = min(i + stride, limit) if direction > 0 else max(i - stride, limit)
            row.append(i)
            if len(row) > MOST:
                raise Unknown("very many places")
        found = found + row if direction > 0 else row[::-1] + found
    if len(found) < 2:
        found = [found[0] - 1, *found]
    return found
