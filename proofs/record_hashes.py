"""Keep the `## Code` sections of the proofs in step with the functions they prove.

Each proof file ends with lines of the form

    - `verified_dp.core.engines.contour.enclose_x` sha256 `<first 16 hex digits>`

one for every function that carries `@proved_by` with the file's theorem. The hash is that of the function's
source: its lines from the first decorator to the last line, as they stand in the file, dedented (the text of
`inspect.getsource`). A hash that is not current says that the function changed after somebody last read
the proof against it.

    python proofs/record_hashes.py T07-ends ...   after re-reading these: record hashes, add new functions
    python proofs/record_hashes.py                the same for all proofs
    python proofs/record_hashes.py --check        change nothing, print what is stale, exit 1 if anything is

Standard library only; the package is read, not imported.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECTION = re.compile(r"^## Code[ \t]*\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^- `(?P<name>[\w.]+)` sha256 `(?P<hash>[0-9a-f]*)`(?P<note>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Proved:
    """A decorated function or class: its module, dotted name, theorems, hash of its source."""

    module: str
    name: str
    theorems: tuple[str, ...]
    hash: str


def theorems_of(node: ast.AST) -> tuple[str, ...]:
    """The names that @proved_by gives the definition; a name that is not a literal string is an error."""
    found: list[str] = []
    for decorator in getattr(node, "decorator_list", []):
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).split(".")[-1] == "proved_by":
            found += [ast.literal_eval(argument) for argument in decorator.args]
    return tuple(found)


def definitions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    """Every function and class, with its dotted name, also inside classes, functions and conditions."""
    for node in body:
        name = prefix
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{node.name}"
            yield name, node
        for inner in ("body", "orelse", "finalbody"):
            yield from definitions(getattr(node, inner, []), name)


def source_of(node: ast.stmt, lines: list[str]) -> str:
    """The definition's lines from its first decorator on, dedented."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return textwrap.dedent("".join(lines[first - 1 : node.end_lineno]))


def hash_of(source: str) -> str:
    """The first 16 hexadecimal digits of the sha256 of the source, without blank lines at its end."""
    return hashlib.sha256(source.rstrip().encode()).hexdigest()[:16]


def proved_in(source: str, module: str) -> list[Proved]:
    """The proved functions of one module; two of one name are an error, for the name is their identity."""
    lines = source.splitlines(keepends=True)
    found = [Proved(module, name, theorems_of(node), hash_of(source_of(node, lines)))
             for name, node in definitions(ast.parse(source).body, module) if theorems_of(node)]
    names = [proved.name for proved in found]
    if len(set(names)) < len(names):
        raise ValueError(f"{module}: two proved functions share a name: {sorted(names)}")
    return found


def proved_in_package(root: Path = ROOT) -> list[Proved]:
    """All proved functions of the package."""
    found = []
    for path in sorted((root / "verified_dp").rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found += proved_in(path.read_text(encoding="utf-8"), module)
    return found


def recorded(text: str) -> dict[str, str]:
    """Dotted name -> recorded hash in the `## Code` section of a proof."""
    section = SECTION.search(text)
    return {line["name"]: line["hash"] for line in LINE.finditer(section["body"])} if section else {}


def complaints(text: str, current: dict[str, str]) -> list[str]:
    """What is wrong with a proof's `## Code` section, given the current hashes of the theorem's functions."""
    found = recorded(text)
    return ([] if SECTION.search(text) else ["has no section '## Code'"]) + [
        f"{name}: {'no longer carries this theorem' if name not in current else 'not recorded'}"
        for name in sorted(found.keys() ^ current.keys())
    ] + [f"{name}: changed since the proof was read" for name in sorted(found.keys() & current.keys())
         if found[name] != current[name]]


def refreshed(text: str, current: dict[str, str]) -> str:
    """The proof with a current line for each function; old lines keep their place and their notes."""
    if not SECTION.search(text):
        text = text.rstrip() + "\n\n## Code\n"
    known = recorded(text)
    new = [f"- `{name}` sha256 `{current[name]}`" for name in sorted(current) if name not in known]

    def line(match: re.Match[str]) -> str:
        name = match["name"]
        return f"- `{name}` sha256 `{current[name]}`{match['note']}\n" if name in current else ""

    def section(match: re.Match[str]) -> str:
        body = re.sub(LINE.pattern + r"\n?", line, match["body"], flags=re.MULTILINE).strip("\n")
        kept = "\n".join([part for part in (body, *new) if part])
        after = "\n" if match.end() == len(text) else "\n\n"
        return f"## Code\n\n{kept}{after}"

    return SECTION.sub(section, text)


def current_hashes(functions: list[Proved], theorem: str) -> dict[str, str]:
    """Dotted name -> current hash of the functions that carry the theorem."""
    return {proved.name: proved.hash for proved in functions if theorem in proved.theorems}


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Record, or with --check only report; return the exit code."""
    parser = argparse.ArgumentParser(description="Record in the proofs the hashes of the functions.")
    parser.add_argument("theorems", nargs="*", help="such as T07-ends; all if none is given")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if anything is stale")
    options = parser.parse_args(arguments)
    check, functions = options.check, proved_in_package(root)
    files = {path.stem: path for path in sorted((root / "proofs").glob("T[0-9][0-9]*-*.md"))}
    named = {theorem for proved in functions for theorem in proved.theorems}
    if options.theorems:
        named = set(options.theorems)
        files = {theorem: path for theorem, path in files.items() if theorem in named}
    stale = [f"proofs/{theorem}.md: missing" for theorem in sorted(named - files.keys())]
    for theorem, path in files.items():
        text, current = path.read_text(encoding="utf-8"), current_hashes(functions, theorem)
        found = [f"proofs/{path.name}: {complaint}" for complaint in complaints(text, current)]
        if found and not check:
            path.write_text(refreshed(text, current), encoding="utf-8")
            print(f"recorded: proofs/{path.name}")
        stale += found if check else []
    print("\n".join(stale), end="\n" if stale else "")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
