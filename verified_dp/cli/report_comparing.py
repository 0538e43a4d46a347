"""Several methods' answers to one question as a table, row by row: proved intervals, estimates with their errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from verified_dp.cli.text import WIDTH, clipped, number_words
from verified_dp.core.kernel.dyadic import decimal_down, decimal_up
from verified_dp.terminal import escaped

if TYPE_CHECKING:
    from verified_dp.enclosure import Enclosure
    from verified_dp.papers.ask import PaperResult
    from verified_dp.papers.comparison import Comparison, Row

_LINE = "{:<20} {:<36} {:>9} {:>8}  {}"
_DIGITS = 10
"""Significant digits of the ends in the table; the JSON has all."""


COLUMNS = _LINE.format("method", "interval or estimate", "width", "seconds", "").rstrip()
"""The head of the table."""


def row_line(row: Row) -> str:
    """One method's line."""
    return (_enclosed(row) if row.enclosure is not None else _estimated(row)).rstrip()


def comparison_foot(found: Comparison, given: str) -> list[str]:
    """What the rows prove together, warnings, and what was refused and why."""
    proved = found.proved
    head, tail = number_words(proved)
    summary = f"{head} at {given}, proved by {', '.join(_provers(found.rows, proved))}" + (f"; {tail}" if tail else "")
    return ["", summary, *_warnings(found.rows), *_late(found.late), *_refused(found.refused)]


def _provers(rows: Iterable[Row], proved: Enclosure) -> Iterator[str]:
    """The rows with an end of what is proved together, each once; `auto` with what it chose.

    A method may be named there that was not asked itself, or that does not apply to every step.
    """
    for row in rows:
        found = row.enclosure
        if found is not None and (found.upper == proved.upper or (found.lower == proved.lower and found.lower > 0)):
            yield f"auto ({', '.join(found.methods)})" if row.method == "auto" else row.method


def _enclosed(row: Row) -> str:
    assert row.enclosure is not None
    low, high = decimal_down(row.enclosure.lower, _DIGITS), decimal_up(row.enclosure.upper, _DIGITS)
    width = row.enclosure.relative_width
    shown = "exact" if row.enclosure.lower == row.enclosure.upper else decimal_up(width, 2) if width else "-"
    return _LINE.format(row.method, f"[{low}, {high}]", shown, f"{row.seconds:.2g}", _words(row.parameters))


def _estimated(row: Row) -> str:
    """An estimate that lies outside of what is proved says so, with its error relative to the true value."""
    error = f" by {row.error} of the true value" if row.error and row.outside else ""
    words = f"estimate, outside of what is proved{error}" if row.outside else "estimate, inside of what is proved"
    return _LINE.format(row.method, f"about {_cut(row.estimate or '')}", "", f"{row.seconds:.2g}", words)


def _cut(text: str) -> str:
    """An estimate with as many digits as the table shows of proved numbers."""
    mantissa, e, power = text.partition("e")
    kept = len(mantissa) - len(mantissa.lstrip("-0.")) + _DIGITS + 1
    return mantissa[:kept] + e + power if len(mantissa) > kept else text


def _words(parameters: Mapping[str, str]) -> str:
    return clipped(", ".join(f"{key}={value}" for key, value in parameters.items()), 60)


def _warnings(rows: Iterable[Row]) -> list[str]:
    """What a method says against its own estimates, once each."""
    notes = dict.fromkeys(f"{row.method.split()[0]}: {row.note}" for row in rows if row.note.startswith("warning"))
    return [line for note in notes for line in ("", *wrap(escaped(note), WIDTH, subsequent_indent="  "))]


def _late(late: Sequence[str]) -> list[str]:
    more = "name them with --methods, or give --max-seconds or --digits, for more time"
    return ["", f"not run in time: {', '.join(late)} ({more})"] if late else []


def _refused(refused: Mapping[str, str]) -> list[str]:
    lines = [clipped(escaped(f"  {name}: {reason}"), WIDTH) for name, reason in refused.items()]
    return ["", "do not apply:", *lines] if lines else []


def paper_lines(result: PaperResult, quantity: str, given: str) -> list[str]:
    """What a paper's method adds below its enclosure, or all that it says where it proves nothing."""
    lines = []
    if result.estimate is not None:
        reason = f" (no bound: {result.estimate.reason})" if result.estimate.reason else " (no bound)"
        lines.append(f"estimate: {quantity} is about {result.estimate.value} at {given}{reason}")
    lines += [f"  {name:<12}{value}" for name, value in result.estimates.items()]
    return lines + ([f"  {'parameters':<12}{_words(result.parameters)}"] if result.parameters else [])
