"""Marked losses: against lines and rays, in all orders; hostile witnesses prove nothing false."""

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import comb

import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines.lines import ReversedValues
from verified_dp.core.engines.marked import Mark, MarkedValues, MarkedWitness, Share, line_sums
from verified_dp.core.engines.nodes import NodeRule, enclose_nodes
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.search.deadline import Budget
from verified_dp.search.line import choose_line, plan_line
from verified_dp.search.marked import choose_marked, plan_marked
from verified_dp.search.models import float_loss
from verified_dp.search.one_direction import OneDirection

Composed = Callable[..., ComposedLoss]


def chosen(loss: ComposedLoss, epsilon: Fraction, bits: float = 40.0) -> MarkedWitness:
    plan = plan_marked(float_loss(loss), float(epsilon), OneDirection(loss).saddle(epsilon), bits)
    assert plan is not None
    return choose_marked(plan)


def enclosed(loss: ComposedLoss, witness: MarkedWitness, epsilon: Fraction) -> arb:
    bounds = evaluate(loss, witness).delta(epsilon)
    return bounds.lower.union(bounds.upper)


def on_a_line(loss: ComposedLoss, epsilon: Fraction, bits: float = 15.0) -> arb:
    model = float_loss(loss)
    line = plan_line(model, float(epsilon), OneDirection(loss).saddle(epsilon), bits)
    bounds = evaluate(loss, choose_line(model, line)).delta(epsilon)
    return bounds.lower.union(bounds.upper)


@pytest.mark.theorem("T149-marked-losses")
@pytest.mark.parametrize(("order", "q", "s", "count", "epsilon", "bits"), [
    ("remove", "1/1000", "1/2", 2000, "3", 40), ("add", "1/1000", "1/2", 2000, "1/2", 40),
    ("symmetric", "1/1000", "1/2", 500, "3", 40),
    ("remove", "1/100", "4/5", 300, "2", 40), ("remove", "1/1000", "1/2", 200, "1/100", 24)])
def test_agrees_with_the_line(composed: Composed, order: str, q: str, s: str, count: int, epsilon: str,
                              bits: int) -> None:
    loss, at = composed(order, q, s, count), Fraction(epsilon)
    bounds = evaluate(loss, chosen(loss, at, bits)).delta(at)
    assert 0 < bounds.lower < bounds.upper < bounds.lower * (1 + arb(2) ** (4 - bits))
    assert bounds.lower.union(bounds.upper).overlaps(on_a_line(loss, at))


@pytest.mark.theorem("T149-marked-losses")
@pytest.mark.parametrize(("order", "epsilon", "value"), [
    ("remove", "400", "0.396925334448840"), ("remove", "1600", "3.41596328791168e-13"),
    ("remove", "1", "0.999952680193795"),
    ("add", "1", "0.9998738 +/- 2e-6"), ("add", "5", "0.99322 +/- 1e-4")])
def test_a_million_steps_of_little_noise(composed: Composed, order: str, epsilon: str, value: str) -> None:
    """Noise .1, q = 1e-5: the values of a path of panels and of the line, which take 6 to 90 s."""
    loss, at = composed(order, "1/100000", "1/10", 10**6), Fraction(epsilon)
    answer = OneDirection(loss).enclose(at, 40.0, "auto", Budget(60.0))
    assert isinstance(answer.witness, MarkedWitness)
    bounds = answer.bounds
    assert bounds.lower < bounds.upper < bounds.lower * (1 + arb(2) ** -38)
    assert bounds.lower.union(bounds.upper).overlaps(arb(value) * arb(1, "1e-14"))


@pytest.mark.theorem("T149-marked-losses")
def test_different_laws_a_group_and_a_gaussian_step() -> None:
    parts = tuple((SampledGaussianLoss(Fraction(q), Fraction(s), "remove"), k)
                  for q, s, k in (("1/1000", "1/2", 300), ("1/500", "3/5", 200)))
    group = MixtureLoss(Fraction(1), ((Fraction(0), Fraction(998001, 10**6)), (Fraction(1), Fraction(1998, 10**6)),
                                      (Fraction(2), Fraction(1, 10**6))), ((Fraction(0), Fraction(1)),), "remove")
    for loss, at in ((ComposedLoss("remove", parts, Fraction(1, 100)), Fraction(3)),
                     (ComposedLoss("remove", ((group, 200),), Fraction(0)), Fraction(1))):
        bounds = evaluate(loss, chosen(loss, at)).delta(at)
        assert bounds.lower < bounds.upper < bounds.lower * (1 + arb(2) ** -20)
        assert bounds.lower.union(bounds.upper).overlaps(on_a_line(loss, at))


@pytest.mark.theorem("T149-marked-losses")
@pytest.mark.parametrize(("order", "times", "bits"), [
    ("remove", 6, 24), pytest.param("remove", 60, 40, marks=pytest.mark.long),
    pytest.param("add", 30, 40, marks=pytest.mark.long)])
def test_altered_witnesses_still_enclose(composed: Composed, order: str, times: int, bits: int) -> None:
    """Other marks, tilts, exponents, windows, steps: wider, never beside delta, at other eps too."""
    loss, draw, wide = composed(order, "1/100", "4/5", 100), random.Random(3), 0
    places = [Fraction(1, 2), Fraction(2) if order == "remove" else Fraction(1, 4)]
    truths = {at: enclosed(loss, chosen(loss, at, bits + 10.0), at) for at in places}
    assert all(truth.rad() < truth * arb(2) ** -15 for truth in truths.values())
    witness = chosen(loss, Fraction(1, 2), bits)
    for _ in range(times):
        altered = altered_witness(witness, draw)
        if not altered.applies(loss):
            continue
        values = evaluate(loss, altered)
        for at, truth in truths.items():
            bounds = values.delta(at)
            assert bounds.lower.union(bounds.upper).overlaps(truth), (altered, at)
            wide += bool(bounds.upper > bounds.lower * (1 + arb(2) ** (10 - bits)))
    assert wide > times * 2 // 3


def altered_witness(witness: MarkedWitness, draw: random.Random) -> MarkedWitness:
    found = witness
    for _ in range(draw.randint(1, 3)):
        mark, name = found.marks[0], draw.choice(["nodes", "tail_nodes", "rest_nodes"])
        rule: NodeRule = getattr(found, name)[0]
        moved = replace(mark, place=mark.place + mark.scale * draw.randint(-12, 12))
        changes = [
            {"marks": (moved,)}, {"marks": (replace(mark, votes=draw.choice([1, 2, 5, 60])),)},
            {"marks": (replace(mark, scale=mark.scale * draw.choice([Fraction(1, 3), 2])),)},
            {"rest": draw.choice([Fraction(1, 10), Fraction(1), Fraction(9), Fraction(-2), Fraction(-9)])},
            {"tilt": found.tilt * draw.choice([Fraction(1, 3), Fraction(9, 10)])}, {"count": 1 + found.count // 3},
            {"step": found.step * draw.choice([Fraction(1, 2), 2, 5])}, {"prec": draw.randint(20, 120)},
            {name: (replace(rule, step=2 * rule.step),)},
            {name: (replace(rule, first=rule.first + draw.randint(0, 60)),)},
            {name: (replace(rule, last=rule.last - draw.randint(0, 60)),)},
            {name: (replace(rule, half_width=rule.half_width / 2),)}]
        found = replace(found, **draw.choice(changes))  # type: ignore[arg-type]
    return found


@pytest.mark.theorem("T149-marked-losses")
def test_shares_are_probabilities_bounded_off_the_real_line() -> None:
    """X is P(Bin(2m-1, p) >= m); 1 - X its complement; (2) on random places of the strip."""
    draw = random.Random(5)
    for _ in range(60):
        mark = Mark(Fraction(draw.randint(-9, 9), 4), Fraction(draw.randint(1, 8), 4), draw.randint(1, 12))
        x = draw.uniform(-6, 6)
        height = draw.uniform(0, 0.97) * 3.14159 * float(mark.scale)
        t = acb(x, height)
        rest, marked = (mark.enclose_shares([t], sign)[0] for sign in (1, -1))
        assert (rest + marked - 1).contains(0)
        at_rest = [mark.enclose_shares([acb(x)], sign)[0].real for sign in (1, -1)]
        p = 1 / (1 + (-(arb(x) - arb(mark.place.numerator) / mark.place.denominator) * mark.scale.denominator
                      / mark.scale.numerator).exp())
        n = 2 * mark.votes - 1
        known = sum((comb(n, i) * p**i * (1 - p)**(n - i) for i in range(mark.votes, n + 1)), arb(0))
        assert known.overlaps(at_rest[1])
        growth = mark.bound_growth(arb(height))
        assert abs(rest) <= growth * at_rest[0] * (1 + arb("1e-12"))
        assert abs(marked) <= growth * at_rest[1] * (1 + arb("1e-12"))
    assert Mark(Fraction(0), Fraction(1), 2).bound_growth(arb.pi() + 1) == arb.pos_inf()


@pytest.mark.theorem("T149-marked-losses")
def test_parts_of_the_transform_add_up_and_fall() -> None:
    """Both parts by different rules, against M by nodes; |H| beyond a frequency is below its bound."""
    law = SampledGaussianLoss(Fraction(1, 100), Fraction(1, 2), "remove")
    mark, coarse = Mark(Fraction(1), Fraction(1, 4), 3), NodeRule(
        Fraction(1, 4), Fraction(1, 4), Fraction(1, 40), -200, 300)
    fine = NodeRule(Fraction(1, 5), Fraction(1, 5), Fraction(1, 60), -280, 420)
    with ctx.workprec(128):
        marked, rest = Share(enclose_nodes(law, coarse), mark, -1), Share(enclose_nodes(law, fine), mark, 1)
        whole = sum(enclose_nodes(law, fine).weights(acb(1, 3)), acb(0))
        columns = [share.enclose_on_line(arb(1), arb(3), 4, lambda: None) for share in (marked, rest)]
        errors = sum((column.quadrature + column.node_tail for column in columns), arb("1e-15"))
        assert abs(columns[0].values[1] + columns[1].values[1] - whole) <= errors < 1e-6
        bound = marked.bound_beyond(acb(1, 6))
        for m in (2, 3, 4):
            assert abs(columns[0].values[m]) - columns[0].quadrature - columns[0].node_tail <= bound
        assert bound < marked.bound_beyond(acb(1, 0))


@pytest.mark.theorem("T149-marked-losses")
def test_nodes_that_hardly_turn() -> None:
    """By Taylor's series where losses are within 1e-9, whole turns elsewhere."""
    draw = random.Random(2)
    with ctx.workprec(100):
        losses = [acb(-1 + j * 1e-10, 1e-12) for j in range(20)] + [acb(j / 10, 0.01 * j) for j in range(20)]
        weights = [acb(draw.random(), draw.random()) for _ in losses]
        found = line_sums(weights, losses, arb("0.7"), 30)
        for m in (0, 7, 30):
            expected = sum((x * (acb(0, 1) * m * arb("0.7") * v).exp() for x, v in zip(weights, losses, strict=True)),
                           acb(0))
            assert found[m].overlaps(expected)
            assert found[m].rad() < 1e-24


@pytest.mark.theorem("T149-marked-losses")
def test_the_other_order_by_the_same_line(composed: Composed) -> None:
    """Reversed, against the line of the order asked."""
    loss, at = composed("remove", "1/1000", "1/2", 300), Fraction(1, 10)
    witness, added = chosen(loss, -at, 24.0), composed("add", "1/1000", "1/2", 300)
    values = evaluate(added, replace(witness, tilt=-1 - witness.tilt))
    assert isinstance(values, ReversedValues)
    bounds = values.delta(at)
    assert bounds.upper < bounds.lower * (1 + arb(2) ** -20)
    line = on_a_line(added, at, 24.0)
    assert line.rad() < line * arb(2) ** -20 and bounds.lower.union(bounds.upper).overlaps(line)


def test_side_conditions_are_asked(composed: Composed) -> None:
    loss, at = composed("remove", "1/1000", "1/2", 300), Fraction(2)
    witness = chosen(loss, at)
    mark = witness.marks[0]
    wrong = [{"tilt": Fraction(0)}, {"left": witness.tilt}, {"left": Fraction(-2)}, {"right": witness.tilt},
             {"step": Fraction(0)}, {"count": 0}, {"marks": ()}, {"rest": Fraction(0)}, {"rest": Fraction(-1)},
             {"marks": (replace(mark, scale=Fraction(0)),)}, {"marks": (replace(mark, votes=0),)},
             {"marks": (replace(mark, votes=65),)}, {"nodes": ()}, {"tail_nodes": ()}, {"rest_nodes": ()}]
    for change in wrong:
        with pytest.raises(InvalidInput):
            evaluate(loss, replace(witness, **change))  # type: ignore[arg-type]
    values = evaluate(loss, witness)
    assert isinstance(values, MarkedValues)
    assert set(values.delta(at).budget) == {"quadrature", "node_tail", "frequency_tail", "aliasing", "rounding",
                                            "unmarked"}
    assert witness.work(loss).units < 10**9


@pytest.mark.theorem("T149-marked-losses")
@pytest.mark.parametrize("name", ["nodes", "tail_nodes", "rest_nodes"])
def test_rules_without_nodes_bound_nothing(composed: Composed, name: str) -> None:
    loss, at = composed("remove", "1/100", "4/5", 100), Fraction(1, 2)
    witness = chosen(loss, at, 10.0)
    rule = getattr(witness, name)[0]
    empty = replace(witness, **{name: (replace(rule, first=rule.last + 1),)})  # type: ignore[arg-type]
    bounds = evaluate(loss, empty).delta(at)
    assert (bounds.lower, bounds.upper) == (0, 1)


@pytest.mark.theorem("T149-marked-losses")
def test_nodes_beyond_the_line_are_in_order_where_delta_is_nearly_1(composed: Composed) -> None:
    """Their want may be negative; without an order the frequency tail is infinite, and nothing above is known."""
    loss = composed("add", "1/10000", "1/10", 10**5)
    witness = chosen(loss, Fraction(0), 14.0)
    assert all(rule.step > 0 and rule.first < rule.last for rule in witness.tail_nodes)
    assert evaluate(loss, witness).delta(Fraction(0)).upper < 1
