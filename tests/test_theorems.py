"""The theorem is next to the code: proved functions, proof files and tests name the same theorems."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import verified_dp
from verified_dp.core.kernel.theorems import REGISTRY

ROOT = Path(__file__).resolve().parents[1]


def load(path: Path) -> ModuleType:
    """Import a script that belongs to no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


hashes = load(ROOT / "proofs" / "record_hashes.py")
FUNCTIONS = hashes.proved_in_package()
NAMED = {theorem for proved in FUNCTIONS for theorem in proved.theorems}
PROOFS = hashes.proofs_below()


def marked(source: str) -> Iterator[str]:
    """The names in every `pytest.mark.theorem(...)` of a test file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.theorem"):
            yield from (ast.literal_eval(argument) for argument in node.args)


def exercised() -> set[str]:
    """Every theorem that some test is marked with."""
    files = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__).resolve()]
    texts = (path.read_text(encoding="utf-8") for path in files)
    return {name for text in texts if "mark.theorem" in text for name in marked(text)}


def test_every_theorem_has_code_proof_and_test() -> None:
    tested = exercised()
    missing = {
        "no proof file": NAMED - PROOFS.keys(),
        "proof without code": PROOFS.keys() - NAMED,
        "no test": NAMED - tested,
        "test of an unknown theorem": tested - NAMED,
    }
    assert {what: sorted(names) for what, names in missing.items() if names} == {}
    assert NAMED, "no function of the package names a theorem"


def test_theorem_numbers_are_unique() -> None:
    numbers = [name.partition("-")[0] for name in PROOFS]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("theorem", PROOFS)
def test_proof_is_current(theorem: str) -> None:
    """If this fails: re-read the proof against what changed, then run proofs/record_hashes.py NAME --reason "..."."""
    text = PROOFS[theorem].read_text(encoding="utf-8")
    assert hashes.complaints(text, hashes.current_hashes(FUNCTIONS, theorem)) == []


NEED_EXTRAS = ("verified_dp.interop.dp_accounting", "verified_dp.interop.opacus")
"""Modules whose import needs another library; no function of theirs names a theorem."""


def test_registry_holds_what_the_source_says() -> None:
    for module in pkgutil.walk_packages(verified_dp.__path__, "verified_dp."):
        if not module.name.endswith("__main__") and module.name not in NEED_EXTRAS:
            importlib.import_module(module.name)
    own = {f"{function.__module__}.{function.__qualname__}": theorems for function, theorems in REGISTRY.items()
           if function.__module__.startswith("verified_dp.")}
    assert own == {proved.name: proved.theorems for proved in FUNCTIONS}


@pytest.mark.parametrize("proved", FUNCTIONS, ids=lambda proved: proved.name)
def test_text_is_that_of_inspect(proved: hashes.Proved) -> None:
    """What is hashed is the code that runs: the tree of inspect.getsource, then the texts reached, sorted."""
    found: object = importlib.import_module(proved.module)
    for part in proved.name.removeprefix(f"{proved.module}.").split("."):
        found = inspect.getattr_static(found, part)
    function = next((getattr(found, name) for name in ("fget", "func", "__func__") if hasattr(found, name)), found)
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))  # type: ignore[arg-type]
    assert hashes.code.text_of(ast.parse(source).body[0]) == proved.text
    whole = "\n".join([proved.text, *sorted(proved.reached)])
    own, all_of_it = (hashlib.sha256(text.encode()).hexdigest() for text in (proved.text, whole))
    assert own[:8] + all_of_it[8:16] == proved.hash


def test_proofs_lie_in_the_rooms_of_their_functions() -> None:
    """In core if a function of core rests on it, else in the first room that does."""
    rooms = ("core", "search", "questions", "papers", "adaptive", "individual", "interop", "verifiers", "attack",
             "ranges", "pate")
    used = {name: {proved.module.split(".")[1] for proved in FUNCTIONS if name in proved.theorems} for name in PROOFS}
    home = {name: next(room for room in rooms if room in used[name]) for name in PROOFS}
    assert {name: path.parent.name for name, path in PROOFS.items() if path.parent.name != home[name]} == {}


def test_index_is_current() -> None:
    """If this fails: proofs/record_hashes.py --moved writes it."""
    written = hashes.index.documents(ROOT, FUNCTIONS, PROOFS)
    assert [path.name for path in written] == ["README.md", "certificates.md", "theorems.json"]
    assert [path for path, text in written.items() if (ROOT / path).read_text(encoding="utf-8") != text] == []
    text = (ROOT / "proofs" / "README.md").read_text(encoding="utf-8")
    assert all(f"/{path.name}) |" in text for path in PROOFS.values())


@pytest.mark.parametrize("theorem", PROOFS)
def test_readings_have_their_form(theorem: str) -> None:
    """Every line that begins like a reading is one; whole ones say what was tried; the newest is first."""
    text = PROOFS[theorem].read_text(encoding="utf-8")
    found = hashes.read.readings(text)
    assert found and len(found) == len(re.findall(r"^- read\b", text, re.MULTILINE))
    assert [str(reading) for reading in found] == re.findall(r"^- read .*$", text, re.MULTILINE)
    assert hashes.read.kept(found) == found
    assert all((reading.kind == "whole") == (hashes.read.TRIED in reading.reason) for reading in found)
    assert all(bool(reading.which) == (reading.kind == "part") for reading in found)


def test_count_of_readings_tells_whole_from_the_rest() -> None:
    """By hand: of four theorems one was read whole as it stands, one before a change, two were not (one is unknown)."""
    whole = {"T1": "2026-01-02", "T2": "2026-01-02, parts since", "T3": "", "T4": ""}
    golden = {name: ["T1", "T2", "T3", "T4", "T5"] for name in hashes.index.EXAMPLES}
    lines = hashes.index.count_of_readings(golden, whole).splitlines()
    assert sum(line.endswith(" | 4 | 1 | 1 | 2 |") for line in lines) == len(golden) > 3


def overlong(text: str) -> list[str]:
    """Lines beyond 120 characters that could be wrapped: no table, heading, formula, single span or recorded hash."""
    whole = ("|", "#", "    ", "<!--", "- read ")
    return [line for line in text.splitlines() if len(line) > 120 and not line.startswith(whole)
            and "sha256 `" not in line and not re.fullmatch(r"`[^`]*`\W*(`[^`]*`)?[.,]?", line)]


@pytest.mark.parametrize("path", sorted((ROOT / "proofs").rglob("*.md")), ids=lambda path: path.name)
def test_lines_of_proofs_are_wrapped(path: Path) -> None:
    assert overlong(path.read_text(encoding="utf-8")) == []


def test_long_lines_are_seen() -> None:
    assert overlong("word " * 30) and overlong("`x` and " * 20) and not overlong("    " + "x + " * 40)


SAMPLE = '''
from verified_dp.core.kernel.theorems import proved_by
import functools

@proved_by("T90-one", "T91-two")
def bound(x):
    """Doc."""
    return x

class Law:
    @property
    @proved_by("T90-one")
    def width(self):
        return 1

    def free(self):
        return 2
'''
PROOF = '''# T90

## Code

- read 2026-01-02 at 12345678, code CODE, part (bound): the factor
- `m.bound` sha256 `{}`
- `m.Law.width` sha256 `{}`, the width

## Source

A book.
'''


HELPERS = '''
from functools import singledispatch
from verified_dp.core import numbers as tools
from verified_dp.core.numbers import half
from verified_dp.core.kernel.theorems import proved_by

SHARE = 3
TABLE = {}
TABLE["key"] = 4

@singledispatch
def cost(x):
    return 0

@cost.register
def _(x: int):
    return 5

class Base:
    def __post_init__(self):
        self.size = 6

    def weight(self):
        return 7

    def unused(self):
        return 8

class Law(Base):
    @proved_by("T90-one")
    def width(self):
        return self.weight()

def proved_helper():
    return indirect()

def indirect():
    return 9

@proved_by("T91-two")
def bound(x):
    """Doc."""
    return half(x) + SHARE + TABLE["key"] + cost(x) + proved_helper() + tools.third(x) + other(x)

@proved_by("T92-three")
def other(x):
    return deep(x)

def deep(x):
    return 10
'''
NUMBERS = '''
HALF = 11

def half(x):
    return HALF * x

def third(x):
    return 12

def fourth(x):
    return 13
'''


def hashed(source: str, numbers: str = NUMBERS, module: str = "verified_dp.core.m") -> dict[str, str]:
    """Last name -> hash of the proved functions of a package with two modules."""
    package = hashes.code.package_of({module: source, "verified_dp.core.numbers": numbers})
    return {proved.name.rpartition(".")[2]: proved.hash for proved in hashes.proved_in(package)}


@pytest.mark.parametrize(
    ("number", "stale"),
    [(3, "bound"), (4, "bound"), (5, ""), (6, "width"), (7, "width"), (8, ""), (9, "bound"), (10, "other"),
     (11, "bound"), (12, "bound"), (13, "")])
def test_what_is_reached_makes_a_proof_stale(number: int, stale: str) -> None:
    old, new = re.compile(rf"\b{number}$", re.MULTILINE), str(number + 100)
    before, after = hashed(HELPERS), hashed(old.sub(new, HELPERS), old.sub(new, NUMBERS))
    assert {name for name in before if before[name] != after[name]} == ({stale} - {""})


@pytest.mark.parametrize(
    "edit", [("Doc", "Words"), ("    return 9", "    # why\n    return (9)"), ("SHARE = 3", "SHARE = (3)")])
def test_words_and_layout_do_not_matter(edit: tuple[str, str]) -> None:
    assert edit[0] in HELPERS and hashed(HELPERS.replace(*edit)) == hashed(HELPERS)


def test_a_moved_module_keeps_its_hashes() -> None:
    assert hashed(HELPERS, module="verified_dp.core.room.n") == hashed(HELPERS)


OWNER = '''
class Facts:
    needed: int
    size: int = 3
    extra: int = 4

    def ends(self):
        return 5

    def other(self):
        return 6

    def __add__(self, more):
        return 7
'''
ASKS = '''
from verified_dp.core.kernel.facts import Facts

@proved_by("T90-one")
def bound(facts: Facts):
    return Facts(2, size=9) if helper(facts) else 1

def helper(facts):
    return facts.ends()
'''


@pytest.mark.parametrize(
    ("edit", "stale"), [("size: int = 33", True), ("extra: int = 44", False), ("return 55", True), ("return 66", False),
                        ("return 77", True), ("needed: bool", True)])
@pytest.mark.parametrize("home", ["core.kernel.facts", "core.families.facts"])
def test_of_a_class_of_the_kernel_counts_what_is_asked_for(edit: str, stale: bool, home: str) -> None:
    def found(text: str) -> str:
        asks = ASKS.replace("core.kernel.facts", home)
        package = {f"verified_dp.{home}": text, "verified_dp.core.engines.m": asks}
        return hashes.proved_in(hashes.code.package_of(package))[0].hash

    head = edit[:-1] if edit[-1].isdigit() else "needed: int"
    assert OWNER.count(head) == 1
    assert (found(OWNER.replace(head, edit)) != found(OWNER)) == (stale or "families" in home)


def test_the_name_of_its_theorem_is_no_part_of_a_function() -> None:
    assert hashed(HELPERS)["other"] == hashed(HELPERS.replace("T92-three", "T93-four"))["other"]


def test_other_rooms_are_not_reached() -> None:
    sources = {"verified_dp.papers.a": "from verified_dp.search.b import f\nfrom .c import g\n"
               '@proved_by("T90-one")\ndef bound(x):\n    return f(x) + g(x)\n',
               "verified_dp.search.b": "def f(x): return 1", "verified_dp.papers.c": "def g(x): return 2"}

    def found(**changed: str) -> str:
        return hashes.proved_in(hashes.code.package_of({**sources, **changed}))[0].hash

    assert found(**{"verified_dp.search.b": "def f(x): return 3"}) == found()
    assert found(**{"verified_dp.papers.c": "def g(x): return 3"}) != found()


UNPROVED = {"check_version", "is_quick", "own_units"}
"""Helpers that decide no bound: which arithmetic is there, what is quick, what is a fraction, and what it costs."""


@pytest.fixture(scope="module")
def package() -> Any:
    """The repository's own, with what its proved functions reach."""
    found = hashes.code.package_of(*hashes.code.sources_below(ROOT))
    proved = {place for module in found.modules.values() for _, place in hashes.proved_definitions(module)}
    others = set().union(*(found.reached(place) for place in proved)) - proved
    return found, {node for places, walk in ((proved, ast.walk), (others, hashes.code.walk)) for place in places
                   for node in walk(place.node)}


@pytest.mark.parametrize("room", [*(f"kernel.{file}" for file in (
    "balls", "bounds", "dyadic", "exact", "gaussian", "steps")), "families"])
def test_every_function_of_a_room_is_under_some_proof(room: str, package: Any) -> None:
    found, reached = package
    within = [module for name, module in found.modules.items() if f"{name}.".startswith(f"verified_dp.core.{room}.")
              and not name.endswith((".mechanism", ".table"))]
    missing = {name.rpartition(".")[2] for module in within for name, node, _ in hashes.definitions(module.tree, "m")
               if node not in reached and not isinstance(node, ast.ClassDef)}
    assert within and missing <= UNPROVED


def proof_of(current: dict[str, str]) -> str:
    """The sample's proof, current for these hashes."""
    return PROOF.replace("CODE", hashes.read.digest(current.values())).format(*current.values())


def sample(source: str = SAMPLE) -> dict[str, str]:
    """Current hashes of the sample's functions that carry T90-one."""
    functions = hashes.proved_in(hashes.code.package_of({"m": source}))
    return hashes.current_hashes(functions, "T90-one")


def test_sample_is_read() -> None:
    functions = hashes.proved_in(hashes.code.package_of({"m": SAMPLE}))
    assert {proved.name: proved.theorems for proved in functions} == {
        "m.bound": ("T90-one", "T91-two"), "m.Law.width": ("T90-one",)}


def test_current_proof_has_no_complaints() -> None:
    text = proof_of(sample())
    assert hashes.complaints(text, sample()) == []
    assert hashes.moved(text, sample()) == text


@pytest.mark.parametrize("edit", [("return x", "return x + 1"), ("(x):", "(x=1):"), ("bound(x)", "bound(x, y)")])
def test_changed_function_is_stale(edit: tuple[str, str]) -> None:
    text = proof_of(sample())
    assert hashes.complaints(text, sample(SAMPLE.replace(*edit))) == ["m.bound: changed since the proof was read"]


def test_untouched_neighbours_do_not_make_a_proof_stale() -> None:
    assert sample("import os\n" + SAMPLE.replace("return 2", "return 3")) == sample()


def test_missing_and_foreign_functions_are_seen() -> None:
    text = "## Code\n\n- `m.gone` sha256 `0123456789abcdef`\n"
    assert hashes.complaints(text, sample()) == [
        "m.Law.width: not recorded", "m.bound: not recorded", "m.gone: no longer carries this theorem"]
    assert hashes.complaints("# T90\n", {}) == ["has no section '## Code'"]


@pytest.mark.parametrize(
    "text",
    [
        "# T90\n",
        PROOF.replace("CODE", "0" * 8).format("0" * 16, ""),
        "## Code\n\nWords.\n\n- `m.gone` sha256 `0`\n",
        "## Code\n## Source\n\nA book.\n",
    ],
)
def test_refreshed_is_current_and_keeps_the_words(text: str) -> None:
    new = hashes.refreshed(text, sample(), "the sign")
    assert hashes.complaints(new, sample()) == []
    assert new.count(": the sign\n") == 1 and hashes.read.readings(new)[0].reason == "the sign"
    assert all(line in new.splitlines() for line in text.splitlines() if "sha256" not in line)
    assert new.endswith("\n") and not new.endswith("\n\n")


def kinds(text: str) -> list[tuple[str, str]]:
    """Kind and part of the readings, newest first."""
    return [(reading.kind, reading.which) for reading in hashes.read.readings(text)]


def test_a_reading_is_of_what_changed() -> None:
    """Own texts: part. Only what they reach: reached only, and the newest of these is enough."""
    current = {"m.f": "0" * 16, "m.g": "1" * 16}
    text = hashes.refreshed("# T90\n", current, "written")
    assert kinds(text) == [("part", "f, g")]
    for digit in "23":
        text = hashes.refreshed(text, current | {"m.g": "1" * 8 + digit * 8}, f"helper {digit}")
        assert kinds(text) == [("reached only", ""), ("part", "f, g")]
    text = hashes.refreshed(text, current | {"m.g": "4" * 16}, "the sign", tried="", commit="1234567a")
    assert kinds(text) == [("part", "g"), ("part", "f, g")]
    assert hashes.read.readings(text)[0].commit == "1234567a"
    assert hashes.read.last_whole(hashes.read.readings(text)) == ""


def test_a_whole_reading_stays_and_what_followed_is_said() -> None:
    current = {"m.f": "0" * 16}
    text = hashes.refreshed("# T90\n", current, "holds", tried="q = 1, 40 quadratures")
    found = hashes.read.readings(text)
    assert kinds(text) == [("whole", "")] and found[0].reason == "holds; tried: q = 1, 40 quadratures"
    today = found[0].date
    assert hashes.read.last_whole(found) == today and hashes.read.described(found).startswith(f"whole, {today}: ")
    text = hashes.refreshed(text, {"m.f": "0" * 8 + "1" * 8}, "helper")
    assert hashes.read.last_whole(hashes.read.readings(text)) == f"{today}, what it reaches since"
    for digit in "2345":
        text = hashes.refreshed(text, {"m.f": digit * 16}, f"sign {digit}")
    found = hashes.read.readings(text)
    assert kinds(text) == [("part", "f"), ("part", "f"), ("whole", "")]
    assert hashes.read.last_whole(found) == f"{today}, parts since"
    assert hashes.read.described(found) == f"part, {today}: sign 5; whole {today}"


def test_the_newest_reading_is_of_the_recorded_code() -> None:
    text = proof_of(sample()).replace("code ", "code 0000")
    assert hashes.complaints(re.sub(r"code 0000(\w{4})\w{4}", r"code 0000\1", text), sample()) == [
        "the newest reading is of other code"]
    assert hashes.complaints(re.sub("- read .*\n", "", text), sample()) == ["the newest reading is of other code"]


def test_a_conflict_is_seen_and_recorded_anew() -> None:
    text = proof_of(sample())
    line = next(line for line in text.splitlines() if "m.bound" in line)
    both = f"<<<<<<< HEAD\n- read: of old\n- `m.bound` sha256 `1`\n=======\n{line}\n>>>>>>> main\n"
    torn = text.replace(line + "\n", both)
    assert "marks of a merge conflict" in hashes.complaints(torn, sample())
    new = hashes.refreshed(torn, sample(), "both")
    assert hashes.complaints(new, sample()) == [] and new.count("m.bound") == 1


def test_note_is_kept() -> None:
    assert ", the width\n" in hashes.refreshed(PROOF.format("", ""), sample(), "all")


def test_moved_functions_need_no_reason() -> None:
    text = proof_of(sample()).replace("`m.bound`", "`old.place.bound`")
    assert hashes.complaints(hashes.moved(text, sample()), sample()) == []
    assert hashes.complaints(hashes.moved(text, sample(SAMPLE.replace("return x", "return -x"))), sample())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the sample as the package, and two proofs without records."""
    (tmp_path / "verified_dp").mkdir()
    (tmp_path / "verified_dp" / "m.py").write_text(SAMPLE, encoding="utf-8")
    for folder, name in (("core", "T90-one"), ("papers", "T91-two")):
        (tmp_path / "proofs" / folder).mkdir(parents=True)
        (tmp_path / "proofs" / folder / f"{name}.md").write_text(f"# {name}: a theorem\n", encoding="utf-8")
    return tmp_path


def test_program_records_and_checks(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hashes.main(["--check"], project) == 1
    assert "has no section" in capsys.readouterr().out
    assert hashes.main(["--all", "--reason", "first reading"], project) == 0
    assert hashes.main(["--check"], project) == 0
    (project / "verified_dp" / "m.py").write_text(SAMPLE.replace("return x", "return -x"), encoding="utf-8")
    assert hashes.main(["--check"], project) == 1
    assert hashes.main(["T91-two", "--reason", "the sign"], project) == 0
    assert hashes.main(["--check", "T91-two"], project) == 0
    assert hashes.main(["--check", "T90-one"], project) == 1
    assert hashes.main(["T99-unknown", "--reason", "none"], project) == 1
    assert hashes.main(["T91-two", "--reason", "holds", "--whole", "x = 0"], project) == 0, "nothing changed: it counts"
    proof = project / "proofs" / "papers" / "T91-two.md"
    assert kinds(proof.read_text(encoding="utf-8")) == [("whole", ""), ("part", "bound"), ("part", "bound")]
    proof.unlink()
    assert hashes.main(["--all", "--reason", "none"], project) == 1, "a missing proof is an error"


def test_program_refuses_without_a_reason(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = project / "proofs" / "core" / "T90-one.md"
    before = proof.read_text(encoding="utf-8")
    for arguments in (["T90-one"], ["--all"], ["--all", "--reason", "  "], ["--moved"]):
        assert hashes.main(arguments, project) == 1
        assert proof.read_text(encoding="utf-8") == before
    assert "--reason" in capsys.readouterr().out
    for wrong in ([], ["--reason", "x"], ["T90-one", "--whole", "x"], ["--all", "--reason", "x", "--whole", "x"],
                  ["--all", "--moved"], ["--all", "--reason", "x" * 200]):
        with pytest.raises(SystemExit):
            hashes.main(wrong, project)


def test_program_writes_nothing_where_nothing_changed(project: Path) -> None:
    proof = project / "proofs" / "core" / "T90-one.md"
    assert hashes.main(["--all", "--reason", "first reading"], project) == 0
    before = proof.read_text(encoding="utf-8")
    assert hashes.main(["--all"], project) == 0 and hashes.main(["--all", "--reason", "another"], project) == 0
    assert proof.read_text(encoding="utf-8") == before
    (project / "verified_dp" / "m.py").rename(project / "verified_dp" / "n.py")
    assert hashes.main(["--all"], project) == 0, "a move needs no reason"
    assert proof.read_text(encoding="utf-8") == before.replace("`verified_dp.m.", "`verified_dp.n.")


def test_an_edit_of_the_tree_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The program on a copy of the package with its proofs: the tail of the normal law, divided by 3."""
    shutil.copytree(ROOT / "verified_dp", tmp_path / "verified_dp", ignore=shutil.ignore_patterns("__pycache__"))
    for name, path in PROOFS.items():
        (tmp_path / "proofs" / path.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / "proofs" / path.parent.name / f"{name}.md")
    assert hashes.main(["--check", "T15-gaussian", "T99-berry-esseen"], tmp_path) == 0
    balls = tmp_path / "verified_dp" / "core" / "kernel" / "balls.py"
    text = balls.read_text(encoding="utf-8")
    assert text.count("erfc() / 2") == 1
    balls.write_text(text.replace("erfc() / 2", "erfc() / 6"), encoding="utf-8")
    assert hashes.main(["--check", "T15-gaussian", "T99-berry-esseen"], tmp_path) == 1
    assert "T15-gaussian: verified_dp.core" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["# T90: no name\n", "# T91-two: of another file\n", "T90-one: no heading\n"])
def test_index_asks_for_a_statement(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "T90-one.md"
    path.write_text(wrong, encoding="utf-8")
    with pytest.raises(ValueError, match="must begin with '# T90-one: statement'"):
        hashes.index.row(path, "core", [])


def test_index_reads_what_a_proof_uses() -> None:
    text = ("# T90-one: a | b\n\n## Statement\n\nT08 (3), T90.\n\n## Hypotheses\n\nT77.\nRests on a citation: A\n"
            "and B.\n\n## Proof\n\nT21 to T23.\n")
    assert hashes.index.uses(text) == "T08, T21, T22, T23; rests on a citation: A and B"


def test_equal_names_are_refused() -> None:
    with pytest.raises(ValueError, match="share a name"):
        sample(SAMPLE + '\n@proved_by("T90-one")\ndef bound(y):\n    return y\n')


def test_marks_are_read() -> None:
    decorated = '@pytest.mark.theorem("T90-one", "T91-two")\ndef test_x(): pass\n'
    assert set(marked(decorated)) == {"T90-one", "T91-two"}
    assert set(marked('pytestmark = pytest.mark.theorem("T92-x")')) == {"T92-x"}
