"""verified-dp ledger: JSON rows, exit codes, and every wrong input."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from verified_dp.adaptive.ledger import KINDS as CLASSES
from verified_dp.cli import main
from verified_dp.cli.ledger import KINDS

Run = Any


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """run(*words) -> (exit code, JSON rows), in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, list[dict[str, Any]]]:
        code = main(["ledger", *words, "--json"])
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return call


def test_from_init_to_halt(run: Run) -> None:
    code, (made,) = run("init", "x", "--kind", "gdp", "--set", "budget=0.02")
    assert code == 0 and made["schema"] == "verified-dp/ledger/1" and made["budget"] == "1/50"
    code, (first,) = run("charge", "x", "--key", "a", "--set", "mu_squared=1e-2")
    assert code == 0 and (first["verdict"], first["number"], first["spent"]) == ("continue", 1, "1/100")
    code, (again,) = run("charge", "x", "--key", "a", "--set", "mu_squared=1/100")
    assert code == 0 and again["repeated"] and again["spent"] == "1/100"
    code, (halt,) = run("charge", "x", "--key", "b", "--set", "mu_squared=0.010000000000000000000000000000000001")
    assert code == 1 and (halt["verdict"], halt["number"], halt["charges"]) == ("halt", None, 1)
    code, (last,) = run("charge", "x", "--key", "b", "--set", "mu_squared=0.01")
    assert code == 0 and last["spent"] == last["budget"]
    code, rows = run("export", "x")
    assert code == 0 and [row["key"] for row in rows] == ["a", "b"] and rows[-1]["hash"] == last["head"]
    assert rows[0]["request"] == {"mu_squared": "1/100"}


def test_status_says_what_the_budget_guarantees(run: Run) -> None:
    run("init", "x", "--kind", "gdp", "--epsilon", "0.8", "--delta", "1e-5")
    code, (row,) = run("status", "x", "--delta", "1e-5")
    assert code == 0 and row["guarantee"]["quantity"] == "epsilon"
    assert Fraction("0.79999") < Fraction(row["guarantee"]["upper"]) <= Fraction("0.8")
    _, (row,) = run("status", "x", "--epsilon", "0.8")
    assert Fraction("9.99e-6") < Fraction(row["guarantee"]["upper"]) <= Fraction("1.0001e-5")
    assert run("status", "x")[1][0]["guarantee"] is None


@pytest.mark.parametrize(("kind", "made", "charge"), [
    ("gdp-odometer", ["step=1/10"], ["mu_squared=1/4"]),
    ("renyi", ["renyi_orders=2,8", "budgets=0.1,0.4"], ["epsilons=0.05,0.1"]),
    ("renyi-odometer", ["step=1/10", "renyi_order=8"], ["epsilon=1/4"]),
    ("approximate-dp", ["epsilon=1", "slack=1e-6"], ["epsilon=0.1"]),
])
def test_other_kinds(run: Run, kind: str, made: list[str], charge: list[str]) -> None:
    def words(pairs: list[str]) -> list[str]:
        return [word for pair in pairs for word in ("--set", pair)]

    assert run("init", "x", "--kind", kind, *words(made))[0] == 0
    code, (row,) = run("charge", "x", "--key", "a", *words(charge))
    assert code == 0 and row["kind"] == kind and row["charges"] == 1


def test_a_renyi_filter_from_a_guarantee(run: Run) -> None:
    words = ("--kind", "renyi", "--epsilon", "0.8", "--delta", "1e-5", "--set", "renyi_orders=27")
    assert run("init", "x", *words)[0] == 0
    code, (row,) = run("status", "x", "--epsilon", "0.8")
    assert code == 0 and Fraction(row["guarantee"]["upper"]) <= Fraction("1.0001e-5")


def test_individual_filters_take_files(run: Run) -> None:
    Path("ids.json").write_text('["a", "b"]')
    Path("costs.json").write_text('{"a": 0.1, "b": "1.000000000000000000000000000001"}')
    assert run("init", "x", "--kind", "individual-gdp", "--set", "budget=1", "--records", "ids.json")[0] == 0
    code, (row,) = run("charge", "x", "--key", "1", "--records", "costs.json")
    assert code == 0 and row["active"] == ["a"] and row["halted"] == ["b"]
    assert row["largest_spent"] == "1/10", "0.1 is read as the decimal it is"
    assert run("status", "x", "--epsilon", "1")[0] == 0


@pytest.mark.parametrize("words", [
    ["init", "x", "--kind", "pld", "--set", "budget=1"], ["init", "x", "--kind", "gdp"],
    ["init", "x", "--kind", "gdp", "--set", "budget=0"], ["init", "x", "--kind", "gdp", "--set", "budget"],
    ["init", "x", "--kind", "gdp", "--set", "budget=1", "--set", "budget=2"],
    ["init", "x", "--kind", "gdp", "--set", "budget=1", "--set", "spent=0"],
    ["init", "x", "--kind", "gdp", "--epsilon", "1"], ["init", "x", "--kind", "gdp-odometer", "--epsilon", "1"],
    ["init", "x", "--kind", "gdp", "--set", "budgt=1"], ["init", "old", "--kind", "gdp", "--set", "budget=1"],
    ["init", "x", "--kind", "individual-gdp", "--set", "budget=1", "--records", "none.json"],
    ["init", "x", "--kind", "individual-gdp", "--set", "budget=1", "--records", "bad.json"],
    ["init", "x", "--kind", "individual-gdp", "--set", "budget=1", "--records", "twice.json"],
    ["charge", "none", "--key", "a", "--set", "mu_squared=1"], ["charge", "bad.json", "--key", "a"],
    ["charge", "old", "--key", "", "--set", "mu_squared=1"], ["charge", "old", "--set", "mu_squared=1"],
    ["charge", "old", "--key", "a", "--set", "mu_squared=-1"], ["charge", "old", "--key", "a", "--set", "mu=1"],
    ["charge", "old", "--key", "a"], ["status", "none"], ["export", "none"],
    ["status", "old", "--epsilon", "1", "--delta", "1e-5"], ["status", "old", "--delta", "2"], [],
])
def test_wrong_input_exits_with_2(run: Run, words: list[str]) -> None:
    Path("bad.json").write_text("[1, {}]")
    Path("twice.json").write_text('["a", "a"]')
    run("init", "old", "--kind", "gdp", "--set", "budget=1")
    code, rows = run(*words)
    assert code == 2 and rows[-1]["schema"] == "verified-dp/error/1" and rows[-1]["message"]
    assert not Path("x").exists()
    assert run("status", "old")[1][0]["charges"] == 0


@pytest.mark.parametrize(("kind", "made"), [
    ("individual-gdp", ["--epsilon", "0.8", "--delta", "1e-5"]),
    ("individual-renyi", ["--epsilon", "0.8", "--delta", "1e-5", "--set", "renyi_order=27"]),
    ("individual-gdp-odometer", ["--set", "step=1/100"]),
    ("individual-renyi-odometer", ["--set", "step=1/100", "--set", "renyi_order=8"]),
])
def test_every_individual_kind(run: Run, kind: str, made: list[str]) -> None:
    Path("ids.json").write_text('["a", "b"]')
    Path("costs.json").write_text('{"a": "1/50", "b": 0}')
    code, (row,) = run("init", "x", "--kind", kind, "--records", "ids.json", *made)
    assert code == 0 and row["kind"] == kind
    code, (row,) = run("charge", "x", "--key", "1", "--records", "costs.json")
    assert code == 0 and row["active"] == ["a", "b"] and row["halted"] == [] and row["largest_spent"] == "1/50"
    assert run("status", "x")[1][0]["charges"] == 1
    if "odometer" not in kind:
        _, (row,) = run("status", "x", "--epsilon", "0.8")
        assert Fraction("9.9e-6") < Fraction(row["guarantee"]["upper"]) <= Fraction("1.0001e-5")


@pytest.mark.parametrize(("words", "said"), [
    (["init", "x", "--kind", "gdp"], "--set budget=B^2, or --epsilon E --delta D"),
    (["init", "x", "--kind", "gdp", "--set", "budgt=1"], "--set budget=B^2"),
    (["init", "x", "--kind", "gdp", "--records", "ids.json", "--set", "budget=1"], "--set budget=B^2"),
    (["init", "x", "--kind", "gdp", "--epsilon", "1"], "--epsilon E --delta D"),
    (["init", "x", "--kind", "gdp", "--epsilon", "1", "--delta", "1e-5", "--set", "budget=1"], "or --epsilon"),
    (["init", "x", "--kind", "gdp-odometer", "--epsilon", "1", "--delta", "1e-5"], "--set step=S"),
    (["init", "x", "--kind", "renyi", "--epsilon", "1", "--delta", "1e-5", "--set", "renyi_orders=2,8"], "orders=27"),
    (["init", "x", "--kind", "individual-gdp", "--set", "budget=1"], "--records IDS.json"),
    (["init", "x", "--kind", "individual-gdp", "--set", "budget=1", "--set", "records=a"], "--records FILE"),
    (["init", "x", "--kind", "individual-gdp-odometer", "--records", "ids.json"], "--set step=S"),
    (["charge", "old", "--key", "a"], "--set mu_squared=M at charge of kind gdp"),
    (["charge", "old", "--key", "a", "--set", "mu=1"], "--set mu_squared=M"),
    (["charge", "old", "--key", "a", "--set", "mu_squared=0,1"], "a rational number"),
    (["charge", "old", "--key", "a", "--set", "mu_squared"], "KEY=VALUE"),
    (["charge", "old", "--key", "known", "--set", "mu_squared=0.2"], 'a new key: charge 1 has it, with {"mu_squared"'),
    (["init", "old", "--kind", "gdp", "--set", "budget=1"], "File exists"),
    (["init", "no/x", "--kind", "gdp", "--set", "budget=1"], "a folder that exists"),
    (["status", "ids.json"], "ledger must be"),
])
def test_the_message_says_what_to_write(run: Run, words: list[str], said: str) -> None:
    Path("ids.json").write_text('["a", "b"]')
    run("init", "old", "--kind", "gdp", "--set", "budget=1")
    run("charge", "old", "--key", "known", "--set", "mu_squared=0.1")
    code, rows = run(*words)
    assert code == 2 and said in rows[-1]["message"]
    assert not Path("x").exists() and run("status", "old")[1][0]["charges"] == 1


def test_a_record_named_twice_is_seen(run: Run) -> None:
    Path("ids.json").write_text('["a"]')
    Path("costs.json").write_text('{"a": 0, "a": 1}')
    run("init", "x", "--kind", "individual-gdp", "--set", "budget=1", "--records", "ids.json")
    assert run("charge", "x", "--key", "1", "--records", "costs.json")[0] == 2


def test_an_odometer_has_no_curve(run: Run) -> None:
    run("init", "x", "--kind", "gdp-odometer", "--set", "step=1")
    assert run("status", "x", "--epsilon", "1")[0] == 3


def test_text_for_people(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("init", "x", "--kind", "gdp", "--set", "budget=1")
    assert main(["ledger", "charge", "x", "--key", "a", "--set", "mu_squared=2"]) == 1
    assert capsys.readouterr().out == "HALT: a must not run, nothing was charged; gdp, 0 charges, spent 0, budget 1\n"


def test_the_help_names_all_kinds() -> None:
    assert set(KINDS) == set(CLASSES)
