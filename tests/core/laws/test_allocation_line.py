"""The transform of random allocation's loss by its density on a line of places: against quadrature, moments, itself."""

from __future__ import annotations

import random
from fractions import Fraction as F

import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.nodes import bound_mass
from verified_dp.core.engines.rules import DiscreteRule, is_on_lines
from verified_dp.core.families.allocation.density_line import Line
from verified_dp.core.families.allocation.on_line import enclose_moments
from verified_dp.core.families.allocation.random_allocation import RandomAllocationLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss

THEOREM = pytest.mark.theorem("T168-allocation-line")


def two_rounds(noise: F, order: str, z: acb) -> acb:
    """M(z) for t = 2: S/2 = e^{sm} cosh(sd) e^{-s^2/2}, m and d independent N(0, 1/2), by the trapezoidal rule over d.

    log cosh(sd) is analytic for |Im d| < pi/(2s): steps of 1/32 err by e^{-32 pi^2/s}, about.
    """
    s, a, step = 1 / ball(noise), z + 1 if order == "remove" else -z, arb(1) / 32
    terms = ((a * (s * d).cosh().log() - d * d).exp() for d in (n * step for n in range(-416, 417)))
    return (a * (a - 2) * s * s / 4).exp() * sum(terms, acb(0)) * step / arb.pi().sqrt()


def at(rule: DiscreteRule, frequency: arb) -> acb:
    """The sum of a rule."""
    return sum((w * acb(0, frequency * x).exp() for w, x in zip(rule.weights, rule.losses, strict=True)), acb(0))


def holds(rule: DiscreteRule, frequency: arb, truth: acb) -> bool:
    """Whether the truth may be within the error."""
    return not abs(at(rule, frequency) - truth) > rule.error


@THEOREM
@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize(("noise", "tilt", "most"), [
    (F(1), F(3, 2), 8), (F(1, 2), F(1, 2), 1), (F(3), F(9), 40),
    pytest.param(F(1, 2), F(1, 2), 4, marks=pytest.mark.long)])
def test_two_rounds_are_a_quadrature(noise: F, tilt: F, most: int, order: str) -> None:
    """At frequencies up to the one that was asked for, to nearly all bits; past it the error need not hold."""
    law = RandomAllocationLoss(2, noise, order)
    with ctx.workprec(96):
        rule = law.enclose_rule(ball(tilt), arb(most))
        for frequency in (arb(0), arb(most) / 3, arb(most)):
            truth = two_rounds(noise, order, acb(ball(tilt), frequency))
            assert abs(at(rule, frequency) - truth) < rule.error + arb(2) ** -70
            assert law.enclose_transform(acb(ball(tilt), frequency)).overlaps(truth)
        size = two_rounds(noise, order, acb(ball(tilt))).real
        assert rule.error < size * arb(2) ** -60
        assert size <= law.bound_moment(ball(tilt)) < size * (1 + arb(2) ** -8)
        beyond = law.bound_transform_beyond(ball(tilt), arb(most))
        assert abs(two_rounds(noise, order, acb(ball(tilt), arb(most)))) <= beyond < size


@THEOREM
@pytest.mark.parametrize(("bits", "powers"), [(40, (2, 3, 5)), pytest.param(96, (2, 3, 7), marks=pytest.mark.long)])
@pytest.mark.parametrize(("rounds", "noise"), [(3, F(1, 2)), (50, F(1)), (20, F(2))])
def test_whole_moments_of_the_remove_order(rounds: int, noise: F, bits: int, powers: tuple[int, ...]) -> None:
    """E (S/t)^n by its finite sum."""
    with ctx.workprec(bits):
        law, moments = RandomAllocationLoss(rounds, noise, "remove"), enclose_moments(rounds, noise)
        for n in powers:
            found = law.enclose_transform(acb(n - 1)).real
            assert found.overlaps(moments[n]) and found.rad() < moments[n] * arb(2) ** -30


@THEOREM
@pytest.mark.parametrize(("rounds", "noise", "tilt"), [(4, F(1), F(1)), (100, F(1), F(5)), (30, F(1, 2), F(1))])
def test_the_orders_are_one_transform(rounds: int, noise: F, tilt: F) -> None:
    """E (S/t)^a at a = 1 + c of the remove order, at -c of the add order: log-convex, and 1 at a = 0 and 1."""
    with ctx.workprec(48):
        remove, add = (RandomAllocationLoss(rounds, noise, order) for order in ("remove", "add"))
        right, left = (law.enclose_transform(acb(ball(tilt))).real for law in (remove, add))
        assert (right.log() * ball(tilt) + left.log() * (1 + ball(tilt))) > 0  # E (S/t)^0 = 1 lies under the chord
        assert right > 1 and left > 1


def places(law: RandomAllocationLoss, tilt: F, frequency: int, bits: int) -> Line:
    """The line of a law for a tilt."""
    return Line(law.on_line, law.on_line.part, ball(tilt) + (law.order == "remove"), arb(frequency), bits)


@THEOREM
@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize(("noise", "tilt"), [(F(1, 2), F(1)), (F(2), F(1)), (F(2), F(9))])
def test_any_step_and_any_ends_are_right(noise: F, tilt: F, order: str) -> None:
    """Random steps, most of them too wide, and random ends, most of them too near, for t = 2."""
    rng, law, told = random.Random(7), RandomAllocationLoss(2, noise, order), 0
    with ctx.workprec(160):
        line = places(law, tilt, 2, 40)
        truths = {w: two_rounds(noise, order, acb(ball(tilt), arb(w))) for w in (0, 1, 2)}
        for _ in range(12):
            step = line.choose_step() * F(rng.randint(8, 60), 16)
            low, high = (rng.randint(1, 9) * F(1, 2) / noise for _ in range(2))
            first, last = -int(low / step) - 1, int(high / step) + 1
            rule, moment = line.join(step, first, [line.weigh(step, j) for j in range(first, last + 1)])
            assert all(holds(rule, arb(w), truth) for w, truth in truths.items())
            assert not moment < truths[0].real
            told += bool(rule.error < truths[0].real)
    assert told > 2


@THEOREM
@pytest.mark.parametrize("order", ["remove", "add"])
def test_neither_part_of_the_error_may_be_left_out(order: str) -> None:
    """With one of the two parts alone the truth would be excluded, and neither exceeds what is needed by far."""
    law, tilt = RandomAllocationLoss(2, F(1), order), F(1)
    with ctx.workprec(112):
        line, truth = places(law, tilt, 0, 60), two_rounds(F(1), order, acb(ball(tilt))).real
        wide = line.choose_step() * 6
        many = [line.weigh(wide, j) for j in range(-6, 7)]
        rule, _ = line.join(wide, -6, many)
        missed = abs(at(rule, arb(0)).real - truth)
        assert rule.error / 40 < missed < rule.error
        assert line.law.bound_below(line.power, -6 * ball(wide), arb(0)) < missed / 1000
        fine = line.choose_step()
        rule, _ = line.join(fine, -5, [line.weigh(fine, j) for j in range(-5, 6)])
        missed = abs(at(rule, arb(0)).real - truth)
        assert missed < rule.error < 200 * missed
        assert line.part.bound_aliases(ball(fine), arb(0)) * truth < missed / 1000


@THEOREM
def test_moments_of_the_add_order_are_less_than_those_of_one_round() -> None:
    """At most e^{l s^2/2 + l^2 s^2/(2t)}: near it for many rounds of little noise, never below."""
    with ctx.workprec(40):
        for rounds, noise, power in ((2, F(1), 3), (10, F(1, 2), 1), (1000, F(2), 30)):
            law = RandomAllocationLoss(rounds, noise, "add")
            bound, truth = law.enclose_moment(arb(power)).upper(), law.enclose_transform(acb(power)).real
            assert truth < bound
            assert bound < (arb(power) * (power + 1) / (2 * ball(noise**2))).exp()
            assert law.bound_moment(arb(power)) < bound


@THEOREM
@pytest.mark.parametrize("rounds", [2, 10])
def test_moments_between_minus_one_and_zero_exceed_those_of_one_round(rounds: int) -> None:
    """Remove: E (S/t)^{1+l} >= E X^{1+l} there, so no bound may be one round's."""
    with ctx.workprec(64):
        law, power = RandomAllocationLoss(rounds, F(1, 2), "remove"), arb(-1) / 2
        truth = law.enclose_transform(acb(power)).real
        assert truth > (power * (power + 1) * 2).exp() * (1 + arb(1) / 10)
        assert not law.enclose_moment(power).upper() < truth
        assert truth < law.bound_moment(power) < truth * (1 + arb(2) ** -8)
        assert truth < law.bound_transform_beyond(power, arb(0)) < truth * (1 + arb(2) ** -8)


@THEOREM
@pytest.mark.parametrize(("rounds", "noise", "power"), [(10, F(1), 37), (10, F(1), 45), (1000, F(3), 1104)])
def test_few_places_bound_large_moments_of_the_add_order(rounds: int, noise: F, power: int) -> None:
    """Where nearly all mass is far to the left of what matters: by the pieces there."""
    with ctx.workprec(96):
        law = RandomAllocationLoss(rounds, noise, "add")
        truth = law.enclose_transform(acb(power)).real
        assert truth.rad() < truth * arb(2) ** -30
        assert truth < law.bound_moment(arb(power)) < truth * (1 + arb(2) ** -8)


@THEOREM
@pytest.mark.parametrize(("noise", "first"), [(F(1), F(1, 2)), (F(2), F(1)), (F(2), F(-1))])
def test_the_left_of_a_place_is_bounded(noise: F, first: F) -> None:
    """E[e^{aL}; L < b] of two rounds, add: by a sum of densities over fine places, for bounds of all widths."""
    law = RandomAllocationLoss(2, noise, "add")
    with ctx.workprec(96):
        step = arb(1) / 64
        densities = [(x, law.on_line.enclose_one_density(x, 1))
                     for x in (ball(first) - (n + arb(1) / 2) * step for n in range(400))]
        for power in (F(1, 2), F(3), F(20)):
            truth = sum((step * (ball(power) * x).exp() * density for x, density in densities), arb(0))
            for bits in (2, 10, 40):
                bound = law.on_line.bound_below(ball(power), ball(first), truth * arb(2) ** -bits)
                assert truth * (1 - arb(2) ** -6) < bound < truth * 64


@pytest.mark.parametrize("order", ["remove", "add"])
def test_places_out_of_reach_tell_nothing(order: str) -> None:
    """Steps wider than the frequencies allow, or moments that are not known: no number is made up."""
    law = RandomAllocationLoss(2, F(1), order)
    with ctx.workprec(64):
        line = places(law, F(1), 100, 20)
        rule, moment = line.join(F(1), -3, [line.weigh(F(1), j) for j in range(-3, 4)])
        assert not rule.error.is_finite() and not moment.is_finite()
    if order == "remove":
        assert not law.on_line.bound_above(arb(60), arb(1), arb(1)).is_finite()


@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize("power", [F(-1, 2), F(0), F(-5)])
def test_powers_that_are_not_above_zero_tell_nothing(order: str, power: F) -> None:
    """e^{ax} <= e^{ab} below b, and the moments of the add order, need a > 0."""
    law = RandomAllocationLoss(2, F(1), order)
    with ctx.workprec(64):
        assert not law.on_line.bound_below(ball(power), arb(1), arb(1)).is_finite()
        rule, moment = places(law, power - (order == "remove"), 1, 20).join(F(1, 8), -3, [arb(1)] * 7)
        assert not rule.error.is_finite() and not moment.is_finite()
        assert order == "remove" or not law.on_line.bound_above(ball(power), arb(20), arb(1)).is_finite()


def composed(order: str, rounds: int, noise: F, count: int) -> ComposedLoss:
    """Several epochs."""
    return ComposedLoss(order, ((RandomAllocationLoss(rounds, noise, order), count),), F(0))


@THEOREM
@pytest.mark.parametrize(("order", "epsilon"), [("remove", F(3, 2)), ("add", F(1))])
def test_one_epoch_by_a_line_is_the_closed_form(order: str, epsilon: F) -> None:
    """delta of a single epoch is known by T133: lines of either order contain it, read in both ways."""
    loss, shift = composed(order, 20, F(1), 1), F(3)
    line = LineWitness(shift, F(1, 4), 200, (), (), F(6), F(0), 64)
    swapped = LineWitness(-1 - F(2), F(1, 8), 300, (), (), F(5), F(0), 64)
    with ctx.workprec(64):
        truth = loss.parts[0][0].enclose_hockey_stick(ball(epsilon))
        for witness in (line, swapped):
            assert witness.applies(loss)
            found = witness.evaluate(loss).delta(epsilon)
            assert found.lower <= truth.upper() and truth.lower() <= found.upper
            assert found.upper - found.lower < arb("1e-6")


def test_a_line_bounds_moments_more_closely_than_others() -> None:
    """Where masses of aliases are bounded the places are used; laws known on lines alone have no other contour."""
    loss = composed("add", 1000, F(2), 10)
    assert lines(loss).has_line and not lines(loss).has_transform and all(is_on_lines(law) for law, _ in loss.parts)
    with ctx.workprec(64):
        law = loss.parts[0][0]
        assert bound_mass(loss, [], F(60)) < law.enclose_moment(arb(60)).upper() ** 10 / 1000
