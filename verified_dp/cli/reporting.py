"""`verified-dp report`: a page for a claim, or an index and a page for each of several."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from verified_dp.cli.commands import VERDICTS, certify
from verified_dp.cli.inputs import read_input
from verified_dp.cli.output import REFUTED, UNDECIDED, Output, for_each, schema
from verified_dp.cli.pages import Pages
from verified_dp.core.kernel.errors import InvalidCertificate

if TYPE_CHECKING:
    from verified_dp.cli.limits import Limits
    from verified_dp.core.kernel.certificate.document import Document

_ENTRY = (".yaml", ".yml")
EXAMPLES = """\
examples:
  verified-dp report claim.toml --html claim.html
  verified-dp report certificates/*.json --html audit.html
  verified-dp report entries/*.yaml --html deployments.html"""


def add_report(command: ArgumentParser) -> None:
    """The options."""
    command.set_defaults(run=run_report, suffix=".toml")
    command.add_argument("files", nargs="+", metavar="SPEC|CERT|ENTRY",
                         help="specification with a [claim] (.toml), a folder of them, certificate (.json), or entries "
                              "of the registry of deployments alone (.yaml)")
    command.add_argument("--html", required=True, metavar="FILE",
                         help="write this file; for several claims an index, and their pages in a folder beside it")
    command.add_argument("--methods", metavar="M,...", help="compare only these, with commas between them (all)")
    command.add_argument("--no-peers", action="store_true", help="leave out other accountants that are installed")
    command.add_argument("--digits", metavar="N", help="significant digits to prove (12; 4 of the lattice method)")
    command.add_argument("--max-seconds", metavar="S", help="for each claim, and again for each of its curves (6)")
    command.add_argument("--json", action="store_true", help="print one JSON object per line")


def run_report(args: Namespace, out: Output) -> int:
    """verified-dp report SPEC|CERT...|ENTRY... --html FILE"""
    from verified_dp.cli.limits import Limits

    limits = Limits.of(Namespace(**{**vars(args), "set": []}))
    if all(file.lower().endswith(_ENTRY) for file in args.files):
        return _report_entries(args, limits, out)
    pages = Pages(args.html, args.files, limits.max_seconds, args.methods, peers=not args.no_peers)

    def work(file: str) -> int:
        with pages.noting(file):
            try:
                document = _document(file, limits)
            except InvalidCertificate as error:
                pages.errors[file] = str(error)
                out.error(error, file)
                return REFUTED
            place = pages.add(file, document)
        row = {"schema": schema("report"), "file": file, "verdict": document["verdict"], "page": place}
        out.result(row, lambda: [f"{row['verdict']}: {file}" + (f": {place}" if place else "")])
        return VERDICTS[document["verdict"]]

    code = for_each(args.files, work, out)
    pages.end(out)
    return pages.code(code)


def _report_entries(args: Namespace, limits: Limits, out: Output) -> int:
    """The page of an entry, or an index and a page for each of several."""
    from verified_dp.registry.entry import load_entry
    from verified_dp.registry.judged import judge
    from verified_dp.terminal import Progress

    pages = Pages(args.html, args.files)

    def work(file: str) -> int:
        with pages.noting(file), Progress(file, limits.max_seconds):
            judged = judge(load_entry(file), limits.max_seconds)
            place = pages.add_entry(file, judged)
        row = {"schema": schema("report"), "file": file, "verdict": judged.verdict, "page": place,
               "missing": [path for path, _ in judged.missing], "questions": list(judged.questions)}
        out.result(row, lambda: [f"{judged.verdict}: {file}" + (f": {place}" if place else ""),
                                 *(f"  to ask: {one}" for one in judged.questions)])
        return VERDICTS.get(judged.verdict, UNDECIDED)

    code = for_each(args.files, work, out)
    pages.end(out)
    return pages.code(code)


def _document(file: str, limits: Limits) -> Document:
    """The certificate of a specification's claim, or one that is given and verifies."""
    from verified_dp.core.kernel.certificate.document import read_document

    if file.lower().endswith(".json"):
        return read_document(_verified(file, limits.max_seconds))
    return certify(file, limits, None).document


def _verified(file: str, seconds: float | None) -> bytes:
    """The bytes of a certificate that verifies, in at least the seconds of `verify`. Raises InvalidCertificate."""
    from verified_dp.core.kernel.certificate.document import MAX_BYTES
    from verified_dp.verifiers.bounded import MEGABYTES, SECONDS, verify_bounded

    data = read_input(file, MAX_BYTES, "a certificate")
    found = verify_bounded(data, seconds=max(SECONDS, seconds or 0), megabytes=MEGABYTES)
    if not found.valid:
        raise InvalidCertificate(found.field or "certificate", found.reason)
    return data
