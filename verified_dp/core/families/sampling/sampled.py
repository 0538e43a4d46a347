"""Any step on a Poisson sample, from its own hockey-stick curve (T49).

base: the step's law for the pair (P1, P0), with the record and without, in the remove order. On a sample which the
record enters with probability q the pair is ((1-q) P0 + q P1, P0) in the remove order, its swap in the add order.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from verified_dp.core.kernel.balls import ball, upper_end
from verified_dp.core.kernel.law import Law, Listed, PlainLaw
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import VALUE, words


@dataclass(frozen=True)
class SampledLoss(PlainLaw):
    """0 < probability < 1; order "remove" or "add"."""

    base: Law
    probability: Fraction
    order: str

    @proved_by("T49-sampled")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose q H_{1+(alpha-1)/q}(P1 || P0), alpha = e^eps, in the remove order (1 - alpha where alpha <= 1-q).

        In the add order (1 - alpha(1-q)) H_{alpha q / (1 - alpha(1-q))}(P0 || P1), 0 where alpha (1-q) >= 1.
        """
        return self._remove(epsilon) if self.order == "remove" else self._add(epsilon)

    def _odds(self, x: arb) -> arb:
        """Enclose (e^x - 1)/q = e^y - 1, y the base's loss where this one's is x; in the add order of -x and -y."""
        return (x if self.order == "remove" else -x).expm1() / ball(self.probability)

    @proved_by("T49-sampled")
    def _remove(self, epsilon: arb) -> arb:
        odds, plain = self._odds(epsilon), -epsilon.expm1()
        if odds <= -1:
            return plain
        if not odds > -1:
            return plain.union(plain.max(ball(self.probability)))
        return ball(self.probability) * self.base.enclose_hockey_stick(odds.log1p())

    @proved_by("T49-sampled")
    def _add(self, epsilon: arb) -> arb:
        odds = self._odds(epsilon)
        room = epsilon.exp() * ball(self.probability) * (1 + odds)
        if odds <= -1:
            return arb(0)
        if not odds > -1:
            return arb(0).union(room.max(arb(0)))
        return room * self.base.in_order("add").enclose_hockey_stick(-odds.log1p())

    @proved_by("T60-tails")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose ((1-q) B0 + q B1, B0), (B1, B0) = (P1, P0)(l > y), y = log(1 + (e^x - 1)/q); (1, 1) left of all.

        In the add order (A0, (1-q) A0 + q A1), (A0, A1) = (P0, P1)(-l > v), v = -log(1 + (e^{-x} - 1)/q); (0, 0)
        right of all.
        """
        q = ball(self.probability)
        if self.order == "remove":
            with_it, without = self._base_tails(x, arb(1))
            return (1 - q) * without + q * with_it, without
        without, with_it = self._base_tails(x, arb(0))
        return without, (1 - q) * without + q * with_it

    def _base_tails(self, x: arb, outside: arb) -> tuple[arb, arb]:
        """The base's tails where its loss is meant by x; `outside` where no loss of the base is."""
        odds, base, sign = self._odds(x), self.base.in_order(self.order), 1 if self.order == "remove" else -1
        if odds <= -1:
            return outside, outside
        if odds > -1:
            return base.enclose_tails(sign * odds.log1p())
        edge = upper_end(odds)
        first, second = base.enclose_tails(sign * edge.log1p()) if edge.is_finite() else (1 - outside, 1 - outside)
        return outside.union(first), outside.union(second)

    @proved_by("T60-tails")
    def enclose_density(self, x: arb) -> arb:
        """Enclose f(y) e^{2x} / (q e^{2y}), y as for the tails, f the base's density in the same order.

        In the add order f(v) e^{v - x} / q. [0, inf] where the end of the range is in the ball.
        """
        odds, base = self._odds(x), self.base.in_order(self.order)
        if odds <= -1:
            return arb(0)
        if not odds > -1:
            return arb(0).union(arb.pos_inf())
        growth = 1 + odds
        if self.order == "remove":
            return base.enclose_density(odds.log1p()) * (2 * x).exp() / (ball(self.probability) * growth * growth)
        return base.enclose_density(-odds.log1p()) * (-x).exp() / (ball(self.probability) * growth)

    @proved_by("T60-tails")
    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """The base's, moved, and one where the base's loss is infinite: at log(1-q), -log(1-q) in the add order."""
        q, base, swapped = ball(self.probability), self.base.in_order(self.order), self.base.in_order("add")
        atoms, never = base.enclose_loss_atoms(), swapped.enclose_infinity_mass()
        if atoms is None:
            return None
        if self.order == "add":
            moved, last = [(-self._mix(-loss), mass) for loss, mass in atoms], (-(1 - q).log(), never)
        else:
            moved = [(self._mix(loss), mass * ((1 - q) * (-loss).exp() + q)) for loss, mass in atoms]
            last = (1 - q).log(), (1 - q) * never
        return moved if never.is_zero() else [*moved, last]

    @proved_by("T49-sampled")
    def enclose_infinity_mass(self) -> arb:
        """Enclose q P1(P0 = 0) in the remove order; 0 in the add order."""
        return ball(self.probability) * self.base.enclose_infinity_mass() if self.order == "remove" else arb(0)

    @proved_by("T49-sampled")
    def enclose_largest_loss(self) -> arb | None:
        """Enclose log(1-q + q e^l) with l the base's largest loss; in the add order -log(1-q + q e^{-l})."""
        if self.order == "remove":
            largest = self.base.enclose_largest_loss()
            return None if largest is None else self._mix(largest)
        swapped = self.base.in_order("add")
        largest = swapped.enclose_largest_loss()
        unbounded = largest is None or not swapped.enclose_infinity_mass().is_zero()
        return -self._mix(arb.neg_inf() if largest is None or unbounded else -largest)

    @proved_by("T49-sampled")
    def enclose_smallest_loss(self) -> arb | None:
        """Enclose log(1-q + q e^l), l the base's smallest loss or -inf; in the add order -log(1-q + q e^{-l})."""
        swapped = self.base.in_order("add")
        if self.order == "remove":
            smallest = self.base.enclose_smallest_loss()
            reached = smallest is not None and swapped.enclose_infinity_mass().is_zero()
            return self._mix(smallest if smallest is not None and reached else arb.neg_inf())
        smallest = swapped.enclose_smallest_loss()
        return None if smallest is None else -self._mix(-smallest)

    @proved_by("T49-sampled")
    def _mix(self, loss: arb) -> arb:
        q = ball(self.probability)
        return (1 - q + q * loss.exp()).log()

    @proved_by("T49-sampled")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}; L < inf], l > 0, between 0 and 1 - q + q M(l), M that of the base in the same order.

        In the add order also (1-q)^{-l}, and that alone where the base has mass at infinity.
        """
        q, base = ball(self.probability), self.base.in_order(self.order)
        convex = 1 - q + q * base.enclose_moment(exponent)
        if self.order == "remove":
            return arb(0).union(convex)
        plain = (-exponent * (1 - q).log()).exp()
        return arb(0).union(convex.min(plain) if base.enclose_infinity_mass().is_zero() else plain)

    def value_work(self, prec: int) -> int:
        """One of the base, and what mixing takes."""
        return VALUE * words(prec) + self.base.value_work(prec)

    def table_work(self, prec: int) -> int:
        """That of the base."""
        return self.base.table_work(prec)

    def lists(self, reach: int) -> bool:
        """As far as the base's outcomes are listed, where these are all that matters."""
        return self.base.listed_on_samples and self.base.lists(reach)

    @proved_by("T192-line", "T49-sampled")
    def enclose_listed(self, reach: int) -> Listed | None:
        """log(1-q + q e^l) for the base's l, of mass e^{-l} times that, or in the add order its opposite and e^{-l}."""
        base = self.base.enclose_listed(reach) if self.base.listed_on_samples else None
        if base is None:
            return None
        q, atoms = ball(self.probability), []
        for loss, mass in base.atoms:
            growth, without = 1 + q * loss.expm1(), mass * (-loss).exp()
            atoms.append((growth.log(), without * growth) if self.order == "remove" else (-growth.log(), without))
        return Listed(atoms, base.rest)

    @proved_by("T126-exact-delta", "T49-sampled")
    def infinity_fraction(self) -> Fraction | None:
        """q times the base's in the remove order, 0 in the add order: q < 1."""
        if self.order != "remove":
            return Fraction(0) if self.enclose_infinity_mass().is_zero() else None
        inner = self.base.infinity_fraction()
        return None if inner is None else self.probability * inner
