"""Laplace noise on a number or a vector, and selections of bounded range."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Kind, Release


@dataclass(frozen=True)
class Laplace(Release):
    """Laplace noise of the given scale on one real number that neighbours change by at most `sensitivity`.

    >>> Laplace("20", 1).ratio
    Fraction(1, 20)
    """

    stated = Kind(
        "laplace", {"scale": exact.positive, "sensitivity": exact.positive},
        "laplace: one real number, which neighbours change by at most the stated sensitivity",
        ("laplace: exact Laplace noise of the stated scale, fresh in each release",),
        adds_up="sensitivity",
        not_sampled="")
    scale: Fraction
    sensitivity: Fraction

    def __init__(self, scale: Number, sensitivity: Number) -> None:
        self._read(scale=scale, sensitivity=sensitivity)

    @property
    def ratio(self) -> Fraction:
        """sensitivity / scale: the pure epsilon of one release."""
        return self.sensitivity / self.scale


@dataclass(frozen=True)
class Exponential(Release):
    """A selection of bounded range: log(P/Q) between neighbours stays, over outcomes, in an interval of that length.

    The exponential mechanism with weights e^{epsilon u / (2 D)}, D the sensitivity of u, has bounded range epsilon.
    """

    stated = Kind(
        "exponential", {"bounded_range": exact.positive},
        "exponential: bounded_range bounds max - min over outcomes of log(P/Q) between neighbours",
        ("exponential: the stated range holds whatever was released before",),
        adds_up="bounded_range",
        not_sampled="")
    bounded_range: Fraction

    def __init__(self, bounded_range: Number) -> None:
        self._read(bounded_range=bounded_range)


class LaplaceVector(Laplace):
    """Laplace noise of the given scale in every coordinate of a vector; sensitivity: by how much it changes in L1 norm.

    >>> LaplaceVector("20", 1).ratio
    Fraction(1, 20)
    """

    stated = replace(
        Laplace.stated, name="laplace-vector",
        convention="laplace-vector: a vector, which neighbours change by at most the stated sensitivity in L1 norm",
        assumptions=("laplace-vector: exact Laplace noise of the stated scale, independent in all coordinates and "
                     "releases",))
