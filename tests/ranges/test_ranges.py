"""Claims whose numbers are ranges: which end is the worst, what is refused, and verdicts for all values."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from verified_dp import InvalidInput, Unsupported, privacy_profile
from verified_dp.cli import main
from verified_dp.ranges import BY_KIND, certify_ranged, direction, joined, parse_ranged
from verified_dp.spec import parse_spec

HEAD = 'relation = "{relation}"\n[[mechanism]]\n'
POISSON = 'sampling = {{ scheme = "poisson", probability = {} }}'
CASES = {
    "noise": 'kind = "gaussian"\nnoise_multiplier = {}\ncount = 3',
    "noise, sampled": 'kind = "gaussian"\nnoise_multiplier = {}\ncount = 3\n'
                      'sampling = {{ scheme = "poisson", probability = "0.3" }}',
    "noise, fixed batch": 'kind = "gaussian"\nnoise_multiplier = {}\n'
                          'sampling = {{ scheme = "without-replacement", probability = "0.3" }}',
    "sigma": 'kind = "gaussian"\nsigma = {}\nsensitivity = 2',
    "sensitivity": 'kind = "gaussian"\nsigma = 3\nsensitivity = {}',
    "laplace": 'kind = "laplace"\nscale = {}\nsensitivity = 1',
    "laplace, sensitivity": 'kind = "laplace"\nscale = 2\nsensitivity = {}',
    "vector": 'kind = "laplace-vector"\nscale = {}\nsensitivity = 1',
    "discrete": 'kind = "discrete-laplace"\nscale = {}\nsensitivity = 1\ncount = 2',
    "discrete vector": 'kind = "discrete-laplace-vector"\nscale = {}\nsensitivity = 2',
    "mixture": 'kind = "mixture-of-gaussians"\nsigma = {}\nsensitivities = ["0", "1"]\n'
               'probabilities = ["0.5", "0.5"]',
    "response": 'kind = "randomized-response"\ncategories = 3\nnoise_probability = {}',
    "response, epsilon": 'kind = "randomized-response"\ncategories = 3\nepsilon = {}',
    "noisy max": 'kind = "noisy-max"\nscale = {}\nsensitivity = 1',
    "threshold": 'kind = "sparse-vector"\nthreshold_scale = {}\nquery_scale = 2\nanswers = 2\nsensitivity = 1',
    "queries": 'kind = "sparse-vector"\nthreshold_scale = 2\nquery_scale = {}\nanswers = 2\nsensitivity = 1',
    "partitions": 'kind = "partition-selection"\nthreshold = {}\npartitions = 1\nsigma = 1',
    "tree": 'kind = "tree-aggregation"\nnoise_multiplier = {}\nsteps = 5',
    "mu": 'kind = "gaussian-dp"\nmu = {}',
    "epsilon": 'kind = "approximate-dp"\nepsilon = {}\ndelta = "0.01"\ncount = 2',
    "delta": 'kind = "approximate-dp"\nepsilon = 1\ndelta = {}\ncount = 2',
    "rho": 'kind = "zcdp"\nrho = {}',
    "bounded range": 'kind = "exponential"\nbounded_range = {}\ncount = 2',
    "probability": 'kind = "gaussian"\nnoise_multiplier = 1\ncount = 4\n' + POISSON,
    "probability, laplace": 'kind = "laplace"\nscale = 1\nsensitivity = 1\ncount = 2\n' + POISSON,
}


@pytest.mark.theorem("T196-ranges")
@pytest.mark.parametrize("relation", ["add-or-remove", "replace"])
@pytest.mark.parametrize("case", CASES)
def test_the_worst_end_has_the_larger_profile(case: str, relation: str) -> None:
    """Numerically, at three epsilons, with a value between; an exchanged direction would be seen."""
    low, middle, high = ("0.4", "0.5", "0.8") if case != "delta" else ("0.01", "0.02", "0.05")
    relation = relation if case != "tree" else "zero-out"
    text = HEAD.format(relation=relation) + CASES[case]
    try:
        found = parse_ranged(text.format(f'{{ from = "{low}", to = "{high}" }}'))
        between = privacy_profile(parse_spec(text.format(f'"{middle}"').replace("{{", "{").replace("}}", "}")))
        worst, best = privacy_profile(found.worst), privacy_profile(found.best)
    except Unsupported as error:
        pytest.skip(str(error))
    assert len(found.ranges) == 1
    for epsilon in ("0", "0.3", "1.2"):
        ends = [one.delta(epsilon, 4, max_seconds=0.5) for one in (best, between, worst)]
        assert ends[0].lower <= ends[1].upper and ends[1].lower <= ends[2].upper
        wide = any(one.status == "wide" for one in ends)
        assert wide or ends[0].upper < ends[2].lower or ends[0].upper == ends[2].upper or epsilon == "1.2"


@pytest.mark.theorem("T196-ranges")
def test_count_is_worse_upward_and_whole() -> None:
    text = HEAD.format(relation="add") + 'kind = "gaussian"\nnoise_multiplier = 4\ncount = {}'
    found = parse_ranged(text.format('{ from = "2.5", to = 4.5 }'))
    assert [count for _, count in (*found.worst.composition.parts, *found.best.composition.parts)] == [4, 3]
    assert parse_ranged(text.format('{ rounded = "40" }')).worst.composition.parts[0][1] == 40
    assert parse_ranged(text.format('{ rounded = "4e3" }')).ranges[0].low == 3500
    with pytest.raises(InvalidInput, match=r"mechanism\[1\].count"):
        parse_ranged(text.format('{ from = "2.1", to = "2.9" }'))


@pytest.mark.parametrize("written, low, high", [
    ('"1.1"', "1.05", "1.15"), ("1.10", "1.095", "1.105"), ('"2"', "1.5", "2.5"), ('"3e-2"', "0.025", "0.035")])
def test_rounded_is_half_a_unit_to_either_side(written: str, low: str, high: str) -> None:
    found = parse_ranged(HEAD.format(relation="add") + f'kind = "zcdp"\nrho = {{ rounded = {written} }}').ranges
    assert [(one.low, one.high, one.worst) for one in found] == [(Fraction(low), Fraction(high), Fraction(high))]


def test_what_rounds_to_the_end_of_a_domain_is_in_it() -> None:
    """0.0 is 0 to 0.05, 1.0 as a probability 0.95 to 1; a noise of 0 is told as such."""
    found = parse_ranged(HEAD.format(relation="add") + 'kind = "zcdp"\nrho = { rounded = "0.0" }').ranges
    assert [(one.low, one.high) for one in found] == [(0, Fraction(1, 20))]
    found = parse_ranged(HEAD.format(relation="add") + 'kind = "gaussian"\nnoise_multiplier = 1\n'
                         'sampling = { scheme = "poisson", probability = { rounded = "1.0" } }').ranges
    assert [(one.low, one.high) for one in found] == [(Fraction(19, 20), 1)]
    with pytest.raises(InvalidInput, match="0 would mean no noise"):
        parse_ranged(HEAD.format(relation="add") + 'kind = "gaussian"\nnoise_multiplier = { rounded = "0.0" }')


@pytest.mark.parametrize("line, key, error", [
    ('noise_multiplier = { rounded = "11/10" }', "mechanism[1].noise_multiplier.rounded", InvalidInput),
    ('noise_multiplier = { rounded = true }', "mechanism[1].noise_multiplier.rounded", InvalidInput),
    ('noise_multiplier = { from = "2", to = "1" }', "mechanism[1].noise_multiplier", InvalidInput),
    ('noise_multiplier = { from = "2" }', "mechanism[1].noise_multiplier", InvalidInput),
    ('noise_multiplier = { rounded = "0.0" }', "mechanism[1].noise_multiplier", InvalidInput),
    ('noise_multiplier = 1\nselection = { scheme = "poisson-runs", mean = { rounded = "3" } }',
     "mechanism[1].selection.mean", Unsupported),
    ('noise_multiplier = 1\nsampling = { scheme = "without-replacement", probability = { rounded = "0.1" } }',
     "mechanism[1].sampling.probability", Unsupported)])
def test_what_is_no_range_is_refused(line: str, key: str, error: type[InvalidInput]) -> None:
    with pytest.raises(error) as raised:
        parse_ranged(HEAD.format(relation="replace") + 'kind = "gaussian"\n' + line)
    assert raised.value.key == key


@pytest.mark.theorem("T196-ranges")
def test_every_other_number_is_refused() -> None:
    for kind, key in [("discrete-gaussian", "sigma_squared"), ("gaussian", "records"), ("finite", "P"),
                      ("partition-selection", "sigma"), ("sparse-vector", "answers"),
                      ("tree-aggregation", "steps"), ("claim", "count"), ("claim", "title"), (None, "scale")]:
        with pytest.raises(Unsupported, match="no theorem"):
            direction(kind, key)
    with pytest.raises(Unsupported, match="random-allocation"):
        direction("gaussian", "rounds", "random-allocation")
    assert len(BY_KIND) == 16 and direction("discrete-gaussian", "count") == 1


@pytest.mark.theorem("T196-ranges")
def test_allocations_that_may_become_one_are_refused() -> None:
    """Equal tables share their batches: the end of more noise has the larger delta."""
    def text(*tables: tuple[str, str]) -> str:
        return 'relation = "add-or-remove"\n' + "".join(
            f'[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = {noise}\ncount = {count}\n'
            'sampling = { scheme = "random-allocation", rounds = 8, fixed = true }\n' for noise, count in tables)

    one, noise = ('"1/2"', "1"), '{ from = "49/100", to = "1/2" }'
    equal, less = (privacy_profile(parse_spec(text(one, other))).delta("4", 2, max_seconds=300)
                   for other in (one, ('"49/100"', "1")))
    assert equal.lower > 2 * less.upper.as_fraction()
    with pytest.raises(Unsupported, match="share their batches") as error:
        parse_ranged(text(one, (noise, "1")))
    assert error.value.key == "mechanism[2].noise_multiplier"
    assert len(parse_ranged(text(one, ('"1/2"', "{ from = 1, to = 2 }"))).ranges) == 1
    assert len(parse_ranged(text((noise, "2"))).ranges) == 1


def test_a_selection_is_no_range() -> None:
    text = HEAD.format(relation="add-or-remove") + """kind = "composition"
selection = { scheme = "negative-binomial-runs", mean = MEAN, shape = "1" }
[[mechanism.releases]]
kind = "gaussian"
noise_multiplier = NOISE
"""
    assert parse_ranged(text.replace("MEAN", "10").replace("NOISE", "5")).ranges == ()
    found = parse_ranged(text.replace("MEAN", "10").replace("NOISE", '{ rounded = "5" }')).ranges
    assert [one.key for one in found] == ["mechanism[1].releases[1].noise_multiplier"]
    with pytest.raises(Unsupported, match="negative-binomial-runs"):
        parse_ranged(text.replace("MEAN", '{ rounded = "10" }').replace("NOISE", "5"))


CLAIM = """relation = "add-or-remove"
[[mechanism]]
kind = "gaussian"
noise_multiplier = { rounded = "1.1" }
[claim]
title = "A"
source = "B"
epsilon = "EPSILON"
delta = "1e-5"
"""


@pytest.mark.theorem("T196-ranges")
@pytest.mark.parametrize("epsilon, verdict, end", [("4.2", "proved", "worst"), ("3.9", "undecided", "both"),
                                                   ("3.5", "refuted", "best")])
def test_verdict_holds_for_all_values(epsilon: str, verdict: str, end: str, tmp_path: Path,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    text = CLAIM.replace("EPSILON", epsilon)
    (file := tmp_path / "a.toml").write_text(text, encoding="utf-8")
    code = main(["certify", str(file), "--out", str(tmp_path / "kept"), "--json"])
    row = json.loads(capsys.readouterr().out)
    assert (row["verdict"], row["range"]["end"], code) == (verdict, end, {"proved": 0, "refuted": 1}.get(verdict, 3))
    assert row.get("reason") == ("range" if verdict == "undecided" else None)
    assert row["range"]["ranges"] == [{"key": "mechanism[1].noise_multiplier", "from": "21/20", "to": "23/20",
                                       "worst": "21/20"}]
    inside = [privacy_profile(parse_spec(text.replace('{ rounded = "1.1" }', f'"{value}"'))).epsilon("1e-5").upper
              <= Fraction(epsilon) for value in ("1.05", "1.1", "1.15")]
    assert inside == {"proved": [True] * 3, "refuted": [False] * 3, "undecided": inside}[verdict]
    assert certify_ranged(parse_ranged(text))[0] == verdict
    if verdict == "undecided":
        assert set(inside) == {True, False} and row["certificate"] is None
    else:
        written = json.loads(Path(row["certificate"]).read_text(encoding="utf-8"))
        assert f"the {end} values of mechanism[1].noise_multiplier from 1.05 to 1.15" in written["claim"]["source"]
        assert main(["verify", row["certificate"]]) == 0


@pytest.mark.theorem("T196-ranges")
def test_delta_and_epsilon_hold_all_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file := tmp_path / "a.toml").write_text(CLAIM.partition("[claim]")[0], encoding="utf-8")
    for question in (("delta", "--epsilon", "1"), ("epsilon", "--delta", "1e-5")):
        assert main([question[0], str(file), *question[1:], "--digits", "6", "--json"]) == 0
        row = json.loads(capsys.readouterr().out)
        assert (row["status"], row["range"]["end"]) == ("wide", "both")
        assert row["range"]["ranges"][0]["worst"] == "21/20"
        for value in ("1.05", "1.1", "1.15"):
            profile = privacy_profile(parse_spec(CLAIM.partition("[claim]")[0].replace('{ rounded = "1.1" }', value)))
            found = profile.delta("1") if question[0] == "delta" else profile.epsilon("1e-5")
            assert Fraction(row["lower"]) <= found.lower.as_fraction() <= found.upper.as_fraction() <= Fraction(
                row["upper"])
    assert main(["epsilon", str(file), "--delta", "1e-5"]) == 0
    assert "noise_multiplier from 21/20 to 23/20" in " ".join(capsys.readouterr().out.split())
    assert main(["delta", str(file), "--epsilon", "-1"]) == 2
    assert "at least 0 where numbers are ranges" in capsys.readouterr().err
    for other in (("curve", "--epsilon", "1"), ("tradeoff", "--fpr", "0.1"), ("compare", "--epsilon", "1")):
        assert main([other[0], str(file), *other[1:]]) == 2
        assert "only certify, delta and epsilon take ranges" in capsys.readouterr().err


@pytest.mark.parametrize("epsilon, words", [
    ("4.2", ("Proved.", "whatever the values are: mechanism[1].noise_multiplier from 21/20 = 1.05 to 23/20 = 1.15")),
    ("3.9", ("Undecided.", "The claim is proved for the best values and refuted for the worst"))])
def test_pages_are_about_all_values(epsilon: str, words: tuple[str, str], tmp_path: Path) -> None:
    (file := tmp_path / "a.toml").write_text(CLAIM.replace("EPSILON", epsilon), encoding="utf-8")
    main(["certify", str(file), "--html", str(page := tmp_path / "a.html"), "--methods", "closed-form",
          "--max-seconds", "1"])
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert f'<span class="word">{words[0][:-1].lower()}.</span>' in text.lower() and words[1] in text


def test_the_table_in_the_documents_is_the_programs() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "ranges.csv").read_text(encoding="utf-8")
    ways = {1: "up", -1: "down"}
    assert text.splitlines() == ["kind,number,worst end", *(
        f"{kind},{key},{ways[way]}" for kind, keys in BY_KIND.items() for key, way in keys.items())]


def test_examples_have_their_recorded_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that take no time; `make audit` judges all."""
    folder = Path(__file__).resolve().parents[2] / "examples" / "ranges"
    recorded = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert recorded.keys() == {file.stem for file in folder.glob("*.toml")} and len(recorded) == 18
    quick = ["census-pl94-persons", "gboard-pt--rho", "koskela23-mimic", "tan-cifar10-e8"]
    assert {recorded[name]["verdict"] for name in quick} == {"proved", "refuted", "undecided"}
    assert main(["certify", *(str(folder / f"{name}.toml") for name in quick), "--json", "--max-seconds", "20"]) == 1
    for row in map(json.loads, capsys.readouterr().out.splitlines()):
        one = recorded[Path(row["file"]).stem]
        assert (row["verdict"], row.get("reason", "")) == (one["verdict"], one["reason"])
        assert Fraction(row["epsilon"]["lower"]) <= Fraction(one["epsilon"][1])


@pytest.mark.theorem("T196-ranges")
def test_verdicts_are_joined() -> None:
    asked: list[str] = []

    def best(verdict: str) -> str:
        asked.append(verdict)
        return verdict

    assert joined("proved", lambda: best("refuted")) == "proved" and not asked
    for worst in ("refuted", "undecided"):
        assert [joined(worst, lambda v=v: best(v)) for v in ("proved", "refuted", "undecided")] == [  # type: ignore[misc]
            "undecided", "refuted", "undecided"]
