"""Write the index of README.md: every theorem, what rests on it in the package, and what it uses; and, for
`verify --trust`, the package's own list of statements and readings (verified_dp/verifiers/theorems.json).

A proof's title is `# TNN-name: plain statement`. What it uses is read off the file: the other theorems named in
statement and proof, and a line `Rests on a citation: ...` at the end of the hypotheses for what is published
elsewhere and not proved here. `record_hashes.py` writes the index whenever it records; a test fails if it is stale.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

CATALOGUE = Path("verified_dp", "verifiers", "theorems.json")
BEGIN, END = "<!-- index: written by record_hashes.py -->", "<!-- end of index -->"
ROOMS = {
    "core": "what a certificate rests on",
    "search": "what proposes windows, and bounds that nothing is certified with",
    "papers": "the papers' methods",
    "adaptive": "filters, odometers, ledgers",
    "individual": "the losses of every record",
    "interop": "reading other libraries' descriptions",
    "verifiers": "second opinions",
    "questions": "curves, trade-offs and calibration",
}
TITLE = re.compile(r"# (?P<name>T\d+-[\w-]+): (?P<statement>.+)")
READ = re.compile(r"^- read: (.+)$", re.MULTILINE)
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
    return f"| [{title['name'].partition('-')[0]}]({room}/{path.name}) | {statement} | {places} | {uses(text)} |"


def catalogue(proofs: Mapping[str, Path]) -> str:
    """Name -> statement, the last reading that is recorded, and citations, as the text of a JSON file."""
    found = {}
    for name, path in proofs.items():
        text = path.read_text(encoding="utf-8")
        title, read = TITLE.match(text), READ.search(text)
        found[name] = {"statement": title["statement"] if title else "", "read": read[1] if read else "by its author",
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
        lines += [f"### {room}/: {what}", "", "| theorem | statement | rests on it | it uses |", "|---|---|---|---|",
                  *rows, ""] if rows else []
    return "\n".join([BEGIN, "", *lines, END])


def with_index(text: str, index: str) -> str:
    """The README with the index between its two marks."""
    before, _, rest = text.partition(BEGIN)
    return before + index + rest.partition(END)[2]


def write(root: Path, functions: Iterable[Function], proofs: Mapping[str, Path]) -> None:
    """Bring the index in proofs/README.md up to date, where it has one."""
    path = root / "proofs" / "README.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    new = with_index(text, table(functions, proofs)) if BEGIN in text and END in text else text
    if new != text:
        path.write_text(new, encoding="utf-8")
        print("written: the index of proofs/README.md")
    listed, known = root / CATALOGUE, catalogue(proofs)
    if listed.is_file() and listed.read_text(encoding="utf-8") != known:
        listed.write_text(known, encoding="utf-8")
        print(f"written: {CATALOGUE}")
