"""Several finite releases as one: the base of a Poisson sample from which they are made (T73)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from verified_dp.core.families.finite.atomic import FiniteLoss
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by

MAX_PRODUCT = 4096
"""Outcomes of a product of finite laws that are listed one by one."""


@proved_by("T73-sampled-composition")
def finite_product(parts: Sequence[tuple[Law, int]]) -> FiniteLoss | None:
    """The product of finite laws, outcomes of equal ratio put together; None where there are others or too many."""
    masses: list[tuple[Fraction, Fraction]] = [(Fraction(1), Fraction(1))]
    for law, count in parts:
        if not isinstance(law, FiniteLoss) or count > MAX_PRODUCT:
            return None
        for _ in range(count):
            if len(masses) * len(law.masses) > MAX_PRODUCT:
                return None
            masses = _merged((p * a, q * b) for p, q in masses for a, b in law.masses)
    return FiniteLoss(tuple(masses), "remove")


def _merged(masses: Iterable[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    found: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
    for p, q in masses:
        if p or q:
            ratio = p / q if q else None
            old = found.get(ratio, (Fraction(0), Fraction(0)))
            found[ratio] = (old[0] + p, old[1] + q)
    return list(found.values())
