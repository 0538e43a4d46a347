"""By how much a refuted claim falls short, and why a claim is undecided: numbers, words, pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from verified_dp import Certificate, certify
from verified_dp.cli import main
from verified_dp.core.kernel.certificate import check
from verified_dp.core.kernel.exact import exact
from verified_dp.questions.judgement import REASONS, excess, least_claim, reason
from verified_dp.questions.statement import statement
from verified_dp.spec import parse_spec

GAUSSIAN = 'kind = "gaussian"\nnoise_multiplier = "2"\n'  # epsilon(1e-5) = 1.99309140441511963..., bisection in mpmath
ZCDP = 'kind = "zcdp"\nrho = "2.56"\n'
SHUFFLED = GAUSSIAN + 'sampling = { scheme = "shuffled", rounds = 10 }\n'
SUBSET = GAUSSIAN + 'sampling = { scheme = "without-replacement", probability = "0.1" }\n'
STATED = 'relation = "{}"\n[[mechanism]]\n{}[claim]\ntitle = "t"\nepsilon = "{}"\ndelta = "{}"\n'


def stated(mechanism: str, epsilon: str, delta: str, relation: str = "add-or-remove") -> str:
    return STATED.format(relation, mechanism, epsilon, delta)


def judged(*claim: str, digits: int = 6, seconds: float | None = None) -> Certificate:
    return certify(parse_spec(stated(*claim)), digits=digits, max_seconds=seconds)


@pytest.mark.parametrize(("claimed", "ratio", "factor"), [
    ("1.99", "1.00155", "1.0261"), ("1", "1.99309", "682.959"), ("1.9930914044", "1.0000000000075", "1.000000000126")])
def test_the_excess_is_a_bound_from_below(claimed: str, ratio: str, factor: str) -> None:
    """Two digits of what is above 1 are there, and none is too large. The values are mpmath's."""
    found = excess(judged(GAUSSIAN, claimed, "1e-5", digits=20).document)
    true = Fraction("1.99309140441511963") / exact(claimed)
    assert found["epsilon_ratio"].startswith(ratio) and exact(found["epsilon_ratio"]) <= true + Fraction(1, 10**16)
    assert 100 * (exact(found["epsilon_ratio"]) - 1) >= 98 * (true - 1)
    assert found["delta_factor"].startswith(factor)


def document(epsilon: tuple[str, str], delta: tuple[str, str], claimed: tuple[str, str]) -> dict[str, Any]:
    ends = {name: dict(zip(("lower", "upper"), pair, strict=True)) for name, pair in
            (("epsilon", epsilon), ("delta", delta))}
    return {"claim": dict(zip(("epsilon", "delta"), claimed, strict=True)), "result": ends}


@pytest.mark.parametrize(("epsilon", "delta", "claimed", "shown"), [
    (("0.5", "0.6"), ("0.3", "0.4"), ("0", "0.1"), ("inf", "3")),
    (("inf", "inf"), ("0.3", "0.4"), ("2", "0"), ("inf", "inf")),
    (("1.5", "9"), ("0.3", "0.4"), ("2", "0.1"), ("1", "3")),  # epsilon is known to exceed the claim by delta alone
    (("3", "9"), ("1e-999999", "0.4"), ("2", "0.1"), ("1.5", "1")),
    (("2e5", "3e5"), ("0.3", "0.4"), ("3", "0.1"), ("66666.6", "3")),
])
def test_excess_at_the_ends(epsilon: tuple[str, str], delta: tuple[str, str], claimed: tuple[str, str],
                            shown: tuple[str, str]) -> None:
    assert tuple(excess(document(epsilon, delta, claimed)).values()) == shown


@pytest.mark.parametrize(("claimed", "upper", "shown"), [
    ("1.99", "1.9930914045", "2.00"), ("1", "1.2433", "2"), ("2", "2.158", "3"), ("1.5", "1993.01", "1993.1"),
    ("19e-1", "1.9931", "20e-1"), ("1e1", "14", "2e1"), ("1e1", "104", "11e1"), ("0.10", "0.1", "0.10"),
    ("1.5e-3", "0.00162", "1.7e-3"), ("5e-4", "0.00051", "6e-4"), ("1/2", "0.75", "0.75"), ("2", "inf", ""),
    ("0." + "0" * 70, "0.25", "0.25"), ("1e9", "1.5", "1e9"), ("2.0000000000000000000000000000000001",
     "2.0000000000000000000000000000000002000001", "2.0000000000000000000000000000000003"),
])
def test_the_least_claim_of_as_many_decimals(claimed: str, upper: str, shown: str) -> None:
    assert least_claim(claimed, upper) == shown


@pytest.mark.parametrize("claimed", ["1", "1.5", "1.99", "1e-3", "19e-1", "7/4"])
def test_the_least_claim_is_proved(claimed: str) -> None:
    found = judged(GAUSSIAN, claimed, "1e-5").document
    better = least_claim(found["claim"]["epsilon"], found["result"]["epsilon"]["upper"])
    assert judged(GAUSSIAN, better, "1e-5")["verdict"] == "proved"


@pytest.mark.parametrize(("claim", "why"), [
    ((ZCDP, "17.14", "1e-10"), "one-sided"),
    ((SHUFFLED, "1.5", "1e-5"), "one-sided"),
    ((SUBSET, "0.9", "1e-6", "replace"), "one-sided"),
])
def test_more_digits_decide_nothing_that_is_one_sided(claim: tuple[str, ...], why: str) -> None:
    """The reason is stated, and it is so: 40 digits change neither the verdict nor the upper end by .1 %."""
    few, many = judged(*claim), judged(*claim, digits=40)
    assert few["verdict"] == many["verdict"] == "undecided" and reason(few.document) == reason(many.document) == why
    ends = [exact(one["result"]["epsilon"]["upper"]) for one in (few, many)]
    assert abs(ends[0] - ends[1]) < ends[1] / 1000


def test_a_search_that_ended_early_is_wide() -> None:
    """The same claim is decided where there is time."""
    sampled = GAUSSIAN + 'sampling = { scheme = "poisson", probability = "0.01" }\ncount = 1000\n'
    claimed = least_claim("1.0001", judged(sampled, "1", "1e-5")["result"]["epsilon"]["upper"])
    early = judged(sampled, claimed, "1e-5", seconds=1e-6)
    assert early["verdict"] == "undecided" and reason(early.document) == "width"
    assert judged(sampled, claimed, "1e-5")["verdict"] == "proved"


def run(tmp_path: Any, capsys: pytest.CaptureFixture[str], text: str, *options: str) -> str:
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    main(["certify", str(tmp_path / "c.toml"), *options])
    return " ".join(capsys.readouterr().out.split())


def test_what_people_read_of_a_refutation(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(tmp_path, capsys, stated(GAUSSIAN, "1.9", "1e-5"))
    assert "at least 1.9930 at delta = 1e-5, claimed 1.9: epsilon short by 0.093" in shown
    assert "epsilon = 2.0 would be proved" in shown
    assert "the true epsilon is at least 1.04899 times the claimed one, the true delta at least 2.13977 times" in shown
    assert "short by rounding" not in shown
    row = json.loads(run(tmp_path, capsys, stated(GAUSSIAN, "1.9", "1e-5"), "--json"))
    assert row["excess"]["epsilon_ratio"] == "1.04899" and "reason" not in row


def test_what_people_read_where_nothing_is_decided(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """An upper bound is called one, and no advice is given that cannot help."""
    text = stated(ZCDP, "17.14", "1e-10")
    shown = run(tmp_path, capsys, text)
    assert "epsilon at most 17.159 at delta = 1e-10, claimed 17.14: undecided" in shown
    assert REASONS["one-sided"] in shown
    for options in ((), ("--max-seconds", "9")):
        shown = run(tmp_path, capsys, text, *options)
        assert "true epsilon" not in shown and "true delta" not in shown and "--" not in shown
    row = json.loads(run(tmp_path, capsys, text, "--json"))
    assert row["reason"] == "one-sided" and "excess" not in row


def test_an_upper_bound_that_proves_is_called_one(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(tmp_path, capsys, stated(ZCDP, "17.2", "1e-10"))
    assert shown.startswith("proved: t") and "epsilon at most 17.159" in shown and "true" not in shown


def test_the_paragraph_states_no_lower_end_of_an_upper_bound() -> None:
    words = statement(judged(SUBSET, "0.9", "1e-6", "replace").document)
    assert "the smallest epsilon is at most " in words and "lies between" not in words


@pytest.mark.parametrize(("claim", "words"), [
    ((GAUSSIAN, "1.9", "1e-5"), ("The true epsilon is at least 1.04899 times", "epsilon = 2.0 would be proved")),
    ((ZCDP, "17.14", "1e-10"), ("Only an upper bound is known", "at most", "17.15")),
])
def test_pages_say_the_same(claim: tuple[str, ...], words: tuple[str, ...]) -> None:
    pytest.importorskip("jinja2")
    from verified_dp.report.facts import read_certificate
    from verified_dp.report.pages import index

    found = judged(*claim)
    shown = found.html(seconds=0.1, methods=(), peers=False)
    shown += index([(read_certificate(found.document, "t"), "t.html")], {})
    assert all(one in shown for one in words)
    assert ("true ε" in shown) == (claim[0] == GAUSSIAN)


@pytest.mark.parametrize("options", [(), ("--out", "c"), ("--json",)])
def test_no_verdict_where_the_checker_refuses(options: tuple[str, ...], tmp_path: Any, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    """A checker that finds another verdict stands for a defect of either side: it is told, and nothing is written."""
    judge: Callable[..., dict[str, Any]] = check.judge
    monkeypatch.setattr(check, "judge", lambda *given: {**judge(*given), "verdict": "refuted"})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(stated(GAUSSIAN, "3", "1e-5"), encoding="utf-8")
    assert main(["certify", "c.toml", *options]) == 3
    shown = capsys.readouterr()
    assert "no verdict: the checker refuses" in shown.err and "please report this" in shown.err
    assert "proved" not in shown.out.replace("is expected, not proved", "") and not list(tmp_path.rglob("*.json"))
