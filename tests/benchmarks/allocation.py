"""Epsilon of random allocation beside PLD_accounting at its defaults and on finer grids: one run, processor time.

    python tests/benchmarks/allocation.py            one line of the table in docs/sampling.md for each setting

Each answer has a process of its own, without anything kept; an answer that takes more than LIMIT seconds is a dash.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

LIMIT = 3600
CASES = [("1", 100, 1, "1e-6"), ("1", 100, 10, "1e-6")]
"""Noise multiplier, rounds, epochs, delta."""
SETTINGS = ["adaptive", "grid 0.01", "grid 0.003"]
"""Of PLD_accounting: one grid of losses (0.01 is the default), or grids refined until both ends are near."""


def ours(noise: str, rounds: int, epochs: int, delta: str, digits: int) -> tuple[str, str]:
    """Both ends, to so many digits."""
    from verified_dp import Gaussian, RandomAllocation, compose, privacy_profile

    training = compose((RandomAllocation(Gaussian(noise), rounds), epochs))
    found = privacy_profile(training, relation="add-or-remove").epsilon(delta, digits=digits)
    return str(found.lower_decimal), str(found.upper_decimal)


def theirs(noise: str, rounds: int, epochs: int, delta: str, setting: str) -> tuple[str, str]:
    """Both ends, as they are reported."""
    import PLD_accounting as package

    kind, _, size = setting.partition(" ")
    if kind == "adaptive":
        high, low = package.gaussian_allocation_epsilon_range(
            delta=float(delta), sigma=float(noise), num_steps=rounds, num_epochs=epochs,
            epsilon_accuracy=float(size or -1))
        return f"{low:.9g}", f"{high:.9g}"
    params = package.PrivacyParams(sigma=float(noise), num_steps=rounds, num_epochs=epochs, delta=float(delta))
    config = package.AllocationSchemeConfig(loss_discretization=float(size))
    bounds = (package.BoundType.IS_DOMINATED, package.BoundType.DOMINATES)
    low, high = (package.gaussian_allocation_epsilon_configurable(params=params, config=config, bound_type=bound)
                 for bound in bounds)
    return f"{low:.9g}", f"{high:.9g}"


def timed(who: str, *numbers: str) -> None:
    """Print one answer and its processor time, imports left out."""
    noise, rounds, epochs, delta, setting = numbers
    case = noise, int(rounds), int(epochs), delta
    __import__("verified_dp" if who == "ours" else "PLD_accounting")
    start = time.process_time()
    ends = ours(*case, int(setting)) if who == "ours" else theirs(*case, setting)
    print(f"[{ends[0]}, {ends[1]}] | {time.process_time() - start:.2f} |")


def main() -> None:
    """The table."""
    if len(sys.argv) > 1:
        timed(*sys.argv[1:])
        return
    for case in CASES:
        asked = [("ours", "12" if case[2] == 1 else "4"), ("ours", "4"),
                 *(("theirs", setting) for setting in SETTINGS)]
        for who, setting in asked:
            words = [who, *map(str, case), setting]
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            try:
                run = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, timeout=LIMIT,
                                     env=environment, check=False)
                answer = run.stdout.strip() or (run.stderr.strip().splitlines() or ["-"])[-1][:60]
            except subprocess.TimeoutExpired:
                answer = "- | - |"
            print("| " + " | ".join(words), "|", answer, flush=True)


if __name__ == "__main__":
    main()
