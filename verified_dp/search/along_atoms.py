"""delta at many eps of losses made of atoms: the masses above every place that is asked, summed in one pass (T229).

Between two neighbouring atoms delta(eps) = A - e^eps B: A and B are the P and the Q mass of what lies above.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple

from flint import acb, arb, arb_poly, ctx, fmpq, fmpz, fmpz_poly

from verified_dp.core.engines.binomial import enclose_binomial
from verified_dp.core.engines.closed import ClosedFormValues, is_integral, is_plain
from verified_dp.core.engines.frequencies import Frequencies
from verified_dp.core.engines.lattice import LatticeValues, LatticeWitness
from verified_dp.core.engines.pieces import Tail, enclose_tails, even_and_odd, prepare_all, spare_bits
from verified_dp.core.engines.shared import binomial_mass, cut
from verified_dp.core.kernel.balls import (
    ball,
    integer_above,
    integer_below,
    lower_end,
    plus_minus,
    upper_end,
)
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.turns import turned_sums

_TERMS = 1000
"""So many terms of a binomial sum for each eps are few enough."""


class Masses(NamedTuple):
    """e^{-c eps} (sum, error) = (A - f B, E + f F) where n h is the first place at or beyond eps, f = e^{eps - n h}."""

    above: arb
    below: arb
    error: arb
    falling: arb


@proved_by("T229-lists-over-atoms", "T222-lattice-on-a-circle")
def along_lattice(values: LatticeValues, epsilons: Sequence[Fraction]) -> list[Bounds]:
    """As `LatticeValues.delta` at each eps."""
    witness = values.witness
    with ctx.workprec(witness.sum_bits):
        step, shift = witness.step, ball(values.shift * witness.step)
        places = [_split(epsilon, step, values.shift) for epsilon in epsilons]
        falls = [(-(ball(step) * arb(room))).exp() for _, room in places]
        starts = sorted({start for start, _ in places})  # exact: integers
        upper, lower = (_frequency_masses(side, starts, witness) if isinstance(side, Frequencies)
                        else _circle_masses(side.weights, side.low, side.exponent, starts, witness)
                        for side in values.sides)
        length = ball(witness.period * step)
        factors = [(bound_chernoff_factor(ball(x)) if x else arb(1)) * moment / (abs(ball(x - witness.tilt)) * length
                                                                                ).expm1()
                   for x, moment in zip((witness.right, witness.left), values.moments, strict=True)]
        rates, found = [-ball(witness.right), -ball(witness.left)], list[Bounds]()
        for (start, _), fall, epsilon in zip(places, falls, epsilons, strict=True):
            at, up, down = ball(epsilon) - shift, upper[start], lower[start]
            aliases = upper_end(sum((size * (rate * at).exp() for size, rate in zip(factors, rates, strict=True)),
                                    arb(0)))
            above, below = up.above - fall * up.below, down.above - fall * down.below
            more, less = up.error + fall * up.falling, down.error + fall * down.falling
            found.append(values.bounds(above + more, below - less, aliases, more + less, above.rad() + below.rad()))
    return found


def _split(epsilon: Fraction, step: Fraction, shift: Fraction) -> tuple[int, fmpq]:
    """(n, r): n h = eps - shift h + r h is the first place at or beyond, 0 <= r < 1."""
    low = epsilon.denominator * step.numerator * shift.denominator
    place = epsilon.numerator * step.denominator * shift.denominator - shift.numerator * (low // shift.denominator)
    start = -(-place // low)
    return start, fmpq(start * low - place, low)


@proved_by("T229-lists-over-atoms")
def _circle_masses(weights: fmpz_poly, low: int, exponent: int, starts: Sequence[int],
                   witness: LatticeWitness) -> dict[int, Masses]:
    """Enclose A and B of masses on a circle: each stretch between two places that are asked is summed once."""
    step, tilt, period = ball(witness.step), ball(witness.tilt), witness.period
    turns = sorted({(start - low) % period for start in starts})  # exact: integers
    ends = [0, *turns, period]
    stretches = [weights.right_shift(first).truncate(last - first) for first, last in pairwise(ends)]
    rows = []
    for rate in (-tilt * step, -(tilt + 1) * step):
        ratio, behind, ahead = rate.exp(), [arb(0)], [arb(0)]
        parts = [part(ratio) for part in stretches]
        for part, first in zip(parts[:-1], ends, strict=False):
            behind.append(behind[-1] + (rate * first).exp() * part)
        for part, (first, last) in zip(parts[:0:-1], list(pairwise(ends))[:0:-1], strict=True):
            ahead.append(part + (rate * (last - first)).exp() * ahead[-1])
        scale = arb((1, exponent)) / -(rate * period).expm1()
        rows.append({turn: scale * (front + (rate * (period - turn)).exp() * back)
                     for turn, front, back in zip(turns, ahead[:0:-1], behind[1:], strict=True)})
    none, found = arb(0), dict[int, Masses]()
    for start in starts:
        turn, fall = (start - low) % period, (-(tilt * step) * start).exp()
        found[start] = Masses(fall * rows[0][turn], fall * rows[1][turn], none, none)
    return found


@proved_by("T229-lists-over-atoms")
def _frequency_masses(side: Frequencies, starts: Sequence[int], witness: LatticeWitness) -> dict[int, Masses]:
    """Enclose A, B, and bounds of the errors, of few frequencies: one product for all places."""
    step, tilt, period = ball(witness.step), ball(witness.tilt), witness.period
    unit = 2 * arb.pi() / period
    sides = [1] + [2] * (len(side.terms) - 1)
    points = [acb(tilt * step, unit * m) for m in range(len(side.terms))]
    turns = [acb(arb(fmpq(-2 * (start % period), period))).exp_pi_i() for start in starts]
    sums = [turned_sums(cut([many * value / (1 - (-z - more).exp())
                             for many, value, z in zip(sides, side.terms, points, strict=True)]), turns)
            for more in (arb(0), step)]
    tails = []
    for c in (tilt, tilt + 1):
        half = (c * step / 2).sinh()
        sines = [(arb.pi() * ball(Fraction(first, period))).sin().max(arb(0)) for first, _, _ in side.beyond]
        tails.append((c * step / 2).exp() * sum((number * bound / (half * half + sine * sine).sqrt() for sine, (
            _, number, bound) in zip(sines, side.beyond, strict=True)), arb(0)))
    found = {}
    for start, above, below in zip(starts, *sums, strict=True):
        fall = (-(tilt * step) * start).exp() / period
        found[start] = Masses(fall * above.real, fall * below.real, fall * tails[0], fall * tails[1])
    return found


@proved_by("T229-lists-over-atoms", "T33-sum-and-errors")
def along_closed_form(values: ClosedFormValues, epsilons: Sequence[Fraction]) -> list[Bounds]:
    """As `ClosedFormValues.delta` at each eps: by sums over atoms or pieces for all of them at once."""
    from verified_dp.core.engines import sums

    known: dict[object, Callable[[ComposedLoss, Sequence[arb]], list[arb]]] = {
        sums.enclose_binomial: enclose_binomials, sums.enclose_exactly: enclose_pieces}
    together = None if is_plain(values.loss) or is_integral(values.loss) else known.get(sums.way(values.loss))
    if together is None:
        return [values.delta(epsilon) for epsilon in epsilons]
    with ctx.workprec(values.witness.prec):
        return [bounds_from_sum(total, {}, {}) for total in together(values.loss, [*map(ball, epsilons)])]


class Behind(NamedTuple):
    """sum over the places x > eps of sum_m w_m F_m(x - eps) = poly(y) + up e^{y/2} - down e^{-y/2}, y = place - eps."""

    place: arb
    poly: arb_poly
    up: arb
    down: arb

    @proved_by("T229-lists-over-atoms")
    def joined(self, tail: Tail, longest: arb) -> Behind:
        """The same from a lower place on, which is added; longest: bounds (x - eps)/2."""
        gap, none = self.place - tail.place, arb(0)
        poly = self.poly(arb_poly([gap, 1])) + _polynomial(tail, longest) if tail.order else self.poly
        weight = none if tail.order else tail.up
        return Behind(tail.place, poly, self.up * (gap / 2).exp() + weight, self.down * (-gap / 2).exp() + weight)

    @proved_by("T229-lists-over-atoms")
    def value(self, epsilon: arb) -> arb:
        """Enclose it."""
        y = self.place - epsilon
        pair = self.up * (y / 2).exp() - self.down * (-y / 2).exp() if not self.up.is_zero() else arb(0)
        return pair + self.poly(y) if self.poly.length() else pair


@proved_by("T229-lists-over-atoms", "T45-pieces")
def _polynomial(tail: Tail, longest: arb) -> arb_poly:
    """Enclose sum_m w_m F_m(T) for 0 <= T <= 2 longest: what is left out of the series is in one coefficient."""
    even, odd, rest = even_and_odd(tail.order, longest)
    apart, both = tail.up - tail.down, (tail.up + tail.down) / 2
    series = apart * even(arb_poly([0, 0, arb(1) / 4])) + both * arb_poly([0, 1]) * odd(arb_poly([0, 0, arb(1) / 4]))
    error = plus_minus(rest * (abs(tail.up) + abs(tail.down)))
    power = arb_poly([0] * tail.order + [1 / arb(fmpz.fac_ui(fmpz(tail.order)))])
    return tail.start + power * (series + error)


@proved_by("T229-lists-over-atoms", "T45-pieces")
def enclose_pieces(loss: ComposedLoss, epsilons: Sequence[arb]) -> list[arb]:
    """Enclose delta(eps) for growing eps, the last one first: places are joined as they come to lie above eps."""
    with ctx.workprec(ctx.prec + spare_bits(loss)):
        if not epsilons:
            return []
        tails, infinity = sorted(prepare_all(loss), key=lambda tail: float(tail.place)), loss.enclose_infinity_mass()
        places, found, last, least = [float(tail.place) for tail in tails], list[arb](), len(tails), arb.pos_inf()
        most = list(accumulate((upper_end(tail.place) for tail in tails), arb.max, initial=arb.neg_inf()))
        longest = upper_end(((most[-1] - epsilons[0]) / 2).max(arb(0))) if tails else arb(0)
        behind = Behind(arb(0), arb_poly(), arb(0), arb(0))
        for epsilon in reversed(epsilons):
            first = min(bisect_right(places, float(epsilon)), last)  # exact: integers
            for tail in reversed(tails[first:last]):
                behind, least = behind.joined(tail, longest), least.min(lower_end(tail.place))
            last, known = first, bool(most[first] <= epsilon <= least)
            found.append(infinity + (epsilon / 2).exp() * (
                behind.value(epsilon) if known else enclose_tails(tails, epsilon)))
        return found[::-1]


@proved_by("T229-lists-over-atoms", "T135-binomial-sums")
def enclose_binomials(loss: ComposedLoss, epsilons: Sequence[arb]) -> list[arb]:
    """Enclose delta(eps) for each: P(S = inf) + sum over j of (t_j - e^eps u_j)_+, t_j and u_j the masses of k steps.

    Terms that may be negative are cut one by one; those above are summed from the top.
    """
    (law, count), = loss.parts
    with ctx.workprec(ctx.prec + 2 * count.bit_length() + 32):
        (large, p), (small, rest) = law.enclose_loss_atoms() or []
        if large < small:
            large, p, small, rest = small, rest, large, p
        if not (epsilons and large > small):
            return [arb(0).union(arb(1))] * len(epsilons)
        rise, odds, infinity = large - small, p / rest, loss.enclose_infinity_mass()
        places = [(epsilon - count * small) / rise for epsilon in epsilons]
        spans = [(_within(integer_below(place), count), _within(integer_above(place), count)) for place in places]
        low, high = min(first for first, _ in spans), max(last for _, last in spans)  # exact: integers
        peak = max(high, _within(integer_below(count * p / (p + rest)), count))  # exact: integers
        if peak - low > _TERMS * len(epsilons):
            return [enclose_binomial(loss, epsilon) for epsilon in epsilons]
        top = binomial_mass(count, peak, p, rest)
        below = top * (-(peak * large + (count - peak) * small)).exp()
        rows, beyond = _sum_masses((top, below), (odds, odds * (-rise).exp()), low, peak, count)
        found = []
        for epsilon, (first, last) in zip(epsilons, spans, strict=True):
            scale, (_, (above, below)) = epsilon.exp(), rows[last - low]
            near = [(t - scale * u).max(arb(0)) for (t, u), _ in rows[first - low:last - low + 1]]
            found.append(sum(near, infinity + above - scale * below + beyond))
        return found


Pair = tuple[arb, arb]
"""A mass under P and under Q."""


@proved_by("T229-lists-over-atoms")
def _sum_masses(top: Pair, odds: Pair, low: int, peak: int, count: int) -> tuple[list[tuple[Pair, Pair]], arb]:
    """The masses at j = low, ..., peak and above them, and what is left out above; top: at the peak; odds: p / p'."""
    (t, u), (above, below), left_out = top, (arb(0), arb(0)), arb(0)
    goal = upper_end(t) * arb((1, -ctx.prec))
    for j in range(peak, count):
        ahead = (count - j) * odds[0] / (j + 1)
        if (j - peak) % 16 == 0 and ahead < 1 and t * ahead < goal * (1 - ahead):
            left_out = arb(0).union(upper_end(t * ahead / (1 - ahead)))
            break
        t, u = t * ahead, u * (count - j) * odds[1] / (j + 1)
        above, below = above + t, below + u
    (t, u), rows = top, [(top, (above, below))]
    for j in range(peak, low, -1):
        above, below = above + t, below + u
        t, u = t * j / ((count - j + 1) * odds[0]), u * j / ((count - j + 1) * odds[1])
        rows.append(((t, u), (above, below)))
    return rows[::-1], left_out


def _within(place: int, count: int) -> int:
    return min(max(place, 0), count)  # exact: integers
