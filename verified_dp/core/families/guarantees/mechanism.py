"""Guarantees on Renyi divergences: zCDP and lists of orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Release, read_numbers


@dataclass(frozen=True)
class ZCDP(Release):
    """Anything known to be (xi, rho)-zCDP: Renyi divergences of order a at most xi + rho a, for every a above 1."""

    kind = "zcdp"
    convention = "zcdp: the bound on all Renyi divergences holds between neighbours of this relation in both directions"
    assumption = "zcdp: the stated bounds hold whatever was released before"
    rho: Fraction
    xi: Fraction | None = None

    def __init__(self, rho: Number, xi: Number | None = None) -> None:
        offset = exact.non_negative(0 if xi is None else xi, "xi")
        self._set(rho=exact.non_negative(rho, "rho"), xi=offset or None)


@dataclass(frozen=True)
class Renyi(Release):
    """Anything known by Renyi divergences: that of order renyi_orders[i] > 1 is at most epsilons[i].

    >>> Renyi(["2", "8"], ["0.1", "0.5"]).divergences
    ((Fraction(2, 1), Fraction(1, 10)), (Fraction(8, 1), Fraction(1, 2)))
    """

    kind = "renyi"
    convention = "renyi: each bound on a Renyi divergence holds between neighbours of this relation in both directions"
    not_grouped = (
        "bounds of single orders give no useful bound for a group; state zcdp, or the group's own bounds")
    assumption = "renyi: the stated bounds hold whatever was released before"
    renyi_orders: tuple[Fraction, ...]
    epsilons: tuple[Fraction, ...]

    def __init__(self, renyi_orders: Sequence[Number], epsilons: Sequence[Number]) -> None:
        orders, bounds = read_numbers(renyi_orders, "renyi_orders"), read_numbers(epsilons, "epsilons")
        if len(orders) != len(bounds):
            raise InvalidInput("epsilons", len(bounds), f"a list of {len(orders)} numbers, as renyi_orders is")
        for i, order in enumerate(orders, 1):
            if order <= 1:
                raise InvalidInput(f"renyi_orders[{i}]", order, "a rational number above 1")
        self._set(renyi_orders=orders, epsilons=bounds)

    @property
    def divergences(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The pairs (order, bound)."""
        return tuple(zip(self.renyi_orders, self.epsilons, strict=True))
