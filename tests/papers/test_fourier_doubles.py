"""Samples and transforms in double precision (T173) against balls, and errors put in by hand, which must show."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx

from verified_dp import Gaussian, PoissonSampled, Relation, compose, privacy_profile
from verified_dp.core.engines.lines import lines
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.papers import accountant
from verified_dp.papers.fourier import doubles
from verified_dp.papers.fourier.bounds_samples import take_samples
from verified_dp.papers.fourier.doubles import DoubleSamples, Rounded, factors_of, fits, transform_real

F = Fraction
pytestmark = pytest.mark.theorem("T173-samples-in-doubles")
LAWS = [("remove", "1/100", "3/2", (-1400, 9000)), ("add", "1/10", "1", (-9000, 2000)),
        ("symmetric", "1/50", "2", (-5000, 5000)), ("remove", "9/10", "1/2", (-100, 9000))]


def samples_of(order: str, q: str, s: str, window: tuple[int, int], step: Fraction) -> DoubleSamples:
    return DoubleSamples(SampledGaussianLoss(F(q), F(s), order), window, step)


def misses(samples: DoubleSamples, exponent: Fraction, places: list[int]) -> tuple[float, float]:
    """(by how much these samples miss those by balls, what is said of all)."""
    with ctx.workprec(150):
        found, lost = samples.weights(ball(exponent))
        total = arb(0)
        for place in places:
            x = ball((samples.window[0] + place) * samples.step)
            exact = ball(samples.step) * samples.law.enclose_density(x) * (ball(exponent) * x).exp()
            total += abs(exact - arb(float(found[place]))).lower()
    return float(total), lost


@pytest.mark.parametrize(("order", "q", "s", "window"), LAWS)
@pytest.mark.parametrize("step", [F(3, 400_000), F(1, 1024)])
def test_samples_are_the_densitys(order: str, q: str, s: str, window: tuple[int, int], step: Fraction) -> None:
    """Far out, and next to the end of the support, where the logarithm of nothing is taken."""
    samples = samples_of(order, q, s, window, step)
    end = round(np.log(float(1 - F(q))) / float(step))
    near = [place - window[0] + i for place in (end, -end) for i in range(-3, 4)]
    places = random.Random(3).sample(range(window[1] - window[0]), 300) + near
    missed, lost = misses(samples, F(2), sorted({p for p in places if 0 <= p <= window[1] - window[0]}))
    with ctx.workprec(100):
        assert missed <= lost < 1e-11 * float(samples.sum_at(arb(2)))


@pytest.mark.parametrize("function", ["exponential", "logarithm"])
def test_a_wrong_function_shows(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """An exponential that is off by 2^-38 is outside of the bound; a wrong logarithm is seen, and widens it."""
    samples = samples_of(*LAWS[0], F(1, 1024))
    places = list(range(1400, 1900))
    with ctx.workprec(150):
        _, usual = samples.weights(ball(2))
    if function == "exponential":
        right = doubles.exponential
        monkeypatch.setattr(doubles, "exponential", lambda x: right(x) * (1 + np.where(x < -1, 2.0**-38, 0.0)))
        missed, lost = misses(samples, F(2), places)
        assert missed > lost
        return
    log = np.log
    monkeypatch.setattr(np, "log", lambda x: log(x) + 1e-9)
    missed, lost = misses(samples, F(2), places)
    assert missed <= lost and lost > 1000 * usual


def test_each_operation_holds_what_it_stands_for() -> None:
    """Real numbers at the ends of the operands, at 200 bits, against the result."""
    rng = random.Random(7)
    with ctx.workprec(200):
        for _ in range(300):
            x, y = (arb(10.0 ** rng.uniform(-3, 2)) / 3 for _ in range(2))
            e, f = (arb(2.0) ** rng.choice([-60, -50, -30]) * z for z in (x, y))
            one, other = (Rounded(np.array([float(z)]), np.array([float(d) * 1.001 + float(z) * 2.0**-52]))
                          for z, d in ((x, e), (y, f)))
            for sign in (-1, 1):
                a, b = x + sign * e, y - sign * f
                pairs = [(one + other, a + b), (one - other, a - b), (one * other, a * b), (one / other, a / b),
                         (one.exp(), a.exp()), (one.expm1(), a.expm1()), (one.log(), a.log()), (one.sqrt(), a.sqrt())]
                for found, exact in pairs:
                    near, error = float(found.near[0]), float(found.error[0])
                    assert abs(exact - arb(near)) <= arb(error) and error < 1e-6 * (1 + abs(near) * (1 + float(x)))


def test_indices_that_are_no_doubles_are_enclosed_by_balls() -> None:
    """Past 2^53, where every other integer is lost: to the last bits of a double, not to those of the logarithms."""
    samples = samples_of("remove", "1/2", "1", (2**58 + 1, 2**58 + 60), F(3, 2**60))
    missed, lost = misses(samples, F(2), list(range(60)))
    with ctx.workprec(100):
        assert missed <= lost < 2.0**-50 * float(samples.sum_at(arb(2)))


def test_an_error_that_underflows_is_not_lost_in_a_quotient() -> None:
    quotient = Rounded(np.array([2e-309]), np.zeros(1)) / Rounded(np.array([1e-260]), np.array([1e-275]))
    assert F(2e-309) / F(1e-260 - 1e-275) - F(float(quotient.near[0])) <= F(float(quotient.error[0]))


def test_outside_of_their_domains_nothing_is_known() -> None:
    bad = Rounded(np.array([-1.0, 0.0, 1e4]), np.array([0.0, 0.0, 0.0]))
    with np.errstate(invalid="ignore"):
        assert np.isinf(bad.expm1().error[[0, 2]]).all()
    assert np.isinf(bad.exp().error[2]) and np.isinf(bad.log().error[:2]).all() and np.isinf(bad.sqrt().error[0])
    assert np.isinf((bad / Rounded(np.ones(3), np.ones(3))).error).all()


@pytest.mark.parametrize("points", [2, 12, 30, 210, 256, 1000])
def test_transforms(points: int) -> None:
    values = np.random.default_rng(points).exponential(size=points)
    found, share = transform_real(values)
    with ctx.workprec(100):
        exact = acb.dft([acb(float(v)) for v in values], True)
    worst = max(abs(complex(found[r]) - points * complex(float(exact[r].real), float(exact[r].imag)))
                for r in range(points))
    assert worst <= share * values.sum() < 1e-12 * values.sum()


def test_a_wrong_turn_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    right = doubles._turns
    monkeypatch.setattr(doubles, "_turns", lambda *shape: tuple(part + 2.0**-40 for part in right(*shape)))
    values = np.ones(256) + np.arange(256) % 3
    found, share = transform_real(values)
    assert abs(found - np.conj(np.fft.fft(values))).max() > share * values.sum()


def test_which_lengths_are_transformed() -> None:
    assert factors_of(3_200_000) == [200, 160, 100] and factors_of(7) == [7, 1, 1]
    assert fits(3_200_000) and not fits(2 * 1_000_003) and not fits(2**26)


@pytest.mark.parametrize(("relation", "q", "s", "count", "epsilon"), [
    ("remove", "1/100", "1", 1000, "2"), ("add", "1/10", "2", 300, "1/2"), ("replace", "1/20", "2", 300, "1")])
@pytest.mark.parametrize("digits", [3, 6])
def test_the_asked_width_is_reached_by_the_proved_errors(
        relation: str, q: str, s: str, count: int, epsilon: str, digits: int) -> None:
    """L and n for a relative width of 10^-digits, and the truth inside."""
    profile = privacy_profile(compose((PoissonSampled(Gaussian(s), q), count)), relation)
    truth, found = profile.delta(epsilon, digits=12), accountant(profile, "fourier").delta(epsilon, digits=digits)
    assert found.enclosure is not None and "doubles" in found.parameters["discretisation"]
    lower, upper = found.enclosure.lower.as_fraction(), found.enclosure.upper.as_fraction()
    assert lower <= truth.upper.as_fraction() and truth.lower.as_fraction() <= upper
    assert upper - lower <= upper / 10**digits


def test_doubles_and_balls_agree() -> None:
    loss = privacy_losses(compose((PoissonSampled(Gaussian("3/2"), "1/50"), 200)), Relation.of("remove"))[0]
    (law, _), = lines(loss).sampled_parts
    with ctx.workprec(100):
        one = DoubleSamples(law, (-30, 2000), F(1, 512))
        other = take_samples(law, (-30, 2000), F(1, 512))
        (found, rest), (exact, most) = (samples.transform(ball(2), 1500, 40) for samples in (one, other))
        assert all(a.overlaps(b) and a.rad() < arb("1e-11") for a, b in zip(found, exact, strict=True))
        assert most <= rest <= most * arb("1.0001")
        assert one.sum_at(ball(3)).overlaps(other.sum_at(ball(3)))
