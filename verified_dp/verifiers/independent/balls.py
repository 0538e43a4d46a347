"""Ball arithmetic on Python's integers: (m +- r) 2^e with integers m, r >= 0, e, and elementary functions.

A result holds every value that the operation takes on points of its arguments. Sums, products, quotients and square
roots are integer arithmetic, and proved by it. For exp, log, cos, sin and atan2 of a point mpmath's values are used;
what is assumed of them is an error of at most 2^-_EXTRA relative to the asked precision, far more than their makers
state; it is the only assumption. An operation that knows nothing raises Unknown. `a < b` is True where it is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from time import monotonic
from typing import Any, TypeVar

from mpmath import libmp

_EXTRA = 12
_RADIUS_BITS = 40
_state = [64]


class Unknown(ArithmeticError):
    """Nothing is known of a result: a division by a ball that holds 0, the logarithm of one."""


class Gigantic(Unknown):
    """A number beyond those that this arithmetic computes with: it says nothing against a witness."""


class OutOfTime(Exception):
    """More seconds went by than were allowed."""


_deadline: list[float] = []


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """OutOfTime inside, some time after so many seconds, or when a limit around this one is reached."""
    before = list(_deadline)
    _deadline[:] = sorted([*before, *([] if seconds is None else [monotonic() + seconds])])[:1]
    try:
        yield
    finally:
        _deadline[:] = before


def tick() -> None:
    if _deadline and monotonic() > _deadline[0]:
        raise OutOfTime("out of time")


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Round to this many bits inside."""
    before, _state[0] = _state[0], bits
    try:
        yield
    finally:
        _state[0] = before


def bits() -> int:
    return _state[0]


Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")


def remembered(method: Callable[[Key], Found]) -> Callable[[Key], Found]:
    """What a method finds at a precision, found once; nobody changes it."""
    known = lru_cache(maxsize=64)(lambda law, prec: method(law))
    return lambda law: known(law, _state[0])


class Ball:
    """All numbers from (m - r) 2^e to (m + r) 2^e."""

    __slots__ = ("e", "m", "r")

    def __init__(self, m: int, r: int = 0, e: int = 0) -> None:
        excess = m.bit_length() - _state[0]
        if r:
            wide = r.bit_length() - _RADIUS_BITS
            if wide > excess:
                excess = wide
            if excess > 0:
                m, r, e = m >> excess, (r >> excess) + 2, e + excess
        elif excess > 0:
            if m & ((1 << excess) - 1):
                r = 2
            m, e = m >> excess, e + excess
        self.m, self.r, self.e = m, r, e

    def __repr__(self) -> str:
        return f"Ball({self.m}, {self.r}, {self.e})"

    def top(self) -> int:
        """A t with |x| < 2^t for all points x."""
        return (abs(self.m) + self.r).bit_length() + self.e

    def is_zero(self) -> bool:
        return not self.m and not self.r

    def lower(self) -> Ball:
        return _exactly(self.m - self.r, self.e)

    def upper(self) -> Ball:
        return _exactly(self.m + self.r, self.e)

    def radius(self) -> Ball:
        return _exactly(self.r, self.e)

    def magnitude(self) -> Ball:
        """The largest |x|, exactly."""
        return _exactly(abs(self.m) + self.r, self.e)

    def mignitude(self) -> Ball:
        """The least |x|, exactly."""
        return _exactly(max(abs(self.m) - self.r, 0), self.e)

    def __neg__(self) -> Ball:
        return _raw(-self.m, self.r, self.e)

    def __add__(self, other: Number) -> Ball:
        a, b = self, other if type(other) is Ball else ball(other)
        shift = a.e - b.e
        if shift < 0:
            a, b, shift = b, a, -shift
        if shift <= 4 * _state[0] + 256:
            return Ball((a.m << shift) + b.m, (a.r << shift) + b.r, b.e)
        if not a.m and not a.r:
            return b
        if not b.m and not b.r:
            return a
        unit = min(a.e, a.top() - _state[0] - 64)
        return Ball((a.m << a.e - unit) + (b.m >> unit - b.e), (a.r << a.e - unit) + (b.r >> unit - b.e) + 2, unit)

    def __mul__(self, other: Number) -> Ball:
        b = other if type(other) is Ball else ball(other)
        if self.r or b.r:
            return Ball(self.m * b.m, abs(self.m) * b.r + self.r * (abs(b.m) + b.r), self.e + b.e)
        return Ball(self.m * b.m, 0, self.e + b.e)

    def __truediv__(self, other: Number) -> Ball:
        b = other if type(other) is Ball else ball(other)
        size = abs(b.m) - b.r
        if size <= 0:
            raise Unknown("division by what may be 0")
        if not self.m and not self.r:
            return self
        shift = max(0, _state[0] + 8 + b.m.bit_length() - self.m.bit_length())
        quotient, rest = divmod(self.m << shift, b.m)
        if not (rest or self.r or b.r):
            return Ball(quotient, 0, self.e - b.e - shift)
        radius = ((self.r << shift) + (abs(quotient) + 1) * b.r) // size + 3
        return Ball(quotient, radius, self.e - b.e - shift)

    def __sub__(self, other: Number) -> Ball:
        return self + -ball(other)

    def __radd__(self, other: Number) -> Ball:
        return self + other

    def __rmul__(self, other: Number) -> Ball:
        return self * other

    def __rsub__(self, other: Number) -> Ball:
        return ball(other) - self

    def __rtruediv__(self, other: Number) -> Ball:
        return ball(other) / self

    def __lt__(self, other: Number) -> bool:
        d = self - other
        return d.m + d.r < 0

    def __le__(self, other: Number) -> bool:
        d = self - other
        return d.m + d.r <= 0

    def __gt__(self, other: Number) -> bool:
        d = self - other
        return d.m > d.r

    def __ge__(self, other: Number) -> bool:
        d = self - other
        return d.m >= d.r

    def middle(self) -> Fraction:
        return Fraction(self.m) * Fraction(2) ** self.e

    def shifted(self, n: int) -> Ball:
        """The ball times 2^n."""
        return _raw(self.m, self.r, self.e + n)

    def scaled(self, places: int) -> tuple[int, int]:
        """Integers n, d with |x 2^places - n| <= d for all points x."""
        shift = self.e + places
        if shift >= 0:
            return self.m << shift, self.r << shift
        return self.m >> -shift, (self.r >> -shift) + 2


Number = Ball | Fraction | int


def _raw(m: int, r: int, e: int) -> Ball:
    made = object.__new__(Ball)
    made.m, made.r, made.e = m, r, e
    return made


def _exactly(m: int, e: int) -> Ball:
    return _raw(m, 0, e)


def ball(value: Number) -> Ball:
    """Enclose an exact number; a ball is left as it is."""
    if isinstance(value, Ball):
        return value
    if isinstance(value, int):
        return Ball(value)
    top, bottom = value.numerator, value.denominator
    if not bottom & (bottom - 1):
        return Ball(top, 0, 1 - bottom.bit_length())
    shift = max(0, _state[0] + 4 + bottom.bit_length() - top.bit_length())
    return Ball((top << shift) // bottom, 1, -shift)


def between(low: Number, high: Number) -> Ball:
    """Everything from the lower end of one to the upper end of the other."""
    a, b = ball(low).lower(), ball(high).upper()
    middle = (a + b).shifted(-1)
    return middle + plus_minus(largest([b - middle, middle - a]))


def plus_minus(size: Ball) -> Ball:
    """Everything of absolute value at most that of a point of `size`."""
    return Ball(0, abs(size.m) + size.r, size.e)


def larger(a: Number, b: Number) -> Ball:
    """Enclose the larger of two numbers."""
    a, b = ball(a), ball(b)
    if a >= b:
        return a
    if b >= a:
        return b
    low = a.lower() if a.lower() >= b.lower() else b.lower()
    return between(low, a.upper() if a.upper() >= b.upper() else b.upper())


def smaller(a: Number, b: Number) -> Ball:
    """Enclose the smaller of two numbers."""
    return -larger(-ball(a), -ball(b))


def largest(values: Iterable[Ball]) -> Ball:
    """An upper bound of all points of all balls, at least one, as an exact ball."""
    found: Ball | None = None
    for value in values:
        end = value.upper()
        found = end if found is None or end > found else found
    if found is None:
        raise Unknown("nothing to compare")
    return found


def floor(x: Ball) -> int:
    """Of the lower end."""
    return x.m - x.r << x.e if x.e >= 0 else x.m - x.r >> -x.e


def total(values: Iterable[Ball]) -> Ball:
    return sum(values, Ball(0))


# ---------- elementary functions ----------


def _point(x: Ball) -> Any:
    return libmp.from_man_exp(x.m, x.e)


def _from_point(value: Any, wanted: int) -> Ball:
    """The ball around mpmath's value of relative error 2^(_EXTRA - wanted)."""
    sign, mantissa, exponent, size = value
    if not mantissa:
        if exponent:
            raise Unknown("infinite")
        return Ball(0)
    padding = max(wanted - int(size), 0)
    whole = int(mantissa) << padding
    return Ball(-whole if sign else whole, (whole >> wanted - _EXTRA) + 1, int(exponent) - padding)


def exp(x: Number) -> Ball:
    x = ball(x)
    tick()
    if x.is_zero():
        return Ball(1)
    if x.top() > 40:
        raise Gigantic("the exponential of a gigantic number")
    if x.r and x.r.bit_length() + x.e > -12:
        return between(exp(x.lower()), exp(x.upper()))
    wanted = _state[0] + _EXTRA + 4
    value = _from_point(libmp.mpf_exp(_point(x), wanted), wanted)
    return value if not x.r else value + plus_minus(value * x.radius() * 2)  # |e^r - 1| <= 2 |r|, |r| <= 1


def log(x: Number) -> Ball:
    x = ball(x)
    if x.m <= x.r:
        raise Unknown("the logarithm of what may not be positive")
    wanted = _state[0] + _EXTRA + 4
    value = _from_point(libmp.mpf_log(_point(x), wanted), wanted)
    return value if not x.r else value + plus_minus(x.radius() / x.lower())


def expm1(x: Number) -> Ball:
    return _small(ball(x), lambda x: exp(x) - 1)


def log1p(x: Number) -> Ball:
    return _small(ball(x), lambda x: log(x + 1))


def _small(x: Ball, function: Callable[[Ball], Ball]) -> Ball:
    """e^x - 1 or log(1 + x), with the bits more that 1 + x needs to keep those of x; x +- x^2 where |x| is tiny."""
    if x.is_zero() or -x.top() > _state[0] + 8:
        return x + plus_minus(x * x)
    with precision(_state[0] + max(-x.top(), 0) + 8):
        value = function(x)
    return value + 0


def sqrt(x: Number) -> Ball:
    """The square root of a number that is >= 0 (points below 0 are not meant)."""
    x = ball(x)
    if x.m + x.r < 0:
        raise Unknown("the square root of a negative number")
    shift = max(0, 2 * _state[0] + 8 - x.m.bit_length())
    shift += (x.e - shift) % 2
    low, high = max(x.m - x.r, 0) << shift, (x.m + x.r) << shift
    below, above = isqrt(low), isqrt(high)
    above += above * above < high
    return Ball(below + above, above - below, (x.e - shift) // 2 - 1) if above > below else Ball(
        above, 0, (x.e - shift) // 2)


def cos_sin(x: Number) -> tuple[Ball, Ball]:
    """Both are 1-Lipschitz."""
    x = ball(x)
    if x.top() > 60:
        raise Gigantic("the cosine of a gigantic number")
    wanted = _state[0] + _EXTRA + 4
    room = Ball(0, 1, _EXTRA - wanted) + plus_minus(x.radius())
    cosine, sine = (_from_point(value, wanted) + room for value in libmp.mpf_cos_sin(_point(x), wanted))
    return cosine, sine


def argument(x: Ball, y: Ball) -> Ball:
    """The principal argument of x + iy, away from 0 and from the negative real axis; its gradient is 1/|x + iy|."""
    if x.m <= x.r and y.mignitude().is_zero():
        raise Unknown("the argument of what may be negative or 0")
    wanted = _state[0] + _EXTRA + 4
    value = _from_point(libmp.mpf_atan2(_point(y), _point(x), wanted), wanted)
    if not (x.r or y.r):
        return value
    size = sqrt(x.mignitude() * x.mignitude() + y.mignitude() * y.mignitude()).lower()
    return value + plus_minus((x.radius() + y.radius()) / size)


_pi: dict[int, Ball] = {}


def pi() -> Ball:
    if _state[0] not in _pi:
        wanted = _state[0] + _EXTRA + 4
        _pi[_state[0]] = _from_point(libmp.mpf_pi(wanted), wanted)
    return _pi[_state[0]]


def power(x: Ball, n: int) -> Ball:
    """x^n for an integer n >= 0; x >= 0 where n is large."""
    result, square = Ball(1), x
    while n:
        if n & 1:
            result = result * square
        n >>= 1
        if n:
            square = square * square
    return result


def real_power(x: Ball, p: Number) -> Ball:
    """x^p for x > 0."""
    return exp(log(x) * p)


def sinh(x: Ball) -> Ball:
    grown = expm1(x)
    return (grown + grown / (grown + 1)).shifted(-1)


# ---------- the normal law ----------

_SERIES_UNTIL = 6


def normal_tail(x: Number) -> Ball:
    """Enclose Q(x) = P(Z > x) with relative accuracy; Q falls with slope -phi, phi(x + r) <= phi(x) e^{|x r|}."""
    x = ball(x)
    if x.r and x.top() > 40:
        raise Gigantic("a normal tail of a gigantic number")
    if x.r and x.r.bit_length() + x.e > -1:
        return between(normal_tail(x.upper()), normal_tail(x.lower()))
    point = _exactly(abs(x.m), x.e)
    value, density = _tail_at(point)
    if x.m < 0:
        value = 1 - value
    if not x.r:
        return value
    growth = x.magnitude() * x.radius()
    return value + plus_minus(density * (2 if growth <= Ball(1, 0, -1) else exp(growth)) * x.radius())


def _tail_at(x: Ball) -> tuple[Ball, Ball]:
    """(Q, phi) at an exact x >= 0; far out, where e^{-x^2/2} is not computed, both are at most e^{-2^39}."""
    if x >= 3 << 19:
        return (between(0, exp(Ball(-1, 0, 39))),) * 2
    if x >= _SERIES_UNTIL:
        density = exp(-(x * x) / 2) / sqrt(2 * pi())
        return density / _continued_fraction(x), density
    with precision(_state[0] + 40):
        density = exp(-(x * x) / 2) / sqrt(2 * pi())
        value = Ball(1, 0, -1) - density * _series(x)
    return value + 0, density + 0


def _series(x: Ball) -> Ball:
    """x + x^3/3 + x^5/(3*5) + ...: all terms >= 0; from a ratio below 1/2 on the rest is at most the last term.

    Once with every number rounded down, once up.
    """
    places = _state[0] + 8
    (start, room), (square, wide) = x.scaled(places), (x * x).scaled(places)
    low, high, small, large = start - room, start + room, square - wide, square + wide
    below, above, n = low, high, 1
    while high > 1 or 2 * large >= 2 * n + 1 << places:
        divisor = 2 * n + 1 << places
        low, high, n = low * small // divisor, -(-high * large // divisor), n + 1
        below, above = below + low, above + high
    above += high
    return Ball(below + above, above - below + 1, -places - 1)


def _continued_fraction(x: Ball) -> Ball:
    """y_0 with Q = phi / y_0: y_n = x + (n+1)/y_{n+1}, and x <= y_n <= x + (n+1)/x (partial integration).

    From a start at a large n intervals lead down to y_0.
    """
    places = _state[0] + 8
    base, room = x.scaled(places)
    depth = 16 + 18 * _state[0] ** 2 // max((base >> places - 8) ** 2 >> 8, 1)
    while depth < 1 << 20:
        low, high = base - room, base + room - (-(depth + 1 << 2 * places) // (base - room))
        for n in range(depth << 2 * places, 0, -1 << 2 * places):
            low, high = base - room + n // high, base + room - (-n // low)
        if (high - low).bit_length() < 24:
            return Ball(low + high, high - low + 1, -places - 1)
        depth *= 2
    raise Unknown("a normal tail at a very high precision")


# ---------- complex numbers ----------

Complex = tuple[Ball, Ball]


def times(a: Complex, b: Complex) -> Complex:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def plus(a: Complex, b: Complex) -> Complex:
    return a[0] + b[0], a[1] + b[1]


def scaled_by(a: Complex, factor: Number) -> Complex:
    return a[0] * factor, a[1] * factor


def inverse(a: Complex) -> Complex:
    """1/a; of a wide box that of the middle m, up to |1/z - 1/m| = |z - m|/(|z| |m|)."""
    (x, y), wide = a, max(part.r.bit_length() + part.e for part in a)
    if wide < max(part.m.bit_length() + part.e for part in a) - 40:
        size = x * x + y * y
        return x / size, -y / size
    middle = Ball(x.m, 0, x.e), Ball(y.m, 0, y.e)
    size = middle[0] * middle[0] + middle[1] * middle[1]
    low = sqrt(x.mignitude() * x.mignitude() + y.mignitude() * y.mignitude()).lower()
    room = plus_minus(sqrt(x.radius() * x.radius() + y.radius() * y.radius()) / (low * sqrt(size)))
    return middle[0] / size + room, -middle[1] / size + room


def modulus(a: Complex) -> Ball:
    """An enclosure of |a|, from squares of ends, so that it is narrow also around 0."""
    low = a[0].mignitude(), a[1].mignitude()
    high = a[0].magnitude(), a[1].magnitude()
    return between(sqrt(low[0] * low[0] + low[1] * low[1]).lower(), sqrt(high[0] * high[0] + high[1] * high[1]).upper())


def complex_exp(a: Complex) -> Complex:
    size, (cosine, sine) = exp(a[0]), cos_sin(a[1])
    return size * cosine, size * sine


def complex_log(a: Complex) -> Complex:
    size = a[0] * a[0] + a[1] * a[1]
    return log(size).shifted(-1) if size.m > 2 * size.r else log(modulus(a)), argument(*a)


def complex_power(a: Complex, count: int) -> Complex:
    """a^k = e^{k log a}, the branch cut turned away; a disc where a is not clearly away from 0."""
    size = modulus(a)
    high, low = size.upper(), size.lower()
    if not (high - low) * count < high:
        room = plus_minus(exp(log(high) * count)) if high > 0 else Ball(0)
        return room, room
    turned = a[0].m < 0
    base = (-a[0], -a[1]) if turned else a
    found = complex_exp(scaled_by(complex_log(base), count))
    return (-found[0], -found[1]) if turned and count % 2 else found


# ---------- many products at once ----------

Row = Sequence[tuple[int, int, int, int]]
"""Numbers (re + i im) 2^e, each with an error of at most `error` 2^e."""


class Table:
    """A matrix of complex numbers: entry (re + i im) 2^-places up to `error` 2^-places, the same for all entries."""

    def __init__(self, rows: Sequence[Row], places: int) -> None:
        self.places, self.error = places, 0
        self.re: list[list[int]] = []
        self.im: list[list[int]] = []
        for row in rows:
            first, second = [], []
            for re, im, e, error in row:
                shift = e + places
                if shift >= 0:
                    first.append(re << shift)
                    second.append(im << shift)
                    error <<= shift
                else:
                    first.append(re >> -shift)
                    second.append(im >> -shift)
                    error = (error >> -shift) + 3
                if error > self.error:
                    self.error = error
            self.re.append(first)
            self.im.append(second)


def products(left: Table, right: Table) -> Iterator[Complex]:
    """All sums over j of left[i][j] right[p][j], row by row of the left table."""
    columns = [([b - a for a, b in zip(re, im, strict=True)], re, [a + b for a, b in zip(re, im, strict=True)],
                sum(map(abs, re)) + sum(map(abs, im))) for re, im in zip(right.re, right.im, strict=True)]
    places = left.places + right.places
    for re, im in zip(left.re, left.im, strict=True):
        tick()
        size, both = sum(map(abs, re)) + sum(map(abs, im)), [a + b for a, b in zip(re, im, strict=True)]
        for less, real, more, other in columns:
            first = _dot(both, real)
            error = size * right.error + other * left.error + len(re) * left.error * right.error
            yield Ball(first - _dot(im, more), error, -places), Ball(first + _dot(re, less), error, -places)


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(map(int.__mul__, a, b))


def entry(z: Complex) -> tuple[int, int, int, int]:
    """A complex ball as an entry of a row, with one exponent for both parts."""
    a, b = z
    places = max(a.top(), b.top()) - _state[0] - 4
    (re, r), (im, s) = a.scaled(-places), b.scaled(-places)
    return re, im, places, r + s


def powers(base: Complex, count: int) -> Row:
    """base^0, ..., base^(count-1), each from two of about half its exponent.

    Every product is cut to `bits` bits: base^n is right up to n times the relative error of base and n - 1 times that
    of cutting, 3 2^-bits; together at most twice their sum of what is found, while that is below 2^-8.
    """
    bits = _state[0]
    re, im, e, error = entry(base)
    relative = (error << bits) // max(abs(re), abs(im), 1) + 4  # in units of 2^-bits
    if 2 * count * relative >> bits - 8:
        raise Unknown("powers of a number that is hardly known")
    table = [(1 << bits, 0, -bits, 0), (re, im, e, error)][:count]
    for n in range(2, count):
        (a, b, f, _), (c, d, g, _) = table[n // 2], table[n - n // 2]
        re, im, e = a * c - b * d, a * d + b * c, f + g
        excess = max(abs(re), abs(im)).bit_length() - bits
        if excess > 0:
            re, im, e = re >> excess, im >> excess, e + excess
        table.append((re, im, e, 0))
    return [(a, b, f, old if n < 2 else ((abs(a) + abs(b)) * 2 * n * relative >> bits) + 1)
            for n, (a, b, f, old) in enumerate(table)]


def row_times(row: Row, factor: tuple[int, int, int, int]) -> Row:
    """Every entry times one."""
    c, d, g, other = factor
    size = abs(c) + abs(d) + other
    return [(a * c - b * d, a * d + b * c, f + g, error * size + (abs(a) + abs(b)) * other) for a, b, f, error in row]


def turn_sums(weights: Sequence[Complex], turns: Sequence[Complex], count: int) -> list[Complex]:
    """Enclose sum_j weight_j turn_j^m for m = 0..count, |turn_j| <= 1: baby and giant steps, one matrix product."""
    babies = max(2, isqrt(count) + 1)
    giants, places = -(-(count + 1) // babies), _state[0]
    baby, giant = [], []
    for weight, turn in zip(weights, turns, strict=True):
        *row, (re, im, e, error) = powers(turn, babies + 1)
        baby.append(row)
        leap = Ball(re, error, e), Ball(im, error, e)
        giant.append(row_times(powers(leap, giants), entry(weight)))
    top = max((max(abs(re), abs(im)).bit_length() + 1 + e for row in giant for re, im, e, _ in row), default=0)
    left, right = (Table(list(zip(*rows, strict=True)), at) for rows, at in ((giant, places - top), (baby, places)))
    return list(products(left, right))[: count + 1]
