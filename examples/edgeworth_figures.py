"""How good is the Edgeworth accountant? Figures 2 and 3 of its paper as numbers, beside a certified curve.

epsilon at a fixed delta over the number m of steps, each a Gaussian on a Poisson sample:

    truth      certified, in the place of the paper's "ground truth" by FFT
    GDP        the central limit theorem of Gaussian differential privacy; RDP: the moments accountant (an upper bound)
    AEA2       Edgeworth expansion of order 2, an estimate (the paper's EW_EST); uniform2: that of the tilted loss
    EEAI       the interval as printed, of order 1 (its EW_LOW, EW_UPP); untilted2: of order 2, every error proved
    tilted     the rigorous interval of the tilted loss, order 2

`--plot FILE` draws them too (needs matplotlib).
"""

import sys
from dataclasses import dataclass
from fractions import Fraction
from math import expm1, log, sqrt

from verified_dp import Enclosure, Gaussian, GaussianDP, PoissonSampled, compose, privacy_profile
from verified_dp.papers import accountant


@dataclass(frozen=True)
class Panel:
    """One panel of a figure: sampling probabilities by number of steps."""

    title: str
    noise: str
    delta: str
    probabilities: dict[int, str]


def few(value: float) -> str:
    """A decimal of six digits: probabilities are exact numbers."""
    return f"{value:.6g}"


LARGE = (50_000, 1_000_000)
PANELS = (
    Panel("Figure 2, left: p = 0.01", "0.8", "0.015", dict.fromkeys((100, 500, 2000), "0.01")),
    Panel("Figure 2, middle and right: p = 0.05, ten epochs", "1", "1e-5", dict.fromkeys((20, 60, 200), "0.05")),
    Panel("Figure 3, left: p = 0.4/sqrt m", "0.8", "0.1", {m: few(0.4 / sqrt(m)) for m in LARGE}),
    Panel("Figure 3, middle: p = 1/sqrt(m log m)", "0.8", "0.1", {m: few(1 / sqrt(m * log(m))) for m in LARGE}),
    Panel("Figure 3, right: p = 0.1 sqrt(log m/m)", "0.8", "0.1", {m: few(0.1 * sqrt(log(m) / m)) for m in LARGE}),
)
COLUMNS = ("truth", "GDP", "RDP", "AEA2", "uniform2", "EEAI", "untilted2", "tilted")


def central_limit(probability: str, noise: str, count: int, delta: str) -> str:
    """epsilon of mu-GDP with mu = p sqrt(m (e^{1/s^2} - 1))."""
    mu = few(float(probability) * sqrt(count * expm1(1 / float(Fraction(noise)) ** 2)))
    return f"{float(privacy_profile(GaussianDP(mu), 'add-or-remove').epsilon(delta, 6).upper):.5f}"


def interval(found: Enclosure) -> str:
    """[lower, upper] with four decimals, rounded outwards."""
    low, high = (float(end) for end in (found.lower, found.upper))
    return f"[{max(low - 5e-5, 0):.4f}, {high + 5e-5:.4f}]"


def row(panel: Panel, count: int, probability: str) -> dict[str, str]:
    """Every column at one number of steps."""
    profile = privacy_profile(compose((PoissonSampled(Gaussian(panel.noise), probability), count)), "add-or-remove")
    truth = profile.epsilon(panel.delta, 7)
    published, plain = (accountant(profile, "edgeworth", order=order, form=form).epsilon(panel.delta, 3)
                        for order, form in ((1, "published"), (2, "proved")))
    tilted = accountant(profile, "saddlepoint", order=2).epsilon(panel.delta, 5)
    renyi = accountant(profile, "renyi").epsilon(panel.delta, 3)
    return {
        "truth": f"{float(truth.upper):.5f}",
        "GDP": central_limit(probability, panel.noise, count, panel.delta),
        "RDP": f"{float(renyi.enclosure.upper):.4f}",
        "AEA2": f"{float(plain.estimates['AEA2']):.5f}",
        "uniform2": f"{float(tilted.estimates.get('uniform', 'nan')):.5f}",
        "EEAI": interval(published.enclosure),
        "untilted2": interval(plain.enclosure),
        "tilted": interval(tilted.enclosure),
    }


def plot(tables: dict[str, dict[int, dict[str, str]]], path: str) -> None:
    """One panel per table; intervals as their two ends."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(tables), figsize=(4 * len(tables), 4), layout="constrained")
    for axis, (title, rows) in zip(axes, tables.items(), strict=True):
        for number, column in enumerate(COLUMNS):
            ends = list(zip(*([float(x) for x in row[column].strip("[]").split(", ")] for row in rows.values()),
                            strict=True))
            if len(ends) == 2:
                axis.fill_between(list(rows), *ends, label=column, alpha=0.25, color=f"C{number}")
            else:
                axis.plot(list(rows), ends[0], label=column, color=f"C{number}")
        axis.set_title(title, fontsize=8)
        axis.set(xlabel="m", ylabel="epsilon")
    axes[0].legend(fontsize=8)
    figure.savefig(path)


def main() -> None:
    """Print every panel."""
    tables: dict[str, dict[int, dict[str, str]]] = {}
    for panel in PANELS:
        print(f"{panel.title}, noise {panel.noise}, delta {panel.delta}")
        print(f"{'m':>8}" + "".join(f"{name:>10}" for name in COLUMNS[:5])
              + "".join(f"{name:>19}" for name in COLUMNS[5:]))
        tables[panel.title] = {}
        for count, probability in panel.probabilities.items():
            found = tables[panel.title][count] = row(panel, count, probability)
            print(f"{count:>8}" + "".join(f"{found[name]:>10}" for name in COLUMNS[:5])
                  + "".join(f"{found[name]:>19}" for name in COLUMNS[5:]), flush=True)
    if len(sys.argv) == 3 and sys.argv[1] == "--plot":
        plot(tables, sys.argv[2])


if __name__ == "__main__":
    main()
