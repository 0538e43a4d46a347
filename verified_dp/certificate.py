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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike, fsdecode
from typing import Any

from flint import arb, ctx

from verified_dp.core.kernel.balls import lower_dyadic, upper_dyadic
from verified_dp.core.kernel.certificate.check import Check, check_work, current_versions
from verified_dp.core.kernel.certificate.check import verify as check_certificate
from verified_dp.core.kernel.certificate.document import MAX_BYTES, SCHEMA, Document, canonical, sealed
from verified_dp.core.kernel.certificate.evaluation import budget_text, evaluation_record
from verified_dp.core.kernel.certificate.statement import claim_record, input_record, read_claim, read_spec
from verified_dp.core.kernel.certificate.theorems import pairs_record, theorems_record
from verified_dp.core.kernel.certificate.verdict import judge
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Claim, Spec
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.ends import End
from verified_dp.core.kernel.errors import Disagreement, InvalidCertificate, InvalidInput, Unsupported
from verified_dp.core.kernel.evaluation import Ends, Evaluation
from verified_dp.core.kernel.exact import exact
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.losses import ORDERS, pairs_and_losses
from verified_dp.core.kernel.steps import DominatingPair
from verified_dp.core.kernel.witnesses import Witness
from verified_dp.core.kernel.words import assumptions
from verified_dp.enclosure import Solution, html_table
from verified_dp.ends import ball_of
from verified_dp.files import write_atomically
from verified_dp.profile import privacy_profile
from verified_dp.questions.statement import statement
from verified_dp.reading import optional

_WIDTH_SHARE = 30  # bits
_ROUNDINGS = 8
_SPARE_DIGITS = 3
_POINTS = 20


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
    pairs, found = pairs_and_losses(spec.composition, spec.relation)
    losses = {loss.order: loss for loss in found}
    recorded = _recorded(spec, spec.claim, delta, epsilon)
    used = [(losses[one.order], one.witness) for one in recorded]
    try:
        check_work(used)
        return sealed(_content(spec, spec.claim, recorded, pairs, used))
    except InvalidCertificate as error:
        reason = f"no certificate can be written for these evaluations: {error}"
        raise Unsupported(reason, "certificate") from None


def certificate_bytes(certificate: Document) -> bytes:
    """The canonical form, as it is stored."""
    return canonical(certificate)


def checked_bytes(certificate: Document) -> bytes:
    """The canonical form, which the checker has verified: what is said of a claim follows from what is stored.

    Raises: Disagreement where the checker refuses it.
    """
    data = certificate_bytes(certificate)
    found = check_certificate(data)
    if not found.valid:
        raise Disagreement(f"no verdict: the checker refuses the certificate that was written for it ({found.field}: "
                           f"{found.reason}); please report this, with the specification")
    return data


def _content(spec: Spec, claim: Claim, recorded: Sequence[Evaluation[str]], pairs: Sequence[DominatingPair],
             used: Sequence[tuple[ComposedLoss, Witness]]) -> Document:
    return {
        "schema": SCHEMA,
        "claim": claim_record(claim),
        "input": input_record(spec.composition, spec.relation),
        "pairs": pairs_record(pairs),
        "assumptions": assumptions(spec.composition, spec.relation),
        "evaluations": [evaluation_record(one) for one in recorded],
        **judge(claim, ORDERS[spec.relation], all(pair.is_attained for pair in pairs), recorded),
        "theorems": theorems_record(pairs, used),
        "versions": current_versions(),
    }


def _recorded(spec: Spec, claim: Claim, delta: Solution, epsilon: Solution) -> list[Evaluation[str]]:
    """All evaluations as they are recorded: delta before epsilon, then by order and side."""
    orders = ORDERS[spec.relation]
    found = [_roomy(evaluation, claim.delta, solution.enclosure.digits)
             for solution in (delta, epsilon) for evaluation in solution.evaluations]
    return sorted(found, key=lambda one: (one.quantity, orders.index(one.order), one.side))


def _roomy(one: Evaluation[Dyadic], target: Fraction, digits: int) -> Evaluation[str]:
    budget = {name: budget_text(_roomier(name, size)) for name, size in one.budget.items()}
    return Evaluation(one.quantity, one.order, one.at, one.side, one.witness, *widened(one, target, digits), budget,
                      one.everywhere, one.until)


def _roomier(name: str, size: Dyadic) -> Dyadic:
    """A share of the budget with the room that `widened` leaves for it."""
    if size.is_infinite:
        return size
    if name == "rounding":
        return Dyadic(size.mantissa * (_ROUNDINGS + 1), size.exponent)
    return Dyadic(size.mantissa * (2**_WIDTH_SHARE + 1), size.exponent - _WIDTH_SHARE)


def widened(evaluation: Evaluation[Dyadic], target: Fraction, digits: int) -> Ends:
    """The ends to record: a little outside those of the evaluation, within [0, 1], deciding as they do."""
    lower, upper = evaluation.lower, evaluation.upper
    if lower == upper or evaluation.until is not None:  # nothing is rounded
        return lower, upper
    with ctx.workprec(_short_bits(lower, upper, digits)):
        room = _room(evaluation, digits)
        low = max(Dyadic(0), lower_dyadic(ball_of(lower) - room))
        high = min(Dyadic(1), upper_dyadic(ball_of(upper) + room))
    return (lower if lower > target >= low else low), (upper if upper <= target < high else high)


def _room(evaluation: Evaluation[Dyadic], digits: int) -> arb:
    lower, upper = ball_of(evaluation.lower), ball_of(evaluation.upper)
    rounding = evaluation.budget.get("rounding", Dyadic(0))
    by_rounding = upper if rounding.is_infinite else _ROUNDINGS * ball_of(rounding)
    return (upper - lower) / 2**_WIDTH_SHARE + by_rounding.min(lower / 10 ** (digits + _SPARE_DIGITS))


def _short_bits(lower: End, upper: End, digits: int) -> int:
    """Bits that round the recorded ends outward by far less than their room, and keep them short."""
    with ctx.workprec(64):
        share = upper_dyadic((ball_of(upper) - ball_of(lower)) / ball_of(upper))
    return _WIDTH_SHARE + 10 + min(max(1 - share.top, 0), 4 * digits + 200)


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Mapping[str, Any]):
    """A certificate as `certify` writes it: its parts by key, as in the file.

    >>> from verified_dp.spec import parse_spec
    >>> spec = 'relation = "add"\\n[[mechanism]]\\nkind = "gaussian"\\nnoise_multiplier = 2\\n'
    >>> certify(parse_spec(spec + '[claim]\\nepsilon = 2\\ndelta = "1e-5"\\n'))
    Certificate(proved: epsilon = 2 at delta = 1e-5)
    """

    document: Document

    def __getitem__(self, key: str) -> Any:
        return self.document[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.document)

    def __len__(self) -> int:
        return len(self.document)

    def __repr__(self) -> str:
        claim = self["claim"]
        return f"Certificate({self.verdict}: epsilon = {claim['epsilon']} at delta = {claim['delta']})"

    def _repr_html_(self) -> str:
        claim, found = self["claim"], self["result"]
        return html_table({
            self.verdict: claim["title"] or "a claim",
            "claimed": f"epsilon = {claim['epsilon']}, delta = {claim['delta']}",
            "epsilon": f"{found['epsilon']['lower']} to {found['epsilon']['upper']}",
            "delta": f"{found['delta']['lower']} to {found['delta']['upper']}", "certificate": self["sha256"]})

    @property
    def verdict(self) -> str:
        """proved, refuted or undecided."""
        return str(self["verdict"])

    def to_frame(self) -> Any:
        """A pandas DataFrame of epsilon and delta: claimed, and the ends as decimals rounded outward."""
        claim, found, quantities = self["claim"], self["result"], ["epsilon", "delta"]
        return optional("pandas", "pandas").DataFrame(
            {"claimed": [claim[one] for one in quantities], **{
                end: [found[one][end] for one in quantities] for end in ("lower", "upper")}}, index=quantities)

    def plot(self, ax: Any = None, *, seconds: float = 2.0) -> Any:
        """Draw delta over epsilon, enclosed anew, and the claim, on matplotlib's axes or new ones; returns them.

        seconds: for the curve.
        """
        spec = read_spec(self.document)
        claim = read_claim(self["claim"])
        farthest = 2 * max(claim.epsilon, exact(self["result"]["epsilon"]["upper"].replace("inf", "1"))) or 1
        curve = privacy_profile(spec).curve(epsilons=[farthest * i / _POINTS for i in range(_POINTS + 1)], digits=4,
                                            max_seconds=seconds)
        return curve.plot(ax, title=claim.title, claim=(claim.epsilon_text, claim.delta_text))

    def to_bytes(self) -> bytes:
        """The canonical form, as it is stored."""
        return certificate_bytes(self.document)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file, whole or not at all. Raises OSError."""
        write_atomically(path, self.to_bytes())

    def verify(self) -> Check:
        """Check it as anybody can, from what is stored alone."""
        return check_certificate(self.to_bytes())

    def html(self, name: str = "claim", *, seconds: float | None = None, methods: Sequence[str] | None = None,
             peers: bool = True) -> str:
        """The page about it, one offline HTML document (extra `report`).

        name: of the certificate's file on the page. seconds: for each curve (6). methods: to be compared (all).
        peers: whether other accountants that are installed are asked. Raises Unsupported without jinja2.
        """
        from verified_dp.report.facts import read_certificate
        from verified_dp.report.pages import METHODS, SECONDS, page

        return page(read_certificate(self.document, name), SECONDS if seconds is None else seconds,
                    METHODS if methods is None else methods, peers=peers)

    def statement(self, form: str = "text") -> str:
        """The paragraph for a paper or a deployment page: text, markdown, latex; bibtex: an entry for it."""
        return statement(self.document, form)


def certify(spec: Spec, *, digits: int | None = None, method: str = "auto", max_seconds: float | None = None,
            progress: Callable[[str], None] | None = None) -> Certificate:
    """Prove or refute the specification's claim; the checker has verified the certificate.

    Raises: InvalidInput without a claim, Unsupported, Disagreement.
    """
    if not isinstance(spec, Spec):
        raise InvalidInput("spec", type(spec).__name__, "a Spec; load_spec(path) reads one from a file")
    if spec.claim is None:
        raise InvalidInput("claim", None, "given: a certificate states a claim")
    profile = privacy_profile(spec, progress=progress)
    document = build_certificate(spec, *profile.solve_claim(spec.claim, digits, method, max_seconds))
    checked_bytes(document)
    return Certificate(document)


def verify(certificate: str | PathLike[str] | bytes | Mapping[str, Any]) -> Check:
    """Check a certificate: a file's path, its bytes, or the parts by key.

    Ensures: `.valid` says whether the re-evaluation gives what is claimed, `.verdict` what is proved by it; else
    `.field` and `.reason` name the first bad part. Raises InvalidInput where there is no file to read.
    """
    if isinstance(certificate, bytes):
        return check_certificate(certificate)
    if isinstance(certificate, Mapping):
        return check_certificate(dict(certificate))
    try:
        with open(certificate, "rb") as file:
            return check_certificate(file.read(MAX_BYTES + 1))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput("file", fsdecode(certificate), f"a certificate that can be read ({reason})") from None
