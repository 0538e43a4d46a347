"""`certify --html`: what stands on a page is what the certificate says, and nothing is left to fetch."""

from __future__ import annotations

import base64
import html
import json
import math
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from verified_dp import Gaussian, PrivacyProfile, certify, privacy_profile
from verified_dp.cli import main
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.report import pages as pages_module
from verified_dp.report import peers, plots
from verified_dp.report.curves import Point, delta_curve, rising, shortened, step_curve, tradeoff_curve
from verified_dp.report.facts import Judged, read_certificate, rounded
from verified_dp.report.headline import headline
from verified_dp.report.pages import RATES, index, page
from verified_dp.report.sources import linked
from verified_dp.spec import parse_spec
from verified_dp.verifiers.trust import trusted

FOLDER = Path(__file__).parent / "claims"
CLAIMS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.toml"))}
QUICK = ("closed-form", "contour", "berry-esseen", "renyi", "saddlepoint")


@cache
def judge(text: str, name: str) -> Judged:
    """The certificate of a specification, made once."""
    return read_certificate(certify(parse_spec(text)).document, name)


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: page(judge(text, name), 1, QUICK, peers=False) for name, text in CLAIMS.items()}


def test_verdicts(pages: dict[str, str]) -> None:
    words = {name: re.search(r'<span class="word">(\w+)\.</span>', text) for name, text in pages.items()}
    assert {name: word[1] for name, word in words.items() if word} == {
        "sampled": "proved", "refuted": "refuted", "laplace": "proved", "bounded": "undecided", "pure": "proved",
        "known": "proved"}


def test_nothing_is_left_to_fetch(pages: dict[str, str]) -> None:
    for text in pages.values():
        assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"|url\(|@import|<script|https?:', text) == []
        assert len(text.encode()) < 400_000
        assert "a test &lt;of&gt; pages &amp; more" in text and "<of>" not in text


def test_the_page_holds_its_certificate(pages: dict[str, str]) -> None:
    for text in pages.values():
        stored = re.search(r'href="data:application/json;base64,([^"]+)"', text)
        assert stored
        data = base64.b64decode(stored[1])
        assert verify(data).valid
        document = json.loads(data)
        sides = ("lower", "upper") if all(pair["tight"] for pair in document["pairs"]) else ("upper",)
        ends = [document["result"]["epsilon"][side] for side in sides]
        assert [part for part in (*ends, document["sha256"], *document["theorems"]) if part not in text] == []


def test_the_page_says_what_a_check_rests_on(pages: dict[str, str]) -> None:
    """Files and lines as `verify --trust` has them, each theorem with its statement, and what is not proved here."""
    judged = judge(CLAIMS["sampled"], "sampled")
    rests = trusted(judged.data)
    text = html.unescape(pages["sampled"])
    assert f"{rests.lines} lines of code in {len(rests.files)} files, and {len(rests.theorems)} theorems" in text
    said = [*(path for path, _ in rests.files), *(one[1] for one in rests.theorems), *rests.not_proved_here]
    assert [one for one in said if one not in text] == []


def test_all_assumptions_can_be_ticked(pages: dict[str, str]) -> None:
    judged = judge(CLAIMS["sampled"], "sampled")
    assert pages["sampled"].count('type="checkbox"') == len(judged.certificate["assumptions"])


def test_index_lists_all_and_what_failed() -> None:
    judged = [judge(text, name) for name, text in CLAIMS.items()]
    text = index([(one, f"{one.name}.html") for one in judged], {"broken.toml": "relation must be <given>"})
    assert all(f'href="{name}.html"' in text for name in CLAIMS)
    assert "relation must be &lt;given&gt;" in text
    assert "4 proved, 1 refuted, 1 undecided, 1 not judged" in text


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, out = tmp_path / "a.toml", tmp_path / "a.html"
    spec.write_text(CLAIMS["refuted"], encoding="utf-8")
    assert main(["certify", str(spec), "--out", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    options = ["--methods", "contour", "--json"]
    assert main(["certify", str(tmp_path / "a.json"), "--html", str(out), *options]) == 1
    row = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (row["verdict"], row["page"], row["certificate"]) == ("refuted", str(out), str(tmp_path / "a.json"))
    assert main(["certify", str(tmp_path / "a.json")]) == 1
    again = capsys.readouterr().out
    assert again.replace(" (kept: it verifies)", "") == told
    certificate = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert certificate["sha256"] in out.read_text(encoding="utf-8")


def without_times(text: str) -> str:
    """Methods that are cut off by the clock end elsewhere each time: what is left is the same."""
    parts = r'<section aria-labelledby="h-(?:methods|delta|trade|steps)">.*?</section>'
    return re.sub(parts, "", text, flags=re.DOTALL)


def test_every_way_to_a_page_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_module, "METHODS", ("contour", "renyi"))
    monkeypatch.setattr(pages_module, "ask_peers", lambda spec, claim: ())
    monkeypatch.chdir(tmp_path)
    options = ["--noise-multiplier", "2", "--sampling", "poisson", "--sampling-probability", "1/50", "--steps", "100",
               "--claim", "9,1e-5"]
    assert main(["dpsgd", *options, "--html", "first.html", "--out", ".", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["page"] == "first.html"
    assert main(["certify", "dpsgd.toml", "--html", "second.html"]) == 2
    assert main(["dpsgd", *options, "--toml"]) == 0
    Path("dpsgd.toml").write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["certify", "dpsgd.toml", "--html", "second.html"]) == 0
    assert "  page        second.html\n" in capsys.readouterr().out
    assert main(["certify", "dpsgd.json", "--html", "third.html"]) == 0
    fourth = certify(parse_spec(Path("dpsgd.toml").read_text(encoding="utf-8"))).html("dpsgd")
    found = {without_times(text) for text in (
        *(Path(f"{name}.html").read_text(encoding="utf-8") for name in ("first", "second", "third")), fourth)}
    assert len(found) == 1 and json.loads(Path("dpsgd.json").read_text())["sha256"] in fourth


def test_certify_writes_an_index_of_several(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_module, "METHODS", ("contour",))
    monkeypatch.chdir(tmp_path)
    for name in ("refuted", "pure"):
        Path(f"{name}.toml").write_text(CLAIMS[name], encoding="utf-8")
    Path("broken.toml").write_text("relation = 3", encoding="utf-8")
    assert main(["certify", ".", "--html", "all.html", "--jobs", "2", "--json"]) == 2
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row.get("page") for row in rows] == [None, "all/pure.html", "all/refuted.html"]
    assert all(Path(row["page"]).exists() for row in rows[1:])
    assert "1 proved, 1 refuted, 0 undecided, 1 not judged" in Path("all.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("arguments", "key"), [
    (["dpsgd", "--noise-multiplier", "2", "--sampling", "poisson", "--sampling-probability", "1/50", "--steps", "9",
      "--delta", "1e-5", "--html", "x.html"], "html"),
    (["certify", "a.toml", "--html", "."], "html"), (["certify", "a.toml", "a.toml", "--html", "all"], "html"),
    (["certify", "a.toml", "--html", "a.toml/x.html"], "html"),
    (["certify", "a.toml", "--html", "x.html", "--methods", "fast"], "methods"),
    (["certify", "a.toml", "--methods", "contour"], "methods"), (["report", "a.toml"], "certify FILE... --html")])
def test_wrong_places_are_one_line(arguments: list[str], key: str, tmp_path: Path,
                                   capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pages_module, "METHODS", ("contour",))
    Path("a.toml").write_text(CLAIMS["pure"], encoding="utf-8")
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and (key if arguments[0] == "report" else f"{key} must be") in err


def test_altered_certificates_get_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, out = tmp_path / "a.toml", tmp_path / "b.html"
    spec.write_text(CLAIMS["refuted"], encoding="utf-8")
    main(["certify", str(spec), "--out", str(tmp_path)])
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    (tmp_path / "a.json").write_text(text.replace("4.37", "4.38"), encoding="utf-8")
    assert main(["certify", str(tmp_path / "a.json"), "--html", str(out)]) == 1
    assert not out.exists()
    assert "claim" in capsys.readouterr().err


def test_without_a_claim_there_is_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "a.toml"
    spec.write_text(CLAIMS["refuted"].partition("[claim]")[0], encoding="utf-8")
    assert main(["certify", str(spec), "--html", str(tmp_path / "a.html")]) == 2
    assert "claim must be" in capsys.readouterr().err


@pytest.fixture(scope="module")
def gaussian() -> PrivacyProfile:
    return privacy_profile(Gaussian("1"), relation="add-or-remove")


@pytest.mark.parametrize("relation", ["add-or-remove", "remove"])
def test_tradeoff_holds_the_exact_gaussian_curve(relation: str) -> None:
    from mpmath import erfc, erfinv, mpf, sqrt

    profile = privacy_profile(Gaussian("1"), relation=relation)
    first, *curve, last = tradeoff_curve(profile, RATES, 60)
    assert [point.at for point in curve] == sorted(RATES)
    for point in curve:
        quantile = sqrt(2) * erfinv(1 - 2 * mpf(point.at.numerator) / point.at.denominator)
        truth = erfc(-(quantile - 1) / sqrt(2)) / 2
        assert mpf(str(float(point.lower))) - 1e-15 <= truth <= mpf(str(float(point.upper))) + 1e-15
        assert point.upper - point.lower < Fraction(1, 500)
    assert (first.at, first.upper, last.at, last.upper) == (0, 1, 1, 0) and curve[0].lower <= first.lower


def test_a_curve_that_has_no_time_is_wide_and_true(gaussian: PrivacyProfile) -> None:
    sampled = privacy_profile(parse_spec(CLAIMS["sampled"]))
    found = tradeoff_curve(sampled, RATES, 1e-6)
    assert 2 < len(found) < len(RATES)
    assert all(point.lower <= 1 - point.at and point.lower <= point.upper for point in found)
    assert len(delta_curve(gaussian, [Fraction(n) for n in range(4)], 1e-6)) == 4


def test_steps_end_at_the_whole_composition(gaussian: PrivacyProfile) -> None:
    spec = parse_spec(CLAIMS["laplace"])
    points = step_curve(privacy_profile(spec), Fraction(1, 1000), 8, 60)
    assert [point.at for point in points] == [1, 2, 3]
    whole = privacy_profile(spec).epsilon("1e-3", digits=6)
    assert points[-1].lower <= whole.upper and whole.lower <= points[-1].upper
    assert [point.lower for point in points] == sorted(point.lower for point in points)


def test_shortened_keeps_every_part() -> None:
    spec = parse_spec(CLAIMS["sampled"])
    assert [count for _, count in shortened(spec.composition, 7000).parts] == [7000]
    assert shortened(spec.composition, 14063) == spec.composition


def test_peers_answer_or_say_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(steps: list[peers.Step], delta: float) -> float:
        raise ValueError(f"no {steps[0][2]} steps at {delta}")

    relations = (Relation.ADD_OR_REMOVE,)
    monkeypatch.setattr(peers, "_PEERS", (
        ("pytest", relations, lambda steps, delta: steps[0][1], "its noise multiplier"),
        ("pytest", relations, fail, ""), ("no-such-package", relations, fail, ""),
        ("pytest", (Relation.REPLACE,), fail, "")))
    spec = parse_spec(CLAIMS["sampled"])
    assert spec.claim
    found = [(peer.epsilon, peer.remark) for peer in peers.ask_peers(spec, spec.claim)]
    assert found == [("1.1", "its noise multiplier"), ("none", "ValueError: no 14063 steps at 1e-05")]


def test_peers_are_asked_about_gaussians_alone() -> None:
    spec = parse_spec(CLAIMS["laplace"])
    assert spec.claim and list(peers.ask_peers(spec, spec.claim)) == []
    assert peers.steps_of(parse_spec(CLAIMS["sampled"]).composition) == [(256 / 60000, 1.1, 14063)]


def test_a_curve_that_falls_tightens_its_points() -> None:
    ends = [(5, 9), (2, 6), (3, 7), (1, 4)]
    points = [Point(Fraction(i), Dyadic(low), Dyadic(high)) for i, (low, high) in enumerate(ends)]
    found = [(int(point.lower), int(point.upper)) for point in rising(points[::-1])[::-1]]
    assert found == [(5, 9), (3, 6), (3, 6), (1, 4)]


@pytest.mark.parametrize(("name", "verdict", "ends", "claimed", "shown"), [
    ("sampled", "proved", ("2.3816", "2.38169"), "3.01", ("2.382", "0.6283", "-20.8 %")),
    ("sampled", "proved", ("2.3816", "2.38169"), "2.3817", ("2.3817", "1e-5", "-0.000419 %")),  # not 2.382
    ("sampled", "proved", ("2.3", "3.5"), "3", ("3", "", "")),  # by delta: epsilon is wide
    ("refuted", "refuted", ("4.37718", "4.3772"), "4.37", ("4.377", "0.00718", "+0.164 %")),
    ("refuted", "refuted", ("4.37718", "4.3772"), "4.377", ("4.3771", "0.00018", "+0.00411 %")),
    ("refuted", "refuted", ("4.3", "4.5"), "4.37", ("4.37", "", "")),
    ("refuted", "refuted", ("inf", "inf"), "4.37", ("∞", "∞", "")),
    ("bounded", "undecided", ("0", "2.26248"), "0.2", ("2.263", "2.063", "")),
    ("bounded", "undecided", ("0", "inf"), "0.2", ("none", "", "")),
    ("refuted", "refuted", ("2.4", "2.5"), "7/3", ("2.4", "0.06666", "+2.85 %"))])
def test_headline_is_rounded_to_the_side_where_it_holds(name: str, verdict: str, ends: tuple[str, str], claimed: str,
                                                        shown: tuple[str, ...]) -> None:
    judged = judge(CLAIMS[name], name)
    result = {**judged.certificate["result"], "epsilon": dict(zip(("lower", "upper"), ends, strict=True))}
    claim = {**judged.certificate["claim"], "epsilon": claimed}
    found = headline(replace(judged, certificate={
        **judged.certificate, "verdict": verdict, "result": result, "claim": claim}))
    assert (found.shown, found.gap, found.share) == shown
    if found.ends is not None:
        assert Decimal(found.gap) <= found.ends[1] - found.ends[0] or verdict == "undecided"


def test_a_page_without_a_title_is_not_named_by_its_file() -> None:
    """A stem such as "false" would read as a verdict."""
    judged = judge(CLAIMS["laplace"].replace('title = "Three Laplace counts"\n', ""), "disproved")
    text = page(judged, 1, ("closed-form",), peers=False)
    assert "<h1>(3, 1e-300)-differential privacy of 3 steps of laplace</h1>" in text
    assert "disproved" not in text.replace("disproved.json", "")


def test_first_digits_then_what_was_run_and_the_rest_is_closed(pages: dict[str, str]) -> None:
    text = pages["sampled"]
    parts = (">claimed ε<", ">2.382<", ">0.6283<", "What was run</h2>", "What you must check</h2>", "δ over ε</h2>",
             "Verify it yourself", "For experts")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    before, closed, after = text.partition('<details class="experts">')
    assert closed and not re.search(r"T\d\d+-|2\.38168|quadrature", re.sub(r"<svg.*?</svg>|base64,\S+", "", before))
    assert "T21-pair-poisson" in after and "2.38168972614" in after


def test_every_shaded_claim_is_proved(gaussian: PrivacyProfile) -> None:
    """Between the points too: delta lies below its chord in e^epsilon, and above a straight line in log10."""
    highs = [math.log10(gaussian.delta(n, 6).upper_float) for n in range(5)]
    for at, high in plots._between([*map(float, range(5))], highs):
        assert math.log10(gaussian.delta(Decimal(at), 6).lower_float) <= high + 1e-12
    straight = (highs[1] + highs[2]) / 2
    assert math.log10(gaussian.delta("1.5", 6).lower_float) > straight


@pytest.mark.parametrize(("source", "shown"), [
    ("https://x.org/y (caption)", '<a href="https://x.org/y">https://x.org/y</a> (caption)'),
    ("a book; github issue a/b#7", 'a book; <a href="https://github.com/a/b/issues/7">a/b issue 7</a>'),
    ('https://x.org/"><script>', '<a href="https://x.org/%22%3E%3Cscript%3E">'),
    ("javascript:alert(1)", "javascript:alert(1)")])
def test_sources_are_links(source: str, shown: str) -> None:
    found = linked(source)
    assert found.startswith(shown) and "<script" not in found and found.count("href") == shown.count("href")


@pytest.mark.parametrize("text", ["1.23456789e-310", "0.000123456", "123456.789", "9.99999", "1e-5000", "7", "0"])
def test_rounding_is_outward(text: str) -> None:
    low, high = (Fraction(rounded(text, 3, up=up)) for up in (False, True))
    assert low <= Fraction(text) <= high
    assert high - low <= Fraction(text) / 100


def test_what_does_not_print_is_shown_as_on_a_terminal() -> None:
    """A title or a file's name cannot turn the direction of what stands beside it, or hide in it."""
    steering = "safe \u202e\u2066)1 = \u03b5(\u200f\x07\x1b[2J\u00a0"
    judged = judge(CLAIMS["laplace"].replace("Three Laplace counts", steering.encode("unicode_escape").decode()
                   .replace("\\x", "\\u00")), "laplace")
    assert judged.title == steering
    text, listed = page(judged, 1, ("closed-form",), peers=False), index([(judged, "a.html")], {steering: steering})
    for shown in (text, listed):
        assert not re.search("[\u202e\u2066\u200f\x07\x1b\u00a0]", shown)
    escaped = r"safe \u202e\u2066)1 = ε(\u200f\x07\x1b[2J\xa0"
    assert f"<title>Proved: {escaped}</title>" in text and f"<h1>{escaped}</h1>" in text
    assert f">{escaped}</a>" in listed and f"<li>{escaped}: {escaped}</li>" in listed
    assert "\n" in text and "<svg" in text
