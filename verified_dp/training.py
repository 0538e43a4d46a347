"""DP-SGD in one call: what a training guarantees, or which noise, how many steps, how large a batch meet a target.

    dpsgd(noise_multiplier=1.1, batch_size=256, dataset_size=60000, epochs=60, delta=1e-5)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import overload

from verified_dp.calibration import Calibration, calibrate
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composition import Claim
from verified_dp.core.kernel.errors import InvalidInput, Undecided
from verified_dp.core.kernel.exact import Number
from verified_dp.enclosure import Enclosure
from verified_dp.profile import privacy_profile
from verified_dp.questions.training import Training

SOLVED = {"noise-multiplier": "noise_multiplier", "steps": "count", "batch-size": "batch_size"}
"""What a target may be solved for -> its name in a Calibration."""
_BATCH_DIGITS = (5, 9, 14, 22, 40)
_COUNTED = ("poisson", "truncated-poisson", "without-replacement", "with-replacement")
"""Schemes whose steps are counted one by one."""


@overload
def dpsgd(*, noise_multiplier: Number, delta: Number | None = None, epsilon: Number | None = None,
          sampling: str = "poisson", sampling_probability: Number | None = None, batch_size: Number | None = None,
          dataset_size: Number | None = None, steps: Number | None = None, epochs: Number | None = None,
          relation: str = "add-or-remove", digits: int | None = None, max_seconds: float | None = None,
          groups: Number | None = None, largest_batch: Number | None = None) -> Enclosure: ...
@overload
def dpsgd(*, target_epsilon: Number, delta: Number, solve: str = "noise-multiplier",
          noise_multiplier: Number | None = None, sampling: str = "poisson",
          sampling_probability: Number | None = None, batch_size: Number | None = None,
          dataset_size: Number | None = None, steps: Number | None = None, epochs: Number | None = None,
          relation: str = "add-or-remove", digits: int | None = None, max_seconds: float | None = None,
          groups: Number | None = None, largest_batch: Number | None = None) -> Calibration: ...


def dpsgd(*, noise_multiplier: Number | None = None, delta: Number | None = None, epsilon: Number | None = None,
          target_epsilon: Number | None = None, solve: str = "noise-multiplier", sampling: str = "poisson",
          digits: int | None = None, max_seconds: float | None = None, **stated: Number | str | None,
          ) -> Enclosure | Calibration:
    """Enclose epsilon at delta, or delta at epsilon; with target_epsilon, the value of `solve` that just meets it.

    Args:
        stated: the other fields of `Training`: sampling_probability, or batch_size and dataset_size; steps or epochs.
        solve: "noise-multiplier", "steps" or "batch-size", which is left out then.

    >>> found = dpsgd(noise_multiplier=1.1, sampling_probability=0.01, steps=1000, delta=1e-5)
    >>> f"{found:.4f}", found < 2
    ('1.5154', True)
    """
    if target_epsilon is not None:
        if delta is None or epsilon is not None:
            raise InvalidInput("delta", delta, "given with target_epsilon, and epsilon left out")
        return solve_training(solve, target_epsilon, delta, digits=digits, max_seconds=max_seconds,
                              noise_multiplier=noise_multiplier, sampling=sampling, **stated)  # type: ignore[arg-type]
    if (delta is None) == (epsilon is None):
        raise InvalidInput("delta", delta, "given, or epsilon or target_epsilon instead")
    if noise_multiplier is None:
        raise InvalidInput("noise_multiplier", None, "given, or target_epsilon to solve for it")
    profile = privacy_profile(Training(noise_multiplier, sampling, **stated).spec())  # type: ignore[arg-type]
    if epsilon is not None:
        return profile.delta(epsilon, digits, max_seconds=max_seconds)
    return profile.epsilon(exact.probability(delta, "delta"), digits, max_seconds=max_seconds)


def solve_training(solve: str, epsilon: Number, delta: Number, *, digits: int | None = None,
                   max_seconds: float | None = None, progress: Callable[[str], None] | None = None,
                   **stated: Number | str | None) -> Calibration:
    """The least noise, the most steps or the largest batch proved to meet (epsilon, delta), and the next that is not.

    stated: fields of `Training`, without the one that is solved for. Raises: InvalidInput, Undecided, Unsupported.
    """
    if solve not in SOLVED:
        raise InvalidInput("solve", solve, "one of " + ", ".join(SOLVED))
    absent = ("steps", "epochs") if solve == "steps" else (solve.replace("-", "_"),)
    for key in absent:
        if stated.get(key) is not None:
            raise InvalidInput(key.replace("_", "-"), stated[key], f"left out: it is solved for (--solve {solve})")
    if solve == "batch-size":
        return _solve_batch(epsilon, delta, digits, max_seconds, progress, stated)
    if solve == "steps" and stated.get("sampling") not in _COUNTED:
        raise InvalidInput("solve", solve, f"noise-multiplier under {stated.get('sampling')}, whose steps make epochs")
    trial = {"noise_multiplier": 1} if solve == "noise-multiplier" else {"steps": 1000}
    spec = Training(**{**stated, **trial}).spec()  # type: ignore[arg-type]
    return calibrate(spec, solve=SOLVED[solve], epsilon=epsilon, delta=delta, digits=digits or 4, progress=progress,
                     max_seconds=max_seconds)


def _solve_batch(epsilon: Number, delta: Number, digits: int | None, max_seconds: float | None,
                 progress: Callable[[str], None] | None, stated: dict[str, Number | str | None]) -> Calibration:
    """By halving: a batch that is proved to meet the target, and the next larger, which is proved not to."""
    target = Claim("", "", epsilon, delta, str(epsilon), str(delta))
    size = stated.get("dataset_size")
    if size is None:
        raise InvalidInput("dataset-size", None, "given: batches are a share of it")

    def training(batch: int) -> Training:
        return Training(**{**stated, "batch_size": batch})  # type: ignore[arg-type]

    def asked(batch: int) -> tuple[bool, Enclosure]:
        profile = privacy_profile(training(batch).spec(), progress=progress)
        for few in _BATCH_DIGITS:
            found = profile.epsilon(target.delta, few, max_seconds=max_seconds)
            if found.upper <= target.epsilon or found.lower > target.epsilon:
                return found.upper <= target.epsilon, found
        raise Undecided(f"whether batches of {batch} meet the target is not known: {found!r}")

    known = {batch: asked(batch) for batch in (1, exact.count(size, "dataset-size"))}
    low, high = known
    if not known[low][0] or known[high][0]:
        raise InvalidInput("target-epsilon", str(epsilon), "met by some batches and missed by others ("
                           + ("none meets it)" if not known[low][0] else "all meet it)"))
    while high - low > 1:
        middle = (low + high) // 2
        known[middle] = asked(middle)
        low, high = (middle, high) if known[middle][0] else (low, middle)
    return Calibration("batch_size", Fraction(low), Fraction(high), target, known[low][1], known[high][1],
                       replace(training(low).spec(), claim=target), replace(training(high).spec(), claim=target))
