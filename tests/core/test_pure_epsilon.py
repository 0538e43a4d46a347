"""delta = 0 and delta = 1 are questions: the largest loss, and 0; compositions of nothing and of everything."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from verified_dp.cli import main
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian
from verified_dp.core.families.finite.mechanism import EVERYTHING, ApproximateDP, Finite
from verified_dp.core.families.gaussian.mechanism import MixtureOfGaussians
from verified_dp.core.families.guarantees.mechanism import ZCDP
from verified_dp.core.families.guarantees.renyi import ZCDPLoss
from verified_dp.core.families.laplace.mechanism import Exponential, Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.composition import Composition, Mechanism, Relation, Spec, compose
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.profile import privacy_profile
from verified_dp.questions.statement import statement
from verified_dp.spec import parse_spec

INF = math.inf


@pytest.mark.theorem("T127-support-end")
@pytest.mark.parametrize(("what", "relation", "epsilon"), [
    (Laplace(20, 1), "replace", Fraction(1, 20)),
    (compose((Laplace(3, 1), 100), (Exponential("1/7"), 10)), "add-or-remove", Fraction(100, 3) + Fraction(10, 7)),
    (Gaussian(1), "add-or-remove", INF), (compose((DiscreteGaussian(1, 1), 3)), "replace", INF),
    (ApproximateDP(1, 0), "replace", 1), (ApproximateDP(1, "1e-9"), "replace", INF),
    (compose(Laplace(1, 1), Gaussian(9)), "remove", INF),
])
def test_delta_0_asks_for_the_largest_loss(what: Mechanism, relation: str, epsilon: Fraction) -> None:
    found = privacy_profile(what, relation).epsilon(0)
    assert found.lower == found.upper == epsilon and found.status == "certified"


@pytest.mark.theorem("T127-support-end")
@pytest.mark.parametrize(("what", "relation", "epsilon"), [
    (compose((PoissonSampled(Gaussian(1), "0.2"), 3)), "add", -3 * math.log(0.8)),
    (compose((PoissonSampled(Laplace("0.5", 1), "0.2"), 3)), "add-or-remove", 3 * math.log(0.8 + 0.2 * math.exp(2))),
    (compose((Finite(("1/2", "1/2"), ("1/3", "2/3")), 4)), "remove", 4 * math.log(1.5)),
])
def test_irrational_largest_losses(what: Composition, relation: str, epsilon: float) -> None:
    found = privacy_profile(what, relation).epsilon(0, 14)
    assert float(found.lower) == pytest.approx(epsilon, rel=1e-13) and found.status == "certified"
    assert found.lower < found.upper


@pytest.mark.parametrize("what", [Laplace(1, 1), Gaussian(1), EVERYTHING, ZCDP(1), compose()])
def test_delta_1_holds_always(what: Mechanism) -> None:
    found = privacy_profile(what, "add-or-remove").epsilon(1)
    assert found.lower == found.upper == 0
    for wrong in ("-1e-9", "1.0001"):
        with pytest.raises(InvalidInput):
            privacy_profile(what, "add-or-remove").epsilon(wrong)


def test_no_pure_epsilon_follows_from_moments() -> None:
    """Gaussian steps meet them."""
    found = privacy_profile(ZCDP("0.1"), "replace").epsilon(0)
    assert found.lower.is_infinite and found.status == "certified"


@pytest.mark.parametrize(("epsilon", "verdict"), [("0.05", "proved"), ("0.06", "proved"), ("0.0499", "refuted")])
@pytest.mark.theorem("T127-support-end", "T13-epsilon-of-delta")
def test_pure_claims(certify: Callable[[Spec], dict[str, Any]], epsilon: str, verdict: str) -> None:
    certificate = certify(parse_spec('relation = "replace"\n[[mechanism]]\nkind = "laplace"\nscale = 20\n'
                                     f'sensitivity = 1\n[claim]\nepsilon = "{epsilon}"\ndelta = 0\n'))
    assert certificate["verdict"] == verdict and verify(certificate).valid
    assert set(certificate["result"]["epsilon"].values()) == {"symmetric", "0.050000000000000000000"}


@pytest.mark.parametrize("epsilon", ["5", pytest.param("1e9", marks=pytest.mark.long)])
def test_a_gaussian_has_no_pure_epsilon(certify: Callable[[Spec], dict[str, Any]], epsilon: str) -> None:
    """Far out, too, where delta(eps) is too small for the search: some loss is larger than any claim (T127)."""
    certificate = certify(parse_spec('relation = "add-or-remove"\n[[mechanism]]\nkind = "gaussian"\n'
                                     f'noise_multiplier = 1\n[claim]\nepsilon = "{epsilon}"\ndelta = "0"\n'))
    assert certificate["verdict"] == "refuted" and verify(certificate).valid
    assert certificate["result"]["epsilon"] == {"lower": "inf", "upper": "inf", "order": "both"}
    assert "no finite epsilon holds" in statement(certificate)


@pytest.mark.parametrize("delta", ["1", "1.5", "-0.1"])
def test_other_deltas_are_no_claims(delta: str) -> None:
    with pytest.raises(InvalidInput, match=r"claim\.delta must be"):
        parse_spec('relation = "add"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 1\n'
                   f'[claim]\nepsilon = 1\ndelta = "{delta}"\n')


@pytest.mark.parametrize(("delta", "ends"), [("0", "0.05000000000000000"), ("1", "0")])
def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], delta: str, ends: str) -> None:
    (tmp_path / "a.toml").write_text('relation = "add"\n[[mechanism]]\nkind = "laplace"\nscale = 20\nsensitivity = 1\n')
    assert main(["epsilon", str(tmp_path / "a.toml"), "--delta", delta, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["lower"], row["upper"], row["status"]) == (ends, ends, "certified")


def test_inf_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.toml").write_text('relation = "add"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 2\n')
    assert main(["epsilon", str(tmp_path / "a.toml"), "--delta", "0", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["lower"], row["upper"]) == ("inf", "inf")


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("nothing", [compose(), Composition(()), compose((Gaussian(1), 0)), compose(compose())])
def test_the_composition_of_nothing(nothing: Composition, relation: Relation) -> None:
    profile = privacy_profile(nothing, relation)
    for number in ("0", "1e-5", "1"):
        assert profile.epsilon(number).upper == 0
        assert profile.delta(number).upper == 0
    assert profile.delta("-1").contains(Fraction(1) - Fraction(1, 2)) is False  # 1 - 1/e
    assert compose(nothing, Gaussian(2)) == compose(Gaussian(2)) and nothing.group_size == 1


@pytest.mark.theorem("T44-infinity-mass")
@pytest.mark.parametrize("what", [compose(EVERYTHING), compose((EVERYTHING, 5), Gaussian(3))])
def test_everything_is_released(what: Composition) -> None:
    for relation in ("add-or-remove", "replace"):
        profile = privacy_profile(what, relation)
        assert profile.delta(7).lower == 1
        for delta in ("0", "1e-5", "0.999"):
            assert profile.epsilon(delta).lower.is_infinite


@pytest.mark.theorem("T66-moment-laws")
def test_zcdp_with_xi() -> None:
    """The logarithm of the moment of order a - 1 grows by (a - 1) xi, so that epsilon grows by about xi."""
    plain, moved = (privacy_profile(ZCDP("0.1", xi), "replace").epsilon("1e-5").upper for xi in (None, "0.25"))
    assert Fraction("0.2499") < moved - plain < Fraction("0.2501")
    assert ZCDPLoss(Fraction(1, 10), xi=Fraction(1, 4)).bound_log_moment(3).overlaps(
        ZCDPLoss(Fraction(1, 10)).bound_log_moment(3) + 0.75)
    assert privacy_profile(compose((ZCDP(0, "1/8"), 4)), "replace").epsilon(0).upper == Fraction(1, 2)
    assert ZCDP("0.1", 0) == ZCDP("0.1") and ZCDP("0.1").xi is None
    with pytest.raises(InvalidInput, match="xi must be"):
        ZCDP("0.1", "-1")
    with pytest.raises(Unsupported, match="xi"):
        privacy_profile(compose(ZCDP("0.1", 1)).for_groups(2), "replace")


def test_zcdp_with_xi_is_written_down(certify: Callable[[Spec], dict[str, Any]]) -> None:
    text = 'relation = "replace"\n[[mechanism]]\nkind = "zcdp"\nrho = "0.1"\n%s[claim]\nepsilon = 4\ndelta = "1e-5"\n'
    plain, moved = certify(parse_spec(text % "")), certify(parse_spec(text % 'xi = "1/4"\n'))
    assert plain["input"]["mechanisms"] == [{"kind": "zcdp", "rho": "1/10", "count": 1}]
    assert moved["input"]["mechanisms"] == [{"kind": "zcdp", "rho": "1/10", "xi": "1/4", "count": 1}]
    assert verify(plain).valid and verify(moved).valid
    assert moved["pairs"][0]["P"] == "any P with D_a <= 1/4 + 1/10 a for all a > 1"


@pytest.mark.parametrize(("numbers", "advice"), [
    (("0.333", "0.333", "0.333"), '"1/3", or "0.334" in place of the last one'),
    (("0.1667",) * 6, '"1/6", or "0.1665" in place of the last one'),
    (("0.3333", "0.6666"), "'?\"1/3\""),
])
def test_probabilities_that_were_rounded(numbers: tuple[str, ...], advice: str) -> None:
    with pytest.raises(InvalidInput, match="sum is exactly 1: these are rounded; write ratios such as") as found:
        MixtureOfGaussians(1, [str(i) for i in range(len(numbers))], numbers)
    assert advice.strip("'?") in str(found.value)


@pytest.mark.parametrize("numbers", [("1/3", "1/3", "1/4"), ("0.3", "0.5"), ("0.5", "0.75")])
def test_probabilities_that_are_wrong(numbers: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match="whose sum is exactly 1, got"):
        MixtureOfGaussians(1, [str(i) for i in range(len(numbers))], numbers)
