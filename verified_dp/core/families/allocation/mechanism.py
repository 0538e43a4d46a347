"""Random allocation: every record is in a stated number of the batches of an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verified_dp.core.families.sampling.checks import check_gaussian
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composition import Sampled
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Gaussian, Kind, read_flag


def read_picks(value: object, key: str = "picks") -> int:
    """The value as an integer >= 1; 1 where it is left out."""
    return 1 if value is None else exact.count(value, key)


@dataclass(frozen=True)
class RandomAllocation(Sampled):
    """One epoch of `rounds` Gaussian steps; every record is in `picks` of their batches, uniformly, as no other record.

    fixed: the record keeps its batches in every epoch of the composition that runs an equal mechanism; else each epoch
    draws them afresh. picks = 1 is also called balls in bins.
    """

    stated = Kind(
        "random-allocation", {"rounds": exact.count, "picks": read_picks, "fixed": read_flag},
        "random allocation: one table is one epoch of `rounds` steps, count is the number of epochs, "
        "batches are not revealed",
        ("sampling: in every epoch every record is placed in exactly `picks` (1 unless stated) of the `rounds` "
         "batches, uniformly and independently of the others, of the data, of the noise and, unless `fixed`, of the "
         "other epochs; where `fixed`, it keeps its batches in all epochs of that mechanism (random allocation)",
         "sampling: batches have whatever size results; no sum is divided by, capped at or padded to that size "
         "(dividing by a number fixed in advance is covered)"))
    mechanism: Gaussian
    rounds: int
    picks: int
    fixed: bool

    def __init__(self, mechanism: Gaussian, rounds: Number, picks: Number = 1, fixed: bool = False) -> None:
        check_gaussian(mechanism, "random allocation")
        self._read(mechanism=mechanism, rounds=rounds, picks=picks, fixed=fixed)
        if self.picks > self.rounds:
            raise InvalidInput("picks", picks, f"at most rounds = {self.rounds}")

    @classmethod
    def shared_assumptions(cls, parts: Sequence[RandomAllocation]) -> tuple[str, ...]:
        """What several epochs that keep their batches share."""
        return () if sum(part.fixed for part in parts) < 2 else (
            "sampling: tables with `fixed` that are equal but for `count` are epochs of one allocation, which every "
            "record keeps across all of them; tables that differ have allocations of their own, independent of each "
            "other",)
