"""The house rules that can be read off the source: layers, syntax of the trusted rooms, imports, paths.

Every rule is a function from source text to a list of complaints; each is also shown to see bad samples.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from verified_dp.core.engines.table import EARLIER, HOMES
from verified_dp.core.families.table import ALL_RELEASES, SCHEMES, VARIANTS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "verified_dp"

# Every room may import `core` and the rooms before it; the longest matching name decides, "" is the package itself.
LAYERS: dict[str, int] = {
    name: layer
    for layer, names in enumerate(
        [
            ("", "core"),
            ("enclosure", "ends", "files", "mechanisms", "pate", "reading", "spec", "search", "terminal"),
            ("questions",),
            ("profile",),
            ("papers", "calibration", "verifiers", "adaptive"),
            ("individual", "papers.individual", "interop", "report"),
            ("attack",),
            ("certificate", "training"),
            ("ranges",),
            ("batch", "registry"),
            ("cli", "__main__"),
        ]
    )
    for name in names
}
FAMILIES = "verified_dp.core.families."
FAMILY_USES = {
    "allocation": {"sampling"},
    "batches": {"finite", "gaussian", "groups", "sampling"},
    "clones": {"batches", "finite", "groups"},
    "discrete": {"finite", "gaussian", "groups", "guarantees", "sampling"},
    "finite": {"groups"},
    "gaussian": {"sampling"},
    "groups": set(),
    "guarantees": {"finite", "groups", "sampling"},
    "laplace": {"gaussian", "sampling"},
    "sampling": {"finite", "gaussian", "groups", "guarantees"},
    "selection": {"finite", "guarantees", "laplace", "sampling"},
    "votes": {"guarantees"},
}
"""Which other families a family builds on."""
TABLES = {"verified_dp.core.engines.table", "verified_dp.core.families.table", "verified_dp.core.families.lists"}
"""Files of no family, which all families may use."""
CHECKER = "verified_dp.core.kernel.certificate.check"


def modules() -> dict[str, str]:
    """Dotted name -> source of every module of the package; a package's name stands for its __init__."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return found


@cache
def parsed(source: str) -> ast.Module:
    """The syntax tree of a source, made once for all rules."""
    return ast.parse(source)


def nodes_of(tree: ast.AST, skipped: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
    """All nodes but those inside of what is skipped."""
    for node in ast.iter_child_nodes(tree):
        if not skipped(node):
            yield node
            yield from nodes_of(node, skipped)


def is_for_types(node: ast.AST) -> bool:
    """Whether it never runs: `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def is_late(node: ast.AST) -> bool:
    """Whether it does not run when the module is loaded."""
    return is_for_types(node) or isinstance(node, ast.FunctionDef | ast.Lambda)


def never(node: ast.AST) -> bool:
    """That nothing is left out."""
    return False


@cache
def import_statements(source: str, skipped: Callable[[ast.AST], bool]) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """The imports in a source that are not inside of what is skipped; there are none in expressions."""
    found = nodes_of(parsed(source), lambda node: isinstance(node, ast.expr) or skipped(node))
    return tuple(node for node in found if isinstance(node, ast.Import | ast.ImportFrom))


def imported(source: str, name: str = "", is_package: bool = False,
             skipped: Callable[[ast.AST], bool] = never) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything imported anywhere in the source, relative imports resolved.

    `from a import b` gives `a.b`: b may be a module; what is not one is cut back by its user.
    """
    for node in import_statements(source, skipped):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        else:
            keep = len(name.split(".")) - node.level + is_package
            base = ([*name.split(".")[:keep]] if node.level else []) + ([node.module] if node.module else [])
            yield from ((node.lineno, ".".join([*base, alias.name])) for alias in node.names)


def layer_of(name: str) -> int | None:
    """The layer of a dotted name inside the package: that of its longest prefix in LAYERS."""
    parts = name.split(".")[1:]
    prefixes = [".".join(parts[:n]) for n in range(len(parts), 0, -1)] or [""]
    return next((LAYERS[prefix] for prefix in prefixes if prefix in LAYERS), None)


def own_layer(name: str, names: set[str]) -> int | None:
    """The layer that binds a module's own imports; a sub-package's __init__ runs before its lowest module."""
    inside = [layer_of(other) for other in names if other.startswith(f"{name}.")] if name != PACKAGE else []
    layers = [layer for layer in [layer_of(name), *inside] if layer is not None]
    return min(layers, default=None)


def layer_complaints(sources: dict[str, str], packages: set[str]) -> list[str]:
    """Every import that points upwards, and every module without a layer."""
    found, names = [], set(sources)
    for name, source in sources.items():
        own = own_layer(name, names)
        if own is None:
            found.append(f"{name} has no layer: add it to LAYERS")
            continue
        for line, target in imported(source, name, name in packages):
            if target.split(".")[0] != PACKAGE:
                continue
            module = target if target in sources or target.count(".") == 0 else target.rpartition(".")[0]
            layer = layer_of(module)
            if layer is None or layer > own:
                found.append(f"{name}:{line} (layer {own}) imports {module} (layer {layer})")
    return found


def resolved(name: str, sources: dict[str, str], skipped: Callable[[ast.AST], bool] = is_for_types) -> set[str]:
    """The modules of the package that a module imports when it runs, wherever in its source."""
    targets = (target for _, target in imported(sources[name], name, name in PACKAGES, skipped)
               if target.startswith(PACKAGE))
    return {target if target in sources else target.rpartition(".")[0] for target in targets} & sources.keys()


def closure(name: str, sources: dict[str, str]) -> set[str]:
    """The module, the packages it lies in, and all that these import, directly or not."""
    seen: set[str] = set()
    todo = {name}
    while todo:
        current = todo.pop()
        seen.add(current)
        packages = {".".join(current.split(".")[:n]) for n in range(1, current.count(".") + 1)}
        todo |= (resolved(current, sources) | packages & sources.keys()) - seen
    return seen


def circles(sources: dict[str, str]) -> set[str]:
    """The modules that import themselves through others; a package's `__init__` is not imported by its own modules.

    A law may make, when it is asked, the law of the same family that builds on it.
    """
    graph = {name: resolved(name, sources, is_late) | {
        other for other in resolved(name, sources) if other.rpartition(".")[0] != name.rpartition(".")[0]
        or FAMILIES not in name} for name in sources}
    found = set()
    for name in sources:
        seen, todo = set[str](), graph[name]
        while todo:
            seen |= todo
            todo = set[str]().union(*(graph[other] for other in todo)) - seen
        found |= {name} & seen
    return found


BANNED_MODULES = {"math", "cmath", "numpy", "scipy", "statistics", "random", "decimal"}
BANNED_NAMES = {"float", "round", "complex"}
ORDERING = {"max", "min", "sorted"}
EXACT = re.compile(r"# exact: \S+")


def comments(source: str) -> dict[int, str]:
    """Line -> its comment."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


def sets_precision(node: ast.AST) -> bool:
    """Whether the node assigns to the process-wide precision (`ctx.prec = ...`, setattr included)."""
    if isinstance(node, ast.Attribute):
        owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        return isinstance(node.ctx, ast.Store) and node.attr in ("prec", "dps") and owner == "ctx"
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr"


def syntax_complaints(source: str) -> list[str]:
    """What must not stand in a trusted module, because it loses a radius, rounds, or is unsound on balls.

    `max`, `min` and `sorted` on exact numbers, and functions of integers from banned modules, are allowed on a line
    with a comment `# exact: reason`. A method `__float__` is for readers outside: nothing here may call it.
    """
    noted, found = comments(source), []
    tree = parsed(source)
    outward = {inner for node in ast.walk(tree) if getattr(node, "name", "") == "__float__" for inner in ast.walk(node)}
    for node in ast.walk(tree):
        what = ""
        if node in outward:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
            what = f"literal {node.value!r}"
        elif isinstance(node, ast.Name) and node.id in BANNED_NAMES:
            what = node.id
        elif isinstance(node, ast.Assert):
            what = "assert"
        elif isinstance(node, ast.Attribute) and node.attr == "mid":
            what = ".mid"
        elif sets_precision(node):
            what = "assignment to the process-wide precision"
        elif isinstance(node, ast.Name) and node.id in ORDERING:
            what = "" if EXACT.search(noted.get(node.lineno, "")) else f"builtin {node.id}"
        if what:
            found.append(f"line {node.lineno}: {what}")
    found += [f"line {line}: import of {name}" for line, name in imported(source)
              if name.split(".")[0] in BANNED_MODULES and not EXACT.search(noted.get(line, ""))]
    return found


def text_files() -> Iterator[tuple[Path, str]]:
    """Every text file of the checkout that is not generated."""
    skipped = {"build", "dist", "__pycache__"}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in skipped and not name.endswith(".egg-info")
                      and (not name.startswith(".") or name == ".ci")]
        for path in (Path(folder) / file for file in files if file != ".git"):  # of a linked worktree
            try:
                yield path.relative_to(ROOT), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


# Written in pieces, so that this file does not name them either.
MACHINE_PATHS = re.compile(
    r"(?<![\w.])/" + r"(work|root)/|/tmp/" + r"venv|\." + r"library|\.\./" + r"shared|/" + r"opt/pypi"
)


MERGE_MARKS = re.compile("^(" + "<" * 7 + "|" + ">" * 7 + ") ")


def path_complaints(text: str) -> list[str]:
    """Every mention of a path that exists only on the authors' machines, and every mark of an unfinished merge."""
    return [f"line {number}: {match.group()}" for number, line in enumerate(text.splitlines(), 1)
            for rule in (MACHINE_PATHS, MERGE_MARKS) for match in rule.finditer(line)]


@cache
def declared(extra: str) -> set[str]:
    """Import names of the package's dependencies and of one extra's."""
    names = {"python-flint": "flint", "dp-accounting": "dp_accounting", "prv-accountant": "prv_accountant",
             "jax-privacy": "jax_privacy", "absl-py": "absl", "pyyaml": "yaml"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [*project["dependencies"], *project["optional-dependencies"][extra]]
    distributions = [re.split(r"[^\w-]", requirement)[0] for requirement in requirements]
    return {names.get(name, name) for name in distributions}


def undeclared(source: str, known: set[str]) -> list[str]:
    """Third-party modules that are imported but not declared."""
    tops = {name.split(".")[0] for _, name in imported(source, f"{PACKAGE}.room.file")}
    return sorted(tops - known - set(sys.stdlib_module_names) - {PACKAGE, ""})


SOURCES = modules()
PACKAGES = {name for name in SOURCES if (ROOT / name.replace(".", "/")).is_dir()}
TEST_FILES = [path for path in sorted((ROOT / "tests").rglob("*.py")) if "benchmarks" not in path.parts]


def test_modules_import_downwards() -> None:
    assert layer_complaints(SOURCES, PACKAGES) == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("verified_dp.core.engines.contour", "from verified_dp.search import saddle"),
        ("verified_dp.core.engines.contour", "def late():\n    import verified_dp.profile"),
        ("verified_dp.core.kernel.gaussian", "from ...spec import load_spec"),
        ("verified_dp.profile", "from verified_dp.cli import main"),
        ("verified_dp.unheard_of", ""),
    ],
)
def test_layers_rule_sees(name: str, source: str) -> None:
    others = ("search.saddle", "profile", "cli", "spec", "core.balls", "core.engines.contour")
    sources = {"verified_dp": "", **{f"verified_dp.{other}": "" for other in others}, name: source}
    assert layer_complaints(sources, {"verified_dp", "verified_dp.core"})


def test_layers_rule_accepts_downward_imports() -> None:
    sources = {"verified_dp.core.kernel.balls": "", "verified_dp.core.kernel.errors": "",
               "verified_dp.core.engines.contour": "import numpy\nfrom verified_dp.core.kernel.balls import ball\n"
               "from ..kernel.errors import Undecided"}
    assert layer_complaints(sources, set()) == []


CORE = {name for name in SOURCES if name.startswith(f"{PACKAGE}.core")}
BANNED_HERE = sorted(CORE | {name for name in SOURCES if name.startswith(f"{PACKAGE}.papers.")
                             and name.rpartition(".")[2].startswith("bounds")})


def tabled() -> set[str]:
    """The modules that the two tables name, loaded when a kind is asked for."""
    homes = {*ALL_RELEASES._homes.values(), *SCHEMES._homes.values()}  # type: ignore[attr-defined]
    files = [home.partition(":")[0] for home in (*HOMES.values(), *EARLIER.values()) if ":" in home]
    engines = {f"{PACKAGE}.core.{file}" for file in files}
    variants = {f"{FAMILIES}{family}.variants" for family in VARIANTS}
    return engines | variants | {
        f"{FAMILIES}{home.partition(':')[0]}.{file}" for home in homes for file in ("mechanism", "pair")}


def test_core_is_what_the_checker_imports() -> None:
    assert set[str]().union(*(closure(name, SOURCES) for name in {CHECKER, *tabled()})) == CORE | {PACKAGE}


def room_complaints(sources: dict[str, str]) -> list[str]:
    """What the kernel takes from engines and families, engines from families, a family from one it does not declare.

    Imports for types alone count: no file of the kernel or of an engine names a law.
    """
    found = []
    for name in sources:
        for other in resolved(name, sources, lambda node: False) - TABLES if name not in TABLES else ():
            here, there = (one.removeprefix(f"{PACKAGE}.core.").split(".") for one in (name, other))
            if not other.startswith(f"{PACKAGE}.core.") or here[0] not in ("kernel", "engines", "families"):
                continue
            up = (here[0] == "kernel" and there[0] != "kernel") or (here[0] == "engines" and there[0] == "families")
            if up or (here[0] == there[0] == "families" and there[1] not in {here[1]} | FAMILY_USES[here[1]]):
                found.append(f"{name} imports {other}")
    return found


def test_kernel_engines_and_families_stand_apart() -> None:
    assert room_complaints(SOURCES) == []
    used = {(name.split(".")[3], other.split(".")[3]) for name in SOURCES if name.startswith(FAMILIES)
            for other in resolved(name, SOURCES) if other.startswith(FAMILIES) and other not in TABLES}
    assert {(a, b) for a, b in used if a != b} == {(a, b) for a, others in FAMILY_USES.items() for b in others}


@pytest.mark.parametrize(("name", "source"), [
    ("verified_dp.core.kernel.words", "def f():\n    from verified_dp.core.engines.contour import x"),
    ("verified_dp.core.kernel.words", "from verified_dp.core.families.finite.atomic import x"),
    ("verified_dp.core.engines.pieces", "from verified_dp.core.families.finite.atomic import x"),
    ("verified_dp.core.families.gaussian.mixture", "from verified_dp.core.families.finite.atomic import x"),
])
def test_rooms_are_seen(name: str, source: str) -> None:
    others = {"verified_dp.core.engines.contour": "", "verified_dp.core.families.finite.atomic": ""}
    assert room_complaints({**others, name: source})
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    " + source.splitlines()[-1].strip()
    assert room_complaints({**others, name: types})


def modules_loaded_by(code: str, *arguments: str) -> set[str]:
    """The package's modules that a fresh interpreter has loaded after the code has run."""
    report = "import sys; print('\\n' + ' '.join(name for name in sys.modules if name.startswith('verified_dp')))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}", *arguments], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_a_certificate_of_dp_sgd_loads_its_own_families(certify_text: Callable[..., dict[str, object]],
                                                        tmp_path: Path) -> None:
    step = """[[mechanism]]
kind = "gaussian"
noise_multiplier = "1.5"
count = 10
sampling = { scheme = "poisson", probability = "0.01" }
"""
    path = tmp_path / "dp-sgd.json"
    path.write_text(json.dumps(certify_text("add-or-remove", step, "4", "1e-5", digits=3)), encoding="utf-8")
    check = ("import sys, json; from verified_dp.core.kernel.certificate.check import verify; "
             "verify(json.load(open(sys.argv[1])))")
    loaded = modules_loaded_by(check, str(path))
    families = {name.split(".")[3] for name in loaded if name.startswith(FAMILIES)}
    assert families == {"table", "gaussian", "sampling"}
    others = {f"verified_dp.core.engines.{engine}" for engine in (
        "lattice", "rays", "marked", "outcomes", "moment")}
    assert not loaded & others


def types_with_both_ends(source: str) -> set[str]:
    """Classes that say of a number what it is at least and at most."""
    classes = (node for node in ast.walk(parsed(source)) if isinstance(node, ast.ClassDef))
    ends = {"End", "ReadableEnd", "arb", "Dyadic", "Fraction"}
    return {node.name for node in classes if {"lower", "upper"} <= {
        line.target.id for line in node.body if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        and ast.unparse(line.annotation) in ends}}


def test_three_types_say_between() -> None:
    """Bounds in balls, an Evaluation with exact ends and its witness, the Enclosure that users read; what is drawn."""
    found = {f"{name}.{kind}" for name, source in SOURCES.items() for kind in types_with_both_ends(source)
             if not name.startswith(f"{PACKAGE}.verifiers.independent")}  # that checker shares nothing with the others
    assert found == {f"{PACKAGE}.{name}" for name in (
        "core.kernel.bounds.Bounds", "core.kernel.evaluation.Evaluation", "enclosure.Enclosure", "report.curves.Point")}


def test_a_fourth_type_is_seen() -> None:
    assert types_with_both_ends("class Pair:\n    lower: Dyadic\n    upper: Dyadic\n    name: str") == {"Pair"}
    assert types_with_both_ends("class Bracket:\n    lower: Answer | None\n    upper: Answer | None") == set()


def defined(source: str) -> set[str]:
    """Names of the functions, classes and variables of a module."""
    nodes = [*ast.walk(parsed(source))]
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return bound | {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def strangers(sources: dict[str, str]) -> set[str]:
    """Names that a module takes from another one which only imports them itself; a package may offer its rooms'."""
    homes = {name: defined(source) for name, source in sources.items() if name not in PACKAGES}
    return {f"{name}: {home}.{word}" for name, source in sources.items()
            for home, _, word in (target.rpartition(".") for _, target in imported(source, name))
            if home in homes and word not in homes[home]}


def test_names_come_from_their_homes() -> None:
    assert strangers(SOURCES) == set()


def test_a_name_from_a_passer_by_is_seen() -> None:
    sources = {"verified_dp.a": "class X: ...\nY: int = 1", "verified_dp.b": "from verified_dp.a import X, Y",
               "verified_dp.c": "from verified_dp.b import X"}
    assert strangers(sources) == {"verified_dp.c: verified_dp.b.X"}


def test_core_and_profile_know_no_paper() -> None:
    guests = [name for name in SOURCES if name.startswith(f"{PACKAGE}.papers")]
    assert len(guests) > 20 and not closure(f"{PACKAGE}.profile", SOURCES) & {*guests}
    assert not [name for name in CORE if "fourier" in SOURCES[name].lower()]


def test_closure_goes_through_packages_and_functions() -> None:
    sources = {"verified_dp.a": "def f():\n    from verified_dp.b.c import x", "verified_dp.b": "import verified_dp.d",
               "verified_dp.b.c": "", "verified_dp.d": "", "verified_dp.e": ""}
    assert closure("verified_dp.a", sources) == sources.keys() - {"verified_dp.e"}


def test_no_import_circles() -> None:
    assert circles(SOURCES) == set()


def test_circles_are_seen() -> None:
    sources = {"verified_dp.a": "from verified_dp import b", "verified_dp.b": "def f():\n    import verified_dp.c",
               "verified_dp.c": "from verified_dp.a import x", "verified_dp.d": "import verified_dp.a"}
    assert circles(sources) == {"verified_dp.a", "verified_dp.b", "verified_dp.c"}


@pytest.mark.parametrize("name", BANNED_HERE)
def test_trusted_syntax(name: str) -> None:
    assert syntax_complaints(SOURCES[name]) == []


def test_trusted_syntax_looks_at_something() -> None:
    assert len(CORE) > 40 and {"verified_dp.papers.prv.bounds", "verified_dp.papers.fourier.bounds"} <= {*BANNED_HERE}


def test_core_needs_no_floating_point() -> None:
    tops = {target.split(".")[0] for name in CORE for _, target in imported(SOURCES[name], name, name in PACKAGES)}
    assert tops - set(sys.stdlib_module_names) == {PACKAGE, "flint"}


@pytest.mark.parametrize(
    "source",
    ["x = 0.5", "x = 2j", "x = float(y)", "x = map(float, y)", "x = round(y)", "assert x", "import math",
     "from numpy import array", "import scipy.special as s", "def f():\n    import numpy", "x = ball.mid()",
     "ctx.prec = 100", "flint.ctx.prec += 10", "ctx.dps = 30", "setattr(ctx, 'prec', 100)", "x = max(a, b)",
     "x = sorted(balls)", "f(key=min)", "x = max(a, b)  # exact:", "x = '# exact: a string'; y = max(a, b)",
     "# exact: the line above\nx = max(a, b)"],
)
def test_syntax_rule_sees(source: str) -> None:
    assert syntax_complaints(source)


@pytest.mark.parametrize(
    "source",
    ["x = a.max(b)", "x = max(i, j)  # exact: two indices", "with ctx.workprec(100):\n    x = ctx.prec",
     "self.prec = 100", "'0.5 float( .mid( assert'", "from fractions import Fraction"],
)
def test_syntax_rule_accepts(source: str) -> None:
    assert syntax_complaints(source) == []


HEAVY = {"sympy", "scipy", "matplotlib", "pytest", "mpmath", "hypothesis"}
SPECIFICATION = """relation = "add-or-remove"
[[mechanism]]
kind = "gaussian"
noise_multiplier = "1.5"
count = 10
sampling = { scheme = "poisson", probability = "0.01" }
[claim]
title = "a test"
source = "none"
epsilon = "4"
delta = "1e-5"
"""


def loaded_by(code: str, *arguments: str) -> set[str]:
    """Top-level modules loaded in a fresh interpreter after the code has run."""
    report = "import sys; print('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))"
    command = [sys.executable, "-c", f"{code}\n{report}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_import_is_light() -> None:
    assert not loaded_by("import verified_dp, verified_dp.cli") & HEAVY


@pytest.mark.parametrize(
    "command",
    [
        ["delta", "SPEC", "--epsilon", "1"],
        ["epsilon", "SPEC", "--delta", "1e-5"],
        ["certify", "SPEC", "--out", "OUT"],
    ],
    ids=lambda command: command[0],
)
def test_command_line_is_light(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPECIFICATION, encoding="utf-8")
    places = {"SPEC": str(tmp_path / "spec.toml"), "OUT": str(tmp_path)}
    run = "import sys; from verified_dp.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass"
    assert not loaded_by(run, *(places.get(word, word) for word in command)) & HEAVY
    certificates = [str(path) for path in tmp_path.glob("*.json")]
    if command[0] == "certify":
        assert certificates
        assert not loaded_by(run, "verify", *certificates) & HEAVY


def test_loaded_by_sees_heavy_imports() -> None:
    assert "mpmath" in loaded_by("def f():\n    import mpmath\nf()")


def test_no_machine_paths_and_no_merge_marks() -> None:
    complaints = {str(path): path_complaints(text) for path, text in text_files()}
    assert {path: found for path, found in complaints.items() if found} == {}


@pytest.mark.parametrize("text", ["see /" + "work/main", "`/tmp/" + "venv/bin/python`", "cat ." + "library/x",
                                  "open('../" + "shared/data.json')", "/" + "root/x", "a\n" + "<" * 7 + " HEAD\nb"])
def test_path_rule_sees(text: str) -> None:
    assert path_complaints(text)


def test_path_rule_accepts() -> None:
    assert path_complaints("a network/working path, how.to/work/with, library.py, shared/data") == []


def test_text_files_are_found() -> None:
    names = {str(path) for path, _ in text_files()}
    assert {"README.md", "Makefile", ".ci/run", "tests/test_architecture.py"} <= names
    assert not any(name.startswith((".venv", ".git/")) for name in names)


@pytest.mark.parametrize("path", TEST_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_tests_import_only_what_is_installed_for_them(path: Path) -> None:
    local = {other.stem for other in TEST_FILES}
    extra = "peers" if path.parent.name in ("interop", "peers") else "test"
    known = declared(extra) | (declared("pages") if path.name == "conftest.py" else set())  # the browser of its fixture
    assert undeclared(path.read_text(encoding="utf-8"), known | local) == []


@pytest.mark.parametrize("name", SOURCES)
def test_package_imports_only_its_dependencies(name: str) -> None:
    adapters = declared("dp-accounting") | declared("opacus") if name.startswith("verified_dp.interop.") else set()
    known = declared("plot") | declared("individual") | declared("registry") | adapters
    peers = declared("bench") | {"opacus"} if name == "verified_dp.report.peers" else set()  # asked where installed
    workers = declared("spark") if name == "verified_dp.individual.spark" else set()
    assert undeclared(SOURCES[name], known | peers | workers) == []


def test_undeclared_sees() -> None:
    assert undeclared("import os, numpy\nfrom pandas.core import frame", {"numpy"}) == ["pandas"]


def test_long_cases_that_are_listed_exist(unknown_long_cases: frozenset[str] | None) -> None:
    if unknown_long_cases is None:
        pytest.skip("only a part of the tests was collected")
    assert sorted(unknown_long_cases) == []
