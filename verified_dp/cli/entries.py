"""`certify` of entries of the registry of deployments: a verdict on each, what to ask its publisher, and pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verified_dp.cli.limits import Limits
from verified_dp.cli.output import UNDECIDED, VERDICTS, Output, for_each, schema
from verified_dp.core.kernel.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import Namespace

    from verified_dp.cli.pages import Pages

SUFFIXES = (".yaml", ".yml")


def are_entries(files: Sequence[str]) -> bool:
    """Whether all files are entries. Raises InvalidInput where some are."""
    found = [file for file in files if file.lower().endswith(SUFFIXES)]
    if found and len(found) < len(files):
        raise InvalidInput("files", found[0], "apart from claims: entries of the registry are judged by themselves")
    return bool(found)


def certify_entries(args: Namespace, limits: Limits, pages: Pages | None, out: Output) -> int:
    """verified-dp certify ENTRY.yaml... [--html FILE]"""
    from verified_dp.registry.entry import load_entry
    from verified_dp.registry.judged import judge

    for key in ("out", "table", "formal"):
        if (given := getattr(args, key)) not in (None, False):
            raise InvalidInput(key, given, "left out: entries have pages alone")

    def work(file: str) -> int:
        place = None
        if pages is None:
            judged = judge(load_entry(file), limits.max_seconds)
        else:
            with pages.noting(file):
                judged = judge(load_entry(file), limits.max_seconds)
                place = pages.add_entry(file, judged)
        row = {"schema": schema("entry"), "file": file, "verdict": judged.verdict, "page": place,
               "missing": [path for path, _ in judged.missing], "questions": list(judged.questions)}
        out.result(row, lambda: [f"{judged.verdict}: {file}", *(f"  to ask: {one}" for one in judged.questions),
                                 *([f"  page: {place}"] if place else [])])
        return VERDICTS.get(judged.verdict, UNDECIDED)

    code = for_each(args.files, work, out)
    if pages is None:
        return code
    pages.end(out)
    return pages.code(code)
