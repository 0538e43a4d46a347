"""How many verdicts does the independent checker decide by itself, no witness asked, and in what time?

    python tests/own_check.py --count 100 --seed 1       (MPMATH_NOGMPY=1: by mpmath alone, where gmpy2 is there too)

On the example claims as they are stated; and on the random specifications of cross_check.py with a claim of their own:
delta at their epsilon, found to DIGITS digits, and beside it by 1 %, 0.1 % and 10^-6 of it, above in one half of them,
which is proved, and below in the others, which is refuted. Rows go to build/own-check.jsonl, so a run goes on where it
stopped. Exit code 1 if a verdict is wrong.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from cross_check import CLAIMS, ROOT, SECONDS, Row, processor_time, rows_of, specification
from mpmath.libmp import BACKEND

from verified_dp.core.kernel.certificate.statement import input_record
from verified_dp.core.kernel.composition import Spec
from verified_dp.core.kernel.errors import InvalidInput, Undecided, Unsupported
from verified_dp.profile import privacy_profile
from verified_dp.spec import load_spec, parse_spec
from verified_dp.verifiers.independent import TooMuch
from verified_dp.verifiers.independent.balls import precision
from verified_dp.verifiers.independent.check import MOST_FINE
from verified_dp.verifiers.independent.decide import Second
from verified_dp.verifiers.independent.inputs import read_input
from verified_dp.verifiers.independent.pairs import read_pairs

RECORD = CLAIMS / "expected.json"
DIGITS = 9
SLACKS = {"1 %": Fraction(1, 100), "0.1 %": Fraction(1, 1000), "10^-6": Fraction(1, 10**6)}
OWN_SECONDS = 5.0
"""Of processor time, for one verdict; what takes longer is not decided."""


def exceeds(spec: Spec, delta: Fraction, seconds: float = OWN_SECONDS) -> tuple[bool | None, float]:
    """(whether delta at the claimed epsilon exceeds this, None: not decided; seconds), by the independent checker."""
    assert spec.claim is not None
    start, found = time.process_time(), list[bool | None]()
    try:
        with processor_time(seconds), precision(256):
            losses = read_pairs(read_input(input_record(spec.composition, spec.relation)))[2]
            for loss in losses.values():
                found.append(Second(loss).decide(spec.claim.epsilon, delta, MOST_FINE).exceeds(delta))
                if found[-1]:
                    break
    except (TimeoutError, TooMuch):
        found.append(None)
    verdict = True if True in found else None if None in found else False
    return verdict, round(time.process_time() - start, 3)


def claim_row(path: Path, seconds: float) -> Row:
    """Of an example claim, as it is stated. Wrong is what contradicts the verdict that is recorded for it."""
    spec = load_spec(path)
    assert spec.claim is not None
    found, spent = exceeds(spec, spec.claim.delta, seconds)
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))[path.stem]["verdict"]
    return {"of": "example claims", "verdict": found, "wrong": found is not None and recorded == (
        "proved" if found else "refuted"), "seconds": spent}


def random_rows(seed: int, index: int, seconds: float) -> list[Row]:
    """Of a random specification, one for each slack; none where delta is 0 or 1, or is not found."""
    spec = parse_spec(specification(seed, index))
    assert spec.claim is not None
    try:
        with processor_time(SECONDS):
            bounds: Any = privacy_profile(spec).delta(spec.claim.epsilon, DIGITS)
    except (Unsupported, Undecided, InvalidInput, TimeoutError):
        return []
    low, high = Fraction(bounds.lower), Fraction(bounds.upper)
    if not 0 < low <= high < 1 or (high - low) * 10**7 > high:
        return []
    rows = []
    for name, slack in SLACKS.items():
        above = index % 2 == 0
        found, spent = exceeds(spec, high * (1 + slack) if above else low * (1 - slack), seconds)
        rows.append({"of": name, "verdict": found, "wrong": found is above, "seconds": spent})
    return rows


def report(lines: Sequence[Row]) -> Iterator[str]:
    """Lines of a table, of those of the file."""
    rows = flat(lines)
    yield "| claims | arithmetic | number | decided | wrong | median | nine of ten within | all |"
    yield "|---|---|---|---|---|---|---|---|"
    for of in ("example claims", *SLACKS):
        for backend, name in (("python", "mpmath"), ("gmpy", "mpmath with gmpy2")):
            mine = [row for row in rows if (row["of"], row["backend"]) == (of, backend)]
            if not mine:
                continue
            times = sorted(row["seconds"] for row in mine)
            what = of if of == "example claims" else f"random, {of} beside delta"
            yield (f"| {what} | {name} | {len(mine)} | {sum(row['verdict'] is not None for row in mine)} | "
                   f"{sum(row['wrong'] for row in mine)} | {statistics.median(times):.2f} s | "
                   f"{times[len(times) * 9 // 10]:.1f} s | {sum(times):.0f} s |")


def flat(lines: Sequence[Row]) -> list[Row]:
    """Each verdict, with the arithmetic that was used."""
    return [{**row, "backend": line["key"].partition(":")[0]} for line in lines for row in line["rows"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=OWN_SECONDS, help="for a verdict")
    parser.add_argument("--rows", type=Path, default=ROOT / "build" / "own-check.jsonl")
    parser.add_argument("--no-claims", action="store_true")
    given = parser.parse_args()
    given.rows.parent.mkdir(parents=True, exist_ok=True)
    known = rows_of(given.rows)
    tasks = [] if given.no_claims else [(path.stem, claim_row, (path,)) for path in sorted(CLAIMS.glob("*.toml"))]
    tasks += [(f"{given.seed}.{n}", random_rows, (given.seed, n)) for n in range(given.count)]
    with given.rows.open("a", encoding="utf-8") as out:
        for name, function, what in tasks:
            key = f"{BACKEND}:{name}"
            if key in known:
                continue
            found: Any = function(*what, given.seconds)
            known[key] = {"key": key, "rows": found if isinstance(found, list) else [found]}
            print(json.dumps(known[key]), file=out, flush=True)
    print("\n".join(report(list(known.values()))))
    return 1 if any(row["wrong"] for row in flat(list(known.values()))) else 0


if __name__ == "__main__":
    sys.exit(main())
