"""What an engine answered: bounds on delta of one order at one eps, with the witness and the values they come from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.kernel.balls import ball, upper_dyadic
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import InconsistentEnclosures, Undecided
from verified_dp.core.kernel.evaluation import Evaluation
from verified_dp.core.kernel.witnesses import Values, Witness


@dataclass(frozen=True)
class Answer:
    """Bounds on delta(eps) of one order with the witness that gives them, and its eps-independent values.

    ends: where the bounds are the intersection of two answers, the one with the lower and the one with the upper end.
    """

    epsilon: Fraction
    witness: Witness
    values: Values
    bounds: Bounds
    ends: tuple[Answer, Answer] | None = None

    @property
    def method(self) -> str:
        """That of the witness."""
        return self.witness.method

    def at(self, epsilon: Fraction) -> Answer:
        """The same witness and values at another eps; 0 and 1 where they say nothing of it, as of a rational delta."""
        if self.ends is not None:
            return intersect([end.at(epsilon) for end in self.ends])
        bounds = Bounds(arb(0), arb(1), {})
        with suppress(Undecided):
            bounds = self.values.delta(epsilon)
        return Answer(epsilon, self.witness, self.values, bounds)

    def by_side(self) -> list[tuple[str, Answer]]:
        """(side, answer): whose witness proves both ends, or the lower and the upper one."""
        return [("both", self)] if self.ends is None else list(zip(("lower", "upper"), self.ends, strict=True))

    def proving(self, side: str) -> Answer:
        """The answer that proves this end."""
        return dict(self.by_side()).get(side, self)

    def evaluation(self, quantity: str, order: str, side: str) -> Evaluation[Dyadic]:
        """What it states, with ends that are rounded outward to the current precision."""
        return Evaluation(quantity, order, self.epsilon, side, self.witness, *self.bounds.ends(), self.budget(),
                          self.bounds.everywhere, self.bounds.until)

    def budget(self) -> dict[str, Dyadic]:
        """What each source of error adds at most."""
        return {name: upper_dyadic(size) for name, size in self.bounds.budget.items()}


def width_bits(bounds: Bounds) -> float:
    """-log2 of the relative width (inf if exact, negative or zero if nothing is known): it only steers the search."""
    with ctx.workprec(64):
        width, size = bounds.upper - bounds.lower, bounds.upper
        if width == 0:
            return math.inf
        if not bounds.lower > 0:
            return 0.0
        return -float((width / size).log()) / math.log(2)


def is_narrow(bounds: Bounds, bits: float) -> bool:
    """Whether the relative width is at most 2^-bits, about: as `width_bits`, in less time."""
    width = bounds.upper - bounds.lower
    return bool((bounds.lower > 0 and width * 2.0**min(bits, 1000.0) <= bounds.upper) or width == 0)


def intersect(answers: Sequence[Answer]) -> Answer:
    """The intersection of enclosures of one number: the narrowest where that is inside of all others.

    Raises: InconsistentEnclosures where two are disjoint.
    """
    for one in answers:
        for other in answers:
            if one.bounds.lower > other.bounds.upper:
                raise InconsistentEnclosures(f"{one.method} and {other.method} give disjoint enclosures of delta")
    best = low = high = max(answers, key=lambda answer: width_bits(answer.bounds))
    for answer in answers:
        low = answer if answer.bounds.lower > low.bounds.lower else low
        high = answer if answer.bounds.upper < high.bounds.upper else high
    if low is high:
        return low
    ends = low.proving("lower"), high.proving("upper")
    bounds = Bounds(low.bounds.lower, high.bounds.upper, best.bounds.budget,
                    low.bounds.exact_lower, high.bounds.exact_upper)
    return Answer(best.epsilon, best.witness, best.values, bounds, ends)


def exceed(bounds: Bounds, target: Fraction) -> bool:
    """Whether delta > target is certain."""
    return bool(bounds.lower > ball(target)) if bounds.exact_lower is None else bounds.exact_lower > target


def stay_below(bounds: Bounds, target: Fraction) -> bool:
    """Whether delta <= target is certain."""
    return bool(bounds.upper <= ball(target)) if bounds.exact_upper is None else bounds.exact_upper <= target
