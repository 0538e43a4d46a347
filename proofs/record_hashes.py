"""Keep the `## Code` sections of the proofs in step with the functions they prove, and the index with the proofs.

A section says how the proof was read (`readings.py`), and has one line for every function that carries `@proved_by`
with the file's theorem:

    - read 2026-11-25 at 9c8d7e6f, code 0a1b2c3d, part (enclose_x): the factor 2 of (3) moved into `_weights`
    - `verified_dp.core.engines.contour.enclose_x` sha256 `<16 hex digits>`

The hash covers the function (first half) and the helpers, constants and classes it reaches as well (second half;
`code_reached.py` says how); comments, docstrings, layout and names of modules do not matter. A hash that is not current
says that some of this changed after somebody last read the proof against it.

    python proofs/record_hashes.py T07-ends T12-powers --reason "..."   after re-reading these against what changed
    python proofs/record_hashes.py T07-ends --reason "..." --whole "what was tried to break it"   read by one who
                                                                wrote neither: statement, proof, all of the code
    python proofs/record_hashes.py --all --reason "..."                 all proofs that are stale
    python proofs/record_hashes.py --moved        functions that only moved: equal hash and name, another module
    python proofs/record_hashes.py --check        change nothing, print what is stale, exit 1 if anything is

A reason is needed, and stored, where code changed; where nothing did, only --whole writes. Without --whole a reading is
of the part that changed (named), or `reached only` where the functions' own texts did not change. A section with the
marks of a merge conflict can be recorded too. All but --check also write the index of README.md
(`theorem_index.py`). Standard library only; the package is read, not imported.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "proofs"))

import code_reached as code  # noqa: E402
import readings as read  # noqa: E402
import theorem_index as index  # noqa: E402

SECTION = re.compile(r"^## Code[ \t]*\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^- `(?P<name>[\w.]+)` sha256 `(?P<hash>[0-9a-f]*)`(?P<note>.*)$", re.MULTILINE)
CONFLICT = re.compile(r"^((<{7}|\|{7}|={7}|>{7})( .*)?|- read: .*)\n", re.MULTILINE)
"""Marks of a merge conflict, and readings in their earlier form, which a merge may bring back."""
OWN = 8
"""So many digits of a hash are of the function's own text."""
LONGEST_REASON = 110


@dataclass(frozen=True)
class Proved:
    """A decorated function or class: module, dotted name, theorems, its text and the texts of what it reaches."""

    module: str
    name: str
    theorems: tuple[str, ...]
    text: str
    reached: frozenset[str]

    @property
    def hash(self) -> str:
        return code.hash_of(self.text)[:OWN] + code.hash_of(self.text, self.reached)[OWN:]


def definitions(node: ast.AST, prefix: str, owner: ast.ClassDef | None = None) -> Iterator[
        tuple[str, code.Definition, ast.ClassDef | None]]:
    """Every function and class with its dotted name and class, also inside classes, functions and conditions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, code.Definition):
            name = f"{prefix}.{child.name}"
            yield name, child, owner
            yield from definitions(child, name, child if isinstance(child, ast.ClassDef) else None)
        elif not isinstance(child, ast.expr):
            yield from definitions(child, prefix, owner)


@cache
def proved_definitions(module: code.Module) -> tuple[tuple[str, code.Place], ...]:
    """Dotted name and place of every definition with a theorem."""
    return tuple((name, code.Place(module.name, node, owner))
                 for name, node, owner in definitions(module.tree, module.name) if code.is_proved(node))


def proved_in(package: code.Package, theorem: str = "") -> list[Proved]:
    """The proved functions of a package, or of one theorem; two of one name are an error: it is their identity."""
    places = [pair for module in package.modules.values() for pair in proved_definitions(module)]
    if twice := [name for name, times in Counter(name for name, _ in places).items() if times > 1]:
        raise ValueError(f"two proved functions share a name: {sorted(twice)}")
    return [Proved(place.module, name, code.theorems_of(place.node), code.text_of(place.node),
                   frozenset(other.text for other in package.reached(place)))
            for name, place in places if not theorem or theorem in code.theorems_of(place.node)]


def proved_in_package(root: Path = ROOT) -> list[Proved]:
    """All proved functions of the package in a folder."""
    return proved_in(code.package_of(*code.sources_below(root)))


def proofs_below(root: Path = ROOT) -> dict[str, Path]:
    """Name of the theorem -> its file, in whatever folder of proofs/; numbers are in order."""
    files = {path.stem: path for path in (root / "proofs").rglob("T[0-9][0-9]*-*.md")}
    return dict(sorted(files.items(), key=lambda item: int(item[0][1:].partition("-")[0])))


def recorded(text: str) -> dict[str, str]:
    """Dotted name -> recorded hash in the `## Code` section of a proof."""
    section = SECTION.search(text)
    return {line["name"]: line["hash"] for line in LINE.finditer(section["body"])} if section else {}


def complaints(text: str, current: dict[str, str]) -> list[str]:
    """What is wrong with a proof's `## Code` section, given the current hashes of the theorem's functions."""
    found, section = recorded(text), SECTION.search(text)
    known = read.readings(section["body"]) if section else []
    wrong = ([] if section else ["has no section '## Code'"]) + [
        f"{name}: {'no longer carries this theorem' if name not in current else 'not recorded'}"
        for name in sorted(found.keys() ^ current.keys())
    ] + [f"{name}: changed since the proof was read" for name in sorted(found.keys() & current.keys())
         if found[name] != current[name]] + ["marks of a merge conflict"] * bool(CONFLICT.search(text))
    own = bool(known) and known[0].code == read.digest(current.values())
    return wrong or ([] if own else ["the newest reading is of other code"])


def moved(text: str, current: dict[str, str]) -> str:
    """The proof with the new dotted names of functions that moved: equal last name and hash, in one place only."""
    found = recorded(text)
    for old in found.keys() - current.keys():
        new = [name for name in current.keys() - found.keys()
               if current[name] == found[old] and name.rpartition(".")[2] == old.rpartition(".")[2]]
        if len(new) == 1:
            text = text.replace(f"- `{old}` sha256", f"- `{new[0]}` sha256")
    return text


def changed_since(text: str, current: dict[str, str]) -> str:
    """The last names of functions that came, went or have another text of their own; nothing if none did."""
    found = recorded(text)
    names = {name.rpartition(".")[2] for name in found.keys() | current.keys()
             if found.get(name, "")[:OWN] != current.get(name, "")[:OWN]}
    listed = ", ".join(sorted(names))
    return listed if len(listed) <= LONGEST_REASON // 2 else f"{len(names)} functions"


def refreshed(text: str, current: dict[str, str], reason: str, *, tried: str = "", commit: str = "none") -> str:
    """The proof with one more reading and a current line for each function; old lines keep their place and notes."""
    if not SECTION.search(text):
        text = text.rstrip() + "\n\n## Code\n"
    part = changed_since(text, current)
    kind = read.WHOLE if tried else read.PART if part else read.REACHED
    new = read.Reading(date.today().isoformat(), commit, read.digest(current.values()), kind,
                       reason + (read.TRIED + tried if tried else ""), part if kind == read.PART else "")
    missing = {name: f"- `{name}` sha256 `{current[name]}`" for name in sorted(current)}

    def line(match: re.Match[str]) -> str:
        fresh = missing.pop(match["name"], "")
        return f"{fresh}{match['note']}\n" if fresh else ""

    def section(match: re.Match[str]) -> str:
        known = read.kept([new, *(reading for reading in read.readings(match["body"]) if reading != new)])
        body = read.LINE.sub("", CONFLICT.sub("", match["body"]))
        body = re.sub(LINE.pattern + r"\n?", line, body, flags=re.MULTILINE).strip("\n")
        lines = [*map(str, known), *body.splitlines(), *missing.values()]
        return "## Code\n\n" + "\n".join(lines) + ("\n" if match.end() == len(text) else "\n\n")

    return SECTION.sub(section, text)


def current_hashes(functions: list[Proved], theorem: str) -> dict[str, str]:
    """Dotted name -> current hash of the functions that carry the theorem."""
    return {proved.name: proved.hash for proved in functions if theorem in proved.theorems}


def stale_in(root: Path, functions: list[Proved], wanted: set[str]) -> dict[str, list[str]]:
    """Theorem -> what is wrong with its proof, for the wanted theorems that have something wrong."""
    files = proofs_below(root)
    found = {theorem: complaints(files[theorem].read_text(encoding="utf-8"), current_hashes(functions, theorem))
             if theorem in files else ["no such proof"] for theorem in sorted(wanted)}
    return {theorem: wrong for theorem, wrong in found.items() if wrong}


def arguments_of(arguments: list[str] | None) -> argparse.Namespace:
    """The command line: exactly one of names, --all, --moved, or --check with or without names."""
    parser = argparse.ArgumentParser(description="Record in the proofs the hashes of the code they were read against.")
    parser.add_argument("theorems", nargs="*", help="such as T07-ends")
    parser.add_argument("--all", action="store_true", help="all theorems")
    parser.add_argument("--reason", default="", help="what was read, or why it still holds; stored in the proof")
    parser.add_argument("--whole", default="", metavar="TRIED", help="read whole; what was tried to break it")
    parser.add_argument("--moved", action="store_true", help="record new places of functions with equal hashes")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if anything is stale")
    options = parser.parse_args(arguments)
    if not (options.check or bool(options.theorems) + options.all + options.moved == 1):
        parser.error("name theorems, or give one of --all, --moved, --check")
    for text in (options.reason, options.whole):
        if len(text) > LONGEST_REASON or "\n" in text:
            parser.error(f"reason must be one line of at most {LONGEST_REASON} characters, got {len(text)}")
    if options.whole and not (options.theorems and options.reason.strip()):
        parser.error("--whole needs names and a reason")
    return options


def commit_of(root: Path) -> str:
    """The commit that the tree stands on, or `none` outside of a repository."""
    found = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout[:8] if found.returncode == 0 else "none"


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Record, or only report; return the exit code: 1 if anything is stale afterwards."""
    options, functions, files = arguments_of(arguments), proved_in_package(root), proofs_below(root)
    every = files.keys() | {theorem for proved in functions for theorem in proved.theorems}
    wanted = set(options.theorems) or every
    for theorem in sorted(wanted & files.keys()) if not options.check else []:
        text, current = files[theorem].read_text(encoding="utf-8"), current_hashes(functions, theorem)
        new = moved(text, current)
        if (options.whole or complaints(new, current)) and not options.moved and options.reason.strip():
            new = refreshed(new, current, options.reason.strip(), tried=options.whole.strip(), commit=commit_of(root))
        if new != text:
            files[theorem].write_text(new, encoding="utf-8")
            print(f"recorded: {files[theorem].relative_to(root)}")
    if not options.check:
        index.write(root, functions, proofs_below(root))
    stale = stale_in(root, functions, wanted)
    for theorem, wrong in stale.items():
        print("\n".join(f"{theorem}: {complaint}" for complaint in wrong))
    if stale and not options.check and not options.moved and not options.reason.strip():
        print('nothing recorded for these: re-read the proofs, then say --reason "what was read, why it holds"')
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
