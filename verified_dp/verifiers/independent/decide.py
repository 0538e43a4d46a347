"""Is delta(eps) <= delta of a claim? This checker's own answer, whatever witnesses a certificate has.

In this sequence: past the largest loss, before it, and at 0, in rational numbers where these are known, so that ties
are decided; the curve of a single step; Gaussians alone; a Chernoff bound where nothing but moments is known; else
lattices, finer and finer, until one end decides or the effort allowed is spent. Nothing here depends on a witness.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction

from .balls import Ball, Number, Unknown, ball, exp, larger, log, precision, smaller
from .compose import Lattice, float_of, plan_of, run
from .exact import exact_infinity, total_variation
from .losses import ComposedLoss
from .measures import peak

FIRST_FINENESS = 6.0
_BITS = 256


@dataclass(frozen=True)
class Own:
    """low <= delta(at) <= high; low is strict where `more`: delta(at) is above it, by whatever little."""

    low: Number
    high: Number
    how: str
    more: bool = False

    def exceeds(self, delta: Fraction) -> bool | None:
        """Whether delta(at) > delta; None: not known. Rational ends are compared exactly."""
        if self.high <= delta and not (self.more and self.low >= delta):
            return False
        return True if self.low > delta or (self.more and self.low >= delta) else None

    def contradicts(self, low: Fraction, high: Fraction) -> bool:
        return bool(self.low > high or self.high < low)


@dataclass
class Second:
    """What is found for one order; lattices are kept, and asked again at other places."""

    loss: ComposedLoss
    lattices: list[Lattice] = field(default_factory=list)

    def decide(self, epsilon: Fraction, delta: Fraction, most: float) -> Own:
        """The first answer that decides, or the last one; lattices of at most this fineness."""
        found, final = self._direct(epsilon)
        if final or found.exceeds(delta) is not None:
            return found
        try:
            if any(law.slow for law, _ in self.loss.laws):
                raise Unknown("a lattice of curves that take long")
            plan = plan_of(self.loss, epsilon)
            fineness = min(max(FIRST_FINENESS, float(plan.tilt) * plan.deviation / 2), most)
            while fineness <= most:
                self.lattices.append(run(self.loss, plan, fineness))
                found = self.at(epsilon)
                if found.exceeds(delta) is not None:
                    return found
                fineness *= 2
        except (ArithmeticError, ValueError, LookupError):
            pass  # floating point that fails decides nothing
        with precision(_BITS), suppress(ArithmeticError):
            bound = chernoff(self.loss, epsilon)
            if bound < found.high:
                found = replace(found, high=bound, how="a Chernoff bound")
        return found

    def at(self, epsilon: Fraction) -> Own:
        """delta elsewhere, by what is known already."""
        found, final = self._direct(epsilon)
        if final or not self.lattices:
            return found
        low, high = self.lattices[-1].enclose(epsilon)
        low = Ball(0) if self.loss.epochs else larger(found.low, low)
        return Own(low, smaller(found.high, high), "its own lattice", found.more)

    def _direct(self, epsilon: Fraction) -> tuple[Own, bool]:
        """Of shuffled epochs the pair holds from above alone."""
        try:
            with precision(_BITS):
                found, final = direct(self.loss, epsilon)
        except ArithmeticError:  # beyond this checker's arithmetic
            return Own(Fraction(0), Fraction(1), "nothing"), True
        return (replace(found, low=Fraction(0), more=False) if self.loss.epochs else found), final


def direct(loss: ComposedLoss, epsilon: Fraction) -> tuple[Own, bool]:
    """What formulas say, and whether that is all that can be said."""
    if not loss.laws:
        return Own(Ball(0), Ball(0), "nothing is revealed"), True
    if loss.only_moments:
        return Own(Ball(0), chernoff(loss, epsilon), "a Chernoff bound"), True
    end, sure = loss.largest(), exact_infinity(loss)
    infinity = loss.infinity() if sure is None else sure
    low, high = (infinity.lower(), infinity.upper()) if isinstance(infinity, Ball) else (infinity, infinity)
    if end is not None and (epsilon >= end if isinstance(end, Fraction) else ball(epsilon) >= end):
        return Own(low, high, "past the largest loss"), True
    found = Own(low, Ball(1), "before the largest loss")
    if end is None or (epsilon < end if isinstance(end, Fraction) else ball(epsilon) < end):
        found = replace(found, more=bool(high < 1))
    value = total_variation(loss) if epsilon == 0 else None
    if value is not None:
        return Own(value, value, "rational numbers"), True
    try:
        if not loss.parts:
            curve = loss.gaussian.stick(ball(epsilon))
        elif len(loss.laws) == 1 and loss.laws[0][1] == 1:
            curve = loss.laws[0][0].stick(ball(epsilon))
        else:
            return found, False
    except ArithmeticError:
        return found, False
    how = "the curve of Gaussians" if not loss.parts else "the curve of one step"
    if curve.lower() > found.low:
        return Own(curve.lower(), smaller(curve, 1).upper(), how), True
    return replace(found, high=smaller(curve, 1).upper(), how=how), True


def chernoff(loss: ComposedLoss, epsilon: Fraction) -> Ball:
    """P(S = inf) + the least C(l) M(l) e^{-l eps} over some l > 0 (T03)."""
    best = Ball(1)
    def bound(exponent: Fraction) -> Ball:
        size = log(peak(exponent)) - ball(exponent * epsilon)
        for law, count in loss.laws:
            size = size + log(law.bound_moment(ball(exponent))) * count
        return size

    def size_of(x: float) -> float:
        try:
            return float_of(bound(Fraction(x)))
        except ArithmeticError:
            return math.inf

    low, high, golden = -10.0, 20.0, (math.sqrt(5) - 1) / 2  # of the logarithm
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = size_of(2**a), size_of(2**b)
    for _ in range(60):
        if at_a <= at_b:
            high, b, at_b, a = b, a, at_a, b - golden * (b - low)
            at_a = size_of(2**a)
        else:
            low, a, at_a, b = a, b, at_b, a + golden * (high - a)
            at_b = size_of(2**b)
    with suppress(ArithmeticError):
        best = smaller(loss.infinity() + exp(bound(Fraction(2**low))), 1)
    return best.upper()
