"""Huge and tiny numbers: answered where a closed form or the support does, else refused in words; never a crash."""

from __future__ import annotations

import time
import warnings
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from flint import arb, ctx

from verified_dp import Gaussian, PoissonSampled, compose, privacy_profile
from verified_dp.adaptive.budgets import gdp_budget, gdp_delta, gdp_epsilon
from verified_dp.adaptive.filters import GDPFilter
from verified_dp.cli import main
from verified_dp.core.families.batches.mechanism import TruncatedPoisson
from verified_dp.core.families.gaussian.mechanism import MixtureOfGaussians
from verified_dp.core.families.guarantees.mechanism import Renyi
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.kernel.composition import Claim
from verified_dp.core.kernel.dyadic import exact_ball
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.exact import fraction_text, square_root
from verified_dp.papers import accountant
from verified_dp.papers.ask import _largest, _reversed_text
from verified_dp.papers.individual.pld_filter import EpsilonRange, blackwell_mu
from verified_dp.papers.paper import PAPER_METHODS
from verified_dp.search.steps import align

PLAIN = compose((Gaussian("1.1"), 10))
SAMPLED = compose((PoissonSampled(Gaussian("1.1"), "0.01"), 100))
SCALES = ["1e99999", "1e-99999", "1e-160", "1e400", "1e-400"]


@pytest.fixture(autouse=True)
def no_warnings() -> object:
    """A warning of numpy would be printed between the answers."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def gaussian_delta(shift: Fraction, epsilon: Fraction, bits: int) -> arb:
    """Q(eps/mu - mu/2) - e^eps Q(eps/mu + mu/2), written out once more, with mu = shift."""
    with ctx.workprec(bits):
        mu, eps = arb(shift.numerator) / shift.denominator, arb(epsilon.numerator) / epsilon.denominator
        above, below = (((eps / mu + sign * mu / 2) / arb(2).sqrt()).erfc() / 2 for sign in (-1, 1))
        return above - eps.exp() * below


@pytest.mark.parametrize("noise", ["1e-99999", "1e-400", "1e-160"])
def test_a_plain_gaussian_with_hardly_any_noise_has_a_delta_next_to_1(noise: str) -> None:
    found = privacy_profile(compose(Gaussian(noise)), "add-or-remove").delta("1")
    assert found.status == "certified" and Fraction(1) - Fraction(1, 10**12) < found.lower < 1


@pytest.mark.parametrize(("noise", "low", "high"), [
    ("1e-8", "4.99e15", "5.001e15"), ("1e-10", "4.99e19", "5.001e19"), ("1e-12", "4.99e23", "5.001e23"),
    ("1e-30", "0", "5.001e59"), ("1e-100", "0", "5.001e199")])
def test_epsilon_of_a_plain_gaussian_with_hardly_any_noise(noise: str, low: str, high: str) -> None:
    """mu^2 / 2 + 4.3 mu, in a moment: the search crashed at 1e-30 and took half a minute at 1e-12."""
    started = time.process_time()
    found = privacy_profile(compose(Gaussian(noise)), "add-or-remove").epsilon("1e-5")
    assert time.process_time() - started < 5
    mu = 1 / Fraction(noise)
    assert Fraction(low) <= found.lower <= mu**2 / 2 + 5 * mu and mu**2 / 2 < found.upper <= Fraction(high)


@pytest.mark.parametrize("noise", [10**400, 10**160, 10**20])
def test_a_plain_gaussian_with_very_much_noise(noise: int) -> None:
    """delta(0) = 2 Phi(mu/2) - 1 is nearly mu / sqrt(2 pi), and eps(delta) is 0 above that."""
    profile = privacy_profile(compose(Gaussian(noise)), "add-or-remove")
    found, shift = profile.delta("0", digits=8), Fraction(1, noise)
    truth = gaussian_delta(shift, Fraction(0), 8000)
    with ctx.workprec(8000):
        assert exact_ball(found.lower) <= truth <= exact_ball(found.upper)
    assert found.status == "certified" and profile.epsilon("1e-5").upper == 0


@pytest.mark.parametrize(("noise", "delta"), [("1e400", "1e-450"), ("1e-400", "1e-5"), ("1e-99999", "1/2")])
def test_eps_of_a_plain_gaussian_beyond_floating_point_is_told_from_0_only(noise: str, delta: str) -> None:
    found = privacy_profile(compose(Gaussian(noise)), "remove").epsilon(delta)
    assert found.status == "wide" and found.lower == 0 and found.upper.is_infinite


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("relation", ["add-or-remove", "replace"])
def test_steps_of_any_scale_are_answered_or_refused(scale: str, relation: str) -> None:
    """Past the largest loss delta is 0, with any noise; elsewhere a refusal names the number and the range."""
    for step in (PoissonSampled(Gaussian(scale), "0.1"), Laplace(scale, 1), PoissonSampled(Laplace(scale, 1), "0.1")):
        profile = privacy_profile(compose((step, 3)), relation)
        for ask in (lambda p=profile: p.delta("1"), lambda p=profile: p.epsilon("1e-9")):
            try:
                assert ask().upper >= 0
            except Unsupported as error:
                assert "is outside of 1e" in str(error)
    assert privacy_profile(compose((Laplace("1e99999", 1), 3)), relation).delta("1").upper == 0


def test_other_scales_are_refused_too() -> None:
    mixture = MixtureOfGaussians("1", ["0", "1e-30", "1"], ["1/2", "1/4", "1/4"])
    for step in (mixture, Renyi(["2"], ["1e400"])):
        with pytest.raises(Unsupported, match="is outside of 1e"):
            privacy_profile(compose((step, 3)), "add-or-remove").delta("1")


@pytest.mark.parametrize("method", [*PAPER_METHODS])
@pytest.mark.parametrize("eps", ["1e400", "-1e400"])
@pytest.mark.parametrize("what", [PLAIN, SAMPLED])
def test_far_out_the_papers_methods_say_up_to_where_they_go(what: object, eps: str, method: str) -> None:
    with pytest.raises(Unsupported, match=r"eps must be from -1000000 to 1000000"):
        accountant(privacy_profile(what, "add-or-remove"), method).delta(eps)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [*PAPER_METHODS])
def test_past_the_largest_loss_they_answer_however_far(method: str) -> None:
    found = accountant(privacy_profile(compose((Laplace(2, 1), 10)), "remove"), method).delta("1e99999").enclosure
    assert found is not None and (found.upper == 0 or method == "renyi")


@pytest.mark.parametrize("method", ["saddlepoint", "berry-esseen", "edgeworth", "renyi"])
def test_a_million_and_minus_a_million(method: str) -> None:
    """delta(10^6) of ten steps of noise 1.1 is 4.19e-26274599020: no estimate of it fits a fraction."""
    asked = accountant(privacy_profile(PLAIN, "remove"), method)
    far, near = asked.delta(10**6), asked.delta(-(10**6))
    for result in (far, near):
        assert result.enclosure is not None or result.estimate is not None
    if far.estimate is not None:
        assert far.estimate.value.startswith("4.19") and far.estimate.value.endswith("e-26274599020")


def test_prv_says_where_delta_is_too_small_for_it() -> None:
    with pytest.raises(Unsupported, match=r"below e\^-20000"):
        accountant(privacy_profile(PLAIN, "remove"), "prv").delta(2000)


def test_estimates_of_any_exponent_are_compared_and_reversed() -> None:
    tiny, small = "3.5e-1000000000000", "9e-1000000000000"
    assert _largest([tiny, small]) == small and _largest([small, "0"]) == small and _largest([small, None]) is None
    assert _reversed_text(tiny, Fraction(-1)).startswith("0.632120558828558")


@pytest.mark.parametrize(("method", "key", "value"), [
    ("fourier", "n", "1e400"), ("fourier", "L", "1e400"), ("fourier", "L", "1e-400"), ("fourier", "tilt", "1e400"),
    ("prv", "mesh", "1e-400"), ("prv", "eps_error", "1e400"), ("prv", "delta_error", "1e-99999"),
    ("berry-esseen", "tilt", "1e-400"),
    ("berry-esseen", "constant", "1e99999"), ("renyi", "renyi_order", "1e400")])
def test_parameters_of_methods_have_a_range(method: str, key: str, value: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        accountant(privacy_profile(SAMPLED, "remove"), method, **{key: value})
    assert caught.value.key == f"{method}.{key}"


@pytest.mark.theorem("T15-gaussian")
def test_budgets_of_any_size() -> None:
    assert gdp_epsilon(Fraction(1, 2**1800), "1e-100").upper == 0
    assert gdp_delta("1e99999", 1).lower > Fraction(99, 100) and gdp_delta(1, "1e99999").upper < Fraction(1, 10**9)
    assert GDPFilter("1e99999").epsilon("1e-5").upper.is_infinite
    budget = gdp_budget("1e400", "1e-5", digits=6)
    assert abs(budget / (2 * Fraction(10) ** 400) - 1) < Fraction(1, 10**5)  # eps = mu^2 / 2 + O(mu)


def test_digits_of_an_estimated_mu_are_checked() -> None:
    with pytest.raises(InvalidInput, match="digits must be an integer from 1 to 1000"):
        blackwell_mu(PLAIN, "remove", EpsilonRange(0, 4, 3), digits=10**6)


@pytest.mark.long
def test_a_claim_of_a_thousand_digits() -> None:
    """Three more than it prints would be asked of eps; at most 1000 are."""
    text = "10." + "0" * 998 + "1"
    claim = Claim("t", "s", Fraction(text), Fraction(1, 10**5), text, "1e-5")
    delta, epsilon = privacy_profile(compose(Gaussian(1)), "remove").solve_claim(claim)
    assert delta.enclosure.upper < claim.delta and epsilon.enclosure.digits == 1000


def test_texts_of_long_numbers() -> None:
    long = Fraction(10**6000 + 1, 3)
    assert fraction_text(long) == "1" + "0" * 5999 + "1/3" and fraction_text(7) == "7"
    assert fraction_text(square_root(Fraction(2))) == "sqrt(2)"


@pytest.mark.parametrize(("noise", "command", "code"), [
    ("1e99999", "delta --epsilon 1", 0), ("1e-99999", "delta --epsilon 1", 0), ("1e99999", "epsilon --delta 1e-5", 0),
    ("1e-99999", "epsilon --delta 1e-5", 0), ("1.1", "delta --epsilon 1e400 --method saddlepoint", 3),
    ("1.1", "delta --epsilon 1 --method fourier --set n=1e400", 2), ("1e-160", "certify", 1)])
def test_exit_codes(noise: str, command: str, code: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(f'relation = "add-or-remove"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "{noise}"\n'
                    '[claim]\ntitle = "t"\nsource = "s"\nepsilon = "1"\ndelta = "1e-5"\n')
    name, *options = command.split()
    assert main([name, str(file), *options]) == code
    assert "internal error" not in capfd.readouterr().err


def test_the_saddle_is_found_where_newton_steps_go_to_and_fro() -> None:
    """q = .01, s = 1, 1000 steps at eps = 2.775: from 4.6 to 10.4 and back, for ever, without halving."""
    from verified_dp.search.one_direction import OneDirection

    profile = privacy_profile(compose((PoissonSampled(Gaussian("1"), "0.01"), 1000)), "remove")
    saddle = OneDirection(profile.losses[0]).saddle(Fraction(111, 40))
    assert 7 < saddle.tilt < 7.5 and profile.delta(Fraction(111, 40), 5).status == "certified"


@pytest.mark.parametrize("relation", ["remove", "add", "replace"])
def test_a_sampling_probability_next_to_one_is_answered(relation: str) -> None:
    nearly = compose((PoissonSampled(Gaussian("0.7"), 1 - Fraction(1, 10**17)), 2))
    every = compose((Gaussian("0.7"), 2))
    found, plain = (privacy_profile(one, relation).delta("1.5", 6) for one in (nearly, every))
    assert found.status == "certified" and abs(found.upper - plain.lower) < Fraction(1, 10**6)


def test_guesses_beyond_what_floats_hold() -> None:
    """Aliases of a sum that e^eps, or e^period, is too large for."""
    truncated = compose((TruncatedPoisson(Gaussian(6), "1/20", 1000, 14), 2))
    found = privacy_profile(truncated, "remove").epsilon("1e-300", 3)
    assert found.status == "certified" and found.upper < 10
    mixture = MixtureOfGaussians("3/4", list(range(6)), [Fraction(2 ** (5 - n), 63) for n in range(6)])
    certain = privacy_profile(compose((mixture, 1000)), "add-or-remove").delta("0.1", 3)
    assert certain.lower > Fraction(999, 1000)


def test_a_step_far_below_the_distances_of_atoms_divides_the_least() -> None:
    law = SimpleNamespace(anchors=[Fraction(0), Fraction(1, 3), Fraction(5, 2)])
    step = align(SimpleNamespace(parts=[(law, 1)]), 2.0**-90)  # type: ignore[arg-type]
    assert step <= Fraction(1, 2**90) and (Fraction(1, 3) / step).denominator == 1
