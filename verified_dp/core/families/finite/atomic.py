"""Laws with finitely many outcomes: everything is a sum over atoms (P mass, Q mass).

Each law lists its atoms; the rest is the same for all. An atom whose Q mass is the exact 0 carries infinite loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from flint import acb, arb

from verified_dp.core.kernel.balls import ball, step_down, upper_end
from verified_dp.core.kernel.law import Listed, PlainLaw
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import VALUE, words

Atom = tuple[arb, arb]
"""(P mass, Q mass) of one outcome."""

_ATOM = 100
"""Units a term of a sum over outcomes takes."""


class AtomicLaw(PlainLaw):
    """What the laws with finitely many outcomes share; a subclass gives `enclose_atoms` and `order`."""

    order: str
    decays: ClassVar[bool] = False

    def enclose_atoms(self) -> list[Atom]:
        """Enclose the masses of the outcomes under P and under Q (exact zeros where they are 0)."""
        raise NotImplementedError

    def on_sample(self, probability: Fraction, order: str) -> AtomicLaw:
        """On a Poisson sample its outcomes are the same ones."""
        return SampledAtomicLoss(self, probability, order)

    def lattice(self) -> tuple[arb, list[int]] | None:
        """(step x, indices n): the i-th finite atom has loss n_i x; None where no such x is known."""
        return None

    @proved_by("T46-atoms")
    def enclose_finite_atoms(self) -> list[Atom]:
        """The atoms with a finite loss and positive P mass."""
        return [(p, q) for p, q in self.enclose_atoms() if not p.is_zero() and not q.is_zero()]

    @proved_by("T46-atoms")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose sum (p - e^eps q)_+."""
        alpha = epsilon.exp()
        return sum(((p - alpha * q).max(arb(0)) for p, q in self.enclose_atoms()), arb(0))

    @proved_by("T60-tails")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose the sums of p and of q over the outcomes with a loss > x."""
        above, below = self.enclose_infinity_mass(), arb(0)
        for (p, q), loss in zip(self.enclose_finite_atoms(), self.enclose_losses(), strict=True):
            counts = step_down(x - loss)
            above, below = above + counts * p, below + counts * q
        return above, below

    def enclose_density(self, x: arb) -> arb:
        """0: the loss is discrete."""
        return arb(0)

    @proved_by("T60-tails")
    def enclose_loss_atoms(self) -> list[tuple[arb, arb]]:
        """(log p/q, p) of the outcomes with both masses positive."""
        return [(loss, p) for (p, _), loss in zip(self.enclose_finite_atoms(), self.enclose_losses(), strict=True)]

    @proved_by("T46-atoms")
    def enclose_infinity_mass(self) -> arb:
        """Enclose the P mass of the outcomes that Q never gives."""
        return sum((p for p, q in self.enclose_atoms() if q.is_zero()), arb(0))

    def enclose_losses(self) -> list[arb]:
        """Enclose log p/q of the finite atoms; exact where it is a dyadic number, so that a tail at it is decided."""
        return [(p / q).log() for p, q in self.enclose_finite_atoms()]

    @proved_by("T46-atoms")
    def enclose_largest_loss(self) -> arb | None:
        """Enclose the largest log p/q (-inf if there is none)."""
        bound = arb.neg_inf()
        for loss in self.enclose_losses():
            bound = bound.max(loss)
        return bound

    @proved_by("T46-atoms")
    def enclose_smallest_loss(self) -> arb | None:
        """Enclose the smallest log p/q (+inf if there is none)."""
        bound = arb.pos_inf()
        for loss in self.enclose_losses():
            bound = bound.min(loss)
        return bound

    @proved_by("T46-atoms")
    def enclose_transform(self, z: acb) -> acb:
        """Enclose sum p (p/q)^z over the finite atoms."""
        return sum((p * (z * loss).exp() for loss, p in self.enclose_loss_atoms()), acb(0))

    @proved_by("T46-atoms")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose sum p (p/q)^l over the finite atoms."""
        return sum((p * (exponent * loss).exp() for loss, p in self.enclose_loss_atoms()), arb(0))

    @proved_by("T46-atoms")
    def bound_transform_beyond(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(c+iw)| by M(c): atoms do not decay."""
        return upper_end(self.enclose_moment(tilt))

    @property
    def outcomes(self) -> int:
        """About how many there are."""
        return 8

    def value_work(self, prec: int) -> int:
        """A sum over all outcomes."""
        return (VALUE + _ATOM * self.outcomes) * words(prec)

    def lists(self, reach: int) -> bool:
        """All of them."""
        return True

    @proved_by("T192-line", "T60-tails")
    def enclose_listed(self, reach: int) -> Listed:
        """All of them; none is one of mass 0."""
        finite = zip(self.enclose_finite_atoms(), self.enclose_losses(), strict=True)
        return Listed([(loss, p) for (p, _), loss in finite] or [(arb(0), arb(0))], arb(0))


@dataclass(frozen=True)
class FiniteLoss(AtomicLaw):
    """Two exact probability vectors as `masses` = ((p, q), ...), in the order at hand."""

    masses: tuple[tuple[Fraction, Fraction], ...]
    order: str

    def on_sample(self, probability: Fraction, order: str) -> FiniteLoss:
        """Fractions stay fractions; in the order add, the mirror image."""
        mixed = tuple(((1 - probability) * q + probability * p, q) for p, q in self.masses)
        return FiniteLoss(mixed, "remove").in_order(order)

    def in_order(self, order: str) -> FiniteLoss:
        """The same step in another order: P and Q swap between remove and add."""
        swap = {self.order, order} == {"remove", "add"}
        masses = tuple((q, p) for p, q in self.masses) if swap else self.masses
        return replace(self, masses=masses, order=order)

    @proved_by("T46-atoms")
    def enclose_infinity_mass(self) -> arb:
        """Enclose the P mass of the outcomes that Q never gives; exact where it is 0 or 1."""
        return ball(sum((p for p, q in self.masses if not q), Fraction(0)))

    def enclose_atoms(self) -> list[Atom]:
        """The given masses."""
        return [(ball(p), ball(q)) for p, q in self.masses]

    @proved_by("T60-tails")
    def enclose_losses(self) -> list[arb]:
        """log p/q, exactly 0 where p = q."""
        return [ball(p / q).log() for p, q in self.masses if p and q]

    @proved_by("T47-enumeration")
    def lattice(self) -> tuple[arb, list[int]] | None:
        """Where all finite ratios p/q are powers of the smallest one above 1 (or of the largest one below)."""
        ratios = [p / q for p, q in self.masses if p and q]
        logs = [ratio if ratio > 1 else 1 / ratio for ratio in ratios if ratio != 1]
        if not logs:
            return arb(1), [0 for _ in ratios]
        base = min(logs)  # exact: fractions
        indices = [_power_of(base, ratio) for ratio in ratios]
        found = [index for index in indices if index is not None]
        return (ball(base).log(), found) if len(found) == len(indices) else None

    @property
    def outcomes(self) -> int:
        """Those of positive mass."""
        return len(self.masses)

    @proved_by("T126-exact-delta", "T46-atoms")
    def infinity_fraction(self) -> Fraction:
        """What P alone has."""
        return sum((p for p, q in self.masses if not q), Fraction(0))

    @proved_by("T126-exact-delta")
    def rational_masses(self) -> Sequence[tuple[Fraction, Fraction]]:
        """Those stated."""
        return self.masses


@proved_by("T47-enumeration")
def _power_of(base: Fraction, ratio: Fraction) -> int | None:
    """n with base^n = ratio and |n| <= 64, or None; base > 1. A power of a reduced fraction is reduced."""
    value, sign = (ratio, 1) if ratio >= 1 else (1 / ratio, -1)
    above, below = 1, 1
    for n in range(65):
        if (above, below) == (value.numerator, value.denominator):
            return sign * n
        if above > value.numerator:
            break
        above, below = above * base.numerator, below * base.denominator
    return None


@dataclass(frozen=True)
class OddsLoss(AtomicLaw):
    """P = (1-d) (e^eps, 1, others) / (e^eps + 1 + others) and mass d at infinity; Q mirrored.

    others = 0: the pair of Kairouz, Oh and Viswanath for (eps, d). others = k - 2, d = 0: k-ary randomised response.
    """

    epsilon: Fraction
    infinity_mass: Fraction
    others: int
    order: str = "symmetric"

    def enclose_atoms(self) -> list[Atom]:
        """Infinite, for, against, (neutral), never."""
        odds, rest = ball(self.epsilon).exp(), ball(1 - self.infinity_mass)
        unit = rest / (odds + 1 + self.others)
        large = unit * odds
        neutral = [(unit * self.others, unit * self.others)] if self.others else []
        sure = ball(self.infinity_mass)
        return [(sure, arb(0)), (large, unit), (unit, large), *neutral, (arb(0), sure)]

    @proved_by("T60-tails")
    def enclose_losses(self) -> list[arb]:
        """eps, -eps and 0; none where all the mass is at infinity."""
        losses = [ball(self.epsilon), ball(-self.epsilon), *([arb(0)] if self.others else [])]
        return losses if self.infinity_mass < 1 else []

    @proved_by("T46-atoms")
    def largest_loss(self) -> Fraction:
        """eps."""
        return self.epsilon

    @proved_by("T47-enumeration")
    def lattice(self) -> tuple[arb, list[int]] | None:
        """Losses eps, -eps and 0."""
        return ball(self.epsilon), [1, -1, 0] if self.others else [1, -1]

    @proved_by("T126-exact-delta", "T46-atoms")
    def infinity_fraction(self) -> Fraction:
        """What is stated."""
        return self.infinity_mass

    @proved_by("T126-exact-delta", "T56-approximate-dp")
    def rational_masses(self) -> Sequence[tuple[Fraction, Fraction]] | None:
        """Odds of e^0 = 1: nothing but the infinite losses tells P and Q apart."""
        mass = self.infinity_mass
        return ((mass, Fraction(0)), (1 - mass, 1 - mass), (Fraction(0), mass)) if self.epsilon == 0 else None


@dataclass(frozen=True)
class DiscreteLaplaceLoss(AtomicLaw):
    """Noise of mass (1-r)/(1+r) r^|x| on the integers, r = e^{-1/scale}, and an integer shift `sensitivity` >= 1."""

    scale: Fraction
    sensitivity: int
    order: str = "symmetric"

    @proved_by("T48-discrete-laplace")
    def enclose_atoms(self) -> list[Atom]:
        """The outcomes x <= 0, the D - 1 between, and x >= D: losses (D - 2x)/scale for x = 0..D."""
        shift = self.sensitivity
        powers = [(-ball(x / self.scale)).exp() for x in range(shift + 1)]
        ratio = (-ball(1 / self.scale)).exp()
        end, inner = 1 / (1 + ratio), -(-ball(1 / self.scale)).expm1() / (1 + ratio)
        between = [(inner * powers[x], inner * powers[shift - x]) for x in range(1, shift)]
        return [(end, end * powers[shift]), *between, (end * powers[shift], end)]

    @proved_by("T60-tails")
    def enclose_losses(self) -> list[arb]:
        """(D - 2x)/scale."""
        return [ball((self.sensitivity - 2 * x) / self.scale) for x in range(self.sensitivity + 1)]

    @proved_by("T48-discrete-laplace")
    def largest_loss(self) -> Fraction:
        """D/scale."""
        return self.sensitivity / self.scale

    @proved_by("T47-enumeration")
    def lattice(self) -> tuple[arb, list[int]] | None:
        """Losses (D - 2x)/scale."""
        return ball(1 / self.scale), [self.sensitivity - 2 * x for x in range(self.sensitivity + 1)]

    @property
    def outcomes(self) -> int:
        """Those of different losses."""
        return self.sensitivity + 1


@dataclass(frozen=True)
class SampledAtomicLoss(AtomicLaw):
    """A step with finitely many outcomes on a Poisson sample: base is its law in the remove order."""

    base: AtomicLaw
    probability: Fraction
    order: str

    @proved_by("T49-sampled")
    def enclose_atoms(self) -> list[Atom]:
        """((1-q) P0 + q P1, P0) with (P1, P0) the base pair; swapped in the add order."""
        share = ball(self.probability)
        mixed = [((1 - share) * without + share * with_it, without) for with_it, without in self.base.enclose_atoms()]
        return mixed if self.order == "remove" else [(without, mix) for mix, without in mixed]

    @proved_by("T60-tails")
    def enclose_losses(self) -> list[arb]:
        """log(1 - q + q e^l), l the base's losses or -inf; the opposite in the add order."""
        q, base, found = ball(self.probability), iter(self.base.enclose_losses()), []
        for with_it, without in self.base.enclose_atoms():
            if without.is_zero():
                continue
            growth = arb(-1) if with_it.is_zero() else next(base).expm1()
            found.append((q * growth).log1p())
        return found if self.order == "remove" else [-loss for loss in found]

    @property
    def outcomes(self) -> int:
        """Those of the base."""
        return self.base.outcomes

    @proved_by("T126-exact-delta", "T49-sampled")
    def infinity_fraction(self) -> Fraction | None:
        """q times the base's in the remove order, 0 in the add order: q < 1."""
        if self.order != "remove":
            return Fraction(0) if self.enclose_infinity_mass().is_zero() else None
        inner = self.base.infinity_fraction()
        return None if inner is None else self.probability * inner
