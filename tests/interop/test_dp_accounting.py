"""The accountant with dp_accounting's interface; needs dp_accounting."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from event_trees import EVENTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verified_dp import certificate as certification
from verified_dp import privacy_profile
from verified_dp.interop import event_record, from_dp_event

peer = pytest.importorskip("dp_accounting", reason="the extra dp-accounting is not installed")

from verified_dp.interop import VerifiedAccountant  # noqa: E402

RELATIONS = list(peer.NeighboringRelation)


def sampled(noise: float, q: float = 0.01, count: int = 100) -> Any:
    return peer.SelfComposedDpEvent(peer.PoissonSampledDpEvent(q, peer.GaussianDpEvent(noise)), count)


def built(record: Any) -> Any:
    """dp_accounting's own event of a mapping; None where this version has no such class."""
    if isinstance(record, list):
        return [built(each) for each in record]
    if not isinstance(record, dict):
        return record
    cls = getattr(peer.dp_event, record["class_name"], None)
    fields = {key: built(value) for key, value in record.items() if key != "class_name"}
    known = {field.name for field in getattr(cls, "__attrs_attrs__", ())}
    nested = [fields.get("event", 0), *fields.get("events", [])]
    return None if cls is None or any(each is None for each in nested) else cls(**{k: fields[k] for k in known})


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.tuples(EVENTS, EVENTS))
def test_supports_is_truthful(records: Any) -> None:
    """What is supported is composed and answered, after whatever came before; what is not is refused by its name."""
    for relation in RELATIONS:
        accountant = VerifiedAccountant(relation, digits=2, max_seconds=0.5)
        builder = peer.DpEventBuilder()
        for record in records:
            event = built(record)
            if event is not None and accountant.supports(event):
                accountant.compose(event, 2)
                builder.compose(event, 2)
            elif event is not None:
                with pytest.raises(peer.UnsupportedEventError, match=record["class_name"]):
                    accountant.compose(event)
        assert 0 <= accountant.get_delta(0.5) <= 1
        assert accountant.get_epsilon(0.01) >= 0
        assert accountant.ledger == builder.build()


def test_a_question_costs_hardly_more_than_the_profile_s(work: Callable[[Callable[[], object]], int]) -> None:
    accountant = VerifiedAccountant().compose(sampled(1.0))
    own = work(lambda: privacy_profile(accountant.specification).epsilon(Fraction(1e-5)))
    assert work(lambda: accountant.get_epsilon(1e-5)) <= own + 1000


def test_composing_costs_little_more_after_many_others(work: Callable[[Callable[[], object]], int]) -> None:
    accountant = VerifiedAccountant().compose(sampled(2.0))
    first = work(lambda: accountant.compose(sampled(3.0)))
    for step in range(60):
        accountant.compose(sampled(1 + step / 64))
    assert work(lambda: accountant.compose(sampled(4.0))) <= first + 61 * 200  # a look-up of each mechanism


def test_what_cannot_be_composed_changes_nothing() -> None:
    accountant = VerifiedAccountant(digits=6).compose(sampled(1.0))
    before = accountant.get_epsilon(1e-5)
    with pytest.raises(peer.UnsupportedEventError, match="RandomizedResponseDpEvent"):
        accountant.compose(peer.ComposedDpEvent([sampled(1.0), peer.RandomizedResponseDpEvent(0.5, 3)]))
    assert accountant.get_epsilon(1e-5) == before
    assert accountant.ledger == sampled(1.0)


def test_answers_are_upper_ends_of_the_enclosures() -> None:
    accountant = VerifiedAccountant().compose(sampled(1.0, count=50)).compose(peer.LaplaceDpEvent(20.0), 3)
    profile = privacy_profile(accountant.specification)  # another: what one has answered, it answers a bit differently
    delta, epsilon = profile.delta(1), profile.epsilon("1e-5")
    assert accountant.get_delta(1.0) == delta.upper_float >= delta.upper
    # the float 1e-5 is not 1/100000: its own epsilon is asked for
    assert epsilon.lower_float - 1e-9 <= accountant.get_epsilon(1e-5) <= epsilon.upper_float + 1e-9
    assert profile.delta(Fraction(accountant.get_epsilon(1e-5))).lower <= 1e-5


def test_answers_agree_with_the_peer() -> None:
    theirs = peer.pld.PLDAccountant().compose(sampled(1.0)).get_epsilon(1e-5)
    ours = VerifiedAccountant().compose(sampled(1.0)).get_epsilon(1e-5)
    assert math.isclose(ours, theirs, rel_tol=1e-3)


def test_nothing_everything_and_the_ends_of_delta() -> None:
    assert VerifiedAccountant().get_epsilon(1e-5) == 0 == VerifiedAccountant().get_delta(0.0)
    assert VerifiedAccountant().get_epsilon(0.0) == 0
    everything = VerifiedAccountant().compose(peer.NonPrivateDpEvent())
    assert everything.get_epsilon(0.1) == math.inf and everything.get_delta(100.0) == 1
    assert everything.get_epsilon(1.0) == 0
    gaussian = VerifiedAccountant().compose(peer.GaussianDpEvent(1.0))
    assert gaussian.get_epsilon(0.0) == math.inf and 0 <= gaussian.get_delta(math.inf) < 1e-300


@pytest.mark.theorem("T155-rates-from-deltas")
def test_true_positive_rates_are_never_below_the_truth() -> None:
    normal = pytest.importorskip("statistics").NormalDist()
    accountant = VerifiedAccountant().compose(peer.GaussianDpEvent(1.0))
    rates = [0.001, 0.01, 0.1, 0.5, 0.9]
    truth = [normal.cdf(1 + normal.inv_cdf(rate)) for rate in rates]
    found = accountant.get_true_positive_rates(rates)
    assert all(exact <= bound <= exact + 0.02 for exact, bound in zip(truth, found, strict=True))
    assert accountant.get_true_positive_rates(0.5) == found[3]
    assert accountant.get_true_positive_rates(1.0) == 1


def test_calibration_of_the_peer() -> None:
    noise = peer.calibrate_dp_mechanism(
        lambda: VerifiedAccountant(digits=6), lambda noise: sampled(noise), 1.0, 1e-5, tol=1e-4)
    spec = from_dp_event(sampled(noise))
    assert privacy_profile(spec).epsilon("1e-5").upper <= 1
    assert privacy_profile(from_dp_event(sampled(noise - 2e-4))).epsilon("1e-5").lower > 1


def test_the_specification_is_certified() -> None:
    from verified_dp.core.kernel.certificate.check import verify
    from verified_dp.core.kernel.composition import Claim, Spec

    spec = VerifiedAccountant().compose(sampled(1.0)).specification
    claim = Claim("as composed", spec.words, 2, "1e-5", "2", "1e-5")  # type: ignore[arg-type]
    claimed = Spec(spec.relation, spec.composition, claim)
    delta, epsilon = privacy_profile(claimed).solve_claim(claim)
    certificate = certification.build_certificate(claimed, delta, epsilon)
    assert certificate["verdict"] == "proved"
    assert verify(certification.certificate_bytes(certificate)).valid


def test_objects_named_tuples_and_records_are_one() -> None:
    event = peer.ComposedDpEvent([sampled(1.5), peer.SampledWithReplacementDpEvent(10, 2, peer.GaussianDpEvent(3.0))])
    forms = [event, event.to_named_tuple(), event_record(event), event_record(event.to_named_tuple())]
    specs = [from_dp_event(form, relation=peer.NeighboringRelation.REPLACE_ONE) for form in forms]
    assert all(spec == specs[0] for spec in specs)
    assert specs[0].relation == "replace"


def test_every_class_of_the_installed_version_is_known() -> None:
    from test_events import CLASSES

    here = {name for name in dir(peer.dp_event) if name.endswith("Event") and name != "DpEvent"}
    assert here <= {*(f"{name}DpEvent" for name in CLASSES), "ZCDpEvent"}


@pytest.mark.theorem("T142-displaced-records")
def test_truncated_batches_are_a_little_below_the_peer_s() -> None:
    """Its pair at a full batch is a larger one; both are upper bounds, and Poisson accounting is far below."""
    cut = peer.SelfComposedDpEvent(peer.TruncatedSubsampledGaussianDpEvent(
        dataset_size=1000, sampling_probability=0.01, truncated_batch_size=16, noise_multiplier=1.1), 100)
    neighbours = peer.NeighboringRelation
    for relation, same in (("add-or-remove", neighbours.ADD_OR_REMOVE_ONE), ("replace", neighbours.REPLACE_ONE)):
        spec = from_dp_event(cut, relation=relation, floats="shortest-decimal")
        theirs = peer.pld.PLDAccountant(same).compose(cut).get_epsilon(1e-5)
        found = privacy_profile(spec).epsilon("1e-5", digits=2)
        assert 0.98 * theirs < found.lower_float <= found.upper_float < theirs
    poisson = privacy_profile(from_dp_event(sampled(1.1), relation="add-or-remove")).epsilon("1e-5", digits=2)
    assert poisson.upper_float < 1
