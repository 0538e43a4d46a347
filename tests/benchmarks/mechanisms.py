"""Time certified bounds for other mechanisms beside dp_accounting's estimate: same run, one core. `make bench` runs it.

Both answer delta(eps) for add-or-remove, from the constructor to the answer. dp_accounting: its privacy loss
distributions at their default discretisation (1e-4), composed with itself; one number, without a bound on its
rounding. Ours: a certified interval of relative width 1e-4, and again 1e-6; its upper and lower end are proved.
Nothing is asserted: a table is printed.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench import ONE_THREAD, Answer, Timing, timed, versions

WIDTHS = (4, 6)


@dataclass(frozen=True)
class Case:
    """`parameters` of one mechanism as text, composed `count` times."""

    mechanism: str
    parameters: tuple[str, ...]
    count: int
    epsilon: str

    @property
    def name(self) -> str:
        return f"{self.mechanism}({', '.join(self.parameters)}) k={self.count} eps={self.epsilon}"


CASES = [
    Case("laplace", ("1",), 10, "4"),
    Case("laplace", ("20",), 1000, "4"),
    Case("laplace", ("200",), 20000, "5"),
    Case("discrete-laplace", ("5",), 100, "5"),
    Case("discrete-laplace", ("50",), 1000, "2"),
    Case("discrete-gaussian", ("100",), 100, "2"),
    Case("discrete-gaussian", ("9",), 10, "3"),
    Case("mixture-of-gaussians", ("2", "0:0.5,1:0.3,2:0.2"), 50, "3"),
    Case("mixture-of-gaussians", ("4", "0:0.98,1:0.01,3:0.01"), 1000, "1"),
]


def weights(text: str) -> tuple[list[str], list[str]]:
    """Sensitivities and their probabilities from "s:p,s:p"."""
    pairs = [part.split(":") for part in text.split(",")]
    return [norm for norm, _ in pairs], [weight for _, weight in pairs]


def ours(case: Case, digits: int) -> Answer:
    """This package: a certified enclosure."""
    from verified_dp import DiscreteGaussian, DiscreteLaplace, Laplace, MixtureOfGaussians, compose, privacy_profile

    build: dict[str, Callable[..., object]] = {
        "laplace": lambda scale: Laplace(scale, "1"),
        "discrete-laplace": lambda scale: DiscreteLaplace(scale, 1),
        "discrete-gaussian": lambda variance: DiscreteGaussian(variance, 1),
        "mixture-of-gaussians": lambda sigma, text: MixtureOfGaussians(sigma, *weights(text)),
    }
    mechanism = build[case.mechanism](*case.parameters)
    profile = privacy_profile(compose((mechanism, case.count)), "add-or-remove")  # type: ignore[arg-type]
    answer = profile.delta(case.epsilon, digits=digits)
    return answer.lower_decimal, answer.method, answer.upper_decimal


def dp_accounting(case: Case) -> Answer:
    """dp_accounting's privacy loss distribution, self-composed."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    def mixture(sigma: str, text: str) -> object:
        norms, probabilities = weights(text)
        return pld.from_mixture_gaussian_mechanism(
            float(sigma), [float(norm) for norm in norms], [float(weight) for weight in probabilities])

    build: dict[str, Callable[..., object]] = {
        "laplace": lambda scale: pld.from_laplace_mechanism(float(scale)),
        "discrete-laplace": lambda scale: pld.from_discrete_laplace_mechanism(1 / float(scale)),
        "discrete-gaussian": lambda variance: pld.from_discrete_gaussian_mechanism(math.sqrt(float(variance))),
        "mixture-of-gaussians": mixture,
    }
    composed = build[case.mechanism](*case.parameters).self_compose(case.count)  # type: ignore[attr-defined]
    return None, float(composed.get_delta_for_epsilon(float(case.epsilon))), None


def cell(timing: Timing) -> str:
    """The answer and milliseconds."""
    if timing.error:
        return timing.error[:40]
    answer = f"{timing.lower} .. {timing.upper} ({timing.value})" if timing.lower else str(timing.value)
    return f"{answer} | {1000 * timing.seconds:.0f}"


def main() -> None:
    """Measure and print a row per case."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="only the cases whose name contains this")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # numpy is not imported yet
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")  # the peer's overflow warnings
    print("case | ours at 1e-4 | ms | ours at 1e-6 | ms | dp_accounting | ms | its time / ours at 1e-4, at 1e-6")
    for case in CASES:
        if options.only not in case.name:
            continue
        mine = [timed(partial(ours, case, digits), options.repeats) for digits in WIDTHS]
        peer = timed(partial(dp_accounting, case), options.repeats)
        ratios = ", ".join(f"{peer.seconds / timing.seconds:.2g}" for timing in mine)
        print(" | ".join([case.name, *(cell(timing) for timing in mine), cell(peer), ratios]), flush=True)
    print(versions())


if __name__ == "__main__":
    main()
