"""Writing certificates: canonical texts, the schema, widened enclosures, verdicts, the theorems that are named."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verified_dp.certificate import build_certificate, certificate_bytes, widened
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.exact import ExactWitness
from verified_dp.core.engines.expansion import ExpansionWitness
from verified_dp.core.engines.expansion_cells import Cover, Ray
from verified_dp.core.engines.few_steps import FewStepsWitness
from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.engines.marked import Mark, MarkedWitness
from verified_dp.core.engines.moment import MomentWitness
from verified_dp.core.engines.node_moment import NodeMomentWitness
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.engines.rays import MAX_LEVELS, MAX_POINTS
from verified_dp.core.engines.table import HOMES, witness_class
from verified_dp.core.engines.tilted_moments import MomentRule
from verified_dp.core.families.batches.attack import AttackWitness
from verified_dp.core.families.finite.halves import HalvesWitness, Window
from verified_dp.core.families.gaussian.shortened import ShortenedWitness
from verified_dp.core.kernel.certificate.check import MAX_PRECISION, check_work
from verified_dp.core.kernel.certificate.document import CONTENT, SCHEMA, canonical, sealed
from verified_dp.core.kernel.certificate.evaluation import budget_text, is_budget_for
from verified_dp.core.kernel.certificate.statement import claimed_text, printed_unit
from verified_dp.core.kernel.certificate.verdict import decimals, judge
from verified_dp.core.kernel.certificate.witness import number_text, read_number, read_witness, witness_record
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Claim, Spec
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput, Unsupported
from verified_dp.core.kernel.evaluation import Evaluation
from verified_dp.core.kernel.exact import exact
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.core.kernel.witnesses import Witness
from verified_dp.profile import privacy_profile
from verified_dp.spec import parse_spec
from verified_dp.verifiers.independent import verdict as other

SAMPLED = 'kind = "gaussian"\nnoise_multiplier = "2"\nsampling = { scheme = "poisson", probability = "0.01" }\n'
CLAIM = '[claim]\ntitle = "t"\nsource = "s"\nepsilon = "%s"\ndelta = "%s"\n'


def specification(relation: str, mechanisms: str, epsilon: str, delta: str) -> Spec:
    return parse_spec(f'relation = "{relation}"\n{mechanisms}{CLAIM % (epsilon, delta)}')


def sampled(count: int, relation: str = "add-or-remove", epsilon: str = "1.0", delta: str = "0.01") -> Spec:
    return specification(relation, f"[[mechanism]]\n{SAMPLED}count = {count}\n", epsilon, delta)


GAUSSIAN = specification(
    "zero-out", '[[mechanism]]\nkind = "gaussian"\nsigma = "3"\nsensitivity = "2"\ncount = 5\n', "4.0", "1e-5")
MIXED = specification(
    "add-or-remove",
    f'[[mechanism]]\n{SAMPLED}count = 1000\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 5\n',
    "0.8", "1e-5")
ONE_STEP = sampled(1, epsilon="0.5", delta="1e-4")
PAST_SUPPORT = sampled(2, relation="add", epsilon="1.5", delta="1e-5")
FAR = specification(
    "add-or-remove", f'[[mechanism]]\n{SAMPLED.replace("2", "0.7")}count = 3000\n', "8.5", "1e-5")
FEW_STEPS = sampled(2, relation="remove", epsilon="0.5", delta="1e-4")
BESIDE = specification("remove", f'[[mechanism]]\n{SAMPLED}count = 2\n[[mechanism]]\nkind = "gaussian"\n'
                     "noise_multiplier = 20000\n", "0.5", "1e-4")


@pytest.fixture(scope="module")
def certificate(certify: Callable[[Spec], dict[str, Any]]) -> dict[str, Any]:
    return certify(sampled(10000))


def test_schema(certificate: dict[str, Any]) -> None:
    assert set(certificate) == {*CONTENT, "hashes", "sha256"}
    assert certificate["schema"] == SCHEMA
    assert certificate["claim"] == {"title": "t", "source": "s", "epsilon": "1.0", "delta": "0.01"}
    sampling = {"scheme": "poisson", "probability": "1/100"}
    mechanism = {"kind": "gaussian", "noise_multiplier": "2", "sampling": sampling, "count": 10000}
    assert certificate["input"] == {"relation": "add-or-remove", "mechanisms": [mechanism]}
    assert {pair["order"]: (pair["theorem"], pair["tight"]) for pair in certificate["pairs"]} == {
        "remove": ("T21-pair-poisson", True), "add": ("T21-pair-poisson", True)}
    assert set(certificate["result"]) == {"delta", "epsilon"}
    assert set(certificate["versions"]) == {"verified-dp", "python-flint", "FLINT", "python"}
    places = [(e["quantity"], e["order"], e["side"]) for e in certificate["evaluations"]]
    assert places == [("delta", "remove", "both"), ("delta", "add", "both"), ("epsilon", "remove", "lower"),
                      ("epsilon", "remove", "upper"), ("epsilon", "add", "upper")]


def test_sigma_form_keeps_its_keys(certify: Callable[[Spec], dict[str, Any]]) -> None:
    mechanism = {"kind": "gaussian", "sigma": "3", "sensitivity": "2", "count": 5}
    assert certify(GAUSSIAN)["input"] == {"relation": "zero-out", "mechanisms": [mechanism]}


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)
    else:
        yield value


def test_numbers_are_text_integers_and_decimals_of_the_contract(certificate: dict[str, Any]) -> None:
    assert {type(leaf) for leaf in leaves(certificate)} == {str, int, bool}
    decimal = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
    for entry in certificate["evaluations"]:
        ends = [entry["enclosure"][key] for key in ("lower_decimal", "upper_decimal")]
        assert all(decimal.fullmatch(text) for text in [*ends, *entry["error_budget"].values()])
    for quantity in certificate["result"].values():
        assert decimal.fullmatch(quantity["lower"]) and decimal.fullmatch(quantity["upper"])


def test_bytes_are_canonical(certificate: dict[str, Any]) -> None:
    data = certificate_bytes(certificate)
    again = json.loads(data)
    assert again == certificate
    assert data == json.dumps(again, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def test_hashes(certificate: dict[str, Any]) -> None:
    assert set(certificate["hashes"]) == set(CONTENT)
    for key, value in certificate["hashes"].items():
        assert value == hashlib.sha256(canonical(certificate[key])).hexdigest()
    rest = {key: value for key, value in certificate.items() if key != "sha256"}
    assert certificate["sha256"] == hashlib.sha256(canonical(rest)).hexdigest()
    assert sealed(certificate) == certificate


def test_assumptions_name_what_is_trusted(certify: Callable[[Spec], dict[str, Any]]) -> None:
    words = " ".join(certify(MIXED)["assumptions"])
    for topic in ("Poisson sampling", "L2 norm", "Gaussian noise", "release:", "fixed in advance", "floating point"):
        assert topic in words
    assert "sampling:" not in " ".join(certify(GAUSSIAN)["assumptions"])


def test_without_a_claim_there_is_no_certificate(certificate: dict[str, Any]) -> None:
    spec = sampled(10)
    profile = privacy_profile(spec)
    with pytest.raises(InvalidInput, match="claim"):
        bare = Spec(spec.relation, spec.composition)
        build_certificate(bare, profile.solve_delta("1", 4), profile.solve_epsilon("0.01", 4))


def test_evaluations_of_another_claim_are_refused() -> None:
    spec = sampled(10)
    profile = privacy_profile(spec)
    with pytest.raises(Unsupported, match="claimed epsilon"):
        build_certificate(spec, profile.solve_delta("2", 4), profile.solve_epsilon("0.01", 4))
    with pytest.raises(Unsupported, match="claimed delta"):
        build_certificate(spec, profile.solve_delta("1", 4), profile.solve_epsilon("1e-9", 4))


@pytest.mark.parametrize(
    ("typed", "text"),
    [("2.75", "2.75"), ("+2.750", "2.750"), ("003", "3"), (".5", "0.5"), ("3.", "3"), ("1E-3", "1e-3"),
     ("1e+2", "1e2"), ("1.50e0", "1.50"), ("6/4", "3/2"), ("-0", "0"), (" 1e-5 ", "1e-5"), ("1e-05", "1e-5")],
)
def test_claimed_text(typed: str, text: str) -> None:
    assert claimed_text(typed, exact(typed)) == text
    assert claimed_text(text, exact(text)) == text, "a fixed point, and the same number"


def test_claimed_text_of_another_number_is_the_number() -> None:
    assert claimed_text("3.0", Fraction(7, 2)) == "7/2"
    assert claimed_text("", Fraction(3)) == "3"


@pytest.mark.parametrize(
    ("text", "unit"),
    [("2.75", Fraction(1, 100)), ("3", Fraction(1)), ("1e-3", Fraction(1, 1000)), ("2.5e-1", Fraction(1, 100)),
     ("1.2e2", Fraction(10)), ("1/3", None)],
)
def test_printed_unit(text: str, unit: Fraction | None) -> None:
    assert printed_unit(text) == unit


def recorded(quantity: str, order: str, at: Fraction, side: str, lower: Fraction, upper: Fraction) -> Evaluation[str]:
    ends = Dyadic.of_fraction(lower), Dyadic.of_fraction(upper)
    return Evaluation(quantity, order, at, side, ClosedFormWitness(64), *ends, {})


HALF, QUARTER, EIGHTH = Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)


def judged(text: str, low: Fraction, high: Fraction, delta: tuple[Fraction, Fraction] = (HALF, HALF),
           tight: bool = True) -> dict[str, Any]:
    """The judgement on a claim (text, 1/4) whose true delta is in `delta` and true epsilon in [low, high]."""
    claim = Claim("", "", exact(text), QUARTER, text, "0.25")
    return judge(claim, ("remove",), tight, [
        recorded("delta", "remove", claim.epsilon, "both", *delta),
        recorded("epsilon", "remove", low, "lower", HALF, HALF),
        recorded("epsilon", "remove", high, "upper", EIGHTH, EIGHTH)])


@pytest.mark.parametrize(
    ("text", "low", "high", "short"),
    [
        ("2.5", Fraction(81, 32), Fraction(82, 32), False),  # to 2.5625: rounds to 2.6 perhaps
        ("2.5", Fraction(645, 256), Fraction(646, 256), True),  # 2.5234
        ("2.5", Fraction(645, 256), Fraction(325, 128), False),  # to 2.5391: more than 1 % above
        ("2", Fraction(9, 4), Fraction(5, 2), False),  # 2.5 rounds half-up to 3
        ("2", Fraction(9, 4), Fraction(79, 32), False),  # rounds to the claim, an eighth above it
        ("2", Fraction(129, 64), Fraction(202, 100), True),  # 1 % above, exactly
        ("2", Fraction(129, 64), Fraction(202 * 10**30 + 1, 10**32), False),
        ("2.00", Fraction(201, 100), Fraction(202, 100), False),  # rounds to 2.01
        ("2/1", Fraction(129, 64), Fraction(202, 100), True),  # the reduced fraction is 2
        ("7/3", Fraction(75, 32), Fraction(471, 200), False),  # a ratio has no printed digits
        ("2e0", Fraction(129, 64), Fraction(202, 100), True),
        ("1e1", Fraction(10), Fraction(101, 10), True),
        ("1e1", Fraction(10), Fraction(103, 10), False),
        ("0", Fraction(1, 4), Fraction(3, 8), False),  # no share of 0 is anything
    ],
)
def test_short_by_rounding(text: str, low: Fraction, high: Fraction, short: bool) -> None:
    found = judged(text, low, high)
    assert found["verdict"] == "refuted"
    assert found["short_by_rounding"] is short


@pytest.mark.parametrize(("text", "low", "high"), [
    ("2", Fraction(129, 64), Fraction(202, 100)), ("2", Fraction(129, 64), Fraction(202 * 10**30 + 1, 10**32)),
    ("2.5", Fraction(81, 32), Fraction(82, 32)), ("0", Fraction(1, 4), Fraction(3, 8)),
    ("1e1", Fraction(10), Fraction(15)),
    ("2.00", Fraction(201, 100), Fraction(202, 100))])
def test_the_other_checker_judges_rounding_alike(text: str, low: Fraction, high: Fraction) -> None:
    claim, of = other.Claim(exact(text), printed_unit(text), QUARTER), other.Dyadic.of_fraction
    assert other._rounds_to_claim(claim, of(low), of(high)) is judged(text, low, high)["short_by_rounding"]


def test_verdicts() -> None:
    ends = Fraction(2), Fraction(3)
    assert judged("2", *ends, delta=(EIGHTH, QUARTER))["verdict"] == "proved"
    assert judged("2", *ends, delta=(QUARTER, HALF))["verdict"] == "undecided"
    assert judged("2", *ends, delta=(Fraction(3, 8), HALF))["verdict"] == "refuted"
    loose = judged("2", Fraction(33, 16), Fraction(34, 16), delta=(Fraction(3, 8), HALF), tight=False)
    assert (loose["verdict"], loose["short_by_rounding"]) == ("undecided", False)


@pytest.mark.theorem("T13-epsilon-of-delta", "T25-composition")
def test_the_larger_order_decides() -> None:
    claim = Claim("", "", Fraction(1), QUARTER, "1", "0.25")
    entries = [
        recorded("delta", "remove", Fraction(1), "both", Fraction(3, 8), HALF),
        recorded("delta", "add", Fraction(1), "both", Fraction(0), EIGHTH),
        recorded("epsilon", "remove", Fraction(2), "lower", HALF, HALF),
        recorded("epsilon", "remove", Fraction(3), "upper", EIGHTH, EIGHTH),
        recorded("epsilon", "add", Fraction(4), "upper", EIGHTH, EIGHTH)]
    result = judge(claim, ("remove", "add"), True, entries)["result"]
    assert result["delta"] == {"order": "remove", "lower": "0.37500", "upper": "0.50000"}
    assert (result["epsilon"]["lower"][:3], result["epsilon"]["upper"][:3]) == ("2.0", "4.0")
    assert judge(claim, ("remove", "add"), True, entries[:4])["result"]["epsilon"]["upper"] == "inf"
    with pytest.raises(InvalidCertificate, match="every order"):
        judge(claim, ("remove", "add"), True, [entries[0], *entries[2:]])
    with pytest.raises(InvalidCertificate, match="out of place"):
        judge(claim, ("remove", "add"), True, [entries[1], entries[0]])
    with pytest.raises(InvalidCertificate, match="every order"):
        judge(claim, ("remove", "add"), True, [entries[0], entries[1], entries[1]])
    with pytest.raises(InvalidCertificate, match="out of place"):
        judge(claim, ("remove", "add"), True, [*entries[:2], replace(entries[0], order="symmetric")])


@pytest.mark.theorem("T25-composition")
def test_two_enclosures_of_one_order_are_intersected() -> None:
    """One made for the lower end, one for the upper; that they meet is checked."""
    claim = Claim("", "", Fraction(1), QUARTER, "1", "0.25")
    lower = recorded("delta", "remove", Fraction(1), "lower", Fraction(3, 8), Fraction(1))
    upper = recorded("delta", "remove", Fraction(1), "upper", Fraction(0), HALF)
    found = judge(claim, ("remove",), True, [lower, upper])
    assert found["result"]["delta"] == {"order": "remove", "lower": "0.37500", "upper": "0.50000"}
    assert found["verdict"] == "refuted"
    apart = recorded("delta", "remove", Fraction(1), "upper", Fraction(0), EIGHTH)
    with pytest.raises(InvalidCertificate, match="disjoint"):
        judge(claim, ("remove",), True, [lower, apart])
    for sides in ([lower], [upper], [upper, lower], [lower, lower], [lower, upper, upper]):
        with pytest.raises(InvalidCertificate):
            judge(claim, ("remove",), True, sides)


def test_epsilon_ends_that_cross_are_invalid() -> None:
    with pytest.raises(InvalidCertificate, match="contradict"):
        judged("2", Fraction(3), Fraction(2))


@given(st.integers(1, 10**30), st.integers(0, 10**20), st.integers(-3000, 10))
def test_decimals_are_outward_and_tight(mantissa: int, width: int, exponent: int) -> None:
    lower, upper = Dyadic(mantissa, exponent), Dyadic(mantissa + width, exponent)
    below, above = (exact(text) for text in decimals(lower, upper))
    assert lower >= below and upper <= above
    if width and width < mantissa:
        assert above - below <= (upper.as_fraction() - lower.as_fraction()) * Fraction(11, 10)


@given(st.integers(0, 10**12), st.integers(-2000, 2000), st.integers(0, 10**12), st.integers(-2000, 2000))
def test_budget_texts_compare_as_numbers(m: int, e: int, n: int, f: int) -> None:
    one, other = Dyadic(m, e), Dyadic(n, f)
    assert is_budget_for(budget_text(one), one)
    assert exact(budget_text(one)) >= one.as_fraction()
    assert is_budget_for(budget_text(one), other) == (exact(budget_text(one)) >= exact(budget_text(other)))


@pytest.mark.parametrize("text", ["", "1", "1e-9", "0.001", "1.234E-9", "1.234e+9", "1.234e-09", "-1.000e1", "nan"])
def test_budget_texts_have_one_form(text: str) -> None:
    assert not is_budget_for(text, Dyadic(1, -10**6))


@given(st.fractions())
def test_number_text_reads_back(value: Fraction) -> None:
    assert read_number(number_text(value), "x") == value


@pytest.mark.parametrize(
    "text", ["2*2^0", "1*2^-0", "+1*2^1", "1.5", "2/4", "1e3", "1", "nan", "inf", "", " 1*2^0", "1*2^99999999999",
             "1*2^-60000", 1, True, None, ["1*2^0"]])
def test_numbers_have_one_form(text: Any) -> None:
    with pytest.raises(InvalidCertificate) as caught:
        read_number(text, "x")
    assert caught.value.field == "x"


def entries_of(spec: Spec, digits: int = 6) -> list[tuple[ComposedLoss, Evaluation[Dyadic]]]:
    assert spec.claim is not None
    profile = privacy_profile(spec)
    losses = {loss.order: loss for loss in privacy_losses(spec.composition, spec.relation)}
    evaluations = [*profile.solve_delta(spec.claim.epsilon, digits).evaluations,
                   *profile.solve_epsilon(spec.claim.delta, digits).evaluations]
    return [(losses[evaluation.order], evaluation) for evaluation in evaluations]


SPECS = {"mixed": MIXED, "gaussian": GAUSSIAN, "one step": ONE_STEP, "past the support": PAST_SUPPORT,
         "few steps": FEW_STEPS, "few steps and plain ones": BESIDE, "many steps": sampled(1000, epsilon="0.3"),
         "Chernoff": FAR,
         "replace": sampled(3000, relation="replace", epsilon="2")}


@pytest.fixture(scope="module")
def evaluations() -> dict[str, list[tuple[ComposedLoss, Evaluation[Dyadic]]]]:
    return {name: entries_of(spec) for name, spec in SPECS.items()}


Evaluations = dict[str, list[tuple[ComposedLoss, Evaluation[Dyadic]]]]


def every(evaluations: Evaluations) -> list[tuple[ComposedLoss, Evaluation[Dyadic]]]:
    return [entry for entries in evaluations.values() for entry in entries]


def test_witnesses_read_back(evaluations: Evaluations) -> None:
    kinds = set()
    grid = LawGrid(-30, ((5, 4), (30, 1)), Fraction(1, 3))
    rule = NodeRule(Fraction(1), Fraction(1), Fraction(1, 4), -9, 9)
    others: list[Witness] = [
        NodeMomentWitness((Fraction(9, 8),), (Fraction(1),), Fraction(0), Fraction(0), 80, (), (rule,)),
        LatticeWitness(Fraction(1, 8), Fraction(1), 40, (grid,), 301, 0, (), Fraction(3), Fraction(0), 80),
        LatticeWitness(Fraction(1, 8), Fraction(1), 40, (grid,), 301, 100, ((50, 1),), Fraction(3), Fraction(0), 80),
        MomentWitness((Fraction(3, 2),), (Fraction(1),), Fraction(1, 7), Fraction(2), 80),
        ExactWitness(80),
        LineWitness(Fraction(1), Fraction(1, 7), 30, (), (), Fraction(3), Fraction(0), 80, (9,), ((50, 1),)),
        FewStepsWitness((9,), (2,), 80),
        HalvesWitness(Fraction(1, 2), ((Window(0, 0, 9), Window(1, 2, 5)), (Window(1, 1, 1),)), 80),
        MarkedWitness(Fraction(1, 8), Fraction(1, 7), 9, (rule,), (rule,), (rule,),
                      (Mark(Fraction(1), Fraction(1, 4), 3),), Fraction(1), Fraction(0), Fraction(-2), 80),
        ShortenedWitness((0, 3), ExactWitness(80)),
        ExpansionWitness(Fraction(1), 2, (MomentRule(Fraction(1), rule), MomentRule(Fraction(1), points=30)),
                         Cover((Fraction(1, 2),), (Ray(Fraction(1, 2), (rule,)), Ray(Fraction(1), ()))), 80),
        AttackWitness((((Fraction(1), Fraction(1, 3), Fraction(2, 3)),),), ExactWitness(80))]
    for witness in [*(evaluation.witness for _, evaluation in every(evaluations)), *others]:
        table = json.loads(canonical(witness_record(witness)))
        assert read_witness(table, "w") == witness
        kinds.add(table["kind"])
    assert kinds == set(HOMES), "every kind of witness is among the examples"


def test_theorems_of_a_certificate(certify: Callable[[Spec], dict[str, Any]]) -> None:
    theorems = certify(GAUSSIAN)["theorems"]
    assert theorems == ["T03-chernoff", "T07-ends", "T13-epsilon-of-delta", "T15-gaussian", "T16-reversal",
                        "T23-pair-gaussian", "T24-pair-zero-out", "T25-composition", "T33-sum-and-errors",
                        "T44-infinity-mass", "T60-tails"]


def test_recorded_ends_are_a_little_outside(evaluations: Evaluations) -> None:
    for _, evaluation in every(evaluations):
        lower, upper = widened(evaluation, Fraction(2), 6)
        assert 0 <= lower <= evaluation.lower and evaluation.upper <= upper <= 1
        width = evaluation.upper.as_fraction() - evaluation.lower.as_fraction()
        assert (upper.as_fraction() - lower.as_fraction()) <= width * Fraction(101, 100) + (
            evaluation.upper.as_fraction() / 10**8)
        if 0 < evaluation.lower < evaluation.upper < 1:
            assert lower < evaluation.lower and evaluation.upper < upper


def test_widening_keeps_what_is_decided(evaluations: Evaluations) -> None:
    for _, evaluation in every(evaluations):
        if evaluation.lower < evaluation.upper:
            target = evaluation.upper.as_fraction()
            assert widened(evaluation, target, 6)[1] == evaluation.upper
            below = evaluation.lower.as_fraction() * (1 - Fraction(1, 10**200))
            assert widened(evaluation, below, 6)[0] in (evaluation.lower, 0)


def costly(**changes: Any) -> Witness:
    rule = NodeRule(Fraction(1), Fraction(1), Fraction(1), -50, 50)
    line = {"tilt": Fraction(1), "step": Fraction(1), "count": 1000, "nodes": (rule,), "tail_nodes": (rule,),
            "right": Fraction(2), "left": Fraction(0), "prec": 100}
    witness: Witness = witness_class("line")(**{**line, **changes})
    return witness


@pytest.mark.parametrize(
    "changes",
    [{"prec": MAX_PRECISION + 1}, {"prec": -1}, {"count": 10**9}, {"count": -(10**12)},
     {"nodes": (NodeRule(Fraction(1), Fraction(1), Fraction(1), -(10**14), 10**14),)},
     {"nodes": (NodeRule(Fraction(1), Fraction(1), Fraction(1), 0, 1, cells=10**10),)},
     {"tail_nodes": (NodeRule(Fraction(1), Fraction(1), Fraction(1), 10**14, -(10**14)),)}],
)
def test_costs_are_bounded(changes: dict[str, Any]) -> None:
    loss = ComposedLoss("remove", (), Fraction(1))
    check_work([(loss, costly())])
    with pytest.raises(InvalidCertificate, match=r"evaluations\[1\]\.witness"):
        check_work([(loss, costly()), (loss, costly(**changes))])


def test_costs_of_rays_are_bounded(evaluations: Evaluations) -> None:
    loss, witness = next((x, e.witness) for x, e in evaluations["few steps and plain ones"] if e.witness.kind == "rays")
    check_work([(loss, witness)])
    table = witness_record(witness)
    level = table["low"]["levels"][0]
    for change in ({"points": MAX_POINTS + 1}, {"points": -5}, {"levels": [{**level, "panels": 10**12}]},
                   {"levels": [level] * (MAX_LEVELS + 1)}):
        with pytest.raises(InvalidCertificate):
            check_work([(loss, read_witness({**table, "low": {**table["low"], **change}}, "w"))])
