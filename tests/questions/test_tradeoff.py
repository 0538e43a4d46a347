"""Trade-off curves against closed forms and exact curves of finite mechanisms, and what follows from them."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import mpmath
import pytest
from flint import arb, ctx

from verified_dp import (
    ApproximateDP,
    Composition,
    DiscreteGaussian,
    Finite,
    Gaussian,
    GaussianDP,
    InvalidInput,
    PoissonSampled,
    RandomizedResponse,
    compose,
    privacy_profile,
)
from verified_dp.cli import main
from verified_dp.core.kernel.balls import ball
from verified_dp.questions.tradeoff import Point, bound_beta, bound_between, enclose_point, lower_bound_beta

ALPHAS = ["1e-30", "0.001", "0.01", "0.1", "0.3", "1/2", "0.7", "0.9", "0.999"]
SAMPLED = compose((PoissonSampled(Gaussian("1"), "0.1"), 10))


def gaussian_curve(mu: str, alpha: str) -> mpmath.mpf:
    """Phi(Phi^-1(1 - alpha) - mu)."""
    with mpmath.workdps(60):
        level = mpmath.mpf(Fraction(alpha).numerator) / Fraction(alpha).denominator
        quantile = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * level)
        return +mpmath.ncdf(quantile - mpmath.mpf(mu))


@pytest.mark.theorem("T145-tradeoff")
@pytest.mark.parametrize("mu", ["0.1", "1", "2"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_contains_the_gaussian_curve(mu: str, alpha: str) -> None:
    found = privacy_profile(GaussianDP(mu), "add-or-remove").tradeoff()
    with mpmath.workdps(60):
        truth = Fraction(mpmath.nstr(gaussian_curve(mu, alpha), 50))
    beta, tpr = found.beta(alpha), found.tpr(alpha)
    assert beta.contains(truth) and tpr.contains(1 - truth) and beta.status == tpr.status == "certified"


def lowest_curve(P: list[Fraction], Q: list[Fraction], alpha: Fraction) -> Fraction:
    """T(P, Q)(alpha), exactly: outcomes enter the test by their ratio, the last one in part."""
    left, missed = alpha, Fraction(1)
    for p, q in sorted(zip(P, Q, strict=True), key=lambda one: -one[0] / one[1] if one[1] else -10**9):
        share = min(Fraction(1), left / q) if q else Fraction(1)
        left, missed = left - share * q, missed - share * p
    return missed


THREE = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 10), Fraction(3, 10), Fraction(6, 10)]
HOLES = [Fraction(0), Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 5), Fraction(4, 5), Fraction(0)]


@pytest.mark.theorem("T145-tradeoff")
@pytest.mark.parametrize("pair", [THREE, HOLES])
@pytest.mark.parametrize("relation", ["remove", "add"])
@pytest.mark.parametrize("alpha", ["0.001", "0.05", "0.1", "0.3", "0.4", "0.75", "0.85", "0.99"])
def test_contains_finite_curves(pair: tuple[list[Fraction], list[Fraction]], relation: str, alpha: str) -> None:
    first, second = pair if relation == "remove" else pair[::-1]
    found = privacy_profile(Finite(*pair), relation).tradeoff().beta(alpha)
    assert found.contains(lowest_curve(first, second, Fraction(alpha)))
    assert found.upper - found.lower <= Fraction(1, 10**5)


@pytest.mark.theorem("T145-tradeoff")
def test_both_orders_give_the_convex_function_below_them() -> None:
    """riskcal's symmetrised curve: on the diagonal it is (1 - advantage) / 2."""
    found = privacy_profile(SAMPLED, "add-or-remove").tradeoff()
    advantage = found.advantage(10)
    middle = (1 - Fraction(advantage.lower_decimal)) / 2
    assert abs(found.beta(middle, 8).lower - middle) < Fraction(1, 10**7)
    orders = [privacy_profile(SAMPLED, order).tradeoff() for order in ("remove", "add")]
    for alpha in ("0.001", "0.05", "0.2", "0.6"):
        both, (remove, add) = found.beta(alpha), (one.beta(alpha) for one in orders)
        assert both.lower <= min(remove.upper, add.upper) and both.upper - both.lower < Fraction(1, 10**6)
        inverse = orders[1].beta(remove.upper_decimal)  # the curves of the two orders are each other's inverse
        assert abs(inverse.lower - Fraction(alpha)) < Fraction(1, 10**4)


@pytest.mark.theorem("T145-tradeoff")
def test_upper_bound_needs_every_part() -> None:
    """g with a kink between the points, and smooth g: what is left out shows."""
    def g(x: Fraction) -> Fraction:
        return min(x, 3 - 2 * x)  # its largest value is 1, at 1

    with ctx.workprec(128):
        for places in combinations([Fraction(i, 7) for i in range(1, 12)], 5):
            points = [Point(ball(x), ball(g(x))) for x in places]
            if places[1] <= 1 <= places[3]:
                assert bound_beta(points, Fraction(0)) >= 1
                assert lower_bound_beta(points) <= 1
            if places[1] <= 1 <= places[2]:
                between = bound_between(*points[:4])
                assert 1 <= between < arb("1.0001")
        rising = [Point(ball(i), ball(i)) for i in range(1, 6)]
        assert bound_beta(rising, Fraction(1, 4)) == arb("0.75")


@pytest.mark.theorem("T145-tradeoff")
@pytest.mark.parametrize("epsilon", [Fraction(-3), Fraction(-1, 7)])
def test_both_forms_of_a_point_agree(epsilon: Fraction) -> None:
    profile, alpha = privacy_profile(SAMPLED, "remove"), Fraction(1, 5)
    swapped = privacy_profile(SAMPLED, "add").delta(-epsilon)
    with ctx.workprec(128):
        direct = 1 - ball(epsilon).exp() * ball(alpha) - arb(profile.delta(epsilon).lower_decimal)
        assert abs(enclose_point(epsilon, alpha, swapped).value - direct) < arb("1e-10")


@pytest.mark.parametrize(("composition", "relation"), [
    (compose((RandomizedResponse(2, epsilon=1), 3)), "replace"), (compose(ApproximateDP("1", "0.1")), "replace"),
    (compose((DiscreteGaussian("9", 1), 3)), "add-or-remove"), (SAMPLED, "zero-out")])
def test_curve_is_convex_falls_and_is_symmetric(composition: Composition, relation: str) -> None:
    found = privacy_profile(composition, relation).tradeoff()
    alphas = [Fraction(i, 10) for i in range(1, 10)]
    betas = [found.beta(alpha) for alpha in alphas]
    for alpha, one, after in zip(alphas, betas, betas[1:], strict=False):
        assert one.upper >= after.lower and one.lower >= 0 and one.upper <= 1 - alpha
    for one, middle, last in zip(betas, betas[1:], betas[2:], strict=False):
        assert 2 * middle.lower <= one.upper + last.upper


def test_what_follows_from_the_rates() -> None:
    found = privacy_profile(GaussianDP("1"), "add-or-remove").tradeoff()
    with mpmath.workdps(40):
        tpr = 1 - gaussian_curve("1", "0.01")
        posterior = Fraction(mpmath.nstr(tpr / 10 / (tpr / 10 + mpmath.mpf("0.9") / 100), 30))
        factor = Fraction(mpmath.nstr(tpr * 100, 30))
        advantage = Fraction(mpmath.nstr(2 * mpmath.ncdf(mpmath.mpf("0.5")) - 1, 30))
    assert found.posterior("0.01", "0.1").contains(posterior) and found.bayes_factor("0.01").contains(factor)
    assert found.advantage().contains(advantage) and found.advantage().quantity == "advantage"
    assert [found.tpr("0.01").quantity, found.beta("0.01").quantity] == ["tpr", "beta"]


def test_pairs_that_only_bound_say_so() -> None:
    loose = privacy_profile(compose((PoissonSampled(Gaussian("2"), "0.1"), 2)), "replace").tradeoff().beta("0.1")
    assert loose.tight == privacy_profile(compose((PoissonSampled(Gaussian("2"), "0.1"), 2)), "replace").delta(1).tight


CASES = json.loads((Path(__file__).parents[1] / "data" / "peer_tradeoffs.json").read_text(encoding="utf-8"))
MADE = {"gaussian": lambda noise, share: PoissonSampled(Gaussian(noise), share) if share != "1" else Gaussian(noise),
        "approximate-dp": ApproximateDP}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["source"].partition("::")[2])
def test_agrees_with_other_libraries_tests(case: dict[str, Any]) -> None:
    composition = compose(*((MADE[kind](*numbers), count) for kind, *numbers, count in case["steps"]))
    found = privacy_profile(composition, "add-or-remove").tradeoff()
    answer = found.advantage() if case["quantity"] == "advantage" else getattr(found, case["quantity"])(case["at"], 5)
    expected, (scale, size) = Fraction(case["expected"]), case["tolerance"].split()
    room = Fraction(size) * (expected if scale == "rel" else 1)
    assert answer.upper - answer.lower <= Fraction(1, 10**4)
    assert answer.lower - room <= expected <= answer.upper + room


@pytest.mark.parametrize(("call", "key"), [
    (lambda t: t.beta(0), "alpha"), (lambda t: t.beta(1), "alpha"), (lambda t: t.beta(float("nan")), "alpha"),
    (lambda t: t.beta("0.1", 0), "digits"), (lambda t: t.posterior("0.1", "1"), "prior"),
    (lambda t: t.bayes_factor("x"), "alpha"), (lambda t: t.advantage(-1), "digits")])
def test_wrong_input(call: Any, key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call(privacy_profile(Gaussian("1"), "add").tradeoff())
    assert caught.value.key == key


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call `tradeoff` on a.toml, a Gaussian."""
    monkeypatch.chdir(tmp_path)
    text = 'relation = "add"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 1\n'
    Path("a.toml").write_text(text, encoding="utf-8")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["tradeoff", "a.toml", *arguments])
        return code, *capsys.readouterr()

    return call


def test_json_and_text(run: Any) -> None:
    code, out, err = run("--fpr", "0.01,1/2", "--prior", "1/10", "--json")
    row = json.loads(out)
    assert (code, err, row["schema"], row["relation"]) == (0, "", "verified-dp/tradeoff/1", "add")
    assert [point["fpr"] for point in row["points"]] == ["0.01", "1/2"]
    lower, upper = (float(row["points"][0]["fnr"][end]) for end in ("lower", "upper"))
    assert lower <= float(gaussian_curve("1", "0.01")) <= upper < lower + 1e-6
    assert set(row["points"][0]) == {"fpr", "fnr", "tpr", "bayes_factor", "posterior", "status"}
    code, out, _ = run("--fpr", "0.01,1/2")
    assert code == 0 and "0.90763 " in out and "advantage" in out
    assert "0.907637" in run("--fpr", "0.01", "-v")[1]
    assert run("--fpr", "0.1:0.9:9", "--table", "csv")[1].startswith("fpr,fnr,tpr,bayes_factor\n0.1,")


@pytest.mark.parametrize(("arguments", "key"), [
    (["--fpr", "0"], "fpr"), (["--fpr", "1"], "fpr"), (["--fpr", "-1"], "fpr"), ([], "--fpr"), (["--fpr", "x"], "fpr"),
    (["--fpr", "0.1", "--prior", "2"], "prior"), (["--fpr", "0.1", "--digits", "0"], "digits"),
    (["--fpr", "0.1", "--table", "x"], "table")])
def test_wrong_input_is_one_line(run: Any, arguments: list[str], key: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1) and f"{key} " in err
