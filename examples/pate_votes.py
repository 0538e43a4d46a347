"""What do the votes published by Papernot and others (2018) reveal of teachers' data, and what of the noise alone?

    python examples/pate_votes.py [--record] mnist_250_teachers.npy svhn_250_teachers.npy

The counts are not part of this project: research/pate_2018/ICLR2018/download.py of tensorflow/privacy fetches them, and
github:frhrdr/patepy has copies. Of the first questions of a file, an upper bound on epsilon at the paper's delta: from
the votes by one Renyi divergence (T233; it may not be published as it is), and from the noise for all votes. The
paper's own epsilon is from the votes. `--record` writes docs/votes.csv.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from verified_dp import Gaussian, Renyi, compose, privacy_profile
from verified_dp.mechanisms import GNMax, GNMaxVotes
from verified_dp.pate import sanitised

TABLE = Path(__file__).parents[1] / "docs" / "votes.csv"
KNOWN: dict[str, dict[str, Any]] = {
    "mnist_250_teachers": {"questions": 640, "answered": 286, "threshold": 200, "its noise": 150, "noise": 40,
                           "delta": "1e-5", "paper: epsilon": "1.97"},
    "svhn_250_teachers": {"questions": 8500, "answered": 3098, "threshold": 300, "its noise": 200, "noise": 40,
                          "delta": "1e-6", "paper: epsilon": "4.96"},
}


def answer(path: Path, orders: Iterable[int] = range(6, 17)) -> dict[str, Any]:
    """A row of the table, from the best of these orders."""
    known = KNOWN[path.stem]
    asked = [GNMaxVotes(known["noise"], [int(count) for count in row], known["threshold"], known["its noise"])
             for row in np.load(path)[: known["questions"]]]
    from_votes = min((epsilon(Renyi([order], [sanitised(asked, order=order, beta="1/100", noise=5).bound]), known)
                      for order in orders), key=float)
    noise = compose((Gaussian(sigma=known["its noise"], sensitivity=1), known["questions"]),
                    (GNMax(known["noise"]), known["answered"]))
    return {"votes": path.stem, **known, "from the votes": from_votes, "from the noise": epsilon(noise, known)}


def epsilon(mechanism: Any, known: dict[str, Any]) -> str:
    """An upper bound in four digits."""
    return privacy_profile(mechanism, "replace").epsilon(known["delta"], digits=4).upper_decimal


def main(*arguments: str) -> None:
    """Print one row for each file."""
    rows = [answer(Path(path)) for path in arguments if path != "--record"]
    for row in rows:
        print(", ".join(f"{key} {value}" for key, value in row.items()))
    if "--record" in arguments:
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
