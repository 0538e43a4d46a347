"""What is known of delta without a sum: at and past the largest loss, before it, and where delta is a rational number.

    past the largest finite loss    delta(eps) = P(S = inf) (T07, T44)
    at eps = 0, rational masses     delta(0), a rational number (T126)
    elsewhere                       P(S = inf) <= delta(eps) <= 1, and delta is larger before the largest loss (T127)

An enclosure in balls never decides delta(eps) <= target where both are equal. Fractions do, where they are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, TypeGuard, runtime_checkable

from flint import arb, ctx, fmpz

from verified_dp.core.engines.direct import direct_parts, offers
from verified_dp.core.kernel.balls import BOUND_BITS, ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.ends import MAX_BITS, End, end_of
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.witnesses import Witness
from verified_dp.core.kernel.work import EXPONENTIAL, Work, nothing, words

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


@runtime_checkable
class RationalEnd(Protocol):
    """A law whose largest finite loss is a known rational number."""

    def largest_loss(self) -> Fraction:
        """The supremum of the finite loss."""


def has_rational_end(law: Law) -> TypeGuard[RationalEnd]:
    """Whether it is."""
    return offers(law, RationalEnd)


@proved_by("T07-ends")
def largest_loss(loss: ComposedLoss) -> Fraction | None:
    """The supremum of S where every law's is a known rational number; None elsewhere."""
    ends = [(law.largest_loss() if has_rational_end(law) else None, count) for law, count in loss.laws]
    known = [end * count for end, count in ends if end is not None]
    return sum(known, Fraction(0)) if len(known) == len(ends) else None


@proved_by("T07-ends")
def is_past_support(loss: ComposedLoss, epsilon: Fraction) -> bool:
    """Whether eps is certainly at least the largest finite loss."""
    exact = largest_loss(loss)
    if exact is not None:
        return epsilon >= exact
    largest = loss.enclose_largest_loss()
    return largest is not None and bool(ball(epsilon) >= largest)


@proved_by("T127-support-end")
def falls_until(loss: ComposedLoss, epsilon: Fraction, mass: arb | Fraction) -> End | None:
    """An end e such that delta(x) > P(S = inf) for every x < e: eps, or infinity where no finite loss is the largest.

    mass: P(S = inf), or a ball around it. None where eps is not certainly at most the largest finite loss, or where no
    loss is certainly finite.
    """
    if not mass < 1:
        return None
    exact = largest_loss(loss)
    if exact is not None:
        return end_of(epsilon) if epsilon <= exact else None
    largest = loss.enclose_largest_loss()
    if largest is None:
        return Dyadic.infinity()
    return end_of(epsilon) if ball(epsilon) <= largest else None


@proved_by("T07-ends", "T44-infinity-mass")
def enclose_past_support(loss: ComposedLoss, epsilon: Fraction, prec: int = BOUND_BITS) -> Bounds:
    """delta(eps) is the infinity mass where eps is at least the largest finite loss; else at least that, at most 1.

    The lower end holds at every eps.
    """
    with ctx.workprec(prec):
        mass = loss.enclose_infinity_mass()
        upper = upper_end(mass).min(arb(1)) if is_past_support(loss, epsilon) else arb(1)
        return Bounds(lower_end(mass).max(arb(0)), upper, {}, everywhere=True)


@proved_by("T126-exact-delta", "T127-support-end")
def enclose_by_ends(loss: ComposedLoss, epsilon: Fraction, prec: int) -> Bounds:
    """The same with what is known as a fraction, as delta(0) may be, and with how far delta certainly falls."""
    with ctx.workprec(prec):
        mass = exact_infinity_mass(loss)
        past = is_past_support(loss, epsilon)
        value = mass if past else None
        if value is None and epsilon == 0:
            value = total_variation(loss)
        if value is not None and value != mass:
            return Bounds(lower_end(ball(value)), upper_end(ball(value)), {}, value, value)
        known = loss.enclose_infinity_mass() if mass is None else ball(mass)
        upper = upper_end(known).min(arb(1)) if past or value is not None else arb(1)
        until = falls_until(loss, epsilon, known if mass is None else mass)
        return Bounds(lower_end(known).max(arb(0)), upper, {}, mass, value, True, until)


@dataclass(frozen=True)
class ExactWitness:
    """delta(eps) without a sum. prec: the bits of what is not known as a fraction.

    tells: its values are there at once, and may say of delta what holds at other eps than the one that is asked for.
    """

    prec: int

    kind: ClassVar[str] = "exact"
    method: ClassVar[str] = "closed-form"
    tells: ClassVar[bool] = True

    def applies(self, loss: ComposedLoss) -> bool:
        """To every loss."""
        return True

    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> ExactValues:
        """Everything depends on eps."""
        return ExactValues(self, loss)

    def work(self, loss: ComposedLoss) -> Work:
        """Of the ends of all laws, and of the terms at eps = 0."""
        ends = 2 * sum(law.transform_work(self.prec) for law, _ in direct_parts(loss))
        terms = 0 if loss.only_moments else _TERM * (count_terms(loss) or 0) * words(MAX_BITS)
        return Work(8 * EXPONENTIAL * words(self.prec) + ends + terms)


_TERM = 4
"""Units that one term takes per word."""


@dataclass(frozen=True)
class ExactValues:
    """A loss whose ends are compared."""

    witness: ExactWitness
    loss: ComposedLoss

    @proved_by("T07-ends", "T126-exact-delta", "T127-support-end")
    def delta(self, epsilon: Fraction) -> Bounds:
        """All that is known; of losses known by their moments alone, nothing but their infinity mass and support."""
        known = enclose_past_support if self.loss.only_moments else enclose_by_ends
        return known(self.loss, epsilon, self.witness.prec)


@dataclass(frozen=True)
class EarlierSupport:
    """P(S = inf) <= delta(eps) <= 1, both P(S = inf) past the largest loss."""

    prec: int

    kind: ClassVar[str] = "support"
    method: ClassVar[str] = "closed-form"
    sources: ClassVar[Mapping[str, str]] = {}

    def now(self) -> Witness:
        """The exact one says as much, or more."""
        return ExactWitness(self.prec)


@dataclass(frozen=True)
class EarlierEnd(EarlierSupport):
    """delta(x) exceeds the infinity mass, below 1, at every x < eps (T127)."""

    kind: ClassVar[str] = "end"


@dataclass(frozen=True)
class EarlierEndless(EarlierSupport):
    """delta(x) exceeds the infinity mass, below 1, at every x (T127)."""

    kind: ClassVar[str] = "endless"
