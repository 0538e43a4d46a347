"""Random allocation and cyclic Poisson sampling from the specification to pairs, answers and certificates."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from verified_dp import CyclicPoisson, Gaussian, PoissonSampled, RandomAllocation, compose, privacy_profile
from verified_dp.certificate import build_certificate
from verified_dp.core.families.allocation.random_allocation import RandomAllocationLoss
from verified_dp.core.kernel.balls import ball, normal_tail
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.certificate.document import CONTENT, Document, sealed
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Composition, Relation
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.exact import SquareRoot
from verified_dp.core.kernel.losses import describe_pairs, privacy_losses
from verified_dp.core.kernel.words import assumptions
from verified_dp.search.allocation import EpochModel
from verified_dp.spec import parse_spec
from verified_dp.verifiers import independent

F = Fraction
patterns = pytest.mark.theorem("T130-participation-patterns")
allocation = pytest.mark.theorem("T133-random-allocation")
one_round = pytest.mark.theorem("T162-one-large-round")
ONE = Gaussian("1")


def spec_text(sampling: str, *, relation: str = "add-or-remove", rest: str = "") -> str:
    return (f'relation = "{relation}"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 1\n'
            f"sampling = {{ {sampling} }}\n{rest}")


def remove(composition: Composition) -> ComposedLoss:
    return privacy_losses(composition, Relation.REMOVE)[0]


@allocation
def test_specification_has_defaults() -> None:
    short = parse_spec(spec_text('scheme = "random-allocation", rounds = 100'))
    long = parse_spec(spec_text('scheme = "random-allocation", rounds = 100, picks = 1, fixed = false'))
    assert short == long and short.composition == compose(RandomAllocation(ONE, 100))


@pytest.mark.parametrize(("sampling", "key"), [
    ("rounds = 2, picks = 3", "picks"), ("rounds = 0", "rounds"), ("picks = 1", "rounds"),
    ("rounds = 2, fixed = 1", "fixed"), ("rounds = 2, picks = true", "picks"),
    ("rounds = 2, probability = 1", "probability"),
])
def test_specification_refuses(sampling: str, key: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_spec(spec_text(f'scheme = "random-allocation", {sampling}'))
    assert error.value.key == f"mechanism[1].sampling.{key}"


@pytest.mark.parametrize(("other", "name"), [("balls-in-bins", "random-allocation"), ("cyclic", "cyclic-poisson")])
def test_other_names_lead_to_ours(other: str, name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        parse_spec(spec_text(f'scheme = "{other}", rounds = 2'))


@pytest.mark.parametrize("word", ["sequential", "fixed-size"])
def test_ways_without_a_theorem_are_refused(word: str) -> None:
    with pytest.raises(Unsupported, match="no proof here"):
        parse_spec(spec_text(f'scheme = "{word}", rounds = 2'))


@pytest.mark.parametrize("scheme", ['scheme = "random-allocation", rounds = 3',
                                    'scheme = "cyclic-poisson", groups = 2, probability = 0.1, rounds = 3'])
def test_only_gaussians_with_their_multiplier(scheme: str) -> None:
    with pytest.raises(Unsupported, match="Gaussian only"):
        parse_spec('relation = "add"\n[[mechanism]]\nkind = "laplace"\nscale = 1\nsensitivity = 1\n'
                   f"sampling = {{ {scheme} }}")
    for build in (lambda g: RandomAllocation(g, 3), lambda g: CyclicPoisson(g, 2, "0.1", 3)):
        with pytest.raises(InvalidInput, match="noise_multiplier"):
            build(Gaussian(sigma=1, sensitivity=1))


@patterns
def test_replace_and_groups_are_refused() -> None:
    with pytest.raises(Unsupported, match="replace"):
        privacy_losses(compose(RandomAllocation(ONE, 3)), Relation.REPLACE)
    for mechanism in (RandomAllocation(ONE, 3), CyclicPoisson(ONE, 2, "0.1", 4)):
        with pytest.raises(Unsupported, match="group_size"):
            privacy_losses(compose(mechanism).for_groups(2), Relation.ADD)


@allocation
def test_one_pick_is_one_law_and_epochs_are_its_count() -> None:
    loss = remove(compose((RandomAllocation(ONE, 100), 7), RandomAllocation(ONE, 100)))
    assert loss.parts == ((RandomAllocationLoss(100, F(1), "remove"), 8),)
    pairs = describe_pairs(compose(RandomAllocation(ONE, 100)), Relation.ADD_OR_REMOVE)
    assert [pair.order for pair in pairs] == ["remove", "add"] and all(pair.tight for pair in pairs)
    assert pairs[0].P == pairs[1].Q == "N(e_j, (1) I) with j uniform on 1..100"


@patterns
def test_several_picks_are_blocks() -> None:
    loss = remove(compose((RandomAllocation(ONE, 11, 3), 2)))
    assert dict(loss.parts) == {RandomAllocationLoss(4, F(1), "remove"): 4, RandomAllocationLoss(3, F(1), "remove"): 2}
    assert not any(pair.tight for pair in describe_pairs(compose(RandomAllocation(ONE, 11, 3)), Relation.ADD))
    mixed = remove(compose(RandomAllocation(ONE, 5, 3)))
    assert dict(mixed.parts) == {RandomAllocationLoss(2, F(1), "remove"): 2} and mixed.mean_shift_squared == 1


@patterns
def test_all_picks_are_plain_gaussians() -> None:
    everywhere = compose((RandomAllocation(Gaussian("3"), 4, 4), 2))
    assert remove(everywhere) == remove(compose((Gaussian("3"), 8)))
    assert all(pair.tight for pair in describe_pairs(everywhere, Relation.ADD))


@patterns
def test_kept_batches_are_less_noise() -> None:
    kept = RandomAllocation(Gaussian("2"), 10, fixed=True)
    assert remove(compose((kept, 4))) == remove(compose(RandomAllocation(ONE, 10)))
    assert remove(compose((kept, 2))) == remove(compose(kept, kept))
    (law, count), = remove(compose((kept, 2))).parts
    assert isinstance(law, RandomAllocationLoss) and law.noise_multiplier == SquareRoot(F(2)) and count == 1


@patterns
def test_kept_batches_reveal_more_than_fresh_ones() -> None:
    epochs = (compose((RandomAllocation(Gaussian("2"), 3, fixed=fixed), 2)) for fixed in (True, False))
    kept, fresh = (privacy_profile(c, relation="remove").delta("1", digits=2) for c in epochs)
    assert kept.lower > fresh.upper


@patterns
def test_cyclic_is_poisson_in_the_turns_of_the_first_group() -> None:
    for rounds, turns in ((10, 4), (9, 3), (2, 1)):
        cyclic = compose((CyclicPoisson(ONE, 3, "1/5", rounds), 2))
        plain = compose((PoissonSampled(ONE, "1/5"), 2 * turns))
        for relation in Relation:
            assert privacy_losses(cyclic, relation) == privacy_losses(plain, relation)
    everyone = compose((CyclicPoisson(Gaussian("3"), 3, "1", 10), 2))
    assert remove(everyone) == remove(compose((Gaussian("3"), 8)))


@allocation
def test_epsilon_of_one_epoch() -> None:
    """The interval of others at sigma = 1, 100 rounds, delta = 1e-6: [0.8437, 0.8745]."""
    profile = privacy_profile(compose(RandomAllocation(ONE, 100)), relation="add-or-remove")
    found = profile.epsilon("1e-6")
    assert F("0.857985976") < found.lower <= found.upper < F("0.857985977")
    assert found.order == "remove" and found.tight and found.status == "certified"


@allocation
def test_two_epochs_by_the_lattice_against_monte_carlo() -> None:
    import numpy as np

    rng = np.random.default_rng(5)
    ratio = np.exp(rng.standard_normal((2, 100_000, 5)) - 0.5).mean(axis=2).prod(axis=0)
    sample = np.maximum(ratio - np.exp(1.0), 0)
    found = privacy_profile(compose((RandomAllocation(ONE, 5), 2)), relation="remove").delta("1", digits=3)
    assert abs(sample.mean() - float(found.upper)) < 5 * sample.std() / np.sqrt(100_000)
    assert found.upper < found.lower * F(1001, 1000)


@patterns
def test_blocks_are_above_the_truth() -> None:
    """2 of 3 at sigma 1.5, eps 1: the truth is .0589, the blocks' bound .0720."""
    found = privacy_profile(compose(RandomAllocation(Gaussian("1.5"), 3, 2)), relation="remove").delta("1", digits=3)
    assert F("0.0715") < found.lower <= found.upper < F("0.0725") and not found.tight


CLAIM = '[claim]\nepsilon = 0.86\ndelta = 1e-6\n'


def certificate(sampling: str, rest: str = CLAIM) -> Document:
    spec = parse_spec(spec_text(sampling, rest=rest))
    profile, claim = privacy_profile(spec.composition, relation=spec.relation), spec.claim
    assert claim is not None
    return build_certificate(spec, profile.solve_delta(claim.epsilon), profile.solve_epsilon(claim.delta))


@allocation
def test_certificates_verify_and_altered_ones_do_not() -> None:
    document = certificate('scheme = "random-allocation", rounds = 100')
    assert document["verdict"] == "proved"
    assert document["input"]["mechanisms"][0]["sampling"] == {
        "scheme": "random-allocation", "rounds": 100, "picks": 1, "fixed": False}
    assert {"T130-participation-patterns", "T131-lognormal-transform", "T132-hyperbola",
            "T133-random-allocation"} <= set(document["theorems"])
    assert verify(json.dumps(document)).valid
    for change in ({"rounds": 99}, {"fixed": 0}, {"picks": 2}, {"picks": "1"}):
        altered = json.loads(json.dumps(document))
        altered["input"]["mechanisms"][0]["sampling"].update(change)
        fresh = sealed({key: altered[key] for key in CONTENT})
        assert not verify(json.dumps(altered)).valid and not verify(fresh).valid


@patterns
def test_assumptions_say_how_records_are_placed() -> None:
    words = " ".join(assumptions(compose(RandomAllocation(ONE, 3)), Relation.ADD))
    assert "uniformly and independently of the others" in words and "divided by" in words
    words = " ".join(assumptions(compose(CyclicPoisson(ONE, 3, "0.1", 6)), Relation.ADD))
    assert "at most `groups` bands" in words


TABLE = """[[mechanism]]
kind = "gaussian"
noise_multiplier = {noise}
sampling = {{ scheme = "random-allocation", rounds = 3, fixed = {fixed} }}
count = {count}
"""


@patterns
@pytest.mark.parametrize(("tables", "told"), [
    ([(2, "true", 2)], False), ([(2, "true", 1), (2, "true", 3)], True),
    pytest.param([(2, "true", 1), (2, "false", 1)], False, marks=pytest.mark.long),
    pytest.param([(2, "true", 1), (3, "true", 1)], True, marks=pytest.mark.long)])
def test_several_tables_that_keep_batches_are_told_apart(tables: list[tuple[int, str, int]], told: bool) -> None:
    """One allocation across equal tables, others of their own: in the certificate, and asked by both checkers."""
    text = "".join(TABLE.format(noise=noise, fixed=fixed, count=count) for noise, fixed, count in tables)
    spec = parse_spec(f'relation = "remove"\n{text}[claim]\nepsilon = 2\ndelta = 0.9\n')
    profile = privacy_profile(spec)
    document = build_certificate(spec, profile.solve_delta(F(2), 3), profile.solve_epsilon(F(9, 10), 3))
    words = [one for one in document["assumptions"] if "one allocation" in one]
    assert bool(words) == told
    assert verify(json.dumps(document)).valid and independent.verify(json.dumps(document).encode()).valid
    if told:
        bare = sealed({key: document[key] for key in CONTENT} | {
            "assumptions": [one for one in document["assumptions"] if one not in words]})
        assert not verify(json.dumps(bare)).valid and not independent.verify(json.dumps(bare).encode()).valid


@allocation
def test_losses_differ_by_order_only() -> None:
    first, second = privacy_losses(compose(RandomAllocation(ONE, 4)), Relation.ZERO_OUT)
    with ctx.workprec(80):
        assert first.in_order("add") == second
        at_zero = [loss.parts[0][0].enclose_hockey_stick(ball(F(0))) for loss in (first, second)]
        assert at_zero[0].overlaps(at_zero[1])


@pytest.mark.long
@allocation
def test_ten_epochs_can_be_certified() -> None:
    """What a check may cost allows for them, at four digits."""
    document = certificate('scheme = "random-allocation", rounds = 100', "count = 10\n" + CLAIM.replace("0.86", "1.97"))
    assert document["verdict"] == "proved" and verify(json.dumps(document)).valid


@allocation
@pytest.mark.parametrize(("order", "rounds", "noise", "known"), [
    ("remove", 2, "1", 4.20124566), ("remove", 100, "1", 0.857985976), ("remove", 10**4, "1", 0.0458222),
    ("remove", 10**6, "1", 0.00367444), ("remove", 100, "1/20", 289.5666), ("remove", 100, "3/10", 16.176),
    ("add", 100, "1", 0.486425), ("add", 10**6, "1", 0.003665905), ("add", 1000, "1/20", 161.288572597)])
def test_the_search_for_epsilon_starts_near(order: str, rounds: int, noise: str, known: float) -> None:
    model = EpochModel(RandomAllocationLoss(rounds, F(noise), order))
    assert 0.9 < model.start(math.log(1e-6))[0] / known < 1.1


@pytest.mark.long
@one_round
def test_epochs_with_little_noise_are_about_gaussian() -> None:
    """Noise 1/20: the placed rounds' product alone is a lower bound, and nearly all of it."""
    noise, rounds, epochs, epsilon = F(1, 20), 100, 2, F(524)
    found = privacy_profile(compose((RandomAllocation(Gaussian(noise), rounds), epochs)), relation="remove").delta(
        epsilon, digits=3)
    with ctx.workprec(128):
        place, spread = ball(epsilon) + epochs * arb(rounds).log(), ball(epochs).sqrt() / ball(noise)
        alone = normal_tail(place / spread - spread / 2) - place.exp() * normal_tail(place / spread + spread / 2)
        assert alone <= ball(found.upper.as_fraction()) and ball(found.lower.as_fraction()) <= alone * arb("1.001")


@one_round
def test_epochs_with_little_noise_against_samples() -> None:
    """Add, t = 20, noise 1/8, two epochs: E (1 - e^(eps - L))_+ under Q, within five standard errors."""
    rounds, s, epsilon = 20, 8.0, 44.0
    found = privacy_profile(compose((RandomAllocation(Gaussian(F(1, 8)), rounds), 2)), relation="add").delta(
        F(44), digits=2)
    u = np.random.default_rng(7).normal(size=(2, 50_000, rounds))
    loss = (math.log(rounds) - np.logaddexp.reduce(s * u - s * s / 2, axis=2)).sum(axis=0)
    shares = -np.expm1(np.minimum(epsilon - loss, 0.0))
    room = 5 * shares.std() / math.sqrt(len(shares))
    assert found.lower <= F(float(shares.mean() + room)) and F(float(shares.mean() - room)) <= found.upper
    assert 0.05 < shares.mean() < 0.95 and found.upper - found.lower < found.upper / 50
