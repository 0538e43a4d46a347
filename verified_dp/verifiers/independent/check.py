"""The whole check (CERTIFICATE.md, "Order of evaluation"): the cheap parts first, then every enclosure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from .balls import Ball, Gigantic, OutOfTime, larger, precision, time_limit
from .contour import Bounds
from .decide import Own, Second
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
from .inputs import Claim, read_claim, read_input
from .losses import ComposedLoss
from .measures import TooLong
from .pairs import ORDERS, read_pairs
from .verdict import Statement, judge
from .witnesses import KINDS, Attack, Exact, ExactValues, check_size, read_witness, values_of
from .words import assumptions

GUARD_BITS, MORE_BITS = 64, 128
"""More than the witness asks for: what is recorded leaves little room for rounding, and none where terms cancel."""
FINE, MOST_FINE, SECONDS = 48.0, 8000.0, 3.0
"""How fine lattices may become: beside replays of all, for so many seconds; and where they have to decide."""
MAX_ENTRIES = 16
_BUDGET = re.compile(r"([1-9])\.([0-9]{3})e(0|-?[1-9][0-9]{0,30})")


@dataclass(frozen=True)
class Check:
    """verdict: what a valid certificate proves. field, reason: where and why another is not valid.

    by_itself: whether this checker decided the verdict by a method of its own, no witness asked. replayed, compared:
    how many recorded enclosures their witnesses proved again, and how many of the others its own numbers agree with,
    which says nothing of their last digits.
    """

    valid: bool
    verdict: str | None
    field: str | None
    reason: str
    by_itself: bool = False
    replayed: int = 0
    compared: int = 0


def verify(data: bytes, max_seconds: float | None = None,
           progress: Callable[[int, int], object] = lambda done, of: None) -> Check:
    """Check a certificate. progress is called with how many evaluations of how many are done.

    Raises:
        TooMuch: where neither a method of its own nor a replay of the witnesses confirms a verdict.
        OutOfTime: after so many seconds.
    """
    try:
        document = read(data)
        with time_limit(max_seconds):
            check = _check(document, progress)
        check_seals(document)
    except Invalid as error:
        return Check(False, None, error.field or None, error.reason)
    return check


def _check(document: Document, progress: Callable[[int, int], object]) -> Check:
    claim, run = read_claim(document["claim"]), read_input(document["input"])
    with precision(256):
        pairs, tight, losses = read_pairs(run, document["pairs"])
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
    open_ones = _replay(found, entries, losses, progress)
    seconds = {order: Second(loss) for order, loss in losses.items()}
    attacked = {(statement.order, witness): Second(_seen(witness, losses[statement.order]))
                for statement, witness in entries if isinstance(witness, Attack)}
    decides = document["verdict"] != "undecided"
    own = _own(claim, seconds, attacked, (MOST_FINE if decides else FINE) if open_ones else FINE if decides else 0)
    by_itself = _compare(document["verdict"], own, claim.delta)
    for index in open_ones:
        statement, witness = entries[index]
        second = attacked.get((statement.order, witness), seconds[statement.order])
        mine = second.at(statement.at)
        if mine.contradicts(statement.lower.fraction(), statement.upper.fraction()):
            raise Invalid(f"evaluations[{index}].enclosure", f"is not what this checker finds by {mine.how}")
    progress(len(entries), len(entries))
    if open_ones and not by_itself and document["verdict"] != "undecided":
        raise TooMuch("neither decided by this checker's own methods nor by a witness that it can replay")
    return Check(True, document["verdict"], None, _words(document["verdict"], by_itself, own, len(entries), open_ones),
                 by_itself, len(entries) - len(open_ones), len(open_ones))


def _replay(found: Sequence[Document], entries: Sequence[tuple[Statement, Any]], losses: Mapping[str, ComposedLoss],
            progress: Callable[[int, int], object]) -> list[int]:
    """Which entries have a witness that this checker does not replay. Invalid where a replay proves less."""
    known: Known = {}
    left = []
    for index, (statement, witness) in enumerate(entries):
        progress(index, len(entries))
        if witness is None:
            left.append(index)
            continue
        try:
            check_size(witness)
            _confirm(found[index], statement, witness, losses[statement.order], known, f"evaluations[{index}]")
        except TooMuch:
            left.append(index)
    return left


def _seen(attack: Attack, loss: ComposedLoss) -> ComposedLoss:
    try:
        return attack.seen(loss)
    except ArithmeticError as error:
        raise Invalid("evaluations", f"an attack that proves nothing: {error}") from None


def _own(claim: Claim, seconds: Mapping[str, Second], attacked: Mapping[tuple[str, Attack], Second],
         most: float) -> dict[str, Own]:
    """This checker's own answers; of shuffled epochs lower ends are those of what stated attacks see."""
    found = {}
    for order, second in seconds.items():
        try:
            with time_limit(SECONDS if most <= FINE else None):
                found[order] = second.decide(claim.epsilon, claim.delta, most)
                for sight in (sight for (place, _), sight in attacked.items() if place == order):
                    seen = sight.decide(claim.epsilon, claim.delta, most)
                    found[order] = replace(found[order], low=larger(found[order].low, seen.low), how=seen.how)
        except OutOfTime:
            if most > FINE:
                raise
            found[order] = second.at(claim.epsilon)
    return found


def _compare(verdict: str, own: Mapping[str, Own], delta: Fraction) -> bool:
    """Whether this checker's own answer decides the verdict; Invalid where it decides otherwise."""
    exceeds = {order: one.exceeds(delta) for order, one in own.items()}
    proved, beyond = all(one is False for one in exceeds.values()), any(exceeds.values())
    if (verdict == "proved" and beyond) or (verdict == "refuted" and proved):
        raise Invalid("verdict", "is wrong: " + ", ".join(f"{order} by {one.how}" for order, one in own.items()))
    return proved if verdict == "proved" else beyond and verdict == "refuted"


def _words(verdict: str, by_itself: bool, own: Mapping[str, Own], count: int, left: Sequence[int]) -> str:
    how = ", ".join(dict.fromkeys(one.how for one in own.values()))
    first = f"{verdict} by {how}" if by_itself else (
        "nothing is claimed" if verdict == "undecided" else "the verdict rests on the witnesses")
    rest = f"; {len(left)} not replayed, they agree with {how}" if left else ""
    return f"{first}; {count - len(left)} enclosures confirmed{rest}"


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
    witness = _read_witness(table, path)
    _check_budget_form(table["error_budget"], f"{path}.error_budget")
    at = read_fraction(table["at"], f"{path}.at")
    return Statement(table["quantity"], table["order"], at, table["side"], lower, upper), witness


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


def _read_witness(table: Any, path: str) -> Any:
    """None: of a kind that this checker does not replay, or of another form."""
    witness = read_witness(table["witness"], f"{path}.witness")
    kind = table["witness"]["kind"]
    if kind in KINDS:
        check_equal(table["method"], KINDS[kind][1], f"{path}.method", "not the witness's method")
    elif type(table["method"]) is not str:
        raise Invalid(f"{path}.method", "must be text")
    return witness


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
    """What the witness proves; or why it proves nothing. Equal witnesses are evaluated once."""
    key = statement.order, witness, more
    try:
        with precision(witness.prec + more):
            if key not in known:
                known[key] = values_of(witness, loss)
            bounds: Bounds = known[key].enclose(statement.at)
            return bounds
    except TooLong as error:
        raise TooMuch(str(error)) from None
    except Gigantic as error:
        raise TooMuch(f"takes {error}, beyond this checker's arithmetic") from None
    except (ArithmeticError, LookupError, ValueError) as error:
        return str(error)


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
    needed = {name: size for name, size in needed.items() if name in found or not size.is_zero()}
    check_keys(found, needed, path)
    for name, size in needed.items():
        if not _is_enough(found[name], _dyadic(size, up=True), path):
            raise Invalid(f"{path}.{name}", "must be at least the error")


def _is_enough(text: str, size: Dyadic, path: str) -> bool:
    if text == "inf" or not size.mantissa:
        return True
    match = _BUDGET.fullmatch(text)
    if match and size.top <= 4 * min(int(match[3]), 0):  # far below: 2^4 > 10
        return True
    digits, power = decimal_parts(size, 4, path, up=True)
    return match is not None and (int(match[3]), match[1] + match[2]) >= (power + 3, digits_of(digits))
