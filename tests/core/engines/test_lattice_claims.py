"""What the lattice method promises, in numbers: known values, squared steps, tiny deltas, masses at infinity."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import count

import pytest
from flint import arb, ctx

from verified_dp.certificate import build_certificate
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.families.batches.mechanism import WithoutReplacement
from verified_dp.core.families.finite.atomic import OddsLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.certificate.document import sealed
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Relation, compose
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.profile import privacy_profile
from verified_dp.search.deadline import Budget
from verified_dp.search.lattice import plan_lattice
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.one_direction import OneDirection
from verified_dp.spec import parse_spec

MANY_LAPLACE = compose((Laplace("200", 1), 20_000))
MIXED = compose((PoissonSampled(Gaussian("1"), "1/100"), 500), (PoissonSampled(Gaussian("2"), "1/50"), 500),
                (Laplace("20", 1), 10), Gaussian("10"))


def lattice(loss: ComposedLoss, epsilon: object, width: float, seconds: float = 60.0) -> Bounds:
    run = OneDirection(loss).enclose_by("lattice", Fraction(epsilon), -math.log2(width), Budget(seconds))
    assert run is not None
    return run.bounds


def relative(bounds: Bounds) -> arb:
    return (bounds.upper - bounds.lower) / bounds.upper


@pytest.mark.parametrize(("epsilon", "known"), [("5", "8.04238154097380663e-13"), ("4", "6.13603599502317455e-9")])
def test_many_laplace_releases_to_twelve_digits(epsilon: str, known: str) -> None:
    found = privacy_profile(MANY_LAPLACE, "add-or-remove").delta(epsilon, digits=12)
    assert found.status == "certified" and found.contains(known)
    width = found.upper.as_fraction() - found.lower.as_fraction()
    assert width * 10**12 <= found.upper.as_fraction()


def test_epsilon_of_many_laplace_releases() -> None:
    found = privacy_profile(MANY_LAPLACE, "add-or-remove").epsilon("1e-12", digits=12)
    assert found.status == "certified" and found.lower_decimal.startswith("4.977957")
    assert found.upper.as_fraction() - found.lower.as_fraction() < Fraction(1, 10**11)


@pytest.mark.theorem("T222-lattice-on-a-circle")
def test_mixed_budget() -> None:
    """Sampled Gaussians of two kinds, Laplace and a Gaussian: the contour's digits, and the lattice around them."""
    known = Fraction("1.4422147059741257e-6")
    profile = privacy_profile(MIXED, "remove")
    assert profile.delta("2", digits=12).contains(known)
    rough = lattice(privacy_losses(MIXED, Relation.REMOVE)[0], 2, 1e-1)
    assert rough.lower < ball(known) < rough.upper and relative(rough) < arb("0.1")


@pytest.mark.theorem("T52-without-replacement", "T222-lattice-on-a-circle")
def test_sampling_without_replacement_covers_what_a_data_set_reaches() -> None:
    composition = compose((WithoutReplacement(Gaussian("4"), "1/100"), 1000))
    found = privacy_profile(composition, "replace").delta("1", digits=4)
    assert found.status == "certified" and found.upper > Fraction("3.99184954725e-10")
    assert Fraction("1.4855e-8") < found.lower < found.upper < Fraction("1.4857e-8")


SMOOTH: tuple[Law, int] = (SampledLoss(LaplaceLoss(Fraction(1, 2), "remove"), Fraction(1, 5), "remove"), 40)
ATOMIC: tuple[Law, int] = (LaplaceLoss(Fraction(1, 10)), 60)


@pytest.mark.theorem("T26-connect-the-dots", "T27-convex-minorant")
@pytest.mark.parametrize("part", [SMOOTH, ATOMIC], ids=["sampled-laplace", "laplace"])
def test_gap_shrinks_like_the_squared_step_with_atoms(part: tuple[Law, int]) -> None:
    """Both laws have atoms at their ends, which the grid is put on."""
    loss = ComposedLoss("remove", (part,), Fraction(0))
    model, widths = LatticeModel(loss), []
    span = max(model.parts[0][0].anchors) - min(model.parts[0][0].anchors)
    for parts in (24, 48, 96):
        plan = plan_lattice(model, 1.0, 1e-7, span / parts)
        assert plan.witness is not None
        widths.append(float(relative(evaluate(loss, plan.witness).delta(Fraction(1)))))
    assert 3.2 < widths[0] / widths[1] < 4.8 and 3.2 < widths[1] / widths[2] < 4.8


@pytest.mark.theorem("T222-lattice-on-a-circle")
def test_a_delta_of_1e_300_has_relative_accuracy() -> None:
    loss = ComposedLoss("remove", (), Fraction(1))
    found = lattice(loss, "377/10", 1e-2)
    exact = evaluate(loss, ClosedFormWitness(1500)).delta(Fraction(377, 10))
    assert arb("1e-305") < exact.lower and exact.upper < arb("1e-300")
    assert found.lower <= exact.lower and exact.upper <= found.upper and relative(found) < arb("0.011")


@pytest.mark.theorem("T222-lattice-on-a-circle", "T44-infinity-mass")
@pytest.mark.parametrize("sparse", [False, True])
def test_mass_at_infinity_is_exact(sparse: bool) -> None:
    """Right of all finite losses nothing else is left; below, it is added to what the finite ones give."""
    loss = ComposedLoss("symmetric", ((OddsLoss(Fraction(1, 10), Fraction(1, 10**6), 0), 50),), Fraction(0))
    plan = plan_lattice(LatticeModel(loss), 1.0, 1e-6, sparse=sparse)
    assert plan.witness is not None and plan.witness.in_integers != sparse
    values = evaluate(loss, plan.witness)
    with ctx.workprec(128):
        mass = ball(1 - (1 - Fraction(1, 10**6)) ** 50)
        past = values.delta(Fraction(51, 10))
        assert abs(past.lower - mass) < arb("1e-30") and mass <= past.upper < mass * (1 + arb("1e-5"))
    inside, exact = values.delta(Fraction(1)), OneDirection(loss).enclose(
        Fraction(1), 60.0, "closed-form", Budget(20)).bounds
    assert inside.lower <= exact.lower and exact.upper <= inside.upper and relative(inside) < arb("1e-6")
    assert inside.lower > mass


@pytest.mark.theorem("T222-lattice-on-a-circle")
def test_certificates_of_sparse_frequencies() -> None:
    """Written and re-evaluated; a frequency less, or another period, does not prove the recorded enclosure."""
    spec = parse_spec("""relation = "replace"
[[mechanism]]
kind = "gaussian"
noise_multiplier = "4"
sampling = { scheme = "without-replacement", probability = "1/100" }
count = 1000
[claim]
title = "t"
source = "s"
epsilon = "1"
delta = "1e-7"
""")
    assert spec.claim is not None
    profile = privacy_profile(spec)
    certificate = build_certificate(spec, *profile.solve_claim(spec.claim, 3))
    entry = certificate["evaluations"][0]
    assert certificate["verdict"] == "proved" and entry["witness"]["kind"] == "circle"
    assert verify(certificate).valid
    assert {"T222-lattice-on-a-circle"} <= set(certificate["theorems"])
    fewer = entry["witness"]["count"] - 4
    blocks = entry["witness"]["cover"]
    altered = {**entry, "witness": {**entry["witness"], "count": fewer, "cover": [[1, 4], *blocks]}}
    certificate["evaluations"][0] = altered
    assert not verify(sealed({key: value for key, value in certificate.items() if key != "hashes"})).valid


@pytest.mark.long
def test_a_run_ends_with_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hard case with five seconds of a clock that moves by a tenth whenever it is read: wide, and not much later."""
    composition, clock = compose((WithoutReplacement(Gaussian("4"), "1/100"), 1000)), count(0)
    monkeypatch.setattr("time.perf_counter", lambda: next(clock) / 10)
    found = privacy_profile(composition, "replace").delta("16", digits=6, max_seconds=5)
    assert found.status == "wide" and next(clock) / 10 < 15
    assert found.lower < Fraction("2.419e-239") < found.upper
