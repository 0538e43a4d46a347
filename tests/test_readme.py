"""README and docs tell the truth: their Python and commands print what they show, their claims are answered.

`...` in a shown output stands for anything. A TOML block whose first line is `# NAME.toml` is the file of that name for
the commands of its page, and README's for those of every page.
"""

from __future__ import annotations

import doctest
import inspect
import os
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import duckdb
import pytest

import verified_dp
from verified_dp.cli import main
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.families.table import ALL_RELEASES, SCHEMES
from verified_dp.core.kernel.composition import SCHEME_KEYS, Relation, compose
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.losses import describe_pairs
from verified_dp.core.kernel.mechanisms import Gaussian, Release
from verified_dp.papers.paper import PAPER_METHODS, paper_method
from verified_dp.profile import METHODS, privacy_profile
from verified_dp.spec import parse_spec

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {"README.md": ROOT / "README.md", **{
    path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}}
README = PAGES["README.md"].read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"console", "python", "sh", "toml"}
KEYS = {**{kind: (*release.stated.readers,) for kind, release in ALL_RELEASES.items()},
        "gaussian": [f.name for f in fields(Gaussian)], "composition": ["releases", "sampling", "count"]}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def blocks(language: str, page: str = "README.md") -> list[str]:
    """All fenced blocks of a page in one language."""
    found = BLOCK.finditer(PAGES[page].read_text(encoding="utf-8"))
    return [match["text"] for match in found if match["language"] == language]


def pages_with(language: str) -> list[str]:
    """The pages that have such a block."""
    return [page for page in PAGES if blocks(language, page)]


def console(text: str) -> list[tuple[str, str]]:
    """(command, shown output) pairs of a console block."""
    parts = re.split(r"^\$ (.*)$", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], (shown.strip("\n") for shown in parts[2::2]), strict=True))


def matches(shown: str, printed: str) -> bool:
    """Whether a command printed what a page shows."""
    return doctest.OutputChecker().check_output(shown + "\n", printed + "\n", OPTIONS)


def write_files(page: str, folder: Path) -> None:
    """The page's specifications that have a name."""
    for text in blocks("toml", page):
        if named := re.match(r"# (\w+\.toml)\n", text):
            (folder / named[1]).write_text(text, encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked_here: None) -> Path:
    """A working directory with README's files and some norms, and this environment's programs first on the path."""
    write_files("README.md", tmp_path)
    norms = """SELECT record, step, 20 AS repeats, (1 + record) / (1.0 + step) AS norm
        FROM range(9) r(record), range(60) s(step)"""
    duckdb.sql(f"COPY ({norms}) TO '{tmp_path / 'norms.parquet'}' (FORMAT parquet)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    return tmp_path


def test_every_block_is_run() -> None:
    for page, path in PAGES.items():
        text = path.read_text(encoding="utf-8")
        languages = [match["language"] for match in BLOCK.finditer(text)]
        assert set(languages) <= LANGUAGES - ({"sh"} if page != "README.md" else set()), page
        assert text.count("```") == 2 * len(languages), page
    assert len(PAGES) >= 8


@pytest.mark.parametrize("page", [page for page in pages_with("python") if page != "migration.md"])  # interop runs it
def test_python(page: str, folder: Path) -> None:
    test = doctest.DocTestParser().get_doctest("\n".join(blocks("python", page)), {}, page, page, 0)
    assert test.examples
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


def printed_by(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints: the shell runs what needs one, this process a plain call of the program."""
    if command.startswith("verified-dp ") and not set(command) & set("|&;<>$"):
        main(shlex.split(command)[1:])
        return "".join(capsys.readouterr()).strip("\n")
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=300)
    return (done.stdout + done.stderr).strip("\n")


@pytest.mark.parametrize("page", pages_with("console"))
def test_commands(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(page, folder)
    for command, shown in (pair for text in blocks("console", page) for pair in console(text)):
        printed = printed_by(command, capsys)
        assert matches(shown, printed), f"$ {command}\n{printed}\n--- {page} shows ---\n{shown}"


def test_commands_are_shown() -> None:
    commands = {command.split()[1] for text in blocks("console") for command, _ in console(text)}
    assert commands >= {"certify", "verify", "epsilon", "delta"}


@pytest.mark.parametrize(("page", "text"), [(page, text) for page in PAGES for text in blocks("toml", page)])
def test_specifications_are_answered(page: str, text: str) -> None:
    delta = privacy_profile(parse_spec(text, file=page)).delta("1", digits=2, max_seconds=20)
    assert 0 <= delta.lower <= delta.upper < 1


def test_every_key_is_explained() -> None:
    page = PAGES["mechanisms.md"].read_text(encoding="utf-8")
    for kind, keys in KEYS.items():
        own = PAGES[f"mechanisms/{kind}.md"].read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(\w+)` \| ", own, re.MULTILINE)
        assert [key for key in keys if key not in rows] == [] and own.startswith(f"# {kind}\n"), kind
        assert f"](mechanisms/{kind}.md)" in page
    sections = re.split(r"^## ", page, flags=re.MULTILINE)
    stated = {key: next(part for part in sections if part.startswith(key.capitalize())) for key in SCHEME_KEYS}
    assert [name for scheme, kind in SCHEMES.items() for name in (scheme, *kind.stated.readers)
            if f"`{name}`" not in stated[kind.key]] == []


def worth(mechanism: Gaussian | Release, relation: Relation) -> str:
    """What an answer for a mechanism is worth, in the words of its page."""
    try:
        pairs = describe_pairs(compose(mechanism), relation)
    except Unsupported:
        return "refused"
    return "exact" if all(pair.tight for pair in pairs) else "upper bound"


def sampled(mechanism: Gaussian | Release, relation: Relation) -> str:
    """The same on a Poisson sample."""
    try:
        return worth(PoissonSampled(mechanism, "1/100"), relation)
    except Unsupported:
        return "refused"


@pytest.mark.parametrize("kind", sorted({*ALL_RELEASES, "gaussian"}))
def test_pages_say_what_answers_are_worth(kind: str) -> None:
    own = PAGES[f"mechanisms/{kind}.md"].read_text(encoding="utf-8")
    mechanism = parse_spec(blocks("toml", f"mechanisms/{kind}.md")[0]).composition.parts[0][0]
    plain = getattr(mechanism, "mechanism", mechanism)
    cells = {relation: (worth(plain, relation), sampled(plain, relation)) for relation in Relation}
    rows = [f"| `{relation}` | {first} | {second} |" for relation, (first, second) in cells.items()]
    if len({*cells.values()}) == 1:
        first, second = cells[Relation.ADD]
        rows = [f"Under every relation: {first}; on a Poisson sample: {second}."]
    assert [row for row in rows if row not in own] == [], f"docs/mechanisms/{kind}.md"


def test_every_method_and_parameter_is_explained() -> None:
    page = PAGES["methods.md"].read_text(encoding="utf-8")
    rows = {row.split("`")[1]: row for row in page.splitlines() if row.startswith("| `")}
    assert rows.keys() == {*METHODS, *PAPER_METHODS} - {"auto"}
    for name in PAPER_METHODS:
        assert [f.name for f in fields(type(paper_method(name))) if f"`{f.name}`" not in rows[name]] == []


def test_every_public_class_and_function_is_in_the_reference() -> None:
    shown = set(re.findall(r"^::: (\S+)$", PAGES["api.md"].read_text(encoding="utf-8"), re.MULTILINE))
    named = {f"{value.__module__}.{name}" for name in verified_dp.__all__
             if inspect.isroutine(value := getattr(verified_dp, name)) or inspect.isclass(value)}
    assert [name for name in sorted(named) if name not in shown and name.rpartition(".")[0] not in shown] == []


def test_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    sources = (*PAGES.values(), ROOT / "CONTRIBUTING.md")
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    named = set(re.findall(r"^(?:    |)make ([a-z-]+)|`make ([a-z-]+)`", text, re.MULTILINE))
    assert {first or second for first, second in named} <= targets
    assert {"certify", "test", "lint", "bench", "test-long", "proofs", "clean"} <= targets


def test_certify_and_test_come_first() -> None:
    commands = [line for text in blocks("sh") for line in text.splitlines()]
    assert [" ".join(line.split()[:2]) for line in commands] == ["make certify", "make test", "pip install"]


def test_continuous_integration_runs_what_readme_tells() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["make proofs", "make test"]


def test_links_exist() -> None:
    links = [(path, link) for path in PAGES.values()
             for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8"))]
    assert links
    assert [link for path, link in links if not (path.parent / link).exists()] == []
    start = PAGES["index.md"].read_text(encoding="utf-8")
    assert [page for page in PAGES if "/" not in page and page not in ("README.md", "index.md")
            and f"](docs/{page})" not in README and f"]({page})" not in start] == []


@pytest.mark.parametrize(("shown", "printed"), [("0.04...", "0.05"), ("proved", "refuted"), ("a", "a\nb")])
def test_matches_sees_differences(shown: str, printed: str) -> None:
    assert not matches(shown, printed)


def test_console_is_split() -> None:
    assert console("$ a b\nx\ny\n$ c\n") == [("a b", "x\ny"), ("c", "")]
