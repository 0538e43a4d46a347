"""The individual GDP filter for a million records: what each has left is an integer in one numpy array.

    state = ArrayGDPFilter.open(budget="1/4", records=10**6, noise_multiplier=100)
    decision = state.charge(norms, clipping=1)             # before the step runs: the gradient norm of every record
    run_step_on(norms, decision.active); state = decision.state     # `active` is a boolean mask

Everything said in filters.py holds here too: for whom the guarantee is, and what must not be published. Costs
are rounded up to integers, the budget is rounded down, and the integers decide exactly (T125): the guarantee is that
of the budget, and a record is halted early by less than 3e-15 of its budget and four units a step. A record whose
gradients are all clipped pays exactly 1 / noise_multiplier^2 a step: a budget of k of these allows k steps.

It is not kept in a ledger, which would store all norms of every step. Save `left` (8 bytes a record) with the
training's checkpoint after each charge, before its step runs, and go on from ArrayGDPFilter(budget, noise_multiplier,
left): a step charged and not run only wastes budget, one that is run and not charged breaks the guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from verified_dp.adaptive.filters import EveryRecordGDP
from verified_dp.adaptive.sums import StepRuns, set_fields
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.squares import square_units
from verified_dp.individual.training import UNIT_BITS, checked_clipping

LEFT_BITS = 62
"""What is left is below 2^62: an int64 then holds every number here."""
WEIGHT_BITS = 30
"""(noise multiplier of the filter / that of a step)^2 is a multiple of 2^-30, at most 4."""
SPARE = 16
"""So many units stay unused by `last_norms`, for its roundings."""


@dataclass(frozen=True, eq=False)
class ArrayDecision(StepRuns):
    """Who takes part in a step, and the state after it.

    active: a boolean for each record; secret, and so is its sum. The step runs even where nobody is active.
    """

    active: np.ndarray
    state: ArrayGDPFilter


@dataclass(frozen=True, eq=False)
class ArrayGDPFilter(EveryRecordGDP):
    """Algorithm 1 for steps y = sum of clipped gradients + clipping * noise_multiplier * N(0, I), all active records.

    Args:
        budget: B^2 > 0, the same for all records.
        noise_multiplier: sigma > 0, relative to the clipping constant; a step may name another.
        left: what each record has left, in units of 2^(shift - 60) / sigma^2: one int64 each. `open` starts with
            floor(B^2 sigma^2 2^(60 - shift)), shift being the least number >= 0 that makes it less than 2^62.
    Raises:
        InvalidInput: for anything else, and where B^2 sigma^2 is not between 2^-20 and 2^60.

    A state is a value: `charge` leaves it as it is, and `left` is read-only.

    >>> state = ArrayGDPFilter.open(budget="2/100", records=2, noise_multiplier=10)
    >>> for _ in range(3):
    ...     decision = state.charge(np.array([3.0, 0.5]), clipping=1)
    ...     print(decision.active)
    ...     state = decision.state
    [ True  True]
    [ True  True]
    [False  True]
    """

    kind: ClassVar[str] = "array-gdp"
    budget: Fraction
    noise_multiplier: Fraction
    left: np.ndarray

    if TYPE_CHECKING:
        def __init__(self, budget: Number, noise_multiplier: Number, left: np.ndarray) -> None: ...

    def __post_init__(self) -> None:
        set_fields(self, budget=exact.positive(self.budget, "budget"),
                   noise_multiplier=exact.positive(self.noise_multiplier, "noise_multiplier"))
        if not Fraction(1, 2**20) <= self._steps <= 2**60:
            raise InvalidInput("budget", self.budget, "between 2^-20 and 2^60 over noise_multiplier^2")
        left = self.left
        if not (isinstance(left, np.ndarray) and left.dtype == np.int64 and left.ndim == 1 and left.size):
            raise InvalidInput("left", type(left).__name__, "an array of one int64 for each record")
        if left.min() < 0 or left.max() > self._start:
            raise InvalidInput("left", f"{left.min()} to {left.max()}", f"integers from 0 to {self._start}")
        set_fields(self, left=_read_only(left.copy()))

    @classmethod
    def open(cls, budget: Number, records: Number, noise_multiplier: Number) -> Self:
        """Nothing spent yet, by so many records."""
        zero = cls(budget, noise_multiplier, np.zeros(exact.count(records, "records"), np.int64))
        return replace(zero, left=np.full(len(zero.left), zero._start, np.int64))

    @proved_by("T125-array-filter")
    def charge(self, norms: np.ndarray, clipping: Number, noise_multiplier: Number | None = None) -> ArrayDecision:
        """Who takes part in a step with these gradient norms, which it clips: min(norm, clipping).

        Args:
            norms: float64 or float32, one for each record. clipping: from 1e-30 to 1e30.
            noise_multiplier: sigma_j of this step, at least sigma / 2; left out, sigma. (sigma / sigma_j)^2 is rounded
                up to a multiple of 2^-30.
        Raises:
            InvalidInput: for anything else, and a negative norm or one that is not finite: nothing is charged.
        """
        cost = self._cost(norms, float(checked_clipping(clipping)), self._weight(noise_multiplier))
        active = cost <= self.left
        return ArrayDecision(_read_only(active), replace(self, left=self.left - np.where(active, cost, 0)))

    @proved_by("T125-array-filter")
    def last_norms(self, clipping: Number, noise_multiplier: Number | None = None) -> np.ndarray:
        """The norms, at most `clipping`, to which contributions may be scaled to use budgets up: all stay active.

        All but some parts in 10^14 of a budget; as in Algorithm 3 of Feldman and Zrnic (2021).
        """
        constant, weight = float(checked_clipping(clipping)), self._weight(noise_multiplier)
        units = np.maximum(self.left - SPARE, 0) * 2.0 ** (self.shift + WEIGHT_BITS - UNIT_BITS)
        return constant * np.sqrt(np.minimum(units / weight * (1 - 2.0**-46), 1))

    @property
    def shift(self) -> int:
        """How many bits the units are coarser than 2^-60 / sigma^2."""
        return max(0, int(self._steps * 2**UNIT_BITS).bit_length() - LEFT_BITS)

    @property
    def unit(self) -> Fraction:
        """The mu^2 that one unit of `left` stands for."""
        return Fraction(2) ** (self.shift - UNIT_BITS) / self.noise_multiplier**2

    @property
    def remaining(self) -> np.ndarray:
        """B^2 less what each record has spent, as doubles: for people to look at."""
        return self.left * float(self.unit)

    @property
    def _steps(self) -> Fraction:
        """B^2 sigma^2: so many steps at the clipping constant use a budget up."""
        return self.budget * self.noise_multiplier**2

    @property
    def _start(self) -> int:
        return int(self.budget / self.unit)

    @proved_by("T125-array-filter")
    def _weight(self, noise_multiplier: Number | None) -> int:
        """ceil(2^30 (sigma / noise_multiplier)^2)."""
        if noise_multiplier is None:
            return 2**WEIGHT_BITS
        ratio = self.noise_multiplier / exact.positive(noise_multiplier, "noise_multiplier")
        if ratio > 2:
            raise InvalidInput("noise_multiplier", noise_multiplier, f"at least {self.noise_multiplier / 2}, half of "
                               "the filter's: open the filter with the smallest one planned")
        return int(-(-ratio**2 * 2**WEIGHT_BITS // 1))

    @proved_by("T125-array-filter")
    def _cost(self, norms: np.ndarray, clipping: float, weight: int) -> np.ndarray:
        """An integer >= r^2 weight 2^(30 - shift) for each record, r = min(norm, clipping) / clipping; 0 for norm 0."""
        _check(norms, len(self.left))
        square = np.maximum(square_units(norms, clipping), norms > 0)  # 1 where the ratio underflows
        high, low = square >> WEIGHT_BITS, square & (2**WEIGHT_BITS - 1)
        return _shifted_up(high * weight + _shifted_up(low * weight, WEIGHT_BITS), self.shift)


def _shifted_up(numbers: np.ndarray, bits: int) -> np.ndarray:
    """ceil(n / 2^bits)."""
    return -(-numbers >> bits)


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _check(norms: object, records: int) -> None:
    if not (isinstance(norms, np.ndarray) and norms.shape == (records,) and norms.dtype in (np.float64, np.float32)):
        raise InvalidInput("norms", getattr(norms, "shape", type(norms).__name__),
                           f"a float64 or float32 array of one norm for each of {records} records")
    bad = np.flatnonzero(~((norms >= 0) & np.isfinite(norms)))
    if len(bad):
        raise InvalidInput(f"norms[{bad[0]}]", float(norms[bad[0]]), "a finite number >= 0")
