"""The objects of `delta`, `epsilon` and `compare`, and the papers' methods behind them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from verified_dp.cli.interrupts import best_so_far
from verified_dp.cli.limits import Limits
from verified_dp.cli.output import Row, schema
from verified_dp.terminal import Progress

if TYPE_CHECKING:
    from verified_dp.core.kernel.composition import Spec
    from verified_dp.enclosure import Enclosure
    from verified_dp.papers.ask import PaperResult

SOURCES_OF_ERROR = ("quadrature", "aliasing", "frequency_tail", "node_tail", "rounding")
"""Always present in `error_budget`; "0" where the method has no such error."""


def result_row(enclosure: Enclosure, given: str, typed: str) -> Row:
    """The object of delta and epsilon; `given` names the number that was typed."""
    from verified_dp.core.kernel.dyadic import Dyadic, decimal_up

    budget = {**dict.fromkeys(SOURCES_OF_ERROR, Dyadic(0)), **enclosure.budget}
    return {
        "schema": schema("result"),
        "quantity": enclosure.quantity,
        given: typed,
        "relation": str(enclosure.relation),
        "order": enclosure.order,
        "status": enclosure.status,
        "tight": enclosure.tight,
        **ends(enclosure),
        "digits": enclosure.digits,
        "method": enclosure.method,
        "methods": list(enclosure.methods),
        "error_budget": {source: decimal_up(size, 3) for source, size in budget.items()},
        "convention": enclosure.convention,
        "seconds": round(enclosure.seconds, 6),
    }


def ends(enclosure: Enclosure) -> Row:
    return {"lower": enclosure.lower_decimal, "upper": enclosure.upper_decimal}


def paper_answer(spec: Spec, file: str, quantity: str, at: Fraction, limits: Limits) -> PaperResult:
    """Ask one of the papers' methods about the specification in a file."""
    from verified_dp.papers.ask import accountant
    from verified_dp.papers.fourier.pairs import published_profile

    with Progress(file, limits.max_seconds) as progress, best_so_far():
        asked = accountant(published_profile(spec, progress=progress), limits.method, **limits.parameters)
        solve = asked.delta if quantity == "delta" else asked.epsilon
        return solve(at, limits.digits, limits.max_seconds)


def paper_row(result: PaperResult, quantity: str, given: str, typed: str) -> Row:
    """The object of delta and epsilon for a method that may estimate: no ends where it proves none."""
    value, reason = (None, None) if result.estimate is None else (result.estimate.value, result.estimate.reason)
    more = {"estimate": value, "estimates": dict(result.estimates), "reason": reason,
            "parameters": dict(result.parameters)}
    if result.enclosure is not None:
        return {**result_row(result.enclosure, given, typed), **more}
    return {"schema": schema("result"), "quantity": quantity, given: typed, "status": "estimate",
            "lower": None, "upper": None, "method": result.method, "methods": [result.method],
            "seconds": round(result.seconds, 6), **more}
