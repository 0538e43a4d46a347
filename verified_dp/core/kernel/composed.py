"""The privacy loss of a composition: independent laws with counts, all Gaussian steps merged into one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from flint import acb, arb

from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by

if TYPE_CHECKING:
    from verified_dp.core.kernel.witnesses import Values, Witness

_View = TypeVar("_View")


@dataclass(frozen=True)
class ComposedLoss:
    """S = sum of `count` copies of each law in `parts`, plus one Gaussian loss N(mu^2/2, mu^2).

    parts: pairwise different laws with counts >= 1; mean_shift_squared: mu^2 = the sum of (mean shift / noise)^2
    over all plain Gaussian steps (exact, 0 where there are none).
    """

    order: str
    parts: tuple[tuple[Law, int], ...]
    mean_shift_squared: Fraction

    def once(self, view: Callable[[ComposedLoss], _View]) -> _View:
        """What an engine makes of the loss, made once."""
        if view not in self._views:
            self._views[view] = view(self)
        found: _View = self._views[view]
        return found

    @cached_property
    def _views(self) -> dict[Callable[[ComposedLoss], Any], Any]:
        return {}

    @cached_property
    def only_moments(self) -> bool:
        """Whether some part is known by bounds on its moments alone: then only one Renyi order bounds delta."""
        return any(law.only_moments for law, _ in self.parts)

    @cached_property
    def laws(self) -> tuple[tuple[Law, int], ...]:
        """All laws, the Gaussian one included."""
        return (*self.parts, (self._gaussian, 1)) if self.mean_shift_squared else self.parts

    @property
    def _gaussian(self) -> Law:
        from verified_dp.core.kernel.gaussian import GaussianLoss  # where there is one

        return GaussianLoss(self.mean_shift_squared, self.order)

    def in_order(self, order: str) -> ComposedLoss:
        """The loss of the same steps composed in another order."""
        return replace(self, order=order, parts=tuple((law.in_order(order), k) for law, k in self.parts))

    def read(self, witness: Witness, values: Values) -> Values:
        """What the values of a witness say of delta: just that. InvalidInput where they say nothing."""
        return values

    def equals_in_law(self, other: ComposedLoss) -> bool:
        """Whether both orders are the same composition: of laws that are their own mirror images."""
        return (self.parts, self.mean_shift_squared) == (other.parts, other.mean_shift_squared)

    @proved_by("T07-ends")
    def enclose_largest_loss(self) -> arb | None:
        """Enclose the supremum of S where it is finite: the sum of the laws' suprema; None where that is infinite."""
        return _sum_of((law.enclose_largest_loss(), count) for law, count in self.laws)

    @proved_by("T07-ends")
    def enclose_smallest_loss(self) -> arb | None:
        """Enclose the infimum of S: the sum of the laws' infima; None where it is -inf."""
        return _sum_of((law.enclose_smallest_loss(), count) for law, count in self.laws)

    def enclose_alone(self, epsilon: arb) -> arb:
        """Enclose delta(eps) where there is at most one law, one time."""
        law = self.laws[0][0] if self.laws else self._gaussian
        return law.enclose_hockey_stick(epsilon)

    @proved_by("T44-infinity-mass")
    def enclose_infinity_mass(self) -> arb:
        """Enclose P(S = inf) = 1 - prod (1 - m_i)^{k_i}."""
        masses = [(law.enclose_infinity_mass(), count) for law, count in self.parts]
        if any(mass == 1 for mass, _ in masses):
            return arb(1)
        return -sum((count * (-mass).log1p() for mass, count in masses), arb(0)).expm1()

    @proved_by("T15-gaussian")
    def enclose_gaussian_exponent(self, z: acb) -> acb:
        """Enclose log of the Gaussian steps' transform: z(z+1) mu^2/2."""
        if not self.mean_shift_squared:
            return acb(0)
        return z * (z + 1) * (ball(self.mean_shift_squared) / 2)


def _sum_of(ends: Iterable[tuple[arb | None, int]]) -> arb | None:
    """The sum of count * end; None where one end is None."""
    total = arb(0)
    for end, count in ends:
        if end is None:
            return None
        total += count * end
    return total
