"""How far can the saddle-point accountant be trusted, and what do its bounds prove?

The experiments of the paper on it (Alghamdi et al. 2023) on DP-SGD, but measured against certified deltas and epsilons
instead of another program's: 1. the privacy curve; 2. relative errors of the estimates; 3. the rigorous intervals. And
a fourth: the series' terms of higher order, which help until they hurt. With `--plot FILE` the first three are drawn.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

from verified_dp import Gaussian, PoissonSampled, PrivacyProfile, compose, privacy_profile
from verified_dp.papers import accountant

PROBABILITY, NOISE, STEPS = "0.01", "2", 3000
EPSILONS = ("0.1", "0.3", "0.7", "1.2", "2", "3", "5", "8")
ESTIMATES = ("MSD0", "MSD1", "SP-CLT")
INTERVALS = ("berry-esseen", "saddlepoint")
ORDER = 12


def sgd(steps: int) -> PrivacyProfile:
    """Sampled Gaussian steps in the remove order, as in the paper."""
    return privacy_profile(compose((PoissonSampled(Gaussian(NOISE), PROBABILITY), steps)), relation="remove")


def error(estimate: str, true: Fraction) -> float:
    """(estimate - truth) / truth."""
    return float(Fraction(estimate) / true - 1)


def privacy_curve() -> list[tuple[str, Fraction, dict[str, float]]]:
    """(eps, certified delta, relative error of each estimate)."""
    profile, rows = sgd(STEPS), []
    for epsilon in EPSILONS:
        true = profile.delta(epsilon, digits=12).lower.as_fraction()
        found = accountant(profile, "saddlepoint").delta(epsilon).estimates
        rows.append((epsilon, true, {name: error(found[name], true) for name in ESTIMATES}))
    return rows


def growth() -> list[tuple[int, Fraction, dict[str, float]]]:
    """(steps, certified eps at delta = 1e-5, relative error of each estimate's eps)."""
    rows = []
    for steps in (100, 300, 1000, 3000, 10_000, 100_000):
        profile = sgd(steps)
        true = profile.epsilon("1e-5", digits=9).upper.as_fraction()
        found = accountant(profile, "saddlepoint").epsilon("1e-5").estimates
        rows.append((steps, true, {name: error(found[name], true) for name in ESTIMATES}))
    return rows


def intervals() -> list[tuple[str, Fraction, dict[str, tuple[Fraction, Fraction]]]]:
    """(eps, certified delta, each method's proved ends over the certified delta)."""
    profile, rows = sgd(STEPS), []
    for epsilon in EPSILONS:
        true, ends = profile.delta(epsilon, digits=12).lower.as_fraction(), {}
        for method in INTERVALS:
            enclosure = accountant(profile, method).delta(epsilon, digits=6).enclosure
            ends[method] = enclosure.lower.as_fraction() / true, enclosure.upper.as_fraction() / true
        rows.append((epsilon, true, ends))
    return rows


def best_orders() -> list[tuple[int, str, list[float]]]:
    """(steps, eps with delta near 1e-5, relative errors of MSD0, MSD1, ...)."""
    rows = []
    for steps in (30, 100, 300, 1000, 10_000, 100_000):
        profile = sgd(steps)
        epsilon = profile.epsilon("1e-5", digits=4).upper_decimal
        true = profile.delta(epsilon, digits=16).lower.as_fraction()
        found = accountant(profile, "saddlepoint", order=ORDER).delta(epsilon).estimates
        rows.append((steps, epsilon, [error(found[f"MSD{n}"], true) for n in range(ORDER + 1)]))
    return rows


def draw(path: Path) -> None:
    """Experiments 1 to 3 as a picture. Needs matplotlib."""
    from matplotlib import pyplot

    curve, bounds = privacy_curve(), intervals()
    epsilons = [float(epsilon) for epsilon, _, _ in curve]
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(14, 4), layout="constrained")
    left.semilogy(epsilons, [float(true) for _, true, _ in curve], "k", label="certified")
    for name in ESTIMATES:
        left.semilogy(epsilons, [float(true) * (1 + errors[name]) for _, true, errors in curve], "--", label=name)
        middle.semilogy(epsilons, [abs(errors[name]) for _, _, errors in curve], label=name)
    for method in INTERVALS:
        ends = [[float(end) for end in row[method]] for _, _, row in bounds]
        right.fill_between(epsilons, [max(low, 1e-3) for low, _ in ends], [high for _, high in ends], alpha=0.4,
                           label=method)
    right.set_yscale("log")
    for axes, title in ((left, "delta"), (middle, "|relative error|"), (right, "proved interval / delta")):
        axes.set(xlabel="epsilon", title=title)
        axes.legend()
    figure.savefig(path)


def main(*arguments: str) -> None:
    """Print the four tables; with --plot FILE draw as well."""
    header = "".join(f"{name:>11}" for name in ESTIMATES)
    print(f"1, 2. delta(epsilon), {STEPS} steps, q = {PROBABILITY}, noise {NOISE}: relative errors\n"
          f"{'epsilon':>9}{'certified':>12}{header}")
    for epsilon, true, errors in privacy_curve():
        print(f"{epsilon:>9}{float(true):12.3e}" + "".join(f"{errors[name]:+11.1e}" for name in ESTIMATES))
    print(f"\n1, 2. epsilon at delta = 1e-5, over the steps: relative errors\n{'steps':>9}{'certified':>12}{header}")
    for steps, true, errors in growth():
        print(f"{steps:9d}{float(true):12.5f}" + "".join(f"{errors[name]:+11.1e}" for name in ESTIMATES))
    print("\n3. proved intervals over the certified delta\n"
          f"{'epsilon':>9}{'certified':>12}{'berry-esseen':>22}{'saddlepoint':>24}")
    for epsilon, true, ends in intervals():
        shown = "".join(f"{float(low):13.7f} ..{float(high):10.7f}" for low, high in ends.values())
        print(f"{epsilon:>9}{float(true):12.3e}{shown}")
    print(f"\n4. the series of order n = 0..{ORDER} at delta = 1e-5: best order and its relative error\n"
          f"{'steps':>9}{'MSD0':>11}{'MSD1':>11}{f'MSD{ORDER}':>11}{'best':>6}{'error':>11}")
    for steps, _, errors in best_orders():
        best = min(range(ORDER + 1), key=lambda n: abs(errors[n]))
        print(f"{steps:9d}{errors[0]:+11.1e}{errors[1]:+11.1e}{errors[-1]:+11.1e}{best:6d}{errors[best]:+11.1e}")
    if arguments[:1] == ("--plot",):
        draw(Path(arguments[1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
