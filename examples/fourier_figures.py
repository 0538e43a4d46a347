"""What did the Fourier accountant's figures show, and what is true there?

Figures 1 to 4 of Koskela, Jaelkoe and Honkela (AISTATS 2020) as numbers: Algorithm 1 as published beside proved ends,
the moments accountant, the Renyi accountant and the Berry-Esseen bound, for Poisson subsampling with q = 0.01 (remove
order). `--plot DIRECTORY` also draws them, where matplotlib is installed.
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

from verified_dp import Gaussian, PoissonSampled, compose, privacy_profile
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.papers import accountant
from verified_dp.profile import PrivacyProfile

ROW = dict[str, float]
FOURIER = {"L": 12, "n": 2**19, "form": "estimate"}
"""The published algorithm alone; the paper takes n = 5e6."""


def steps(noise: str, count: int, probability: str = "0.01") -> PrivacyProfile:
    """The remove order of `count` subsampled Gaussian steps."""
    return privacy_profile(compose((PoissonSampled(Gaussian(noise), probability), count)), "remove")


def from_above(profile: PrivacyProfile, quantity: str, at: str, method: str, **parameters: object) -> float:
    """The upper end that a method proves."""
    asked = accountant(profile, method, **parameters)
    enclosure = (asked.delta if quantity == "delta" else asked.epsilon)(at).enclosure
    return float("inf") if enclosure is None else float(enclosure.upper)


def published(profile: PrivacyProfile, quantity: str, at: str) -> float:
    """The Fourier accountant's own estimate."""
    asked = accountant(profile, "fourier", **FOURIER)
    estimate = (asked.delta if quantity == "delta" else asked.epsilon)(at).estimate
    return float("nan") if estimate is None else float(estimate.value)


def row(profile: PrivacyProfile, quantity: str, at: str, **others: Callable[[], float]) -> ROW:
    """Proved ends, the published estimate, and what other methods say."""
    proved = profile.delta(at, 6) if quantity == "delta" else profile.epsilon(at, 6)
    shown = {"lower": float(proved.lower), "upper": float(proved.upper), "fourier": published(profile, quantity, at)}
    for name, ask in others.items():
        try:
            shown[name] = ask()
        except Unsupported:
            shown[name] = float("nan")
    return shown


def figure_1a() -> Iterable[ROW]:
    """delta(1) against k, noise 1, 2, 3, beside the moments accountant."""
    for noise in ("1", "2", "3"):
        for count in (1000, 3000, 10000):
            profile = steps(noise, count)
            yield {"noise": float(noise), "k": count} | row(
                profile, "delta", "1",
                moments=lambda p=profile: from_above(p, "delta", "1", "renyi", conversion="mironov"))


def figure_1b() -> Iterable[ROW]:
    """epsilon(1e-6) against k, beside the moments accountant."""
    for noise in ("1", "2", "3"):
        for count in (100, 10000):
            profile = steps(noise, count)
            yield {"noise": float(noise), "k": count} | row(
                profile, "epsilon", "1e-6",
                moments=lambda p=profile: from_above(p, "epsilon", "1e-6", "renyi", conversion="mironov"))


def figure_2() -> Iterable[ROW]:
    """epsilon(1e-6) against k, beside the tight Renyi accountant of Poisson subsampling."""
    for count in (100, 1000, 20000):
        profile = steps("2", count)
        yield {"noise": 2.0, "k": count} | row(
            profile, "epsilon", "1e-6", renyi=lambda p=profile: from_above(p, "epsilon", "1e-6", "renyi"))


def figure_3() -> Iterable[ROW]:
    """delta(eps) at k = 5e4, beside the plain Berry-Esseen bound, as there, and that of the tilted loss."""
    profile = steps("4", 50000)
    for epsilon in ("0.5", "1", "1.5", "2"):
        yield {"noise": 4.0, "epsilon": float(epsilon)} | row(
            profile, "delta", epsilon,
            plain=lambda e=epsilon: from_above(profile, "delta", e, "berry-esseen", form="plain-cited"),
            berry_esseen=lambda e=epsilon: from_above(profile, "delta", e, "berry-esseen", form="cited"))


def figure_4() -> Iterable[ROW]:
    """delta(eps) at k = 2^12, noise 1, q = 0.02, beside whole cells moved to one side, and Privacy Buckets."""
    profile = steps("1", 2**12, "0.02")
    for epsilon in ("4", "8"):
        yield {"noise": 1.0, "epsilon": float(epsilon)} | row(profile, "delta", epsilon, **{
            f"{name}_{points}": lambda n=points, d=kind, e=epsilon: from_above(
                profile, "delta", e, "fourier", L=Fraction(20), n=n, discretisation=d)
            for name, kind, points in (("cells", "cells", 2**13), ("cells", "cells", 2**15), ("dots", "dots", 2**13))},
            buckets_8192=lambda e=epsilon: from_above(profile, "delta", e, "buckets", buckets=2**13))


FIGURES = {"1a": figure_1a, "1b": figure_1b, "2": figure_2, "3": figure_3, "4": figure_4}


def draw(name: str, rows: list[ROW], directory: Path) -> None:
    """One picture; needs matplotlib."""
    from matplotlib import pyplot

    parameter = "k" if "k" in rows[0] else "epsilon"
    figure, axes = pyplot.subplots()
    for noise in sorted({one["noise"] for one in rows}):
        part = [one for one in rows if one["noise"] == noise]
        for key in part[0]:
            if key not in ("noise", "k", "epsilon", "lower"):
                label = f"{'proved' if key == 'upper' else key}, noise {noise:g}"
                axes.plot([one[parameter] for one in part], [one[key] for one in part], marker="o", label=label)
    axes.set(xlabel=parameter, yscale="log", title=f"Figure {name}")
    axes.legend()
    directory.mkdir(parents=True, exist_ok=True)
    figure.savefig(directory / f"figure_{name}.png")
    pyplot.close(figure)


def main(names: Iterable[str] = FIGURES, plots: Path | None = None) -> None:
    """Print the figures' numbers; draw them where a directory is given."""
    for name in names:
        rows = list(FIGURES[name]())
        keys = list(rows[0])
        print(f"Figure {name}: {(FIGURES[name].__doc__ or '').strip()}")
        print("".join(f"{key:>15}" for key in keys))
        for one in rows:
            print("".join(f"{one[key]:>15.8g}" for key in keys))
        if plots is not None:
            try:
                draw(name, rows, plots)
            except ImportError:
                print("no picture: matplotlib is not installed (pip install matplotlib)", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("figures", nargs="*", default=list(FIGURES), help="of " + ", ".join(FIGURES))
    parser.add_argument("--plot", type=Path, metavar="DIRECTORY", help="draw them there")
    asked = parser.parse_args()
    main(asked.figures, asked.plot)
