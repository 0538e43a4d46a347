"""Write the index of README.md: every theorem, what rests on it in the package, what it uses, and when it was last read
whole; for `verify --trust` the package's own list of statements and readings (verified_dp/verifiers/theorems.json); and
how many of the theorems behind some of the golden certificates were read whole (docs/certificates.md).

A proof's title is `# TNN-name: plain statement`. What it uses is read off the file: the other theorems named in
statement and proof, and a line `Rests on a citation: ...` at the end of the hypotheses for what is published
elsewhere and not proved here. `record_hashes.py` writes the index whenever it records; a test fails if it is stale.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

import readings as read

CATALOGUE = Path("verified_dp", "verifiers", "theorems.json")
BEGIN, END = "<!-- index: written by record_hashes.py -->", "<!-- end of index -->"
DOCS, GOLDEN = Path("docs", "certificates.md"), Path("tests", "data", "golden.jsonl.xz")
EXAMPLES = {
    "autodp-gauss-1e6": "Gaussian releases",
    "autodp-laplace100": "Laplace releases",
    "tfp-mnist-15": "DP-SGD, Poisson sampling",
    "fa-S0": "the same, one record replaced",
    "census-pl94-persons": "zero-concentrated DP",
    "allocation 0": "random allocation, one epoch",
    "epochs 0": "random allocation, many epochs",
}
"""Golden certificate -> what was run."""
ROOMS = {
    "core": "what a certificate rests on",
    "search": "what proposes windows, and bounds that nothing is certified with",
    "papers": "the papers' methods",
    "adaptive": "filters, odometers, ledgers",
    "individual": "the losses of every record",
    "interop": "reading other libraries' descriptions",
    "verifiers": "second opinions",
    "attack": "statistical lower bounds from attacks",
    "pate": "publishing what votes revealed",
    "ranges": "verdicts for every value of a range",
    "questions": "curves, trade-offs and calibration",
}
TITLE = re.compile(r"# (?P<name>T\d+-[\w-]+): (?P<statement>.+)")
CITATION = re.compile(r"^(Rests on a citation: .+?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


class Function(Protocol):
    """A proved function: its module and its theorems."""

    @property
    def module(self) -> str: ...

    @property
    def theorems(self) -> tuple[str, ...]: ...


def sections(text: str, *wanted: str) -> str:
    """The named sections of a proof, joined."""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return "\n".join(body for name, body in zip(parts[1::2], parts[2::2], strict=True) if name.strip() in wanted)


def uses(text: str) -> str:
    """Other theorems that a proof names, in order, and its citations."""
    argument = sections(text, "Statement", "Proof")
    own = re.match(r"# (T\d+)", text)
    numbers = {number for number in re.findall(r"\bT\d{2,3}\b", argument) if own is None or number != own[1]}
    for first, last in re.findall(r"\bT(\d{2,3}) to T(\d{2,3})\b", argument):
        numbers |= {f"T{number:02}" for number in range(int(first), int(last) + 1)}
    cited = ["r" + " ".join(found.split()).rstrip(".")[1:] for found in CITATION.findall(sections(text, "Hypotheses"))]
    ordered = ", ".join(sorted(numbers, key=lambda number: int(number[1:])))
    return "; ".join([part for part in (ordered, *cited) if part])


def row(path: Path, room: str, files: Iterable[str]) -> str:
    """One line of the index."""
    text = path.read_text(encoding="utf-8")
    title = TITLE.match(text)
    if title is None or title["name"] != path.stem:
        raise ValueError(f"{path.name} must begin with '# {path.stem}: statement', got {text[:40]!r}")
    statement = title["statement"].replace("|", "\\|")
    places = ", ".join(f"`{name}`" for name in sorted(files))
    number, whole = title["name"].partition("-")[0], read.last_whole(read.readings(text)) or "no"
    return f"| [{number}]({room}/{path.name}) | {statement} | {places} | {uses(text)} | {whole} |"


def catalogue(proofs: Mapping[str, Path]) -> str:
    """Name -> statement, the newest reading, the last whole one, and citations, as the text of a JSON file."""
    found = {}
    for name, path in proofs.items():
        text = path.read_text(encoding="utf-8")
        title, known = TITLE.match(text), read.readings(text)
        found[name] = {"statement": title["statement"] if title else "", "read": read.described(known),
                       "whole": read.last_whole(known),
                       "cites": [" ".join(cited.split()) for cited in CITATION.findall(sections(text, "Hypotheses"))]}
    return json.dumps(found, indent=0, ensure_ascii=False) + "\n"


def table(functions: Iterable[Function], proofs: Mapping[str, Path]) -> str:
    """The index: a table for each room, theorems in the order of their numbers."""
    users: dict[str, set[str]] = {}
    for function in functions:
        for theorem in function.theorems:
            users.setdefault(theorem, set()).add(function.module.partition(".")[2].replace(".", "/"))
    lines = []
    for room, what in ROOMS.items():
        rows = [row(path, room, users.get(name, ())) for name, path in proofs.items() if path.parent.name == room]
        lines += [f"### {room}/: {what}", "", "| theorem | statement | rests on it | it uses | read whole |",
                  "|---|---|---|---|---|", *rows, ""] if rows else []
    return "\n".join([BEGIN, "", *lines, END])


def count_of_readings(golden: Mapping[str, Iterable[str]], whole: Mapping[str, str]) -> str:
    """For documents: of the theorems behind certificates, how many were read whole. whole: theorem -> last_whole."""
    lines = []
    for name, what in EXAMPLES.items():
        known = [whole[theorem] for theorem in golden[name] if theorem in whole]
        now, later = sum(bool(each) and "," not in each for each in known), sum("," in each for each in known)
        lines.append(f"| {what} | {len(known)} | {now} | {later} | {len(known) - now - later} |")
    head = ("behind a certificate of", "theorems", "read whole as they stand", "read whole, changed since", "never")
    return "\n".join([BEGIN, "", f"| {' | '.join(head)} |", "|---|---|---|---|---|", *lines, "", END])


def golden_theorems(root: Path) -> dict[str, list[str]]:
    """Name of each golden certificate -> its theorems; nothing where there are none."""
    path = root / GOLDEN
    rows = map(json.loads, lzma.decompress(path.read_bytes()).splitlines()) if path.is_file() else ()
    return {row["name"]: row["certificate"]["theorems"] for row in rows}


def with_index(text: str, index: str) -> str:
    """The text with the index between its two marks."""
    before, _, rest = text.partition(BEGIN)
    return before + index + rest.partition(END)[2]


def documents(root: Path, functions: Iterable[Function], proofs: Mapping[str, Path]) -> dict[Path, str]:
    """What is written, where it is there: the index, the package's list, the count of readings."""
    known = catalogue(proofs)
    whole = {name: found["whole"] for name, found in json.loads(known).items()}
    golden, new = golden_theorems(root), {}
    for path, made in ((Path("proofs", "README.md"), lambda: table(functions, proofs)),
                       (DOCS, lambda: count_of_readings(golden, whole)), (CATALOGUE, lambda: known)):
        text = (root / path).read_text(encoding="utf-8") if (root / path).is_file() else ""
        if path == CATALOGUE and text:
            new[path] = known
        elif BEGIN in text and END in text:
            new[path] = with_index(text, made())
    return new


def write(root: Path, functions: Iterable[Function], proofs: Mapping[str, Path]) -> None:
    """Bring all of that up to date."""
    for path, text in documents(root, functions, proofs).items():
        if (root / path).read_text(encoding="utf-8") != text:
            (root / path).write_text(text, encoding="utf-8")
            print(f"written: {path}")
