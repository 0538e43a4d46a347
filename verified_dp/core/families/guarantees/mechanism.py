"""Guarantees on Renyi divergences: zCDP and lists of orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.families.lists import check_length, read_numbers
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Kind, Release


@dataclass(frozen=True)
class ZCDP(Release):
    """Anything known to be (xi, rho)-zCDP: Renyi divergences of order a at most xi + rho a, for every a above 1."""

    stated = Kind(
        "zcdp", {"rho": exact.non_negative, "xi": exact.non_negative},
        "zcdp: the bound on all Renyi divergences holds between neighbours of this relation in both directions",
        ("zcdp: the stated bounds hold whatever was released before",), not_sampled="")
    rho: Fraction
    xi: Fraction | None = None

    def __init__(self, rho: Number, xi: Number | None = None) -> None:
        self._read(xi=xi, rho=rho)
        self._set(xi=self.xi or None)


@dataclass(frozen=True)
class Renyi(Release):
    """Anything known by Renyi divergences: that of order renyi_orders[i] > 1 is at most epsilons[i].

    >>> Renyi(["2", "8"], ["0.1", "0.5"]).divergences
    ((Fraction(2, 1), Fraction(1, 10)), (Fraction(8, 1), Fraction(1, 2)))
    """

    stated = Kind(
        "renyi", {"renyi_orders": read_numbers, "epsilons": read_numbers},
        "renyi: each bound on a Renyi divergence holds between neighbours of this relation in both directions",
        ("renyi: the stated bounds hold whatever was released before",),
        not_grouped="bounds of single orders give no useful bound for a group; state zcdp, or the group's own bounds")
    renyi_orders: tuple[Fraction, ...]
    epsilons: tuple[Fraction, ...]

    def __init__(self, renyi_orders: Sequence[Number], epsilons: Sequence[Number]) -> None:
        self._read(renyi_orders=renyi_orders, epsilons=epsilons)
        check_length(self.epsilons, "epsilons", self.renyi_orders, "renyi_orders")
        for i, order in enumerate(self.renyi_orders, 1):
            if order <= 1:
                raise InvalidInput(f"renyi_orders[{i}]", order, "a rational number above 1")

    @property
    def divergences(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The pairs (order, bound)."""
        return tuple(zip(self.renyi_orders, self.epsilons, strict=True))
