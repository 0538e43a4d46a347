"""Many steps of one law with three finite losses: for each number of steps with one of the larger two, a sum (T135).

G(n) = sum over m >= t of comb(n, m) p^m p'^(n-m); G(n+1) = (p+p') G(n) + p (its term at m = t-1); t falls as n grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from .atoms import AtomicLaw
from .balls import Ball, Unknown, ball, between, bits, exp, expm1, log, precision, tick, total
from .document import TooMuch
from .laws import log_factorial
from .losses import ComposedLoss

MAX_BITS = 2**29
"""Steps that are followed times bits of each: some minutes."""


def is_trinomial(loss: ComposedLoss) -> bool:
    """One law with three finite losses, alone."""
    law, count = loss.parts[0]
    alone = len(loss.parts) == 1 and not loss.mean_shift_squared
    return alone and isinstance(law, AtomicLaw) and count <= 10**8 and len(law.finite_atoms()) == 3


def enclose_trinomial(loss: ComposedLoss, epsilon: Fraction) -> Ball:
    """P(S = inf) + P(E) - e^eps Q(E) + what is wrong or left out; E holds what exceeds eps, in units of 2^-scale."""
    (law, k), = loss.parts
    scale = bits() + k.bit_length() + 8
    with precision(bits() + 2 * k.bit_length() + 40):
        rows = [(_units(place, scale), p, q) for place, (p, q) in zip(law.losses(), law.finite_atoms(), strict=True)]
        rows.sort(key=lambda row: -row[0])
        units = [row[0] for row in rows]
        if not units[0] > units[1] > units[2]:
            raise Unknown("losses that are not told apart")
        whole = total(p for _, p, _ in rows)
        reach = isqrt(k * bits() // 2) + 3
        if min(reach, k) * bits() > MAX_BITS:
            raise TooMuch("takes more work or memory than this checker spends")
        large, small = (_units(row[1] * k / whole, 0) for row in (rows[0], rows[2]))
        target = epsilon * 2**scale // 1
        path = []
        for n in range(max(k - small - reach, 0), min(k - small + reach, k) + 1):
            above = target - n * units[1] - (k - n) * units[2]
            t = max(above // (units[0] - units[1]) + 1, large - reach, 0)
            if t <= min(n, large + reach):
                path.append((n, t))
        p_mass, q_mass = (_follow(masses, k, path) for masses in ([p for _, p, _ in rows], [q for _, _, q in rows]))
        wrong = expm1(Ball(2 * k + 2).shifted(-scale))
        lost = Ball(0) if reach >= k else 4 * exp(ball(-2 * (reach - 2) ** 2) / k)
        return loss.infinity() + p_mass - exp(epsilon) * q_mass + between(0, (wrong + lost).upper())


def _units(x: Ball, scale: int) -> int:
    """An integer at most 2 below x 2^scale."""
    if not x.radius().shifted(scale + 1) <= 1:
        raise Unknown("a number known to too few bits")
    return x.lower().shifted(scale).scaled(0)[0]


def _follow(masses: Sequence[Ball], k: int, path: Sequence[tuple[int, int]]) -> Ball:
    """The sum over n of comb(k, n) p''^(k-n) G(n), along (n, t)."""
    if not path:
        return Ball(0)
    p, other, rest = masses
    n, t = path[0]
    size, both, found = _start(p, other, n, t), p + other, Ball(0)
    term = _term(n, t - 1, p, other) if t else Ball(0)
    ways = exp(log_factorial(k) - log_factorial(n) - log_factorial(k - n) + log(rest) * (k - n))
    for new, least in path:
        tick()
        if new > n:
            size, term = both * size + p * term, term * other * (n + 1) / (n + 2 - t)
            ways, n = ways * (k - n) / (rest * (n + 1)), new
        while t > least:
            size, term, t = size + term, term * other * (t - 1) / (p * (n - t + 2)), t - 1
        found = found + ways * size
    return found


def _term(n: int, m: int, p: Ball, other: Ball) -> Ball:
    """comb(n, m) p^m p'^(n-m)."""
    return exp(log_factorial(n) - log_factorial(m) - log_factorial(n - m) + log(p) * m + log(other) * (n - m))


def _start(p: Ball, other: Ball, n: int, t: int) -> Ball:
    """The terms from t to n: from the largest on upwards and downwards, the rest as a geometric series."""
    peak = min(max(t, (p * n / (p + other)).lower().scaled(0)[0]), n)
    first = _term(n, peak, p, other)
    found, small = first, first.upper().shifted(-bits())
    for step, odds, last in ((1, p / other, n), (-1, other / p, t)):
        term, m = first, peak
        while m != last:
            ratio = odds * (n - m) / (m + 1) if step > 0 else odds * m / (n - m + 1)
            if ratio < 1 and term * ratio / (1 - ratio) <= small:
                found = found + between(0, (term * ratio / (1 - ratio)).upper())
                break
            term, m = term * ratio, m + step
            found = found + term
    return found
