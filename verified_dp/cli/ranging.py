"""Numbers that are ranges: a claim at the worst values, and at the best ones where these do not meet it; both ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from verified_dp.cli.output import Row, store
from verified_dp.cli.text import Judged, field
from verified_dp.core.kernel.composition import Spec
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.enclosure import Enclosure
from verified_dp.ranges import Ranged, joined, spanned

_WORDS = {"worst": "proved for all values, of the worst", "best": "refuted for all values, of the best",
          "both": "of the best and of the worst"}


def enclose_ranged(ranged: Ranged, at: Fraction, quantity: str, enclose: Callable[[Spec], Enclosure]) -> Enclosure:
    """delta or epsilon for all values of the ranges; of one specification where there are none."""
    if not ranged.ranges:
        return enclose(ranged.worst)
    if quantity == "delta" and at < 0:
        raise InvalidInput("epsilon", at, "at least 0 where numbers are ranges")
    return spanned(enclose(ranged.best), enclose(ranged.worst))


def range_record(ranged: Ranged, end: str = "both") -> Row:
    """What is told of the ranges; end: of whose values the answer is."""
    return {"end": end, "ranges": [{"key": one.key, "from": str(one.low), "to": str(one.high), "worst": str(one.worst)}
                                   for one in ranged.ranges]}


def range_lines(row: Mapping[str, Any]) -> list[str]:
    """The same for people; nothing without ranges."""
    if (noted := row.get("range")) is None:
        return []
    told = "; ".join(f"{one['key']} from {one['from']} to {one['to']}" for one in noted["ranges"])
    return field("ranges", f"{told} ({_WORDS[noted['end']]})")


def certify_ranged(ranged: Ranged, place: str | None, judge: Callable[[Spec], Judged]) -> Judged:
    """The verdict on all values. The certificate is that of the end that decides; undecided, there is none.

    judge: of one specification, without a place for its certificate.
    Undecided, epsilon and delta hold all values between both ends.
    """
    from verified_dp.certificate import certificate_bytes

    found = {"worst": judge(ranged.worst)}

    def best() -> str:
        found["best"] = judge(ranged.best)
        return found["best"].verdict

    verdict = joined(found["worst"].verdict, best)
    end = {"proved": "worst", "refuted": "best", "undecided": "both"}[verdict]
    noted = {"range": range_record(ranged, end) | {"verdicts": {name: one.verdict for name, one in found.items()}}}
    if end != "both":
        judged = found[end]
        if place is not None:
            store(place, certificate_bytes(judged.document))
        return replace(judged, certificate=place, document=judged.document | noted)
    low, high = found["best"], found["worst"]
    return replace(high, verdict=verdict, short_by_rounding=False, document=low.document | noted,
                   epsilon=replace(high.epsilon, lower=min(low.epsilon.lower, high.epsilon.lower)),
                   delta=replace(high.delta, lower=min(low.delta.lower, high.delta.lower)))
