"""A certificate that is there: where it verifies, and answers the question that is asked, nothing is done again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from verified_dp.cli.inputs import read_input
from verified_dp.cli.limits import Limits
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput, Unsupported
from verified_dp.ends import readable
from verified_dp.reading import read_at_most

if TYPE_CHECKING:
    from verified_dp.core.kernel.certificate.document import Document
    from verified_dp.core.kernel.composition import Claim, Spec
    from verified_dp.core.kernel.evaluation import Ends
    from verified_dp.enclosure import Enclosure


@dataclass(frozen=True)
class Kept:
    """A valid certificate of the claim, and the enclosures that it records."""

    certificate: Document
    delta: Enclosure
    epsilon: Enclosure


def read_kept(place: str, spec: Spec, limits: Limits, *, formal: bool) -> Kept | None:
    """The certificate at a place if it is of this claim, verifies, and is as narrow as asked; None where it is not.

    Raises InvalidInput where something else than a certificate is there: it would be overwritten.
    """
    from verified_dp.core.kernel.certificate.check import verify

    document = _document(place)
    if document is None or not _same_question(document, spec, limits) or (formal and "formal" not in document):
        return None
    try:
        if not verify(document).valid:
            return None
    except Unsupported:  # of an earlier version
        return None
    found = _enclosures(document, spec, limits)
    return Kept(document, *found) if all(map(_is_narrow, found)) else None


def read_given(file: str, limits: Limits) -> tuple[Claim, Kept]:
    """A certificate that is given instead of a claim, and its claim. Raises InvalidCertificate if it is refused."""
    from verified_dp.core.kernel.certificate.document import MAX_BYTES, read_document
    from verified_dp.core.kernel.certificate.statement import read_claim, read_spec
    from verified_dp.verifiers.bounded import MEGABYTES, SECONDS, verify_bounded

    data = read_input(file, MAX_BYTES, "a certificate")
    found = verify_bounded(data, seconds=max(SECONDS, limits.max_seconds or 0), megabytes=MEGABYTES)
    if not found.valid:
        raise InvalidCertificate(found.field or "certificate", found.reason)
    document = read_document(data)
    return read_claim(document["claim"]), Kept(document, *_enclosures(document, read_spec(document), limits))


def _document(place: str) -> Document | None:
    """What lies at the place; None where nothing does, or a certificate that is damaged."""
    from verified_dp.core.kernel.certificate.document import MAX_BYTES, SCHEMA, parse_json, read_document

    path = Path(place)
    if not path.is_file() or path.stat().st_size == 0:
        return None
    try:
        found = parse_json(read_at_most(place, MAX_BYTES))
    except (OSError, InvalidCertificate):
        found = None
    if type(found) is not dict or found.get("schema") != SCHEMA:
        raise InvalidInput("out", place, "free, or the place of an earlier certificate (another file is there)")
    try:
        return read_document(found)
    except InvalidCertificate:
        return None


def _same_question(document: Mapping[str, object], spec: Spec, limits: Limits) -> bool:
    from verified_dp.core.kernel.certificate.statement import claim_record, input_record

    claim = None if spec.claim is None else claim_record(spec.claim)
    asked = {"claim": claim, "input": input_record(spec.composition, spec.relation)}
    return all(document[key] == part for key, part in asked.items()) and (
        limits.method == "auto" or [limits.method] == _methods(document))


def _methods(document: Mapping[str, object]) -> list[str]:
    entries = document["evaluations"]
    known = [entry.get("method") for entry in entries if type(entry) is dict] if type(entries) is list else []
    return [method for method in dict.fromkeys(known) if type(method) is str]


def _enclosures(document: Document, spec: Spec, limits: Limits) -> tuple[Enclosure, Enclosure]:
    """delta and epsilon as a valid certificate records them."""
    from verified_dp.core.kernel.certificate.check import with_facts
    from verified_dp.core.kernel.certificate.evaluation import read_evaluations
    from verified_dp.core.kernel.evaluation import largest_delta, largest_epsilon
    from verified_dp.core.kernel.exact import exact
    from verified_dp.core.kernel.losses import pairs_and_losses
    from verified_dp.core.kernel.words import convention
    from verified_dp.enclosure import Enclosure
    from verified_dp.papers.ask import DEFAULT_DIGITS as FEW
    from verified_dp.profile import DEFAULT_DIGITS

    methods = _methods(document)
    digits = limits.digits or (FEW if "lattice" in methods else DEFAULT_DIGITS)
    pairs, losses = pairs_and_losses(spec.composition, spec.relation)
    by_order = {loss.order: loss for loss in losses}
    stated = [with_facts(one, by_order) for one in read_evaluations(document["evaluations"])]
    tight, target = all(pair.is_attained for pair in pairs), exact(document["claim"]["delta"])

    def enclosure(quantity: str, ends: Ends, order: str) -> Enclosure:
        return Enclosure(
            *map(readable, ends), quantity=quantity, method=methods[0], methods=tuple(methods), digits=digits,
            tight=tight, order=order, relation=spec.relation.value,
            convention=convention(spec.composition, spec.relation))

    return (enclosure("delta", *largest_delta(one for one in stated if one.quantity == "delta")),
            enclosure("epsilon", *largest_epsilon(
                list(by_order), [one for one in stated if one.quantity == "epsilon"], target)))


def _is_narrow(found: Enclosure) -> bool:
    """Within twice the width that was asked: recorded enclosures are slightly wider than the evaluated ones."""
    width = found.relative_width
    return found.lower == found.upper or (width is not None and 5 * 10 ** (found.digits - 1) * width.as_fraction() <= 1)
