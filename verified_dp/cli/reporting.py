"""`verified-dp report`: a page for a claim, or an index and a page for each of several."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from verified_dp.cli.inputs import STDIN, read_input, reason
from verified_dp.cli.output import ANSWERED, REFUTED, UNDECIDED, Output, for_each, schema
from verified_dp.core.errors import InvalidCertificate, InvalidInput, VerifiedDPError

if TYPE_CHECKING:
    from verified_dp.report.facts import Judged

EXAMPLES = """\
examples:
  verified-dp report claim.toml --html claim.html
  verified-dp report certificates/*.json --html audit.html"""


def add_report(command: ArgumentParser) -> None:
    """The options."""
    command.set_defaults(run=run_report, suffix=".toml")
    command.add_argument("files", nargs="+", metavar="SPEC|CERT",
                         help="specification with a [claim] (.toml), a folder of them, or certificate (.json)")
    command.add_argument("--html", required=True, metavar="FILE",
                         help="write this file; for several claims an index, and their pages in a folder beside it")
    command.add_argument("--methods", metavar="M,...", help="compare only these, with commas between them (all)")
    command.add_argument("--no-peers", action="store_true", help="leave out other accountants that are installed")
    command.add_argument("--digits", metavar="N", help="significant digits to prove (12; 4 of the lattice method)")
    command.add_argument("--max-seconds", metavar="S", help="for each claim, and again for each of its curves (6)")
    command.add_argument("--json", action="store_true", help="print one JSON object per line")


def run_report(args: Namespace, out: Output) -> int:
    """verified-dp report SPEC|CERT... --html FILE"""
    from verified_dp.cli.limits import Limits
    from verified_dp.report.pages import METHODS, SECONDS, environment, index, page

    limits = Limits.of(Namespace(**{**vars(args), "set": []}))
    environment()  # without jinja2 nothing is worth computing
    methods = tuple(name.strip() for name in args.methods.split(",")) if args.methods else METHODS
    target, several = Path(args.html), len(args.files) > 1
    seconds = SECONDS if limits.max_seconds is None else limits.max_seconds
    names, done, errors = _names(args.files), list[tuple["Judged", str]](), dict[str, str]()

    def work(file: str) -> int:
        try:
            judged = _judged(file, names[file], limits.digits, limits.max_seconds)
            place = target.with_suffix("") / f"{judged.name}.html" if several else target
            back = quote(f"../{target.name}") if several else ""
            _write(place, lambda: page(judged, seconds, methods, peers=not args.no_peers, back=back))
        except VerifiedDPError as error:
            errors[file] = str(error)
            code = out.error(error, file)
            return REFUTED if isinstance(error, InvalidCertificate) else code
        done.append((judged, quote(f"{target.with_suffix('').name}/{judged.name}.html")))
        row = {"schema": schema("report"), "file": file, "verdict": judged.certificate["verdict"], "page": str(place)}
        out.result(row, lambda: [f"{row['verdict']}: {file}: {place}"])
        return {"proved": ANSWERED, "refuted": REFUTED}.get(judged.certificate["verdict"], UNDECIDED)

    code = for_each(args.files, work, out)
    if several:
        _write(target, lambda: index(done, errors))
        if not out.as_json:
            out.write([f"index of {len(done)}: {target}"])
    return code


def _names(files: list[str]) -> dict[str, str]:
    """A page's name for each input: its file's, NAME-2 for a second one of that name."""
    found: dict[str, str] = {}
    for file in files:
        stem, number = "stdin" if file == STDIN else Path(file).stem, 1
        while (name := stem if number == 1 else f"{stem}-{number}") in found.values():
            number += 1
        found[file] = name
    return found


def _judged(file: str, name: str, digits: int | None, max_seconds: float | None) -> Judged:
    """The claim of a specification, certified, or of a certificate, verified."""
    from verified_dp.cli.inputs import load_spec
    from verified_dp.report.facts import judge, read_certificate
    from verified_dp.terminal import Progress

    with Progress(file):
        if file.lower().endswith(".json"):
            return read_certificate(_verified(file), name)
        return judge(load_spec(file), name, digits, max_seconds)


def _verified(file: str) -> bytes:
    """The bytes of a certificate that verifies. Raises InvalidCertificate."""
    from verified_dp.core.certificate.document import MAX_BYTES
    from verified_dp.verifiers.bounded import MEGABYTES, SECONDS, verify_bounded

    data = read_input(file, MAX_BYTES, "a certificate")
    found = verify_bounded(data, seconds=SECONDS, megabytes=MEGABYTES)
    if not found.valid:
        raise InvalidCertificate(found.field or "", found.reason)
    return data


def _write(place: Path, text: Callable[[], str]) -> None:
    from verified_dp.files import write_atomically

    content = text()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(str(place), content.encode("utf-8"))
    except OSError as error:
        raise InvalidInput("html", str(place), f"a file that can be written ({reason(error)})") from None
