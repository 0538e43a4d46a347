"""Write a certificate: claim, exact inputs, pairs, assumptions, evaluations with witnesses, result, hashes.

Recorded enclosures are slightly wider than the evaluated ones, so that another version of the arithmetic,
which rounds differently, still finds its enclosures inside. What another version may change:

* the one-sided bounds (quadrature, aliasing, tails), evaluated with 64 bits or more and exponents far below
  2^30: by a relative 2^-34 of themselves, hence of the width. 2^-30 of the width is allowed for.
* the rounding error of the sum, which may well become several times as large, and the centre may move by as
  much. 8 times the rounding error is allowed for, but no more than 10^-(digits + 3) of delta, a thousandth of
  the width that was asked for.

An end that decides (delta against the claimed delta) is left as it is where the wider one would not decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.balls import ball_of, lower_dyadic, upper_dyadic
from verified_dp.core.certificate.document import SCHEMA, Document, canonical, sealed
from verified_dp.core.certificate.evaluation import Entry, budget_text, entry_record, statement_of
from verified_dp.core.certificate.statement import claim_record, input_record
from verified_dp.core.certificate.theorems import pairs_record, theorems_record
from verified_dp.core.certificate.verdict import judge
from verified_dp.core.certificate.versions import current_versions
from verified_dp.core.certificate.work import check_work
from verified_dp.core.composition import Claim, Spec
from verified_dp.core.dyadic import Dyadic
from verified_dp.core.ends import End
from verified_dp.core.engines.rational import EndWitness
from verified_dp.core.errors import InvalidCertificate, InvalidInput, Unsupported
from verified_dp.core.locks import alone
from verified_dp.core.pairs.losses import ORDERS, describe_pairs, privacy_losses
from verified_dp.core.words import assumptions
from verified_dp.search.solution import Evaluation, Solution

_WIDTH_SHARE = 30  # bits
_ROUNDINGS = 8
_SPARE_DIGITS = 3


@alone
def build_certificate(spec: Spec, delta: Solution, epsilon: Solution) -> Document:
    """The certificate of a specification with a claim, as a plain dict.

    Args:
        spec: what was run, and the claim.
        delta: delta at the claimed epsilon, with its evaluations.
        epsilon: epsilon at the claimed delta, with its evaluations.
    Raises:
        InvalidInput: without a claim, or where the evaluations do not belong to it.
        Unsupported: where checking would take more work than a checker spends.
    """
    if spec.claim is None:
        raise InvalidInput("claim", None, "given: a certificate states a claim")
    losses = {loss.order: loss for loss in privacy_losses(spec.composition, spec.relation)}
    entries = _entries(spec, spec.claim, delta, epsilon)
    try:
        check_work([(losses[entry.statement.order], entry.witness) for entry in entries])
        return sealed(_content(spec, spec.claim, entries))
    except InvalidCertificate as error:
        reason = f"no certificate can be written for these evaluations: {error}"
        raise Unsupported(reason, "certificate") from None


def certificate_bytes(certificate: Document) -> bytes:
    """The canonical form, as it is stored."""
    return canonical(certificate)


def _content(spec: Spec, claim: Claim, entries: Sequence[Entry]) -> Document:
    pairs = describe_pairs(spec.composition, spec.relation)
    losses = {loss.order: loss for loss in privacy_losses(spec.composition, spec.relation)}
    used = [(losses[entry.statement.order], entry.witness) for entry in entries]
    return {
        "schema": SCHEMA,
        "claim": claim_record(claim),
        "input": input_record(spec.composition, spec.relation),
        "pairs": pairs_record(pairs),
        "assumptions": assumptions(spec.composition, spec.relation),
        "evaluations": [entry_record(entry) for entry in entries],
        **judge(
            claim, tuple(losses), all(pair.tight for pair in pairs), [entry.statement for entry in entries]
        ),
        "theorems": theorems_record(pairs, used),
        "versions": current_versions(),
    }


def _entries(spec: Spec, claim: Claim, delta: Solution, epsilon: Solution) -> list[Entry]:
    """All evaluations: delta before epsilon, then by order and side."""
    orders = ORDERS[spec.relation]
    entries = [
        _entry(evaluation, claim.delta, solution.enclosure.digits)
        for solution in (delta, epsilon)
        for evaluation in solution.evaluations
    ]
    return sorted(
        entries,
        key=lambda entry: (
            entry.statement.quantity,
            orders.index(entry.statement.order),
            entry.statement.side,
        ),
    )


def _entry(evaluation: Evaluation, target: Fraction, digits: int) -> Entry:
    lower, upper = widened(evaluation, target, digits)
    statement = statement_of(evaluation.quantity, evaluation.order, evaluation.at, evaluation.side,
                             (lower, upper), evaluation.witness)
    budget = {name: budget_text(_roomier(name, size)) for name, size in evaluation.budget.items()}
    return Entry(statement, evaluation.witness, budget)


def _roomier(name: str, size: Dyadic) -> Dyadic:
    """A share of the budget with the room that `widened` leaves for it."""
    if size.is_infinite:
        return size
    if name == "rounding":
        return Dyadic(size.mantissa * (_ROUNDINGS + 1), size.exponent)
    return Dyadic(size.mantissa * (2**_WIDTH_SHARE + 1), size.exponent - _WIDTH_SHARE)


def widened(evaluation: Evaluation, target: Fraction, digits: int) -> tuple[End, End]:
    """The ends to record: a little outside those of the evaluation, within [0, 1], deciding as they do."""
    lower, upper = evaluation.lower, evaluation.upper
    if lower == upper or isinstance(evaluation.witness, EndWitness):  # nothing is rounded
        return lower, upper
    with ctx.workprec(_short_bits(lower, upper, digits)):
        room = _room(evaluation, digits)
        low = max(Dyadic(0), lower_dyadic(ball_of(lower) - room))
        high = min(Dyadic(1), upper_dyadic(ball_of(upper) + room))
    return (lower if lower > target >= low else low), (upper if upper <= target < high else high)


def _room(evaluation: Evaluation, digits: int) -> arb:
    lower, upper = ball_of(evaluation.lower), ball_of(evaluation.upper)
    rounding = evaluation.budget.get("rounding", Dyadic(0))
    by_rounding = upper if rounding.is_infinite else _ROUNDINGS * ball_of(rounding)
    return (upper - lower) / 2**_WIDTH_SHARE + by_rounding.min(lower / 10 ** (digits + _SPARE_DIGITS))


def _short_bits(lower: End, upper: End, digits: int) -> int:
    """Bits that round the recorded ends outward by far less than their room, and keep them short."""
    with ctx.workprec(64):
        share = upper_dyadic((ball_of(upper) - ball_of(lower)) / ball_of(upper))
    return _WIDTH_SHARE + 10 + min(max(1 - share.top, 0), 4 * digits + 200)
