"""Clopper and Pearson's bounds and what they say of epsilon, against beta laws, exact sums and simulated attacks."""

from __future__ import annotations

import csv
import json
import math
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest
from flint import ctx
from scipy import stats

from verified_dp import Claim, Gaussian, InvalidInput, PoissonSampled, Unsupported, privacy_profile
from verified_dp.attack import Guarantee, binomial, counts, scores
from verified_dp.attack.binomial import bound_rate, enclose_tail, lower_bound_rate
from verified_dp.attack.trials import Rates
from verified_dp.cli import main
from verified_dp.core.kernel.balls import ball

CASES = [(95, 100, 3, 100), (100, 100, 0, 100), (0, 7, 7, 7), (5, 10, 5, 10), (900, 1000, 100, 2000), (1, 3, 0, 2)]


def table(name: str) -> list[dict[str, str]]:
    """Of the documents."""
    with (Path(__file__).resolve().parents[2] / "docs" / name).open(encoding="utf-8", newline="") as stream:
        return [*csv.DictReader(stream)]


@pytest.mark.theorem("T193-counts")
@pytest.mark.parametrize("n, p", [
    (1, Fraction(1, 3)), (9, Fraction(1, 100)), (60, Fraction(1, 2)), (40, Fraction(97, 100))])
def test_tails_hold_exact_sums(n: int, p: Fraction) -> None:
    with ctx.workprec(160):
        for k in range(n + 2):
            exactly = sum((comb(n, j) * p**j * (1 - p)**(n - j) for j in range(k, n + 1)), Fraction(0))
            found = enclose_tail(n, k, ball(p), ball(1 - p))
            assert found.contains(ball(exactly)) or found.overlaps(ball(exactly))
            assert float(found.rad()) <= 1e-30 * max(float(exactly), 1e-300)


@pytest.mark.theorem("T193-counts")
@pytest.mark.parametrize("level", [Fraction(1, 40), Fraction(1, 2 * 10**12)])
def test_rates_are_quantiles_of_beta_laws(level: Fraction) -> None:
    for k, n in [(0, 5), (1, 5), (5, 5), (3, 100), (97, 100), (700, 1000), (1, 10**6), (10**6 - 1, 10**6),
                 (10**9, 10**9)]:
        low, high = float(lower_bound_rate(k, n, level)), float(bound_rate(k, n, level))
        assert low == pytest.approx(stats.beta.ppf(float(level), k, n - k + 1) if k else 0, rel=1e-9)
        assert high == pytest.approx(stats.beta.isf(float(level), k + 1, n - k) if k < n else 1, rel=1e-9)


@pytest.mark.theorem("T193-counts")
@pytest.mark.parametrize(("successes", "trials"), [(95, 100), (1, 1000), (99000, 10**5), (6, 12)])
def test_newton_finds_what_halving_finds(successes: int, trials: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """To 50 bits, both excluded; where Newton's steps leave the interval there is halving."""
    level, found = Fraction(1, 40), []
    for _ in range(2):
        found.append([bound.__wrapped__(successes, trials, level) for bound in (lower_bound_rate, bound_rate)])
        monkeypatch.setattr(binomial, "_guessed", lambda *_, **__: None)
    for quick, slow in zip(*found, strict=True):
        assert abs(quick - slow) <= slow / 2**49
    with ctx.workprec(160):
        low, high = found[0]
        assert enclose_tail(trials, successes, ball(low), ball(1 - low)) <= ball(level)
        assert enclose_tail(trials, trials - successes, ball(1 - high), ball(high)) <= ball(level)


@pytest.mark.theorem("T193-counts")
def test_rates_are_wrong_no_more_often_than_stated() -> None:
    """Exact coverage for all rates: of n = 12 trials, by the law of the counts."""
    n, level = 12, Fraction(1, 20)
    low, high = ([bound(k, n, level) for k in range(n + 1)] for bound in (lower_bound_rate, bound_rate))
    for p in (Fraction(i, 97) for i in range(1, 97)):
        mass = [comb(n, k) * p**k * (1 - p)**(n - k) for k in range(n + 1)]
        assert sum(m for m, x in zip(mass, low, strict=True) if x > p) <= level
        assert sum(m for m, x in zip(mass, high, strict=True) if x < p) <= level
    assert any(abs(sum(comb(n, k) * float(x)**k * float(1 - x)**(n - k) for k in range(at, n + 1)) - 0.05) < 1e-9
               for at, x in enumerate(low))


@pytest.mark.theorem("T193-counts")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("delta", ["0", "1e-5", "0.3"])
def test_epsilon_is_the_formula(case: tuple[int, int, int, int], delta: str) -> None:
    tp, p, fp, n = case
    low = stats.beta.ppf(0.005, tp, p - tp + 1) if tp else 0.0
    high = stats.beta.isf(0.005, fp + 1, n - fp) if fp < n else 1.0
    best = 0.0
    for most, least in ((low - float(delta), high), (1 - high - float(delta), 1 - low)):
        best = max(best, math.log(most / least)) if most > 0 else best
    found = counts(*case, delta=delta, confidence="0.99")
    assert found.epsilon_float == pytest.approx(best, abs=1e-9)
    if low > 0 and high < 1:
        assert float(found.mu or 0) == pytest.approx(max(0, stats.norm.ppf(low) - stats.norm.ppf(high)), abs=1e-9)


@pytest.mark.theorem("T193-counts")
def test_bonferroni_finds_the_best_of_all_thresholds() -> None:
    rng = np.random.default_rng(5)
    held_in, held_out = rng.normal(1.7, 1, 130).round(2), rng.normal(0, 1, 90).round(2)
    levels = Fraction(1, 40 * 130), Fraction(1, 40 * 90)
    best = 0.0
    for t in np.concatenate([held_in, held_out]):
        rates = Rates.of(int((held_in >= t).sum()), 130, int((held_out >= t).sum()), 90, levels)
        best = max(best, float(rates.lower_bound_epsilon(Fraction(1, 10**5))))
    found = scores(held_in, held_out, delta="1e-5")
    assert found.selection == "bonferroni" and found.epsilon_float == pytest.approx(best, rel=1e-12)
    stated = scores(held_in, held_out, delta="1e-5", threshold=float(str(found.data["threshold"])))
    assert stated.epsilon > found.epsilon  # a threshold that was stated beforehand costs nothing
    split = scores(held_in, held_out, delta="1e-5", selection="split")
    assert split.data["positives"] == 65 and split.epsilon_float > 0


def bounds(selection: str | None, truth: float, runs: int, n: int, seed: int) -> np.ndarray:
    """Of attacks on randomized response seen through normal noise."""
    rng, found = np.random.default_rng(seed), []
    q = 1 / (1 + math.exp(-truth))
    for _ in range(runs):
        held_in, held_out = ((rng.random(n) < share) + 0.05 * rng.normal(size=n) for share in (q, 1 - q))
        found.append(scores(held_in, held_out, delta=0, confidence="0.9", selection=selection,
                            threshold=None if selection else 0.5).epsilon_float)
    return np.array(found)


@pytest.mark.theorem("T193-counts")
@pytest.mark.parametrize("selection", [None, "bonferroni", "split"])
def test_coverage_of_few_attacks(selection: str | None) -> None:
    wrong = (bounds(selection, 1.0, 30, 150, 3) > 1).sum()
    assert stats.binomtest(int(wrong), 30, 0.1, "greater").pvalue > 1e-3


@pytest.mark.long
@pytest.mark.theorem("T193-counts")
@pytest.mark.parametrize("row", table("attack-rules.csv"), ids=lambda row: " ".join([*row.values()][:2]))
def test_coverage_of_200_attacks(row: dict[str, str]) -> None:
    """The table in the documents: how many are above the truth, and what a rule for the threshold costs in the mean."""
    truth, rule = float(row["true epsilon"]), row["threshold"]
    found = bounds(None if rule == "stated" else rule, truth, 200, 400, 11)
    assert (found > truth).sum() == int(row["attacks of 200 above the truth"])
    assert stats.binomtest(int((found > truth).sum()), 200, 0.1, "greater").pvalue > 1e-3
    assert found.mean() == pytest.approx(float(row["mean bound"]), abs=6e-4)


@pytest.mark.theorem("T193-counts")
@pytest.mark.parametrize("row", [row for row in table("attacks.csv") if row["method"] == "counts"],
                         ids=lambda row: row["input"])
def test_counts_are_those_of_the_table(row: dict[str, str]) -> None:
    found = counts(*map(int, row["input"].split()), delta="1e-5").epsilon_float
    assert found == pytest.approx(float(row["ours"]), rel=1e-14)
    assert found == pytest.approx(float(row["jax_privacy 2.0.0"]), rel=1e-9)


@pytest.mark.theorem("T193-counts")
def test_claims_and_curves_are_contradicted_where_the_attack_is_above() -> None:
    case = {"delta": "1e-5", "confidence": "0.999999"}
    assert counts(999, 1000, 1, 1000, claim=("3", "1e-5"), **case).verdict == "contradicted at confidence 0.999999"
    assert counts(999, 1000, 1, 1000, claim=Claim("", "", Fraction(8), Fraction(1, 10**5), "8", "1e-5"), **case).claim \
        == "consistent"
    profile = privacy_profile(Gaussian("1"), "add-or-remove")
    curve = Guarantee.of(profile)
    assert counts(999, 1000, 100, 1000, claim=curve, **case).claim == "contradicted"
    assert counts(500, 1000, 100, 1000, claim=profile, **case).claim == "consistent"
    # a curve says more than its one point: this attack is consistent with epsilon at 1e-5, not with the curve
    point = (profile.epsilon("1e-5").upper.as_fraction(), "1e-5")
    assert counts(800, 1000, 100, 1000, claim=point, **case).claim == "consistent"
    assert counts(800, 1000, 100, 1000, claim=curve, **case).claim == "contradicted"
    with pytest.raises(Unsupported, match="both orders"):
        Guarantee.of(privacy_profile(PoissonSampled(Gaussian("1"), "0.1"), "add"))


@pytest.mark.parametrize("change, key", [
    ({"true_positives": 11}, "true_positives"), ({"negatives": 0}, "negatives"), ({"positives": True}, "positives"),
    ({"confidence": "0.4"}, "confidence"), ({"confidence": 1}, "confidence"), ({"delta": 1}, "delta"),
    ({"claim": ("-1", "1e-5")}, "claim.epsilon")])
def test_wrong_counts_are_refused(change: dict[str, object], key: str) -> None:
    given: dict[str, object] = {"true_positives": 9, "positives": 10, "false_positives": 1, "negatives": 10,
                                "delta": "1e-5"}
    with pytest.raises(InvalidInput) as error:
        counts(**{**given, **change})  # type: ignore[arg-type]
    assert error.value.key == key


def test_wrong_scores_are_refused() -> None:
    for held_in, more, key in [([], {}, "held_in"), ([math.nan], {}, "held_in"),
                               ([1.0], {"selection": "best"}, "selection"),
                               ([1.0], {"threshold": 1.0, "selection": "split"}, "selection"),
                               ([1.0], {"selection": "split"}, "selection")]:
        with pytest.raises(InvalidInput) as error:
            scores(held_in, [0.0, 1.0], delta="1e-5", **more)  # type: ignore[arg-type]
        assert error.value.key == key


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = ["attack", "--delta", "1e-5", "--json"]
    case = ["--true-positives", "95", "--positives", "100", "--false-positives", "3", "--negatives", "100"]

    def row(*more: str, code: int = 0) -> dict[str, object]:
        assert main([*base, *more]) == code
        return json.loads(capsys.readouterr().out)

    found = row(*case, "--claim", "2,1e-5", code=1)
    assert found["claim"] == "contradicted" and found["epsilon"] == {"lower": "2.34329948762983"}
    assert row(*case)["claim"] is None
    lines = "\n".join(f"{n % 3},{n}" for n in range(60))
    (tmp_path / "in.csv").write_text(f"kind,score\n{lines}\n", encoding="utf-8")
    (tmp_path / "out.txt").write_text("\n".join(map(str, range(-50, 10))), encoding="utf-8")
    files = ["--held-in", str(tmp_path / "in.csv"), "--held-out", str(tmp_path / "out.txt")]
    assert row(*files, code=2)["key"] == "scores[1]"
    assert row(*files, "--column", "points", code=2)["key"] == "column"
    (tmp_path / "out.csv").write_text("score\n" + "\n".join(map(str, range(-50, 10))), encoding="utf-8")
    files[3] = str(tmp_path / "out.csv")
    assert row(*files, "--column", "score", "--threshold", "-3")["scores"] == {
        "true_positives": 60, "positives": 60, "false_positives": 13, "negatives": 60, "threshold": "-3.0"}
    assert row(*files, "--column", "score", "--threshold", "x", code=2)["key"] == "threshold"
    assert row(*case, "--one-run", code=2)["key"] == "arguments"
    assert row(*case[:6], code=2)["key"] == "negatives"
    assert row(*case, "--claim", "2", code=2)["key"] == "claim"


def test_page_has_all_three(tmp_path: Path) -> None:
    spec, page = tmp_path / "a.toml", tmp_path / "a.html"
    spec.write_text('relation = "replace"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\n[claim]\n'
                    'title = "<A>"\nepsilon = "2.1"\ndelta = "1e-5"\n', encoding="utf-8")
    case = ["--true-positives", "999", "--positives", "1000", "--false-positives", "1", "--negatives", "1000"]
    assert main(["attack", str(spec), *case, "--delta", "1e-5", "--html", str(page)]) == 1
    text = page.read_text(encoding="utf-8")
    assert "&lt;A&gt;" in text and "above the account" in text and "at most 2.1" in text
    assert all(f'class="{name}"' in text for name in ("claimed", "accounted", "attacked"))
