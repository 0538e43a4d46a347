"""verified-dp statement: the paragraph that a valid certificate supports."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from verified_dp.cli.inputs import read_input
from verified_dp.cli.output import ANSWERED, REFUTED, Output, complain, for_each, schema
from verified_dp.core.kernel.errors import InvalidInput

EXAMPLES = """\
examples:
  verified-dp statement certificates/claim.json
  verified-dp statement certificates/claim.json --format latex"""


def add(command: ArgumentParser) -> None:
    """The options of statement."""
    command.set_defaults(run=run_statement, suffix=".json")
    command.add_argument("files", nargs="+", metavar="CERT", help="certificate (JSON), a folder of them, or -")
    command.add_argument("--format", default="text", metavar="FORM",
                         help="text, markdown, latex, or bibtex to cite the certificate (text)")


def run_statement(args: Namespace, out: Output) -> int:
    """verified-dp statement CERT... [--format text|markdown|latex]"""
    from verified_dp.core.kernel.certificate.document import MAX_BYTES, read_document
    from verified_dp.questions.statement import FORMATS, statement
    from verified_dp.verifiers.bounded import verify_bounded

    if args.format not in FORMATS:
        raise InvalidInput("format", args.format, "one of " + ", ".join(FORMATS))

    def work(file: str) -> int:
        data = read_input(file, MAX_BYTES, "a certificate")
        found = verify_bounded(data)
        if not found.valid:
            complain(f"{file}: not a valid certificate, so nothing is stated: "
                     f"{found.field + ': ' if found.field else ''}{found.reason}")
            return REFUTED
        document = read_document(data)
        text = statement(document, args.format)
        row = {"schema": schema("statement"), "text": text, "certificate": document["sha256"]}
        out.result(row, lambda: text.splitlines())
        return ANSWERED

    return for_each(args.files, work, out)
