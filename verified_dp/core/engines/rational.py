"""What is known of delta without rounding: rational values (T126), and that it still falls before the support's end.

An enclosure in balls never decides delta(eps) <= target where both are equal. These do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb, ctx, fmpz

from verified_dp.core.engines.support import SupportWitness, is_past_support
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.ends import MAX_BITS
from verified_dp.core.kernel.errors import Undecided
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import Work, nothing, words

MAX_TERMS = 20_000
"""Outcomes of a product of finite laws that are summed one by one."""

Masses = Sequence[tuple[Fraction, Fraction]]


@proved_by("T126-exact-delta", "T44-infinity-mass")
def exact_infinity_mass(loss: ComposedLoss) -> Fraction | None:
    """P(S = inf) = 1 - prod (1 - m_i)^{k_i}; None where an m_i is not known, or the result is too long."""
    found = [(law.infinity_fraction(), count) for law, count in loss.parts]
    known = [(mass, count) for mass, count in found if mass is not None]
    if any(mass == 1 for mass, _ in known):
        return Fraction(1)
    bits = sum(count * mass.denominator.bit_length() for mass, count in known if mass)
    if len(known) < len(found) or bits > MAX_BITS:
        return None
    rest = Fraction(1)
    for mass, count in known:
        rest *= (1 - mass) ** count if mass else 1
    return 1 - rest


def count_terms(loss: ComposedLoss) -> int | None:
    """How many terms delta(0) has; None where they are too many, too long, or not all rational."""
    terms, bits = 1, 0
    for law, count in loss.parts:
        masses = law.rational_masses()
        if masses is None or count > MAX_TERMS:
            return None
        bits += count * int(_common(masses)).bit_length()
        terms *= int(fmpz.bin_uiui(count + len(masses) - 1, len(masses) - 1))
        if terms > MAX_TERMS or bits > MAX_BITS:
            return None
    return None if loss.mean_shift_squared else terms


def _common(masses: Masses) -> fmpz:
    """The least common denominator."""
    common = fmpz(1)
    for number in (number for pair in masses for number in pair):
        common = common.lcm(fmpz(number.denominator))
    return common


@proved_by("T126-exact-delta")
def total_variation(loss: ComposedLoss) -> Fraction | None:
    """delta(0) = sum (p - q)_+ over all outcomes of all steps; None where `count_terms` is."""
    if count_terms(loss) is None:
        return None
    terms, scale = [(fmpz(1), fmpz(1))], fmpz(1)
    for law, count in loss.parts:
        masses = law.rational_masses() or ()
        common = _common(masses)
        whole = [(_scaled(p, common), _scaled(q, common)) for p, q in masses]
        terms = [(p * a, q * b) for a, b in _shared(whole, count) for p, q in terms]
        scale *= common**count
    return Fraction(int(sum((p - q for p, q in terms if p > q), fmpz(0))), int(scale))


def _scaled(number: Fraction, common: fmpz) -> fmpz:
    return common // number.denominator * number.numerator


@proved_by("T126-exact-delta", "T47-enumeration")
def _shared(masses: Sequence[tuple[fmpz, fmpz]], count: int) -> Iterator[tuple[fmpz, fmpz]]:
    """The multinomial coefficient times both products of masses, for every way to share `count` among the outcomes."""
    *others, (last_p, last_q) = masses
    open_shares = [(count, fmpz(1), fmpz(1))]
    for p, q in others:
        wider = []
        for rest, above, below in open_shares:
            for taken in range(rest):
                ways = fmpz.bin_uiui(rest, taken)
                wider.append((rest - taken, ways * above * p**taken, ways * below * q**taken))
            yield above * p**rest, below * q**rest
        open_shares = wider
    for rest, above, below in open_shares:
        yield above * last_p**rest, below * last_q**rest


@proved_by("T126-exact-delta")
def exact_delta(loss: ComposedLoss, epsilon: Fraction) -> Fraction | None:
    """delta(eps) where it is known as a rational number: past the support, and at 0 for rational masses."""
    mass = exact_infinity_mass(loss) if is_past_support(loss, epsilon) else None
    return total_variation(loss) if mass is None and epsilon == 0 else mass


@dataclass(frozen=True)
class ExactWitness:
    """delta(eps) as a rational number. prec: the bits of the comparison with the largest loss."""

    prec: int

    kind: ClassVar[str] = "exact"
    method: ClassVar[str] = "closed-form"

    def applies(self, loss: ComposedLoss) -> bool:
        """Wherever the loss itself is known."""
        return not loss.only_moments

    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> ExactValues:
        """Everything depends on eps."""
        return ExactValues(self, loss)

    def work(self, loss: ComposedLoss) -> Work:
        """Of the ends of all laws, and of the terms at eps = 0."""
        return Work(SupportWitness(self.prec).work(loss).units + _TERM * (count_terms(loss) or 0) * words(MAX_BITS))


_TERM = 4
"""Units that one term takes per word."""


@dataclass(frozen=True)
class ExactValues:
    """A loss whose delta is a rational number where it is asked for."""

    witness: ExactWitness
    loss: ComposedLoss

    def delta(self, epsilon: Fraction) -> Bounds:
        """delta(eps) itself. Raises Undecided where it is not known."""
        with ctx.workprec(self.witness.prec):
            value = exact_delta(self.loss, epsilon)
            if value is None:
                raise Undecided("delta is not known as a rational number here")
            return Bounds(lower_end(ball(value)), upper_end(ball(value)), {}, value, value)


@proved_by("T127-support-end")
def is_within_support(loss: ComposedLoss, epsilon: Fraction) -> bool:
    """Whether some losses are finite and eps is certainly at most their supremum: then delta falls up to eps."""
    mass = exact_infinity_mass(loss)
    if not (loss.enclose_infinity_mass() < 1 if mass is None else mass < 1):
        return False
    exact = loss.largest_loss()
    if exact is not None:
        return epsilon <= exact
    largest = loss.enclose_largest_loss()
    return largest is None or bool(ball(epsilon) <= largest)


@dataclass(frozen=True)
class EndWitness:
    """delta(x) exceeds the infinity mass, below 1, at every x < eps: eps is at most the largest finite loss (T127).

    prec: the bits of the comparison.
    """

    prec: int

    kind: ClassVar[str] = "end"
    method: ClassVar[str] = "closed-form"
    strict: ClassVar[bool] = True

    def applies(self, loss: ComposedLoss) -> bool:
        """Wherever the loss itself is known."""
        return not loss.only_moments

    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> EndValues:
        """Everything depends on eps."""
        return EndValues(self, loss)

    def work(self, loss: ComposedLoss) -> Work:
        """Of the ends of all laws."""
        return SupportWitness(self.prec).work(loss)


@dataclass(frozen=True)
class EndlessWitness(EndWitness):
    """delta(x) exceeds the infinity mass, below 1, at every x: no finite loss is the largest (T127)."""

    kind: ClassVar[str] = "endless"
    everywhere: ClassVar[bool] = True

    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> EndlessValues:
        """Nothing depends on eps."""
        return EndlessValues(self, loss)


@dataclass(frozen=True)
class EndValues:
    """A loss whose end is compared."""

    witness: EndWitness
    loss: ComposedLoss

    def delta(self, epsilon: Fraction) -> Bounds:
        """P(S = inf) <= delta(eps) <= 1, at every smaller eps delta > P(S = inf). Raises Undecided past the end."""
        with ctx.workprec(self.witness.prec):
            if not is_within_support(self.loss, epsilon):
                raise Undecided("whether there are larger losses")
            mass = exact_infinity_mass(self.loss)
            lower = self.loss.enclose_infinity_mass() if mass is None else ball(mass)
            return Bounds(lower_end(lower).max(arb(0)), arb(1), {}, mass)


@dataclass(frozen=True)
class EndlessValues(EndValues):
    """A loss that exceeds every bound."""

    @proved_by("T127-support-end")
    def delta(self, epsilon: Fraction) -> Bounds:
        """As at one end, which there must not be. Raises Undecided."""
        if self.loss.largest_loss() is not None or self.loss.enclose_largest_loss() is not None:
            raise Undecided("whether every loss is exceeded")
        return super().delta(epsilon)
