"""Write docs/cross-check.md from the rows of `make cross-check`, `mutant-check`, `regime-check` and of the browser.

    python tests/agreement_page.py [build/cross-check.jsonl build/mutant-check.jsonl build/browser-check.jsonl
                                    build/regime-check.jsonl build/list-check.jsonl build/own-check.jsonl]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import browser_check
import list_check
import own_check
import regime_check
from cross_check import ROOT, VERIFIERS, Row, corpus, counts, disagrees, reached, rows_of
from mutant_check import ENGINES, is_unsound, report

PAGE = ROOT / "docs" / "cross-check.md"
_ROW = re.compile(r"^\| ([^|]+) \| (proved|refuted|undecided) \| ([a-z, -]+) \|(.*)\|$", re.MULTILINE)
_CELL = re.compile(r"^(.*) \(([\d.]+) s\)$")

HEAD = """\
# Do the verifiers agree?

Written by `python tests/agreement_page.py` from the rows of `make cross-check`, `mutant-check`, `regime-check` and
`tests/browser_check.py`. Three programs check a certificate: the **trusted** checker, the **independent** one (its own
arithmetic on Python's integers, nothing of the first one's code), and the **formal** one, extracted from Coq, where a
part in integers can be written for the claim. Seconds are processor time. *Not covered* is no disagreement: nothing is
said; of the formal one, mostly, that no grid it can compose decides the claim, or that none was found in time.

The independent checker decides the verdict by closed forms and lattices of its own, whatever the witness. It replays
witnesses of the kinds `line` and `chernoff` (over nodes), `closed-form`, `exact`, `renyi`,
`divergences` and `attack`; the enclosures of others it compares with its own numbers, which says nothing of their last
digits.

The tables are those of version 0.3.0, in which it replayed every kind of witness and had no lattices; the first one
names the kinds as they are called now. Of 0.4.0 are *Without any witness* and the altered certificates of
*rays beside plain steps* and *line of atoms*.
"""

OWN = """\
## Without any witness

What the independent checker of version 0.4.0 decides by itself (`python tests/own_check.py`): the example claims as
they are stated, and random specifications as in the next table, with a claim of their own: delta found to 9 digits and
moved by so much of it, up where it is to be proved, in one half, down where it is to be refuted, in the other. What
takes more than 5 s of processor time counts as not decided: such verdicts rest on replayed witnesses. Only that of
`tfp-ex-pld-mb`, true by 10^-7 of delta, has a witness that is replayed no more; its own lattices take minutes there.
"""

RANDOM = """\
## Random specifications

Each is drawn until this package has a theorem for it. Where writing a certificate takes more than a second or two,
there is none. The formal checker is asked about one in four. Rows are kept from run to run, so these may be of earlier
code: where the newest kinds of witness are not among them, the hard regimes below have them.
"""

REGIMES = """\
## Hard regimes

For each of the newest kinds of witness a family of random specifications that chance alone seldom draws, in all
relations: 1, 2, 3 and many steps, `q = 1`, ties of losses, mass at infinity, epsilon 0 and next to the largest loss,
delta down to 1e-300. Every delta of a certificate is asked of all kinds of witness that can be chosen for it in little
time, and of sums over all outcomes and quadrature of densities where these are short: each two enclosures must meet,
the certificate's own among them. Where the search chose another kind, a newer one is put in its place, and both
checkers read that too; several epochs of random allocation are asked of a line of each order. No enclosure excluded
another's. The independent checker refused nine valid certificates when these families were first run, for bounds that
it had too wide, nodes that the search had put in no order, or too few bits for an epoch's tiny deltas: mended, and
tests.
"""

LISTS = """\
## Lists

Random lists of 20 to 200 epsilons, or deltas, of 1 to 20,000 steps: each answer beside a question of its own at 20
digits.
"""

MUTANTS = """\
## Altered certificates

A small certificate of every kind of witness is altered at random: its witness, its enclosure (moved beside the true
delta: *false*; of *end* and *endless* the place, or a mass where there is none), its input; result, verdict, theorems
and seals are written anew. Altered formal parts are false where their bound lies below the
true delta. What is accepted is true all the same: the witness still proves the enclosure. The checkers need not accept
the same ones: where `prec` was altered to few bits, the trusted one evaluates with these and again with 64 more, the
independent one with 64 more, and each has its own roundings. So it is with those of *moment* below: with few bits one
of them decides that two tangents cross below `e^epsilon`, by 2^-64 of it, and the other does not.

Half of the later rows alter what is near: the ends by a few widths or a part of one, inward too, the count of a
mechanism, or the order. False is then what delta to 50 bits, found anew for what is altered, says: beside the truth. An
end moved inward that is accepted is where the witness proves more than was recorded.
"""

BROWSER = """\
## In the browser page

The page of `make verify-page`, opened as a file in Chromium without a network: one certificate of every kind of
witness, of every scheme and of the vector kinds. What the page says and the seconds that it shows, beside the native
checkers.
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
    yield from (HEAD, "## The example claims", "", total(claims), "", *corpus(claims), "")
    yield from (OWN, *own_check.report(own), "")
    yield from (RANDOM, f"{len(others)} specifications, {len(written)} certificates. "
                f"Disagreements: {', '.join(_wrong(others)) or 'none'}.", "", *counts(written), "", *reached(written),
                "")
    wrong = [row["key"] for row in regimes if regime_check.is_wrong(row)]
    yield from (REGIMES, f"{len(regimes)} specifications, {sum('results' in row for row in regimes)} certificates. "
                f"Disagreements: {', '.join(wrong) or 'none'}.", "", *regime_check.report(regimes), "")
    yield from (LISTS, *list_check.report(lists), "")
    known = [row for row in mutants if row["kind"] in ENGINES]
    yield from (MUTANTS, f"{len(known)} certificates, {sum(row['false'] for row in known)} false; false and accepted: "
                f"{sum(map(is_unsound, known))}.", "", *report(known), "")
    yield from (BROWSER, *browser_check.table(browser))


def claims_of(text: str) -> list[Row]:
    """The rows of the example claims on the page."""
    return [{"key": f"claim:{name}", "verdict": verdict, "witnesses": kinds.split(", "), **_results(cells.split(" | "))}
            for name, verdict, kinds, cells in _ROW.findall(text)]


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
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
