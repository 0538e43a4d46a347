"""What an answer says of the mechanism itself: pairs that only bound it from above, and pairs that prove nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from verified_dp import cli
from verified_dp.certificate import build_certificate
from verified_dp.core.families.batches.mechanism import WithoutReplacement
from verified_dp.core.families.finite.mechanism import ApproximateDP
from verified_dp.core.families.gaussian.mechanism import GaussianDP
from verified_dp.core.families.laplace.mechanism import Exponential, Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.composition import Claim, Composition, Relation, Spec, compose
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.enclosure import Enclosure
from verified_dp.papers.fourier.pairs import FourierAccountantPair, PublishedProfile, load_spec, published_profile
from verified_dp.profile import privacy_profile

PAIR = FourierAccountantPair("4", "1/10")
UNPROVEN = '[[mechanism]]\nkind = "fourier-accountant-pair"\nnoise_multiplier = 4\nprobability = 0.1\n'
KNOWN = '[[mechanism]]\nkind = "approximate-dp"\nepsilon = 1\ndelta = 0.001\n'
PLAIN = '[[mechanism]]\nkind = "laplace"\nscale = 1\nsensitivity = 1\n'
CLAIM = '[claim]\nepsilon = "{}"\ndelta = "{}"\n'


def asked(what: Composition, relation: str = "replace") -> Enclosure:
    return privacy_profile(what, relation).delta("1/2", digits=6)


@pytest.mark.parametrize(("mechanism", "relation", "tight"), [
    (Laplace(1, 1), "add-or-remove", True), (PoissonSampled(Gaussian(1), "1/5"), "add-or-remove", True),
    (ApproximateDP("1", "1e-3"), "add-or-remove", False), (GaussianDP("1/2"), "replace", False),
    (Exponential("1"), "add-or-remove", False), (WithoutReplacement(Gaussian(2), "1/10"), "replace", False)])
def test_tight_is_what_the_pairs_say(mechanism: object, relation: str, tight: bool) -> None:
    answer = asked(compose(mechanism), relation)  # type: ignore[arg-type]
    assert (answer.tight, answer.proven, answer.status) == (tight, True, "certified")


def test_one_loose_pair_makes_the_whole_loose() -> None:
    assert not asked(compose(Laplace(1, 1), ApproximateDP("1", "0"))).tight
    assert not privacy_profile(compose(GaussianDP("1/2")), "replace").epsilon("1e-3").tight


def test_an_unproven_pair_is_an_estimate() -> None:
    for what in (compose((PAIR, 5)), compose(PAIR, Laplace(1, 1))):
        profile = published_profile(what, "replace")
        for answer in (profile.delta("1", digits=3), profile.epsilon("1e-2", digits=2)):
            assert (answer.status, answer.proven, answer.tight) == ("estimate", False, False)


def test_what_is_joined_keeps_the_weaker_standing() -> None:
    plain = asked(compose(Laplace(1, 1)))
    for weaker in ({"tight": False}, {"proven": False}):
        other = replace(plain, **weaker)  # type: ignore[arg-type]
        for joined in (plain.intersect(other), other.intersect(plain)):
            assert {name: getattr(joined, name) for name in weaker} == weaker


def written(folder: Path, mechanisms: str, claim: str = "") -> str:
    path = folder / "spec.toml"
    path.write_text(f'relation = "replace"\n{claim}{mechanisms}', encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("mechanisms", "status", "tight", "words"), [
    (PLAIN, "certified", True, ""),
    (KNOWN, "certified", False, "an upper bound on the mechanism; the lower end holds for the dominating pair only"),
    (UNPROVEN, "estimate", False, "not proven to dominate")])
def test_the_command_line_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], mechanisms: str, status: str,
                                  tight: bool, words: str) -> None:
    file = written(tmp_path, mechanisms)
    for asked_of in (["delta", file, "--epsilon", "1/2"], ["epsilon", file, "--delta", "1/10"]):
        asked_of += ["--method", "fourier"] if mechanisms is UNPROVEN else []
        assert cli.main([*asked_of, "--json", "--digits", "3"]) == 0
        row = json.loads(capsys.readouterr().out)
        assert (row["status"], row["tight"]) == (status, tight)
        assert cli.main([*asked_of, "--digits", "3", "-v"]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert {"certified": ", proved ", "estimate": ", an estimate "}[status] in text and words in text
        assert tight == ("dominat" not in text)


def test_nothing_is_certified_with_an_unproven_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, UNPROVEN, CLAIM.format("1", "1/2"))
    for command in (["certify", file], ["delta", file, "--epsilon", "1"], ["epsilon", file, "--delta", "1/2"]):
        assert cli.main([*command, "--json"]) == 3
        row = json.loads(capsys.readouterr().out)
        assert row["status"] == "unsupported" and "no dominating pair is proven for Fourier" in row["message"]
    spec = load_spec(file)
    assert spec.claim is not None
    solutions = PublishedProfile.of(spec).solve_claim(spec.claim, digits=3)
    with pytest.raises(Unsupported, match="no dominating pair is proven"):
        build_certificate(spec, *solutions)


def test_no_certificate_names_an_unproven_pair(certify: Callable[..., dict[str, Any]]) -> None:
    """The checker does not know its kind, whatever else the certificate holds."""
    kept = Spec(Relation.REPLACE, compose(Laplace(1, 1)), Claim("", "", Fraction(2), Fraction(1, 10), "2", "1/10"))
    document = certify(kept)
    for kind in ("fourier-accountant-pair", "fourier-accountant-draws"):
        (step,) = document["input"]["mechanisms"]
        mechanism = {"kind": kind, "noise_multiplier": "4", "probability": "1/10", "count": step["count"]}
        found = verify({**document, "input": {**document["input"], "mechanisms": [mechanism]}})
        assert not found.valid and found.field is not None and found.field.startswith("input")


def test_a_bound_from_above_refutes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """(1, 1/1000)-DP ten times is above the claim, but the mechanism itself may be far below."""
    file = written(tmp_path, KNOWN + "count = 10\n", CLAIM.format("1", "1/1000"))
    assert cli.main(["certify", file]) == 3
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("undecided: ") and "never refute" in text and "more --digits" not in text
