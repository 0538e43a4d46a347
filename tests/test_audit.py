"""docs/audit.md and .csv are what the claims and their record say: nothing is certified again here."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from verified_dp import Gaussian, certify
from verified_dp.spec import load_spec

ROOT = Path(__file__).resolve().parents[1]
CLAIMS = sorted((ROOT / "examples" / "claims").glob("*.toml"))
ADVICE = "run `make audit`"

ROUNDED = re.compile(r'(\w+) = "([\d.e-]+)" is printed (rounded|cut) \(.+\); with "([\d.e-]+)" the claim holds')

TEXT = """\
# What the source states.
#
# Kind: deployment
# Reading: in two
# lines
relation = "remove"

[[mechanism]]
kind = "gaussian"
noise_multiplier = "2"

[claim]
title = "A title"
source = "github:a/b@12 c.md"
epsilon = "2"
delta = "1e-5"
"""


@pytest.fixture(scope="session")
def program(load_example: Callable[[str], ModuleType]) -> ModuleType:
    """The program that writes the page."""
    return load_example("audit_page")


@pytest.fixture(scope="session")
def claims(program: ModuleType) -> list[Any]:
    """All claims with their records."""
    return list(program.audited())


def test_every_record_is_of_its_file(claims: list[Any]) -> None:
    assert [one.file.stem for one in claims if not one.is_current] == [], ADVICE


def test_no_record_is_left_over() -> None:
    record = json.loads((ROOT / "examples" / "claims" / "expected.json").read_text(encoding="utf-8"))
    assert list(record) == [path.stem for path in CLAIMS], ADVICE


def test_the_page_is_current(program: ModuleType, claims: list[Any]) -> None:
    assert (ROOT / "docs" / "audit.md").read_text(encoding="utf-8") == program.page(claims), ADVICE
    assert (ROOT / "docs" / "audit.csv").read_text(encoding="utf-8") == program.rows(claims), ADVICE


def test_there_are_as_many_claims_as_promised(claims: list[Any]) -> None:
    assert len({one.published for one in claims}) >= 128


def test_every_claim_says_where_from_and_how_it_was_read(program: ModuleType, claims: list[Any]) -> None:
    for one in claims:
        assert one.claim.title and one.claim.source and one.said("Reading"), one.file
        assert one.said("Kind") in program.KINDS, one.file
    assert len({(one.claim.title, one.said("Reading")) for one in claims}) == len(claims)


def test_another_reading_is_of_a_claim_that_is_there(claims: list[Any]) -> None:
    files = {one.file.stem for one in claims}
    assert [one.file.stem for one in claims if one.published not in files] == []


def test_verdicts_agree_with_the_recorded_ends(claims: list[Any]) -> None:
    for one in claims:
        ends = (math.inf if end == "inf" else Fraction(end) for end in one.record["epsilon"])
        claimed, (lower, upper) = one.claim.epsilon, ends
        assert lower <= upper
        assert one.record["verdict"] != "refuted" or (one.record["tight"] and lower > claimed), one.file
        assert one.record["verdict"] != "undecided" or (not one.record["tight"] and upper > claimed), one.file
        assert one.record["verdict"] != "proved" or lower <= claimed, one.file


def test_a_contradiction_quotes_both_statements_and_where_they_are(claims: list[Any]) -> None:
    found = [one for one in claims if one.noted("Contradiction")]
    assert {one.file.stem for one in found} >= {"wikimedia-scale10", "dpsda-fig5"}
    for one in found:
        assert len(re.findall(r'"[^"]+" \([^)]+\)', one.said("Contradiction"))) >= 2, one.file
        assert one.record["verdict"] == "refuted", f"{one.file}: what is stated gives the epsilon that is stated"


def test_with_the_value_that_a_rounded_number_may_stand_for_the_claim_is_proved(
    program: ModuleType, claims: list[Any], tmp_path: Path
) -> None:
    found = [one for one in claims if one.noted("Rounded")]
    assert found and all(one.verdict == program.ROUNDED for one in found)
    for one in found:
        match = ROUNDED.fullmatch(one.said("Rounded"))
        assert match, one.file
        key, printed, how, value = match.groups()
        digits, _, power = printed.partition("e")
        unit = Fraction(10) ** (int(power or 0) - len(digits.partition(".")[2]))
        beyond = Fraction(value) - Fraction(printed)
        assert abs(beyond) <= unit / 2 if how == "rounded" else 0 < beyond <= unit, one.file
        text = one.file.read_text(encoding="utf-8").partition("\nrelation")[2]
        assert text.count(f'{key} = "{printed}"') == 1, one.file
        changed = tmp_path / one.file.name
        changed.write_text("relation" + text.replace(f'{key} = "{printed}"', f'{key} = "{value}"'), encoding="utf-8")
        assert certify(load_spec(changed)).verdict == "proved", one.file


def test_a_reading_is_of_one_kind(claims: list[Any]) -> None:
    keys = ("Contradiction", "Rounded", "Hypothetical")
    assert [one.file.stem for one in claims if sum(bool(one.noted(key)) for key in keys) > 1] == []


def test_what_no_source_states_is_apart(claims: list[Any], program: ModuleType) -> None:
    supposed = [one for one in claims if one.noted("Hypothetical")]
    assert {one.file.stem for one in supposed} >= {"wikimedia-ru--nine-tenths", "recurve-paper--rr"}
    before, _, after = program.page(claims).partition("<summary>What if")
    for one in supposed:
        assert f"claims/{one.file.name}" not in before and f"claims/{one.file.name}" in after, one.file
    assert f"in {len(claims) - len(supposed)} readings" in before


@pytest.fixture
def folder(program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One claim with a record of its file."""
    monkeypatch.setattr(program, "CLAIMS", tmp_path)
    monkeypatch.setattr(program, "PAGE", tmp_path / "audit.md")
    file = tmp_path / "one.toml"
    file.write_text(TEXT, encoding="utf-8")
    digest = program.hashlib.sha256(file.read_bytes()).hexdigest()
    write_record(tmp_path, verdict="proved", sha256=digest)
    (tmp_path / "not-stated.json").write_text("[]", encoding="utf-8")
    return tmp_path


def write_record(folder: Path, **changes: Any) -> None:
    """A record of one.toml."""
    known = {"short_by_rounding": False, "epsilon": ["1.99374441234", "1.99374441239"], "tight": True, **changes}
    (folder / "expected.json").write_text(json.dumps({"one": known}), encoding="utf-8")


def test_a_row(program: ModuleType, folder: Path) -> None:
    program.main()
    row = ("| [A title](../examples/claims/one.toml), [a/b](https://github.com/a/b/blob/12/c.md) | proved | deployment "
           "|  | (2, 1e-5) | 1.99374441... | -0.312 % | in two lines |")
    assert row in (folder / "audit.md").read_text(encoding="utf-8")


def test_a_changed_file_is_noticed(program: ModuleType, folder: Path) -> None:
    (folder / "one.toml").write_text(TEXT.replace('multiplier = "2"', 'multiplier = "3"'), encoding="utf-8")
    with pytest.raises(ValueError, match="one: run `make audit`"):
        program.main()


def test_a_file_without_a_reading_is_refused(program: ModuleType, folder: Path) -> None:
    (folder / "one.toml").write_text(TEXT.replace("# Reading: in two\n# lines\n", ""), encoding="utf-8")
    with pytest.raises(ValueError, match="must say Reading"):
        program.page(program.audited())


@pytest.mark.parametrize(("note", "epsilon", "delta", "record", "shown"), [
    ("", "1.5", "1e-5", {}, "refuted"),
    ("", "1.5", "1e-5", {"short_by_rounding": True}, "refuted, short by rounding"),
    ("", "1.5", "0.0123456789012345", {"short_by_rounding": True}, "refuted"),  # delta is what was computed
    ("", "1.5", "1/60000", {"short_by_rounding": True}, "refuted, short by rounding"),
    ("", "1.99374441234567", "1e-5", {"epsilon": ["1.9937444123458", "1.9937444123459"]},
     "refuted, rounding of a double"),
    ("", "1.99374441234567", "1e-5", {"epsilon": ["1.9937444123460", "1.9937444123461"]}, "refuted"),  # 1.7e-13 of it
    ("", "1.9937444123456", "1e-5", {"epsilon": ["1.9937444123457", "1.9937444123458"]}, "refuted"),  # 14 digits
    ("Contradiction", "1.5", "1e-5", {"short_by_rounding": True}, "the source contradicts itself"),
    ("Contradiction", "2", "1e-5", {"verdict": "proved"}, "proved"),
    ("Rounded", "1.5", "1e-5", {}, "undecided, a stated number is rounded"),
    ("Rounded", "1.5", "1e-5", {"verdict": "undecided", "tight": False}, "undecided, a stated number is rounded"),
    ("Rounded", "2", "1e-5", {"verdict": "proved"}, "proved"),
    ("", "1.5", "1e-5", {"verdict": "undecided", "tight": False}, "undecided, only an upper bound"),
])
def test_verdicts(program: ModuleType, folder: Path, note: str, epsilon: str, delta: str, record: dict[str, Any],
                  shown: str) -> None:
    text = TEXT.replace('epsilon = "2"', f'epsilon = "{epsilon}"').replace('delta = "1e-5"', f'delta = "{delta}"')
    if note:
        text = text.replace("# lines\n", f"# lines\n# {note}: something\n")
    (folder / "one.toml").write_text(text, encoding="utf-8")
    write_record(folder, **{"verdict": "refuted", **record})
    (one,) = program.audited()
    assert one.verdict == shown
    assert f"| {shown} | deployment |" in program.page([one])
    assert one.excess.startswith("+") or not shown.startswith("refuted")


@pytest.mark.parametrize(("ends", "tight", "shown"), [
    (("1.99374441234", "1.99374441239"), True, "1.99374441..."),
    (("0.4200000001", "0.4200000002"), True, "0.420000000..."),
    (("3.9368", "15.063"), True, "3.9368 to 15.063"),
    (("0.1", "0.1"), True, "0.1"),
    (("0", "17.1435507612"), False, "at most 17.1435508"),
    (("inf", "inf"), False, "none"),
    (("1.2e-9", "1.2e-9"), True, "1.2e-9"),
])
def test_intervals(program: ModuleType, folder: Path, ends: tuple[str, str], tight: bool, shown: str) -> None:
    write_record(folder, verdict="proved" if tight else "undecided", epsilon=list(ends), tight=tight)
    (one,) = program.audited()
    assert one.interval == shown


def test_a_proved_claim_is_the_most_that_epsilon_is(program: ModuleType, folder: Path) -> None:
    write_record(folder, verdict="proved", epsilon=["0", "2.0000001"], tight=False)
    assert [one.interval for one in program.audited()] == ["at most 2"]


@pytest.mark.parametrize(("source", "shown"), [
    ("github issue a/b#7", "[a/b issue 7](https://github.com/a/b/issues/7)"),
    ("https://x.org/y (caption)", "[x.org](https://x.org/y) (caption)"),
    ("a book, page 3", "a book, page 3"),
])
def test_sources_are_links(program: ModuleType, source: str, shown: str) -> None:
    assert program.linked(source) == shown


def test_how_often_a_device_counts_in_the_tree_of_gboard_es(claims: list[Any]) -> None:
    """At most six rounds of 2000, 314 apart at least; every node counts the square of the rounds below it."""
    starts = {0: 1024, 1024: 512, 1536: 256, 1792: 128, 1920: 64, 1984: 16}
    nodes = [range(low, low + width) for start, size in starts.items() for bits in range(size.bit_length())
             for width in [1 << bits] for low in range(start, start + size, width)]
    above = {leaf: [node.start * 4096 + len(node) for node in nodes if leaf in node] for leaf in range(2000)}
    blocks = [range(low, min(low + 256, start + size)) for start, size in starts.items()
              for low in range(start, start + size, 256)]  # no two rounds of a device are in one: 256 < 314
    largest = 0
    for chosen in itertools.chain.from_iterable(itertools.combinations(blocks, count) for count in range(1, 7)):
        leaves: list[int] = []
        for block in chosen:  # where in its block a leaf lies changes nothing: the earliest leaves most room
            leaves.append(max([block.start, *(leaf + 314 for leaf in leaves[-1:])]))
        if all(leaf in block for leaf, block in zip(leaves, chosen, strict=True)):
            below = Counter(node for leaf in leaves for node in above[leaf])
            largest = max(largest, sum(times**2 for times in below.values()))
    (one,) = (one for one in claims if one.file.stem == "gboard-es")
    assert one.spec.composition.parts == ((Gaussian(7), largest),)
