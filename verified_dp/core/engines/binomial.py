"""Many steps of one law with two finite losses: binomial sums (T135).

With masses (p, q) at the larger finite loss and (p', q') at the smaller one, `rise` apart, j of k steps at the larger:

    delta(eps) = P(S = inf) + sum_j comb(k, j) p^j p'^(k-j) (1 - e^(eps - s_j))_+,  s_j = j log(p/q) + (k-j) log(p'/q').
"""

from __future__ import annotations

from flint import arb, ctx, fmpz

from verified_dp.core.balls import binomial_mass, integer_below, lower_end, upper_end
from verified_dp.core.laws.atomic import AtomicLaw
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.core.theorems import proved_by

MAX_COUNT = 10**8
"""Steps whose terms near the largest one are few enough."""


def is_binomial(loss: ComposedLoss) -> bool:
    """One law with two finite losses, alone, in not too many steps."""
    if len(loss.parts) != 1 or loss.mean_shift_squared:
        return False
    law, count = loss.parts[0]
    return isinstance(law, AtomicLaw) and count <= MAX_COUNT and len(law.enclose_loss_atoms()) == 2


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
