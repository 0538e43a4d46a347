"""What 200 points of a curve of delta cost, beside one question and dp_accounting's 200.

Processor time, the least of a few calls, at six digits, with all caches of this package cleared; dp_accounting composes
once, at its default grid, and is asked for all points by one call.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from accountants import dp_accounting_law, forget, our_profile
from cases import Case

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


def points_of_a_curve(case: Case) -> dict[str, Any]:
    """Milliseconds of one question, of 200 points, and of dp_accounting's."""
    points = [f"{float(case.epsilon) * (0.5 + n / POINTS):.6f}" for n in range(POINTS)]
    return {"one": least(lambda: our_profile(case).delta(case.epsilon, digits=6)),
            "many": least(lambda: our_profile(case).curve(epsilons=points, digits=6)),
            "theirs": least(lambda: dp_accounting_law(case, 1e-4).get_delta_for_epsilon(
                [float(point) for point in points]))}
