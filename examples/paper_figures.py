"""What do all figures and tables of the five papers look like, computed here?

Runs the program of each paper with its pictures, into one folder with a page of all of them and the printed numbers:

    python examples/paper_figures.py build/figures [NAME...]     minutes; needs matplotlib and scikit-learn

The extra `figures` has both; scikit-learn brings the digits on which paper 002's are drawn, and a program that finds it
missing is left out with a word. A program that is already drawn there is not run again.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = {
    "fourier_figures": ("Koskela, Jälkö, Honkela 2020: Figures 1 to 4", ("--plot",)),
    "prv_figures": ("Gopi, Lee, Wutschitz 2021: Figures 1 to 3, and the cost", ("--plot",)),
    "saddle_point_experiments": ("Alghamdi et al. 2023: Figures 1, 3 and 4", ("--plot",)),
    "edgeworth_figures": ("Wang et al. 2022: Figures 2 and 3", ("--plot",)),
    "gdp_and_renyi_filters": ("Koskela, Tobaben, Honkela 2023: Figures 3 to 5", ()),
    "individual_digits": ("Koskela, Tobaben, Honkela 2023: Figures 1, 2 and 6 to 10 in kind, on digits", ("--plot",)),
    "individual_dpsgd": ("Koskela, Tobaben, Honkela 2023: Figures 1, 7 and 8 in kind, on generated data", ()),
    "individual_filter": ("Koskela, Tobaben, Honkela 2023: Figures 2, 6, 9 and 10 in kind, on generated data", ()),
}
"""Program -> what it draws, and what comes before the place of its pictures."""
LACKING = 3
"""The status of a program that lacks a package."""
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>The figures of five papers</title>
<meta name="viewport" content="width=device-width"><style>
:root {{ color-scheme: light dark }} body {{ font: 1rem/1.5 sans-serif; max-width: 75rem; margin: auto; padding: 1rem }}
img {{ max-width: 100%; background: white }} pre {{ overflow-x: auto }}</style>
<h1>The figures of five papers</h1>{sections}</html>
"""


def picture_of(name: str, folder: Path) -> Path:
    """Where a program draws: a file, or a folder of several."""
    return folder / name if name in ("fourier_figures", "individual_digits") else folder / f"{name}.png"


def draw(name: str, folder: Path) -> str:
    """Run one program; its numbers go to NAME.txt once it has ended well. What it says where it lacks something."""
    run = [sys.executable, str(HERE / f"{name}.py"), *PROGRAMS[name][1], str(picture_of(name, folder))]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if done.returncode == LACKING:
        return f"left out: {done.stderr.strip()}; "
    if done.returncode:
        raise SystemExit(f"{name} ended with status {done.returncode}\n{done.stderr}")
    (folder / f"{name}.txt").write_text(done.stdout, encoding="utf-8")
    return ""


def section(name: str, folder: Path) -> str:
    """The pictures and the numbers of a program that was run."""
    place = picture_of(name, folder)
    pictures = sorted(place.glob("*.png")) if place.is_dir() else [place]
    title, text = PROGRAMS[name][0], (folder / f"{name}.txt").read_text(encoding="utf-8")
    shown = "".join(f'<img src="{path.relative_to(folder)}" alt="{escape(f"{title}: {path.stem}")}">'
                    for path in pictures if path.exists())
    return f"<h2>{escape(title)}</h2>{shown}<details><summary>numbers</summary><pre>{escape(text)}</pre></details>"


def main(folder: str, names: Sequence[str] = ()) -> None:
    """Draw what is missing, and write the page."""
    place, asked = Path(folder), list(names) or list(PROGRAMS)
    place.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(asked, 1):
        if (place / f"{name}.txt").exists():
            continue
        print(f"{number} of {len(asked)}: {PROGRAMS[name][0]} ...", end=" ", flush=True)
        start = time.perf_counter()
        print(f"{draw(name, place)}{time.perf_counter() - start:.0f} s", flush=True)
    drawn = [section(name, place) for name in PROGRAMS if (place / f"{name}.txt").exists()]
    (place / "index.html").write_text(PAGE.format(sections="".join(drawn)), encoding="utf-8")
    print(f"{len(drawn)} programs on {place / 'index.html'}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
