"""Two equal steps by an integral: against contours, quadrature in mpmath, another split, and at two precisions."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import acb, arb, ctx

from verified_dp import (
    Composition,
    Gaussian,
    PoissonSampled,
    PrivacyProfile,
    Relation,
    TruncatedPoisson,
    WithoutReplacement,
)
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.two_steps import Ramp, _by_half, _over_line, _over_mirror, enclose_two
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Mechanism

pytestmark = pytest.mark.theorem("T227-two-steps")
TENTH, HALF = Fraction(1, 10), Fraction(1, 2)


def losses(mechanism: Mechanism, relation: str) -> tuple[ComposedLoss, ...]:
    return PrivacyProfile(Composition([(mechanism, 2)]), Relation(relation)).losses


def delta(loss: ComposedLoss, epsilon: Fraction, bits: int = 40) -> arb:
    with ctx.workprec(bits + 40):
        bounds = ClosedFormWitness(bits).evaluate(loss).delta(epsilon)
        return bounds.lower.union(bounds.upper)


@pytest.mark.parametrize(("relation", "q", "s", "epsilon"), [
    ("remove", "0.01", "1", "1/4"), ("remove", "1/2", "1/2", "3"), ("remove", "0.9", "3", "0"),
    ("add", "1/10", "1", "1/10"), ("add", "1/10", "1", "1/5"), ("add", "999/1000", "1/2", "13"),
    ("add", "1/2", "2", "0"),
    ("replace", "1/10", "1", "1/2"), ("replace", "1/2", "1/4", "2"), ("replace", "1e-3", "1", "1/1000")])
def test_contours_agree(relation: str, q: str, s: str, epsilon: str) -> None:
    profile = PrivacyProfile(Composition([(PoissonSampled(Gaussian(Fraction(s)), Fraction(q)), 2)]), Relation(relation))
    found, other = profile.delta(Fraction(epsilon), 8), profile.delta(Fraction(epsilon), 8, "contour")
    assert (found.method, other.method) == ("closed-form", "contour")
    assert found.status == "certified"
    assert found.lower <= other.upper
    assert other.lower <= found.upper


def quadrature(mechanism: Mechanism, relation: str, epsilon: Fraction) -> float:
    """E_P[H(eps - L)] of the law's own density and curve: steps of losses, sorted by mpmath."""
    law = losses(mechanism, relation)[0].parts[0][0]

    def curve(x: float) -> mpmath.mpf:
        return mpmath.mpf(float(law.enclose_hockey_stick(arb(x)).mid()))

    def inside(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.mpf(float(law.enclose_density(arb(float(x))).mid())) * curve(float(epsilon) - float(x))

    atoms = law.enclose_loss_atoms() or []
    with ctx.workprec(100), mpmath.workdps(15):  # doubles, whatever other files ask of mpmath
        spread = sum(float(mass.mid()) * curve(float(epsilon) - float(loss.mid())) for loss, mass in atoms)
        ends = sorted({-12.0, -1.0, -0.1, -0.011, -0.00999, -0.005, 0.0, 0.01, 0.1, float(epsilon), 1.0, 4.0, 12.0})
        return float(spread + mpmath.quad(inside, ends))


@pytest.mark.parametrize(("mechanism", "relation", "epsilon"), [
    (WithoutReplacement(Gaussian(1), Fraction(1, 50)), "replace", HALF),
    (WithoutReplacement(Gaussian(2), HALF), "replace", Fraction(0)),
    (TruncatedPoisson(Gaussian(1), Fraction(1, 20), 100, 8), "replace", HALF),
    (TruncatedPoisson(Gaussian(1), Fraction(1, 100), 1000, 12), "zero-out", TENTH)], ids=str)
def test_quadrature_agrees(mechanism: Mechanism, relation: str, epsilon: Fraction) -> None:
    found = delta(losses(mechanism, relation)[0], epsilon)
    assert float(found.mid()) == pytest.approx(quadrature(mechanism, relation, epsilon), rel=1e-5)
    assert found.rel_accuracy_bits() > 20


def test_add_of_batches_is_enclosed_on_both_sides_of_its_support() -> None:
    loss = losses(TruncatedPoisson(Gaussian(1), Fraction(1, 10), 100, 16), "zero-out")[1]
    assert loss.order == "add"
    for epsilon in (Fraction(1, 20), Fraction(3, 20), Fraction(1, 4)):  # of free steps below .1054
        few, many = delta(loss, epsilon, 30), delta(loss, epsilon, 80)
        assert few.overlaps(many)
        assert many.rel_accuracy_bits() > 60


@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
def test_both_splits_agree(order: str) -> None:
    """(1) over the whole line, as of two losses, against (2) or (3)."""
    with ctx.workprec(90):
        ramp, ratio = Ramp(TENTH, Fraction(1), order), (arb(1) / 10).exp()
        whole = arb(0)
        for i in range(-14 * 64, 14 * 64):  # trapezoidal: the integrand is analytic but at the end of a support
            t = arb(i) / 64
            up, down = ramp.sides(acb(t))
            value = ratio * down.real / up.real
            rest = arb(9) / 10
            past = (order == "remove" and value <= rest) or (order == "add" and value >= 1 / rest)
            curve = (1 - value if order == "remove" else arb(0)) if past else ramp.real_curve(value)
            whole += ramp.density(acb(t)).real * up.real * curve / 64
        assert float(_by_half(ramp, ratio, 50).mid()) == pytest.approx(float(whole.mid()), rel=1e-5)


def test_parts_that_are_not_finite_say_nothing() -> None:
    loss = losses(PoissonSampled(Gaussian(1), TENTH), "add")[0]
    with ctx.workprec(80):
        assert enclose_two(loss, arb(-1)).overlaps(arb(1) - arb(-1).exp())
        assert enclose_two(loss, arb(-1)).overlaps(arb(1))
        assert enclose_two(loss, arb(1)) == 0  # beyond the support
        assert enclose_two(loss, arb(0, 1)).overlaps(arb(1))


def test_shares_of_a_mirrored_loss_and_a_line_of_no_sampling_agree() -> None:
    """q next to 1: the remove ramp is nearly the plain Gaussian, and so is the mirrored one."""
    with ctx.workprec(90):
        q, ratio = 1 - Fraction(1, 10**12), arb(1).exp()
        line, mirror = Ramp(q, Fraction(1), "remove"), Ramp(q, Fraction(1), "remove", is_mirrored=True)
        plain = float(_by_half(line, ratio, 40).mid())
        assert float(_over_line(line, mirror, ratio, 40, arb(0)).mid()) == pytest.approx(plain, rel=1e-9)
        assert float(_over_mirror(mirror, ratio, 40, arb(0)).mid()) == pytest.approx(plain, rel=1e-9)


def test_fifty_digits() -> None:
    loss = losses(PoissonSampled(Gaussian(1), Fraction(1, 100)), "remove")[0]
    found = delta(loss, Fraction(1, 4), 170)
    assert found.rel_accuracy_bits() > 165
    assert found.overlaps(delta(loss, Fraction(1, 4), 60))
