"""What one step is: mechanisms as frozen data with exact numbers; `kind` is their name in specifications.

The fields of each class are its keys in a specification and in a certificate. A field is an exact number, an
integer, or a tuple of exact numbers; `None` where it is not stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from verified_dp.core import exact
from verified_dp.core.errors import InvalidInput
from verified_dp.core.exact import Number

MAX_OUTCOMES = 4096
"""Outcomes of a discrete mechanism, and integer sensitivities: beyond, sums over them take too long."""


@dataclass(frozen=True)
class Release:
    """What all of them share. not_sampled: why it may not run on a Poisson sample; empty where it may.

    adds_up: the field that the records of a group add up in.
    """

    kind: ClassVar[str]
    convention: ClassVar[str]
    assumption: ClassVar[str]
    not_sampled: ClassVar[str] = "no theorem for that is implemented"
    adds_up: ClassVar[str] = "sensitivity"

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(field.name for field in fields(cls))

    def _set(self, **values: object) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian mechanism, in exactly one of two forms.

    * `Gaussian("1.1")`: sigma / largest L2 norm of one record's contribution, in every relation.
    * `Gaussian(sigma="2", sensitivity="1")`: sensitivity of the query under the relation in use, in L2 norm.

    >>> Gaussian("1.1").noise_multiplier
    Fraction(11, 10)
    """

    noise_multiplier: Fraction | None = None
    sigma: Fraction | None = None
    sensitivity: Fraction | None = None

    def __init__(
        self, noise_multiplier: Number | None = None, *, sigma: Number | None = None, sensitivity: Number | None = None
    ) -> None:
        _check_form(noise_multiplier, sigma, sensitivity)
        stated = {"noise_multiplier": noise_multiplier, "sigma": sigma, "sensitivity": sensitivity}
        for key, value in stated.items():
            object.__setattr__(self, key, None if value is None else _scale(value, key))


@dataclass(frozen=True)
class Laplace(Release):
    """Laplace noise of the given scale on one real number that neighbours change by at most `sensitivity`.

    >>> Laplace("20", 1).ratio
    Fraction(1, 20)
    """

    kind = "laplace"
    not_sampled = ""
    convention = "laplace: one real number, which neighbours change by at most the stated sensitivity"
    assumption = "laplace: exact Laplace noise of the stated scale, fresh in each release"
    scale: Fraction
    sensitivity: Fraction

    def __init__(self, scale: Number, sensitivity: Number) -> None:
        self._set(scale=exact.positive(scale, "scale"), sensitivity=exact.positive(sensitivity, "sensitivity"))

    @property
    def ratio(self) -> Fraction:
        """sensitivity / scale: the pure epsilon of one release."""
        return self.sensitivity / self.scale


@dataclass(frozen=True)
class DiscreteLaplace(Release):
    """Noise of mass proportional to e^{-|x| / scale} on one integer, changed by at most `sensitivity`."""

    kind = "discrete-laplace"
    not_sampled = ""
    convention = "discrete-laplace: one integer, which neighbours change by at most the stated sensitivity"
    assumption = "discrete-laplace: exact noise of the stated scale, fresh in each release"
    scale: Fraction
    sensitivity: int

    def __init__(self, scale: Number, sensitivity: Number) -> None:
        self._set(scale=exact.positive(scale, "scale"), sensitivity=_small(sensitivity, "sensitivity"))


@dataclass(frozen=True)
class DiscreteGaussian(Release):
    """Noise of mass ~ e^{-x^2 / (2 sigma_squared)} on one integer that neighbours change by at most `sensitivity`."""

    kind = "discrete-gaussian"
    not_sampled = ""
    convention = "discrete-gaussian: one integer, which neighbours change by at most the stated sensitivity"
    assumption = "discrete-gaussian: exact noise of the stated parameter sigma_squared, fresh in each release"
    sigma_squared: Fraction
    sensitivity: int

    def __init__(self, sigma_squared: Number, sensitivity: Number) -> None:
        squared = exact.positive(sigma_squared, "sigma_squared")
        self._set(sigma_squared=squared, sensitivity=_small(sensitivity, "sensitivity"))


@dataclass(frozen=True)
class RandomizedResponse(Release):
    """One person's answer among `categories`, in exactly one of two forms.

    noise_probability p: with probability p replaced by a uniformly random category (which may be the true one).
    epsilon: the true answer e^epsilon times as likely as any other.
    """

    kind = "randomized-response"
    not_sampled = "an answer that is missing shows who was not asked; leave sampling out, which overstates the loss"
    convention = "randomized-response: every neighbour answers, one of them differently"
    assumption = "randomized-response: every answer is drawn afresh with exactly the stated probabilities"
    categories: int
    noise_probability: Fraction | None = None
    epsilon: Fraction | None = None

    def __init__(
        self, categories: Number, noise_probability: Number | None = None, epsilon: Number | None = None
    ) -> None:
        number = exact.count(categories, "categories")
        if number < 2:
            raise InvalidInput("categories", categories, "an integer from 2 to 10^12")
        if (noise_probability is None) == (epsilon is None):
            raise InvalidInput("noise_probability", noise_probability, "given, or epsilon instead (not both)")
        if epsilon is not None:
            self._set(categories=number, noise_probability=None, epsilon=exact.positive(epsilon, "epsilon"))
        else:
            noise = exact.probability(noise_probability, "noise_probability")
            self._set(categories=number, noise_probability=noise, epsilon=None)

    @property
    def truth(self) -> Fraction:
        """The probability of the true answer in the first form."""
        noise = Fraction(self.noise_probability or 0)
        return 1 - noise + noise / self.categories


@dataclass(frozen=True)
class Finite(Release):
    """Finitely many outcomes: `P` their probabilities with the record (replace: for one neighbour), `Q` without it."""

    kind = "finite"
    not_sampled = ""
    convention = "finite: P is the outcome's law with the record, Q without it (replace: of either neighbour)"
    assumption = "finite: the outcome has exactly the law P or Q, whatever was released before"
    P: tuple[Fraction, ...]
    Q: tuple[Fraction, ...]

    def __init__(self, P: Sequence[Number], Q: Sequence[Number]) -> None:
        self._set(P=_distribution(P, "P"), Q=_distribution(Q, "Q"))
        if len(self.P) != len(self.Q):
            raise InvalidInput("Q", len(self.Q), f"a list of {len(self.P)} numbers, as P is")

    def masses(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """(P, Q) of the outcomes, those of equal ratio put together, in order of the ratio."""
        merged: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
        for p, q in zip(self.P, self.Q, strict=True):
            if p or q:
                ratio = p / q if q else None
                old = merged.get(ratio, (Fraction(0), Fraction(0)))
                merged[ratio] = (old[0] + p, old[1] + q)
        return tuple(merged[ratio] for ratio in sorted(merged, key=lambda r: (r is None, r or 0)))  # exact: fractions

    def is_symmetric(self) -> bool:
        """Whether the swapped pair is the same one."""
        return {(p, q) for p, q in self.masses()} == {(q, p) for p, q in self.masses()}


@dataclass(frozen=True)
class ApproximateDP(Release):
    """Anything known to be (epsilon, delta)-differentially private between neighbours, in both directions."""

    kind = "approximate-dp"
    not_sampled = ""
    convention = "approximate-dp: the guarantee holds between neighbours of this relation in both directions"
    assumption = "approximate-dp: the stated guarantee holds whatever was released before"
    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        self._set(epsilon=exact.non_negative(epsilon, "epsilon"), delta=exact.probability(delta, "delta"))
        if self.delta == 1:
            raise InvalidInput("delta", delta, "a rational number in [0, 1): 1 states nothing")


@dataclass(frozen=True)
class GaussianDP(Release):
    """Anything known to be mu-GDP between neighbours: no easier to tell apart than N(0, 1) and N(mu, 1)."""

    kind = "gaussian-dp"
    adds_up = "mu"
    not_sampled = ""
    convention = "gaussian-dp: the guarantee holds between neighbours of this relation in both directions"
    assumption = "gaussian-dp: the stated guarantee holds whatever was released before"
    mu: Fraction

    def __init__(self, mu: Number) -> None:
        self._set(mu=exact.positive(mu, "mu"))


@dataclass(frozen=True)
class MixtureOfGaussians(Release):
    """Noise N(0, sigma^2 I) on a sum; the record adds a norm of at most sensitivities[i] with probabilities[i]."""

    kind = "mixture-of-gaussians"
    not_sampled = ""
    convention = (
        "mixture-of-gaussians: which sensitivity applies is drawn independently of the data and not revealed")
    assumption = "mixture-of-gaussians: exact noise; what other records add is independent of the draw"
    sigma: Fraction
    sensitivities: tuple[Fraction, ...]
    probabilities: tuple[Fraction, ...]

    def __init__(self, sigma: Number, sensitivities: Sequence[Number], probabilities: Sequence[Number]) -> None:
        norms, weights = _numbers(sensitivities, "sensitivities"), _distribution(probabilities, "probabilities")
        if len(norms) != len(weights):
            raise InvalidInput("probabilities", len(weights), f"a list of {len(norms)} numbers, as sensitivities is")
        merged: dict[Fraction, Fraction] = {}
        for norm, weight in zip(norms, weights, strict=True):
            merged[norm] = merged.get(norm, Fraction(0)) + weight
        kept = sorted((norm, weight) for norm, weight in merged.items() if weight)  # exact: fractions
        self._set(sigma=exact.positive(sigma, "sigma"), sensitivities=tuple(norm for norm, _ in kept),
                  probabilities=tuple(weight for _, weight in kept))


@dataclass(frozen=True)
class Exponential(Release):
    """A selection of bounded range: log(P/Q) between neighbours stays, over outcomes, in an interval of that length.

    The exponential mechanism with weights e^{epsilon u / (2 D)}, D the sensitivity of u, has bounded range epsilon.
    """

    kind = "exponential"
    adds_up = "bounded_range"
    not_sampled = ""
    convention = "exponential: bounded_range bounds max - min over outcomes of log(P/Q) between neighbours"
    assumption = "exponential: the stated range holds whatever was released before"
    bounded_range: Fraction

    def __init__(self, bounded_range: Number) -> None:
        self._set(bounded_range=exact.positive(bounded_range, "bounded_range"))


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
    assumption = "renyi: the stated bounds hold whatever was released before"
    renyi_orders: tuple[Fraction, ...]
    epsilons: tuple[Fraction, ...]

    def __init__(self, renyi_orders: Sequence[Number], epsilons: Sequence[Number]) -> None:
        orders, bounds = _numbers(renyi_orders, "renyi_orders"), _numbers(epsilons, "epsilons")
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


RELEASES: dict[str, type[Release]] = {
    release.kind: release
    for release in (Laplace, DiscreteLaplace, DiscreteGaussian, RandomizedResponse, Finite, ApproximateDP,
                    GaussianDP, MixtureOfGaussians, Exponential, ZCDP, Renyi)
}
"""kind -> class."""


def _small(value: object, key: str) -> int:
    number = exact.count(value, key)
    if number > MAX_OUTCOMES:
        raise InvalidInput(key, value, f"an integer from 1 to {MAX_OUTCOMES}")
    return number


def _numbers(values: object, key: str) -> tuple[Fraction, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence) or not 1 <= len(values) <= MAX_OUTCOMES:
        raise InvalidInput(key, values, f"a list of 1 to {MAX_OUTCOMES} numbers")
    return tuple(exact.non_negative(value, f"{key}[{i}]") for i, value in enumerate(values, 1))


def _distribution(values: object, key: str) -> tuple[Fraction, ...]:
    numbers = _numbers(values, key)
    if sum(numbers) != 1:
        raise InvalidInput(key, sum(numbers), f"a list of numbers whose sum is exactly 1{_advice(numbers)}")
    return numbers


def _advice(numbers: Sequence[Fraction]) -> str:
    """What to write instead of decimals that were rounded: where their sum is within their last digits of 1."""
    units = [unit for number in numbers if (unit := _last_digit(number)) is not None]
    missing = 1 - sum(numbers, Fraction(0))
    last = numbers[-1] + missing
    if len(units) < len(numbers) or last < 0 or 2 * abs(missing) > sum(units, Fraction(0)):
        return ""
    share = f"1/{len(numbers)}" if len(set(numbers)) == 1 else "1/3"
    ending = f'"{exact.decimal_text(last)}" in place of the last one'
    return f': these are rounded; write ratios such as "{share}", or {ending}'


def _last_digit(number: Fraction) -> Fraction | None:
    """The unit of the last decimal; None where decimals do not write it."""
    for places in range(_MAX_PLACES):
        if 10**places % number.denominator == 0:
            return Fraction(1, 10**places)
    return None


_MAX_PLACES = 40
"""Longer decimals are not taken for rounded ones."""


EVERYTHING = Finite(("1", "0"), ("0", "1"))
"""A step that releases everything: its outcome tells neighbours apart for sure, no epsilon is enough."""


def _check_form(noise_multiplier: object, sigma: object, sensitivity: object) -> None:
    if noise_multiplier is None:
        missing = [key for key, value in (("sigma", sigma), ("sensitivity", sensitivity)) if value is None]
        if len(missing) == 2:
            raise InvalidInput("noise_multiplier", None, "given (or sigma and sensitivity instead)")
        if missing:
            raise InvalidInput(missing[0], None, "given: sigma and sensitivity belong together")
    for key, value in (("sigma", sigma), ("sensitivity", sensitivity)):
        if noise_multiplier is not None and value is not None:
            raise InvalidInput(key, value, "absent where noise_multiplier is given (one form or the other)")


def _scale(value: object, key: str) -> Fraction:
    """A positive exact number; the message for 0 says what it would mean."""
    if exact.exact(value, key, expected="a positive rational number") == 0:
        raise InvalidInput(key, value, f"positive: 0 would mean {_ZERO_MEANS[key]}")
    return exact.positive(value, key)


_ZERO_MEANS = {
    "noise_multiplier": "no noise, hence no finite guarantee",
    "sigma": "no noise, hence no finite guarantee",
    "sensitivity": "that no record has any influence, hence nothing to protect",
}
