"""One table in the forms that people paste: text, Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence

from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.questions.statement import latex
from verified_dp.terminal import escaped

Rows = Sequence[Sequence[str]]


def table(head: Sequence[str], rows: Iterable[Sequence[str]], form: str = "text") -> list[str]:
    """The lines of a table. form: one of FORMS, InvalidInput otherwise."""
    if form not in FORMS:
        raise InvalidInput("table", form, "one of " + ", ".join(FORMS))
    return FORMS[form](head, [[escaped(cell) for cell in row] for row in rows])


def _text(head: Sequence[str], rows: Rows) -> list[str]:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (head, *rows)]


def _markdown(head: Sequence[str], rows: Rows) -> list[str]:
    lines = (head, ["---"] * len(head), *rows)
    return ["| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in line) + " |"
            for line in lines]


def _latex(head: Sequence[str], rows: Rows) -> list[str]:
    lines = [" & ".join(map(latex, line)) + r" \\" for line in (head, *rows)]
    return [rf"\begin{{tabular}}{{{'l' * len(head)}}}", r"\hline", lines[0], r"\hline", *lines[1:], r"\hline",
            r"\end{tabular}"]


def _csv(head: Sequence[str], rows: Rows) -> list[str]:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([head, *rows])
    return stream.getvalue().splitlines()


FORMS: Mapping[str, Callable[[Sequence[str], Rows], list[str]]] = {
    "text": _text, "markdown": _markdown, "latex": _latex, "csv": _csv}
