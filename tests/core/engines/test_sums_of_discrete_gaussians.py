"""Steps of discrete Gaussian noise as one of wider noise: against convolutions, the lattice and all outcomes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx

from verified_dp.certificate import certify
from verified_dp.core.engines import sums
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.few_steps import FewStepsWitness
from verified_dp.core.families.discrete import discrete_gaussian
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Claim, Relation, Spec, compose
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.profile import privacy_profile
from verified_dp.verifiers import independent


def steps(variance: Fraction, shift: int, count: int) -> ComposedLoss:
    return ComposedLoss("symmetric", ((DiscreteGaussianLoss(variance, shift), count),), Fraction(0))


def masses(variance: Fraction, reach: int) -> list[arb]:
    """Of -reach, ..., reach."""
    found = [(-ball(x * x / (2 * variance))).exp() for x in range(-reach, reach + 1)]
    total = sum(found, arb(0))
    return [mass / total for mass in found]


@pytest.mark.theorem("T224-sums-of-discrete-gaussians")
@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_ratios_of_sums(variance: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mass of the sum of a few over that of one wide one is within the error, and reaches a tenth of it."""
    monkeypatch.setattr(discrete_gaussian, "WIDE", 0)
    reach = 24
    with ctx.workprec(400):
        one = masses(variance, reach)
        total, worst = one, arb(0)
        for count in (2, 3):
            total = [sum((total[x - y + reach * (count - 1)] * one[y + reach]
                          for y in range(-reach, reach + 1) if abs(x - y) <= reach * (count - 1)), arb(0))
                     for x in range(-reach * count, reach * count + 1)]
            merged = DiscreteGaussianLoss(variance, 1).merged(count)
            assert merged is not None
            law, error = merged
            wide = masses(law.sigma_squared, reach * count)
            worst = arb(0)
            for x in range(-6, 7):
                ratio = total[x + reach * count] / wide[x + reach * count]
                worst = worst.max(abs(ratio - 1))
                assert abs(ratio - 1) <= error
            assert count > 2 or worst > error / 10


@pytest.mark.theorem("T224-sums-of-discrete-gaussians")
@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(1, 2)])
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("count", [2, 3])
def test_narrow_noise_is_enclosed(variance: Fraction, shift: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the error is large: delta of all outcomes lies within, at every eps, negative ones too."""
    monkeypatch.setattr(discrete_gaussian, "WIDE", 0)
    loss = steps(variance, shift, count)
    assert sums.is_merged(loss)
    for n in range(-6, 30):
        epsilon = Fraction(n * shift, 4)
        truth = evaluate(loss, FewStepsWitness((shift + 24,), (1,), 200)).delta(epsilon)
        found = sums.enclose_merged(loss, ball(epsilon))
        assert not found < truth.lower and not found > truth.upper


@pytest.mark.theorem("T224-sums-of-discrete-gaussians")
@pytest.mark.parametrize("count", [3, 7, 400])
@pytest.mark.parametrize("shift", [1, 3])
def test_wide_noise_by_two_ways(count: int, shift: int) -> None:
    """Lattices agree to all of their digits; delta of the middle and of the tail, to thirty digits by itself."""
    profile = privacy_profile(compose((DiscreteGaussian("9", shift), count)), "add-or-remove")
    for text in ("0.3", str(count * shift // 2)):
        found = profile.delta(text, digits=30)
        other = profile.delta(text, digits=5, method="lattice", max_seconds=2)
        assert (found.status, found.method) == ("certified", "closed-form")
        assert other.lower <= found.lower <= found.upper <= other.upper


def test_more_digits_than_one_step_tells() -> None:
    """Another method where the noise is too narrow for them."""
    profile = privacy_profile(compose((DiscreteGaussian("9", 1), 3)), "remove")
    few, many = profile.solve_delta("1", digits=30), profile.solve_delta("1", digits=45)
    assert [one.evaluations[0].witness.kind for one in (few, many)] == ["closed-form", "few-steps"]
    assert few.enclosure.lower <= many.enclosure.lower <= many.enclosure.upper <= few.enclosure.upper
    assert many.enclosure.status == "certified"


def test_certificates_are_checked_twice() -> None:
    claim = Claim("", "", "1", "0.016", "1", "0.016")
    certificate = certify(Spec(Relation.of("add-or-remove"), compose((DiscreteGaussian("9", 1), 3)), claim))
    assert {one["witness"]["kind"] for one in certificate["evaluations"]} == {"closed-form"}
    assert certificate.verify().valid
    assert independent.verify(certificate.to_bytes()).valid


@pytest.mark.theorem("T224-sums-of-discrete-gaussians")
def test_very_many_steps() -> None:
    loss = steps(Fraction(10**6), 1, 10**9)
    found = evaluate(loss, ClosedFormWitness(200)).delta(Fraction(600))
    assert 0 < found.lower < found.upper < 1
    assert found.upper - found.lower < found.upper * arb(10) ** -40
