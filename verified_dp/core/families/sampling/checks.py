"""What sampling schemes share: which mechanisms may run on their batches, and how often a record is drawn."""

from __future__ import annotations

from fractions import Fraction
from math import comb  # exact: integers

from verified_dp.core.kernel.composition import Composition
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.mechanisms import Gaussian, Release

MAX_DRAWS = 512
"""More draws, or records of a group on a sample, would take too long: every one adds a component to the mixture."""


def check_gaussian(mechanism: object, scheme: str) -> None:
    """Refuse all but a Gaussian in its first form."""
    if isinstance(mechanism, Release):
        raise Unsupported(f"{mechanism.stated.name} under {scheme}: a theorem covers the Gaussian only", "sampling")
    if not isinstance(mechanism, Gaussian):
        raise InvalidInput("mechanism", mechanism, "a Gaussian")
    if mechanism.sigma is not None:
        raise InvalidInput("sigma", mechanism.sigma, "replaced by noise_multiplier under sampling")


def check_sampled(mechanism: object) -> None:
    """Refuse all but a Gaussian in its first form, a release that may run on samples, or a composition of such."""
    if isinstance(mechanism, Composition):
        for part, _ in mechanism.parts:
            if not isinstance(part, Gaussian | Release):
                raise InvalidInput("mechanism", part, "a mechanism without sampling of its own inside of a sample")
            check_sampled(part)
    elif isinstance(mechanism, Release):
        if reason := mechanism.stated.not_sampled:
            raise Unsupported(f"{mechanism.stated.name} on a Poisson sample: {reason}", "sampling")
    elif not isinstance(mechanism, Gaussian):
        raise InvalidInput("mechanism", mechanism, "a Gaussian, another release, or a composition of such")
    elif mechanism.sigma is not None:
        raise InvalidInput("sigma", mechanism.sigma, "replaced by noise_multiplier under sampling")


def binomial_weights(trials: int, probability: Fraction) -> tuple[Fraction, ...]:
    """P(Bin(trials, probability) = n) for n = 0..trials.

    >>> binomial_weights(2, Fraction(1, 2))
    (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))
    """
    rest = 1 - probability
    return tuple(comb(trials, n) * probability**n * rest ** (trials - n) for n in range(trials + 1))
