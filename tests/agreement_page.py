"""Write docs/cross-check.md from the rows of `make cross-check`, `mutant-check`, `regime-check` and of the browser.

    python tests/agreement_page.py [build/cross-check.jsonl build/mutant-check.jsonl build/browser-check.jsonl
                                    build/regime-check.jsonl build/list-check.jsonl build/own-check.jsonl]
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import browser_check
import list_check
import own_check
import regime_check
from cross_check import ROOT, VERIFIERS, Row, counts, disagrees, rows_of
from mutant_check import ENGINES, is_unsound, report

PAGE = ROOT / "docs" / "cross-check.md"
ROWS = PAGE.with_suffix(".csv")
"""What each verifier says of each example claim."""
_NAMES = ("claim", "verdict", "witnesses", *VERIFIERS)
_CELL = re.compile(r"^(.*) \(([\d.]+) s\)$")

HEAD = """\
# Do the verifiers agree?

Written by `python tests/agreement_page.py` from the rows of `make cross-check`, `mutant-check`, `regime-check` and
`tests/browser_check.py`. Three programs check a certificate: the **trusted** checker, the **independent** one (its own
arithmetic on Python's integers, nothing of the first one's code), and the **formal** one, extracted from Coq, for
claims that it can decide on a grid of integers. Seconds are processor time. *Not covered* is no disagreement: nothing
is said.

The independent checker decides the verdict by closed forms and lattices of its own, whatever the witness. It replays
witnesses of the kinds `line` and `chernoff` (over nodes), `closed-form`, `exact`, `renyi`,
`divergences` and `attack`; the enclosures of others it compares with its own numbers, which says nothing of their last
digits.

The tables are those of version 0.3.0, in which it replayed every kind of witness and had no lattices; the first one
names the kinds as they are called now. Of 0.4.0 are selections, *Without any witness*, and the altered certificates of
*rays beside plain steps* and *line of atoms*.
"""

OWN = """\
## Without any witness

What the independent checker of version 0.4.0 decides by itself (`python tests/own_check.py`): the example claims, and
random specifications as in the next table with a claim just above or just below delta. What takes more than 5 s counts
as not decided: such verdicts rest on replayed witnesses. `tfp-ex-pld-mb`, true by 10^-7 of delta, takes minutes: it is
*not covered* above.
"""

RANDOM = """\
## Random specifications

Each is drawn until this package has a theorem for it; some certificates take too long to be written, and are not. The
formal checker is asked about one in four. Rows are kept from run to run, so some are of earlier code.
"""

REGIMES = """\
## Hard regimes

For each of the newest kinds of witness a family of random specifications that chance seldom draws: 1, 2, 3 and many
steps, `q = 1`, ties of losses, mass at infinity, epsilon 0 and next to the largest loss, delta down to 1e-300. Every
delta is asked of all kinds of witness that can be chosen in little time, of sums over all outcomes and of quadrature:
each two enclosures must meet. The independent checker refused nine valid certificates when these families were first
run: mended, and tests.
"""

LISTS = """\
## Lists

Random lists of 20 to 200 epsilons, or deltas, of 1 to 20,000 steps: each answer beside a question of its own at 20
digits.
"""

MUTANTS = """\
## Altered certificates

A small certificate of every kind of witness is altered at random: its witness, its enclosure (moved beside the true
delta: *false*) or its input; result, verdict, theorems and seals are written anew. What is accepted is true all the
same: the witness still proves the enclosure. The checkers need not accept the same ones, as they round differently.
"""

BROWSER = """\
## In the browser page

The page of `make verify-page`, opened as a file in Chromium without a network, beside the native checkers: certificates
of every kind of witness, of every scheme and of the vector kinds.
"""


def total(claims: Sequence[Row]) -> str:
    """How many certificates each verifier confirms, and in how many seconds altogether."""
    parts = [f"{name} {sum(row['results'].get(name) == 'valid' for row in claims)} of {len(claims)} in "
             f"{sum(row['seconds'].get(name, 0) for row in claims):.0f} s" for name in VERIFIERS]
    return f"Confirmed: {', '.join(parts)}. Disagreements: {', '.join(_wrong(claims)) or 'none'}."


def _wrong(rows: Sequence[Row]) -> list[str]:
    return [row["key"] for row in rows if disagrees(row)]


def page(claims: Sequence[Row], others: Sequence[Row], mutants: list[Row], browser: Sequence[Row],
         regimes: Sequence[Row], lists: Sequence[Row], own: Sequence[Row]) -> Iterator[str]:
    """The lines of the page."""
    written = [row for row in others if "results" in row]
    yield from (HEAD, "## The example claims", "", f"{total(claims)} [Each of them]({ROWS.name}), with seconds.", "",
                *counts(claims), "")
    yield from (OWN, *own_check.report(own), "")
    yield from (RANDOM, f"{len(others)} specifications, {len(written)} certificates. "
                f"Disagreements: {', '.join(_wrong(others)) or 'none'}.", "", *counts(written), "")
    wrong = [row["key"] for row in regimes if regime_check.is_wrong(row)]
    yield from (REGIMES, f"{len(regimes)} specifications, {sum('results' in row for row in regimes)} certificates. "
                f"Disagreements: {', '.join(wrong) or 'none'}.", "", *regime_check.report(regimes), "")
    yield from (LISTS, *list_check.report(lists), "")
    known = [row for row in mutants if row["kind"] in ENGINES]
    yield from (MUTANTS, f"{len(known)} certificates, {sum(row['false'] for row in known)} false; false and accepted: "
                f"{sum(map(is_unsound, known))}.", "", *report(known), "")
    yield from (BROWSER, *browser_check.table(browser))


def claims_of(text: str) -> list[Row]:
    """The rows of the example claims, from the text of ROWS."""
    return [{"key": f"claim:{row['claim']}", "verdict": row["verdict"], "witnesses": row["witnesses"].split(", "),
             **_results([row[name] for name in VERIFIERS])} for row in csv.DictReader(io.StringIO(text))]


def corpus(rows: Sequence[Row]) -> str:
    """The text of ROWS: certificates and verifiers, with seconds of processor time."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([_NAMES, *((
        row["key"].partition(":")[2], row["verdict"], ", ".join(row["witnesses"]),
        *(f"{row['results'][name].partition(':')[0]} ({row['seconds'][name]:.2f} s)" if name in row["results"] else ""
          for name in VERIFIERS)) for row in rows)])
    return stream.getvalue()


def _results(cells: Sequence[str]) -> Row:
    found = {name: match for name, cell in zip(VERIFIERS, cells, strict=True) if (match := _CELL.match(cell.strip()))}
    return {"results": {name: match[1] for name, match in found.items()},
            "seconds": {name: float(match[2]) for name, match in found.items()}}


def main(arguments: Sequence[str]) -> int:
    names = ("cross", "mutant", "browser", "regime", "list", "own")
    files = list(map(Path, arguments)) or [ROOT / "build" / f"{name}-check.jsonl" for name in names]
    rows, mutants, *more = (rows_of(file) for file in files)
    claims = sorted((row for key, row in rows.items() if key.startswith("claim:")), key=lambda row: row["key"])
    others = [row for key, row in rows.items() if not key.startswith("claim:")]
    lines = page(claims, others, list(mutants.values()), *(list(known.values()) for known in more))
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    ROWS.write_text(corpus(claims), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
