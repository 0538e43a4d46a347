"""Shuffled messages of local randomisers against all multisets of few users: none exceeds the pair of clones (T137)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from flint import ctx
from scipy.stats import binom

from verified_dp import RandomizedResponse, ShuffledLocal, compose, privacy_profile
from verified_dp.certificate import certify, verify
from verified_dp.core.families.clones.clones import CloneOddsLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composition import Claim, Relation, Spec
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.losses import describe_pairs, privacy_losses
from verified_dp.questions.shuffled import difference_rates, difference_tails, local_attack
from verified_dp.spec import parse_spec
from verified_dp.verifiers import independent

F = Fraction
Multisets = dict[tuple[int, ...], Any]
theorem = pytest.mark.theorem("T137-shuffled-local")


def multisets(rows: Sequence[Sequence[Any]]) -> Multisets:
    """The law of how often each message comes from users of these laws."""
    law: Multisets = {(0,) * len(rows[0]): 1}
    for row in rows:
        longer: Multisets = {}
        for counts, weight in law.items():
            for y, q in enumerate(row):
                key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                longer[key] = longer.get(key, 0) + weight * q
        law = longer
    return law


def stick(P: Multisets, Q: Multisets, z: Any) -> Any:
    return sum(max(P[key] - z * Q[key], 0) for key in P)


def worst(R: Sequence[Sequence[Any]], users: int, z: Any) -> Any:
    """The largest H_z over the inputs of all others, the first input replaced by the second."""
    others = itertools.combinations_with_replacement(range(len(R)), users - 1)
    return max(stick(multisets([R[0], *(R[x] for x in X)]), multisets([R[1], *(R[x] for x in X)]), z) for X in others)


def response(categories: int, p: Fraction) -> list[list[Fraction]]:
    """Randomised response of odds p."""
    return [[(p if x == y else F(1)) / (p + categories - 1) for y in range(categories)] for x in range(categories)]


def bound(users: int, odds: Fraction, z: Fraction) -> tuple[float, float]:
    if odds == 1:
        return 0.0, 0.0
    with ctx.workprec(100):
        value = CloneOddsLoss(users, odds).enclose_hockey_stick(ball(z).log())
        return float(value.lower()), float(value.upper())


def drawn(rng: np.random.Generator, p: float, inputs: int, messages: int) -> tuple[np.ndarray, Fraction]:
    """A random randomiser, and by which factor its likelihoods differ at most."""
    base = rng.dirichlet(np.full(messages, rng.choice([0.3, 1.0, 5.0]))) + 1e-9
    R = base * p ** rng.choice([0.0, 0.5, 1.0], (inputs, messages), p=[0.4, 0.2, 0.4])
    R /= R.sum(axis=1, keepdims=True)
    return R, F(float((R.max(axis=0) / R.min(axis=0)).max()))


@theorem
@pytest.mark.parametrize(("users", "inputs", "messages"), [(2, 3, 2), (2, 4, 5), (3, 3, 3), (4, 3, 4), (5, 3, 3)])
def test_no_randomiser_of_few_users_exceeds_the_clones(users: int, inputs: int, messages: int) -> None:
    """Random randomisers that use the whole of their bound, all inputs of the others."""
    rng = np.random.default_rng(users * 100 + messages)
    for _ in range(60 if users < 4 else 15):
        R, odds = drawn(rng, float(rng.choice([1.2, 3.0, 20.0])), inputs, messages)
        for share in (0.0, 0.15, 0.5, 0.9):
            z = 1 + share * float(odds - 1)
            assert worst(R, users, z) <= bound(users, odds, F(z))[1] + 1e-12, (R, z)


@theorem
def test_randomised_response_comes_near_the_clones_and_refutes_thrice_as_many() -> None:
    """Three categories, all others in the third: probabilities p/(p + 2) in place of p/(p + 1)."""
    for users, z in itertools.product((2, 3, 5), (F(1), F(3, 2), F(3), F(20))):
        truth, (low, high) = float(worst(response(3, F(30)), users, z)), bound(users, F(30), z)
        assert 0.85 * high < truth <= low
    assert worst(response(3, F(30)), 5, F(29)) > clones(5, F(30), F(6, 31), F(29))


def clones(users: int, p: Fraction, probability: Fraction, z: Fraction) -> Fraction:
    """H_z of the pair with another probability to be a clone, in fractions."""
    P: Multisets = {}
    Q: Multisets = {}
    for k in range(users):
        weight = comb(users - 1, k) * probability**k * (1 - probability) ** (users - 1 - k) / F(2) ** k
        for ones, (one, p_share, q_share) in itertools.product(range(k + 1), [(1, p, F(1)), (0, F(1), p)]):
            key = ones + one, k
            P[key] = P.get(key, F(0)) + weight * comb(k, ones) * p_share / (p + 1)
            Q[key] = Q.get(key, F(0)) + weight * comb(k, ones) * q_share / (p + 1)
    return F(stick(P, Q, z))


@theorem
def test_the_law_is_that_of_the_pair_in_fractions() -> None:
    for users, p, z in itertools.product((2, 3, 9), (F(3), F(7, 5), F(40)), (F(1), F(6, 5), F(2), F(1, 2), F(1, 50))):
        with ctx.workprec(120):
            found = CloneOddsLoss(users, p).enclose_hockey_stick(ball(z).log())
            exact = ball(clones(users, p, 2 / (p + 1), z))
            assert found.overlaps(exact) and abs(found - exact) < 1e-25


def variation_ratio(users: int, p: Fraction, total_variation: Fraction, z: Fraction) -> Fraction:
    """H_z of the pair of arXiv 2304.05007, q = p: a neutral message of the user is taken for one of any other."""
    share = total_variation / (p - 1)
    rest = 1 - (p + 1) * share
    P: Multisets = {}
    Q: Multisets = {}
    for k in range(users):
        weight = comb(users - 1, k) * (2 * share) ** k * (1 - 2 * share) ** (users - 1 - k) / F(2) ** k
        moves = [(1, 0, p * share, share), (0, 1, share, p * share), (0, 0, rest, rest)]
        for ones, (one, zero, p_share, q_share) in itertools.product(range(k + 1), moves):
            key = ones + one, k - ones + zero
            P[key] = P.get(key, F(0)) + weight * comb(k, ones) * p_share
            Q[key] = Q.get(key, F(0)) + weight * comb(k, ones) * q_share
    return F(stick(P, Q, z))


@theorem
def test_the_variation_ratio_pair_is_exceeded_by_randomised_response() -> None:
    """ERRATA 2304.05007, 1: two users and three categories, three users and four; odds 3."""
    truth = worst(response(3, F(3)), 2, F(5, 2))
    assert truth == F(9, 25) - F(5, 2) * F(3, 25) == F(3, 50)
    assert variation_ratio(2, F(3), F(2, 5), F(5, 2)) == F(1, 50) < truth < clones(2, F(3), F(1, 2), F(5, 2))
    assert worst(response(4, F(3)), 3, F(2)) == F(11, 216) < clones(3, F(3), F(1, 2), F(2))
    assert variation_ratio(3, F(3), F(1, 3), F(2)) == F(7, 216)
    assert variation_ratio(3, F(3), F(1, 2), F(2)) == clones(3, F(3), F(1, 2), F(2))


PUBLISHED = {
    (10**4, "1"): ("0.0432061580844", "0.0555616"), (10**4, "4"): ("0.410812293072", "0.6253353"),
    (10**5, "2"): ("0.0331872489649", "0.0470760"), (10**6, "3"): ("0.0189596803089", None),
}
"""(users, epsilon0) -> eps at delta 1e-6: that of double sums over the clones, and the upper bound that the program of
arXiv 2012.12803 prints for clones of probability e^-epsilon0."""


@theorem
@pytest.mark.parametrize(("users", "epsilon0"), PUBLISHED)
def test_published_bounds_lie_above(users: int, epsilon0: str) -> None:
    near, published = PUBLISHED[users, epsilon0]
    found = privacy_profile(ShuffledLocal(users, epsilon0), relation="replace").epsilon("1e-6")
    assert float(found.upper) == pytest.approx(float(near), rel=1e-11)
    assert float(found.upper - found.lower) < 1e-11 * float(found.upper)
    assert published is None or float(found.upper) < 0.8 * float(published)


def ternary(users: int, p: float, z: float) -> float:
    """H_z for answers of three categories, 1 replaced by 2, all others 3, in doubles: (1/n) E (sum of V)_+ of T137 (1).

    c answers are 1 or 2, a of them 1, with the same probability; V is p - z, 1 - pz, or (1 - z)/p of the others.
    """
    mean = users * 2 / (p + 2)
    spread = 12 * math.sqrt(mean) + 5
    c = np.arange(max(1, int(mean - spread)), min(users, int(mean + spread)) + 1)
    scale, least = (p - 1) * (z + 1), (c * (p * z - 1) + (users - c) * (z - 1) / p) / ((p - 1) * (z + 1))
    above = c / 2 * binom.sf(np.floor(least) - 1, c - 1, 0.5) - least * binom.sf(np.floor(least), c, 0.5)
    return float(binom.pmf(c, users, 2 / (p + 2)) @ above * scale / users)


@theorem
@pytest.mark.parametrize(("epsilon0", "reached"), [(1, 0.0380), (2, 0.1077), (3, 0.2204), (4, 0.4066)])
def test_ternary_answers_reach_what_the_page_says(epsilon0: int, reached: float) -> None:
    """Between 1 and 14 % below the bound at 10^4 users; exact for five users."""
    p = math.exp(epsilon0)
    assert ternary(10**4, p, math.exp(reached - 5e-5)) > 1e-6 > ternary(10**4, p, math.exp(reached + 5e-5))
    rows = response(3, F(3))
    others = [rows[2]] * 4
    exact = stick(multisets([rows[0], *others]), multisets([rows[1], *others]), F(3, 2))
    assert ternary(5, 3.0, 1.5) == pytest.approx(float(exact), rel=1e-12)


@theorem
@pytest.mark.parametrize("form", [{"epsilon0": 1}, {"odds": 3}])
def test_one_user_is_one_answer(form: dict[str, int]) -> None:
    answer = RandomizedResponse(2, epsilon=1) if "epsilon0" in form else RandomizedResponse(2, "1/2")
    one, other = (privacy_losses(compose((m, 3)), Relation.REPLACE) for m in (ShuffledLocal(1, **form), answer))
    assert one == other


@theorem
def test_no_difference_reveals_nothing() -> None:
    for same in (ShuffledLocal(100, 0), ShuffledLocal(100, odds=1), ShuffledLocal(1, 0)):
        assert privacy_losses(compose(same), Relation.REPLACE)[0].parts == ()
        assert privacy_profile(same, relation="replace").delta(0).upper == 0


@pytest.mark.parametrize("relation", [r for r in Relation if r is not Relation.REPLACE])
def test_other_relations_are_refused_with_the_reason(relation: Relation) -> None:
    with pytest.raises(Unsupported, match="shows in their number; use replace"):
        describe_pairs(compose(ShuffledLocal(10, 1)), relation)


def test_groups_and_samples_are_refused() -> None:
    with pytest.raises(Unsupported, match="several users at once"):
        describe_pairs(compose(ShuffledLocal(10, 1)).for_groups(2), Relation.REPLACE)
    text = 'relation = "replace"\n[[mechanism]]\nkind = "shuffled-local"\nusers = 10\nepsilon0 = 1\n'
    with pytest.raises(Unsupported, match="no theorem for that is implemented"):
        parse_spec(text + 'sampling = { scheme = "poisson", probability = "0.1" }\n')


@pytest.mark.parametrize(("numbers", "key"), [
    ({"users": 0, "epsilon0": 1}, "users"), ({"users": 10**9 + 1, "epsilon0": 1}, "users"),
    ({"users": "1.5", "epsilon0": 1}, "users"), ({"users": 5}, "epsilon0"),
    ({"users": 5, "epsilon0": 1, "odds": 2}, "epsilon0"), ({"users": 5, "epsilon0": "-1"}, "epsilon0"),
    ({"users": 5, "odds": "1/2"}, "odds"), ({"users": 5, "epsilon0": "log(1/2)"}, "odds"),
    ({"users": 5, "epsilon0": "log()"}, "odds"), ({"users": 5, "epsilon0": "ln(3)"}, "epsilon0"),
    ({"users": 5, "epsilon0": "inf"}, "epsilon0"),
])
def test_what_is_no_such_mechanism_is_told_by_key(numbers: dict[str, Any], key: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        ShuffledLocal(**numbers)
    assert raised.value.key == key


def test_floats_are_the_decimals_they_print_as() -> None:
    assert ShuffledLocal(5, 0.1) == ShuffledLocal(5, "0.1")


@theorem
def test_a_claim_is_proved_and_never_refuted() -> None:
    text = ('relation = "replace"\n[[mechanism]]\nkind = "shuffled-local"\nusers = 10000\nepsilon0 = "log(3)"\n'
            '[claim]\ntitle = ""\nsource = ""\nepsilon = "{}"\ndelta = "1e-6"\n')
    for epsilon, verdict in (("0.05", "proved"), ("0.04", "undecided")):
        made = certify(parse_spec(text.format(epsilon)))
        checked = verify(made.document)
        assert checked.valid and checked.verdict == verdict


@theorem
def test_rounds_compose() -> None:
    """Three rounds lie above one; the loss of each ends at epsilon0."""
    one, three = (privacy_profile(compose((ShuffledLocal(5, 1), k)), relation="replace") for k in (1, 3))
    assert one.delta("0.8").upper < three.delta("0.8", digits=2).lower
    assert three.delta(3).upper == 0


below = pytest.mark.theorem("T139-messages-from-below")


def attacked(users: int, odds: Fraction, rounds: int = 1) -> tuple[list[Multisets], list[Multisets]]:
    """The attack's pair and that of ternary randomised response, all others with the third input; of all rounds."""
    composition = local_attack(users, odds=odds, rounds=rounds)
    (pair, count), = composition.parts
    R = response(3, odds)
    singles = ([{(i,): mass for i, mass in enumerate(side)} for side in (pair.P, pair.Q)],
               [multisets([R[x], *[R[2]] * (users - 1)]) for x in (0, 1)])
    assert count == rounds
    products: list[list[Multisets]] = [[{(): F(1)}, {(): F(1)}] for _ in singles]
    for _ in range(rounds):
        products = [[{(*a, *b): x * y for a, x in whole.items() for b, y in one.items()}
                     for whole, one in zip(both, single, strict=True)]
                    for both, single in zip(products, singles, strict=True)]
    return products[0], products[1]


@below
@pytest.mark.parametrize(("users", "odds", "rounds"), [
    (1, F(3), 1), (2, F(3), 1), (2, F(9, 2), 2), (3, F(6, 5), 1), (4, F(20), 1), (7, F(3), 1)])
def test_the_attack_is_below_the_messages_that_it_is_about(users: int, odds: Fraction, rounds: int) -> None:
    """In fractions, at every odds of the attack's own pair and between; and it sees most of them."""
    (P, Q), (messages, others) = attacked(users, odds, rounds)
    places = sorted({P[key] / Q[key] for key in P} | {F(1), odds ** rounds * F(9, 10), F(1, 3)})
    for z in [*places, *((a + b) / 2 for a, b in itertools.pairwise(places))]:
        assert stick(P, Q, z) <= stick(messages, others, z) and stick(Q, P, z) <= stick(others, messages, z)
    assert stick(P, Q, F(1)) > F(9, 10) * stick(messages, others, F(1))


@below
@pytest.mark.parametrize(("users", "odds"), [(1, F(2)), (2, F(3)), (6, F(13, 10)), (9, F(40))])
def test_rates_of_the_difference_are_enumerated_ones(users: int, odds: Fraction) -> None:
    R = response(3, odds)
    laws = [multisets([R[x], *[R[2]] * (users - 1)]) for x in (1, 0)]
    with ctx.workprec(160):
        tails = difference_tails(users - 1, odds)
        for threshold in range(-users - 1, users + 1):
            found = difference_rates(tails, odds, threshold)
            for rate, law in zip(found, laws, strict=True):
                known = sum((mass for (one, two, _), mass in law.items() if one - two > threshold), F(0))
                assert rate.overlaps(ball(known)) and abs(rate - ball(known)) < 1e-40


@below
@pytest.mark.parametrize(("epsilon0", "response"), [("1", 0.0380), ("4", 0.4066)])
def test_the_attack_is_near_the_response_and_the_bound_is_above(epsilon0: str, response: float) -> None:
    attack = privacy_profile(local_attack(10_000, epsilon0), relation="replace").epsilon("1e-6", digits=3)
    bound = privacy_profile(ShuffledLocal(10_000, epsilon0), relation="replace").epsilon("1e-6", digits=3)
    assert 0.96 * response < attack.lower_float <= attack.upper_float < response + 5e-5 < bound.lower_float


@below
def test_a_claim_is_refuted_and_the_certificate_is_checked_by_both() -> None:
    claim = Claim("", "", F(12, 100), F(1, 10**6), "0.12", "1e-6")
    found = certify(Spec(Relation.REPLACE, local_attack(1000, 1), claim), digits=2)
    assert found.verdict == "refuted" and found.verify().valid and independent.verify(found.to_bytes()).valid


@pytest.mark.parametrize(("numbers", "key"), [
    ({"users": 10**6 + 1, "odds": 2}, "users"), ({"users": 5, "odds": 1}, "epsilon0"), ({"users": 5}, "epsilon0"),
    ({"users": 5, "epsilon0": 0}, "epsilon0"), ({"users": 5, "odds": 2, "rounds": 0}, "rounds")])
def test_attacks_on_no_messages_are_refused(numbers: dict[str, Any], key: str) -> None:
    with pytest.raises(InvalidInput) as error:
        local_attack(**numbers)
    assert error.value.key == key
