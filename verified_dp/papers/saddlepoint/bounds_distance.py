"""The distance of a sum's distribution from the normal one, by its third absolute moments, proved here (T202).

With B^2 the variance, L = sum E|Y_i|^3 / B^3, R = sum (Var Y_i)^2 / B^4, s = max Var Y_i / B^2, for every T > 0

    sup |P(Y <= x) - Phi|  <=  sqrt(pi/2)/T + int_0^T k D dw + (2/pi + 2)/T int_T^inf e^{-w^2/2} + (1 + 7/(2 pi))/T^2

k(w) = ((1/(pi w))^2 + (1/T)^2)^{1/2}, D the smaller of (L w^3/6 + R w^4/8) e^{-(1-s)w^2/2 + 2 chi L w^3} and
e^{-w^2/2 + 2 chi L w^3} + e^{-w^2/2}, chi = sup x^-3 (cos x - 1 + x^2/2).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from verified_dp.core.kernel.balls import ball, normal_tail, upper_end
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.papers.edgeworth.bounds_lemma import CHI

ENDS = Fraction(3, 2), Fraction(9, 5), Fraction(2), Fraction(11, 5), Fraction(12, 5)
"""T times L: the best of these."""
FINE, COARSE, TURN = Fraction(1, 32), Fraction(21, 20), 6
"""Length of the cells up to TURN; beyond, each ends at this multiple of its start."""


@proved_by("T202-berry-esseen-here")
def bound_by_third_moments(third: arb, fourth: arb, share: arb) -> arb:
    """Bound sup |P(Y <= x) - Phi| by L, R and s, each from above; 1 where that says less."""
    found, third = arb(1), upper_end(third)
    if not (third > 0 and third < 1):
        return found
    for end in ENDS:
        top = upper_end(ball(end) / third)
        found = found.min(_bound(third, upper_end(fourth), upper_end(share).min(arb(1)), top))
    return found


@proved_by("T202-berry-esseen-here")
def _bound(third: arb, fourth: arb, share: arb, top: arb) -> arb:
    """The bound at one T."""
    pi, low, total = arb.pi(), arb(0), arb(0)
    while low < top:
        high = low + ball(FINE) if low < TURN else upper_end(low * ball(COARSE))
        high = high.min(top)
        total += _bound_cell(third, fourth, share, top, low, high)
        low = high
    beyond = (2 / pi + 2) / top * (2 * pi).sqrt() * normal_tail(top)
    return upper_end((pi / 2).sqrt() / top + total + beyond + (1 + 7 / (2 * pi)) / (top * top))


@proved_by("T202-berry-esseen-here", "T170-edgeworth-smoothing")
def _bound_cell(third: arb, fourth: arb, share: arb, top: arb, low: arb, high: arb) -> arb:
    """Bound the integral of k D over low <= w <= high: exponents a w^3 - b w^2 are largest at an end."""
    def largest(rest: arb) -> arb:
        sizes = [(2 * ball(CHI) * third * w * w * w - rest * w * w / 2).exp() for w in (low, high)]
        return upper_end(sizes[0]).max(upper_end(sizes[1])).min(arb(1))

    slope = (1 / (arb.pi() * arb.pi()) + (high / top) * (high / top)).sqrt()
    found = slope * (third * high * high / 6 + fourth * high * high * high / 8) * largest(1 - share)
    if low > 0:
        along = 1 / (arb.pi() * low)
        kernel = (along * along + 1 / (top * top)).sqrt()
        found = upper_end(found).min(upper_end(kernel * (largest(arb(1)) + (-low * low / 2).exp())))
    return upper_end(found * (high - low))
