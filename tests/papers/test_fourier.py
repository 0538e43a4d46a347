"""The Fourier accountant end to end: the paper's tables, its estimates, Newton's iteration, tilting, other steps."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

from verified_dp import (
    ZCDP,
    Composition,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Relation,
    compose,
    privacy_profile,
)
from verified_dp.core.engines.lines import lines
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.enclosure import Enclosure
from verified_dp.papers import accountant, published_profile
from verified_dp.papers.ask import PaperResult
from verified_dp.papers.comparison import compare
from verified_dp.papers.densities import float_density, inverse_loss, invert_mixture
from verified_dp.papers.fourier.choose import estimate_tail, publish
from verified_dp.papers.fourier.method import FourierAccountant, FourierCurve
from verified_dp.papers.fourier.pairs import FourierAccountantDraws, FourierAccountantPair
from verified_dp.papers.paper import paper_method
from verified_dp.search.deadline import Budget
from verified_dp.search.transforms import FloatLaw

F = Fraction
PAPER = compose((PoissonSampled(Gaussian("1.5"), "0.01"), 10000))
TRUTH = F("0.04960141031482577560694")
"""delta of Tables 1 and 2, remove order, eps = 1: two contours in mpmath, 32 digits."""
TABLE_1 = [(50_000, "0.0491228786423"), (200_000, "0.0496013846114"), (800_000, "0.0496014103252"),
           (3_200_000, "0.0496014103163")]
TABLE_2 = [(2, "0.0422160172923", 3.32e-1), (6, "0.0496014103158", 3.32e-6), (10, "0.0496014103134", 1.36e-16),
           (12, "0.0496014103163", 8.30e-24)]
NOISE = 1.2e-11
"""What rounding in doubles may change in a sum of 3.2e6 terms, whose 10000-th powers lose four digits."""


def one_order(composition: Composition, relation: str = "remove") -> ComposedLoss:
    return privacy_losses(composition, Relation.of(relation))[0]


def curve(composition: Composition, relation: str, epsilon: object, **parameters: object) -> FourierCurve:
    method = paper_method("fourier", parameters)
    assert isinstance(method, FourierAccountant)
    return method.curve(one_order(composition, relation), F(str(epsilon)), 4, Budget(1000))


def ends(enclosure: Enclosure | None) -> tuple[Fraction, Fraction]:
    assert enclosure is not None
    return enclosure.lower.as_fraction(), enclosure.upper.as_fraction()


def width(enclosure: Enclosure | None) -> float:
    lower, upper = ends(enclosure)
    return float(upper - lower) / float(upper)


def agree(result: PaperResult, truth: Enclosure) -> bool:
    """Whether the two intervals overlap."""
    (low, high), (lower, upper) = ends(result.enclosure), ends(truth)
    return low <= upper and lower <= high


@pytest.mark.parametrize(("points", "printed"), TABLE_1[:2])
def test_table_1(points: int, printed: str) -> None:
    """The estimate to the digits that are no noise of doubles; the truth in our interval of the same n and L."""
    row = curve(PAPER, "remove", 1, L=F(12), n=points)
    answer = row.delta(F(1))
    assert answer.estimate is not None and answer.bounds is not None
    assert abs(float(answer.estimate) - float(printed)) < NOISE
    assert answer.bounds.lower <= ball(TRUTH) <= answer.bounds.upper
    assert answer.bounds.upper - answer.bounds.lower < (3e-4 if points == 50_000 else 1e-7)
    error = abs(float(answer.estimate) - float(TRUTH))
    published = accountant(privacy_profile(PAPER, "remove"), "fourier", L=12, n=points, form="estimate").delta("1")
    assert published.enclosure is None and published.estimate is not None
    assert published.estimate.value == answer.estimate
    assert error / 3 < float(published.parameters["err(L, n) (7.4)"]) < 3 * error  # for this row


@pytest.mark.parametrize(("points", "printed"), TABLE_1[2:])
def test_table_1_long(points: int, printed: str) -> None:
    """In doubles: n = 3.2e6 takes seconds, where balls take half a minute."""
    answer = curve(PAPER, "remove", 1, L=F(12), n=points).delta(F(1))
    assert answer.estimate is not None and answer.bounds is not None
    assert abs(float(answer.estimate) - float(printed)) < NOISE
    assert answer.bounds.lower <= ball(TRUTH) <= answer.bounds.upper
    assert answer.bounds.upper - answer.bounds.lower < 1e-8


@pytest.mark.parametrize(("half_length", "printed", "tail"), [
    row if row[0] == 2 else pytest.param(*row, marks=pytest.mark.long) for row in TABLE_2])
def test_table_2(half_length: int, printed: str, tail: float) -> None:
    """n = 3.2e6; L = 2 is too short, which (7.3) shows and (7.4) cannot. Our interval with one sample in 32."""
    loss, points = one_order(PAPER), 3_200_000
    estimate = float(publish(loss, F(half_length), points).delta(F(1)))
    assert abs(estimate - float(printed)) < NOISE
    shown = estimate_tail(loss, F(half_length))
    assert shown is not None and abs(shown / tail - 1) < 4e-3
    answer = curve(PAPER, "remove", 1, L=F(half_length), n=points // 32).delta(F(1))
    assert answer.bounds is not None and answer.bounds.lower <= ball(TRUTH) <= answer.bounds.upper
    if half_length == 2:
        assert abs(estimate - float(TRUTH)) > 7e-3 and answer.bounds.budget["periodisation"] > 1e-9


@pytest.mark.theorem("T13-epsilon-of-delta")
@pytest.mark.parametrize(("name", "exponent"), [
    ("paper", 6), ("laplace", 3), pytest.param("paper", 3, marks=pytest.mark.long),
    pytest.param("laplace", 6, marks=pytest.mark.long)])
def test_the_estimate_lies_in_the_proved_bracket(name: str, exponent: int) -> None:
    what, delta = {"paper": PAPER, "laplace": compose((Laplace(20, 1), 20))}[name], F(1, 10**exponent)
    found = accountant(privacy_profile(what, "remove"), "fourier").epsilon(delta, digits=3)
    lower, upper = ends(found.enclosure)
    assert found.estimate is not None and lower <= F(found.estimate.value) <= upper and upper - lower < F(1, 50) * upper


def test_tilting_keeps_the_digits_of_1e_minus_100() -> None:
    """The same 64-bit words: without a tilt nothing but noise near 1e-12; with one, delta within a factor."""
    composition = compose((PoissonSampled(Gaussian("1.5"), "0.01"), 1000))
    truth = float(privacy_profile(composition, "remove").delta("12.2").lower.as_fraction())
    assert 1e-100 < truth < 1e-99
    answers = {}
    for tilt in (0, 17):
        row = curve(composition, "remove", "12.2", L=F(24), n=2**15, tilt=F(tilt), bits=64, discretisation="dots")
        answers[tilt] = row.delta(F("12.2"))
    plain, tilted = (answers[tilt].bounds for tilt in (0, 17))
    assert plain is not None and tilted is not None
    assert plain.lower == 0 and 1e-16 < float(plain.upper) < 1e-9
    assert truth / 3 < float(tilted.lower) <= truth <= float(tilted.upper) < 3 * truth
    rough = {tilt: float(answer.estimate or "nan") for tilt, answer in answers.items()}
    assert abs(rough[0]) > 1e-20 and 0.1 * truth < rough[17] < 10 * truth


STEPS = {
    "laplace": (compose((Laplace(20, 1), 100)), "replace", "1"),
    "laplace sampled": (compose((PoissonSampled(Laplace(1, 1), "1/10"), 20)), "remove", "1"),
    "finite": (compose((RandomizedResponse(3, epsilon="1/5"), 30)), "replace", "1"),
    "discrete": (compose((DiscreteGaussian(50, 2), 10)), "replace", "1"),
    "paper 6.2": (compose((FourierAccountantPair("2", "1/20"), 50)), "replace", "1/2"),
    "gaussian": (compose((Gaussian("10"), 30)), "replace", "1"),
    "mixed": (compose((PoissonSampled(Gaussian("1"), "0.02"), 100), (Laplace(30, 1), 20), Gaussian("8")), "add", "1"),
    "two samplings": (compose((PoissonSampled(Gaussian("1"), "0.02"), 100), (PoissonSampled(Gaussian("2"), "0.1"), 9),
                              Gaussian("8")), "remove", "1"),
}


SLOW = ("laplace", "laplace sampled", "mixed", "two samplings")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in STEPS])
def test_all_kinds_of_steps(name: str) -> None:
    """Sections 5.5 and 6, and laws with atoms: intervals overlap the engine's, estimates are near it."""
    composition, relation, epsilon = STEPS[name]
    profile = published_profile(composition, relation)
    truth, result = profile.delta(epsilon, digits=6), accountant(profile, "fourier").delta(epsilon, digits=3)
    assert agree(result, truth) and width(result.enclosure) < 2e-2
    assert result.estimate is not None
    assert abs(float(result.estimate.value) / float(truth.lower.as_fraction()) - 1) < 2e-3


def test_the_pair_with_replacement() -> None:
    """Section 6.3 at few draws: the method and the lattice agree on the pair, and nothing is certified of it."""
    composition = compose((FourierAccountantDraws("3/2", 2, 30), 5))
    profile = published_profile(composition, "replace")
    result = accountant(profile, "fourier", n=512, L=8).delta("1/2")
    assert agree(result, profile.delta("1/2", digits=2)) and result.enclosure is not None
    assert (result.enclosure.proven, result.enclosure.status) == (False, "estimate")
    with pytest.raises(Unsupported, match="the paper states it for replacing"):
        published_profile(composition, "remove")


@pytest.mark.theorem("T85-paper-pairs")
def test_inverse_losses_are_the_roots_of_the_papers_polynomials() -> None:
    """6.2: degree 2; 6.3: degree 2m, with one positive root, which has the loss asked for."""
    law = published_profile(FourierAccountantDraws("3/2", 4, 10), "replace").losses[0].parts[0][0]
    assert isinstance(law, MixtureLoss)
    losses, s = np.array([-1.5, -0.2, 0.3, 2.0]), 1.5
    weights = [float(b) * np.exp(-float(m) ** 2 / (2 * s * s)) for m, b in law.above]
    for y, t in zip(losses, invert_mixture(law, losses)[0], strict=True):
        up, down = np.r_[[0.0] * 4, weights], np.r_[weights[::-1], [0.0] * 4]
        roots = np.roots((up - np.exp(y) * down)[::-1])
        positive = [r.real for r in roots if abs(r.imag) < 1e-9 and r.real > 0]
        assert len(positive) == 1 and abs(s * s * np.log(positive[0]) - t) < 1e-9
    (loss,) = published_profile(FourierAccountantPair("3/2", "1/10"), "replace").losses
    float_law = FloatLaw(lines(loss).node_parts[0][0])
    lift = 0.1 * np.exp(-1 / 4.5)
    for y, t in zip(losses, inverse_loss(float_law, losses)[0], strict=True):
        x = np.exp(t / 2.25)
        assert abs(lift * x * x + 0.9 * (1 - np.exp(y)) * x - lift * np.exp(y)) < 1e-9 * (1 + x * x)
        assert abs(np.log((lift * x + 0.9) / (lift / x + 0.9)) - y) < 1e-12


@pytest.mark.theorem("T85-paper-pairs")
def test_the_pair_with_replacement_does_not_dominate() -> None:
    """m = 20 of 100, s = 3/2, eps = 1: all other records at -1 reach thirty times its delta."""
    s, share = F(3, 2), F(1, 100)
    pair = published_profile(FourierAccountantDraws(s, 20, 100), "replace").losses[0].parts[0][0]
    assert isinstance(pair, MixtureLoss)
    reached = MixtureLoss(s, tuple((2 * mean, weight) for mean, weight in pair.above), ((F(0), F(1)),), "symmetric")
    assert sum(weight for _, weight in pair.above) == 1 and pair.above[0][1] == (1 - share) ** 20
    with ctx.workprec(128):
        claimed, found = (law.enclose_hockey_stick(ball(F(1))) for law in (pair, reached))
        assert f"{float(claimed):.1e} {float(found):.1e}" == "6.0e-04 1.9e-02"


@pytest.mark.parametrize("order", ["remove", "add", "replace"])
def test_float_densities_are_the_laws(order: str) -> None:
    law = lines(one_order(compose(PoissonSampled(Gaussian("3/2"), "1/10")), order)).node_parts[0][0]
    places = np.array([-0.7, -0.09, -0.03, 0.0625, 0.5, 1.25])
    with ctx.workprec(80):
        exact = [float(law.enclose_density(ball(F(float(x))))) for x in places]
    assert np.allclose(float_density(law, places), exact, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize(("name", "delta"), [("paper", "1e-6"), ("laplace", "1e-3")])
def test_newton_from_zero(name: str, delta: str) -> None:
    """Section 5.4 with (5.3): L and n chosen by (7.3) and (7.4), eps where bracketing finds it; no proved end."""
    what, digits = {"paper": PAPER, "laplace": compose((Laplace(20, 1), 20))}[name], 4
    profile = privacy_profile(what, "remove")
    found = accountant(profile, "fourier", form="estimate").epsilon(delta, digits)
    truth = float(profile.epsilon(delta).lower.as_fraction())
    assert found.enclosure is None and found.estimate is not None
    assert abs(float(found.estimate.value) / truth - 1) < 2e-4
    with pytest.raises(InvalidInput, match=r"fourier.form must be one of proved, estimate"):
        accountant(profile, "fourier", form="best")


def test_newton_ends_at_zero() -> None:
    profile = privacy_profile(compose((Laplace(20, 1), 10)), "remove")
    found = accountant(profile, "fourier", form="estimate", L=4, n=4096).epsilon("9/10").estimate
    assert found is not None and found.value == "0"


def test_the_slope_is_the_derivative() -> None:
    published = publish(one_order(PAPER), F(8), 2**18)
    low, high = (float(published.delta(F(1) + sign * F(1, 1000))) for sign in (-1, 1))
    assert abs(float(published.slope(F(1))) / ((high - low) / 2e-3) - 1) < 1e-4


def test_parameters_are_checked() -> None:
    for wrong in ({"n": 7}, {"n": 9}, {"L": F(0)}, {"tilt": F(-1)}, {"bits": 1}, {"discretisation": "best"}):
        with pytest.raises(InvalidInput, match="fourier"):
            FourierAccountant(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("composition", "parameters", "message"), [
    (compose((ZCDP("1/100"), 3)), {}, "one Renyi order"),
    (compose((Laplace(20, 1), 3)), {"discretisation": "points"}, "dots"),
    (PAPER, {"discretisation": "points", "tilt": F(0)}, "tilt > 0")])
def test_where_it_does_not_apply(composition: Composition, parameters: dict[str, object], message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        curve(composition, "remove", 1, **parameters)


def test_what_runs_is_said_and_the_table_has_its_rows() -> None:
    said: list[str] = []
    profile = privacy_profile(PAPER, "remove", said.append)
    rows = compare(profile, "delta", "1", ["auto", "fourier"], {"fourier": {"n": 20_000, "L": 12}}).rows
    assert [row.method for row in rows] == ["auto", "fourier", "fourier"]
    assert rows[2].outside and "7.3" in rows[2].note and rows[2].parameters["n"] == "20000"
    assert any("transform of 20000 points" in text for text in said)


@pytest.mark.long
def test_methods_agree_on_random_compositions() -> None:
    """Intervals of fourier, lattice and contour overlap pairwise and with what is proved to twelve digits."""
    rng = random.Random(4)
    for _ in range(40):
        composition, relation = random_composition(rng)
        profile = privacy_profile(composition, relation)
        epsilon = F(rng.choice(["1/10", "1/2", "1", "3/2"]))
        truth = profile.delta(epsilon)
        found = [truth]
        for method in ("fourier", "lattice", "contour"):
            try:
                found.append(profile.delta(epsilon, 3, method, max_seconds=20))
            except Unsupported:
                assert method == "contour"
        assert len(found) >= 3
        for one, other in itertools.combinations(found, 2):
            assert ends(one)[0] <= ends(other)[1] and ends(other)[0] <= ends(one)[1], (composition, relation, epsilon)


def random_composition(rng: random.Random) -> tuple[Composition, str]:
    kinds = [lambda: PoissonSampled(Gaussian(rng.choice(["1", "3/2", "2"])), rng.choice(["0.01", "0.05", "0.2"])),
             lambda: Laplace(rng.choice([10, 20, 40]), 1), lambda: Gaussian(rng.choice(["5", "10"])),
             lambda: RandomizedResponse(2, epsilon=rng.choice(["1/10", "1/4"]))]
    steps = [(rng.choice(kinds[:3])(), rng.choice([1, 3, 20, 100])) for _ in range(rng.choice([1, 2]))]
    relation = rng.choice(["remove", "add"])
    return compose(*steps), relation
