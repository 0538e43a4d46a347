"""Histories and arguments of other libraries, and specifications written as TOML."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from event_trees import EVENTS
from hypothesis import HealthCheck, given, settings

from verified_dp import (
    Claim,
    Composition,
    Finite,
    Gaussian,
    InvalidInput,
    PoissonSampled,
    Relation,
    Shuffled,
    Spec,
    Unsupported,
    WithReplacement,
    compose,
    privacy_profile,
)
from verified_dp.core.families.finite.mechanism import EVERYTHING
from verified_dp.interop import from_dp_event, from_opacus, from_tf_privacy, spec_toml
from verified_dp.spec import parse_spec

HISTORY = [(1.1, 0.25, 3), (0.5, 0.25, 2), (1.1, 0.25, 4)]


def test_a_history_is_its_steps() -> None:
    steps = from_opacus(HISTORY, floats="shortest-decimal")
    expected = ((PoissonSampled(Gaussian("1.1"), "1/4"), 7), (PoissonSampled(Gaussian("0.5"), "1/4"), 2))
    assert steps.composition.parts == expected
    assert steps.relation is Relation.ADD_OR_REMOVE
    assert from_opacus({"history": HISTORY, "mechanism": "rdp"}, floats="shortest-decimal") == steps
    exact = from_opacus(HISTORY, floats="exact-binary").composition.parts[0][0]
    assert isinstance(exact, PoissonSampled) and exact.mechanism == Gaussian(Fraction(1.1))


def test_a_history_carries_how_batches_were_drawn() -> None:
    """A history does not say it: what nobody stated is taken for granted, and said first."""
    assumed, stated = from_opacus(HISTORY), from_opacus(HISTORY, sampling="poisson")
    assert assumed.composition == stated.composition
    assert "taken for granted: neither seen nor stated" in assumed.words and "stated by the caller" in stated.words
    assert "taken for granted" in assumed.assumptions[0] and "this bound is then false" in assumed.assumptions[1]
    assert not any("taken for granted" in words for words in stated.assumptions)
    for spec in (assumed, stated):
        assert any("issue 813" in words for words in spec.assumptions)
        assert any("issues 571 and 819" in words for words in spec.assumptions)
        assert all(f"# {words[:60]}" in spec_toml(spec) for words in spec.assumptions)
    assert not any("571" in words for words in from_opacus(HISTORY, relation="zero-out").assumptions)


def test_shuffled_histories_are_epochs() -> None:
    rows = [(1.0, 1 / 49, 98), (2.0, 1.0, 3), (0.5, 0.25, 4)]
    spec = from_opacus(rows, sampling="shuffled")
    assert spec.composition.parts == (
        (Shuffled(Gaussian(1), 49), 2), (Gaussian(2), 3), (Shuffled(Gaussian("1/2"), 4), 1))
    assert "Epochs were shuffled" in spec.assumptions[0] and "shuffled epochs (stated" in spec.words
    assert from_opacus([(0.0, 0.25, 8)], sampling="shuffled").composition == compose(EVERYTHING)
    poisson, shuffled = (privacy_profile(from_opacus([(1.1, 0.05, 20)], sampling=how)).epsilon("1e-5")
                         for how in ("poisson", "shuffled"))
    assert poisson.upper < shuffled.lower


@pytest.mark.parametrize(("history", "sampling", "words"), [
    ([(1.0, 0.25, 5)], "shuffled", "history[1].steps must be a multiple of 4"),
    ([(1.0, 0.3, 3)], "shuffled", "history[1].sample_rate must be one over the whole number"),
    (HISTORY, "balls", "sampling must be one of poisson, shuffled"),
    ({"history": HISTORY, "sampling": 3}, None, "sampling must be the record"),
    ({"history": HISTORY, "sampling": {"stated": None, "seen": [["poisson", "x", "", 1]]}}, "shuffled",
     "sampling must be poisson, which the data loader does"),
])
def test_wrong_statements_of_sampling_are_wrong_input(history: Any, sampling: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        from_opacus(history, sampling=sampling)
    assert words in str(refused.value)


def test_a_state_that_saw_other_batches_is_refused() -> None:
    for schemes in (["shuffled"], ["other"], ["shuffled", "poisson"]):
        seen = [[scheme, "x", "", 1] for scheme in schemes]
        with pytest.raises(Unsupported):
            from_opacus({"history": HISTORY, "sampling": {"stated": None, "seen": seen}})


def test_histories_of_nothing_and_of_no_noise() -> None:
    nothing = from_opacus([])
    assert from_opacus([(1.0, 0.0, 5), (1.0, 0.5, 0)]).composition == nothing.composition
    assert from_opacus([(0.0, 0.25, 5)]).composition == compose((Finite(["3/4", "1/4"], [1, 0]), 5))
    assert from_opacus([(2.0, 1.0, 5)]).composition == compose((Gaussian(2), 5))


@pytest.mark.parametrize(("history", "words"), [
    ("rdp", "history must be a list"), ({"mechanism": "rdp"}, "history must be a list"), ([(1, 2)], "history[1] must"),
    ([(1.0, 0.5, 1), (-1.0, 0.5, 1)], "history[2].noise_multiplier must be"),
    ([(1.0, 1.5, 1)], "history[1].sample_rate must be"), ([(1.0, 0.5, 1.5)], "history[1].steps must be an integer"),
])
def test_wrong_histories_are_wrong_input(history: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        from_opacus(history)
    assert words in str(refused.value)


def test_tf_privacy_s_arguments_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """`dpsgd` takes them, and its epsilon is below the one that TensorFlow Privacy's test states."""
    from verified_dp.cli import main

    sizes = ["--batch-size", "150", "--dataset-size", "60000", "--epochs", "15"]
    options = ["--sampling", "poisson", "--noise-multiplier", "1.3", "--delta", "1e-5", "--json"]
    assert main(["dpsgd", *options, *sizes]) == 0
    found = json.loads(capsys.readouterr().out)
    arguments = {"number_of_examples": 60000, "batch_size": 150, "num_epochs": 15, "noise_multiplier": 1.3}
    spec = from_tf_privacy(arguments, floats="shortest-decimal")
    assert found["steps"] == spec.composition.parts[0][1] == 6000
    epsilon = privacy_profile(spec).epsilon("1e-5")
    assert epsilon.lower <= Fraction(found["upper"]) and Fraction(found["lower"]) <= epsilon.upper
    assert Fraction(found["upper"]) < Fraction("0.7242234026109595")


def test_tf_privacy_rounds_the_steps_up() -> None:
    arguments = {"number_of_examples": 60000, "batch_size": 256, "num_epochs": 60, "noise_multiplier": 1.1}
    spec = from_tf_privacy(arguments, floats="shortest-decimal")
    assert spec.composition.parts == ((PoissonSampled(Gaussian("1.1"), "256/60000"), 14063),)
    assert "The arguments do not say so" in spec.assumptions[0]
    for wrong in ({"batch_size": 70000}, {"max_examples_per_user": 3}, {"epochs": 3}, {"num_epochs": -1}):
        with pytest.raises(InvalidInput):
            from_tf_privacy({**arguments, **wrong})


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(EVENTS)
def test_what_is_written_is_read_back(what: Any) -> None:
    for relation in ("add-or-remove", "replace", "zero-out"):
        try:
            spec = from_dp_event(what, relation=relation)
        except (Unsupported, InvalidInput):
            continue
        read = parse_spec(spec_toml(spec))
        assert (read.relation, read.composition) == (spec.relation, spec.composition)


def test_claims_groups_and_texts_are_written_too() -> None:
    claim = Claim('a "b" \\ c', "line\nbreak", "0.50", "1e-5", "0.50", "1e-5")  # type: ignore[arg-type]
    composition = Composition(((WithReplacement(Gaussian(2), 3, 100), 2), (Gaussian(sigma=3, sensitivity="1/2"), 1)))
    spec = Spec(Relation.REPLACE, composition.for_groups(2), claim)
    assert parse_spec(spec_toml(spec)) == spec
