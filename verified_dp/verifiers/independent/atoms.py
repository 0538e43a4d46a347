"""Laws with finitely many outcomes: everything is a sum over their masses under P and under Q (T46)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import chain, product, repeat
from typing import Any, ClassVar

from .balls import (
    Ball,
    ball,
    exp,
    expm1,
    larger,
    log,
    log1p,
    remembered,
    smaller,
    total,
)
from .laws import Law, Tails, step_down

Atom = tuple[Ball, Ball]
"""(P mass, Q mass) of an outcome; the exact 0 where it is 0."""


class AtomicLaw(Law):
    """A subclass gives `atoms`, and the losses where these are known better than as log(p/q)."""

    direct: ClassVar[bool] = True

    def atoms(self) -> list[Atom]:
        raise NotImplementedError

    @remembered
    def losses(self) -> list[Ball]:
        """Of the atoms with both masses positive, in their order."""
        return [log(p / q) for p, q in self.finite_atoms()]

    def lattice(self) -> tuple[Ball, list[int]] | None:
        """(step, indices): the i-th finite atom has loss index * step; None where no such step is known."""
        return None

    @remembered
    def finite_atoms(self) -> list[Atom]:
        return [(p, q) for p, q in self.atoms() if not p.is_zero() and not q.is_zero()]

    def tails(self, x: Ball) -> Tails:
        above, below = self.infinity(), Ball(0)
        for (p, q), loss in zip(self.finite_atoms(), self.losses(), strict=True):
            counts = step_down(x - loss)
            above, below = above + counts * p, below + counts * q
        return above, below

    def stick(self, x: Ball) -> Ball:
        """sum (p - e^x q)_+."""
        alpha = exp(x)
        return total(larger(p - alpha * q, 0) for p, q in self.atoms())

    @remembered
    def infinity(self) -> Ball:
        return total(p for p, q in self.atoms() if q.is_zero())

    @remembered
    def largest(self) -> Any:
        return reduce(larger, self.losses() or [Ball(-(2**40))])

    @remembered
    def smallest(self) -> Ball | None:
        return reduce(smaller, self.losses() or [Ball(2**40)])

    def moment(self, exponent: Ball) -> Ball:
        return total(p * exp(exponent * loss)
                     for (p, _), loss in zip(self.finite_atoms(), self.losses(), strict=True))


@dataclass(frozen=True)
class FiniteLoss(AtomicLaw):
    """Exact (P, Q) masses of the outcomes, in the order at hand."""

    masses: tuple[tuple[Fraction, Fraction], ...]
    order: str

    def infinity(self) -> Ball:
        return ball(sum((p for p, q in self.masses if not q), Fraction(0)))

    def in_order(self, order: str) -> FiniteLoss:
        if sorted((self.order, order)) != ["add", "remove"]:
            return replace(self, order=order)
        return FiniteLoss(tuple(pair[::-1] for pair in self.masses), order)

    def atoms(self) -> list[Atom]:
        return [(ball(p), ball(q)) for p, q in self.masses]

    def losses(self) -> list[Ball]:
        return [Ball(0) if p == q else log(ball(p / q)) for p, q in self.masses if p and q]

    def lattice(self) -> tuple[Ball, list[int]] | None:
        """Where all finite ratios are powers (up to 64) of the smallest one above 1."""
        ratios = [p / q for p, q in self.masses if p and q]
        base = min((max(r, 1 / r) for r in ratios if r != 1), default=None)
        if base is None:
            return Ball(1), [0 for _ in ratios]
        indices = [next((n for n in range(-64, 65) if base**n == ratio), None) for ratio in ratios]
        return None if None in indices else (log(ball(base)), [int(n or 0) for n in indices])


class Odds(AtomicLaw):
    """P = (1-d)(e^E, 1, others)/(e^E + 1 + others) and d at infinity; Q mirrored (T54, T56)."""

    others: int

    def largest(self) -> Fraction:
        """E."""
        raise NotImplementedError

    def mass(self) -> Ball:
        """d."""
        raise NotImplementedError

    def atoms(self) -> list[Atom]:
        odds, sure = exp(self.largest()), self.mass()
        unit = (1 - sure) / (odds + 1 + self.others)
        neutral = [(unit * self.others, unit * self.others)] if self.others else []
        return [(sure, Ball(0)), (unit * odds, unit), (unit, unit * odds), *neutral, (Ball(0), sure)]

    def losses(self) -> list[Ball]:
        return [self.lattice()[0] * index for index in self.lattice()[1]]

    def lattice(self) -> tuple[Ball, list[int]]:
        return ball(self.largest()), [1, -1, 0] if self.others else [1, -1]


@dataclass(frozen=True)
class OddsLoss(Odds):
    epsilon: Fraction
    infinity_mass: Fraction
    others: int
    order: str = "symmetric"

    def largest(self) -> Fraction:
        return self.epsilon

    def mass(self) -> Ball:
        return ball(self.infinity_mass)


@dataclass(frozen=True)
class GroupOddsLoss(Odds):
    """For (g eps, d_g), d_g = delta (1 + e^eps + ... + e^{(g-1) eps}) < 1 (T72)."""

    epsilon: Fraction
    infinity_mass: Fraction
    size: int
    order: str = "symmetric"
    others = 0

    def largest(self) -> Fraction:
        return self.size * self.epsilon

    def mass(self) -> Ball:
        factor = expm1(self.size * self.epsilon) / expm1(self.epsilon) if self.epsilon else ball(self.size)
        return ball(self.infinity_mass) * factor


def two_sided(scale: Fraction, reach: int) -> tuple[list[Ball], list[Ball]]:
    """For noise (1-r)/(1+r) r^|x| and x = 0..reach: its factor, at both ends that of all outcomes beyond too; r^x."""
    falling = [exp(-x / scale) for x in range(reach + 1)]
    below_and_above = 1 + exp(-1 / scale)
    inside = -expm1(-1 / scale) / below_and_above
    return [1 / below_and_above if x in (0, reach) else inside for x in range(reach + 1)], falling


@dataclass(frozen=True)
class DiscreteLaplaceLoss(AtomicLaw):
    """Noise (1-r)/(1+r) r^|x|, r = e^{-1/scale}, an integer shift D: losses (D - 2x)/scale for x = 0..D (T48)."""

    scale: Fraction
    sensitivity: int
    order: str = "symmetric"

    @remembered
    def atoms(self) -> list[Atom]:
        factors, near = two_sided(self.scale, self.sensitivity)
        return [(factor * p, factor * q) for factor, p, q in zip(factors, near, reversed(near), strict=True)]

    def losses(self) -> list[Ball]:
        return [ball((self.sensitivity - 2 * x) / self.scale) for x in range(self.sensitivity + 1)]

    def largest(self) -> Fraction:
        return self.sensitivity / self.scale

    def lattice(self) -> tuple[Ball, list[int]]:
        return ball(1 / self.scale), [self.sensitivity - 2 * x for x in range(self.sensitivity + 1)]


@dataclass(frozen=True)
class SampledAtomicLoss(AtomicLaw):
    """((1-q) P0 + q P1, P0) outcome by outcome, base: the law of (P1, P0); swapped in the add order (T49)."""

    base: Any
    probability: Fraction
    order: str

    @remembered
    def atoms(self) -> list[Atom]:
        q = ball(self.probability)
        mixed = [((1 - q) * without + q * with_it, without) for with_it, without in self.base.atoms()]
        return mixed if self.order == "remove" else [(without, mix) for mix, without in mixed]

    @remembered
    def losses(self) -> list[Ball]:
        base, found = iter(self.base.losses()), []
        for with_it, without in self.base.atoms():
            if not without.is_zero():
                grown = Ball(-1) if with_it.is_zero() else expm1(next(base))
                found.append(log1p(grown * self.probability))
        return found if self.order == "remove" else [-loss for loss in found]


def finite_product(parts: Sequence[tuple[Law, int]], most: int = 4096) -> FiniteLoss | None:
    """The product of finite laws, outcomes of equal ratio together; None where there are others or too many."""
    factors = [(law.masses, count) for law, count in parts if isinstance(law, FiniteLoss) and count <= most]
    if len(factors) < len(parts):
        return None
    masses = [(Fraction(1), Fraction(1))]
    for factor in chain.from_iterable(repeat(one, count) for one, count in factors):
        if len(masses) * len(factor) > most:
            return None
        masses = by_ratio((p * a, q * b) for (p, q), (a, b) in product(masses, factor))
    return FiniteLoss(tuple(masses), "remove")


def by_ratio(masses: Iterable[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """Outcomes of equal ratio p/q put together, in order of first appearance."""
    groups: dict[Fraction | None, list[tuple[Fraction, Fraction]]] = {}
    for pair in masses:
        if any(pair):
            groups.setdefault(pair[0] / pair[1] if pair[1] else None, []).append(pair)
    return [(sum((p for p, _ in group), Fraction(0)), sum((q for _, q in group), Fraction(0)))
            for group in groups.values()]
