"""The whole check (CERTIFICATE.md, "Order of evaluation"): the cheap parts first, then every enclosure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from .balls import Ball, Gigantic, precision, time_limit
from .contour import Bounds
from .document import (
    Document,
    Dyadic,
    Invalid,
    TooMuch,
    check_equal,
    check_keys,
    check_rest,
    check_seals,
    decimal_parts,
    decimals,
    digits_of,
    read,
    read_end,
    read_fraction,
)
from .halves import Halves, count_lists
from .inputs import read_claim, read_input
from .losses import ComposedLoss
from .pairs import ORDERS, read_pairs
from .verdict import Statement, judge
from .witnesses import KINDS, MAX_LENGTH, Attack, Exact, ExactValues, Shortened, check_size, read_witness, values_of
from .words import assumptions

GUARD_BITS, MORE_BITS = 64, 128
"""More than the witness asks for: what is recorded leaves little room for rounding, and none where terms cancel."""
MAX_ENTRIES = 16
_BUDGET = re.compile(r"([1-9])\.([0-9]{3})e(0|-?[1-9][0-9]{0,30})")


@dataclass(frozen=True)
class Check:
    """verdict: what a valid certificate proves. field, reason: where and why another is not valid."""

    valid: bool
    verdict: str | None
    field: str | None
    reason: str


def verify(data: bytes, max_seconds: float | None = None,
           progress: Callable[[int, int], object] = lambda done, of: None) -> Check:
    """Check a certificate. progress is called with how many evaluations of how many are done.

    Raises:
        TooMuch: where a witness asks for more than this checker spends. OutOfTime: after so many seconds.
    """
    try:
        document = read(data)
        with time_limit(max_seconds):
            count = _check(document, progress)
        check_seals(document)
    except Invalid as error:
        return Check(False, None, error.field or None, error.reason)
    return Check(True, document["verdict"], None, f"{count} enclosures confirmed")


def _check(document: Document, progress: Callable[[int, int], object]) -> int:
    claim, run = read_claim(document["claim"]), read_input(document["input"])
    with precision(256):
        pairs, tight, losses = read_pairs(run)
    check_equal(document["pairs"], pairs, "pairs", "not the pairs of the input")
    check_equal(document["assumptions"], assumptions(run), "assumptions", "not what the input takes for granted")
    found = document["evaluations"]
    if type(found) is not list or len(found) > MAX_ENTRIES:
        raise Invalid("evaluations", f"must be a list of at most {MAX_ENTRIES}")
    entries = [_read_entry(table, f"evaluations[{index}]") for index, table in enumerate(found)]
    entries = [(_with_facts(statement, witness, claim.delta, losses), witness) for statement, witness in entries]
    judged = judge(claim, ORDERS[run.relation], tight, [statement for statement, _ in entries])
    for key, expected in judged.items():
        check_equal(document[key], expected, key, "does not follow from the evaluations")
    check_rest(document)
    for _, witness in entries:
        check_size(witness)
    known: Known = {}
    for index, (statement, witness) in enumerate(entries):
        progress(index, len(entries))
        _confirm(found[index], statement, witness, losses[statement.order], known, f"evaluations[{index}]")
    progress(len(entries), len(entries))
    return len(entries)


def _read_entry(table: Any, path: str) -> tuple[Statement, Any]:
    check_keys(table, ("quantity", "order", "at", "side", "method", "witness", "enclosure", "error_budget"), path)
    for key in ("quantity", "order", "side"):
        if type(table[key]) is not str:
            raise Invalid(f"{path}.{key}", "must be text")
    enclosure, inside = table["enclosure"], f"{path}.enclosure"
    check_keys(enclosure, ("lower", "upper", "lower_decimal", "upper_decimal"), inside)
    lower, upper = (read_end(enclosure[key], f"{inside}.{key}") for key in ("lower", "upper"))
    if lower < 0 or upper < lower or upper > 1:
        raise Invalid(inside, "must be ends with 0 <= lower <= upper <= 1")
    texts = dict(zip(("lower_decimal", "upper_decimal"), decimals(lower, upper, inside), strict=True))
    check_equal({key: enclosure[key] for key in texts}, texts, inside, "not the decimal of the dyadic")
    witness = read_witness(table["witness"], f"{path}.witness")
    check_equal(table["method"], KINDS[table["witness"]["kind"]][1], f"{path}.method", "not the witness's method")
    _check_budget_form(table["error_budget"], f"{path}.error_budget")
    at = read_fraction(table["at"], f"{path}.at")
    kind = table["witness"]["kind"]
    return Statement(table["quantity"], table["order"], at, table["side"], lower, upper,
                     falls=kind in ("end", "endless"), everywhere=kind in ("support", "endless")), witness


def _with_facts(statement: Statement, witness: Any, target: Fraction, losses: Mapping[str, ComposedLoss]) -> Statement:
    """What an exact witness says of other eps besides."""
    if not isinstance(witness, Exact) or statement.order not in losses:
        return statement
    try:
        with precision(witness.prec + GUARD_BITS):
            floor, falls, endless = ExactValues(losses[statement.order]).says(statement.at)
    except (ArithmeticError, LookupError, ValueError):
        return statement
    return replace(statement, falls=falls, everywhere=floor and (endless or statement.lower > target))


def _check_budget_form(table: Any, path: str) -> None:
    if type(table) is not dict:
        raise Invalid(path, "must be an object")
    for key, text in table.items():
        if type(text) is not str or not (text in ("0", "inf") or _BUDGET.fullmatch(text)):
            raise Invalid(f"{path}.{key}", "must be a decimal such as 1.234e-9")


Known = dict[tuple[str, Any, int], Any]


def _confirm(table: Document, statement: Statement, witness: Any, loss: ComposedLoss, known: Known, path: str) -> None:
    """Raises Invalid where the evaluation is not what the witness proves, nor by more bits."""
    try:
        _check_entry(table, statement, _bounds(statement, witness, loss, known, GUARD_BITS), path)
    except Invalid as missed:
        try:
            _check_entry(table, statement, _bounds(statement, witness, loss, known, MORE_BITS), path)
        except Invalid:
            raise missed from None


def _bounds(statement: Statement, witness: Any, loss: ComposedLoss, known: Known, more: int) -> Bounds | str:
    """What the witness proves; or why it proves nothing. Equal witnesses are evaluated once, if lists are short."""
    key = statement.order, witness, more
    try:
        with precision(witness.prec + more):
            if key not in known:
                if _length(witness) + sum(_length(one) for _, one, _ in known) > MAX_LENGTH:
                    known.clear()
                known[key] = values_of(witness, loss)
            bounds: Bounds = known[key].enclose(statement.at)
            return bounds
    except Gigantic as error:
        raise TooMuch(f"takes {error}, beyond this checker's arithmetic") from None
    except (ArithmeticError, LookupError, ValueError) as error:
        return str(error)


def _length(witness: Any) -> int:
    """About how long the lists are that its values keep, where these may be long."""
    inner = witness.inner if isinstance(witness, Attack | Shortened) else witness
    return count_lists(inner) if isinstance(inner, Halves) else 0


def _check_entry(table: Document, statement: Statement, bounds: Bounds | str, path: str) -> None:
    """The enclosure that the witness proves, cut to [0, 1], lies inside the recorded one, its errors are at most those.

    One that proves nothing may say that delta is in [0, 1], but not that it falls.
    """
    if isinstance(bounds, str):
        if statement.lower > 0 or statement.upper < 1 or statement.falls:
            raise Invalid(f"{path}.witness", f"proves nothing: {bounds}")
        return
    lower, upper = _dyadic(bounds.lower, up=False), _dyadic(bounds.upper, up=True)
    if bounds.exact_lower is not None:
        lower = Dyadic.of_fraction(bounds.exact_lower)
    if bounds.exact_upper is not None:
        upper = Dyadic.of_fraction(bounds.exact_upper)
    if lower < statement.lower and statement.lower > 0:
        raise Invalid(f"{path}.enclosure.lower", "is above what the witness proves")
    if upper > statement.upper and statement.upper < 1:
        raise Invalid(f"{path}.enclosure.upper", "is below what the witness proves")
    _check_budget(table["error_budget"], bounds.budget, f"{path}.error_budget")


def _dyadic(x: Ball, *, up: bool) -> Dyadic:
    return Dyadic.of(x.m + x.r if up else x.m - x.r, x.e)


def _check_budget(found: Mapping[str, str], needed: Mapping[str, Ball], path: str) -> None:
    if set(found) != set(needed) == {"rounding"}:  # by another formula than here: the largest is at least its share
        share = _dyadic(needed["rounding"] / max(len(found), 1), up=True)
        if not any(_is_enough(text, share, path) for text in found.values()):
            raise Invalid(path, "must add up to at least the error")
        return
    check_keys(found, needed, path)
    for name, size in needed.items():
        if not _is_enough(found[name], _dyadic(size, up=True), path):
            raise Invalid(f"{path}.{name}", "must be at least the error")


def _is_enough(text: str, size: Dyadic, path: str) -> bool:
    if text == "inf" or not size.mantissa:
        return True
    digits, power = decimal_parts(size, 4, path, up=True)
    match = _BUDGET.fullmatch(text)
    return match is not None and (int(match[3]), match[1] + match[2]) >= (power + 3, digits_of(digits))
