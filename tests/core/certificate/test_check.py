"""Verifying certificates: the valid ones, every altered leaf with old and with fresh hashes, hostile bytes."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_dp.core.kernel.certificate.check import Check, current_versions, verify
from verified_dp.core.kernel.certificate.document import MAX_BYTES, canonical, sealed
from verified_dp.core.kernel.certificate.evaluation import enclosure_record
from verified_dp.core.kernel.certificate.statement import read_spec
from verified_dp.core.kernel.certificate.witness import read_number, read_witness
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.exact import exact, fraction_text
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.core.kernel.witnesses import evaluate

Document = dict[str, Any]
Path = tuple[str | int, ...]

SAMPLED = 'kind = "gaussian"\nnoise_multiplier = "%s"\nsampling = { scheme = "poisson", probability = "%s" }\n'
PLAIN = '[[mechanism]]\nkind = "gaussian"\nsigma = "3/2"\nsensitivity = "2"\ncount = 3\n'


def sampled(noise: str, probability: str, count: int) -> str:
    return f"[[mechanism]]\n{SAMPLED % (noise, probability)}count = {count}\n"


@pytest.fixture(scope="module")
def refuted(certify_text: Callable[..., Document]) -> Document:
    """Short by rounding: the true epsilon is 1.0000000006."""
    return certify_text("add-or-remove", sampled("2", "1/100", 10000), "1.0", "0.010224911209191894")


@pytest.fixture(scope="module")
def examples(refuted: Document, certify_text: Callable[..., Document]) -> dict[str, Document]:
    return {
        "refuted": refuted,
        "proved": certify_text("add-or-remove", sampled("1.1", "256/60000", 500), "3", "1e-5"),
        "closed": certify_text("zero-out", PLAIN, "12", "1e-6"),
        "mixed": certify_text("replace", sampled("1.5", "0.01", 2000) + PLAIN.replace("3/2", "15"), "1.25", "1e-5"),
        "rays": certify_text("remove", sampled("2", "0.01", 3), "0.5", "1e-4", digits=5),
        "two steps": certify_text("remove", sampled("2", "0.01", 2), "0.5", "1e-4", digits=5),
        "rays beside plain steps": certify_text(
            "remove", sampled("2", "0.01", 2) + PLAIN.replace("3/2", "50000"), "0.5", "1e-4", digits=5),
        "past the support": certify_text("add", sampled("1", "0.01", 3), "0.5", "1e-6"),
        "ends": certify_text("add-or-remove", sampled("1", "1", 2) + sampled("1", "0", 5), "0.5", "1e-6"),
        "zero": certify_text("add-or-remove", sampled("2", "0.01", 100), "0", "0.5"),
        "vast": certify_text("add-or-remove", sampled("2", "0.01", 10), "50", "1e-5"),
    }


NAMES = ("refuted", "proved", "closed", "mixed", "rays", "two steps", "rays beside plain steps", "past the support",
         "ends", "zero", "vast")


@pytest.mark.parametrize("name", NAMES)
def test_valid(name: str, examples: dict[str, Document]) -> None:
    document = examples[name]
    for form in (document, canonical(document), canonical(document).decode(), json.dumps(document, indent=2)):
        check = verify(form)
        assert check == Check(True, document["verdict"], None, check.reason)
        assert "re-evaluated" in check.reason


def test_verdicts_of_the_examples(examples: dict[str, Document]) -> None:
    assert examples["refuted"]["verdict"] == "refuted"
    assert examples["refuted"]["short_by_rounding"] is True
    assert examples["proved"]["verdict"] == "proved"
    assert examples["zero"]["result"]["epsilon"] == {"order": "both", "lower": "0", "upper": "0"}


def test_documents_are_not_changed(refuted: Document) -> None:
    before = copy.deepcopy(refuted)
    verify(refuted)
    assert refuted == before


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))
    else:
        yield path, value


def containers(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict | list):
        yield path, value
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from containers(item, (*path, key))


def written(path: Path) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


def changed(document: Document, path: Path, value: Any) -> Document:
    """A copy with another value at the path."""
    *parents, last = path
    new = copy.deepcopy(document)
    place: Any = new
    for key in parents:
        place = place[key]
    place[last] = value
    return new


def next_digit(match: re.Match[str]) -> str:
    return str((int(match[0]) + 1) % 10)


def variants(leaf: Any) -> Iterator[Any]:
    """Small changes of a leaf: its last and its first digit, a letter, a flipped truth."""
    if isinstance(leaf, bool):
        yield not leaf
    elif isinstance(leaf, int):
        yield from (leaf + 1, -leaf - 1)
    elif re.search(r"[0-9]", leaf):
        yield re.sub(r"[0-9](?=[^0-9]*$)", next_digit, leaf)
        yield re.sub(r"[0-9]", next_digit, leaf, count=1)
    else:
        yield leaf[:-1] + ("x" if leaf[-1:] != "x" else "y")
        yield leaf + " "


def tampered(document: Document) -> Iterator[tuple[Path, Document]]:
    for path, leaf in leaves(document):
        for value in variants(leaf):
            if value != leaf:
                yield path, changed(document, path, value)


def root(path: Path) -> str:
    return str(path[0])


@pytest.mark.parametrize("name", ["refuted", "closed", "mixed"])
def test_every_altered_leaf_is_seen(name: str, examples: dict[str, Document]) -> None:
    """With the old hashes: the field that is named lies in the part that was altered."""
    for path, document in tampered(examples[name]):
        check = verify(document)
        assert not check.valid, written(path)
        assert check.verdict is None
        assert check.field is not None and re.split(r"[.\[]", check.field)[0] == root(path), (written(path), check)


# What proves nothing may change together with its hashes; so may what is true all the same: another witness, a
# larger share of the budget, a claimed delta that is moved by less than the enclosures' widths, the place of the order
# that decides nothing by less than its enclosure's width.
DESCRIPTIVE = re.compile(r"claim\.(title|source)|versions\..*")
TRUE_ANYWAY = re.compile(r"claim\.delta|evaluations\[\d\]\.(witness\..*|error_budget\..*)|evaluations\[4\]\.at")


@pytest.mark.parametrize("name", ["refuted", "closed"])
def test_fresh_hashes_make_nothing_false_pass(name: str, examples: dict[str, Document]) -> None:
    passed = set()
    for path, document in tampered(examples[name]):
        if root(path) in ("hashes", "sha256"):
            continue
        check = verify(sealed(document))
        if check.valid:
            passed.add(written(path))
            assert check.verdict == examples[name]["verdict"]
        elif not DESCRIPTIVE.fullmatch(written(path)):
            assert check.field is not None
    wrong = {path for path in passed if not DESCRIPTIVE.fullmatch(path) and not TRUE_ANYWAY.fullmatch(path)}
    assert wrong == set()
    descriptive = {written(path) for path, _ in leaves(examples[name]) if DESCRIPTIVE.fullmatch(written(path))}
    assert descriptive <= passed


@pytest.mark.parametrize("delta", ["0.0102", "0.0103", "0.01022492", "0.01022490", "1e-3", "9e-1"])
def test_another_claimed_delta_is_another_claim(delta: str, refuted: Document) -> None:
    assert not verify(sealed(changed(refuted, ("claim", "delta"), delta))).valid


@pytest.mark.parametrize("share", [3, pytest.param(1, marks=pytest.mark.long)])
def test_removed_and_added_members_are_seen(share: int, refuted: Document) -> None:
    """Of every third container in every run; the evaluations are of equal forms."""
    for path, container in list(containers(refuted))[::share]:
        for key in container if isinstance(container, dict) else range(len(container)):
            less = copy.deepcopy(container)
            del less[key]
            document = changed(refuted, path, less) if path else less
            assert not verify(document).valid, written((*path, key))
            if path and root(path) != "hashes":
                check = verify(sealed(document))
                assert not check.valid, written((*path, key))
        more = {**container, "more": "1"} if isinstance(container, dict) else [*container, *container[-1:]]
        document = changed(refuted, path, more) if path else more
        assert not verify(document).valid
        if path and root(path) != "hashes":
            assert not verify(sealed(document)).valid, written(path)


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("claim", "epsilon"), "1.1", "claim.epsilon"),
        (("claim", "delta"), "0.02", "claim.delta"),
        (("claim", "title"), "other", "claim"),
        (("claim", "epsilon"), "1.00x", "claim.epsilon"),
        (("claim", "epsilon"), "01.0", "claim.epsilon"),
        (("input", "mechanisms", 0), 1, "input.mechanisms[0]"),
        (("input", "mechanisms", 0, "extra"), [["9" * 9_000] * 60], "input.mechanisms"),
        (("evaluations", 1, "enclosure", "lower"), "-1*2^-2", "evaluations[1].enclosure.lower"),
        (("evaluations", 1, "enclosure", "upper"), "9*2^-3", "evaluations[1].enclosure.upper"),
        (("input", "mechanisms", 0, "count"), 10001, "input"),
        (("input", "mechanisms", 0, "count"), True, "input.mechanisms[0].count"),
        (("input", "mechanisms", 0, "sampling", "probability"), "2/200", "input.mechanisms[0].sampling.probability"),
        (("input", "mechanisms", 0, "noise_multiplier"), "0", "input.mechanisms[0].noise_multiplier"),
        (("input", "relation"), "neighbour", "input.relation"),
        (("pairs", 0, "tight"), False, "pairs[0].tight"),
        (("pairs", 1, "theorem"), "T22-pair-poisson-replace", "pairs[1].theorem"),
        (("assumptions", 0), "none", "assumptions[0]"),
        (("evaluations", 0, "at"), "1.0", "evaluations[0].at"),
        (("evaluations", 0, "method"), "closed-form", "evaluations[0].method"),
        (("evaluations", 0, "witness", "tilt"), "1.5", "evaluations[0].witness.tilt"),
        (("evaluations", 0, "witness", "tilt"), "4*2^0", "evaluations[0].witness.tilt"),
        (("evaluations", 0, "witness", "nodes", 0, "first"), "1", "evaluations[0].witness.nodes[0].first"),
        (("evaluations", 0, "witness", "kind"), "rays", "evaluations[0].witness.cuts"),
        (("evaluations", 0, "witness", "kind"), "magic", "evaluations[0].witness.kind"),
        (("evaluations", 1, "enclosure", "lower_decimal"), "0.0001", "evaluations[1].enclosure.lower_decimal"),
        (("evaluations", 1, "error_budget", "aliasing"), "0", "evaluations[1].error_budget.aliasing"),
        (("result", "epsilon", "lower"), "1", "result.epsilon.lower"),
        (("verdict",), "proved", "verdict"),
        (("short_by_rounding",), False, "short_by_rounding"),
        (("short_by_rounding",), 1, "short_by_rounding"),
        (("theorems", 0), "T99-none", "theorems[0]"),
        (("theorems", 0), "none", "theorems"),
        (("versions", "python"), "", "versions.python"),
        (("schema",), "verified-dp/certificate/2", "schema"),
        (("hashes", "claim"), "0" * 64, "hashes"),
        (("sha256",), "0" * 64, "sha256"),
    ],
)
def test_fields(path: Path, value: Any, field: str, refuted: Document) -> None:
    check = verify(changed(refuted, path, value))
    assert not check.valid
    assert check.field == field


def test_a_wrong_hash_is_told_from_an_altered_part(refuted: Document) -> None:
    assert verify(changed(refuted, ("hashes", "claim"), "0" * 64)).field == "hashes"
    both = changed(changed(refuted, ("hashes", "claim"), "0" * 64), ("claim", "title"), "other")
    assert verify(both).field == "claim"
    none = changed(changed(refuted, ("hashes",), ["0" * 64]), ("claim", "title"), "other")
    assert verify(none).field == "schema"  # no hash is recorded that could match: the first part is named


def test_versions_of_another_library_are_reported(refuted: Document) -> None:
    check = verify(sealed(changed(refuted, ("versions", "FLINT"), "9.9.9")))
    assert check.valid
    assert "written with FLINT 9.9.9" in check.reason
    false = verify(sealed(changed(changed(refuted, ("versions", "verified-dp"), "0.0.1"), ("verdict",), "proved")))
    assert not false.valid and false.field == "verdict"
    assert false.reason.endswith(f"(written with verified-dp 0.0.1, here {current_versions()['verified-dp']})")


def test_names_of_theorems_are_reported_and_not_trusted(refuted: Document) -> None:
    """What a verdict rests on follows from the files that run here; a list from another version may differ."""
    names, older = refuted["theorems"], changed(refuted, ("versions", "verified-dp"), "0.0.1")
    other = sorted([*names[1:], "T999-of-tomorrow"])
    check = verify(sealed(changed(older, ("theorems",), other)))
    assert check.valid and check.verdict == refuted["verdict"]
    assert check.reason.endswith(f"theorems named only here: {names[0]}; theorems named only there: T999-of-tomorrow)")
    assert "and 4 more" in verify(sealed(changed(older, ("theorems",), [f"T{n}-x" for n in range(10, 20)]))).reason
    same = verify(sealed(changed(refuted, ("theorems",), other)))
    assert not same.valid and str(same.field).startswith("theorems"), "the same version has the same list"
    for found in (names[::-1], names + names[-1:], "T07-ends", [1], ["T7"], ["T10-" + "x" * 100]):
        check = verify(sealed(changed(refuted, ("theorems",), found)))
        assert (check.valid, check.field and check.field[:8]) == (False, "theorems"), found


def test_progress_is_told(refuted: Document) -> None:
    told: list[tuple[int, int]] = []
    verify(refuted, lambda done, of: told.append((done, of)))
    count = len(refuted["evaluations"])
    assert told == [(done, count) for done in range(count + 1)]


def moved(document: Document, index: int, lower: Fraction, upper: Fraction) -> Document:
    """The certificate with other ends of one enclosure, its decimals and hashes to fit."""
    ends = Dyadic.of_fraction(lower), Dyadic.of_fraction(upper)
    return sealed(changed(document, ("evaluations", index, "enclosure"), enclosure_record(*ends)))


def ends_of(document: Document, index: int) -> tuple[Fraction, Fraction]:
    enclosure = document["evaluations"][index]["enclosure"]
    return Dyadic.parse(enclosure["lower"]).as_fraction(), Dyadic.parse(enclosure["upper"]).as_fraction()


@pytest.mark.parametrize("index", [1, 2, 3, 4])
def test_narrowed_enclosures_fail(index: int, refuted: Document) -> None:
    """By a hundredth of the width, on either side; entry 0 decides the result, the others stand alone."""
    lower, upper = ends_of(refuted, index)
    shift = (upper - lower) / 128
    narrower = moved(refuted, index, lower + shift, upper), moved(refuted, index, lower, upper - shift)
    for document, end in zip(narrower, ("lower", "upper"), strict=True):
        check = verify(document)
        assert (check.valid, check.field) == (False, f"evaluations[{index}].enclosure.{end}")


@pytest.mark.parametrize("index", [1, 2, 3, 4])
def test_widened_enclosures_are_true(index: int, refuted: Document) -> None:
    lower, upper = ends_of(refuted, index)
    shift = (upper - lower) / 128
    assert verify(moved(refuted, index, lower - shift, upper + shift)).valid


def test_a_false_claim_does_not_pass(refuted: Document) -> None:
    """A verdict of "proved" with all that must agree with it, and hashes to fit."""
    document = copy.deepcopy(refuted)
    upper = Dyadic.parse(document["evaluations"][1]["enclosure"]["upper"])
    document["evaluations"][0]["enclosure"] = enclosure_record(Dyadic(1, -10), upper)
    document["verdict"] = "proved"
    document["result"]["delta"] = {"order": "both", "lower": "", "upper": ""}
    for _ in range(4):  # take over what the checker says must stand there
        check = verify(sealed(document))
        assert not check.valid
        if check.field == "short_by_rounding":
            document[check.field] = not document[check.field]
            continue
        if check.field is None or not check.field.startswith("result.delta"):
            break
        part = check.field.rpartition(".")[2]
        document["result"]["delta"][part] = check.reason.split(": ")[1].split(" is expected")[0]
    assert check.field == "evaluations[0].enclosure.upper", check


@pytest.mark.parametrize(
    "change", [{"count": 1}, {"tilt": "1*2^10"}, {"step": "1*2^3"}, {"prec": 2}, {"right": "1*2^-40"},
               {"left": "1*2^10"}, {"step": "-1*2^0"}, {"tilt": "0*2^0"}, {"count": 0}, {"nodes": []},
               {"tilt": "1*2^-40000"}, {"tilt": "1*2^40000"}, {"step": "1*2^40000"}, {"right": "1*2^40000"}])
def test_poor_witnesses_do_not_reach_the_enclosure(change: Document, refuted: Document) -> None:
    witness = {**refuted["evaluations"][0]["witness"], **change}
    check = verify(sealed(changed(refuted, ("evaluations", 0, "witness"), witness)))
    assert not check.valid
    assert check.field is not None and check.field.startswith("evaluations[0].")


RULES: list[Callable[[Document], Document]] = [
    lambda rule: {**rule, "half_width": "1*2^20"},
    lambda rule: {**rule, "height": "1*2^20"},
    lambda rule: {**rule, "height": "0*2^0"},
    lambda rule: {**rule, "half_width": "0*2^0"},
    lambda rule: {**rule, "step": "1*2^10"},
    lambda rule: {**rule, "step": "0*2^0"},
    lambda rule: {**rule, "step": "1*2^-49000"},
    lambda rule: {**rule, "first": 0},
    lambda rule: {**rule, "last": 1},
    lambda rule: {**rule, "first": rule["last"], "last": rule["first"]},
    lambda rule: {**rule, "first": rule["last"]},
]


@pytest.mark.parametrize("rules", ["nodes", "tail_nodes"])
@pytest.mark.parametrize("change", RULES)
def test_poor_node_rules_do_not_reach_the_enclosure(
    change: Callable[[Document], Document], rules: str, refuted: Document
) -> None:
    rule = change(refuted["evaluations"][0]["witness"][rules][0])
    check = verify(sealed(changed(refuted, ("evaluations", 0, "witness", rules, 0), rule)))
    assert not check.valid


@pytest.mark.parametrize(
    "change", [{"cells": -1}, {"first": 1}, {"height": "1*2^20"}, {"step": "0*2^0"}, {"half_width": "-1*2^0"}])
@pytest.mark.parametrize("name", ["rays", "rays beside plain steps"])
def test_poor_rules_of_rays_do_not_reach_the_enclosure(change: Document, name: str,
                                                       examples: dict[str, Document]) -> None:
    document = examples[name]
    index = next(n for n, entry in enumerate(document["evaluations"]) if entry["witness"]["kind"] == "rays")
    rule = {**document["evaluations"][index]["witness"]["nodes"][0], **change}
    assert not verify(sealed(changed(document, ("evaluations", index, "witness", "nodes", 0), rule))).valid


NUMBERS = st.one_of(
    st.builds(lambda m, e: str(Dyadic(m, e)), st.integers(-3, 3), st.sampled_from([0, -1, 3, -40, 40, 5000, -5000])),
    st.sampled_from(["1/3", "-7/5", "49999*2^-40000"]))


@settings(max_examples=40)
@given(data=st.data())
def test_random_witnesses_are_sound(data: st.DataObject, refuted: Document) -> None:
    """Whatever the witness, no enclosure that leaves the true value passes; and nothing crashes or hangs."""
    index = data.draw(st.integers(0, 4))
    fields = [path for path, _ in leaves(refuted["evaluations"][index]["witness"]) if path[0] != "kind"]
    document = refuted
    for path in data.draw(st.lists(st.sampled_from(fields), min_size=1, max_size=3)):
        full = ("evaluations", index, "witness", *path)
        integer = path[-1] in ("first", "last", "count", "prec", "cells")
        value = data.draw(st.integers(-20, 200) if integer else NUMBERS)
        document = changed(document, full, value)
    lower, upper = ends_of(refuted, index)
    wrong = lower - (upper - lower), lower - (upper - lower) / 2  # the truth lies above
    enclosure = enclosure_record(*(Dyadic.of_fraction(end) for end in wrong))
    assert verify(sealed(changed(document, ("evaluations", index, "enclosure"), enclosure))).valid is False


HOSTILE = {
    "nothing": b"",
    "no JSON": b"certificate",
    "not UTF-8": b'{"schema": "\xff"}',
    "half": b'{"schema": "verified-dp/certificate/1"',
    "another thing": b"[1, 2]",
    "null": b"null",
    "text": b'"verified-dp/certificate/1"',
    "number": b"1e999",
    "no keys": b'{"schema": "verified-dp/certificate/1"}',
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 200_000,
    "deep but closed": b'{"schema":"verified-dp/certificate/1","claim":' + b"[" * 500 + b"]" * 500 + b"}",
    "too long": b" " * (MAX_BYTES + 1),
    "giant integer": b'{"schema":"verified-dp/certificate/1","verdict":' + b"9" * 100_000 + b"}",
    "float": b'{"schema":"verified-dp/certificate/1","verdict":1.5}',
    "not a number": b'{"schema":"verified-dp/certificate/1","verdict":NaN}',
    "infinity": b'{"schema":"verified-dp/certificate/1","verdict":-Infinity}',
    "surrogate": b'{"schema":"verified-dp/certificate/1","verdict":"\\ud800"}',
    "surrogate key": b'{"schema":"verified-dp/certificate/1","\\ud800":"x"}',
    "twice": b'{"schema":"verified-dp/certificate/1","schema":"verified-dp/certificate/1"}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes(name: str) -> None:
    check = verify(HOSTILE[name])
    assert not check.valid and check.verdict is None and check.reason


@pytest.mark.parametrize(
    "value", [None, 1.0, float("nan"), 10**400, -(10**20), "x" * 10**6, b"bytes", (1, 2), {1: 2}, {"a": {}}, [], True,
              "1" * 4000, "1*2^99999999999999999999999999", "9" * 50_000 + "*2^0", "1/0", "0/1", "1e99999", object()])
def test_hostile_leaves(value: Any, refuted: Document) -> None:
    """Any value in place of any leaf, with fresh hashes where such values have any."""
    paths = [path for path, leaf in leaves(refuted) if root(path) not in ("hashes", "sha256") and leaf is not value]
    for path in paths[:60:3] + paths[60::40]:
        document = changed(refuted, path, value)
        with suppress(TypeError, ValueError):
            document = sealed(document)
        check = verify(document)
        assert isinstance(check, Check)
        assert not check.valid or DESCRIPTIVE.fullmatch(written(path))


def test_a_document_within_itself() -> None:
    document: Document = {"schema": "verified-dp/certificate/1"}
    document["claim"] = document
    assert not verify(document).valid


@pytest.mark.parametrize("epsilon", ["1e99999", "1e-99999", "1" + "0" * 3000])
def test_vast_claims_are_answered(epsilon: str, refuted: Document, work: Callable[..., int]) -> None:
    """An evaluation at any epsilon that a specification allows takes little more work than the usual."""
    usual, document = work(lambda: verify(refuted)), changed(refuted, ("claim", "epsilon"), epsilon)
    assert not verify(sealed(document)).valid
    at = fraction_text(exact(epsilon))
    for index in (0, 1):
        document = changed(document, ("evaluations", index, "at"), at)
    checks: list[Check] = []
    assert work(lambda: checks.append(verify(sealed(document)))) < 1.5 * usual
    assert not checks[0].valid


def test_read_number_is_strict_about_its_type() -> None:
    assert read_number("3*2^-1", "x") == Fraction(3, 2)


def test_another_order_of_rounding_makes_nothing_invalid(refuted: Document) -> None:
    """An end that more bits prove, though those of the witness do not."""
    spec, entry = read_spec(refuted), refuted["evaluations"][1]
    loss = next(loss for loss in privacy_losses(spec.composition, spec.relation) if loss.order == entry["order"])
    witness = read_witness(entry["witness"], "witness")
    own, sharp = (evaluate(loss, replace(witness, prec=bits)).delta(exact(entry["at"])).ends()[0].as_fraction()
                  for bits in (witness.prec, witness.prec + 64))
    upper = ends_of(refuted, 1)[1]
    assert own < sharp
    assert verify(moved(refuted, 1, (own + sharp) / 2, upper)).valid
    assert not verify(moved(refuted, 1, sharp + (upper - sharp) / 2**20, upper)).valid
