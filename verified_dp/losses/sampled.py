"""Any step on a Poisson sample, from its own hockey-stick curve (T49).

base: the step's law for the pair (P1, P0), with the record and without, in the remove order. On a sample which the
record enters with probability q the pair is ((1-q) P0 + q P1, P0) in the remove order, its swap in the add order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb

from verified_dp.kernel.balls import ball
from verified_dp.losses.law import Law
from verified_dp.theorems import proved_by


@dataclass(frozen=True)
class SampledLoss:
    """0 < probability < 1; order "remove" or "add"."""

    base: Law
    probability: Fraction
    order: str

    def in_order(self, order: str) -> SampledLoss:
        """The same step in the other order."""
        return replace(self, order=order)

    @proved_by("T49-sampled")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose q H_{1+(alpha-1)/q}(P1 || P0), alpha = e^eps, in the remove order (1 - alpha where alpha <= 1-q).

        In the add order (1 - alpha(1-q)) H_{alpha q / (1 - alpha(1-q))}(P0 || P1), 0 where alpha (1-q) >= 1.
        """
        return self._remove(epsilon) if self.order == "remove" else self._add(epsilon)

    def _remove(self, epsilon: arb) -> arb:
        q, excess = ball(self.probability), epsilon.expm1()
        inner = 1 + excess / q
        if inner <= 0:
            return -excess
        if not inner > 0:
            return (-excess).union((-excess).max(q))
        return q * self.base.enclose_hockey_stick(inner.log())

    def _add(self, epsilon: arb) -> arb:
        q, alpha = ball(self.probability), epsilon.exp()
        room = 1 - alpha * (1 - q)
        if room <= 0:
            return arb(0)
        if not room > 0:
            return arb(0).union(room.max(arb(0)))
        return room * self.base.in_order("add").enclose_hockey_stick((alpha * q / room).log())

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
