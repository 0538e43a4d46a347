"""Many Laplace releases of small loss each: pieces of few orders exactly, the rest by Chernoff (T59).

A release has a continuous loss with probability about mu/2 only, so that among k of them hardly more than a few times
k mu/2 have; what needs more than J of them is bounded.
"""

from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.engines.pieces import (
    MAX_WORK,
    Tail,
    atoms_matter,
    binomial,
    enclose_columns,
    enclose_tails,
    places,
    prepare_tails,
    spare_bits,
)
from verified_dp.core.engines.shared import kept
from verified_dp.core.kernel.balls import ball, upper_end
from verified_dp.core.kernel.bounds import bound_chernoff_factor
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by

_SPARE, _LOST = 64, 16
"""Bits beyond those asked, where few cancel; bits by which what is left may miss those asked."""


def is_truncated(loss: ComposedLoss) -> bool:
    """One kind of Laplace step alone, whose atoms matter, with few enough terms to keep."""
    if len(loss.parts) != 1 or loss.mean_shift_squared:
        return False
    return loss.parts[0][0].atom_exponent is not None and atoms_matter(loss) and count_kept(loss) <= 2 * MAX_WORK


def count_kept(loss: ComposedLoss) -> int:
    """The most terms that are kept of steps of one law with atoms."""
    law, count = loss.parts[0]
    return (count + 1) * (_most_kept(law.atom_exponent or Fraction(0), count) + 1)


def _most_kept(mu: Fraction, count: int) -> int:
    """The most continuous steps that are kept."""
    double = 2 * count * mu
    return 60 + -(-double.numerator // double.denominator)


@proved_by("T59-truncated-pieces")
def enclose_truncated(loss: ComposedLoss, epsilon: arb) -> arb:
    """Enclose delta(eps) by the pieces with at most J continuous steps; the rest adds between 0 and its bound."""
    (law, count), = loss.parts
    mu = law.atom_exponent
    if mu is None:
        raise TypeError(type(law).__name__)
    most, rest = choose_kept(mu, count, epsilon)
    prec, total = ctx.prec, arb(0)
    for spare in (_SPARE, spare_bits(loss)):
        with ctx.workprec(prec + spare):
            total = (epsilon / 2).exp() * enclose_tails(_prepare_kept(mu, count, most), epsilon)
            if arb(2) ** (prec - _LOST) * total.rad() < total:
                break
    with ctx.workprec(prec + _SPARE):
        return total + arb(0).union(rest)


@kept(4)
def _prepare_kept(ratio: Fraction, count: int, most: int) -> list[Tail]:
    """The pieces with at most so many continuous steps."""
    mu = ball(ratio)
    share = (-mu / 2).exp()
    return prepare_tails(places(mu, count), enclose_columns(share / 2, share / 4, count, most))


def choose_kept(mu: Fraction, count: int, epsilon: arb) -> tuple[int, arb]:
    """The least J, in steps of 4, whose rest is below the precision relative to a bound of delta; and the rest."""
    most = _most_kept(mu, count)
    goal = arb(2) ** (-ctx.prec) * bound_rest(mu, count, -1, epsilon)
    low, high = 1, most // 4 + 1
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if bound_rest(mu, count, 4 * middle, epsilon) < goal else (middle, high)
    number = min(4 * high, most)  # exact: integers
    return number, bound_rest(mu, count, number, epsilon)


@proved_by("T59-truncated-pieces", "T03-chernoff")
def bound_rest(ratio: Fraction, count: int, kept: int, epsilon: arb) -> arb:
    """Bound what more than J continuous steps add to delta(eps), the least over some exponents l.

    C(l) e^{-l eps} comb(k,J+1) g^{J+1} (a+g)^{k-J-1}, a = (e^{l mu} + e^{-(1+l) mu})/2,
    g = (e^{l mu} - e^{-(1+l) mu})/(2(1+2l)); J = -1 bounds delta itself.
    """
    best, mu, ways = arb(1), ball(ratio), binomial(count, kept + 1)
    for n in range(-8, 48):
        exponent = arb(2) ** (arb(n) / 4)
        right, left = (exponent * mu).exp(), (-(1 + exponent) * mu).exp()
        atoms, inner = (right + left) / 2, (right - left) / (2 * (1 + 2 * exponent))
        share = ways * inner ** (kept + 1) * (atoms + inner) ** (count - kept - 1)
        best = best.min(bound_chernoff_factor(exponent) * (-exponent * epsilon).exp() * share)
    return upper_end(best)
