"""Random laws of few outcomes, and delta by the sum over all sequences of outcomes of all steps."""

from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction
from itertools import product

from flint import arb, ctx

from verified_dp.core.families.finite.atomic import AtomicLaw, FiniteLoss
from verified_dp.core.kernel.balls import ball


def finite_law(rng: random.Random, atoms: int, infinite: bool) -> FiniteLoss:
    """Random rational masses; the last outcome may be one that Q never gives."""
    sides = []
    for side in range(2):
        parts = [rng.randint(1, 30) for _ in range(atoms)] + [rng.randint(1, 3) if infinite and not side else 0]
        sides.append([Fraction(part, sum(parts)) for part in parts])
    return FiniteLoss(tuple((p, q) for p, q in zip(*sides, strict=True) if p or q), "remove")


def enumerated(parts: Iterable[tuple[AtomicLaw, int]], epsilon: Fraction) -> arb:
    """sum (p - e^eps q)_+ over all sequences of outcomes of all steps."""
    with ctx.workprec(max(ctx.prec, 300)):
        total, growth = arb(0), ball(epsilon).exp()
        for row in product(*(law.enclose_atoms() for law, count in parts for _ in range(count))):
            p, q = arb(1), growth
            for one, other in row:
                p, q = p * one, q * other
            total += (p - q).max(arb(0))
        return total
