"""What can be said of an entry of the registry: a verdict for each reading, and what to ask whoever published it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from verified_dp.certificate import Certificate
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.dyadic import decimal_up
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.questions.judgement import REASONS, least_claim_words, reason
from verified_dp.ranges import Range, certify_ranged
from verified_dp.registry.entry import FIELDS, Entry, Reading

NOT_STATED = "not enough stated"
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class JudgedReading:
    """certificates: of the worst values of the ranges, then of the best ones where these were asked."""

    reading: Reading
    verdict: str
    words: str
    claimed: str = ""
    ranges: tuple[Range, ...] = ()
    certificates: tuple[Certificate, ...] = ()


@dataclass(frozen=True)
class Judged:
    """An entry with all that is said of it. questions: to its publisher, the first ones about the verdict."""

    entry: Entry
    readings: tuple[JudgedReading, ...]
    questions: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """Of all its readings; where they differ, "undecided": which one was run is for its publisher to say."""
        found = {one.verdict for one in self.readings} or {NOT_STATED}
        return found.pop() if len(found) == 1 else "undecided"

    @property
    def missing(self) -> list[tuple[str, str]]:
        """Paths and words of fields of its tier that it leaves out."""
        return [(path, field.words) for path, field in self.entry.missing]


def judge(entry: Entry, max_seconds: float | None = None) -> Judged:
    """Certify each reading's claim, for every value of its ranges. max_seconds: of each certificate."""
    found = tuple(_judged(one, max_seconds) for one in entry.readings)
    return Judged(entry, found, tuple(dict.fromkeys([*_contradictions(entry), *_asked(found), *_unstated(entry)])))


def _judged(reading: Reading, max_seconds: float | None) -> JudgedReading:
    try:
        ranged = reading.ranged()
        if ranged.worst.claim is None:
            return JudgedReading(reading, NOT_STATED, "no claim of epsilon and delta is stated", ranges=ranged.ranges)
        claim = ranged.worst.claim
        verdict, certificates = certify_ranged(ranged, max_seconds=max_seconds)
    except (InvalidInput, Unsupported) as error:
        return JudgedReading(reading, NOT_STATED, f"no specification that can be judged: {error}")
    document = certificates[-1].document
    words = {"proved": "holds", "refuted": f"does not hold; {least_claim_words(document)}"}.get(verdict, "")
    if verdict == "undecided":
        why = "range" if certificates[-1].verdict == "proved" else reason(document)
        words = f"is neither proved nor refuted: {REASONS[why]}"
    proved = certificates[0].document["result"]["epsilon"]["upper"]
    if verdict == "undecided" and proved != "inf":
        words += f"; at this delta epsilon = {decimal_up(exact.exact(proved), 6)} is proved of all values"
    return JudgedReading(reading, verdict, f"the claim {words}", f"({claim.epsilon_text}, {claim.delta_text})",
                         ranged.ranges, certificates)


def _contradictions(entry: Entry) -> Iterator[str]:
    """Parameters that do not fit the variant."""
    variant = entry["dp_variant.variant_name"]
    epsilon, delta, rho = map(entry.parameter, ("epsilon", "delta", "rho"))
    if delta and not _NUMBER.fullmatch(delta):
        yield f'delta is "{delta}": which number was it, in the release that was published?'
    elif variant == "Pure DP" and delta and float(delta) > 0:
        yield f"the variant is Pure DP and delta is {delta}: which of the two is wrong?"
    if variant == "Approximate DP" and not (epsilon and delta):
        yield "the variant is Approximate DP: which epsilon and which delta?"
    if variant == "Zero-concentrated DP" and not rho:
        yield "the variant is Zero-concentrated DP: which rho?"
    if not variant and (epsilon or rho):
        yield "which variant of differential privacy do the parameters belong to?"


def _asked(readings: tuple[JudgedReading, ...]) -> Iterator[str]:
    """About readings that were judged."""
    if len({one.verdict for one in readings}) > 1:
        yield "the readings of this entry have different verdicts: which of them was run?"
    for one in readings:
        if one.verdict == "undecided":
            if one.certificates[-1].verdict == "proved":
                yield from (f"{found}: which number was used, in all its digits?" for found in one.ranges)
            elif reason(one.certificates[-1].document) == "one-sided":
                yield ("a guarantee alone proves less than is claimed: which mechanism was run, with which noise, "
                       "sensitivity, sampling and number of releases?")
        elif one.verdict == "refuted":
            yield f"{one.claimed} does not hold of what is stated: which of the stated numbers is wrong?"
        elif one.verdict == NOT_STATED:
            yield f"{one.reading.words}: {one.words}; what was run?"


def _unstated(entry: Entry) -> Iterator[str]:
    """What a verdict needs and the entry does not say."""
    epsilon, delta, rho = map(entry.parameter, ("epsilon", "delta", "rho"))
    if not (epsilon or rho):
        yield "which privacy parameters are claimed?"
    elif rho and not (epsilon and delta):
        yield "which epsilon is claimed at which delta? (rho alone is a guarantee that nothing is checked against)"
    if not entry.readings:
        yield ("which noise, of which scale, was added to statistics of which sensitivity, in how many releases, on "
               "which samples? (tables of a specification in implementation.mechanisms are read as they are)")
    if not entry["privacy_loss.privacy_unit_details"]:
        yield "which data sets are neighbours: is a unit added, removed, replaced, or are its values set to 0?"
    if entry["deployment_model.release_type"] == "Many releases" and not entry["deployment_model.release_type_details"]:
        yield "over how many releases, or which time, do the parameters hold?"
    if not entry["accounting.composition"]:
        yield f"{FIELDS['accounting.composition'].words}?"
