"""Point samples of the density of the loss: aliases, samples left out, and delta from them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import ModuleType

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx

from verified_dp import Gaussian, PoissonSampled, Relation, compose
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import bound_chernoff_factor
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.papers.fourier.bounds_samples import (
    SampleValues,
    SampleWitness,
    Strip,
    _bound_left,
    bound_aliases,
    bound_far_transforms,
    bound_outside,
    enclose_by_samples,
    enclose_real_moment,
    evaluate_samples,
    take_samples,
)
from verified_dp.papers.fourier.choose import Asked, choose_samples
from verified_dp.profile import privacy_profile

F = Fraction
CASES = [(order, q, s) for order in ("remove", "add", "symmetric") for q, s in ((F(1, 10), F(1)), (F(1, 2), F(3, 4)))]


def law_of(order: str, q: Fraction, s: Fraction) -> SampledGaussianLoss:
    return SampledGaussianLoss(q, s, order)


def strip(law: SampledGaussianLoss, share: Fraction, exponent: int = 6) -> Strip:
    """A line at a share of the strip of analyticity."""
    height = share * F(314, 100) * law.noise_multiplier**2
    return Strip(height, law.noise_multiplier / 16, -16 * 9, 16 * (9 + 3 * exponent))


@pytest.mark.theorem("T82-point-sampling")
@pytest.mark.parametrize(("order", "q", "s"), CASES)
def test_far_transforms_are_bounded(oracle: ModuleType, order: str, q: Fraction, s: Fraction) -> None:
    """By quadrature on the real line: the sum over the first aliases is within the bound, which is not far above it."""
    law, c, frequency, period = law_of(order, q, s), 1, 6, 12
    values = [abs(oracle.transform(order, q, s, mpmath.mpc(c, frequency + m * period))) for m in range(3)]
    with ctx.workprec(100):
        bound = min((bound_far_transforms(law, strip(law, share), arb(c), arb(frequency), arb(period))
                     for share in (F(1, 10), F(1, 4), F(2, 5), F(1, 2), F(3, 5))), key=float)
    assert float(sum(values)) <= float(bound) < 60 * float(values[0])


@pytest.mark.theorem("T82-point-sampling")
@pytest.mark.theorem("T83-sample-tails")
@pytest.mark.parametrize(("order", "q", "s"), CASES)
@pytest.mark.parametrize("step", [F(1, 2), F(1, 8)])
def test_moments_from_samples(
        oracle: ModuleType, order: str, q: Fraction, s: Fraction, step: Fraction) -> None:
    """A coarse mesh has visible aliases, and is charged for them; a fine one has none."""
    law, exponent = law_of(order, q, s), F(3, 2)
    truth = oracle.transform(order, q, s, mpmath.mpf("1.5"))
    with ctx.workprec(120):
        reach = int(20 / step)
        samples = take_samples(law, (-reach, reach), step)
        found = min((enclose_real_moment(samples, strip(law, share), ball(step), ball(exponent))
                     for share in (F(1, 10), F(1, 4), F(2, 5), F(1, 2), F(3, 5))), key=lambda x: float(x.rad()))
        error = abs(found.mid() - arb(mpmath.nstr(mpmath.re(truth), 35)))
        assert error <= found.rad() + arb("1e-30")
        assert step < F(1, 2) or (error > 0 and error > found.rad() / 1000)


@pytest.mark.theorem("T83-sample-tails")
@pytest.mark.parametrize(("order", "q", "s"), CASES)
def test_samples_left_out(order: str, q: Fraction, s: Fraction) -> None:
    """The sum over what a short window leaves out is within the bound, and at least a thousandth of it."""
    law, step, exponent = law_of(order, q, s), F(1, 32), arb(1) / 4
    with ctx.workprec(100):
        low, high = (-9 if order != "remove" else -1), (9 if order != "add" else 1)
        low, high = int(low / step), int(high / step)
        samples = take_samples(law, (low, high), step)
        bound = bound_outside(law, samples.ends, (low, high), ball(step), exponent)
        outside = [*range(low - 1500, low), *range(high + 1, high + 1500)]
        total = sum((ball(step) * law.enclose_density(ball(i * step)) * (exponent * ball(i * step)).exp()
                     for i in outside), arb(0))
        assert bound.is_finite() and total <= bound <= 1000 * total + arb("1e-300")


def test_a_window_that_is_too_short_is_not_bounded() -> None:
    law = law_of("remove", F(1, 10), F(1))
    with ctx.workprec(64):
        for window in ((0, 300), (-10, 10)):  # cuts the support; a rate that is not positive
            samples = take_samples(law, window, F(1, 16))
            assert not bound_outside(law, samples.ends, window, arb(1) / 16, arb(2)).is_finite()


SETTINGS = [("remove", "0.02", "1.5", 1000, "1/2"), ("add", "0.1", "2", 300, "1/2"), ("replace", "0.05", "2", 300, "1")]


@pytest.mark.theorem("T84-sampled-enclosure")
@pytest.mark.parametrize(("relation", "q", "s", "count", "epsilon"), SETTINGS)
def test_delta_from_samples(relation: str, q: str, s: str, count: int, epsilon: str) -> None:
    """From many samples to seven digits; from too few only as wide as their aliases are."""
    composition = compose((PoissonSampled(Gaussian(s), q), count), Gaussian("5"))
    loss = privacy_losses(composition, Relation.of(relation))[0]
    truth = privacy_profile(composition, relation).delta(epsilon, digits=15)
    eps, widths = F(epsilon), []
    for points in (None, 0):
        chosen = choose_samples(loss, float(eps), 27.0, Asked())
        if points is not None:
            chosen = choose_samples(loss, float(eps), 27.0, Asked(chosen.half_length, chosen.points // 8))
        found = enclose_by_samples(evaluate_samples(loss, chosen), eps)
        with ctx.workprec(120):
            low, high = ball(truth.lower.as_fraction()), ball(truth.upper.as_fraction())
            assert found.lower <= high and low <= found.upper
        widths.append(float((found.upper - found.lower) / found.upper))
    assert widths[0] < 1e-7 < widths[1]


@pytest.mark.theorem("T84-sampled-enclosure")
@pytest.mark.parametrize("half_length", ["1/2", "1", "2"])
def test_a_short_window_costs_width(half_length: str) -> None:
    composition = compose((PoissonSampled(Gaussian("1"), "0.05"), 100))
    loss = privacy_losses(composition, Relation.of("remove"))[0]
    chosen = choose_samples(loss, 1.0, 30.0, Asked(F(half_length), 256))
    found = enclose_by_samples(evaluate_samples(loss, chosen), F(1))
    truth = privacy_profile(composition, "remove").delta(1)
    assert found.lower <= ball(truth.upper.as_fraction()) and ball(truth.lower.as_fraction()) <= found.upper
    assert found.budget["periodisation"] > 1e-9


def test_side_conditions() -> None:
    loss = privacy_losses(compose((PoissonSampled(Gaussian("1"), "0.05"), 100)), Relation.of("remove"))[0]
    good = choose_samples(loss, 1.0, 20.0, Asked())
    changes: list[dict[str, object]] = [
        {"half_length": F(0)}, {"points": 33}, {"tilt": F(0)}, {"right": good.tilt}, {"left": good.tilt}, {"count": 0},
        {"count": good.points}, {"near": ()}, {"ranges": ((3, 2),)}]
    for change in changes:
        with pytest.raises(InvalidInput, match="side conditions"):
            evaluate_samples(loss, replace(good, **change))  # type: ignore[arg-type]
    assert isinstance(good, SampleWitness)


@pytest.mark.theorem("T82-point-sampling")
@pytest.mark.parametrize(("order", "q", "s"), CASES)
@pytest.mark.parametrize("cells", [1, 2, 16])
def test_wide_cells_bound_the_whole_line(oracle: ModuleType, order: str, q: Fraction, s: Fraction, cells: int) -> None:
    """Every cell is charged for its slowest decay: the exact integrand of (3) over the line, by quadrature."""
    law, c, height = law_of(order, q, s), 1.0, F(3, 4) * s**2
    wide = Strip(height, s / cells, -9 * cells, 24 * cells)
    nodes, weights = np.polynomial.legendre.leggauss(10)
    edges = np.linspace(float(wide.first * wide.width), float(wide.last * wide.width), 3001)
    half = (edges[1] - edges[0]) / 2
    t = edges[:-1, None] + half + half * nodes
    side = -1j if order == "add" else 1j

    def size(z: complex) -> np.ndarray:
        return oracle.log_modulus(order, float(q), float(s), z, t + side * float(height))

    base, decay = size(complex(c)), size(complex(c)) - size(complex(c, 1))
    for frequency, period in ((3.0, 7.0), (25.0, 50.0), (90.0, 4.0)):
        line = half * float((weights * np.exp(base - frequency * decay) * (1 + 1 / (period * decay))).sum())
        with ctx.workprec(100):
            bound = bound_far_transforms(law, wide, arb(c), arb(frequency), arb(period))
        assert line <= float(bound) * (1 + 1e-9)
        assert cells < 16 or frequency > 25 or float(bound) < 10 * line


@pytest.mark.theorem("T84-sampled-enclosure", "T82-point-sampling")
@pytest.mark.parametrize("count", [1, 3])
def test_the_aliases_of_both_sides_are_charged(count: int) -> None:
    """B(Omega) + B(Omega - w) of T82 for every frequency that is summed, w at most m0 pi / L."""
    law, line = law_of("remove", F(1, 10), F(1)), strip(law_of("remove", F(1, 10), F(1)), F(2, 5))
    loss = privacy_losses(compose(PoissonSampled(Gaussian("1"), "0.1")), Relation.of("remove"))[0]
    witness = SampleWitness(F(20), 128, F(1), ((-64, 400),), (line,), (line,), F(2), F(1, 2), count, 120)
    values = evaluate_samples(loss, witness)
    with ctx.workprec(120):
        period, eta = 2 * arb.pi() / ball(witness.step), arb.pi() / 20
        sides = sum((bound_far_transforms(law, line, arb(1), frequency, period)
                     for frequency in (period, period - count * eta)), arb(0))
        expected = sum(((2 if r else 1) * sides / abs(acb(1, r * eta) * acb(2, r * eta)) for r in range(count + 1)),
                       arb(0))
        assert values.aliases >= expected * (1 - arb("1e-12")) and values.aliases <= expected * (1 + arb("1e-12"))


@pytest.mark.theorem("T04-alias-bounds")
@pytest.mark.parametrize(("tilt", "left", "right"), [("19/10", "0", "2"), ("1/10", "0", "2"), ("1", "1/2", "6")])
def test_aliases_of_delta_on_either_side(oracle: ModuleType, tilt: str, left: str, right: str) -> None:
    """The sum of e^{2 c L m} D(eps + 2 L m) over m != 0 of a Gaussian loss: what one side may add, and both."""
    shift, half_length, line = F(1), F(3), Strip(F(1), F(1), 0, 1)
    witness = SampleWitness(half_length, 8, F(tilt), ((0, 1),), (line,), (line,), F(right), F(left), 1, 64)

    def mass(exponent: Fraction) -> arb:
        """C(l) M(l); 1 at 0."""
        log_mass = ball(exponent * (exponent + 1) * shift / 2)
        return log_mass.exp() * bound_chernoff_factor(ball(exponent)) if exponent else arb(1)

    with ctx.workprec(64):
        bound = bound_aliases(SampleValues(witness, [], arb(0), arb(0), arb(0), mass(F(right)), mass(F(left))), F(1, 2))
    sides = [mpmath.fsum(mpmath.exp(2 * oracle.real(F(tilt) * half_length) * m) * oracle.gaussian_delta(
        1, F(1, 2) + 2 * half_length * m) for m in range(sign, 60 * sign, sign)) for sign in (-1, 1)]
    assert sum(sides) <= oracle.real(bound)


@pytest.mark.theorem("T04-alias-bounds")
def test_the_right_aliases_alone_come_near_their_bound() -> None:
    """C(l) M(l) e^{-l eps} / (e^{2 (l - c) L} - 1) on the right, the same on the left: neither is forgotten."""
    line = Strip(F(1), F(1), 0, 1)
    witness = SampleWitness(F(3), 8, F(19, 10), ((0, 1),), (line,), (line,), F(2), F(1, 4), 1, 64)
    with ctx.workprec(64):
        both, *alone = (bound_aliases(SampleValues(witness, [], arb(0), arb(0), arb(0), right, left), F(1, 2))
                        for right, left in ((arb(3), arb(5)), (arb(3), arb(0)), (arb(0), arb(5))))
        expected = [3 * (-arb(1)).exp() / ball(F(3, 5)).expm1(), 5 * (-ball(F(1, 8))).exp() / ball(F(99, 10)).expm1()]
        for found, exact in zip((both, *alone), (sum(expected), *expected), strict=True):
            assert abs(found - exact) < exact * arb("1e-15")


@pytest.mark.theorem("T82-point-sampling")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
@pytest.mark.parametrize("s", [F(1), F(3, 2)])
@pytest.mark.parametrize("period", [1 / 8, 200.0])
def test_the_line_left_of_the_cells_is_bounded(oracle: ModuleType, order: str, s: Fraction, period: float) -> None:
    """By quadrature at frequency 0, where nothing decays: the bound is nearly attained for long and short periods."""
    law, height, end = law_of(order, F(1, 10), s), F(1, 2) * s**2, -F(1, 2)
    nodes, weights = np.polynomial.legendre.leggauss(10)
    edges = np.linspace(-float(12 * s) - 12, float(end), 2001)
    half = (edges[1] - edges[0]) / 2
    t = edges[:-1, None] + half + half * nodes + (-1j if order == "add" else 1j) * float(height)
    base = oracle.log_modulus(order, 0.1, float(s), 0.1 + 0j, t)
    turn = base - oracle.log_modulus(order, 0.1, float(s), 0.1 + 1j, t)
    line = half * float((weights * np.exp(base) * (1 + 1 / (period * turn))).sum())
    with ctx.workprec(100):
        bound = float(_bound_left(law, arb("0.1"), ball(height), ball(end), arb(period)))
        short = Strip(height, F(1, 2), -1, 40)
        whole = bound_far_transforms(law, short, arb("0.1"), arb("0.001"), arb(period))
        cells = bound_far_transforms(law, replace(short, first=-40), arb("0.1"), arb("0.001"), arb(period))
    assert line <= bound * (1 + 1e-9)
    assert order == "symmetric" or bound < 2.5 * line
    assert float(whole) >= bound and float(cells) * 1.01 >= line
