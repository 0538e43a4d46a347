"""Laws of which one holds and is shown, and mixtures cut short (T166), against sums and closed forms of their parts."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from flint import arb, ctx

from verified_dp import Gaussian, PoissonSampled, WithReplacement, compose, privacy_profile
from verified_dp.certificate import certify, verify
from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.exact import ExactWitness
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.node_moment import EarlierChernoff
from verified_dp.core.engines.nodes import enclose_families
from verified_dp.core.engines.rays import RaysWitness
from verified_dp.core.families.batches.mechanism import TruncatedPoisson
from verified_dp.core.families.batches.truncated_batch import TruncatedBatchLoss
from verified_dp.core.families.gaussian.shortened import ShortenedWitness
from verified_dp.core.kernel.certificate.document import canonical, sealed
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Composition, Relation
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.core.kernel.witnesses import Witness, evaluate
from verified_dp.search.answer import width_bits
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.orders import order_of
from verified_dp.search.rays import choose_rays, plan_rays
from verified_dp.search.shortened import LongOrder
from verified_dp.spec import parse_spec
from verified_dp.verifiers.independent.check import verify as verify_independently

F = Fraction
revealed = pytest.mark.theorem("T166-revealed-laws")
BITS = 30.0


def loss_of(composition: Composition, relation: str) -> ComposedLoss:
    return privacy_losses(composition, Relation.of(relation))[0]


def truncated(count: int, noise: str = "1", limit: int = 14) -> Composition:
    return compose((TruncatedPoisson(Gaussian(noise), "1/10", 100, limit), count))


def drawn(count: int, noise: str = "2") -> Composition:
    return compose((WithReplacement(Gaussian(noise), 8, 40), count))


def by_parts(loss: ComposedLoss, epsilon: Fraction, bits: float) -> tuple[arb, arb]:
    """delta of `count` truncated steps as an average over how many batches are full, each by engines of its own."""
    (law, count), = loss.parts
    assert isinstance(law, TruncatedBatchLoss)
    share = law.enclose_shares()[1]
    lower, upper = arb(0), arb(0)
    for full in range(count + 1):
        parts = tuple((one, k) for one, k in ((law.free, count - full), (law.full, full)) if k)
        bounds = OneDirection(ComposedLoss(loss.order, parts, F(0))).enclose(epsilon, bits, "auto", Budget(None)).bounds
        chance = comb(count, full) * share**full * (1 - share) ** (count - full)
        lower, upper = lower + chance * bounds.lower, upper + chance * bounds.upper
    return lower, upper


@revealed
@pytest.mark.parametrize("relation", ["remove", "add"])
@pytest.mark.parametrize("epsilon", ["1/5", "3/10"])
def test_truncated_steps_are_the_average_over_how_many_batches_are_full(relation: str, epsilon: str) -> None:
    loss = loss_of(truncated(4), relation)
    with ctx.workprec(128):
        lower, upper = by_parts(loss, F(epsilon), 20.0)
        bounds = OneDirection(loss).enclose(F(epsilon), BITS, "contour", Budget(None)).bounds
        assert width_bits(bounds) >= BITS
        assert bounds.lower <= upper
        assert lower <= bounds.upper
        assert upper - lower < lower / 2**16
        other = by_parts(loss_of(truncated(4, limit=13), relation), F(epsilon), 20.0)
        assert other[0] > bounds.upper


@revealed
@pytest.mark.theorem("T187-rays")
@pytest.mark.parametrize(("count", "epsilon", "limit"), [(1, "1/2", 14), (2, "3/2", 14), (3, "2", 11)])
def test_few_steps_by_rays_are_that_average(count: int, epsilon: str, limit: int) -> None:
    loss = loss_of(truncated(count, limit=limit), "remove")
    order = OneDirection(loss)
    plan = plan_rays(order.model, float(F(epsilon)), order.jumping(F(epsilon), order.saddle(F(epsilon))), 40.0)
    assert plan is not None
    witness = choose_rays(plan)
    with ctx.workprec(128):
        bounds = evaluate(loss, witness).delta(F(epsilon))
        lower, upper = by_parts(loss, F(epsilon), 40.0)
        assert width_bits(bounds) >= 33.0
        assert bounds.lower <= upper
        assert lower <= bounds.upper
        assert upper - lower < lower / 2**36
        other = by_parts(loss_of(truncated(count, limit=limit + 1), "remove"), F(epsilon), 30.0)
        assert other[1] < bounds.lower
    for altered in altered_rays(witness):
        if not altered.applies(loss):
            continue
        shown = evaluate(loss, altered).delta(F(epsilon))
        assert not shown.lower > bounds.upper
        assert not bounds.lower > shown.upper


def altered_rays(rays: RaysWitness) -> list[RaysWitness]:
    """Rules dropped, exchanged or cut, cuts elsewhere, one ray in place of the other, and few bits."""
    (first, second), (low, high) = rays.nodes, rays.cuts
    return [replace(rays, nodes=(first,), cuts=(low,)), replace(rays, nodes=(second, first), cuts=(high, low)),
            replace(rays, nodes=(first, replace(second, last=second.last - 20))), replace(rays, cuts=(high, low)),
            replace(rays, cuts=(low + 3, high - 5)), replace(rays, cuts=(low, second.last)),
            replace(rays, nodes=(replace(first, step=first.step * 2), second)), replace(rays, low=rays.high),
            replace(rays, cuts=(low,)), replace(rays, cuts=(low, high, high)), replace(rays, prec=40)]


@revealed
def test_chances_that_are_not_told_from_none_widen_all() -> None:
    loss = loss_of(compose((TruncatedPoisson(Gaussian("1"), "1/10", 1000, 250), 2)), "remove")
    order = OneDirection(loss)
    plan = plan_rays(order.model, 1.5, order.jumping(F(3, 2), order.saddle(F(3, 2))), 40.0)
    assert plan is not None
    with ctx.workprec(64):
        assert lines(loss).revealed_parts[0][0].enclose_shares()[1] < 1e-30
    narrow = evaluate(loss, choose_rays(plan)).delta(F(3, 2))
    free = OneDirection(loss_of(compose((PoissonSampled(Gaussian("1"), "1/10"), 2)), "remove")).enclose(
        F(3, 2), 40.0, "contour", Budget(None)).bounds
    assert narrow.lower <= free.upper
    assert free.lower <= narrow.upper
    swapped = replace(loss, parts=((replace(loss.parts[0][0], largest_batch=1), 2),))  # type: ignore[type-var]
    bounds = evaluate(swapped, choose_rays(plan)).delta(F(3, 2))
    assert not bounds.lower > 0.5
    assert not bounds.upper < narrow.lower


@revealed
def test_two_steps_against_the_integral_over_both_outputs() -> None:
    loss = loss_of(truncated(2, noise="2", limit=12), "remove")
    (law, _), = loss.parts
    assert isinstance(law, TruncatedBatchLoss)
    with ctx.workprec(64):
        shares = [float(share) for share in law.enclose_shares()]
    t = np.linspace(-30, 34, 4001)
    scales = [float(part.noise_multiplier) for part in (law.free, law.full)]  # type: ignore[attr-defined]
    chances = [float(part.sampling_probability) for part in (law.free, law.full)]  # type: ignore[attr-defined]
    masses, ratios = [], []
    for s, q, share in zip(scales, chances, shares, strict=True):
        masses.append(share * np.exp(-t * t / (2 * s * s)) / (s * np.sqrt(2 * np.pi)) * (t[1] - t[0]))
        ratios.append(1 - q + q * np.exp((t - 0.5) / (s * s)))
    total = sum((first[:, None] * second[None, :] * np.maximum(a[:, None] * b[None, :] - np.exp(0.1), 0)).sum()
                for first, a in zip(masses, ratios, strict=True) for second, b in zip(masses, ratios, strict=True))
    bounds = OneDirection(loss).enclose(F(1, 10), 16.0, "auto", Budget(None)).bounds
    assert abs(float(bounds.upper) - total) < 1e-5


@revealed
def test_twelve_digits_of_a_training_with_truncated_batches() -> None:
    profile = privacy_profile(compose((TruncatedPoisson(Gaussian("1"), "1/100", 10000, 140), 1000)), "add-or-remove")
    delta, epsilon = profile.delta(4), profile.epsilon("1e-10")
    assert (delta.status, epsilon.status, delta.method, epsilon.method) == ("certified", "certified", "contour",
                                                                          "contour")
    rough = privacy_profile(profile.composition, "remove").delta(4, digits=3, method="lattice")
    assert rough.lower <= delta.upper
    assert delta.lower <= rough.upper


@revealed
def test_truncated_beside_other_steps() -> None:
    loss = loss_of(compose((TruncatedPoisson(Gaussian("1"), "1/10", 100, 14), 3), (Gaussian("4"), 2),
                           (PoissonSampled(Gaussian("2"), "1/5"), 4), (PoissonSampled(Gaussian("3"), "1/5"), 4)), "add")
    bounds = OneDirection(loss).enclose(F(1), BITS, "contour", Budget(None)).bounds
    rough = OneDirection(loss).enclose(F(1), 8.0, "lattice", Budget(None)).bounds
    assert width_bits(bounds) >= BITS
    assert rough.lower <= bounds.upper
    assert bounds.lower <= rough.upper


def hostile(line: LineWitness) -> list[Witness]:
    """Rules dropped, exchanged, cut, and coarse ones: the last two are admissible and show little."""
    first, second = line.nodes
    return [replace(line, nodes=(first,)), replace(line, nodes=(first, second, second)),
            replace(line, nodes=(second, first)), replace(line, tail_nodes=line.tail_nodes[:1]),
            replace(line, nodes=(first, replace(second, last=second.first + 3))),
            replace(line, nodes=(replace(first, step=first.step * 3), second)),
            replace(line, nodes=(first, replace(second, height=second.height * 40))),
            EarlierChernoff(line.tilt, line.nodes[:1], 64).now(), EarlierChernoff(line.tilt, line.nodes, 64).now()]


@revealed
@pytest.mark.parametrize("relation", ["remove", "add"])
def test_hostile_rules_are_refused_or_show_nothing_false(relation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verified_dp.search.planners.rays.plan_rays", lambda *_: None)
    loss = loss_of(truncated(6), relation)
    found = OneDirection(loss).enclose(F(1, 5), BITS, "contour", Budget(None))
    assert isinstance(found.witness, LineWitness)
    for witness in hostile(found.witness):
        if not witness.applies(loss):
            continue
        bounds = evaluate(loss, witness).delta(F(1, 5))
        assert bounds.lower <= found.bounds.upper
        assert found.bounds.lower <= bounds.upper


@revealed
def test_rules_of_the_several_laws_come_last() -> None:
    loss = loss_of(compose((TruncatedPoisson(Gaussian("1"), "1/10", 100, 14), 3),
                           (PoissonSampled(Gaussian("2"), "1/5"), 4)), "remove")
    line = OneDirection(loss).enclose(F(1), 12.0, "contour", Budget(None)).witness
    assert isinstance(line, LineWitness)
    assert len(line.nodes) == 3
    sizes = [len(nodes.losses) for family in enclose_families(loss, line.nodes) for nodes, _ in family]
    counts = [rule.last - rule.first + 1 for rule in line.nodes]
    assert sizes == [counts[0], counts[1] + counts[2]]


@revealed
@pytest.mark.parametrize(("relation", "epsilon"), [("remove", "5/2"), ("add", "3/4"), ("replace", "3")])
def test_a_mixture_cut_short_holds_the_value_of_all_components(relation: str, epsilon: str) -> None:
    loss = loss_of(drawn(5), relation)
    order = order_of(loss)
    assert isinstance(order, LongOrder)
    whole = OneDirection(loss).enclose(F(epsilon), 24.0, "contour", Budget(None)).bounds
    short = order.enclose(F(epsilon), 24.0, "auto", Budget(None))
    assert width_bits(short.bounds) >= 24.0
    assert short.bounds.lower <= whole.upper
    assert whole.lower <= short.bounds.upper
    assert all(end.witness.kind == "shortened" for _, end in short.by_side())


@revealed
@pytest.mark.parametrize(("relation", "kept"), [("remove", 3), ("add", 2), ("replace", 3)])
def test_what_is_dropped_is_needed(relation: str, kept: int) -> None:
    epsilon = F(3, 4)
    loss = loss_of(drawn(5), relation)
    whole = OneDirection(loss).enclose(epsilon, 24.0, "contour", Budget(None)).bounds
    left, above, below = ShortenedWitness((kept,), ExactWitness(64)).shortened(loss)
    inner = OneDirection(left).enclose(epsilon, 24.0, "contour", Budget(None))
    assert inner.bounds.upper < whole.lower or whole.upper < inner.bounds.lower
    bounds = evaluate(loss, ShortenedWitness((kept,), inner.witness)).delta(epsilon)
    assert bounds.lower <= whole.lower
    assert whole.upper <= bounds.upper
    assert (above > 0, below > 0) == {"remove": (True, False), "add": (False, True), "replace": (True, True)}[relation]


@revealed
@pytest.mark.parametrize("kept", [(), (1,), (-3,), (0,), (3, 3)])
def test_what_is_kept_must_be_mixtures(kept: tuple[int, ...]) -> None:
    loss = loss_of(drawn(5), "remove")
    with pytest.raises(InvalidInput, match="side conditions"):
        evaluate(loss, ShortenedWitness(kept, ExactWitness(64)))
    with pytest.raises(InvalidInput, match="side conditions"):
        evaluate(loss, ShortenedWitness((3,), ShortenedWitness((2,), ExactWitness(64))))
    with pytest.raises(InvalidInput, match="side conditions"):
        evaluate(loss_of(truncated(3), "remove"), ShortenedWitness((3,), ExactWitness(64)))


@revealed
def test_marked_losses_of_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    epsilon, kept = F(37, 4), (7,)
    loss = loss_of(compose((WithReplacement(Gaussian("2"), 100, 10000), 100)), "remove")
    left = OneDirection(ShortenedWitness(kept, ExactWitness(64)).shortened(loss)[0])
    inner = left.enclose_by("marked", epsilon, 20.0, Budget(None)).witness
    assert inner.kind == "marked"
    bounds = evaluate(loss, ShortenedWitness(kept, inner)).delta(epsilon)
    for other in ("marked", "rays"):
        monkeypatch.setattr(f"verified_dp.search.planners.{other}.plan_{other}", lambda *_: None)
    whole = LongOrder(loss).enclose(epsilon, 20.0, "contour", Budget(None))
    assert whole.witness.inner.kind == "line"  # type: ignore[attr-defined]
    assert width_bits(whole.bounds) >= 20.0
    assert bounds.lower <= whole.bounds.upper
    assert whole.bounds.lower <= bounds.upper
    assert bounds.upper < whole.bounds.upper * 2


@revealed
def test_epsilon_of_many_draws() -> None:
    profile = privacy_profile(compose((WithReplacement(Gaussian("2"), 100, 10000), 100)), "remove")
    found = profile.epsilon("1e-8", digits=6)
    assert found.status == "certified"
    assert profile.delta(found.upper.as_fraction(), digits=3).lower <= F(1, 10**8)
    assert profile.delta(found.lower.as_fraction(), digits=8).upper >= F(1, 10**8)


SPEC = """relation = "remove"
[claim]
title = "t"
source = "s"
epsilon = "{epsilon}"
delta = "{delta}"
[[mechanism]]
kind = "gaussian"
noise_multiplier = "{noise}"
sampling = {{ {sampling} }}
count = {count}
"""
TRUNCATED = 'scheme = "truncated-poisson", probability = "1/50", population = 500, largest_batch = 15'
DRAWN = 'scheme = "with-replacement", draws = 6, population = 100'


@revealed
@pytest.mark.parametrize(("sampling", "noise", "count", "kind", "epsilon"), [
    (TRUNCATED, "2", 20, "line", "2"), (DRAWN, "5", 20, "shortened", "1"), (TRUNCATED, "1", 2, "rays", "4")])
def test_both_checkers_agree_and_what_is_altered_is_refused(sampling: str, noise: str, count: int, kind: str,
                                                        epsilon: str) -> None:
    text = SPEC.format(sampling=sampling, noise=noise, count=count, epsilon=epsilon, delta="1e-5")
    certificate = certify(parse_spec(text), digits=6)
    data = certificate.to_bytes()
    assert verify(data).valid
    assert verify_independently(data).valid
    document = json.loads(data)
    assert "T166-revealed-laws" in document["theorems"]
    witness = document["evaluations"][0]["witness"]
    assert witness["kind"] == kind
    changed = [{**witness, "nodes": witness["nodes"][:1]}] if sampling is TRUNCATED else [
        {**witness, "kept": [2]}, {**witness, "kept": []}, {**witness, "kept": [1]}]
    for other in changed:
        evaluations = [{**document["evaluations"][0], "witness": other}, *document["evaluations"][1:]]
        forged = canonical(sealed({**document, "evaluations": evaluations}))
        assert not verify(forged).valid
