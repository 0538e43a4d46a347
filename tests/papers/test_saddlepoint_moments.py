"""Tilted moments against quadrature of the densities, and what their error bounds must cover."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import ModuleType

import mpmath
import pytest
from flint import acb, arb, ctx
from mpmath import mp, mpf

from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.engines.tilted_moments import MomentRule, TiltedMoments, enclose_moments, tabulate_moments
from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import FiniteLoss, OddsLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.papers.saddlepoint.bounds_moments import (
    bound_deviation,
    bound_third_moment,
    enclose_absolute_moment,
)
from verified_dp.search.expansion import choose_moment_rules

SAMPLED = [("remove", "1/100", "2", "9.5"), ("add", "1/10", "1", "3"), ("symmetric", "1/50", "3/2", "2"),
           ("remove", "1/4", "1/2", "1/2"), ("add", "1/100", "3/2", "1/50")]


def one(law: object) -> ComposedLoss:
    return ComposedLoss(law.order, ((law, 1),), Fraction(0))  # type: ignore[attr-defined]


def table_of(law: object, tilt: object, order: int = 6, bits: float = 70.0, prec: int = 192):
    loss, at = one(law), float(Fraction(tilt))
    return tabulate_moments(loss, choose_moment_rules(loss, at, bits, order), prec)


def contains(x: arb, value: mpf, slack: str = "1e-30") -> bool:
    """Whether the ball contains the number, which is known to a relative error `slack`."""
    margin = abs(value) * mpf(slack)
    low, high = (mpf(str(end.str(60, radius=False))) for end in (x.lower(), x.upper()))
    return bool(low <= value + margin and value - margin <= high)


def tilted(oracle: ModuleType, order: str, q: str, s: str, tilt: str):
    """(x -> (weight, loss) of the tilted density, a fine grid with its step), from the densities of P and Q."""
    P, Q = oracle.densities(order, oracle.real(Fraction(q)), oracle.real(Fraction(s)))
    t, width = oracle.real(Fraction(tilt)), oracle.real(Fraction(s))

    def at(x: mpf) -> tuple[mpf, mpf]:
        p = P(x)
        loss = mp.log(p / Q(x))
        return p * mp.exp(t * loss), loss

    reach = 12 * width + t * (2 if order == "symmetric" else 1) + 2
    step = min(width / 8, width * width / 12)
    return at, [at(j * step) for j in range(-int(reach / step), int(reach / step) + 1)], step


@pytest.mark.theorem("T94-tilted-moments")
@pytest.mark.parametrize(("order", "q", "s", "tilt"), SAMPLED)
def test_moments_of_sampled_gaussians(oracle: ModuleType, order: str, q: str, s: str, tilt: str) -> None:
    table = table_of(SampledGaussianLoss(Fraction(q), Fraction(s), order), tilt)
    moments = enclose_moments(table, 0, ball(Fraction(tilt)), 4)
    _, grid, step = tilted(oracle, order, q, s, tilt)
    centre = oracle.real(moments.centre)
    mass = step * mp.fsum(weight for weight, _ in grid)
    assert contains(moments.mass, mass, "1e-25")
    for i, value in enumerate(moments.values, 1):
        true = step * mp.fsum(weight * (loss - centre) ** i for weight, loss in grid) / mass
        assert abs(oracle.real(value.mid()) - true) < mpf("1e-17") * (1 + abs(true)) + oracle.real(value.rad())
        assert value.rad() < arb("1e-15") * (abs(value) + moments.variance)


@pytest.mark.theorem("T94-tilted-moments")
@pytest.mark.parametrize(("order", "q", "s", "tilt"), SAMPLED[:3])
@pytest.mark.parametrize("fault", ["step", "window"])
def test_error_of_coarse_rules_is_covered(oracle: ModuleType, order: str, q: str, s: str, tilt: str,
                                          fault: str) -> None:
    """With a wide step or a short window the node sum is wrong by more than rounding; the ball must say so."""
    loss = one(SampledGaussianLoss(Fraction(q), Fraction(s), order))
    fine = choose_moment_rules(loss, float(Fraction(tilt)), 70, 6)[0]
    assert fine.nodes is not None
    seen = 0
    for factor in (3, 4, 5, 6):
        if fault == "step":
            rule = replace(fine.nodes, step=fine.nodes.step * factor,
                           first=fine.nodes.first // factor - 1, last=fine.nodes.last // factor + 1)
        else:
            share = Fraction(7 - factor, 7)
            rule = replace(fine.nodes, first=int(fine.nodes.first * share), last=int(fine.nodes.last * share))
        good = tabulate_moments(loss, [fine], 192)
        table = tabulate_moments(loss, [replace(fine, nodes=rule)], 192)
        exact, rough = (enclose_moments(tab, 0, ball(Fraction(tilt)), 4) for tab in (good, table))
        assert exact.mass.overlaps(rough.mass)
        assert exact.variance.overlaps(rough.variance) or not rough.variance.is_finite()
        seen += bool(rough.mass.is_finite() and rough.mass.rad() > arb("1e-18") * rough.mass)
        drift = abs((exact.mass - rough.mass).mid())
        assert not drift > rough.mass.rad() + exact.mass.rad()
    assert seen


@pytest.mark.parametrize("tilt", [1.0, 1024.0, 2048.0])
def test_rules_far_out_keep_the_side_conditions(tilt: float) -> None:
    """In the add order the nodes of a large tilt lie left of 0; the window must hold 0 all the same."""
    law = SampledGaussianLoss(Fraction(1, 2), Fraction(1), "add")
    assert choose_moment_rules(one(law), tilt, 80, 14)[0].is_central(law)


def test_rules_that_break_a_side_condition_are_refused() -> None:
    law = SampledGaussianLoss(Fraction(1, 100), Fraction(1), "remove")
    rule = NodeRule(Fraction(0), Fraction(1), Fraction(1, 4), -40, 60)
    for wrong in (replace(rule, height=Fraction(1, 2)), replace(rule, half_width=Fraction(4)),
                  replace(rule, step=Fraction(3)), replace(rule, first=1), replace(rule, half_width=Fraction(0))):
        with pytest.raises(InvalidInput):
            tabulate_moments(one(law), [MomentRule(Fraction(1), wrong)], 128)
    other = tabulate_moments(one(FixedBatchLoss(Fraction(1, 10), Fraction(1))), [MomentRule(Fraction(1))], 128)
    with pytest.raises(Unsupported):
        enclose_moments(other, 0, arb(1), 2)
    coarse = replace(rule, half_width=Fraction(1, 100))
    table = tabulate_moments(one(law), [MomentRule(Fraction(2), coarse)], 128)
    assert not enclose_moments(table, 0, arb(1), 2).mass.is_finite()  # the bound of its error exceeds the mass


DIRECT = [LaplaceLoss(Fraction(1, 2)), BoundedRangeLoss(Fraction(2)), DiscreteGaussianLoss(Fraction(9), 2),
          OddsLoss(Fraction(1), Fraction(1, 10), 0), OddsLoss(Fraction(1), Fraction(0), 3),
          FiniteLoss(((Fraction(1, 2), Fraction(1, 5)), (Fraction(1, 4), Fraction(0)),
                      (Fraction(1, 4), Fraction(4, 5))), "remove")]


@pytest.mark.theorem("T94-tilted-moments")
@pytest.mark.parametrize("law", DIRECT, ids=lambda law: type(law).__name__)
def test_moments_of_direct_laws(law: object, oracle: ModuleType) -> None:
    """Derivatives of the transform by mpmath at 60 digits."""
    tilt = Fraction(5, 4)
    moments = enclose_moments(table_of(law, tilt), 0, ball(tilt), 4)
    with mp.workdps(60), ctx.workprec(256):
        centre, t = oracle.real(moments.centre), oracle.real(tilt)

        def transform(x: mpf) -> mpf:
            value = law.enclose_transform(acb(arb(mp.nstr(x, 70)))).real  # type: ignore[attr-defined]
            return mp.exp(-(x - t) * centre) * mpf(value.mid().str(70, radius=False))

        mass = transform(t)
        for i, value in enumerate(moments.values, 1):
            true = mpmath.diff(transform, t, i, h=mpf("1e-9")) / mass
            assert abs(oracle.real(value.mid()) - true) < mpf("1e-12") + oracle.real(value.rad())
            assert value.rad() < arb("1e-15")


@pytest.mark.theorem("T94-tilted-moments")
def test_error_of_few_points_on_the_circle_is_covered() -> None:
    law = LaplaceLoss(Fraction(6))
    loss = one(law)
    good = enclose_moments(tabulate_moments(loss, [MomentRule(Fraction(1), points=60)], 192), 0, arb(2), 3)
    for points in (4, 6, 8):
        rough = enclose_moments(tabulate_moments(loss, [MomentRule(Fraction(1), points=points)], 192), 0, arb(2), 3)
        assert rough.mass.overlaps(good.mass) and rough.mean.overlaps(good.mean)
        assert rough.mean.rad() > good.mean.rad()
    table = tabulate_moments(loss, [MomentRule(Fraction(1), points=2)], 192)
    assert not enclose_moments(table, 0, arb(2), 3).mass.is_finite()


@pytest.mark.theorem("T95-third-moment")
@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize(("order", "q", "s", "tilt"), [
    *SAMPLED[:4], ("remove", "1/100", "2", "0"), ("add", "1/3", "1", "0")])
def test_absolute_moments_of_sampled_gaussians(oracle: ModuleType, order: str, q: str, s: str, tilt: str,
                                               power: int) -> None:
    table = table_of(SampledGaussianLoss(Fraction(q), Fraction(s), order), tilt)
    moments = enclose_moments(table, 0, ball(Fraction(tilt)), 4)
    found = enclose_absolute_moment(table, 0, ball(Fraction(tilt)), moments, power)
    at, grid, step = tilted(oracle, order, q, s, tilt)
    mass = step * mp.fsum(weight for weight, _ in grid)
    mean = step * mp.fsum(weight * loss for weight, loss in grid) / mass
    with mp.workdps(22):
        cut = mpmath.findroot(lambda x: at(x)[1] - mean, (mpf(-1), mpf(2)), solver="anderson", tol=mpf("1e-20"))
        reach = 12 * oracle.real(Fraction(s)) + oracle.real(Fraction(tilt)) * (2 if order == "symmetric" else 1) + 2
        ends = sorted([*(cut + sign * reach * part / 6 for sign in (-1, 1) for part in range(1, 7)), cut])
        true = mpmath.quad(lambda x: at(x)[0] * abs(at(x)[1] - mean) ** power, ends, maxdegree=5) / mass
    assert contains(found, true, "1e-12")
    assert found.rad() < arb("1e-6") * found
    bound = bound_third_moment(moments) if power == 3 else bound_deviation(moments)
    assert oracle.real(bound) > true > oracle.real(bound) / 3


@pytest.mark.theorem("T95-third-moment")
@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("law", DIRECT, ids=lambda law: type(law).__name__)
def test_absolute_moments_of_direct_laws(law: object, oracle: ModuleType, power: int) -> None:
    tilt = Fraction(5, 4)
    table = table_of(law, tilt)
    moments = enclose_moments(table, 0, ball(tilt), 4)
    found = enclose_absolute_moment(table, 0, ball(tilt), moments, power)
    mean, t = oracle.real(moments.mean.mid()), oracle.real(tilt)
    if isinstance(law, LaplaceLoss | BoundedRangeLoss):
        mu = oracle.real(law.ratio if isinstance(law, LaplaceLoss) else law.bounded_range)
        atom, density = ((mpf(1) / 2, mp.exp(-mu / 2) / 4) if isinstance(law, LaplaceLoss)
                         else (mpf(0), 1 / (4 * mp.sinh(mu / 2))))
        def weigh(f):
            inner = mpmath.quad(lambda x: f(x) * mp.exp((t + mpf(1) / 2) * x), [-mu, mean, mu])
            return density * inner + atom * (f(mu) * mp.exp(t * mu) + f(-mu) * mp.exp(-(1 + t) * mu))
        mean = weigh(lambda x: x) / weigh(lambda x: mpf(1))
        true = weigh(lambda x: abs(x - mean) ** power) / weigh(lambda x: mpf(1))
        assert contains(found, true, "1e-25") and found.rad() < arb("1e-12") * found
    elif isinstance(law, DiscreteGaussianLoss):
        assert found.lower() <= 0 and found.upper() > 0  # only the bound by Cauchy and Schwarz
        s2, shift = mpf(9), 2
        rows = [(mp.exp(-mpf(x * x) / (2 * s2)), mpf(shift * (shift - 2 * x)) / (2 * s2)) for x in range(-80, 80)]
        mass = sum(w * mp.exp(t * loss) for w, loss in rows)
        true = sum(w * mp.exp(t * loss) * abs(loss - mean) ** power for w, loss in rows) / mass
        assert oracle.real(found.upper()) >= true
    else:
        atoms = [(oracle.real(p.mid()), mp.log(oracle.real(p.mid()) / oracle.real(q.mid())))
                 for p, q in law.enclose_finite_atoms()]
        mass = sum(p * mp.exp(t * loss) for p, loss in atoms)
        true = sum(p * mp.exp(t * loss) * abs(loss - mean) ** power for p, loss in atoms) / mass
        assert abs(oracle.real(found.mid()) - true) < mpf("1e-12") * true


@pytest.mark.theorem("T95-third-moment")
def test_the_bound_is_attained_where_the_deviation_is_constant() -> None:
    """Two equally likely values: E|Y|^3 = sqrt(E Y^2 E Y^4)."""
    moments = TiltedMoments(arb(1), arb(0), [arb(0), arb(4), arb(0), arb(16)])
    assert bound_third_moment(moments) >= 8 and bound_third_moment(moments) < arb("8.0000001")
    assert [value.unique_fmpz() for value in moments.central] == [4, 0, 16]


@pytest.mark.theorem("T94-tilted-moments")
@pytest.mark.parametrize(("law", "tilt"), [(LaplaceLoss(Fraction(6)), "2"), (BoundedRangeLoss(Fraction(4)), "3/2"),
                                           (LaplaceLoss(Fraction(1, 2)), "5")])
@pytest.mark.parametrize("points", [4, 6])
def test_the_circles_error_is_that_of_the_larger_end(law: object, tilt: str, points: int, oracle: ModuleType) -> None:
    """B R^-i / (4^N - 1), B = e^{R|c|} max M(t +- R), in units of M(t): M by quadrature; it grows with its argument."""
    t, radius = Fraction(tilt), Fraction(1)
    table = tabulate_moments(one(law), [MomentRule(radius, points=points)], 192)
    found = enclose_moments(table, 0, ball(t), 1)
    mu = oracle.real(law.largest_loss())  # type: ignore[attr-defined]
    atom, density = ((mpf(1) / 2, mp.exp(-mu / 2) / 4) if isinstance(law, LaplaceLoss)
                     else (mpf(0), 1 / (4 * mp.sinh(mu / 2))))

    def mass(x: mpf) -> mpf:
        inner = mpmath.quad(lambda l_: density * mp.exp((x + mpf(1) / 2) * l_), mpmath.linspace(-mu, mu, 9))
        return inner + atom * (mp.exp(x * mu) + mp.exp(-(1 + x) * mu))

    below, above = mass(oracle.real(t - radius)), mass(oracle.real(t + radius))
    assert below < above
    wrap = mp.exp(abs(oracle.real(found.centre))) * above / (4**points - 1)
    assert oracle.real(found.mass.rad()) == pytest.approx(float(wrap), rel=1e-6)
