"""TRUSTED. Verify a certificate from what it states and from its witnesses, without any search.

Everything is rebuilt: pairs and losses from claim and input, each enclosure from its witness in ball
arithmetic, result, verdict and theorems from these. A certificate is valid if and only if

* every re-evaluated enclosure lies inside the recorded one, which is stored slightly widened, and every
  recorded share of the error budget is at least the re-evaluated one;
* all else that is recorded is exactly what follows from claim, input, witnesses and recorded enclosures, and
  every number is written in its one canonical form;
* the hashes fit. They only help to name an altered part: a fresh hash makes no false statement pass.

What proves nothing is free to change with fresh hashes: title, source, versions, and the names of theorems in a
certificate of another version (what differs is reported: the verdict rests on what runs here). So are a recorded
interval or budget share that is made wider, and a witness that still gives an enclosure inside the recorded
one: every such certificate states what is true.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import flint
from flint import arb, ctx

from verified_dp.core.kernel.balls import upper_dyadic
from verified_dp.core.kernel.certificate.document import Document, altered_keys, check_equal, check_keys, read_document
from verified_dp.core.kernel.certificate.evaluation import is_budget_for, read_evaluations
from verified_dp.core.kernel.certificate.statement import read_spec
from verified_dp.core.kernel.certificate.theorems import other_theorems, pairs_record, theorems_record
from verified_dp.core.kernel.certificate.verdict import judge
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Spec
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput, Undecided, Unsupported
from verified_dp.core.kernel.evaluation import Evaluation
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.losses import pairs_and_losses
from verified_dp.core.kernel.steps import DominatingPair
from verified_dp.core.kernel.witnesses import Values, Witness, evaluate
from verified_dp.core.kernel.words import assumptions

Losses = Mapping[str, ComposedLoss]
Progress = Callable[[int, int], object]
"""Called with (how many evaluations are done, of how many) before the first and after each."""
Known = dict[tuple[str, Witness], tuple[Values, int]]
"""What (order, witness) gave, and the bytes that it takes."""

_GUARD_BITS = 64
MAX_PRECISION = 50_000
"""Bits; 1000 digits, the most the command line gives, need under 10^4."""
MAX_WORK = 4 * 10**9
"""Units for a whole certificate: five to ten minutes, twenty times the largest known one."""
MAX_MEMORY = 2**31
"""Bytes of any one evaluation."""
VERSIONS = ("verified-dp", "python-flint", "FLINT", "python")
"""What a certificate names: of this package, of the arithmetic, of Python."""


@dataclass(frozen=True)
class Check:
    """The verdict that a valid certificate proves, or the path of the first bad field of another.

    reason: why it is invalid; for a valid one what was checked, in words.
    """

    valid: bool
    verdict: str | None
    field: str | None
    reason: str


def refused(error: InvalidCertificate) -> Check:
    """The check of a certificate that is invalid for this reason."""
    return Check(False, None, error.field or None, error.reason)


@alone
def verify(certificate: bytes | str | Document, progress: Progress = lambda done, of: None) -> Check:
    """Check a certificate (JSON, or the plain dict); raises for nothing that a certificate of this version may hold.

    Raises: Unsupported for a witness of an earlier version that only that version checks: nothing is said of it then.
    Ensures: if valid, the verdict follows from claim, input and witnesses by the theorems that are listed.
    """
    try:
        document = read_document(certificate)
        altered = altered_keys(document)
    except InvalidCertificate as error:
        return refused(error)
    try:
        reason = check_content(document, progress)
    except InvalidCertificate as error:
        return refused(_dated(_located(error, altered), document["versions"]))
    if altered:
        return refused(InvalidCertificate(altered[0], "does not match its hash"))
    return Check(True, document["verdict"], None, reason)


def _located(error: InvalidCertificate, altered: list[str]) -> InvalidCertificate:
    """The path of what was altered: the hashes know the part, the failed check perhaps the place in it."""
    root = re.split(r"[.\[]", error.field, maxsplit=1)[0]
    if not altered or root in altered:
        return error
    if altered == ["claim"]:
        return InvalidCertificate(
            "claim.epsilon" if error.field.endswith(".at") else "claim.delta", str(error)
        )
    return InvalidCertificate(altered[0], f"does not match its hash; {error}")


def _dated(error: InvalidCertificate, versions: Any) -> InvalidCertificate:
    """The same, with the versions of package and arithmetic that wrote the certificate where they are others."""
    try:
        other = [text for text in _other_versions(versions) if not text.startswith("written with python ")]
    except InvalidCertificate:
        return error
    return InvalidCertificate(error.field, f"{error.reason} ({'; '.join(other)})") if other else error


def check_content(document: Document, progress: Progress = lambda done, of: None) -> str:
    """All checks but the hashes, the cheap ones first; what was found, in words."""
    spec, pairs, losses = _read(document)
    check_equal(document["pairs"], pairs_record(pairs), "pairs", "not the pairs of claim and input")
    check_equal(
        document["assumptions"],
        assumptions(spec.composition, spec.relation),
        "assumptions",
        "not what claim and input take for granted",
    )
    entries = [with_facts(entry, losses) for entry in read_evaluations(document["evaluations"])]
    _check_judgement(document, spec, entries, tuple(losses), all(pair.is_attained for pair in pairs))
    used = [(losses[entry.order], entry.witness) for entry in entries]
    other = [*_other_versions(document["versions"]), *_other_theorems(document, theorems_record(pairs, used))]
    check_work(used)
    _check_enclosures(entries, losses, progress)
    return f"{len(entries)} enclosures re-evaluated from their witnesses" + (f" ({'; '.join(other)})" if other else "")


def _read(document: Document) -> tuple[Spec, tuple[DominatingPair, ...], Losses]:
    """The specification with its dominating pairs, and the loss of every order."""
    try:
        spec = read_spec(document)
        pairs, losses = pairs_and_losses(spec.composition, spec.relation)
        return spec, pairs, {loss.order: loss for loss in losses}
    except Unsupported as error:
        raise InvalidCertificate("input", str(error)) from None


def with_facts(entry: Evaluation[str], losses: Losses) -> Evaluation[str]:
    """The entry with what its values say of other eps, where its witness `tells` that at once; else as it is.

    A witness that cannot be evaluated says nothing, and is refused with all others.
    """
    loss = losses.get(entry.order)
    if loss is None or not getattr(entry.witness, "tells", False):
        return entry
    try:
        check_work([(loss, entry.witness)])
        with ctx.workprec(entry.witness.prec + _GUARD_BITS):
            bounds = evaluate(loss, entry.witness).delta(entry.at)
    except (InvalidCertificate, InvalidInput, Undecided, ArithmeticError, LookupError, ValueError):
        return entry
    return replace(entry, everywhere=bounds.everywhere, until=bounds.until)


def _check_judgement(
    document: Document, spec: Spec, entries: list[Evaluation[str]], orders: tuple[str, ...], tight: bool
) -> None:
    if spec.claim is None:
        raise InvalidCertificate("claim", "is missing")
    judged = judge(spec.claim, orders, tight, entries)
    for key, expected in judged.items():
        check_equal(document[key], expected, key, "does not follow from the evaluations")


def current_versions() -> dict[str, str]:
    """What runs here."""
    package = sys.modules["verified_dp"]  # loaded before any of its modules; importing it would point upwards
    found = (package.__version__, flint.__version__, flint.__FLINT_VERSION__, platform.python_version())
    return dict(zip(VERSIONS, found, strict=True))


def _other_versions(found: Any) -> list[str]:
    """The keys must be there; other versions are fine, and are named in words."""
    check_keys(found, VERSIONS, "versions")
    for key, text in found.items():
        if type(text) is not str or not 0 < len(text) <= 100 or not text.isprintable():
            raise InvalidCertificate(f"versions.{key}", "must be a short text")
    current = current_versions()
    return [f"written with {key} {found[key]}, here {current[key]}" for key in VERSIONS if found[key] != current[key]]


def _other_theorems(document: Document, here: list[str]) -> list[str]:
    """How the recorded names differ from those behind pairs and evaluations here: only another version's may."""
    other = other_theorems(document["theorems"], here)
    if document["versions"]["verified-dp"] == current_versions()["verified-dp"]:
        check_equal(document["theorems"], here, "theorems", "not the theorems behind pairs and evaluations")
    return other


def check_work(evaluations: Iterable[tuple[ComposedLoss, Witness]], path: str = "evaluations") -> None:
    """InvalidCertificate where a witness asks for too much, or all together do. Nothing is evaluated."""
    total = 0
    for index, (loss, witness) in enumerate(evaluations):
        if not 2 <= witness.prec <= MAX_PRECISION:
            raise InvalidCertificate(f"{path}[{index}].witness.prec", f"must be from 2 to {MAX_PRECISION} bits")
        work = witness.work(loss)
        total += work.units
        if total > MAX_WORK or work.memory > MAX_MEMORY:
            raise InvalidCertificate(f"{path}[{index}].witness", "takes more work or memory than a check may use")


def _check_enclosures(entries: list[Evaluation[str]], losses: Losses, progress: Progress) -> None:
    """Re-evaluate every entry; equal witnesses of one order are evaluated once, while what is kept takes little."""
    known: Known = {}
    for index, entry in enumerate(entries):
        path = f"evaluations[{index}]"
        progress(index, len(entries))
        try:
            _check_entry(entry, losses[entry.order], known, path)
        except (InvalidInput, Undecided, ArithmeticError, LookupError, ValueError) as error:
            raise InvalidCertificate(f"{path}.witness", f"cannot be evaluated: {error}") from None
    progress(len(entries), len(entries))


def _check_entry(entry: Evaluation[str], loss: ComposedLoss, known: Known, path: str) -> None:
    """Inside by the bits of the witness, or by more of them: another version may round in another order."""
    def check(witness: Witness) -> None:
        key = entry.order, witness
        if key not in known:
            memory = witness.work(loss).memory
            if memory + sum(size for _, size in known.values()) > MAX_MEMORY:
                known.clear()
            known[key] = evaluate(loss, witness), memory
        _check_enclosure(entry, known[key][0], path)

    try:
        check(entry.witness)
    except InvalidCertificate as refused:
        try:
            check(_sharper(entry.witness))
        except InvalidCertificate:
            raise refused from None


def _sharper(witness: Witness) -> Witness:
    if hasattr(witness, "inner"):
        return replace(witness, inner=_sharper(witness.inner))  # type: ignore[type-var]
    return replace(witness, prec=witness.prec + _GUARD_BITS)  # type: ignore[type-var]


def _check_enclosure(entry: Evaluation[str], values: Values, path: str) -> None:
    """The contract's rule: the re-evaluated enclosure lies inside the recorded one."""
    with ctx.workprec(entry.witness.prec + _GUARD_BITS):
        bounds = values.delta(entry.at)
        lower, upper = bounds.ends()
        sources = bounds.budget
        if set(entry.budget) == {"rounding"}:  # states the sum of all
            sources = {"rounding": sum(sources.values(), arb(0))}
        budget = {name: upper_dyadic(size) for name, size in sources.items()}
    if lower < entry.lower:
        raise InvalidCertificate(f"{path}.enclosure.lower", "is above what the witness proves")
    if upper > entry.upper:
        raise InvalidCertificate(f"{path}.enclosure.upper", "is below what the witness proves")
    _check_budget(entry.budget, budget, f"{path}.error_budget")


def _check_budget(found: Mapping[str, str], needed: Mapping[str, Dyadic], path: str) -> None:
    check_keys(found, needed, path)
    for name, size in needed.items():
        if not is_budget_for(found[name], size):
            raise InvalidCertificate(
                f"{path}.{name}", "must be a decimal such as 1.234e-9 and at least the error"
            )
