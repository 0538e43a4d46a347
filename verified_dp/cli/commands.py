"""The commands: files and options in, rows of JSON or text out, an exit code back."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from verified_dp.cli.answers import ends, result_row
from verified_dp.cli.inputs import distinct_names, load_ranged, load_spec, read_input
from verified_dp.cli.interrupts import best_so_far
from verified_dp.cli.limits import CheckLimits, Limits
from verified_dp.cli.output import ANSWERED, REFUTED, VERDICTS, Output, Row, for_each, schema, store
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput, Unsupported
from verified_dp.reading import reason
from verified_dp.terminal import Progress, escaped, paint

if TYPE_CHECKING:
    from verified_dp.cli.text import Judged
    from verified_dp.core.kernel.certificate.check import Check
    from verified_dp.core.kernel.certificate.document import Document
    from verified_dp.core.kernel.composition import Claim, Spec
    from verified_dp.enclosure import Enclosure


def run_answer(args: Namespace, out: Output) -> int:
    """verified-dp delta SPEC... --epsilon E, or epsilon SPEC... --delta D"""
    from verified_dp.cli.ranging import enclose_ranged, range_lines, range_record
    from verified_dp.core.kernel.exact import exact, probability
    from verified_dp.papers.paper import PAPER_METHODS

    quantity, given, read = ("delta", "epsilon", exact) if "epsilon" in args else ("epsilon", "delta", probability)
    at = read(getattr(args, given), given)
    limits, typed = Limits.of(args), getattr(args, given)
    if limits.parameters and limits.method not in PAPER_METHODS:
        raise InvalidInput("set", next(iter(limits.parameters)), "left out: only the papers' methods have parameters")
    several = len(args.files) > 1

    def work(file: str) -> int:
        if limits.method in PAPER_METHODS:
            return _paper(file, quantity, given, at, typed, limits, out)
        ranged = load_ranged(file)
        enclosure = enclose_ranged(ranged, at, quantity, lambda spec: enclose(spec, file, quantity, at, limits))
        row = result_row(enclosure, given, typed) | ({"range": range_record(ranged)} if ranged.ranges else {})
        out.result(row, lambda: headed(answer_text(enclosure, f"{given} = {typed}", ranged.worst, limits,
                                                   range_lines(row)), file if several else None))
        return ANSWERED

    return for_each(args.files, work, out)


def _paper(file: str, quantity: str, given: str, at: Fraction, typed: str, limits: Limits, out: Output) -> int:
    """One of the papers' methods: an enclosure, an estimate, or both."""
    from verified_dp.cli.answers import paper_answer, paper_row
    from verified_dp.cli.report_comparing import paper_lines
    from verified_dp.cli.text import clipped

    spec, words = load_spec(file), f"{given} = {typed}"
    result = paper_answer(spec, file, quantity, at, limits)

    def lines() -> list[str]:
        more = paper_lines(result, quantity, clipped(escaped(words), 60))
        return more if result.enclosure is None else answer_text(result.enclosure, words, spec, limits, more)

    out.result(paper_row(result, quantity, given, typed), lines)
    return ANSWERED


def enclose(spec: Spec, name: str, quantity: str, at: Fraction, limits: Limits) -> Enclosure:
    """delta or epsilon of a specification; `name` is what progress is shown of."""
    from verified_dp.profile import privacy_profile

    with Progress(name, limits.max_seconds) as progress, best_so_far():
        profile = privacy_profile(spec, progress=progress)
        solve = profile.delta if quantity == "delta" else profile.epsilon
        return solve(at, limits.digits, limits.method, limits.max_seconds)


def answer_text(enclosure: Enclosure, given: str, spec: Spec, limits: Limits, more: Sequence[str] = ()) -> list[str]:
    """The answer for people; more: lines between the answer and what it assumes."""
    from verified_dp.cli.text import answer_lines, clipped
    from verified_dp.core.kernel.words import assumptions

    return answer_lines(enclosure, clipped(escaped(given), 60), paint, limits,
                        assumptions(spec.composition, spec.relation), more)


def headed(lines: list[str], file: str | None) -> list[str]:
    """Under the name of the file, where there are several."""
    return lines if file is None else [f"{escaped(file)}:", *lines, ""]


def run_certify(args: Namespace, out: Output) -> int:
    """verified-dp certify CLAIM|CERT... [--out DIR] [--html FILE] [--formal] [--jobs N] [--table FORM]"""
    from verified_dp.cli.entries import are_entries, certify_entries
    from verified_dp.cli.jobs import judging, read_jobs
    from verified_dp.cli.pages import pages_or_none

    limits, jobs = Limits.of(args), read_jobs(args.jobs, args.files)
    pages = pages_or_none(args.html, args.files, limits, args.methods)
    if are_entries(args.files):
        return certify_entries(args, limits, pages, out)
    table = Table(out, len(args.files), args.table) if len(args.files) > 1 or args.table else None
    places = certificate_paths(args.files, args.out)

    with judging(certify, args.files, places, limits, args.formal, jobs) as judge:
        def work(file: str) -> int:
            try:
                with nullcontext() if pages is None else pages.noting(file):
                    judged = judge(file)
                    page = None if pages is None else pages.add(file, judged.document)
            except InvalidCertificate as error:
                out.error(error, file)
                return REFUTED
            out.result(verdict_row(judged, page), lambda: table.row(judged) if table else (
                verdict_text(judged, limits, page)))
            return VERDICTS[judged.verdict]

        code = for_each(args.files, work, out)
    if table is not None and not out.as_json:
        table.end()
    if pages is not None:
        pages.end(out)
    return code if pages is None else pages.code(code)


def certificate_paths(files: Sequence[str], folder: str | None) -> Iterator[str | None]:
    """Where each claim's certificate goes: FOLDER/NAME.json, NAME-2.json for a second file of that name, ...

    The folder is made here; InvalidInput if that is impossible.
    """
    if folder is None:
        return iter([None] * len(files))
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InvalidInput("out", folder, f"a directory that can be written ({reason(error)})") from None
    return iter([str(Path(folder, f"{name}.json")) for name in distinct_names(files)])


def certify(file: str, limits: Limits, place: str | None, formal: bool = False) -> Judged:
    """Judge the claim in a file, and write its certificate, with a formal part if asked, if there is a place for it.

    A certificate of the same claim that is there already and verifies is kept. A file that is a certificate is checked,
    and nothing is written: InvalidCertificate where it is refused.
    """
    from verified_dp.cli.kept import read_given
    from verified_dp.cli.ranging import certify_ranged

    if file.lower().endswith(".json"):
        claim, given = read_given(file, limits)
        return as_judged(file, claim, file, given.certificate, given.delta, given.epsilon, kept=True)
    ranged = load_ranged(file)
    if ranged.ranges:
        return certify_ranged(ranged, place, lambda spec: certify_spec(spec, file, limits, None, formal))
    return certify_spec(ranged.worst, file, limits, place, formal)


def certify_spec(spec: Spec, file: str, limits: Limits, place: str | None, formal: bool = False) -> Judged:
    """The same for a specification, wherever it comes from; `file` is what it is called."""
    from verified_dp.certificate import build_certificate, checked_bytes
    from verified_dp.cli.kept import read_kept
    from verified_dp.papers.paper import PAPER_METHODS
    from verified_dp.profile import privacy_profile
    from verified_dp.search.planners.table import EXPANSIONS

    if limits.method in PAPER_METHODS and limits.method not in EXPANSIONS:
        raise Unsupported(f"no certificate holds what {limits.method} proves: use auto, and `compare` to see it beside",
                          "method")
    if spec.claim is None:
        raise InvalidInput("claim", None, "a [claim] table with epsilon and delta", file)
    if place is not None and (kept := read_kept(place, spec, limits, formal=formal)) is not None:
        return as_judged(file, spec.claim, place, kept.certificate, kept.delta, kept.epsilon, kept=True)
    with Progress(file, limits.max_seconds) as progress, best_so_far():
        profile = privacy_profile(spec, progress=progress)
        delta, epsilon = profile.solve_claim(spec.claim, limits.digits, limits.method, limits.max_seconds)
        certificate = build_certificate(spec, delta, epsilon)
        if formal:
            from verified_dp.verifiers.record_formal import with_formal

            certificate = with_formal(certificate)
        data = checked_bytes(certificate)
    if place is not None:
        store(place, data)
    return as_judged(file, spec.claim, place, certificate, delta.enclosure, epsilon.enclosure,
                     limited=limits.max_seconds is not None)


def as_judged(file: str, claim: Claim, place: str | None, certificate: Document, delta: Enclosure,
              epsilon: Enclosure, *, kept: bool = False, limited: bool = False) -> Judged:
    """What stands in a certificate, with both enclosures, for those who show it."""
    from verified_dp.cli.text import Judged

    return Judged(
        file=file, claim=claim, verdict=certificate["verdict"], short_by_rounding=certificate["short_by_rounding"],
        delta=delta, epsilon=epsilon, assumptions=tuple(certificate["assumptions"]), certificate=place, kept=kept,
        limited=limited, document=certificate)


def verdict_row(judged: Judged, page: str | None = None) -> Row:
    """The object of certify; `page` says where its page is, if one was asked for."""
    from verified_dp.questions.judgement import excess
    from verified_dp.questions.judgement import reason as undecided

    claim = judged.claim
    return {
        "schema": schema("verdict"),
        "file": judged.file,
        "title": claim.title,
        "verdict": judged.verdict,
        "short_by_rounding": judged.short_by_rounding,
        "claimed": {"epsilon": claim.epsilon_text, "delta": claim.delta_text},
        "epsilon": ends(judged.epsilon),
        "delta": ends(judged.delta),
        "relation": str(judged.delta.relation),
        "order": judged.delta.order,
        "certificate": judged.certificate,
        **({"excess": excess(judged.document)} if judged.verdict == "refuted" else {}),
        **({"reason": undecided(judged.document)} if judged.verdict == "undecided" else {}),
        **({"range": judged.document["range"]} if "range" in judged.document else {}),
        **({} if page is None else {"page": page}),
    }


def verdict_text(judged: Judged, limits: Limits, page: str | None = None) -> list[str]:
    """The verdict for people."""
    from verified_dp.cli.ranging import range_lines
    from verified_dp.cli.text import field, verdict_lines

    return (verdict_lines(judged, paint, limits) + range_lines(judged.document)
            + (field("page", page) if page is not None else []))


class Table:
    """Several claims, one line each, as they are judged; in another form than None all of them at the end."""

    def __init__(self, out: Output, files: int, form: str | None = None) -> None:
        from verified_dp.cli.tables import table

        self._out, self._files, self._form = out, files, form
        self._judged: list[Judged] = []
        table([], [], form or "text")  # the form is known, before anything is computed

    def row(self, judged: Judged) -> list[str]:
        """The claim's line, after the head of the table if it is the first."""
        from verified_dp.cli.text import table_head, table_row

        self._judged.append(judged)
        if self._form is not None:
            return []
        return [*([table_head()] if len(self._judged) == 1 else []), table_row(judged, paint)]

    def end(self) -> None:
        """The counts and the conventions, or the whole table."""
        from verified_dp.cli.tables import table
        from verified_dp.cli.text import TABLE_HEAD, table_cells, table_foot

        if self._form is not None:
            self._out.write(table(TABLE_HEAD, map(table_cells, self._judged), self._form))
            return
        verdicts = [judged.verdict for judged in self._judged]
        verdicts += ["not judged"] * (self._files - len(verdicts))
        self._out.write(table_foot(verdicts, [judged.delta.convention for judged in self._judged]))


def run_verify(args: Namespace, out: Output) -> int:
    """verified-dp verify [--independent] [--formal] [--trust] CERT..."""
    limits, formal = CheckLimits.of(args), args.formal or args.formal_checker is not None
    if args.trust and (args.independent or formal):
        raise InvalidInput("trust", "--independent or --formal beside it", "alone: it is about this package's checker")

    def work(file: str) -> int:
        if args.trust:
            return _show_trust(file, limits, out)
        found = check(file, limits, independent=args.independent, formal=formal, checker=args.formal_checker)
        out.result(check_row(file, found), lambda: _check_text(file, found))
        return ANSWERED if found.valid else REFUTED

    return for_each(args.files, work, out)


def check(file: str, limits: CheckLimits, *, independent: bool, formal: bool = False,
          checker: str | None = None) -> Check:
    """Check a certificate's file; once more by the independent checker and by the formal one where that is asked."""
    from verified_dp.core.kernel.certificate.document import MAX_BYTES
    from verified_dp.verifiers.bounded import verify_bounded

    data = read_input(file, MAX_BYTES, "a certificate")
    with Progress(file):
        found = verify_bounded(data, seconds=limits.seconds, megabytes=limits.megabytes)
        if independent and found.valid:
            found = _check_independently(data)
        if not (formal and found.valid):
            return found
        from verified_dp.verifiers.formal import check_formally

        return check_formally(data, checker)


def _show_trust(file: str, limits: CheckLimits, out: Output) -> int:
    """What a valid certificate rests on; of another one, why it is invalid."""
    from verified_dp.cli.text import trust_lines
    from verified_dp.core.kernel.certificate.document import MAX_BYTES
    from verified_dp.verifiers.trust import trusted

    data = read_input(file, MAX_BYTES, "a certificate")
    with Progress(file):
        found = trusted(data, seconds=limits.seconds, megabytes=limits.megabytes)
    if not found.check.valid:
        out.result(check_row(file, found.check), lambda: _check_text(file, found.check))
        return REFUTED
    row: Row = {
        "schema": schema("trust"),
        "file": file,
        "files": [{"path": path, "lines": lines} for path, lines in found.files],
        "lines": found.lines,
        "theorems": [{"name": name, "statement": text, "read": read} for name, text, read in found.theorems],
        "not_proved_here": list(found.not_proved_here),
    }
    out.result(row, lambda: [*_check_text(file, found.check), *trust_lines(found)])
    return ANSWERED


def _check_independently(data: bytes) -> Check:
    from verified_dp.core.kernel.certificate.check import Check
    from verified_dp.core.kernel.errors import Unsupported
    from verified_dp.verifiers.independent import OutOfTime, TooMuch, verify

    try:
        found = verify(data)
    except (OutOfTime, TooMuch) as error:
        raise Unsupported(f"could not be checked independently: {error}", "independent") from None
    return Check(found.valid, found.verdict, found.field, found.reason)


def check_row(file: str, found: Check) -> Row:
    """The object of verify."""
    return {
        "schema": schema("check"),
        "file": file,
        "valid": found.valid,
        "verdict": found.verdict,
        "field": found.field,
        "reason": found.reason,
    }


def _check_text(file: str, found: Check) -> list[str]:
    from verified_dp.cli.text import check_line

    return [check_line(file, found.verdict if found.valid else None, found.field, found.reason, paint)]
