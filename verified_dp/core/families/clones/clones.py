"""Answers that hide among clones: n users, one of whom answers 1 with odds e^eps0 (Q: 0), shuffled (T137, T138).

Each of the N = n - 1 others answers by a fair coin with probability s = 2/(1 + e^eps0), else not at all. Of K answers
besides the record's J are 1; with w_k, b_k(j) the laws of K and of J given K = k, and V_k(j) = P(J > j | K = k),

    P(L > x) = V + b p/(p+1),  Q(L > x) = V + b/(p+1),  p = e^eps0,  (b, V) = sum_k w_k (b_k, V_k)(j_k),
    j_k = floor((k+1) t),  t = (1 + tanh(x/2) / tanh(eps0/2)) / 2,  x >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt  # exact: integers

from flint import arb, ctx

from verified_dp.core.engines.shared import binomial_mass
from verified_dp.core.families.batches.truncated_batch import enclose_binomial_tail
from verified_dp.core.kernel.balls import ball, integer_above, integer_below, lower_end, upper_end
from verified_dp.core.kernel.law import PlainLaw
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import words

_TERM = 30
"""Units that one term takes."""


class Clones(PlainLaw):
    """What both forms share: n = `users` >= 2 and p = e^eps0 > 1."""

    users: int
    order: str

    def enclose_largest_loss(self) -> arb:
        """Enclose eps0: nobody else may answer."""
        raise NotImplementedError

    @proved_by("T138-clones")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose b (p - z)/(p + 1) - (z - 1) V, p = e^eps0, z = e^eps, for eps >= 0; 1 - z + z h(-eps) below."""
        if epsilon >= 0:
            return self._stick(epsilon)
        below = -epsilon.expm1() + epsilon.exp() * self._stick((-epsilon).max(arb(0)))
        return below if epsilon < 0 else below.union(self._stick(epsilon.max(arb(0))))

    def _stick(self, epsilon: arb) -> arb:
        atom, above, sure = enclose_sums(self.users - 1, self.enclose_largest_loss(), epsilon)
        if not sure and not epsilon.is_exact():  # it falls
            return self._stick(lower_end(epsilon).max(arb(0))).union(self._stick(upper_end(epsilon)))
        with ctx.workprec(ctx.prec + 2 * self.users.bit_length() + 32):
            largest = self.enclose_largest_loss()
            gain = -(epsilon - largest).expm1() / (1 + (-largest).exp())
            return (atom * gain - epsilon.expm1() * above).max(arb(0))

    @proved_by("T138-clones")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (P(L > x), Q(L > x)); (1 - Q(L >= -x), 1 - P(L >= -x)) below 0."""
        if x >= 0:
            return self._above(x)
        p, q = self._tails((-x).max(arb(0)))
        return (1 - q, 1 - p) if x < 0 else _union((1 - q, 1 - p), self._above(x.max(arb(0))))

    def _above(self, x: arb) -> tuple[arb, arb]:
        """x >= 0: nothing from eps0 on."""
        largest = self.enclose_largest_loss()
        nothing = arb(0), arb(0)
        return nothing if x >= largest else self._tails(x) if x < largest else _union(self._tails(x), nothing)

    @proved_by("T138-clones")
    def _tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (P(L > x), Q(L > x)) for x >= 0, at x = eps0 the atoms."""
        odds = self.enclose_largest_loss()
        atom, above, sure = enclose_sums(self.users - 1, odds, x)
        if not sure and not x.is_exact():  # they fall
            return _union(self._tails(lower_end(x).max(arb(0))), self._tails(upper_end(x)))
        return above + atom / (1 + (-odds).exp()), above + atom / (1 + odds.exp())

    def enclose_density(self, x: arb) -> arb:
        """There is none: the outcomes are counts."""
        return arb(0)

    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """Too many to list: about n^2/2."""
        return None

    def enclose_infinity_mass(self) -> arb:
        """No outcome is impossible."""
        return arb(0)

    @proved_by("T138-clones")
    def enclose_smallest_loss(self) -> arb | None:
        """Enclose -eps0."""
        return -self.enclose_largest_loss()

    @proved_by("T138-clones")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}], l > 0, between 0 and that of the one answer alone."""
        odds = self.enclose_largest_loss()
        alone = ((exponent * odds).exp() + (-(exponent + 1) * odds).exp()) / (1 + (-odds).exp())
        return arb(0).union(alone)

    def value_work(self, prec: int) -> int:
        """A sum over the numbers of answers that matter."""
        terms = min(self.users, 2 * isqrt(prec * self.users) + 2 * prec)  # exact: integers
        return (2000 + _TERM * terms) * words(prec)


@dataclass(frozen=True)
class CloneLoss(Clones):
    """Stated by epsilon0 = eps0 itself."""

    users: int
    epsilon0: Fraction
    order: str = "symmetric"

    @proved_by("T138-clones")
    def enclose_largest_loss(self) -> arb:
        """Enclose eps0."""
        return ball(self.epsilon0)

    @proved_by("T138-clones")
    def largest_loss(self) -> Fraction:
        """eps0."""
        return self.epsilon0


@dataclass(frozen=True)
class CloneOddsLoss(Clones):
    """Stated by odds = e^eps0."""

    users: int
    odds: Fraction
    order: str = "symmetric"

    @proved_by("T138-clones")
    def enclose_largest_loss(self) -> arb:
        """Enclose eps0."""
        return ball(self.odds - 1).log1p()


@proved_by("T138-clones")
def enclose_sums(others: int, epsilon0: arb, x: arb) -> tuple[arb, arb, bool]:
    """Enclose (b, V) at x >= 0, and say whether every j_k was decided; at x = eps0 with j_k = k."""
    with ctx.workprec(ctx.prec + 2 * others.bit_length() + 32):
        half, bits = epsilon0 / 2, ctx.prec
        scaled = (1 + (x.min(4 * half) / 2).tanh() / half.tanh()) * arb((1, bits - 1))
        low = max(integer_below(scaled), 1 << bits - 1)  # exact: integers
        high, below_one = integer_above(scaled), (1 << bits) - 1
        if x == epsilon0:
            low = high = below_one
        if x < epsilon0:
            low, high = min(low, below_one), min(high, below_one)  # exact: integers
        if low >= 1 << bits:
            return arb(0), arb(0), True
        share = _Share(others, 2 / (1 + (2 * half).exp()), half.tanh(), low, high, bits)
        first, last, rest = share.window()
        atom, above, sure = share.sums(first, last)
        return atom + arb(0).union(rest), above + arb(0).union(rest), sure


@dataclass(frozen=True)
class _Share:
    """N, s, 1 - s, and t between low and high over 2^bits; low is below 2^bits."""

    others: int
    answering: arb
    silent: arb
    low: int
    high: int
    bits: int

    @proved_by("T138-clones")
    def window(self) -> tuple[int, int, arb]:
        """Numbers k from first to last, and a bound of the sums over all others: of c Bin(N, s)(k) r^k (T138 (4))."""
        share = arb((self.low, -self.bits))
        other = 1 - share
        rate = (-(share * share.log() + other * other.log())).exp() / 2
        odds, n = self.answering * rate / self.silent, self.others
        mean = n * odds / (1 + odds)
        reach = self.bits * arb(7) / 30
        reach += (reach * (reach + 6 * mean / (1 + odds))).sqrt()
        first = max(integer_below(mean - reach), 0)  # exact: integers
        last = min(integer_above(mean + reach), n)  # exact: integers
        rest = arb(0)
        if last < n:
            rest += self._term(last + 1, rate) / _positive(1 - odds * (n - last - 1) / (last + 2))
        if first > 0:
            rest += self._term(first - 1, rate) / _positive(1 - (first - 1) / (odds * (n - first + 2)))
        return first, last, upper_end(rest * (share / other) ** other)

    def _term(self, k: int, rate: arb) -> arb:
        return binomial_mass(self.others, k, self.answering * rate, self.silent)

    @proved_by("T138-clones")
    def sums(self, first: int, last: int) -> tuple[arb, arb, bool]:
        """Enclose the sums over k from last down to first, each pair of terms from the one before (T138 (3)).

        A term whose j_k is not decided counts as anything from 0 on.
        """
        n, low, high, bits = self.others, self.low, self.high, self.bits
        j, odds = (last + 1) * low >> bits, self.silent / self.answering
        weight, coin = binomial_mass(n, last, self.answering, self.silent), arb(1) / 2
        x = weight * binomial_mass(last, j, coin, coin)
        y = weight * enclose_binomial_tail(last, j + 1, Fraction(1, 2))
        atom, above, open_atom, open_above = arb(0), arb(0), arb(0), arb(0)
        for k in range(last, first - 1, -1):
            if (k + 1) * high >> bits == j:
                atom, above = atom + x, above + y
            else:
                open_atom, open_above = open_atom + x, open_above + y
            scale = odds / (n - k + 1)
            x *= scale
            y *= scale * k
            change, following = x * (k - j), k * low >> bits
            if following < j:
                x, y, j = x * (2 * j), y + change, following
            else:
                x, y = 2 * change, y - change
        return atom + open_atom.union(arb(0)), above + open_above.union(arb(0)), open_atom.is_zero()


def _union(a: tuple[arb, arb], b: tuple[arb, arb]) -> tuple[arb, arb]:
    return a[0].union(b[0]), a[1].union(b[1])


def _positive(x: arb) -> arb:
    """x where it is certainly positive, else 0: what is divided by it is not bounded."""
    return x if x > 0 else arb(0)
