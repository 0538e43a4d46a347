"""Mechanisms and compositions: exact, validated once, with words on their convention."""

import pickle
from fractions import Fraction

import pytest

from verified_dp.core.families.allocation.mechanism import RandomAllocation
from verified_dp.core.families.clones.mechanism import ShuffledLocal
from verified_dp.core.families.finite.mechanism import Finite
from verified_dp.core.families.guarantees.mechanism import ZCDP
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.sampling.checks import binomial_weights
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.composition import Claim, Composition, Relation, compose
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.steps import mean_distance
from verified_dp.core.kernel.theorems import REGISTRY, proved_by
from verified_dp.core.kernel.words import convention


def test_gaussian_is_exact():
    assert Gaussian("1.1").noise_multiplier == Fraction(11, 10)
    assert Gaussian("1.1") == Gaussian(Fraction(11, 10)) and hash(Gaussian("1.1")) == hash(Gaussian("1.10"))
    assert Gaussian(1.1) == Gaussian("1.1") and Gaussian(sigma=0.3, sensitivity=0.1) == Gaussian(sigma="0.3",
                                                                                                 sensitivity="0.1")
    for wrong in (float("nan"), float("inf"), True):
        with pytest.raises(InvalidInput, match="noise_multiplier must be a positive rational number"):
            Gaussian(wrong)


def test_distance_of_means_follows_the_convention():
    scaled, stated = Gaussian("1/2"), Gaussian(sigma="4", sensitivity="1")
    for relation in Relation:
        assert mean_distance(scaled, relation) == (4 if relation is Relation.REPLACE else 2)
        assert mean_distance(stated, relation) == Fraction(1, 4)


def test_laplace_ratio_is_sensitivity_over_scale():
    assert Laplace(scale="2", sensitivity="3").ratio == Fraction(3, 2)


def test_binomial_weights_are_those_of_repeated_draws():
    share, weights = Fraction(2, 7), [Fraction(1)]
    for _ in range(5):
        weights = [stay * (1 - share) + come * share for stay, come in zip([*weights, 0], [0, *weights], strict=True)]
    assert binomial_weights(5, share) == tuple(weights)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({}, "noise_multiplier"),
        ({"noise_multiplier": "0"}, "noise_multiplier"),
        ({"noise_multiplier": "-1"}, "noise_multiplier"),
        ({"noise_multiplier": "1", "sigma": "1"}, "sigma"),
        ({"noise_multiplier": "1", "sensitivity": "1"}, "sensitivity"),
        ({"sigma": "1"}, "sensitivity"),
        ({"sensitivity": "1"}, "sigma"),
        ({"sigma": "0", "sensitivity": "1"}, "sigma"),
        ({"sigma": "1", "sensitivity": "0"}, "sensitivity"),
    ],
)
def test_exactly_one_form_with_positive_numbers(given, key):
    with pytest.raises(InvalidInput) as error:
        Gaussian(**given)
    assert error.value.key == key


def test_no_noise_says_what_it_would_mean():
    with pytest.raises(InvalidInput, match="no finite guarantee"):
        Gaussian(0)


@pytest.mark.parametrize("probability", ["0", "1", "256/60000"])
def test_sampling_probability_may_be_0_and_1(probability):
    assert PoissonSampled(Gaussian("1"), probability).probability == Fraction(probability)


def test_what_cannot_be_sampled():
    with pytest.raises(InvalidInput, match="probability"):
        PoissonSampled(Gaussian("1"), "1.5")
    with pytest.raises(InvalidInput, match="noise_multiplier"):
        PoissonSampled(Gaussian(sigma="1", sensitivity="1"), "0.5")
    with pytest.raises(InvalidInput, match="mechanism"):
        PoissonSampled(PoissonSampled(Gaussian("1"), "0.5"), "0.5")


def test_compose_flattens():
    a, b = Gaussian("1"), PoissonSampled(Gaussian("2"), "0.5")
    inner = compose((a, 3), b)
    assert inner.parts == ((a, 3), (b, 1))
    assert compose(a, inner, (b, "7")).parts == ((a, 1), (a, 3), (b, 1), (b, 7))
    assert compose(a, inner, (b, "7")).merged() == ((a, 4), (b, 8))
    assert compose(*[a] * 5).merged() == compose((a, 5)).merged()
    assert pickle.loads(pickle.dumps(inner)) == inner


@pytest.mark.parametrize(
    "parts", [(3,), ((Gaussian("1"), -1),), ((Gaussian("1"), False),), ((Gaussian("1"), 1.5),), ((3, Gaussian("1")),)]
)
def test_compose_refuses(parts):
    with pytest.raises(InvalidInput):
        compose(*parts)


def test_composition_validates_by_itself():
    with pytest.raises(InvalidInput):
        Composition(((Gaussian("1"), True),))


def test_relations_are_read_by_name():
    assert Relation.of("add-or-remove") is Relation.ADD_OR_REMOVE
    assert f"{Relation.ZERO_OUT}" == "zero-out"
    with pytest.raises(
        InvalidInput, match="one of add-or-remove, add, remove, zero-out, replace, got 'swap'"
    ):
        Relation.of("swap")


def test_convention_says_what_differs():
    plain, stated = compose(Gaussian("1")), compose(Gaussian(sigma="1", sensitivity="1"))
    sampled = compose(PoissonSampled(Gaussian("1"), "0.5"))
    texts = {convention(plain, relation) for relation in Relation}
    assert len(texts) == len(Relation)
    assert "two such norms" in convention(plain, Relation.REPLACE)
    assert "two such norms" not in convention(plain, Relation.REMOVE)
    assert "Poisson" in convention(sampled, Relation.ADD) and "Poisson" not in convention(plain, Relation.ADD)
    assert "sensitivity" in convention(stated, Relation.REPLACE)
    assert "noise_multiplier" not in convention(stated, Relation.REPLACE)


def test_claims_are_checked():
    assert Claim("t", "s", "3.01", "1e-5", "3.01", "1e-5").epsilon == Fraction(301, 100)
    with pytest.raises(InvalidInput, match="epsilon"):
        Claim("t", "s", "-1", "1e-5", "-1", "1e-5")
    with pytest.raises(InvalidInput, match="states nothing"):
        Claim("t", "s", "1", "1", "1", "1")
    assert Claim("t", "s", "1", "0", "1", "0").delta == 0


def test_outcomes_of_one_ratio_are_one_outcome() -> None:
    masses = Finite(["1/4", "1/8", "1/2", "1/8", 0], ["1/8", "1/16", "3/4", 0, "1/16"]).masses()
    found = [(Fraction(p), Fraction(q)) for p, q in [(0, "1/16"), ("1/2", "3/4"), ("3/8", "3/16"), ("1/8", 0)]]
    assert list(masses) == found


def test_proved_by_registers_and_returns_the_function():
    def add(a, b):
        return a + b

    try:
        assert proved_by("T07-ends", "T12-powers")(add) is add
        assert REGISTRY[add] == ("T07-ends", "T12-powers")
    finally:
        REGISTRY.pop(add, None)
    for names in ((), ("T7-ends",), ("ends",), ("T07-Ends",)):
        with pytest.raises(ValueError, match="theorem names"):
            proved_by(*names)


@pytest.mark.parametrize("made", [
    Gaussian("1.1"), Gaussian(sigma="1/3", sensitivity=2), PoissonSampled(Gaussian("1.5"), "0.01"), Laplace(20, 1),
    Finite(["1/3", "2/3"], ["1/2", "1/2"]), RandomAllocation(Gaussian(1), 10), ShuffledLocal(10, "1.5"), ZCDP("0.5"),
    compose((PoissonSampled(Gaussian("1.5"), "0.01"), 10000), Laplace(20, 1)),
    compose(Gaussian(1)).for_groups(3)], ids=repr)
def test_what_is_shown_makes_it_again(made):
    names = {cls.__name__: cls for cls in (Gaussian, PoissonSampled, Laplace, Finite, RandomAllocation, ShuffledLocal,
                                           ZCDP)}
    assert eval(repr(made), {"compose": compose, **names}) == made
    assert "\n" not in repr(made) and "Fraction" not in repr(made) and "None" not in repr(made)


def test_long_lists_are_shown_in_a_line():
    shown = repr(Finite([Fraction(1, 100)] * 100, [Fraction(1, 100)] * 100))
    assert len(shown) < 200 and ", ...]" in shown
