"""The theorem is next to the code: proved functions, proof files and tests name the same theorems."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import verified_dp
from verified_dp.core.theorems import REGISTRY

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
PROOFS = {path.stem: path for path in sorted((ROOT / "proofs").glob("T[0-9][0-9]*-*.md"))}


def marked(source: str) -> Iterator[str]:
    """The names in every `pytest.mark.theorem(...)` of a test file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.theorem"):
            yield from (ast.literal_eval(argument) for argument in node.args)


def exercised() -> set[str]:
    """Every theorem that some test is marked with."""
    files = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__).resolve()]
    return {name for path in files for name in marked(path.read_text(encoding="utf-8"))}


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
    """If this fails: re-read the proof against the changed function, then run proofs/record_hashes.py."""
    text = PROOFS[theorem].read_text(encoding="utf-8")
    assert hashes.complaints(text, hashes.current_hashes(FUNCTIONS, theorem)) == []


def test_registry_holds_what_the_source_says() -> None:
    for module in pkgutil.walk_packages(verified_dp.__path__, "verified_dp."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    own = {f"{function.__module__}.{function.__qualname__}": theorems for function, theorems in REGISTRY.items()
           if function.__module__.startswith("verified_dp.")}
    assert own == {proved.name: proved.theorems for proved in FUNCTIONS}


@pytest.mark.parametrize("proved", FUNCTIONS, ids=lambda proved: proved.name)
def test_hash_is_that_of_inspect(proved: hashes.Proved) -> None:
    """The hash read off the file is that of inspect.getsource, so that anybody can compute it."""
    found: object = importlib.import_module(proved.module)
    for part in proved.name.removeprefix(f"{proved.module}.").split("."):
        found = inspect.getattr_static(found, part)
    function = getattr(found, "fget", None) or getattr(found, "__func__", None) or found
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))  # type: ignore[arg-type]
    assert hashes.hash_of(source) == proved.hash


SAMPLE = '''
from verified_dp.core.theorems import proved_by
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

- `m.bound` sha256 `{}`
- `m.Law.width` sha256 `{}`, the width

## Source

A book.
'''


def sample() -> dict[str, str]:
    """Current hashes of the sample's functions that carry T90-one."""
    return hashes.current_hashes(hashes.proved_in(SAMPLE, "m"), "T90-one")


def test_sample_is_read() -> None:
    functions = {proved.name: proved.theorems for proved in hashes.proved_in(SAMPLE, "m")}
    assert functions == {"m.bound": ("T90-one", "T91-two"), "m.Law.width": ("T90-one",)}


def test_current_proof_has_no_complaints() -> None:
    text = PROOF.format(*sample().values())
    assert hashes.complaints(text, sample()) == []
    assert hashes.refreshed(text, sample()) == text


@pytest.mark.parametrize("edit", [("return x", "return x + 1"), ("Doc", "Words"), ("T91-two", "T92-three")])
def test_changed_function_is_stale(edit: tuple[str, str]) -> None:
    text = PROOF.format(*sample().values())
    changed = hashes.current_hashes(hashes.proved_in(SAMPLE.replace(*edit), "m"), "T90-one")
    assert hashes.complaints(text, changed) == ["m.bound: changed since the proof was read"]


def test_untouched_neighbours_do_not_make_a_proof_stale() -> None:
    moved = hashes.proved_in("import os\n" + SAMPLE.replace("return 2", "return 3"), "m")
    assert hashes.current_hashes(moved, "T90-one") == sample()


def test_missing_and_foreign_functions_are_seen() -> None:
    text = "## Code\n\n- `m.gone` sha256 `0123456789abcdef`\n"
    assert hashes.complaints(text, sample()) == [
        "m.Law.width: not recorded", "m.bound: not recorded", "m.gone: no longer carries this theorem"]
    assert hashes.complaints("# T90\n", {}) == ["has no section '## Code'"]


@pytest.mark.parametrize(
    "text",
    [
        "# T90\n",
        PROOF.format("0" * 16, ""),
        "## Code\n\nWords.\n\n- `m.gone` sha256 `0`\n",
        "## Code\n## Source\n\nA book.\n",
    ],
)
def test_refreshed_is_current_and_keeps_the_words(text: str) -> None:
    new = hashes.refreshed(text, sample())
    assert hashes.complaints(new, sample()) == []
    assert hashes.refreshed(new, sample()) == new
    assert all(line in new.splitlines() for line in text.splitlines() if "sha256" not in line)
    assert new.endswith("\n") and not new.endswith("\n\n")


def test_note_is_kept() -> None:
    assert ", the width\n" in hashes.refreshed(PROOF.format("", ""), sample())


def test_program_records_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "verified_dp").mkdir()
    (tmp_path / "verified_dp" / "m.py").write_text(SAMPLE, encoding="utf-8")
    (tmp_path / "proofs").mkdir()
    for name in ("T90-one", "T91-two"):
        assert hashes.main([], tmp_path) == 1, "a missing proof is an error"
        (tmp_path / "proofs" / f"{name}.md").write_text("# A theorem\n", encoding="utf-8")
    assert hashes.main(["--check"], tmp_path) == 1
    assert "has no section" in capsys.readouterr().out
    assert hashes.main([], tmp_path) == 0
    assert hashes.main(["--check"], tmp_path) == 0
    (tmp_path / "verified_dp" / "m.py").write_text(SAMPLE.replace("return x", "return -x"), encoding="utf-8")
    assert hashes.main(["--check"], tmp_path) == 1
    assert hashes.main(["T91-two"], tmp_path) == 0
    assert hashes.main(["--check", "T91-two"], tmp_path) == 0
    assert hashes.main(["--check", "T90-one"], tmp_path) == 1
    assert hashes.main(["T99-unknown"], tmp_path) == 1


def test_equal_names_are_refused() -> None:
    with pytest.raises(ValueError, match="share a name"):
        hashes.proved_in(SAMPLE + '\n@proved_by("T90-one")\ndef bound(y):\n    return y\n', "m")


def test_marks_are_read() -> None:
    decorated = '@pytest.mark.theorem("T90-one", "T91-two")\ndef test_x(): pass\n'
    assert set(marked(decorated)) == {"T90-one", "T91-two"}
    assert set(marked('pytestmark = pytest.mark.theorem("T92-x")')) == {"T92-x"}
