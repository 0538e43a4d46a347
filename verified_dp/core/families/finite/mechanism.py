"""Finitely many outcomes: stated laws, randomised response, (epsilon, delta) guarantees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.families.lists import check_length, read_distribution
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Kind, Release


def read_categories(value: object, key: str) -> int:
    """The value as an integer from 2 on."""
    number = exact.count(value, key)
    if number < 2:
        raise InvalidInput(key, value, "an integer from 2 to 10^12")
    return number


@dataclass(frozen=True)
class RandomizedResponse(Release):
    """One person's answer among `categories`, in exactly one of two forms.

    noise_probability p: with probability p replaced by a uniformly random category (which may be the true one).
    epsilon: the true answer e^epsilon times as likely as any other.
    """

    stated = Kind(
        "randomized-response",
        {"categories": read_categories, "noise_probability": exact.probability, "epsilon": exact.positive},
        "randomized-response: every neighbour answers, one of them differently",
        ("randomized-response: every answer is drawn afresh with exactly the stated probabilities",),
        not_sampled="an answer that is missing shows who was not asked; leave sampling out, which overstates the loss")
    categories: int
    noise_probability: Fraction | None = None
    epsilon: Fraction | None = None

    def __init__(
        self, categories: Number, noise_probability: Number | None = None, epsilon: Number | None = None
    ) -> None:
        self._read(categories=categories)
        if (noise_probability is None) == (epsilon is None):
            raise InvalidInput("noise_probability", noise_probability, "given, or epsilon instead (not both)")
        self._read(noise_probability=noise_probability, epsilon=epsilon)

    @property
    def truth(self) -> Fraction:
        """The probability of the true answer in the first form."""
        noise = Fraction(self.noise_probability or 0)
        return 1 - noise + noise / self.categories


@dataclass(frozen=True)
class Finite(Release):
    """Finitely many outcomes: `P` their probabilities with the record (replace: for one neighbour), `Q` without it."""

    stated = Kind(
        "finite", {"P": read_distribution, "Q": read_distribution},
        "finite: P is the outcome's law with the record, Q without it (replace: of either neighbour)",
        ("finite: the outcome has exactly the law P or Q, whatever was released before",),
        not_sampled="",
        not_grouped="P and Q are stated for one record; state the laws with and without the group instead")
    P: tuple[Fraction, ...]
    Q: tuple[Fraction, ...]

    def __init__(self, P: Sequence[Number], Q: Sequence[Number]) -> None:
        self._read(P=P, Q=Q)
        check_length(self.Q, "Q", self.P, "P")

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

    stated = Kind(
        "approximate-dp", {"epsilon": exact.non_negative, "delta": exact.probability},
        "approximate-dp: the guarantee holds between neighbours of this relation in both directions",
        ("approximate-dp: the stated guarantee holds whatever was released before",),
        not_sampled="")
    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        self._read(epsilon=epsilon, delta=delta)
        if self.delta == 1:
            raise InvalidInput("delta", delta, "a rational number in [0, 1): 1 states nothing")


EVERYTHING = Finite(("1", "0"), ("0", "1"))
"""A step that releases everything: its outcome tells neighbours apart for sure, no epsilon is enough."""
