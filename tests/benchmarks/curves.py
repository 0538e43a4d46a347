"""What 200 points of a curve of delta cost, beside one question and dp_accounting's 200: a table for the page.

    python tests/benchmarks/curves.py > build/curves.md

Processor time, the least of a few calls, at six digits, with all caches of this package cleared; dp_accounting composes
once, at its default grid, and is asked for all points by one call.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from accountants import NotApplicable, dp_accounting_law, our_profile
from bench import ONE_THREAD, forget
from cases import CASES

POINTS = 200
NAMES = ("q=0.01 s=1 k=2 ", "q=0.01 s=1 k=10 ", "q=0.01 s=1 k=1000 ", "10 distinct", "laplace(20)",
         "discrete-gaussian(9) k=10", "gaussian(20)", "sampled-laplace(0.1, 2) k=100 ", "discrete-gaussian(100)")


def least(ask: Callable[[], object], calls: int = 3) -> float:
    """The least milliseconds of a few calls, after one that loads what is needed."""
    ask()
    times = []
    for _ in range(calls):
        forget()
        start = time.process_time()
        ask()
        times.append(time.process_time() - start)
    return 1000 * min(times)


def main() -> None:
    """Print the table."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # numpy is not imported yet
    print("| case | one question, ms | 200 points, ms | dp_accounting's 200, ms | its time over ours |")
    print("|---|--:|--:|--:|--:|")
    for case in (case for case in CASES if case.name.startswith(NAMES)):
        points = [f"{float(case.epsilon) * (0.5 + n / POINTS):.6f}" for n in range(POINTS)]
        one = least(lambda case=case: our_profile(case).delta(case.epsilon, digits=6))
        many = least(lambda case=case, points=points: our_profile(case).curve(epsilons=points, digits=6))
        try:
            theirs = least(lambda case=case, points=points: dp_accounting_law(case, 1e-4).get_delta_for_epsilon(
                [float(point) for point in points]))
        except NotApplicable:
            continue
        print(f"| {case.name} | {one:.3g} | {many:.3g} | {theirs:.3g} | {theirs / many:.3g} |", flush=True)


if __name__ == "__main__":
    main()
