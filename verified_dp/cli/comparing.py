"""`verified-dp compare`, and the papers' methods in `delta` and `epsilon`: rows of JSON or text."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from verified_dp.cli.inputs import load_spec
from verified_dp.cli.interrupts import best_so_far
from verified_dp.cli.limits import Limits
from verified_dp.cli.output import ANSWERED, Output, Row, for_each, schema
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.terminal import Progress, escaped

if TYPE_CHECKING:
    from verified_dp.core.kernel.exact import Number
    from verified_dp.papers.comparison import Comparison
    from verified_dp.papers.comparison import Row as Compared


def run_compare(args: Namespace, out: Output) -> int:
    """verified-dp compare SPEC... --epsilon E | --delta D"""
    from verified_dp.cli.report_comparing import COLUMNS, comparison_foot, row_line
    from verified_dp.cli.text import clipped
    from verified_dp.core.kernel.exact import exact, open_unit

    limits = Limits.of(args)
    quantity, given = ("delta", "epsilon") if args.epsilon is not None else ("epsilon", "delta")
    typed = getattr(args, given)
    at = exact(typed, given) if given == "epsilon" else open_unit(typed, given)
    several = len(args.files) > 1

    def work(file: str) -> int:
        head = [[f"{escaped(file)}:", COLUMNS] if several else [COLUMNS]]

        def show(row: Compared) -> None:
            above = head.pop() if head else []
            out.result(compared_row(row, quantity, file, given, typed), lambda: [*above, row_line(row)])

        found = _compared(file, quantity, at, args, limits, show)
        if not out.as_json:
            out.write(comparison_foot(found, clipped(escaped(f"{given} = {typed}"), 60)) + [""] * several)
        return ANSWERED

    return for_each(args.files, work, out)


def _compared(file: str, quantity: str, at: Fraction, args: Namespace, limits: Limits,
              show: Callable[[Compared], None]) -> Comparison:
    """What was asked, each row shown when it is there; the first Ctrl-C ends it with the rows so far."""
    from verified_dp.papers.comparison import compare
    from verified_dp.papers.fourier.pairs import published_profile

    methods = tuple(name.strip() for name in args.methods.split(",")) if args.methods else None
    with Progress(file) as progress, best_so_far():
        profile = published_profile(load_spec(file), progress=progress)
        return compare(profile, quantity, at, methods, _by_method(limits.parameters), limits.digits,
                       limits.max_seconds, show)


def _by_method(parameters: dict[str, str]) -> dict[str, dict[str, Number]]:
    """METHOD.KEY=VALUE for each method."""
    found: dict[str, dict[str, Number]] = {}
    for key, value in parameters.items():
        method, point, name = key.partition(".")
        if not point:
            raise InvalidInput("set", f"{key}={value}", "METHOD.KEY=VALUE, for example fourier.n=50000")
        found.setdefault(method, {})[name] = value
    return found


def compared_row(row: Compared, quantity: str, file: str, given: str, typed: str) -> Row:
    """The object of one method."""
    enclosure = row.enclosure
    return {
        "schema": schema("comparison"), "file": file, "quantity": quantity, given: typed, "method": row.method,
        "status": enclosure.status if enclosure else "estimate", "tight": enclosure.tight if enclosure else None,
        "lower": enclosure.lower_decimal if enclosure else None,
        "upper": enclosure.upper_decimal if enclosure else None,
        "estimate": row.estimate, "outside": row.outside, "relative_error": row.error or None,
        "parameters": dict(row.parameters), "note": row.note, "seconds": round(row.seconds, 6),
    }

