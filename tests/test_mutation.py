"""The mutation program on a project of its own: what it changes, what it leaves alone, and whom it calls a survivor."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

SAMPLE = '''"""Words - not changed."""
from a import b
TABLE: dict[int, int] = {}

@b("T90-one")
def bound(x: int, y: int = 2) -> int:
    """x + y, or 0."""
    if x < 0:
        return 0
    total = x
    total += y
    return max(total, 3 if y else x)
'''


@pytest.fixture(scope="module")
def mutation(load: Callable[..., ModuleType]) -> ModuleType:
    return load(Path(__file__).with_name("mutation.py"))


@pytest.fixture()
def project(tmp_path: Path) -> Path:
    """A package of one function whose tests do not look at negative numbers."""
    for name, text in {
        "verified_dp/__init__.py": "",
        "verified_dp/small.py": "from verified_dp.part import x\ndef sign(x):\n    return 1 if x > 0 else -1\n",
        "verified_dp/part.py": "x = 1\n",
        "tests/test_small.py": "from verified_dp.small import sign\ndef test_sign():\n    assert sign(3) == 1\n",
        "tests/test_other.py": "def test_nothing() -> None:\n    assert True\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_signs_branches_ends_and_constants_change_and_words_do_not(mutation: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(SAMPLE)
    found = mutation.find_mutants("sample.py", tmp_path)
    changed = {mutant.apply(SAMPLE.encode()).decode() for mutant in found}
    for old, new in [("x < 0", "x <= 0"), ("x < 0", "False"), ("return 0", "return 1"), ("total += y", "total -= y"),
                     ("total += y", "pass"), ("max(", "min("), ("3 if y else x", "(x)"), ("y: int = 2", "y: int = 3")]:
        assert SAMPLE.replace(old, new) in changed, (old, new)
    for text in changed:
        assert ast.parse(text) and text.startswith(SAMPLE.partition("def bound")[0]) and '"""x + y, or 0."""' in text
    assert all(SAMPLE.encode()[mutant.start : mutant.end].decode() == mutant.old for mutant in found)


def test_a_change_that_no_test_sees_survives(mutation: ModuleType, project: Path) -> None:
    assert mutation.nearest_tests("verified_dp/small.py", project) == ["tests/test_small.py"]
    assert mutation.nearest_tests("verified_dp/part.py", project) == ["tests/test_small.py"], "those of its user"
    verdicts = {}
    for mutant in mutation.find_mutants("verified_dp/small.py", project):
        if (mutant.old, mutant.new) in ((" > ", " < "), ("-1", "(1)")):
            result = mutation.judge(mutant, project, [["tests/test_small.py"], ["tests/test_other.py"]],
                                    lambda tests: 60)
            verdicts[mutant.new] = result.verdict, "test_sign" in result.by
    assert verdicts == {" < ": ("killed", True), "(1)": ("survived", False)}
    assert "x > 0 else -1" in (project / "verified_dp" / "small.py").read_text()


def test_a_change_of_the_same_size_in_the_same_second_is_seen(mutation: ModuleType, project: Path) -> None:
    """What was compiled of the other text is forgotten."""
    file, before = project / "verified_dp" / "small.py", []
    for old, new in (("> 0", "< 0"), ("< 0", "> 0")):
        file.write_text(file.read_text())
        os.utime(file, (10**9, 10**9))
        before.append(mutation.run_tests(project, ["tests/test_small.py"], seconds=60)[0])
        mutation.write_code(file, file.read_bytes().replace(old.encode(), new.encode()))
        os.utime(file, (10**9, 10**9))
    assert before == ["passed", "failed"]


def test_a_test_that_never_ends_is_stopped(mutation: ModuleType, project: Path) -> None:
    (project / "tests" / "test_small.py").write_text("def test_on() -> None:\n    while True:\n        pass\n")
    assert mutation.run_tests(project, ["tests/test_small.py"], seconds=1)[0] == "timeout"


def test_results_are_read_again(mutation: ModuleType, tmp_path: Path) -> None:
    result = mutation.Result(mutation.Mutant("a.py", 3, 5, 7, "+", "-"), "killed", "FAILED t", 4)
    (tmp_path / "results").write_text(result.line() + "\n")
    assert mutation.read_results(tmp_path / "results") == [result] and mutation.read_results(tmp_path / "none") == []


def test_the_choice_depends_on_the_seed_alone(mutation: ModuleType) -> None:
    file = [str(path.relative_to(mutation.ROOT)) for path in (mutation.ROOT / "verified_dp").rglob("theorems.py")]
    first, again, other = (mutation.choose(file, 5, seed) for seed in (1, 1, 2))
    assert first == again != other and len(first) == 5


def test_a_mutant_is_judged_by_the_tests_that_enter_its_function(mutation: ModuleType, project: Path) -> None:
    """The quickest first; a function that only decorators, defaults or constants belong to has none."""
    out = project / "reached.jsonl"
    core = project / "verified_dp" / "core"
    core.mkdir()
    (core / "__init__.py").write_text("")
    (core / "one.py").write_text(
        "class A:\n    def f(self, x=1):\n        def g():\n            return x\n        return [g() for _ in (1,)]\n"
        "def unused():\n    return 2\n")
    (project / "tests" / "test_one.py").write_text(
        "import time\nfrom verified_dp.core.one import A\ndef test_slow():\n    time.sleep(0.3)\n"
        "    end = time.process_time() + 0.05\n    while time.process_time() < end:\n        pass\n    assert A().f()\n"
        "def test_quick():\n    assert A().f() == [1]\ndef test_wrong():\n    assert not A().f()\n")
    (project / "tests" / "reached.py").write_text(Path(__file__).with_name("reached.py").read_text())
    mutation.record_reached(out, project, ("tests",))
    once = len(out.read_text().splitlines())
    mutation.record_reached(out, project, ("tests",))
    assert len(out.read_text().splitlines()) == once, "nothing changed"
    with (project / "tests" / "test_one.py").open("a") as file:
        file.write("\n")
    mutation.record_reached(out, project, ("tests",))
    assert len(out.read_text().splitlines()) == once + 2
    quick, slow = "tests/test_one.py::test_quick", "tests/test_one.py::test_slow"
    names = ["verified_dp/core/one.py:A.f", "verified_dp/core/one.py:A.f.<locals>.g"]
    assert mutation.read_reached(out) == {name: [quick, slow] for name in names}
    file, found = "verified_dp/core/one.py", {}
    for line in range(1, 8):
        found[line] = mutation.enclosing(mutation.Mutant(file, line, 0, 0, "", ""), project)
    assert found == {1: None, 2: None, 3: "A.f", 4: "A.f.<locals>.g", 5: "A.f", 6: None, 7: "unused"}
