"""Noisy votes of teachers that share no record (PATE): GNMax, and Confident-GNMax with its noisy threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.families.lists import read_numbers
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Kind, Release

_RUN = (
    "every teacher has one vote, and every record is seen by one teacher; independent Gaussian noise of standard "
    "deviation sigma is added to every count, and the class with the largest sum is released, never a count; where "
    "threshold_sigma is stated, the largest count is first compared with the threshold, after Gaussian noise of that "
    "standard deviation, independent of all other noise, and below it only that is released")
_NOT_GROUPED = "a group may change as many votes; no theorem is implemented"


@dataclass(frozen=True)
class GNMax(Release):
    """The class with most votes after Gaussian noise of standard deviation sigma on every count; nothing else.

    threshold_sigma: of the noise on the largest count before it is compared with a threshold (Confident-GNMax).
    """

    stated = Kind(
        "gnmax", {"sigma": exact.positive, "threshold_sigma": exact.positive},
        "gnmax: the vote of one teacher changes between neighbours of this relation, from one class to another",
        (f"gnmax: {_RUN}",), not_grouped=_NOT_GROUPED)
    sigma: Fraction
    threshold_sigma: Fraction | None = None

    def __init__(self, sigma: Number, threshold_sigma: Number | None = None) -> None:
        self._read(sigma=sigma, threshold_sigma=threshold_sigma)


@dataclass(frozen=True)
class GNMaxVotes(Release):
    """The same of one question with these counts of votes: what it reveals of the data that have them, no more.

    >>> GNMaxVotes(40, [200, 50, 0]).gaps
    ((Fraction(150, 1), 1), (Fraction(200, 1), 1))
    """

    stated = Kind(
        "gnmax-votes", {"sigma": exact.positive, "votes": read_numbers, "threshold": exact.non_negative,
                        "threshold_sigma": exact.positive},
        "gnmax-votes: no guarantee of differential privacy, but of the data with these votes: between them and a "
        "neighbour of this relation the vote of one teacher changes, from one class to another",
        (f"gnmax-votes: {_RUN}", "gnmax-votes: the data set is one with these votes, and questions do not depend on "
         "answers; what is said depends on the data, and tells about the votes where it is published"),
        not_grouped=_NOT_GROUPED)
    sigma: Fraction
    votes: tuple[Fraction, ...]
    threshold: Fraction | None = None
    threshold_sigma: Fraction | None = None

    def __init__(self, sigma: Number, votes: Sequence[Number], threshold: Number | None = None,
                 threshold_sigma: Number | None = None) -> None:
        self._read(sigma=sigma, votes=votes, threshold=threshold, threshold_sigma=threshold_sigma)
        if (threshold is None) != (threshold_sigma is None):
            raise InvalidInput("threshold_sigma", threshold_sigma, "given where threshold is, and not without it")
        if len(self.votes) < 2:
            raise InvalidInput("votes", len(self.votes), "the counts of at least 2 classes")

    @property
    def gaps(self) -> tuple[tuple[Fraction, int], ...]:
        """By how much the largest count exceeds every other one: (gap, how many classes)."""
        counts = sorted(self.votes, reverse=True)  # exact: fractions
        found = [counts[0] - other for other in counts[1:]]
        return tuple((gap, found.count(gap)) for gap in dict.fromkeys(found))
