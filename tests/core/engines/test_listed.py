"""Atoms on no grid: sums of transforms on a line against enumeration, the lattice, and hostile witnesses."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from enumeration import enumerated, finite_law
from flint import arb, ctx

from verified_dp.certificate import certify
from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.listed import Tilted, bound_band, bound_by_angle
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian
from verified_dp.core.families.finite.atomic import FiniteLoss, OddsLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.certificate.witness import read_witness, witness_record
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Claim, Relation, Spec, compose
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.ends import ball_of
from verified_dp.profile import privacy_profile
from verified_dp.search.lattice_model import LatticeModel, Outcomes
from verified_dp.search.outcomes import plan_outcomes


def planned(loss: ComposedLoss, epsilon: Fraction, bits: float = 14) -> LineWitness:
    model = LatticeModel(loss)
    plan = plan_outcomes(model, float(epsilon), model.saddle(float(epsilon)), bits, 5.0)
    assert plan is not None
    return plan.witness


PLAIN = LineWitness(Fraction(1, 2), Fraction(1, 8), 4000, (), (), Fraction(2), Fraction(1, 16), 100, (40,))
"""Many frequencies, no cells."""


def noise(order: str, variance: Fraction = Fraction(2), q: Fraction = Fraction(1, 10)) -> SampledLoss:
    return SampledLoss(DiscreteGaussianLoss(variance, 1), q, order)


@pytest.mark.theorem("T192-line")
@pytest.mark.parametrize("seed", range(12))
def test_products_of_finite_laws(seed: int) -> None:
    """Whatever the line and its cells, and with many frequencies closely."""
    rng = random.Random(seed)
    parts = [(finite_law(rng, 3, seed % 2 == 0), rng.randint(2, 3)), (finite_law(rng, 2, False), rng.randint(1, 2))]
    loss, epsilon = ComposedLoss("remove", tuple(parts), Fraction(0)), Fraction(rng.randint(1, 9), 10)
    truth = enumerated(parts, epsilon)
    wild = LineWitness(Fraction(rng.randint(1, 40), 8), Fraction(rng.randint(1, 30), 16), rng.randint(1, 40), (), (),
                       Fraction(rng.randint(41, 99), 8), Fraction(rng.choice([0, 1]), 16), 80, (0, 0),
                       ((rng.randint(1, 9), rng.randint(1, 5)), (rng.randint(1, 9), rng.randint(1, 50))))
    narrow = evaluate(loss, replace(PLAIN, reaches=(0, 0))).delta(epsilon)
    for bounds in (evaluate(loss, wild).delta(epsilon), narrow):
        assert not truth < bounds.lower
        assert not truth > bounds.upper
    assert narrow.upper - narrow.lower < arb(1) / 40


@pytest.mark.theorem("T192-line")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_sampled_discrete_gaussian_meets_the_lattice(order: str) -> None:
    loss, epsilon = ComposedLoss(order, ((noise(order), 1000),), Fraction(0)), Fraction(6)
    ours = evaluate(loss, planned(loss, epsilon)).delta(epsilon)
    profile = privacy_profile(compose((PoissonSampled(DiscreteGaussian(2, 1), "0.1"), 1000)), order)
    lattice = profile.delta(6, digits=2, method="lattice")
    assert ball_of(lattice.lower) < ours.upper
    assert ours.lower < ball_of(lattice.upper)
    assert ours.upper - ours.lower < ours.upper / 2**10


@pytest.mark.theorem("T192-line")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_listed_outcomes_are_all_but_the_rest(order: str) -> None:
    """Their masses, and those times e^-loss, are 1 but for the rest; fewer of them widen the enclosure, both ways."""
    with ctx.workprec(100):
        for law in (noise(order), noise(order).base):
            listed = law.enclose_listed(9)
            assert listed is not None
            for missing in (1 - sum((p for _, p in listed.atoms), arb(0)),
                            1 - sum((p * (-loss).exp() for loss, p in listed.atoms), arb(0))):
                assert 0 < missing < listed.rest
    loss, epsilon = ComposedLoss(order, ((noise(order), 5),), Fraction(0)), Fraction(1, 2)
    good, poor = (evaluate(loss, replace(PLAIN, reaches=(reach,))).delta(epsilon) for reach in (40, 4))
    assert poor.lower < good.upper
    assert good.lower < poor.upper
    assert poor.budget["truncation"] > good.budget["truncation"]


@pytest.mark.theorem("T189-angle")
@pytest.mark.parametrize("seed", range(6))
def test_cells_bound_the_transform(seed: int) -> None:
    """Everywhere in a cell; with half of the deviation, somewhere not."""
    rng = random.Random(seed)
    with ctx.workprec(80):
        losses = [arb(rng.randint(-99, 99)) / 50 for _ in range(rng.randint(2, 5))]
        tilted, width = Tilted(losses, [arb(rng.randint(1, 30)) / 40 for _ in losses]), arb(rng.randint(2, 9)) / 10
        reach, total = width / 2, sum(tilted.weights, arb(0))
        sloppy, missed = Tilted(losses, tilted.weights), 0
        sloppy.__dict__["deviation"] = tilted.deviation / 2
        bounds = zip(*(one.bound_cells(arb(2), width, reach, 12) for one in (tilted, sloppy)), strict=True)
        for n, (bound, wrong) in enumerate(bounds):
            points = [arb(2) + width * (n + arb(j) / 20) for j in range(-10, 11)]
            sizes = [abs(tilted.sums([tilted.weights], point, arb(1), 1)[0][0]) for point in points]
            assert not any(size > bound for size in sizes)
            assert bound < total + arb(2) ** -60
            missed += any(size > wrong for size in sizes)
        assert missed


@pytest.mark.theorem("T189-angle")
@pytest.mark.parametrize("seed", range(4))
def test_cells_bound_the_transform_by_some_atoms(seed: int) -> None:
    """By those in a window and the weights of all others; without these, somewhere not."""
    rng, missed = random.Random(seed), 0
    with ctx.workprec(80):
        losses = [arb(rng.randint(-99, 99)) / 50 for _ in range(6)]
        tilted = Tilted(losses, [arb(rng.randint(1, 30)) / 40 for _ in losses])
        near = tilted.within(arb(-1), arb(1))
        assert near.total.overlaps(tilted.total)
        sloppy = Tilted(near.losses, near.weights)
        sloppy.__dict__["deviation"] = tilted.deviation
        bounds = zip(*(one.bound_cells(arb(1), arb(1) / 20, arb(1) / 40, 300) for one in (near, sloppy)), strict=True)
        for n, (bound, wrong) in enumerate(bounds):
            size = abs(tilted.sums([tilted.weights], arb(1) + arb(n) / 20, arb(1), 1)[0][0])
            assert not size > bound
            missed += size > wrong
        assert missed or len(near.losses) == len(losses)


@pytest.mark.theorem("T192-line")
def test_windows_widen_an_enclosure_and_shift_nothing() -> None:
    """Cells that look at some atoms alone add more; a window without any says nothing there."""
    loss, epsilon = ComposedLoss("remove", ((noise("remove"), 5),), Fraction(0)), Fraction(1, 2)
    line = replace(PLAIN, count=20, reaches=(40,), cover=((30, 2),))
    whole, near, none = (evaluate(loss, replace(line, windows=windows)).delta(epsilon) for windows in (
        (), ((Fraction(-1), Fraction(2)),), ((Fraction(5), Fraction(4)),)))
    assert none.lower <= near.lower <= whole.lower < whole.upper <= near.upper <= none.upper
    assert none.upper > whole.upper


@pytest.mark.theorem("T189-angle")
def test_a_mass_that_may_be_0_bounds_by_itself() -> None:
    """A small size over a mass that is not known to be positive says nothing of the angle."""
    assert all(bound >= 1 for bound in bound_by_angle([arb(2) ** -90, arb(1) / 4], arb(1, 1.5), arb(1), arb(1) / 8))


def extremal(u: float, a: float, b: float, above: bool) -> float:
    """T188's U or L by its series."""
    t = 0.5 - math.log(a * math.sinh(b / 2) / (b * math.sinh(a / 2))) / (b - a) if above else 0.0
    start = 0.0 if above else (a / math.expm1(a) - b / math.expm1(b)) / u
    places = np.arange(0 if above else 1, 60 / a + 5) + t
    values, slopes = np.exp(-a * places) - np.exp(-b * places), b * np.exp(-b * places) - a * np.exp(-a * places)
    total = start + float((values / (u - places) ** 2 + slopes / (u - places)).sum())
    return (math.sin(math.pi * (u - t)) / math.pi) ** 2 * total


@pytest.mark.theorem("T188-band")
@pytest.mark.parametrize(("c", "h"), [(0.5, 0.7), (3.0, 0.2), (1.0, 2.0), (10.0, 0.3)])
def test_extremal_functions_of_a_band(c: float, h: float) -> None:
    """They are above and below phi, and the gaps' integrals are below the bound, the larger one not far."""
    a, b = c * h, (c + 1) * h
    places = np.arange(-80, 80 + 40 / a, 0.02) + 0.0117
    phi = np.where(places > 0, np.exp(-a * places) - np.exp(-b * places), 0.0)
    gaps = [sign * (np.array([extremal(float(u), a, b, sign > 0) for u in places]) - phi) for sign in (-1, 1)]
    bound = float(bound_band(arb(c), 2 * arb.pi() / arb(h)))
    for gap in gaps:
        assert gap.min() > -1e-9
        assert 0.02 * h * gap.sum() < bound
    assert 0.02 * h * max(gap.sum() for gap in gaps) > 0.4 * bound


@pytest.mark.theorem("T188-band", "T192-line")
def test_nothing_is_known_beyond_a_band() -> None:
    """A few frequencies of a few atoms, no cells: the truth is inside; more than a quarter of the bars is used."""
    rng, used = random.Random(5), []
    for _ in range(60):
        parts = [(finite_law(rng, rng.randint(2, 3), False), rng.randint(1, 2))]
        loss, epsilon = ComposedLoss("remove", tuple(parts), Fraction(0)), Fraction(rng.randint(1, 40), 40)
        truth = enumerated(parts, epsilon)
        line = LineWitness(Fraction(rng.randint(1, 24), 8), Fraction(1, 16), rng.randint(20, 90), (), (),
                           Fraction(12), Fraction(1, 16), 100, (0,))
        bounds = evaluate(loss, line).delta(epsilon)
        assert not truth < bounds.lower
        assert not truth > bounds.upper
        tail = float(bounds.budget["frequency_tail"])
        if float(bounds.lower) > 0 and float(bounds.budget["aliasing"]) < tail / 100:
            used.append(abs(float(truth - bounds.upper) + tail) / tail)
    assert len(used) > 10
    assert max(used) > 1 / 4


@pytest.mark.theorem("T188-band", "T189-angle")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_many_atoms_of_a_sample_are_enclosed_in_a_few_cells(order: str) -> None:
    """A thousand steps on samples of 1 %, which no grid holds: five digits, and more of them inside of these."""
    law, epsilon = noise(order, Fraction(100), Fraction(1, 100)), Fraction(1, 20)
    loss = ComposedLoss(order, ((law, 1000),), Fraction(0))
    lines = [planned(loss, epsilon, bits) for bits in (14, 24)]
    coarse, fine = (evaluate(loss, line).delta(epsilon) for line in lines)
    assert sum(cells for cells, _ in lines[0].cover) < 200
    assert coarse.lower < fine.lower < fine.upper < coarse.upper < coarse.lower * (1 + arb(2) ** -12)
    assert fine.upper < fine.lower * (1 + arb(2) ** -22)


@pytest.mark.theorem("T192-line")
@pytest.mark.parametrize("change", [
    {"tilt": Fraction(0)}, {"step": Fraction(0)}, {"count": 0}, {"reaches": ()}, {"reaches": (1,)}, {"reaches": (9, 9)},
    {"reaches": (-1,)}, {"cover": ((1, 0),)}, {"cover": ((-1, 1),)}, {"right": Fraction(1, 100)},
    {"left": Fraction(100)}, {"left": Fraction(-2)}, {"windows": ((Fraction(0), Fraction(1)),) * 2}])
def test_side_conditions(change: dict[str, object]) -> None:
    loss = ComposedLoss("remove", ((noise("remove"), 5),), Fraction(0))
    assert evaluate(loss, PLAIN).delta(Fraction(1)).upper < 1
    with pytest.raises(InvalidInput):
        evaluate(loss, replace(PLAIN, **change))  # type: ignore[arg-type]


@pytest.mark.theorem("T05-frequency-truncation", "T192-line")
@pytest.mark.parametrize("prec", [2, 9, 60])
def test_errors_of_nodes_stay_where_bits_are_too_few(prec: int) -> None:
    """Nodes far from all mass, in few bits: e^{-c eps} is a ball that holds 0, its product with an error is no 0."""
    atoms = FiniteLoss(((Fraction(33, 64), Fraction(31, 64)), (Fraction(31, 64), Fraction(33, 64))), "remove")
    step = SampledGaussianLoss(Fraction(1, 2), Fraction(1), "remove")
    loss, epsilon = ComposedLoss("remove", ((atoms, 1), (step, 1)), Fraction(0)), Fraction(62, 3)
    rule = NodeRule(Fraction(1, 2), Fraction(1, 2), Fraction(1, 16), -200, 700)
    line = LineWitness(Fraction(61, 3), Fraction(1, 8), 2000, (rule,), (replace(rule, half_width=Fraction(1)),),
                       Fraction(22), Fraction(0), 120, (0, -1))
    truth = evaluate(loss, line).delta(epsilon)
    assert 0 < truth.lower < truth.upper < 2 * truth.lower
    values = evaluate(loss, replace(line, nodes=(replace(rule, first=-2000, last=-1990),), prec=prec))
    assert {"quadrature", "node_tail"} < set(values.delta(epsilon).budget)
    assert values.delta(epsilon).upper > truth.lower


def test_other_laws_are_not_listed() -> None:
    assert not LaplaceLoss(Fraction(1)).lists(100)
    assert not SampledLoss(LaplaceLoss(Fraction(1)), Fraction(1, 2), "remove").lists(100)
    assert LaplaceLoss(Fraction(1)).enclose_listed(5) is None


@pytest.mark.theorem("T192-line")
@pytest.mark.parametrize("seed", range(6))
def test_atoms_beside_a_gaussian(seed: int) -> None:
    """Against the Gaussian's curve moved by every sum of the atoms' losses, in proportion to its mass."""
    rng = random.Random(seed)
    law, shift, epsilon = finite_law(rng, 3, seed % 2 == 0), Fraction(rng.randint(1, 30), 10), Fraction(1, 2)
    loss = ComposedLoss("remove", ((law, 2),), shift)
    with ctx.workprec(100):
        atoms, curve = law.enclose_loss_atoms(), GaussianLoss(shift).enclose_hockey_stick
        truth = loss.enclose_infinity_mass() + sum((p * r * curve(ball(epsilon) - x - y)
                                                    for x, p in atoms for y, r in atoms), arb(0))
    for cover in ((), ((3, 2), (4, 5))):
        found = evaluate(loss, replace(PLAIN, count=60, reaches=(0,), cover=cover)).delta(epsilon)
        assert not truth < found.lower
        assert not truth > found.upper
    assert found.upper - found.lower < arb(1) / 40


@pytest.mark.theorem("T192-line")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_atoms_beside_nodes(order: str) -> None:
    """The same line with the atoms' transform summed point by point, and with atoms that are listed."""
    atoms = OddsLoss(Fraction(3, 10), Fraction(1, 10**6), 0, "symmetric").in_order(order)
    sampled = SampledGaussianLoss(Fraction(1, 10), Fraction(1), order)
    loss = ComposedLoss(order, ((atoms, 1), (sampled, 30)), Fraction(0))
    rule = NodeRule(Fraction(1), Fraction(1), Fraction(1, 4), -40, 60)
    line = LineWitness(Fraction(2), Fraction(1, 4), 60, (rule,), (rule,), Fraction(4), Fraction(1, 2), 90)
    plain, found = (evaluate(loss, replace(line, reaches=reaches)).delta(Fraction(1)) for reaches in ((), (0, -1)))
    assert plain.lower < found.upper
    assert found.lower < plain.upper
    assert found.upper - found.lower < arb(1) / 1000
    assert plain.upper - plain.lower < (found.upper - found.lower) * 1.001


@pytest.mark.theorem("T192-line")
def test_a_list_is_left_out_of_the_record_where_there_is_none() -> None:
    assert "reaches" not in witness_record(replace(PLAIN, reaches=()))
    record = witness_record(replace(PLAIN, cover=((2, 3),)))
    assert read_witness(record, "witness") == replace(PLAIN, cover=((2, 3),))
    with pytest.raises(InvalidCertificate):
        read_witness({**record, "cover": []}, "witness")


def test_a_million_sampled_steps_are_narrow() -> None:
    """The lattice left them wide, and no certificate could be written."""
    steps = compose((PoissonSampled(DiscreteGaussian(1, 1), "0.001"), 10**6))
    found = privacy_profile(steps, "add-or-remove").delta(5)
    assert (found.status, found.method) == ("certified", "contour")
    claim = Claim("", "", "5", "0.0003", "5", "0.0003")
    certificate = certify(Spec(Relation.of("remove"), steps, claim), digits=3)
    assert certificate.verify().valid
    assert certificate.verdict == "proved"
    assert {one["witness"]["kind"] for one in certificate["evaluations"]} == {"line"}


def test_models_of_atoms_are_their_own_points() -> None:
    """Masses of P in the remove and the add order, from the noise's."""
    for order in ("remove", "add"):
        law = noise(order)
        model = LatticeModel(ComposedLoss(order, ((law, 1),), Fraction(0))).parts[0][0]
        assert isinstance(model, Outcomes)
        with ctx.workprec(80):
            moment = float(law.base.enclose_moment(arb(1)))
        total, mean, _ = model.cumulants(0.0)
        assert abs(total) < 1e-12
        assert mean > 0
        assert moment > 1


@pytest.mark.theorem("T192-line")
def test_sampled_noise_on_integers_beside_a_gaussian_is_narrow() -> None:
    """Neither has both: a closed transform, and a decay far out."""
    law, shift, epsilon = noise("remove", Fraction(4), Fraction(1, 1000)), Fraction(1, 100), Fraction(1)
    loss = ComposedLoss("remove", ((law, 10**5),), shift)
    found = evaluate(loss, planned(loss, epsilon)).delta(epsilon)
    assert found.upper - found.lower < found.upper / 2**10
    few = ComposedLoss("remove", ((law, 2),), Fraction(1))
    found = evaluate(few, planned(few, epsilon)).delta(epsilon)
    with ctx.workprec(100):
        listed, curve = law.enclose_listed(30), GaussianLoss(Fraction(1)).enclose_hockey_stick
        assert listed is not None
        truth = sum((p * r * curve(ball(epsilon) - x - y) for x, p in listed.atoms for y, r in listed.atoms), arb(0))
    assert found.lower < truth < found.upper
    assert found.upper - found.lower < found.upper / 2**10
