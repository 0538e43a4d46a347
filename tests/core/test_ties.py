"""Where delta equals the target exactly: no enclosure in balls decides that, fractions do (T126, T127)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx

from verified_dp.core.engines.exact import ExactWitness, exact_infinity_mass, total_variation
from verified_dp.core.families.discrete.mechanism import DiscreteLaplace
from verified_dp.core.families.finite.mechanism import EVERYTHING, ApproximateDP, Finite, RandomizedResponse
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.certificate.document import sealed
from verified_dp.core.kernel.composition import Composition, Mechanism, Relation, Spec, compose
from verified_dp.core.kernel.dyadic import Dyadic, decimal_down, decimal_up
from verified_dp.core.kernel.ends import Ratio, end_of, is_short, read_end
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.law import PlainLaw
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.ends import readable
from verified_dp.profile import privacy_profile
from verified_dp.spec import parse_spec

SURE = Finite(("1/3", "2/3"), ("0", "1"))
MIRRORED = Finite(("1/3", "2/3"), ("2/3", "1/3"))
BOTH = compose(ApproximateDP(1, "0.1"), ApproximateDP(2, "0.2"))
SKEWED = Finite(("1/2", "1/3", "1/6"), ("1/4", "1/4", "1/2"))


@pytest.mark.theorem("T126-exact-delta", "T127-support-end")
@pytest.mark.parametrize(("what", "relation", "delta", "epsilon"), [
    (ApproximateDP(1, "1/100000"), "replace", "1e-5", 1),
    (SURE, "remove", "1/3", 0),
    (compose((SURE, 2)), "remove", "5/9", 0),
    (MIRRORED, "replace", "1/3", 0),
    (PoissonSampled(MIRRORED, "1/7"), "add-or-remove", "1/21", 0),
    (RandomizedResponse(3, "1/2"), "replace", "1/2", 0),
    (BOTH, "replace", "0.28", 3),
    (ApproximateDP("1/20", "1e-6"), "add", "1e-6", Fraction(1, 20)),
])
def test_the_epsilon_of_a_tie_is_exact(what: Mechanism, relation: str, delta: str, epsilon: Fraction) -> None:
    found = privacy_profile(what, relation).epsilon(delta)
    assert found.lower == found.upper == epsilon
    assert found.status == "certified" and found.methods == ("closed-form",)


def test_next_to_a_tie_the_largest_loss_bounds_epsilon() -> None:
    """delta(x) = .28 + .72 p (1 - e^{x-3}) just below 3, p the probability of both large losses."""
    found = privacy_profile(BOTH, "replace").epsilon("0.2801")
    p = 1 / ((1 + math.exp(-1)) * (1 + math.exp(-2)))
    expected = Fraction(3 + math.log(1 - 1e-4 / (0.72 * p)))
    assert found.lower - Fraction(1, 10**15) < expected < found.upper + Fraction(1, 10**15) < 3
    assert found.status == "certified"


@pytest.mark.parametrize("delta", ["1e-5", "9.99e-6", "1.001e-5"])
def test_just_beside_a_tie(delta: str) -> None:
    found = privacy_profile(ApproximateDP(1, "1/100000"), "replace").epsilon(delta)
    if Fraction(delta) < Fraction("1e-5"):
        assert found.lower.is_infinite and found.upper.is_infinite
    else:
        assert found.upper <= 1 and (found.lower == 1) == (delta == "1e-5")


def test_a_search_that_passes_a_rational_delta_goes_on() -> None:
    """Next to eps = 0 the estimate asks there first. delta(x) = .25 + (.5 - e^x / 7)_+ + (.25 - 3 e^x / 7)_+."""
    step = Finite(("0", "1/2", "1/4", "1/4"), ("3/7", "1/7", "0", "3/7"))
    found = privacy_profile(step, "remove").epsilon("3/10")
    assert abs(float(found.lower) - math.log(7 * 0.45)) < 1e-11 and found.status == "certified"


def products(masses: list[tuple[Fraction, Fraction]], count: int) -> Fraction:
    """delta(0) from every sequence of outcomes."""
    total = Fraction(0)
    for chosen in itertools.product(masses, repeat=count):
        total += max(math.prod(p for p, _ in chosen) - math.prod(q for _, q in chosen), 0)
    return total


@pytest.mark.theorem("T126-exact-delta")
@pytest.mark.parametrize(("mechanism", "count"), [(SKEWED, 1), (SKEWED, 4), (SURE, 5), (MIRRORED, 6)])
def test_total_variation_is_that_of_all_sequences(mechanism: Finite, count: int) -> None:
    loss, = privacy_losses(compose((mechanism, count)), Relation.REMOVE)
    expected = products([(p, q) for p, q in zip(mechanism.P, mechanism.Q, strict=True)], count)
    bounds = evaluate(loss, ExactWitness(64)).delta(Fraction(0))
    assert total_variation(loss) == expected == bounds.exact_lower == bounds.exact_upper
    assert privacy_profile(compose((mechanism, count)), "remove").delta(0).upper == expected


@pytest.mark.theorem("T126-exact-delta", "T47-enumeration")
@pytest.mark.parametrize("count", [1, 2])
def test_total_variation_of_many_outcomes(count: int) -> None:
    """More outcomes than Python has frames. P rises and Q falls: twice, the sum over pairs by (i j - i' j')_+."""
    size = 1500 if count == 1 else 150
    above = [Fraction(2 * i, size * (size + 1)) for i in range(1, size + 1)]
    loss, = privacy_losses(compose((Finite(above, above[::-1]), count)), Relation.REMOVE)
    assert total_variation(loss) == products(list(zip(above, above[::-1], strict=True)), count)


@pytest.mark.theorem("T126-exact-delta")
def test_total_variation_of_different_steps() -> None:
    """A guarantee with eps = 0 is rational too, and a sample has mixed masses."""
    parts = compose(SKEWED, (PoissonSampled(MIRRORED, "1/7"), 2), ApproximateDP(0, "1/10"))
    loss, = privacy_losses(parts, Relation.REMOVE)
    plain = list(zip(SKEWED.P, SKEWED.Q, strict=True))
    mixed = [(q + (p - q) / 7, q) for p, q in zip(MIRRORED.P, MIRRORED.Q, strict=True)]
    tenth, rest = Fraction(1, 10), Fraction(9, 10)
    odds = [(tenth, Fraction(0)), (rest, rest), (Fraction(0), tenth)]
    expected = sum((max(math.prod(p for p, _ in one) - math.prod(q for _, q in one), 0)
                    for one in itertools.product(plain, mixed, mixed, odds)), Fraction(0))
    assert total_variation(loss) == expected
    assert exact_infinity_mass(loss) == tenth


@pytest.mark.theorem("T126-exact-delta", "T49-sampled")
@pytest.mark.parametrize(("order", "mass"), [("remove", Fraction(1, 70)), ("add", Fraction(0))])
def test_infinity_mass_on_a_sample(order: str, mass: Fraction) -> None:
    once, = privacy_losses(compose(PoissonSampled(ApproximateDP(1, "1/10"), "1/7")), Relation.of(order))
    inner = compose(ApproximateDP(1, "1/10"), Laplace(1, 1))
    both, = privacy_losses(compose(PoissonSampled(inner, "1/7")), Relation.of(order))
    assert exact_infinity_mass(once) == exact_infinity_mass(both) == mass


@pytest.mark.theorem("T127-support-end")
def test_the_end_of_the_support() -> None:
    loss, = privacy_losses(compose((Laplace(10, 1), 3), DiscreteLaplace(5, 1)), Relation.REPLACE)
    end = Fraction(1, 2)
    at, past, before = (evaluate(loss, ExactWitness(128)).delta(epsilon)
                        for epsilon in (end, end + Fraction(1, 10**60), end - Fraction(1, 10**60)))
    assert at.until == end and at.exact_lower == at.exact_upper == 0 and at.everywhere
    assert past.until is None and past.exact_upper == 0
    assert before.until == end - Fraction(1, 10**60) and (before.exact_lower, before.exact_upper) == (0, None)
    assert before.upper == 1


@pytest.mark.theorem("T127-support-end")
@pytest.mark.parametrize(("beside", "epsilon"), [((), 1), ((Laplace(2, 1),), Fraction(3, 2)), ((Gaussian(1),), None)])
def test_a_mass_at_infinity_next_to_one(beside: tuple[Mechanism, ...], epsilon: Fraction | None) -> None:
    """No ball tells it from 1, and delta falls nevertheless up to the largest loss."""
    mass = 1 - Fraction(1, 10**1000)
    found = privacy_profile(compose(ApproximateDP(1, mass), *beside), "replace").epsilon(mass)
    assert found.lower == found.upper and (found.lower.is_infinite if epsilon is None else found.lower == epsilon)


@pytest.mark.theorem("T126-exact-delta", "T72-groups")
@pytest.mark.parametrize(("epsilon", "delta", "group", "found"), [
    (0, "1/10", "1/5", 0), (0, "1/10", "1/6", None), ("1/2", 0, 0, 1)])
def test_the_tie_of_a_group(epsilon: str, delta: str, group: str, found: int | None) -> None:
    """(0, d) for one record is (0, 2 d) for two, and (e, 0) is (2 e, 0)."""
    ends = privacy_profile(ApproximateDP(epsilon, delta), "replace", group_size=2).epsilon(group)
    assert ends.lower == ends.upper and (ends.lower.is_infinite if found is None else ends.lower == found)


@pytest.mark.theorem("T127-support-end")
def test_the_end_is_known_where_the_mass_at_infinity_is_a_ball() -> None:
    """1 - (1 - 10^-12)^(10^6) takes too many digits as a fraction."""
    loss, = privacy_losses(compose((ApproximateDP(1, Fraction(1, 10**12)), 10**6)), Relation.REPLACE)
    assert exact_infinity_mass(loss) is None
    within, past = (evaluate(loss, ExactWitness(64)).delta(Fraction(at)) for at in (10**6, 10**6 + 1))
    assert within.until == 10**6 and past.until is None and past.upper < 1 and within.exact_lower is None


@pytest.mark.theorem("T127-support-end")
def test_nothing_falls_where_all_mass_is_at_infinity() -> None:
    for what in (compose(EVERYTHING), compose(EVERYTHING, Gaussian(1)), compose(EVERYTHING, Laplace(1, 1))):
        loss, = privacy_losses(what, Relation.REMOVE)
        assert evaluate(loss, ExactWitness(64)).delta(Fraction(1)).until is None
        assert privacy_profile(what, "remove").epsilon(1).upper == 0


def test_of_moments_nothing_but_their_mass_is_known() -> None:
    spec = parse_spec('relation = "add"\n[[mechanism]]\nkind = "zcdp"\nrho = "0.1"\n')
    loss, = privacy_losses(spec.composition, spec.relation)
    for epsilon in (Fraction(0), Fraction(10**9)):
        bounds = evaluate(loss, ExactWitness(64)).delta(epsilon)
        assert (bounds.lower, bounds.upper, bounds.until, bounds.exact_lower) == (0, 1, None, None)


def claim(relation: str, mechanism: str, epsilon: str, delta: str) -> Spec:
    return parse_spec(f'relation = "{relation}"\n[[mechanism]]\n{mechanism}\n'
                      f'[claim]\nepsilon = "{epsilon}"\ndelta = "{delta}"\n')


DEFINED = claim("replace", 'kind = "approximate-dp"\nepsilon = "1"\ndelta = "1/100000"', "1", "1e-5")


@pytest.mark.theorem("T126-exact-delta", "T127-support-end")
@pytest.mark.parametrize(("spec", "epsilon"), [
    (DEFINED, "1.0000000000000000000"),
    (claim("replace", 'kind = "randomized-response"\ncategories = 3\nnoise_probability = "1/2"', "0", "1/2"), "0"),
    (claim("remove", 'kind = "finite"\nP = ["1/3", "2/3"]\nQ = [0, 1]\ncount = 2', "0", "5/9"), "0"),
])
def test_the_claim_of_a_tie_is_proved(certify: Callable[[Spec], dict[str, Any]], spec: Spec, epsilon: str) -> None:
    certificate = certify(spec)
    assert certificate["verdict"] == "proved" and verify(certificate).valid
    assert certificate["result"]["epsilon"]["lower"] == certificate["result"]["epsilon"]["upper"] == epsilon


def altered(certificate: dict[str, Any], index: int, **changes: Any) -> dict[str, Any]:
    """The certificate with one evaluation changed, sealed afresh."""
    entries = [dict(entry) for entry in certificate["evaluations"]]
    entries[index].update(changes)
    return sealed({**certificate, "evaluations": entries})


def test_an_altered_exact_end_is_refused(certify: Callable[[Spec], dict[str, Any]]) -> None:
    certificate = certify(DEFINED)
    entry = certificate["evaluations"][0]
    assert entry["enclosure"] == {"lower": "1/100000", "upper": "1/100000",
                                  "lower_decimal": "1.0000000000000000000e-5",
                                  "upper_decimal": "1.0000000000000000000e-5"}
    for text in ("2/200000", "1/100001", "01/100000", "1/100000 ", "1/65536", "-1/3", "4/3"):
        assert not verify(altered(certificate, 0, enclosure={**entry["enclosure"], "upper": text})).valid, text
    end = certificate["evaluations"][1]
    assert end["witness"]["kind"] == "exact" and end["at"] == "1"
    for at in ("100001/100000", "2"):
        assert verify(altered(certificate, 1, at=at)).valid is False
    for kind in ("end", "support"):  # as earlier versions have recorded it
        assert verify(altered(certificate, 1, witness={"kind": kind, "prec": 128})).valid


def test_ends_read_what_they_write() -> None:
    for number in (Fraction(1, 10), Fraction(-7, 3), Fraction(3, 8), Fraction(0)):
        end = end_of(number)
        assert read_end(str(end)) == end == number and isinstance(end, Ratio) == (number.denominator not in (1, 8))
    for text in ("1/2", "2/6", "+1/3", "1 / 3", "0.1", "3", "1/3e1", "1" * 20_000 + "/3"):
        with pytest.raises(InvalidInput):
            read_end(text)


def test_what_is_recorded_exactly_has_at_most_50_000_bits() -> None:
    assert is_short(Fraction(2**50_000 - 1)) and is_short(Fraction(1, 2**50_000 - 1))
    assert not is_short(Fraction(2**50_000)) and not is_short(Fraction(1, 2**50_000))


@pytest.mark.parametrize("number", [Fraction(1, 10), Fraction(2, 3), Fraction(10**30, 7), Fraction(-1, 3 * 10**40),
                                    Fraction(999_999, 1_000_001)])
def test_decimals_of_fractions_are_next_to_them(number: Fraction) -> None:
    for digits in (1, 4, 25):
        low, high = Fraction(decimal_down(number, digits)), Fraction(decimal_up(number, digits))
        unit = 10 * abs(number) / 10**digits
        assert low <= number <= high and high - low <= unit


def test_a_ratio_reads_as_a_dyadic_does() -> None:
    tenth = end_of(Fraction(1, 10))
    assert isinstance(tenth, Ratio)
    assert (tenth.is_infinite, tenth.sign, str(tenth), f"{readable(tenth):.3e}") == (False, 1, "1/10", "1.000e-01")
    assert str(readable(tenth).to_decimal(3)) == "0.1" and type(tenth.as_fraction()) is Fraction
    assert tenth.near() < tenth < tenth.near() + Dyadic(1, -3000)
    assert Dyadic(1, -4) < tenth < Dyadic(1, -3) and tenth < Dyadic.infinity() and tenth != Dyadic.infinity()
    for huge in (Dyadic(1, 10**9), Dyadic.infinity()):
        assert tenth < huge and tenth <= huge and huge > tenth and tenth != huge and max(tenth, huge) is huge
    assert tenth > Dyadic(1, -(10**9)) and tenth >= Dyadic(0) and hash(tenth) == hash(Fraction(1, 10))


def test_epsilon_next_to_the_largest_loss_is_answered() -> None:
    steps: Composition = compose((PoissonSampled(Laplace("0.5", 1), "0.2"), 3))
    with ctx.workprec(80):
        found = privacy_profile(steps, "add-or-remove").epsilon("1e-12")
    assert Fraction("2.4696") < found.lower < found.upper < Fraction("2.46965") and found.status == "certified"


@pytest.mark.theorem("T126-exact-delta")
@pytest.mark.parametrize("mass", [Fraction(0), Fraction(3, 8), Fraction(1)])
def test_an_exact_ball_is_a_fraction(mass: Fraction) -> None:
    """Of a law that states no rational mass of its own."""
    class Known(PlainLaw):
        def enclose_infinity_mass(self) -> arb:
            return arb(mass.numerator) / mass.denominator

    assert Known().infinity_fraction() == mass
