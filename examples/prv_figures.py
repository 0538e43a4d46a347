"""How good is the PRV accountant, and what does it cost? The figures of its paper as numbers, in the remove order.

    Figure 1(a)  epsilon at delta = 1e-7 after few steps on one mesh: rounding with matched means against whole cells
    Figure 1(b)  epsilon after many steps, with eps_error = 0.1: RDP is above the interval, GDP far below
    Figure 2     Gaussian steps, whose exact delta lies in the interval; its two ends are 2 eps_error apart in epsilon
    Figure 3(a)  delta at epsilon = 1.5 over the number of points
    Figure 3(b)  seconds for epsilon at delta = 1e-7 to +-0.1 over the number k of steps: the same accountant here,
                 its authors' program (where prv_accountant is installed), and the Fourier accountant by whole cells,
                 with as many points as that width needs; and by point samples, which is far narrower
    cost         seconds over the number k of steps, at the same eps_error: like sqrt(k), and those of the contour

The certified truth stands beside each. `--plot FILE` draws them too (needs matplotlib).
"""

import sys
import time
from fractions import Fraction
from math import expm1, sqrt

from verified_dp import Gaussian, GaussianDP, PoissonSampled, compose, privacy_profile
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.papers import accountant
from verified_dp.papers.ask import PaperResult
from verified_dp.papers.paper import PaperAnswer, paper_method
from verified_dp.profile import PrivacyProfile
from verified_dp.search.deadline import Budget

Row = dict[str, float]
DELTA, DELTA_ERROR = "1e-7", "1e-10"
PRINTED = "hoeffding"
"""The paper's bound on how rounding errors add up."""


def few(value: float) -> str:
    """A decimal of six digits: probabilities are exact numbers."""
    return f"{value:.6g}"


def steps(probability: str, noise: str, count: int) -> PrivacyProfile:
    return privacy_profile(compose((PoissonSampled(Gaussian(noise), probability), count)), "remove")


def ends(name: str, found: PaperResult) -> Row:
    """Both proved ends."""
    if found.enclosure is None:
        raise ValueError(f"{name} proves nothing here")
    return {f"{name} low": float(found.enclosure.lower), f"{name} up": float(found.enclosure.upper)}


def few_steps(count: int, mesh: str = "0.00004", domain: str = "5/2") -> Row:
    """A point of Figure 1(a): p = 1e-3, s = 0.8."""
    profile = steps("0.001", "0.8", count)
    matched = accountant(profile, "prv", mesh=mesh, domain=domain, delta_error=DELTA_ERROR, tilt="0", bound=PRINTED)
    points = 2 * int(Fraction(domain) / Fraction(mesh))
    cells = accountant(profile, "fourier", L=domain, n=points, tilt="0", discretisation="cells")
    return {"truth": float(profile.epsilon(DELTA, 6).upper), **ends("prv", matched.epsilon(DELTA, 5)),
            **ends("cells", cells.epsilon(DELTA, 5))}


def many_steps(count: int) -> Row:
    """A point of Figure 1(b): p = 1e-3, s = 0.8."""
    profile = steps("0.001", "0.8", count)
    found = accountant(profile, "prv", eps_error="0.1", delta_error=DELTA_ERROR, bound=PRINTED).epsilon(DELTA, 5)
    mu = few(0.001 * sqrt(count * expm1(1 / 0.8**2)))
    return {"truth": float(profile.epsilon(DELTA, 6).upper), **ends("prv", found),
            "estimate": float(found.estimate.value) if found.estimate is not None else 0.0,
            "RDP": float(accountant(profile, "renyi").epsilon(DELTA, 3).enclosure.upper),
            "GDP": float(privacy_profile(GaussianDP(mu), "remove").epsilon(DELTA, 6).upper)}


def all_records(epsilon: str, eps_error: str, count: int = 1000, mu: str = "1") -> Row:
    """A point of Figure 2: p = 1, `count` Gaussian steps that together are mu-GDP."""
    law = GaussianLoss(Fraction(mu) ** 2 / count, "symmetric")
    method = paper_method("prv", {"eps_error": eps_error, "delta_error": DELTA_ERROR, "bound": PRINTED})
    at = Fraction(epsilon)
    loss = ComposedLoss("symmetric", ((law, count),), Fraction(0))
    found: PaperAnswer = method.curve(loss, at, 4, Budget(60)).delta(at)
    if found.bounds is None:
        raise ValueError("prv proves nothing here")
    exact = privacy_profile(GaussianDP(mu), "add-or-remove")
    return {"truth": float(exact.delta(epsilon, 8).upper), "prv low": float(found.bounds.lower),
            "prv up": float(found.bounds.upper),
            "truth at +2 eps_error": float(exact.delta(at + 2 * Fraction(eps_error), 8).upper),
            "truth at -2 eps_error": float(exact.delta(at - 2 * Fraction(eps_error), 8).upper)}


def over_points(points: int, domain: str = "8") -> Row:
    """A point of Figure 3(a): p = 4e-3, s = 0.8, k = 1000, eps = 1.5."""
    profile = steps("0.004", "0.8", 1000)
    mesh = 2 * Fraction(domain) / points
    matched = accountant(profile, "prv", mesh=mesh, domain=domain, delta_error="1e-12", tilt="0", bound=PRINTED)
    cells = accountant(profile, "fourier", L=domain, n=points, tilt="0", discretisation="cells")
    return {"truth": float(profile.delta("1.5", 6).upper), **ends("prv", matched.delta("1.5")),
            **ends("cells", cells.delta("1.5"))}


def authors(count: int, eps_error: float) -> Row:
    """Seconds and interval of the authors' program; nothing where it is not installed."""
    try:
        from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant
    except ImportError:
        return {}
    start = time.process_time()
    step = PoissonSubsampledGaussianMechanism(sampling_probability=4e-3, noise_multiplier=0.8)
    program = PRVAccountant(prvs=step, max_self_compositions=count, eps_error=eps_error, delta_error=float(DELTA_ERROR))
    low, _, up = program.compute_epsilon(delta=float(DELTA), num_self_compositions=count)
    return {"prv_accountant": time.process_time() - start, "its low": low, "its up": up}


def matched_accuracy(count: int, eps_error: str = "0.1") -> Row:
    """A point of Figure 3(b): p = 4e-3, s = 0.8."""
    profile = steps("0.004", "0.8", count)
    row: Row = {"truth": float(profile.epsilon(DELTA, 6).upper)}
    for name, parameters in (("prv", {"eps_error": eps_error, "delta_error": DELTA_ERROR}), ("points", {})):
        start = time.process_time()
        found = accountant(profile, "fourier" if name == "points" else name, **parameters).epsilon(DELTA, 3)
        row |= {name: time.process_time() - start, **ends(name, found)}
    points, width = 2**10, float("inf")
    while width > 2 * float(eps_error):
        points, start = 2 * points, time.process_time()
        found = ends("cells", accountant(profile, "fourier", L="8", n=points, discretisation="cells").epsilon(DELTA, 3))
        width = found["cells up"] - found["cells low"]
    row |= {"cells": time.process_time() - start, **found, "cells' points": points}
    return row | authors(count, float(eps_error))


def cost(count: int) -> Row:
    """Seconds at one number of steps, the sampling probability falling so that privacy stays about the same."""
    profile = steps(few(0.38 / sqrt(count)), "1", count)
    start = time.process_time()
    found = accountant(profile, "prv", eps_error="0.05", delta_error="1e-8", tilt="0", domain="4").delta("1")
    middle = time.process_time()
    profile.delta("1", 12, "contour")
    return {"points": float(found.parameters["points"]), "prv": middle - start, "contour": time.process_time() - middle}


FIGURES = {
    "Figure 1(a): epsilon at delta = 1e-7 over k, mesh 4e-5": lambda: {k: few_steps(k) for k in (10, 50)},
    "Figure 1(b): epsilon at delta = 1e-7 over k, eps_error 0.1": lambda: {k: many_steps(k) for k in (100, 500, 2000)},
    "Figure 2: delta at epsilon = 3 over eps_error, 1000 Gaussian steps, 1-GDP": lambda: {
        float(error): all_records("3", error) for error in ("0.1", "0.5", "1")},
    "Figure 3(a): delta at epsilon = 1.5 over the points": lambda: {2**n: over_points(2**n) for n in (10, 12, 14)},
    "Figure 3(b): seconds for epsilon at delta = 1e-7 to +-0.1 over k": lambda: {
        k: matched_accuracy(k) for k in (50, 200, 800)},
    "cost: seconds over k": lambda: {k: cost(k) for k in (1000, 4000, 16000, 64000)},
}


def plot(tables: dict[str, dict[float, Row]], path: str) -> None:
    """One panel per table."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(tables), figsize=(5 * len(tables), 4))
    for axis, (title, rows) in zip(axes, tables.items(), strict=True):
        for column in next(iter(rows.values())):
            if not ("seconds" in title and column.endswith((" low", " up", "points", "truth"))):
                axis.plot(list(rows), [row[column] for row in rows.values()], marker=".", label=column)
        axis.set(title=title.split(":")[0], xlabel=title.split(" over ")[1], xscale="log",
                 yscale="linear" if "epsilon at" in title else "log")
        axis.set_xticks(list(rows), [f"{place:g}" for place in rows])
        axis.minorticks_off()
        axis.legend()
    figure.savefig(path, bbox_inches="tight")


def main() -> None:
    """Print every figure."""
    tables: dict[str, dict[float, Row]] = {}
    for title, build in FIGURES.items():
        rows = tables[title] = build()
        columns = list(next(iter(rows.values())))
        width = max(12, *(len(name) + 2 for name in columns))
        print(f"\n{title}\n{'':>8}" + "".join(f"{name:>{width}}" for name in columns))
        for key, row in rows.items():
            print(f"{key:>8}" + "".join(f"{row[name]:>{width}.6g}" for name in columns), flush=True)
    if len(sys.argv) == 3 and sys.argv[1] == "--plot":
        plot(tables, sys.argv[2])


if __name__ == "__main__":
    main()
