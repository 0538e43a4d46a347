"""Discrete Laplace and discrete Gaussian noise on an integer or a vector of integers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Kind, Release, read_size


@dataclass(frozen=True)
class DiscreteLaplace(Release):
    """Noise of mass proportional to e^{-|x| / scale} on one integer, changed by at most `sensitivity`."""

    stated = Kind(
        "discrete-laplace", {"scale": exact.positive, "sensitivity": read_size},
        "discrete-laplace: one integer, which neighbours change by at most the stated sensitivity",
        ("discrete-laplace: exact noise of the stated scale, fresh in each release",),
        adds_up="sensitivity",
        not_sampled="")
    scale: Fraction
    sensitivity: int

    def __init__(self, scale: Number, sensitivity: Number) -> None:
        self._read(scale=scale, sensitivity=sensitivity)


@dataclass(frozen=True)
class DiscreteGaussian(Release):
    """Noise of mass ~ e^{-x^2 / (2 sigma_squared)} on one integer that neighbours change by at most `sensitivity`."""

    stated = Kind(
        "discrete-gaussian", {"sigma_squared": exact.positive, "sensitivity": read_size},
        "discrete-gaussian: one integer, which neighbours change by at most the stated sensitivity",
        ("discrete-gaussian: exact noise of the stated parameter sigma_squared, fresh in each release",),
        adds_up="sensitivity",
        not_sampled="")
    sigma_squared: Fraction
    sensitivity: int

    def __init__(self, sigma_squared: Number, sensitivity: Number) -> None:
        self._read(sigma_squared=sigma_squared, sensitivity=sensitivity)


class DiscreteLaplaceVector(DiscreteLaplace):
    """Discrete Laplace noise in every coordinate of a vector of integers; sensitivity in L1 norm."""

    stated = replace(
        DiscreteLaplace.stated, name="discrete-laplace-vector",
        convention="discrete-laplace-vector: a vector of integers, which neighbours change by at most the stated "
                   "sensitivity in L1 norm",
        assumptions=("discrete-laplace-vector: exact noise of the stated scale, independent in all coordinates and "
                     "releases",))


@dataclass(frozen=True)
class DiscreteGaussianVector(Release):
    """Discrete Gaussian noise in every coordinate of a vector of integers; sensitivity in L2 norm."""

    stated = Kind(
        "discrete-gaussian-vector", {"sigma_squared": exact.positive, "sensitivity": exact.positive},
        "discrete-gaussian-vector: a vector of integers, which neighbours change by at most the stated "
        "sensitivity in L2 norm",
        ("discrete-gaussian-vector: exact noise of the stated parameter sigma_squared, independent in all "
         "coordinates and releases",))
    sigma_squared: Fraction
    sensitivity: Fraction

    def __init__(self, sigma_squared: Number, sensitivity: Number) -> None:
        self._read(sigma_squared=sigma_squared, sensitivity=sensitivity)
