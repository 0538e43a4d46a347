"""The command line against its contract: objects, exit codes, one line for every wrong input."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verified_dp import Gaussian, __version__, privacy_profile, profile, terminal
from verified_dp.cli import commands, main
from verified_dp.cli.arguments import attached
from verified_dp.cli.interrupts import ignored
from verified_dp.cli.output import Output, for_each
from verified_dp.cli.text import number_words, slack
from verified_dp.core.kernel.certificate.check import Check
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.ends import Ratio
from verified_dp.core.kernel.errors import InconsistentEnclosures, InvalidInput, Undecided, Unsupported, VerifiedDPError
from verified_dp.core.kernel.exact import exact
from verified_dp.enclosure import Enclosure
from verified_dp.search.moment_engine import MomentEngine
from verified_dp.search.one_direction import Search
from verified_dp.search.planners.line import Line

ROOT = Path(__file__).resolve().parents[2]
PLAIN = 'relation = "{relation}"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\n'
CLAIM = '[claim]\ntitle = "{title}"\nsource = "a test"\nepsilon = "{epsilon}"\ndelta = "1e-5"\n'
TRUE = "1.993091404415"  # epsilon of PLAIN at delta = 1e-5 is 1.99309140441511963..., by bisection in mpmath
NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?|inf")
SAMPLED = """relation = "add-or-remove"
[[mechanism]]
kind = "gaussian"
noise_multiplier = 1.5
sampling = { scheme = "poisson", probability = "0.01" }
count = 1000
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked_here: None) -> Path:
    """An empty working directory with the files that the tests name."""
    monkeypatch.chdir(tmp_path)
    plain = PLAIN.format(relation="add-or-remove")
    texts = {
        "plain": plain,
        "sampled": SAMPLED,
        "true": plain + CLAIM.format(title="a true claim", epsilon="3"),
        "false": plain + CLAIM.format(title="a false claim", epsilon="1.5"),
        "short": plain + CLAIM.format(title="a rounded claim", epsilon="1.99"),
        "broken": plain.replace('"2"', '"-2"'),
        "swapped": SAMPLED.replace('"poisson"', '"fixed-size"'),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    return tmp_path


class Run:
    """What one call returned and wrote."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.code = main(arguments)
        self.out, self.err = capsys.readouterr()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The objects of standard output, after the rules that hold for all of them."""
        rows = [json.loads(line) for line in self.out.splitlines()]
        for row in rows:
            for key, value in row.items():
                assert key == "seconds" or not has_float(value), (key, value)
        return rows


def has_float(value: Any) -> bool:
    """Whether a float stands anywhere in the value."""
    if isinstance(value, dict | list):
        return any(map(has_float, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Call the command line in this process."""
    return lambda *arguments: Run(capsys, *arguments)


# delta and epsilon

RESULT_KEYS = ["schema", "quantity", "relation", "order", "status", "tight", "lower", "upper", "digits", "method",
               "methods", "error_budget", "convention", "seconds"]


def check_result(row: dict[str, Any], quantity: str, typed: str) -> None:
    """The object of delta and epsilon, as the contract has it."""
    given = {"delta": "epsilon", "epsilon": "delta"}[quantity]
    assert set(row) == {*RESULT_KEYS, given}
    assert (row["schema"], row["quantity"], row[given]) == ("verified-dp/result/1", quantity, typed)
    assert row["order"] in ("remove", "add", "both", "symmetric") and row["status"] in ("certified", "wide")
    for number in (row["lower"], row["upper"], *row["error_budget"].values()):
        assert NUMBER.fullmatch(number), number
    assert {"quadrature", "aliasing", "frequency_tail", "node_tail", "rounding"} <= set(row["error_budget"])
    assert float(row["lower"]) <= float(row["upper"]) and isinstance(row["seconds"], float)
    assert row["method"] in row["methods"] and type(row["digits"]) is int
    assert "noise_multiplier" in row["convention"]


@pytest.mark.parametrize("typed", ["1.0", "-1e-3", "-1/2", "1/3", "1e-500", "+2", "0", "-0.0"])
@pytest.mark.parametrize("form", [["--epsilon", "{}"], ["--epsilon={}"]])
def test_delta(run: Any, typed: str, form: list[str]) -> None:
    found = run("delta", "plain.toml", *(word.format(typed) for word in form), "--json")
    assert (found.code, found.err) == (0, "")
    (row,) = found.rows
    check_result(row, "delta", typed)
    assert row["status"] == "certified"
    assert float(row["lower"]) >= 0 and float(row["upper"]) <= 1


def test_delta_is_the_known_one(run: Any) -> None:
    (row,) = run("delta", "sampled.toml", "--epsilon", "1", "--json", "--digits", "20").rows
    assert (row["digits"], row["order"], row["relation"]) == (20, "remove", "add-or-remove")
    assert row["lower"][:10] == row["upper"][:10] == "2.70605611"
    assert float(row["upper"]) - float(row["lower"]) <= 1e-15 * float(row["upper"])
    assert len(row["lower"].partition("e")[0]) >= 24


def test_epsilon(run: Any) -> None:
    found = run("epsilon", "plain.toml", "--delta", "1e-5", "--json")
    (row,) = found.rows
    check_result(row, "epsilon", "1e-5")
    assert found.code == 0 and row["lower"][:12] == row["upper"][:12] == TRUE[:12]


def test_epsilon_exactly_zero(run: Any) -> None:
    (row,) = run("epsilon", "plain.toml", "--delta", "9/10", "--json").rows
    assert (row["lower"], row["upper"], row["status"], row["delta"]) == ("0", "0", "certified", "9/10")
    assert "epsilon = 0 at delta = 9/10, exactly\n" in run("epsilon", "plain.toml", "--delta", "9/10").out


def test_negative_numbers_stay_with_their_option(run: Any) -> None:
    assert attached(["delta", "--epsilon", "-1/2", "a"]) == ["delta", "--epsilon=-1/2", "a"]
    assert attached(["--epsilon", "--json", "-h", "--"]) == ["--epsilon", "--json", "-h", "--"]
    assert run("delta", "--epsilon", "-.5", "plain.toml").code == 0
    assert run("delta", "--epsilon", "-1e-3", "--digits", "3", "--json", "plain.toml").rows[0]["digits"] == 3


def test_several_specifications_in_their_order(run: Any) -> None:
    found = run("delta", "plain.toml", "nowhere.toml", "sampled.toml", "--epsilon", "1", "--json")
    assert [row["schema"] for row in found.rows] == [f"verified-dp/{name}/1" for name in ("result", "error", "result")]
    assert found.code == 2 and len(found.err.splitlines()) == 1
    text = run("delta", "plain.toml", "sampled.toml", "--epsilon", "1").out
    assert text.index("plain.toml:") < text.index("sampled.toml:")


def test_a_claim_may_stand_in_a_specification(run: Any) -> None:
    assert run("delta", "true.toml", "--epsilon", "1").code == 0


def test_wide_is_an_answer_that_says_so(run: Any, folder: Path) -> None:
    text = SAMPLED.replace("1.5", "0.5").replace("1000", "5")
    (folder / "hard.toml").write_text(text, encoding="utf-8")
    arguments = ("delta", "hard.toml", "--epsilon", "2", "--digits", "30", "--max-seconds", "1e-6")
    found = run(*arguments, "--json")
    (row,) = found.rows
    check_result(row, "delta", "2")
    assert (found.code, row["status"]) == (0, "wide")
    shown = run(*arguments)
    assert shown.code == 0 and shown.out.startswith("delta <= ") and "30 digits asked for" in shown.out


def test_text_of_an_answer(run: Any) -> None:
    asked = ("delta", "sampled.toml", "--epsilon", "1")
    first, assumed = run(*asked).out.splitlines()
    assert first == "delta = 2.7061e-6 at epsilon = 1, proved"
    assert "one record added or removed; Poisson sampling" in assumed and assumed.endswith(" (all: -v)")
    assert run(*asked, "--digits", "8").out.startswith(
        "delta = 2.7060562e-6 at epsilon = 1, proved\n  between     2.7060561")
    again, *rest = run(*asked, "-v").out.splitlines()
    shown = "\n".join(rest)
    for words in ("between", "add-or-remove (order remove)", "contour", "aliasing", "noise_multiplier", "arithmetic:"):
        assert words in shown
    assert again == first and "\x1b" not in shown and max(map(len, rest)) <= 100


def test_text_across_a_power_of_ten(run: Any) -> None:
    assert run("delta", "plain.toml", "--epsilon", "-50").out.startswith("delta = 1.0000 at epsilon = -50, proved\n")


@pytest.mark.parametrize(("low", "high", "facts", "shown"), [
    ("2.38168", "2.38169", {}, ("epsilon = 2.3817", "")),
    ("2.38161", "2.38171", {}, ("epsilon <= 2.3818", "at least 2.3816")),
    ("2.38165", "2.38175", {}, ("epsilon <= 2.3818", "at least 2.3816")),
    ("0.99999", "1.00001", {}, ("epsilon <= 1.0001", "at least 0.99999")),
    ("0.999993", "0.999996", {}, ("epsilon = 1.0000", "")),
    ("0.25", "0.25", {}, ("epsilon = 0.25", "")),
    ("2.38168", "2.38169", {"tight": False}, ("epsilon <= 2.3817", "")),
    ("1", "9", {"tight": False, "method": "attack"}, ("epsilon <= 9.0000", "at least 1.0000")),
    ("0", "9", {}, ("epsilon <= 9.0000", "")),
    ("3", "inf", {}, ("no finite epsilon is proved", "at least 3.0000")),
    ("inf", "inf", {}, ("epsilon = inf", "")),
    ("2.3456e-301", "2.34565e-301", {}, ("epsilon = 2.3457e-301", "")),
])
def test_five_digits_on_the_safe_side(low: str, high: str, facts: dict[str, Any], shown: tuple[str, str]) -> None:
    lower, upper = (Dyadic.infinity() if end == "inf" else Ratio(exact(end)) for end in (low, high))
    found = Enclosure(lower, upper, **{"quantity": "epsilon", "method": "contour", "order": "both",
                                       "relation": "add-or-remove", **facts})
    assert number_words(found) == shown


def test_hardly_any_noise_is_told_without_contradictions(run: Any, folder: Path) -> None:
    """Neither "no finite epsilon is proved, proved" nor a refuted claim beside an epsilon of at least 0."""
    text = PLAIN.format(relation="add-or-remove").replace('"2"', '"1e-300"')
    (folder / "bare.toml").write_text(text + CLAIM.format(title="", epsilon="1"), encoding="utf-8")
    asked, judged = run("epsilon", "bare.toml", "--delta", "1e-5"), run("certify", "bare.toml")
    assert asked.out.startswith("no finite epsilon is proved at delta = 1e-5; at least 0\n  wide")
    assert judged.code == 1 and "above the claimed one at delta" in judged.out and "at least 0 " not in judged.out


@pytest.mark.parametrize(
    ("claimed", "shown"),
    [("3", "1.00"), ("1.993091404416", "8.80e-13"), ("1.99309140441", "-5.11e-12"), ("1e9", "9.99e8"), ("0", "-1.99"),
     ("5000", "4.99e3")],
)
def test_slack_is_rounded_towards_zero(claimed: str, shown: str) -> None:
    delta = privacy_profile(Gaussian("2"), "add-or-remove").epsilon("1e-5", digits=30)
    assert slack(exact(claimed), delta) == shown


# certify

VERDICT_KEYS = {"schema", "file", "title", "verdict", "short_by_rounding", "claimed", "epsilon", "delta", "relation",
                "order", "certificate"}


@pytest.mark.parametrize(
    ("name", "code", "verdict", "short"),
    [("true", 0, "proved", False), ("false", 1, "refuted", False), ("short", 1, "refuted", True)],
)
def test_certify(run: Any, name: str, code: int, verdict: str, short: bool) -> None:
    found = run("certify", f"{name}.toml", "--json")
    (row,) = found.rows
    assert (found.code, found.err, set(row)) == (code, "", VERDICT_KEYS | {"excess"} if code else VERDICT_KEYS)
    assert (row["schema"], row["file"]) == ("verified-dp/verdict/1", f"{name}.toml")
    assert (row["verdict"], row["short_by_rounding"], row["certificate"]) == (verdict, short, None)
    assert row["claimed"]["delta"] == "1e-5" and row["claimed"]["epsilon"] in ("3", "1.5", "1.99")
    for ends in (row["epsilon"], row["delta"]):
        assert set(ends) == {"lower", "upper"} and all(NUMBER.fullmatch(end) for end in ends.values())
    assert (float(row["delta"]["upper"]) <= 1e-5) == (verdict == "proved")


def test_undecided(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = commands.certify
    monkeypatch.setattr(commands, "certify", lambda *given: replace(judge(*given), verdict="undecided"))
    assert run("certify", "true.toml", "--json").code == 3
    shown = run("certify", "true.toml")
    assert shown.code == 3 and shown.out.startswith("undecided: a true claim\n")
    assert "the claim lies within the bounds" in shown.out and "more --" not in shown.out


def test_text_of_a_verdict(run: Any) -> None:
    lines = run("certify", "true.toml", "--out", "c").out.splitlines()
    assert lines[0] == "proved: a true claim"
    assert lines[1] == "  epsilon     1.9931 at delta = 1e-5, claimed 3: slack 1.00"
    assert lines[2].endswith("one record added or removed (all: -v)")
    assert lines[3].split() == ["certificate", str(Path("c", "true.json"))] and len(lines) == 4
    shown = run("certify", "true.toml", "-v").out
    true = re.escape(TRUE[:13]) + r"\d*\[\d, \d\]"
    assert re.search(f"  epsilon     claimed 3, true epsilon {true} at delta = 1e-5: proved with slack 1.00", shown)
    assert "  assuming    - neighbours and noise:" in shown


def test_text_of_a_refutation(run: Any) -> None:
    shown = " ".join(run("certify", "short.toml").out.split())
    assert shown.startswith("refuted: a rounded claim epsilon at least 1.9930 at delta = 1e-5, claimed 1.99: epsilon "
                            "short by 0.00309")
    assert "short by rounding" in shown and "epsilon = 2.00 would be proved" in shown
    assert "epsilon = 2.0 would be proved" in " ".join(run("certify", "false.toml").out.split())


def test_table_of_several_claims(run: Any) -> None:
    found = run("certify", "true.toml", "broken.toml", "short.toml")
    head, proved, refuted, _, counts, *conventions = found.out.splitlines()
    assert head.split() == ["verdict", "claimed", "eps", "delta", "epsilon", "slack",
                            "file:", "claim", "->", "certificate"]
    assert proved.split() == ["proved", "3", "1e-5", "1.9931", "1.00", "true.toml:", "a", "true", "claim"]
    assert refuted.split()[:5] == ["refuted", "1.99", "1e-5", "1.9931", "-0.00309"]
    assert refuted.endswith("a rounded claim [short by rounding]")
    assert counts == "1 not judged, 1 proved, 1 refuted"
    assert "noise_multiplier" in conventions[0] and found.code == 2
    assert found.err.startswith("broken.toml: mechanism[1].noise_multiplier must be ")


def test_certificates_are_written_and_verify(run: Any, folder: Path) -> None:
    (row,) = run("certify", "true.toml", "--out", "new/folder", "--json").rows
    assert row["certificate"] == str(Path("new/folder/true.json"))
    found = run("verify", row["certificate"], "--json")
    (check,) = found.rows
    assert (found.code, found.err) == (0, "")
    assert set(check) == {"schema", "file", "valid", "verdict", "field", "reason"}
    assert (check["schema"], check["file"]) == ("verified-dp/check/1", row["certificate"])
    assert (check["valid"], check["verdict"], check["field"]) == (True, "proved", None)
    shown = run("verify", row["certificate"])
    assert shown.code == 0 and shown.out.startswith(f"valid: {row['certificate']}: proved")


def test_a_refutation_has_a_valid_certificate(run: Any) -> None:
    assert run("certify", "short.toml", "--out", ".").code == 1
    (check,) = run("verify", "short.json", "--json").rows
    assert (check["valid"], check["verdict"]) == (True, "refuted")


def test_files_of_one_name_get_a_certificate_each(run: Any, folder: Path) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "same.toml").write_bytes((folder / "true.toml").read_bytes())
    rows = run("certify", "a/same.toml", "nowhere.toml", "b/same.toml", "--out", "c", "--json").rows
    assert [row.get("certificate") for row in rows] == [str(Path("c/same.json")), None, str(Path("c/same-2.json"))]
    paths = commands.certificate_paths(["x/n.toml", "y/n.toml", "n-2.toml"], "c")
    assert [Path(str(path)).name for path in paths] == ["n.json", "n-2.json", "n-2-2.json"]


@pytest.mark.parametrize("text", ["", "not JSON", "[]", "{}", "\x00", '{"schema": "verified-dp/certificate/1"}'])
def test_what_is_no_certificate_is_invalid(run: Any, folder: Path, text: str) -> None:
    (folder / "c.json").write_text(text, encoding="utf-8")
    found = run("verify", "c.json", "--json")
    (check,) = found.rows
    assert (found.code, check["valid"], check["verdict"]) == (1, False, None) and check["reason"]
    assert run("verify", "c.json").out.startswith("invalid: c.json: ")


def test_an_altered_certificate_is_invalid(run: Any, folder: Path) -> None:
    run("certify", "true.toml", "--out", ".")
    text = (folder / "true.json").read_text(encoding="utf-8")
    (folder / "true.json").write_text(text.replace('"epsilon":"3"', '"epsilon":"1"'), encoding="utf-8")
    (check,) = run("verify", "true.json", "--json").rows
    assert not check["valid"] and check["field"].startswith("claim")


def test_independent_says_what_it_confirmed(run: Any) -> None:
    run("certify", "true.toml", "--out", ".")
    (check,) = run("verify", "--independent", "true.json", "--json").rows
    assert (check["valid"], check["verdict"]) == (True, "proved") and "confirmed" in check["reason"]


def test_independent_runs_after_the_first_check(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run("certify", "true.toml", "--out", ".")
    seen: list[bytes] = []
    differs = Check(False, None, "result", "differs")
    monkeypatch.setattr(commands, "_check_independently", lambda data: seen.append(data) or differs)
    assert run("verify", "true.json").code == 0 and not seen
    assert run("verify", "--independent", "true.json").code == 1 and len(seen) == 1


# exit codes


@pytest.mark.parametrize(
    ("files", "code"),
    [("true", 0), ("true true", 0), ("true false", 1), ("true swapped", 3), ("false swapped", 1), ("swapped", 3),
     ("false broken swapped true", 2), ("plain true", 2)],
)
def test_exit_code_of_several(run: Any, files: str, code: int) -> None:
    found = run("certify", *(f"{name}.toml" for name in files.split()), "--json")
    assert (found.code, len(found.rows)) == (code, len(files.split()))


def test_exit_code_of_several_certificates(run: Any, folder: Path) -> None:
    run("certify", "true.toml", "--out", ".")
    (folder / "bad.json").write_text("{", encoding="utf-8")
    assert run("verify", "true.json", "bad.json").code == 1
    assert run("verify", "bad.json", "nowhere.json", "true.json").code == 2


def test_unsupported(run: Any) -> None:
    found = run("delta", "swapped.toml", "--epsilon", "1", "--json")
    (row,) = found.rows
    assert (found.code, row["status"], row["key"]) == (3, "unsupported", "mechanism[1].sampling.scheme")
    assert run("delta", "plain.toml", "--epsilon", "1", "--method", "closed-form").code == 0
    assert run("delta", "sampled.toml", "--epsilon", "1", "--method", "closed-form").code == 3
    found = run("certify", "true.toml", "--method", "renyi", "--json")
    assert (found.code, found.rows[0]["status"], found.rows[0]["key"]) == (3, "unsupported", "method")


def test_the_papers_methods(run: Any) -> None:
    (row,) = run("delta", "sampled.toml", "--epsilon", "1", "--method", "saddlepoint", "--json").rows
    assert 0 < float(row["lower"]) < float(row["upper"]) < 1.05 * float(row["lower"])
    assert NUMBER.fullmatch(row["estimate"]) and set(row["estimates"]) >= {"MSD0", "MSD1"} and row["reason"]
    asked = "delta", "sampled.toml", "--epsilon", "1"
    for method, form, forms in (("fourier", "published", "one of proved, estimate"),
                                ("edgeworth", "printed", "one of proved, published")):
        wrong = run(*asked, "--method", method, "--set", f"form={form}")
        assert wrong.code == 2 and f"{method}.form must be {forms}" in wrong.err
    found = run("delta", "sampled.toml", "--epsilon", "1", "--method", "renyi", "--set", "conversion=mironov")
    assert found.code == 0 and "conversion=mironov" in found.out
    assert run("delta", "sampled.toml", "--epsilon", "1", "--set", "n=8").code == 2


@pytest.mark.long
def test_texts_and_forms_of_the_papers_methods(run: Any) -> None:
    (row,) = run("epsilon", "sampled.toml", "--delta", "1e-3", "--method", "berry-esseen", "--json").rows
    assert "rests_on" not in row["parameters"]
    (cited,) = run("epsilon", "sampled.toml", "--delta", "1e-3", "--method", "berry-esseen", "--set", "form=cited",
                   "--json").rows
    assert cited["parameters"]["rests_on"].startswith("a citation")
    assert row["method"] == "berry-esseen" and float(row["lower"]) < float(row["upper"]) and row["parameters"]
    for order in ((), ("--set", "order=2")):
        (row,) = run("epsilon", "sampled.toml", "--delta", "1e-3", "--method", "edgeworth", *order, "--json").rows
        assert float(row["lower"]) < float(row["estimate"]) < float(row["upper"]) and row["parameters"]["order"] == "2"
    found = run("delta", "sampled.toml", "--epsilon", "1", "--method", "saddlepoint", "--set", "order=2")
    assert found.code == 0 and re.match(r"delta <= \S+ at epsilon = 1, enclosed by saddlepoint; at least ", found.out)
    assert "\nestimate: delta is about" in found.out
    narrow = "delta", "sampled.toml", "--epsilon", "1", "--method", "saddlepoint", "--digits", "1"
    found = run(*narrow)
    assert found.code == 0 and re.match(r"delta = 3e-6 at epsilon = 1, enclosed by saddlepoint", found.out)
    assert ", proved" not in found.out
    assert run(*narrow, "--json").rows[0]["status"] == "certified"  # the contract's word: close enough
    assert "proved" in run(*narrow[:4]).out.splitlines()[0]


def test_compare(run: Any) -> None:
    rows = run("compare", "sampled.toml", "--epsilon", "1", "--methods", "auto,berry-esseen,saddlepoint", "--json").rows
    assert rows[0]["method"] == "auto" and {row["status"] for row in rows} >= {"certified", "estimate"}
    assert all(row["outside"] is True for row in rows if row["method"] == "saddlepoint MSD0")
    found = run("compare", "sampled.toml", "--delta", "1e-3", "--methods", "auto,closed-form")
    assert found.code == 0 and "do not apply:" in found.out and "closed-form" in found.out
    for wrong in (["--methods", "fast"], ["--set", "n=5"], ["--set", "fourier.q=5"], ["--set", "fourier.n=x"]):
        assert run("compare", "sampled.toml", "--epsilon", "1", *wrong).code == 2


@pytest.mark.parametrize(("arguments", "words"), [
    ("dpsgd --noise 1 --sampling poisson", "--noise: write --noise-multiplier"),
    ("dpsgd --noise-multiplyer=1", "--noise-multiplyer: write --noise-multiplier"),
    ("dpsgd --noise-multiplier 1 --sample-rate 0.1", "--sample-rate: write --sampling-probability"),
    ("dpsgd --num-epochs 3", "--num-epochs: write --epochs"), ("epsilon plain.toml --target-delta 1", "write --delta"),
    ("delta plain.toml --eps 1", "--eps: write --epsilon"), ("delta plain.toml --zzz 1", "option --zzz (see"),
    ("certify plain.toml --delta 1e-5", "--delta: write a [claim] table with epsilon and delta into the file")])
def test_an_option_of_another_name_says_which_one_was_meant(run: Any, arguments: str, words: str) -> None:
    found = run(*arguments.split())
    assert found.code == 2 and words in found.err and len(found.err.splitlines()) == 1


def test_a_missing_package_is_wrong_set_up_and_the_verdict_is_told(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    found = run("certify", "true.toml", "--html", "page.html")
    assert found.code == 2 and found.out.startswith("proved: a true claim") and not Path("page.html").exists()
    command = f"{shlex.quote(sys.executable)} -m pip install jinja2"
    assert found.err == f"verified-dp: no page is written: jinja2 is not installed: run {command}\n"


def test_the_first_list_of_commands_is_short(run: Any) -> None:
    shown = run("--help").out
    listed = re.findall(r"^    (\w+)", shown, re.MULTILINE)
    assert "certify" in listed and not {"ledger", "completion"} & set(listed)
    assert run("ledger", "--help").code == run("completion", "--help").code == 0


# wrong input: arguments, and the line on standard error

RATIONAL = "a rational number such as 0.1, 256/60000 or 1e-500"
SEE = "(see verified-dp {} --help)"
WRONG_ARGUMENTS = [
    ("delta plain.toml --epsilon x", "epsilon", f"verified-dp: epsilon must be {RATIONAL}, got 'x'"),
    ("delta plain.toml --epsilon -x", "epsilon", f"verified-dp: epsilon must be {RATIONAL}, got '-x'"),
    ("delta plain.toml --epsilon nan", "epsilon", f"verified-dp: epsilon must be {RATIONAL}, got 'nan'"),
    ("delta plain.toml --epsilon -inf", "epsilon", f"verified-dp: epsilon must be {RATIONAL}, got '-inf'"),
    ("delta plain.toml --epsilon 1/0", "epsilon", f"verified-dp: epsilon must be {RATIONAL}, got '1/0'"),
    ("delta plain.toml --epsilon=", "epsilon", f"verified-dp: epsilon must be {RATIONAL}, got ''"),
    ("delta plain.toml --epsilon 1e100001", "epsilon", "verified-dp: epsilon must be a number with a decimal exponent"
     " within +-100000, got '1e100001'"),
    ("epsilon plain.toml --delta -1e-5", "delta", "verified-dp: delta must be a rational number in [0, 1], got "
     "'-1e-5'"),
    ("delta plain.toml --epsilon 1 --digits 0", "digits", "verified-dp: digits must be an integer from 1 to 1000, "
     "got 0"),
    ("delta plain.toml --epsilon 1 --digits 0 --method prv", "digits", "verified-dp: digits must be an integer from 1 "
     "to 1000, got 0"),
    ("compare plain.toml --epsilon 1 --digits True", "digits", "verified-dp: digits must be an integer from 1 to 1000, "
     "got 'True'"),
    ("epsilon plain.toml --delta 1e-5 --digits ١٢", "digits", "verified-dp: digits must be an integer from 1 to 1000, "
     "got '١٢'"),
    ("delta plain.toml --epsilon 1 --digits -5", "digits", "verified-dp: digits must be an integer from 1 to 1000, "
     "got '-5'"),
    ("delta plain.toml --epsilon 1 --digits 1.5", "digits", "verified-dp: digits must be an integer from 1 to 1000, "
     "got '1.5'"),
    ("certify true.toml --digits 99999999999", "digits", "verified-dp: digits must be an integer from 1 to 1000, got "
     "'99999999999'"),
    ("certify true.toml --method magic", "method", "verified-dp: method must be one of auto, closed-form, contour, "
     "lattice, berry-esseen, buckets, edgeworth, fourier, prv, renyi, saddlepoint, got 'magic'"),
    ("certify true.toml --max-seconds 0", "max-seconds", "verified-dp: max-seconds must be a positive rational "
     "number, got '0'"),
    ("certify true.toml --out plain.toml", "out", "verified-dp: out must be a directory that can be written (File "
     "exists), got 'plain.toml'"),
    ("delta plain.toml", "epsilon", "verified-dp: the following arguments are required: --epsilon "
     + SEE.format("delta")),
    ("epsilon plain.toml --delta", "delta", "verified-dp: argument --delta: expected one argument "
     + SEE.format("epsilon")),
    ("delta plain.toml --eps 1 --epsilon 1", "eps", "verified-dp: unrecognized option --eps: write --epsilon "
     + SEE.format("delta")),
    ("certify", "arguments", "verified-dp: the following arguments are required: CLAIM " + SEE.format("certify")),
]
WRONG_FILES = [
    ("delta nowhere.toml --epsilon 1", "file", "nowhere.toml: file must be a file that can be read (No such file or "
     "directory), got 'nowhere.toml'"),
    ("delta broken.toml --epsilon 1", "mechanism[1].noise_multiplier", "broken.toml: mechanism[1].noise_multiplier "
     "must be a positive rational number, got '-2'"),
    ("certify plain.toml", "claim", "plain.toml: claim must be a [claim] table with epsilon and delta, got nothing"),
    ("verify nowhere.json", "file", "nowhere.json: file must be a certificate that can be read (No such file or "
     "directory), got 'nowhere.json'"),
    ("verify .", "file", ".: file must be a certificate, or a folder that holds some, got '.'"),
]


@pytest.mark.parametrize(("call", "key", "line"), WRONG_ARGUMENTS + WRONG_FILES, ids=lambda value: str(value)[:60])
def test_wrong_input_is_one_line(run: Any, call: str, key: str, line: str) -> None:
    found = run(*call.split())
    assert (found.code, found.out, found.err) == (2, "", line + "\n")
    found = run(*call.split(), "--json")
    (row,) = found.rows
    assert found.code == 2 and (found.err == line + "\n" or "expected one" in line)
    assert set(row) == {"schema", "status", "file", "key", "message"}
    assert (row["schema"], row["status"], row["key"]) == ("verified-dp/error/1", "error", key)
    assert line == f"{row['file'] or 'verified-dp'}: {row['message']}"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"2"', "0", "noise_multiplier must be positive: 0 would mean no noise, hence no finite guarantee, got 0"),
        ('"2"', "nan", "noise_multiplier must be a positive rational number, got nan"),
        ('"2"', "true", "noise_multiplier must be a positive rational number, got True"),
        ("noise_multiplier", "noise_multiply", "noise_multiply must be a known key (did you mean noise_mul"),
        ('"2"', '"2"\ncount = 1.5', "count must be an integer from 1 to 10^12, got 1.5"),
        ('"2"', '"2"\ncount = 0', "count must be an integer from 1 to 10^12, got 0"),
    ],
)
def test_a_wrong_specification_is_one_line(run: Any, folder: Path, old: str, new: str, line: str) -> None:
    text = PLAIN.format(relation="add").replace(old, new)
    (folder / "wrong.toml").write_text(text, encoding="utf-8")
    found = run("delta", "wrong.toml", "--epsilon", "1")
    assert found.code == 2 and found.out == "" and found.err.count("\n") == 1
    assert found.err.startswith(f"wrong.toml: mechanism[1].{line}")


def test_an_unknown_command(run: Any) -> None:
    for arguments in ([], ["prove"], ["--json"], ["prove", "--json"]):
        found = run(*arguments)
        assert found.code == 2 and found.err.count("\n") == 1
        assert found.out.count("\n") == ("--json" in arguments)


def test_a_certificate_that_cannot_be_written(run: Any, folder: Path) -> None:
    (folder / "c" / "true.json").mkdir(parents=True)
    found = run("certify", "true.toml", "--out", "c")
    assert found.code == 2 and found.err.startswith("true.toml: out must be a file that can be written (Is a dir")


# robustness


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [(InvalidInput("a", 1, "2"), 2, "error"), (Unsupported("a"), 3, "unsupported"), (Undecided("a"), 3, "error"),
     (InconsistentEnclosures("a"), 3, "error"), (VerifiedDPError("a"), 3, "error"), (OverflowError("a"), 3, "error"),
     (MemoryError(), 3, "error"), (RuntimeError("a\nb"), 3, "error")],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_no_error_looks_like_a_refutation(
    capsys: pytest.CaptureFixture[str], error: Exception, code: int, status: str
) -> None:
    def work(file: str) -> int:
        raise error

    assert for_each(["f"], work, Output(as_json=True)) == code
    out, err = capsys.readouterr()
    row = json.loads(out)
    assert (row["status"], row["file"], err.count("\n")) == (status, "f", 1)


def test_an_error_outside_of_any_file(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "for_each", lambda *_: 1 // 0)
    found = run("delta", "plain.toml", "--epsilon", "1")
    assert found.code == 3 and "ZeroDivisionError" in found.err and found.err.count("\n") == 1


def test_interrupted(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(profile.PrivacyProfile, "delta", solve)
    found = run("delta", "plain.toml", "--epsilon", "1", "--json")
    assert (found.code, found.out, found.err) == (130, "", "verified-dp: interrupted\n")


@pytest.mark.parametrize("command", [["delta", "--epsilon", "1"], ["epsilon", "--delta", "1e-5"]])
def test_the_first_interrupt_prints_what_is_proved(
    run: Any, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """Pressed once in the middle of the search: bounds, no further file, 130; the next call is not affected."""
    inner, pressed = Line.plan, list[bool]()

    def plan(self: Any, *rest: Any) -> Any:
        if not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
        return inner(self, *rest)

    monkeypatch.setattr(Line, "plan", plan)
    name, *options = command
    found = run(name, "sampled.toml", "plain.toml", *options, "--json")
    (row,) = found.rows
    assert (found.code, row["status"], pressed) == (130, "wide", [True])
    again = run(name, "sampled.toml", *options, "--json")
    assert again.code == 0 and again.rows[0]["status"] == "certified"
    low, high = (exact(row[end]) for end in ("lower", "upper"))
    assert low <= exact(again.rows[0]["lower"]) <= exact(again.rows[0]["upper"]) <= high


@pytest.mark.parametrize("options", [["--json"], []])
def test_an_interrupted_comparison_keeps_its_rows(
    run: Any, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    """Pressed in the second method: two rows, no third, 130."""
    inner = MomentEngine.witness

    def interrupted(self: Any, *rest: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        monkeypatch.setattr(MomentEngine, "witness", inner)
        return inner(self, *rest)

    monkeypatch.setattr(MomentEngine, "witness", interrupted)
    methods = "auto,renyi,berry-esseen"
    found = run("compare", "sampled.toml", "plain.toml", "--epsilon", "1", "--methods", methods, *options)
    assert found.code == 130
    if options:
        assert [row["method"] for row in found.rows] == ["auto", "renyi"]
    else:
        lines = found.out.splitlines()
        assert [line.split()[0] for line in lines[1:4]] == ["method", "auto", "renyi"]
        assert "not run in time: berry-esseen (" in found.out
        assert any(line.startswith("delta = ") for line in lines[-4:])


@pytest.mark.parametrize("options", [["--json"], []])
def test_an_interrupt_before_anything_is_proved_is_one_line(
    run: Any, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    """Pressed while the first method, which proves nothing here, is at work."""
    def refuse(*_: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        raise Unsupported("not here")

    monkeypatch.setattr(profile.PrivacyProfile, "delta", refuse)
    found = run("compare", "sampled.toml", "plain.toml", "--epsilon", "1", *options)
    assert (found.code, found.out, found.err) == (130, "", "verified-dp: interrupted\n")


@pytest.mark.parametrize("command", [
    ["certify", "true.toml"], ["curve", "plain.toml", "--epsilon", "0:2:3"], ["tradeoff", "plain.toml", "--fpr", "1/9"],
    ["calibrate", "plain.toml", "--solve", "count", "--epsilon", "9", "--delta", "1e-5"],
    ["certify", "true.toml", "--html", "page.html"], [
        "dpsgd", "--noise-multiplier", "1", "--sampling-probability", "1/100", "--steps", "10", "--delta", "1e-5",
        "--sampling", "poisson"]])
def test_an_interrupt_anywhere_is_one_line(run: Any, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "run", interrupt)
    found = run(*command)
    assert (found.code, found.out, found.err) == (130, "", "verified-dp: interrupted\n")


def test_an_interrupt_while_the_program_is_loaded_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from verified_dp.__main__ import main as start

    def load(name: str, *rest: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.__import__", load)
    code = start()
    monkeypatch.undo()
    assert (code, capsys.readouterr()) == (130, ("", "verified-dp: interrupted\n"))


def test_processes_are_started_deaf_to_interrupts() -> None:
    """One that is still being loaded would show a traceback."""
    before = signal.getsignal(signal.SIGINT)
    with ignored():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) is before


def test_the_second_interrupt_stops_the_program(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def plan(*_: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Line, "plan", plan)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        found = run("delta", "sampled.toml", "--epsilon", "1", "--json")
        assert (found.code, found.out) == (130, "")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_title_cannot_steer_the_terminal(run: Any, folder: Path) -> None:
    text = (folder / "true.toml").read_text(encoding="utf-8")
    (folder / "evil.toml").write_text(text.replace("a true", "\\u001b[2J\\n Jälkö"), encoding="utf-8")
    assert run("certify", "evil.toml").out.startswith("proved: \\x1b[2J\\n Jälkö claim\n")
    assert run("certify", "evil.toml", "--json").rows[0]["title"] == "\x1b[2J\n Jälkö claim"


def test_colour_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminal.paint("proved", "proved") == "proved"
    monkeypatch.setattr(terminal, "is_terminal", lambda stream: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal.paint("proved", "proved") == "\x1b[32mproved\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.paint("proved", "proved") == "proved"


class Rings:
    """Stands for an event that is set after so many waits, however long these are; it keeps their lengths."""

    def __init__(self, count: int) -> None:
        self.left, self.waits = count, list[float]()

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize(("count", "waits", "shown"), [
    (3, [2, 1, 1, 1], "(\\r\\x1b\\[Kclaim.toml: contour: about 3 s \\(\\d+ s so far\\)){3}\\r\\x1b\\[K"), (0, [2], "")])
def test_progress(capsys: pytest.CaptureFixture[str], count: int, waits: list[float], shown: str) -> None:
    progress = terminal.Progress("claim.toml")
    progress("contour: about 3 s")
    progress._done = rings = Rings(count)  # type: ignore[assignment]
    progress._show()
    assert rings.waits == waits
    assert re.fullmatch(shown, capsys.readouterr().err)


def test_progress_inside_of_progress_takes_its_line_over(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.Progress("outer") as outer, terminal.Progress("inner", 60.0) as inner:
        inner("contour")
        done, outer._done = outer._done, Rings(1)  # type: ignore[assignment]
        outer._show()
        outer._done = done
    assert "inner: contour (0 s of 60 s, 0%)" in capsys.readouterr().err and terminal.Progress._entered == []


def test_progress_cannot_steer_the_terminal() -> None:
    assert terminal.Progress("a\x1b[2J\n.toml").line(3) == r"a\x1b[2J\n.toml: working (3 s so far)"


def test_progress_says_how_much_of_a_stated_time_is_over() -> None:
    assert terminal.Progress("claim.toml", 60.0).line(15) == "claim.toml: working (15 s of 60 s, 25%)"


# the program itself


def program(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line as a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "verified_dp", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, **options)


def test_version_and_help() -> None:
    done = program("--version")
    assert (done.returncode, done.stdout) == (0, f"verified-dp {__version__}\n")
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["delta", "epsilon", "certify", "verify"])
def test_help_has_examples(run: Any, command: str) -> None:
    shown = run(command, "--help")
    assert shown.code == 0 and f"verified-dp {command} " in shown.out.partition("examples:")[2]
    assert "exit codes:" in shown.out and command in run("--help").out


def test_a_process_whose_terminal_knows_ascii_only(folder: Path) -> None:
    text = (folder / "true.toml").read_text(encoding="utf-8")
    (folder / "unicode.toml").write_text(text.replace("a true", "Jälkö's"), encoding="utf-8")
    done = program("certify", "unicode.toml")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("proved: J\\xe4lk\\xf6's claim")


def test_a_closed_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "verified_dp", "delta", "plain.toml", "--epsilon", "1", "--json"]
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, timeout=60,
                              env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize(("place", "reason"), [(">/dev/full", "[Errno 28] No space left on device"),
                                               (">&-", "standard output is closed")])
@pytest.mark.parametrize("command", ["delta plain.toml --epsilon 1", "certify true.toml --json"])
def test_results_that_cannot_be_written_are_not_a_refutation(command: str, place: str, reason: str) -> None:
    """A traceback would exit with 1, which says "refuted"."""
    shell = f'"{sys.executable}" -m verified_dp {command} {place}'
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr) == (3, f"verified-dp: cannot write the results: {reason}\n")


def test_nobody_listens_to_errors() -> None:
    shell = f'"{sys.executable}" -m verified_dp delta broken.toml plain.toml --epsilon 1 --json 2>&-'
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 2 and len(done.stdout.splitlines()) == 2


def test_a_process_imports_nothing_for_help() -> None:
    code = "import sys; from verified_dp.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert not {"numpy", "flint", "verified_dp.profile"} & set(done.stderr.split())


def test_judged_has_a_name_without_a_title(run: Any, folder: Path) -> None:
    text = (folder / "true.toml").read_text(encoding="utf-8").replace("a true claim", "")
    (folder / "untitled.toml").write_text(text, encoding="utf-8")
    assert run("certify", "untitled.toml").out.startswith("proved: untitled.toml\n")
