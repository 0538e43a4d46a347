"""Random mutants of the trusted code: which of them do the tests miss?

    python tests/mutation.py --count 300 --seed 1 --modules verified_dp/core

A mutant is one small change of one file: a sign, an operator, a comparison, a constant, a branch, an end of a ball, a
lost statement. It is judged in a copy of the checkout, with limits of time and memory, by the tests that enter the
changed function (of a constant: any function of its file), first some of the nearest files, then the others, the
quickest first and --budget seconds of them; then by the other tests of the nearest files, then (with --everything) by
all. Tests that look at the text of the code are left out, since they notice every change. Which functions a test enters
is found once (tests/reached.py) and kept beside the results. These are lines of JSON; a second run goes on where the
first stopped, --again also tries survivors anew. A survivor is a test to be written, or cannot change a bound: those
are listed, with the reason, in tests/mutation_survivors.md.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import os
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("verified_dp", "tests", "proofs", "examples", "pyproject.toml", "README.md")
MAPPED = ("tests/core", "tests/search", "tests/questions", "tests/verifiers", "tests/papers")
"""The tests whose functions are recorded, the room's own first."""
NEAR = 3
"""Test files that run first, and those that run where the tests that enter the function pass, or none is known."""
QUICK = 40
QUICK_SECONDS = 10
"""So many tests, and so many seconds of the nearest file, run first: most mutants are killed by one of them."""
OPTIONS = ("-p", "no:cacheprovider", "-p", "no:doctest", "-p", "reached", "-W", "ignore", "--assert=plain",
           "-o", "addopts=--import-mode=importlib", "-m", "not long and not pages and not peers")
OF_TEXT = ("tests/test_theorems.py::test_proof_is_current", "tests/test_architecture.py",
           "tests/core/test_unsound_edits.py")
"""Tests that look at the text of the code."""
SWAPPED = {
    "max": "min", "upper_end": "lower_end", "largest": "smallest", "abs_upper": "abs_lower", "upper": "lower",
    "floor": "ceil", "expm1": "exp", "log1p": "log", "sinh": "cosh", "above": "below", "left": "right", "low": "high",
    "first": "last", "all": "any",
}
SWAPPED |= {second: first for first, second in SWAPPED.items()}
OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Pow: "**", ast.Mod: "%"}
OTHER = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "/", "%": "//"}
COMPARED: dict[type, tuple[str, ...]] = {
    ast.Lt: ("<=", ">"), ast.LtE: ("<", ">="), ast.Gt: (">=", "<"), ast.GtE: (">", "<="), ast.Eq: ("!=",),
    ast.NotEq: ("==",), ast.Is: ("is not",), ast.IsNot: ("is",), ast.In: ("not in",), ast.NotIn: ("in",)}


@dataclass(frozen=True)
class Mutant:
    """`old` at [start, end) of the file's bytes becomes `new`."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


class Finder(ast.NodeVisitor):
    """All mutants of a file; words, types, messages of errors and theorems are left alone."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source, self.found = file, source, list[Mutant]()
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.visit(ast.parse(source))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        return (self.starts[node.lineno - 1] + node.col_offset,
                self.starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0))

    def text(self, node: ast.expr | ast.stmt) -> str:
        return self.source[slice(*self.span(node))].decode()

    def change(self, node: ast.expr | ast.stmt, new: str) -> None:
        if self.text(node) != new:
            self.found.append(Mutant(self.file, node.lineno, *self.span(node), self.text(node), new))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return

    visit_Import = visit_Raise = visit_JoinedStr = visit_ImportFrom  # type: ignore[assignment]

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        self.change(node, "pass")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        left, right, sign = self.text(node.left), self.text(node.right), OPERATORS.get(type(node.op))
        if sign is not None:
            if sign in OTHER:
                self.change(node, f"({left}) {OTHER[sign]} ({right})")
            self.change(node, f"({left})")
            if sign not in ("**", "/", "//"):
                self.change(node, f"({right})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.change(node, f"({self.text(node.operand)})")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for place, operator in enumerate(node.ops):
            gap = (self.span(operands[place])[1], self.span(operands[place + 1])[0])
            old = self.source[slice(*gap)].decode()
            for new in COMPARED.get(type(operator), ()):
                sign = " ".join(re.findall(r"[<>=!]+|is not|not in|is|in", old))
                self.found.append(Mutant(self.file, node.lineno, *gap, old, old.replace(sign, new)))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        texts = [self.text(value) for value in node.values]
        word, other = (" and ", " or ") if isinstance(node.op, ast.And) else (" or ", " and ")
        self.change(node, f"({other.join(f'({text})' for text in texts)})")
        for dropped in range(len(texts)):
            self.change(node, f"({word.join(f'({t})' for i, t in enumerate(texts) if i != dropped)})")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.change(node, f"({self.text(node.body)})")
        self.change(node, f"({self.text(node.orelse)})")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self.change(node.test, "False")
        self.change(node.test, "True")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        target, value = self.text(node.target), self.text(node.value)
        sign = OPERATORS.get(type(node.op), "+")
        self.change(node, f"{target} {OTHER.get(sign, '-')}= {value}")
        self.change(node, f"{target} = {value}")
        self.change(node, "pass")
        self.visit(node.value)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            if isinstance(item.context_expr, ast.Call) and item.context_expr.args:
                self.change(item.context_expr.args[0], "ctx.prec")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.change(node, str(not node.value))
        elif isinstance(node.value, int):
            for new in (node.value + 1, node.value - 1, 2 * node.value):
                self.change(node, f"({new})" if new < 0 else str(new))
        elif isinstance(node.value, str) and re.fullmatch(r"[0-9.]+", node.value):
            self.change(node, f'"{node.value}1"')
            self.change(node, f'"0{node.value[1:]}"')

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in SWAPPED and isinstance(node.ctx, ast.Load):
            self.change(node, SWAPPED[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in SWAPPED:
            end = self.span(node)[1]
            self.found.append(Mutant(self.file, node.lineno, end - len(node.attr), end, node.attr, SWAPPED[node.attr]))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        words = self.text(node.func)
        if isinstance(node.func, ast.Attribute) and node.func.attr in (
                "union", "max", "min", "exp", "log", "sqrt", "in_order", "conjugate"):
            self.change(node, f"({self.text(node.func.value)})")
        if words in ("upper_end", "lower_end", "abs", "ball", "sorted", "reversed") and len(node.args) == 1:
            self.change(node, f"({self.text(node.args[0])})")
        if words in ("plus_minus", "disc"):
            self.change(node, "arb(0)")
        if len(node.args) == 2 and not node.keywords and words not in ("isinstance", "zip"):
            self.change(node, f"{words}({self.text(node.args[1])}, {self.text(node.args[0])})")
        self.generic_visit(node)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        texts = [self.text(item) for item in node.elts]
        if len(texts) == 2 and isinstance(node.ctx, ast.Load) and texts[0] != texts[1]:
            self.change(node, f"({texts[1]}, {texts[0]})")
        self.generic_visit(node)


def find_mutants(file: str, root: Path = ROOT) -> list[Mutant]:
    """All of a file, a few of which cannot be parsed."""
    return Finder(file, (root / file).read_bytes()).found


def can_be_parsed(mutant: Mutant, root: Path = ROOT) -> bool:
    try:
        ast.parse(mutant.apply((root / mutant.file).read_bytes()))
    except SyntaxError:
        return False
    return True


def nearest_tests(file: str, root: Path = ROOT) -> list[str]:
    """Tests of the module's name and those that import it; where none does, those that share a word or test its users.

    First those that share the name, or words of it, then those of the same folder, then those that use most of it.
    """
    path, tests = Path(file), [str(path.relative_to(root)) for path in sorted((root / "tests").rglob("test_*.py"))]
    defined = re.findall(r"^(?:def|class) (\w+)", (root / file).read_text(encoding="utf-8"), re.MULTILINE)

    def rank(test: str) -> tuple[bool, int, bool, int, str]:
        text, shared = (root / test).read_text(encoding="utf-8"), len(_words(path) & _words(Path(test)))
        elsewhere = Path(test).parent.name != path.parent.name
        return f"test_{path.stem}" != Path(test).stem, -shared, elsewhere, -sum(text.count(n) for n in defined), test

    ranks = {test: rank(test) for test in tests}
    found = set(importers(file, "tests", root))
    if not found:
        users = importers(file, path.parts[0], root)
        found = {test for user in users for test in importers(user, "tests", root)} | {
            test for test in tests if ranks[test][1]}
    return sorted(found | {test for test in tests if not ranks[test][0]}, key=ranks.__getitem__)


def _words(path: Path) -> set[str]:
    return {word.rstrip("s") for word in path.stem.split("_")} - {"test"}


def importers(file: str, folder: str, root: Path = ROOT) -> list[str]:
    """The Python files below the folder that import something of the module."""
    module = ".".join(Path(file).with_suffix("").parts)
    words = re.compile(rf"from {re.escape(module)} import")
    paths = sorted((root / folder).rglob("*.py"))
    return [str(path.relative_to(root)) for path in paths if words.search(path.read_text(encoding="utf-8"))
            and (folder != "tests" or path.name.startswith("test_"))]


def enclosing(mutant: Mutant, root: Path = ROOT) -> str | None:
    """The innermost function around the change, as tests/reached.py names it; None where there is none."""
    def search(node: ast.AST, name: str) -> str | None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef) and (
                    child.lineno <= mutant.line <= (child.end_lineno or 0)):
                inner = f"{name}{child.name}"
                found = search(child, inner + (".<locals>." if isinstance(child, ast.FunctionDef) else "."))
                return found or (inner if isinstance(child, ast.FunctionDef) and mutant.line >= child.body[0].lineno
                                 else None)
            if not isinstance(child, ast.FunctionDef | ast.ClassDef) and (found := search(child, name)):
                return found
        return None

    return search(ast.parse((root / mutant.file).read_bytes()), "")


def read_reached(path: Path) -> dict[str, list[str]]:
    """Function -> the tests that enter it, the quickest first."""
    found: dict[str, list[str]] = {}
    for row in sorted(_rows(path), key=lambda row: row["seconds"]):
        for name in row["functions"]:
            found.setdefault(name, []).append(row["test"])
    return found


def read_seconds(path: Path) -> dict[str, float]:
    """Test -> the seconds of processor time that it took."""
    return {row["test"]: row["seconds"] for row in _rows(path)}


def _rows(path: Path) -> list[dict[str, Any]]:
    """What was recorded last of every test."""
    return list({row["test"]: row for row in map(json.loads, _lines(path))}.values())


def record_reached(path: Path, root: Path = ROOT, parts: Sequence[str] = MAPPED) -> None:
    """Run the tests, a file at a time, and record what they enter; a file that is as it was is not run again."""
    done = [json.loads(line) for line in _lines(path.with_suffix(".files"))]
    for test in (test for part in parts for test in sorted((root / part).rglob("test_*.py"))):
        name = str(test.relative_to(root))
        row = {"file": name, "sha256": hashlib.sha256(test.read_bytes()).hexdigest()}
        if row not in done and name not in OF_TEXT:
            run_tests(root, ["--reached", str(path), name], seconds=1800, first_only=False)
            with path.with_suffix(".files").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def copy_checkout(folder: Path, root: Path = ROOT) -> None:
    """What the tests need, without what they leave behind."""
    for part in PARTS:
        if (root / part).is_dir():
            shutil.copytree(root / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "build"))
        elif (root / part).exists():
            shutil.copy(root / part, folder)


def run_tests(folder: Path, tests: Sequence[str], *, seconds: float = 900, gigabytes: int = 4,
              first_only: bool = True) -> tuple[str, str]:
    """("passed", "failed" or "timeout", what pytest said first of it) in a checkout.

    tests: files, or names of tests, which run in that order; seconds: of processor time, four times as many on a clock.
    """
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, gigabytes << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 5))

    with tempfile.NamedTemporaryFile("w", suffix=".json") as only:
        named = [test for test in tests if "::" in test]
        json.dump(named, only)
        only.flush()
        command = [sys.executable, "-m", "pytest", "-qx" if first_only else "-q", *OPTIONS,
                   *(part for test in OF_TEXT for part in ("--deselect", test)), *(["--only", only.name] * bool(named)),
                   *dict.fromkeys(map(_file, tests))]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "",
                                    "PYTHONPATH": os.pathsep.join(map(str, (folder, folder / "tests", ROOT / "tests")))}
        with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, start_new_session=True, preexec_fn=limit) as process:
            try:
                said, _ = process.communicate(timeout=4 * seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "timeout", ""
    if process.returncode == pytest.ExitCode.USAGE_ERROR and "while loading conftest" not in said:
        raise RuntimeError(said)
    lines = said.strip().splitlines() or [""]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    verdicts = {0: "passed", pytest.ExitCode.NO_TESTS_COLLECTED: "passed", -signal.SIGXCPU: "timeout"}
    return verdicts.get(process.returncode, "failed"), (failed or lines[-1:])[0][:200]


@dataclass(frozen=True)
class Result:
    """What became of a mutant: killed, survived or timeout; by: the first test that failed."""

    mutant: Mutant
    verdict: str
    by: str
    seconds: int

    def line(self) -> str:
        return json.dumps(asdict(self))


def _file(test: str) -> str:
    return test.partition("::")[0]


@dataclass(frozen=True)
class Map:
    """Which tests enter a function, and what each test costs."""

    reached: dict[str, list[str]]
    seconds: dict[str, float]

    def stages(self, mutant: Mutant, budget: float, everything: bool, root: Path = ROOT) -> list[list[str]]:
        """The tests that judge a mutant, in groups: each runs where those before found nothing."""
        name, nearest = enclosing(mutant, root), nearest_tests(mutant.file, root)[:NEAR]
        entering = self.reached.get(f"{mutant.file}:{name}") or self._ordered(
            test for place, tests in self.reached.items() if place.startswith(f"{mutant.file}:") for test in tests)
        files = Counter(map(_file, entering))
        rank = {file: place for place, file in enumerate(nearest)}
        own, *closest = sorted(files, key=lambda file: (rank.get(file, NEAR), -files[file]))[:NEAR] or [""]
        first = [*self._within([test for test in entering if _file(test) == own], QUICK_SECONDS),
                 *[test for test in entering if _file(test) in closest][:QUICK]]
        then = self._within([test for test in entering if test not in first], budget)
        beside = self._ordered(test for test in self.seconds if _file(test) in nearest and test not in entering)
        unknown = [file for file in nearest if file not in {_file(test) for test in self.seconds}]
        rest = map(str, sorted(path.relative_to(root) for path in (root / "tests").rglob("test_*.py")))
        return [first, then, [*self._within(beside, budget / 3), *unknown], list(rest) if everything else []]

    def limit(self, tests: Sequence[str]) -> float:
        """Seconds of processor time after which tests of this cost are said to take too long."""
        return 20 + sum(3 * self.seconds.get(test, 60) for test in tests)

    def _ordered(self, tests: Iterable[str]) -> list[str]:
        return sorted(set(tests), key=lambda test: (self.seconds[test], test))

    def _within(self, tests: Sequence[str], budget: float) -> list[str]:
        spent = accumulate(self.seconds[test] for test in tests)
        return [test for test, total in zip(tests, spent, strict=True) if total <= budget]


def judge(mutant: Mutant, folder: Path, stages: Sequence[Sequence[str]],
          limit: Callable[[Sequence[str]], float]) -> Result:
    """Run the stages of tests on the mutant until one fails; `folder` is a clean checkout before and after."""
    path, start = folder / mutant.file, time.monotonic()
    source = path.read_bytes()
    write_code(path, mutant.apply(source))
    verdict, by = "passed", ""
    try:
        for tests in stages:
            if verdict == "passed" and tests:
                verdict, by = run_tests(folder, tests, seconds=limit(tests))
    finally:
        write_code(path, source)
    words = {"passed": "survived", "failed": "killed", "timeout": "timeout"}
    return Result(mutant, words[verdict], by if verdict == "failed" else "", round(time.monotonic() - start))


def write_code(path: Path, source: bytes) -> None:
    """Also forget what was compiled from another text, perhaps in the same second."""
    path.write_bytes(source)
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()


def choose(files: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """A random place first, then one of its mutants: places with many ways to be wrong are not preferred."""
    places: dict[tuple[str, int, int], list[Mutant]] = {}
    for mutant in (mutant for file in files for mutant in find_mutants(file)):
        places.setdefault((mutant.file, mutant.start, mutant.end), []).append(mutant)
    rng, order = random.Random(seed), sorted(places)
    rng.shuffle(order)
    picked = (rng.choice(places[place]) for place in order)
    return list(islice(filter(can_be_parsed, picked), count))


def read_results(path: Path) -> list[Result]:
    rows = map(json.loads, _lines(path))
    return [Result(**{**row, "mutant": Mutant(**row["mutant"])}) for row in rows]


def run(mutants: Sequence[Mutant], out: Path, *, budget: float, jobs: int = 1, everything: bool = False,
        again: bool = False) -> Iterator[Result]:
    """Judge those that have no result yet; `again`: and those that survived or took too long.

    budget: the seconds of tests that enter the function; everything: all tests where they and the nearest find nothing.

    Raises SystemExit where the first mutant's tests fail without it.
    """
    results = read_results(out)  # the last one of a mutant counts
    known = {result.mutant: result for result in results if result.verdict == "killed" or not again}
    found = out.with_name("reached.jsonl")
    tests = Map(read_reached(found), read_seconds(found))
    yield from (known[mutant] for mutant in mutants if mutant in known)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(jobs) as workers:
        free: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for job in range(jobs):
            copy_checkout(Path(name) / str(job))
            free.put(Path(name) / str(job))

        def judged(mutant: Mutant) -> Result:
            folder = free.get()
            try:
                return judge(mutant, folder, tests.stages(mutant, budget, everything), tests.limit)
            finally:
                free.put(folder)

        left = [mutant for mutant in mutants if mutant not in known]
        if left and run_tests(Path(name) / "0", tests.stages(left[0], budget, False)[0])[0] != "passed":
            raise SystemExit("the tests fail without any change")
        try:
            for done in as_completed([workers.submit(judged, mutant) for mutant in left]):
                with out.open("a", encoding="utf-8") as file:
                    file.write(done.result().line() + "\n")
                yield done.result()
        finally:
            workers.shutdown(cancel_futures=True)


def shown(result: Result) -> str:
    mutant = result.mutant
    old, new = (" ".join(text.split())[:90] for text in (mutant.old, mutant.new))
    return f"{result.verdict} ({result.seconds} s) {mutant.file}:{mutant.line}  {old}  ->  {new}  {result.by}"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where nothing survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="of the random choice")
    parser.add_argument("--modules", nargs="+", default=["verified_dp/core"], help="files or folders")
    parser.add_argument("--everything", action="store_true", help="let all tests look at what seems to survive")
    parser.add_argument("--budget", type=float, default=60, help="seconds of the tests that enter the function")
    parser.add_argument("--jobs", type=int, default=1, help="mutants judged at the same time")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants.jsonl",
                        help="results so far, and new ones")
    parser.add_argument("--again", action="store_true", help="judge survivors anew, with the tests of today")
    given = parser.parse_args(arguments)
    paths = [path for name in given.modules for path in (
        sorted((ROOT / name).rglob("*.py")) if (ROOT / name).is_dir() else [ROOT / name])]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    record_reached(given.out.with_name("reached.jsonl"))
    mutants = choose([str(path.relative_to(ROOT)) for path in paths], given.count, given.seed)
    results = []
    for result in run(mutants, given.out, budget=given.budget, jobs=given.jobs, everything=given.everything,
                      again=given.again):
        print(shown(result), flush=True)
        results.append(result)
    counts = Counter(result.verdict for result in results)
    print("", *(shown(result) for result in results if result.verdict == "survived"), "", sep="\n")
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))
    return int(counts["survived"] > 0)


if __name__ == "__main__":
    sys.exit(main())
