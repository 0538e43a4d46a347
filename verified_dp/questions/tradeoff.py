"""The trade-off curve of a relation: the least false negative rate of any test with a given false positive rate.

    privacy_profile(spec).tradeoff().beta("0.01")

The test has to tell two neighbouring data sets apart from what is released. beta(alpha) is the largest convex function
below the trade-off curves of all neighbours, in all orders of the relation; with delta(eps) for real eps (T145),

    beta(alpha) = sup over eps of 1 - delta(eps) - e^eps alpha.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import ball, lower_dyadic, lower_end, upper_dyadic, upper_end
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.enclosure import Enclosure, table_html
from verified_dp.ends import ball_of, readable
from verified_dp.questions.curve import new_axes, text_of
from verified_dp.reading import optional
from verified_dp.search.deadline import OutOfTime

DIGITS = 6
RATES = ("0.001", "0.01", "0.05", "0.1", "0.2", "0.3", "0.4", "0.5", "0.7", "0.9")
"""False positive rates of a table or a picture."""
COLUMNS = "fpr", "fnr_lower", "fnr_upper"
FARTHEST = 2**12
"""No larger |eps| is looked at."""
Delta = Callable[[Fraction, int], Enclosure]
"""(eps >= 0, digits) -> delta(eps) enclosed. Raises OutOfTime where a stated time is over."""


@dataclass(frozen=True)
class Point:
    """The concave function g(x) = 1 - delta(log x) - x alpha at x = e^eps."""

    x: arb
    value: arb


@proved_by("T145-tradeoff")
def enclose_point(epsilon: Fraction, alpha: Fraction, delta: Enclosure) -> Point:
    """g at e^eps; delta: at eps, or for eps < 0 of the swapped relation at -eps, by g = e^eps (1 - alpha - delta)."""
    x, hull = ball(epsilon).exp(), ball_of(delta.lower).union(ball_of(delta.upper))
    return Point(x, x * (1 - ball(alpha) - hull) if epsilon < 0 else 1 - hull - x * ball(alpha))


@proved_by("T145-tradeoff")
def lower_bound_beta(points: Sequence[Point]) -> arb:
    """The largest lower end of g, and 0."""
    best = arb(0)
    for point in points:
        best = best.max(lower_end(point.value))
    return lower_end(best)


@proved_by("T145-tradeoff")
def bound_beta(points: Sequence[Point], alpha: Fraction) -> arb:
    """Bound sup g from five points in order: between the middle three by the chords beside them, else by slopes.

    1 - alpha, which no test exceeds, where the points do not decide that g falls behind the fourth.
    """
    a0, a, b, c, c0 = points
    trivial = upper_end(1 - ball(alpha))
    if not upper_end(slope(b, c)) <= 0:
        return trivial
    left = upper_end(a.value) + (-lower_end(slope(a, b))).max(arb(0)) * a.x
    bound = left.max(upper_end(c.value)).max(bound_between(a0, a, b, c)).max(bound_between(a, b, c, c0))
    return upper_end(bound).min(trivial)


@proved_by("T145-tradeoff")
def bound_between(before: Point, start: Point, end: Point, after: Point) -> arb:
    """Bound a concave function between two points by the chords before and behind them, where these cross."""
    rise = upper_end(slope(before, start)).max(arb(0))
    fall = (-lower_end(slope(end, after))).max(arb(0))
    low, high, width = upper_end(start.value), upper_end(end.value), upper_end(end.x - start.x)
    if not rise + fall > 0:
        return low.max(high)
    return upper_end((fall * low + rise * high + rise * fall * width) / (rise + fall))


def slope(start: Point, end: Point) -> arb:
    """Of the chord between two points."""
    return (end.value - start.value) / (end.x - start.x)


class TradeOff:
    """The trade-off curve of a profile, from enclosures of its delta.

    Args:
        delta, swapped: delta of the relation, and of the one with the data sets' roles exchanged; the same function
            unless the relation is "add" or "remove", where the false positives are of the second data set of the order.
        words: an enclosure of the profile, whose relation and convention are stated with every answer.
    """

    def __init__(self, delta: Delta, swapped: Delta, words: Enclosure) -> None:
        self._delta, self._swapped, self._words = delta, swapped, words
        self._known: dict[Fraction, tuple[int, Enclosure]] = {Fraction(0): (words.digits, words)}

    def __repr__(self) -> str:
        return f"TradeOff({self._words.relation})"

    def _repr_html_(self) -> str:
        return table_html(COLUMNS, self._rows(RATES))

    def _rows(self, rates: Sequence[Number]) -> list[tuple[str, str, str]]:
        found = ((text_of(one, rate(one, "fpr")), self.beta(one)) for one in rates)
        return [(text, beta.lower_decimal, beta.upper_decimal) for text, beta in found]

    def to_frame(self, rates: Sequence[Number] = RATES) -> Any:
        """A pandas DataFrame: the least false negative rate at these false positive rates, as doubles outward."""
        pandas, found = optional("pandas", "pandas"), [(rate(one, "fpr"), self.beta(one)) for one in rates]
        ends = zip(*((float(at), beta.lower_float, beta.upper_float) for at, beta in found), strict=True)
        return pandas.DataFrame(dict(zip(COLUMNS, map(list, ends), strict=True)))

    def plot(self, ax: Any = None, rates: Sequence[Number] = RATES) -> Any:
        """Draw the least false negative rate over the false positive rate, on axes of matplotlib or new ones."""
        ax = new_axes() if ax is None else ax
        found = [(Fraction(0), 1.0, 1.0), *((rate(one, "fpr"), float(beta.lower), float(beta.upper))
                                            for one in rates for beta in [self.beta(one)]), (Fraction(1), 0.0, 0.0)]
        at, low, high = zip(*((float(x), y, z) for x, y, z in found), strict=True)
        ax.fill_between(at, low, high, alpha=0.3, lw=0)
        ax.plot(at, low, lw=1.4)
        ax.set_xlabel("false positive rate")
        ax.set_ylabel("least false negative rate")
        return ax

    @alone
    def beta(self, alpha: Number, digits: int = DIGITS) -> Enclosure:
        """Enclose the least false negative rate at a false positive rate in (0, 1), to about so many digits.

        Ensures: the truth lies in the enclosure, which is wide where the digits of delta give no narrower one.
        """
        level, digits = rate(alpha, "alpha"), exact.digits(digits)
        with ctx.workprec(_bits(level, digits)):
            low, high = self._ends(level, digits)
        return self._shown("beta", low, high, digits)

    def tpr(self, alpha: Number, digits: int = DIGITS) -> Enclosure:
        """Enclose the largest true positive rate at a false positive rate: 1 - beta."""
        return self._of_rate("tpr", alpha, digits, lambda tpr: tpr)

    @alone
    def advantage(self, digits: int = DIGITS) -> Enclosure:
        """Enclose the largest TPR - FPR of any test: delta(0)."""
        found = self._words
        with suppress(OutOfTime):
            found = self._at(Fraction(0), exact.digits(digits))
        return replace(found, quantity="advantage", digits=digits)

    def posterior(self, alpha: Number, prior: Number, digits: int = DIGITS) -> Enclosure:
        """Enclose the largest probability that a positive is true, where a share `prior` of all cases is.

        prior TPR / (prior TPR + (1 - prior) alpha), at the false positive rate alpha.
        """
        level, share = rate(alpha, "alpha"), rate(prior, "prior")
        return self._of_rate("posterior", level, digits, lambda tpr: (
            share * tpr / (share * tpr + (1 - share) * level)))

    def bayes_factor(self, alpha: Number, digits: int = DIGITS) -> Enclosure:
        """Enclose the largest factor by which a positive multiplies the odds: TPR / FPR."""
        level = rate(alpha, "alpha")
        return self._of_rate("bayes-factor", level, digits, lambda tpr: tpr / level)

    @alone
    def _of_rate(self, quantity: str, alpha: Number, digits: int,
                 function: Callable[[Fraction], Fraction]) -> Enclosure:
        """An increasing function of the true positive rate, exactly of its ends and then rounded outward."""
        level, digits = rate(alpha, "alpha"), exact.digits(digits)
        with ctx.workprec(_bits(level, digits)):
            low, high = (lower_dyadic(end).as_fraction() for end in self._ends(level, digits))
            least, most = ball(function(1 - high)), ball(function(1 - low))
            return self._shown(quantity, least, most, digits)

    def _shown(self, quantity: str, low: arb, high: arb, digits: int) -> Enclosure:
        return replace(self._words, lower=readable(lower_dyadic(low)), upper=readable(upper_dyadic(high)),
                       quantity=quantity, budget={}, order="both", digits=digits)

    def _at(self, epsilon: Fraction, digits: int) -> Enclosure:
        """delta at eps, or for eps < 0 of the swapped relation at -eps: kept with the most digits that were asked."""
        known = self._known.get(epsilon)
        if known is None or known[0] < digits:
            found = self._swapped(-epsilon, digits) if epsilon < 0 else self._delta(epsilon, digits)
            self._known[epsilon] = known = digits, found
        return known[1]

    def _ends(self, alpha: Fraction, digits: int) -> tuple[arb, arb]:
        """Both bounds of beta, from five points around where g is largest, ever closer as the digits ask.

        Where the time is over, what the points known by then prove.
        """
        low, high, fine = arb(0), upper_end(1 - ball(alpha)), math.ceil(digits * math.log2(10) / 2) + 2
        top, reach = Fraction(0), Fraction(1)
        try:
            for level in sorted({2, 4, 7, fine, fine + 4}):
                wanted = min(math.ceil(0.61 * level) + 3, exact.MAX_DIGITS)
                around = math.floor((top - reach) * 2**level), math.ceil((top + reach) * 2**level)
                place, points = self._around_top(alpha, level, wanted, around)
                top, reach = Fraction(place, 2**level), Fraction(1, 2**level)
                low, high = low.max(lower_bound_beta(points)), high.min(bound_beta(points, alpha))
                if (high - low) * 10**digits <= high.min(1 - low):
                    break
        except OutOfTime:
            points = [enclose_point(epsilon, alpha, found) for epsilon, (_, found) in sorted(self._known.items())]
            low = low.max(lower_bound_beta(points))
            for five in zip(*(points[n:] for n in range(5)), strict=False):
                high = high.min(bound_beta(five, alpha))
        return lower_end(low), upper_end(high)

    def _around_top(self, alpha: Fraction, level: int, digits: int,
                    around: tuple[int, int]) -> tuple[int, list[Point]]:
        """Five neighbours on the grid of 2^-level, g falling behind the third and rising before it, and its place.

        around: between which places it may be; looked for elsewhere too where it is not.
        """
        def point(place: int) -> Point:
            epsilon = Fraction(place, 2**level)
            return enclose_point(epsilon, alpha, self._at(epsilon, digits))

        def falls(place: int) -> bool:
            return bool(slope(point(place), point(place + 1)) < 0)

        (low, high), step = around, around[1] - around[0]
        while falls(low) and low > -FARTHEST * 2**level:
            low, high, step = low - step, low, 2 * step
        while not falls(high) and high < FARTHEST * 2**level:
            low, high, step = high, high + step, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if falls(middle) else (middle, high)
        return high, [point(high + i) for i in (-2, -1, 0, 1, 2)]


def rate(value: Number, key: str) -> Fraction:
    """The value as an exact rational number in (0, 1)."""
    number = exact.exact(value, key, expected="a rational number in (0, 1)")
    if not 0 < number < 1:
        raise InvalidInput(key, value, "a rational number in (0, 1)")
    return number


def _bits(alpha: Fraction, digits: int) -> int:
    """Precision: alpha may be far below the digits of 1."""
    return 8 * digits + 128 + 2 * alpha.denominator.bit_length()
