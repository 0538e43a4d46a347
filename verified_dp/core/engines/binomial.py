"""Many steps of one law with two finite losses, or three: binomial sums (T135).

With masses (p, q) at the larger finite loss and (p', q') at the smaller one, `rise` apart, j of k steps at the larger:

    delta(eps) = P(S = inf) + sum_j comb(k, j) p^j p'^(k-j) (1 - e^(eps - s_j))_+,  s_j = j log(p/q) + (k-j) log(p'/q').

Of three losses n of k steps have the two larger ones: for each n a sum of binomial terms, from that for n - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from flint import arb, ctx, fmpz

from verified_dp.core.engines.rules import is_atomic
from verified_dp.core.engines.shared import binomial_mass
from verified_dp.core.kernel.balls import integer_below, largest, lower_end, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by

MAX_COUNT = 10**8
"""Steps whose terms near the largest one are few enough."""


def is_binomial(loss: ComposedLoss) -> bool:
    """One law with two finite losses, alone, in not too many steps."""
    return _has_losses(loss, 2)


def is_trinomial(loss: ComposedLoss) -> bool:
    """One law with three finite losses, alone, in not too many steps."""
    return _has_losses(loss, 3)


def _has_losses(loss: ComposedLoss, number: int) -> bool:
    if len(loss.parts) != 1 or loss.mean_shift_squared:
        return False
    law: Any
    law, count = loss.parts[0]
    return count <= MAX_COUNT and _count_losses(law) == number


@lru_cache(maxsize=256)
def _count_losses(law: Any) -> int:
    """The finite losses of a law with finitely many outcomes; 0 for any other."""
    return len(law.enclose_loss_atoms() or ()) if is_atomic(law) else 0


def count_terms(count: int, prec: int) -> int:
    """About how many terms in one direction are above 2^-prec of the largest."""
    return min(count, 2 * int(fmpz(count * prec).isqrt())) + 1  # exact: integers


@proved_by("T135-binomial-sums")
def enclose_binomial(loss: ComposedLoss, epsilon: arb) -> arb:
    """Enclose delta(eps): terms from the largest on upwards and downwards, and both remainders."""
    (law, count), = loss.parts
    with ctx.workprec(ctx.prec + 2 * count.bit_length() + 32):
        atoms = law.enclose_loss_atoms() or []
        (large, p), (small, rest) = atoms
        if large < small:
            large, p, small, rest = small, rest, large, p
        if not large > small:
            return arb(0).union(arb(1))
        rise, odds = large - small, p / rest
        first = _clipped((epsilon - count * small) / rise, count)
        peak = max(first, _clipped(count * p / (p + rest), count))  # exact: integers
        top = binomial_mass(count, peak, p, rest)
        gap = (epsilon - peak * large - (count - peak) * small).exp()
        up = _sum_terms(top, gap, odds, -rise, range(peak, count + 1), count)
        down = _sum_terms(top, gap, 1 / odds, rise, range(peak, first - 1, -1), count) - top * (1 - gap).max(arb(0))
        return loss.enclose_infinity_mass() + up + down


@proved_by("T135-binomial-sums")
def _clipped(place: arb, count: int) -> int:
    """An integer below, from 0 to k: no term left of it is positive where `place` is where s_j = eps."""
    return min(max(integer_below(lower_end(place)), 0), count)  # exact: integers


@proved_by("T135-binomial-sums")
def _sum_terms(term: arb, gap: arb, odds: arb, rise: arb, indices: range, count: int) -> arb:
    """Enclose the sum of t_j (1 - g_j)_+ along `indices`, g_j = e^(eps - s_j), from its first term and gap on.

    The ratio of t's falls along the way; once it is r < 1 at a term t, what follows it is at most t r / (1 - r).
    """
    total, growth, goal = arb(0), rise.exp(), upper_end(term) * arb((1, -ctx.prec))
    for done, j in enumerate(indices):
        total += term * (1 - gap).max(arb(0))
        if j == indices[-1]:
            return total
        ahead, behind = (count - j, j + 1) if indices.step > 0 else (j, count - j + 1)
        ratio = odds * ahead / behind
        if done % 16 == 0 and ratio < 1 and term * ratio < goal * (1 - ratio):
            return total + arb(0).union(upper_end(term * ratio / (1 - ratio)))
        term, gap = term * ratio, gap * growth
    return total


@proved_by("T135-binomial-sums")
def enclose_trinomial(loss: ComposedLoss, epsilon: arb) -> arb:
    """Enclose delta(eps) = P(S = inf) + P(E) - e^eps Q(E) + wrong + lost, E the losses above eps, rounded.

    E is any event: only losses within r of eps may be on its wrong side, which adds from 0 to e^r - 1.
    """
    (law, count), = loss.parts
    with ctx.workprec(ctx.prec + 2 * count.bit_length() + 40):
        unit = arb(2) ** (16 - count.bit_length() - ctx.prec)
        found = [(integer_below(-at / unit), at, p) for at, p in law.enclose_loss_atoms() or []]
        found = sorted(found, key=lambda one: one[0])  # exact: integers
        places, losses, above = zip(*found, strict=True)
        if not places[0] < places[1] < places[2]:
            return arb(0).union(arb(1))
        below = [p * (-at).exp() for at, p in zip(losses, above, strict=True)]
        target = integer_below(-epsilon / unit)
        gap = count * largest([-at / unit - place for place, at, _ in found]) - epsilon / unit - target
        means = [count * mass / sum(above, arb(0)) for mass in above]
        middle, reach = [_clipped(mean, count) for mean in means], reach_of(count, ctx.prec)
        starts = _thresholds(places, count, target, middle)
        inside = enclose_event(above, count, starts) - epsilon.exp() * enclose_event(below, count, starts)
        off = reach + 1 - largest([abs(mean - place) for mean, place in zip(means, middle, strict=True)])
        lost = arb(0) if reach >= count else 4 * (-2 * off.max(arb(0)) ** 2 / count).exp()
        return loss.enclose_infinity_mass() + inside + arb(0).union(upper_end((gap * unit).expm1() + lost))


def reach_of(count: int, prec: int) -> int:
    """How far from its mean a number of steps is followed, by Hoeffding's bound."""
    return int(fmpz(count * prec // 2).isqrt()) + 2


@proved_by("T135-binomial-sums")
def _thresholds(places: Sequence[int], count: int, target: int, middle: Sequence[int]) -> list[tuple[int, int]]:
    """(n, t): n steps have one of the two larger losses, and exceed eps iff at least t of them have the largest.

    t is raised to where the number of such steps hardly ever is less; no n where it hardly ever is t.
    """
    first, second, third = places
    reach = reach_of(count, ctx.prec)
    totals = range(max(count - middle[2] - reach, 0), min(count - middle[2] + reach, count) + 1)  # exact: integers
    least = [(n, max((n * second + (count - n) * third - target) // (second - first) + 1,  # exact: integers
                     middle[0] - reach, 0)) for n in totals]
    return [(n, t) for n, t in least if t <= n and t <= middle[0] + reach]


@proved_by("T135-binomial-sums")
def enclose_event(masses: Sequence[arb], count: int, starts: Sequence[tuple[int, int]]) -> arb:
    """Enclose sum_n comb(k, n) p''^(k-n) sum_{m >= t_n} comb(n, m) p^m p'^(n-m), for n in sequence, t falling.

    The inner sum G for n + 1 is (p + p') G + p (the term at t - 1); for t - 1 that term is added.
    """
    if not starts:
        return arb(0)
    p, rest, other = masses
    (n, t), total = starts[0], arb(0)
    peak = max(t, _clipped(n * p / (p + rest), n))  # exact: integers
    top, none = binomial_mass(n, peak, p, rest), arb(0)
    inner = (_sum_terms(top, none, p / rest, none, range(peak, n + 1), n)
             + _sum_terms(top, none, rest / p, none, range(peak, t - 1, -1), n) - top)
    term = binomial_mass(n, t - 1, p, rest) if t else none
    outer, both = binomial_mass(count, n, arb(1), other), p + rest
    for total_n, least in starts:
        if n < total_n:
            inner, term, outer = both * inner + p * term, term * rest * (n + 1) / (n + 2 - t), outer * (count - n) / (
                (n + 1) * other)
            n = total_n
        while t > least:
            inner, term, t = inner + term, term * rest * (t - 1) / (p * (n - t + 2)), t - 1
        total += outer * inner
    return total
