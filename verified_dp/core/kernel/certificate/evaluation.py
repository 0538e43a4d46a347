"""The evaluations as plain data: one enclosure of delta at one eps, with the witness that gives it."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

from verified_dp.core.kernel.certificate.document import Document, check_equal, check_keys
from verified_dp.core.kernel.certificate.verdict import decimals
from verified_dp.core.kernel.certificate.witness import in_use, read_recorded, witness_record
from verified_dp.core.kernel.dyadic import Dyadic, outward_decimal
from verified_dp.core.kernel.ends import End, read_end
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput
from verified_dp.core.kernel.evaluation import Ends, Evaluation
from verified_dp.core.kernel.exact import exact, fraction_text

KEYS = ("quantity", "order", "at", "side", "method", "witness", "enclosure", "error_budget")
_BUDGET_DIGITS = 4
_BUDGET = re.compile(r"([1-9])\.([0-9]{3})e(0|-?[1-9][0-9]{0,30})")
_LEAST_POWER = 10**30
"""The smallest sizes are stated as 9.999e-10^30: powers have at most 31 digits."""
MAX_EVALUATIONS = 16
"""Two orders, with one entry for delta and two for epsilon each, are 6."""


def evaluation_record(evaluation: Evaluation[str]) -> Document:
    """The evaluation as plain data."""
    return {
        "quantity": evaluation.quantity,
        "order": evaluation.order,
        "at": fraction_text(evaluation.at),
        "side": evaluation.side,
        "method": evaluation.witness.method,
        "witness": witness_record(evaluation.witness),
        "enclosure": enclosure_record(evaluation.lower, evaluation.upper),
        "error_budget": dict(evaluation.budget),
    }


def enclosure_record(lower: End, upper: End) -> Document:
    """Both ends exact, as dyadics or reduced fractions, and as decimals rounded outward."""
    below, above = decimals(lower, upper)
    return {"lower": str(lower), "upper": str(upper), "lower_decimal": below, "upper_decimal": above}


def budget_text(size: Dyadic) -> str:
    """An upper decimal of one source of error, "1.234e-9" ("0" and "inf" as such), no power below -10^30.

    >>> budget_text(Dyadic(1, -10)), budget_text(Dyadic(0))
    ('9.766e-4', '0')
    """
    rounded = outward_decimal(size, _BUDGET_DIGITS, up=True)
    text = str(rounded.digits)
    power = max(rounded.power + len(text) - 1, -_LEAST_POWER)  # exact: integers
    digits = text if power > -_LEAST_POWER else "9999"
    return f"{digits[0]}.{digits[1:]}e{power}" if rounded.digits else rounded.text


def is_budget_for(text: str, size: Dyadic) -> bool:
    """Whether a recorded text is in the form of `budget_text` and at least the size, at any exponent."""
    needed = budget_text(size)
    if "inf" in (text, needed):
        return text == "inf"
    if needed == "0":
        return text == "0" or _BUDGET.fullmatch(text) is not None
    return _BUDGET.fullmatch(text) is not None and _magnitude(text) >= _magnitude(needed)


def _magnitude(text: str) -> tuple[int, str]:
    digits, _, power = text.partition("e")
    return int(power), digits


def read_evaluations(found: Any) -> list[Evaluation[str]]:
    """All evaluations, in canonical form only; what they claim is not checked yet."""
    if type(found) is not list or len(found) > MAX_EVALUATIONS:
        raise InvalidCertificate("evaluations", f"must be a list of at most {MAX_EVALUATIONS} evaluations")
    return [_read_evaluation(table, f"evaluations[{index}]") for index, table in enumerate(found)]


def _read_evaluation(table: Any, path: str) -> Evaluation[str]:
    check_keys(table, KEYS, path)
    quantity, order, at, side = (
        _text(table[key], f"{path}.{key}") for key in ("quantity", "order", "at", "side")
    )
    recorded = Evaluation(
        quantity, order, _read_at(at, f"{path}.at"), side,
        read_recorded(table["witness"], f"{path}.witness"),
        *_read_ends(table["enclosure"], f"{path}.enclosure"),
        _read_budget(table["error_budget"], f"{path}.error_budget"),
    )
    check_equal(table, evaluation_record(recorded), path, "not what the rest of the evaluation says")
    return _of_today(recorded, path)


def _of_today(recorded: Evaluation[str], path: str) -> Evaluation[str]:
    """The same with a witness of today, and with the names of today in its error budget."""
    witness, names = in_use(recorded.witness)
    for name in set(names.values()) & set(recorded.budget):
        raise InvalidCertificate(f"{path}.error_budget.{name}", "is not a key of this schema")
    return replace(recorded, witness=witness,
                   budget={names.get(name, name): text for name, text in recorded.budget.items()})


def _text(value: Any, path: str) -> str:
    if type(value) is not str:
        raise InvalidCertificate(path, "must be text")
    return str(value)


def _read_at(text: str, path: str) -> Fraction:
    try:
        return exact(text)
    except InvalidInput:
        raise InvalidCertificate(path, "must be a reduced fraction") from None


def _read_ends(table: Any, path: str) -> Ends:
    check_keys(table, ("lower", "upper", "lower_decimal", "upper_decimal"), path)
    lower, upper = (_read_end(table[key], f"{path}.{key}") for key in ("lower", "upper"))
    if upper < lower:
        raise InvalidCertificate(f"{path}.upper", "must be at least the lower end")
    return lower, upper


def _read_end(text: Any, path: str) -> End:
    try:
        end = read_end(_text(text, path))
    except InvalidInput:
        reason = 'must be a dyadic number in lowest form such as "3*2^-1", or a reduced fraction that is none'
        raise InvalidCertificate(path, reason) from None
    if end < 0 or end > 1:
        raise InvalidCertificate(path, "must be a number from 0 to 1, where delta lies")
    return end


def _read_budget(table: Any, path: str) -> dict[str, str]:
    """The texts as they stand: the re-evaluation says which keys there must be, and the least values."""
    if type(table) is not dict:
        raise InvalidCertificate(path, "must be an object")
    return {key: _text(value, f"{path}.{key}") for key, value in table.items()}
