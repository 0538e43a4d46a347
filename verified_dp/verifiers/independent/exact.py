"""delta as a rational number, where it is one: the mass at infinity, and delta(0) (CERTIFICATE.md, `exact`; T126)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb, lcm, prod
from typing import Any

from .atoms import FiniteLoss, OddsLoss, SampledAtomicLoss
from .document import MAX_BITS as MAX_PRECISION
from .laws import SampledLoss
from .losses import ComposedLoss
from .pieces import AtomicProduct, ClosedFormLaw

MAX_TERMS = 20_000


def exact_infinity(loss: ComposedLoss) -> Fraction | None:
    """P(S = inf) = 1 - prod (1 - m_i)^{k_i}, where all m_i are known and short."""
    masses = {law: _infinity(law) for law, _ in loss.parts}
    if 1 in masses.values():
        return Fraction(1)
    if None in masses.values():
        return None
    finite = [(1 - Fraction(masses[law] or 0), count) for law, count in loss.parts if masses[law]]
    size = sum(count * rest.denominator.bit_length() for rest, count in finite)
    return 1 - prod((rest**count for rest, count in finite), start=Fraction(1)) if size <= MAX_PRECISION else None


def _infinity(law: Any) -> Fraction | None:
    if isinstance(law, FiniteLoss):
        return sum((p for p, q in law.masses if not q), Fraction(0))
    if isinstance(law, OddsLoss):
        return law.infinity_mass
    if isinstance(law, SampledAtomicLoss | SampledLoss):
        inner = _infinity(law.base) if law.order == "remove" else Fraction(0)
        return None if inner is None else law.probability * inner
    if isinstance(law, ClosedFormLaw | AtomicProduct):
        return exact_infinity(law.loss)
    mass = law.infinity()
    return None if mass.r else mass.middle()


def total_variation(loss: ComposedLoss) -> Fraction | None:
    """delta(0) = sum (p - q)_+ over all outcomes of all steps, where these are rational and few."""
    terms, number, size = [(Fraction(1), Fraction(1))], 1, 0
    for law, count in loss.parts:
        if isinstance(law, OddsLoss) and not law.epsilon:
            sure, rest = law.infinity_mass, 1 - law.infinity_mass
            masses: Any = ((sure, Fraction(0)), (rest, rest), (Fraction(0), sure))
        elif isinstance(law, FiniteLoss):
            masses = law.masses
        else:
            return None
        size += count * lcm(*(x.denominator for pair in masses for x in pair)).bit_length()
        number *= comb(count + len(masses) - 1, len(masses) - 1) if count <= MAX_TERMS else MAX_TERMS + 1
        if number > MAX_TERMS or size > MAX_PRECISION or loss.mean_shift_squared:
            return None
        terms = [(p * a, q * b) for a, b in _shared(masses, count) for p, q in terms]
    return None if loss.mean_shift_squared else sum((p - q for p, q in terms if p > q), Fraction(0))


def _shared(masses: Any, count: int) -> Iterator[tuple[Fraction, Fraction]]:
    """Multinomial coefficients times both products of masses, for every way to share `count` among the outcomes."""
    (p, q), *others = masses
    if not others:
        yield p**count, q**count
        return
    for first in range(count + 1):
        ways = comb(count, first)
        for a, b in _shared(others, count - first):
            yield ways * p**first * a, ways * q**first * b
