"""`certify` of a claim whose numbers are ranges: the worst values, and the best ones where these do not meet it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from verified_dp.cli.output import store
from verified_dp.cli.text import Judged
from verified_dp.core.kernel.composition import Spec
from verified_dp.ranges import Ranged, joined


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
    noted = {"range": {
        "end": end, "verdicts": {name: one.verdict for name, one in found.items()},
        "ranges": [{"key": one.key, "from": str(one.low), "to": str(one.high), "worst": str(one.worst)}
                   for one in ranged.ranges]}}
    if end != "both":
        judged = found[end]
        if place is not None:
            store(place, certificate_bytes(judged.document))
        return replace(judged, certificate=place, document=judged.document | noted)
    low, high = found["best"], found["worst"]
    return replace(high, verdict=verdict, short_by_rounding=False, document=low.document | noted,
                   epsilon=replace(high.epsilon, lower=min(low.epsilon.lower, high.epsilon.lower)),
                   delta=replace(high.delta, lower=min(low.delta.lower, high.delta.lower)))
