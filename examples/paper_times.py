"""How long does every method of the papers take, how accurate is it, and how does the PRV accountant converge?

    python examples/paper_times.py                    the tables, as text (minutes)
    python examples/paper_times.py --record PAGE      writes them into the page (docs/papers.md)

1. delta by every method, in one run: 10^4 equal steps, and 100 steps of each of 100 different laws.
2. The PRV accountant over its mesh: the proved width, and how far its estimate is from the truth.
Seconds are of processor time; a method may take LIMIT seconds by the clock.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from math import log2
from pathlib import Path

from verified_dp import Enclosure, Gaussian, PoissonSampled, PrivacyProfile, Unsupported, compose, privacy_profile
from verified_dp.papers import accountant

METHODS: dict[str, tuple[str, dict[str, object]]] = {
    "`auto` (the contour, 12 digits)": ("auto", {}),
    "`fourier` (000), proved": ("fourier", {}),
    "`fourier` (000), estimate": ("fourier", {"form": "estimate"}),
    "`buckets` (baseline of 000)": ("buckets", {}),
    "`prv` (001)": ("prv", {}),
    "`prv` (001), as published": ("prv", {"bound": "hoeffding", "tilt": "0"}),
    "`renyi` (002, 003)": ("renyi", {}),
    "`saddlepoint` (003)": ("saddlepoint", {}),
    "`berry-esseen` (003), tilted": ("berry-esseen", {}),
    "`berry-esseen` (003), plain": ("berry-esseen", {"form": "plain"}),
    "`edgeworth` (004)": ("edgeworth", {}),
}
"""What the table says -> method and parameters."""
CASES = {"equal steps": [("3/2", 10**4)], "100 laws": [(Fraction(100 + i, 100), 100) for i in range(100)]}
"""Name -> (noise, count) of steps on samples of 1 %."""
LIMIT = 30.0
POINTS = tuple(2**n for n in range(10, 17))
Table = list[list[str]]


def case(name: str) -> PrivacyProfile:
    return privacy_profile(compose(*((PoissonSampled(Gaussian(noise), "1/100"), count)
                                     for noise, count in CASES[name])), "remove")


def relative_width(found: Enclosure | None) -> str:
    """(upper - lower) / upper, "" where nothing is proved."""
    if found is None:
        return ""
    return f"{float(1 - found.lower.as_fraction() / found.upper.as_fraction()):.0e}"


def timed(profile: PrivacyProfile, method: str, parameters: dict[str, object]) -> list[str]:
    """[seconds, relative width of the interval, relative error of the estimate] of delta(1)."""
    truth = profile.delta("1").lower.as_fraction()
    start = time.process_time()
    try:
        if method == "auto":
            found = privacy_profile(profile.composition, profile.relation).delta("1")
            return [f"{time.process_time() - start:.2f}", relative_width(found), ""]
        result = accountant(profile, method, **parameters).delta("1", max_seconds=LIMIT)
    except Unsupported:
        return ["", "", ""]
    taken = f"{time.process_time() - start:.2f}"
    if "time" in result.parameters:
        return [f"over {LIMIT:.0f}", "", ""]
    error = "" if result.estimate is None else f"{abs(float(Fraction(result.estimate.value) / truth - 1)):.0e}"
    return [taken, relative_width(result.enclosure), error]


def times(names: Iterable[str] = METHODS) -> Iterator[list[str]]:
    """A row for each method: both cases."""
    profiles = [case(name) for name in CASES]
    for name in names:
        yield [name, *(cell for profile in profiles for cell in timed(profile, *METHODS[name]))]


def mesh_row(points: int) -> list[str]:
    """[points, mesh, proved width, |estimate - truth|] at noise 0.8, 1000 samples of 0.4 %, eps = 1.5 (Figure 3(a))."""
    profile = privacy_profile(compose((PoissonSampled(Gaussian("4/5"), "1/250"), 1000)), "remove")
    mesh, truth = Fraction(16, points), profile.delta("3/2").lower.as_fraction()
    found = accountant(profile, "prv", mesh=mesh, domain=8, delta_error="1e-14", tilt=0).delta("3/2")
    if found.enclosure is None or found.estimate is None:
        raise ArithmeticError("prv proves nothing here")
    width = found.enclosure.upper.as_fraction() - found.enclosure.lower.as_fraction()
    return [str(points), f"{float(mesh):.2e}", f"{float(width):.2e}",
            f"{abs(float(Fraction(found.estimate.value) - truth)):.2e}"]


def rates(points: Iterable[int] = POINTS) -> Table:
    """Rows of `mesh_row`, each with the powers of the mesh at which both fell since the row before."""
    rows = [mesh_row(one) for one in points]
    falls = [[f"{log2(float(x) / float(y)):.1f}" for x, y in zip(before[2:], after[2:], strict=True)]
             for before, after in pairwise(rows)]
    return [row + fall for row, fall in zip(rows, [["", ""], *falls], strict=True)]


HEADS = {
    "times": ["method", "10^4 steps: seconds", "width", "error", "100 laws: seconds", "width", "error"],
    "mesh": ["points", "mesh", "proved width", "error of the estimate", "power", "power"],
}


def shown(name: str, rows: Table) -> str:
    """A table of the page."""
    lines = [HEADS[name], ["---"] * len(HEADS[name]), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def record(page: Path, name: str, text: str) -> None:
    """Put a table between its marks."""
    before, rest = page.read_text(encoding="utf-8").split(f"<!-- {name} -->")
    _, after = rest.split(f"<!-- end of {name} -->")
    page.write_text(f"{before}<!-- {name} -->\n{text}\n<!-- end of {name} -->{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--record", type=Path, metavar="PAGE")
    page = parser.parse_args().record
    for name, build in (("mesh", rates), ("times", lambda: list(times()))):
        text = shown(name, build())
        print(text, flush=True)
        if page is not None:
            record(page, name, text)


if __name__ == "__main__":
    main()
