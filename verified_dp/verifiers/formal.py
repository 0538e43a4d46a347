"""TRUSTED. The formal part of a certificate: a composition in integers, checked by a program extracted from Coq.

The part says, for one order of the composition and one side: these integer laws, one for each kind of steps, are
above (below) those kinds' own; their composition has a delta(eps) of at most (at least) the bound. The first is proved
here in ball arithmetic (T120, T121) and, for a sampled Gaussian, by the program, as is the second (T122). Plain
Gaussian steps alone need no law: the part has no kinds, and the program bounds delta(eps) by one event.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from typing import Any

from flint import arb, ctx

from verified_dp.core.engines.exact import has_rational_end
from verified_dp.core.engines.grid import LawGrid, StepMasses, enclose_step
from verified_dp.core.families.batches.mechanism import WithoutReplacement
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian, DiscreteLaplace
from verified_dp.core.families.gaussian.mechanism import GaussianDP
from verified_dp.core.families.guarantees.mechanism import ZCDP, Renyi
from verified_dp.core.families.guarantees.orders import RenyiLoss
from verified_dp.core.families.guarantees.renyi import ZCDPLoss
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.certificate.check import Check, refused
from verified_dp.core.kernel.certificate.document import Document, check_equal, check_keys, read_document
from verified_dp.core.kernel.certificate.statement import read_spec
from verified_dp.core.kernel.certificate.witness import number_text, read_number
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Claim, Grouped, Relation, Spec
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput, Unsupported
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.verifiers.formal_steps import (
    HINTED,
    MAX_KINDS,
    KnownStep,
    ZCDPSteps,
    attained_laws,
    compared,
    merged,
    stated_laws,
)

SIDES = ("above", "below")
MAX_POINTS = 2**18
MAX_INDEX = 2**26
MAX_BITS = 4096
MAX_COARSER = 64
MAX_WORK = 2**28
"""Points times bits of precision; known certificates need 2^24."""
MAX_SECONDS = 600
"""Of the extracted program; known parts take seconds, the largest of 16000 points about a minute."""
MAX_MEMORY = 4096
"""Megabytes of the extracted program."""
Program = str | Callable[[str], str]
"""Another checker than the one of `make proofs`: its path, or what answers a problem (in a browser's page)."""
CHECKER = Path(__file__).resolve().parents[2] / "proofs" / "coq" / "build" / "formal-checker"
HASH = CHECKER.with_suffix(".sha256")
"""What `make proofs` writes beside the program that it built: its sha256."""

PROGRAM = (
    "Coq's kernel and extraction, the OCaml compiler and zarith; the OCaml around the extracted program "
    "(proofs/coq/checker_main.ml), which reads the problem and prints the one that was decided; the Python that writes "
    "the problem from the certificate and compares it, field by field, with the one printed."
)
TRUST = (
    "Trusted: that the integer laws of the steps bound the mechanisms' (this package's ball arithmetic, T120, T121), "
    f"that the losses of the pairs compose (T25); {PROGRAM}"
)
"""What remains trusted after a formal check."""
TRUST_LOSSES = (
    "Every law was found above (below) its step's own loss by the program (covers_ok, covers_guarantee_ok, "
    "covers_below_ok and by_event_ok in proofs/coq). "
    f"Trusted: that these losses are the mechanism's and compose (T15, T21 to T25); {PROGRAM}"
)
"""... where every kind of steps is a Gaussian or a guarantee, sampled or not."""
TRUST_SAMPLED = (
    "Every law of the part was found above the step's own by the program, or one event bounds them all "
    "(sampled_gaussian_private, gaussians_replace_private, fixed_batch_private, shifted_private, "
    "gaussian_private, gaussian_replace_private, gaussian_group_private, gdp_private, zcdp_private, renyi_private, "
    "mixed_private and guarantees_private in proofs/coq: in any dimension, normal noise on "
    "sums of contributions of norm at most 1, or without sampling any queries that differ by at most the stated norm; "
    "and mechanisms with what is stated of them). Their hypothesis `expect`, that the means of a test "
    "exist as iterated Riemann integrals, is proved of continuous tests and of boxes where all steps are Gaussian and "
    "queries are continuous in the earlier outputs (expect_exists), of continuous tests also beside mechanisms whose "
    "means are so (mixed_private_exists), and is assumed elsewhere. "
    f"Trusted: {PROGRAM}"
)
"""... and these theorems speak of the mechanism itself."""
TRUST_REFUTED = (
    "There are two data sets that differ in one record, a query of norm at most 1 in any dimension and an event of all "
    "outputs, whose probabilities exist as iterated Riemann integrals and differ by what the program found, so that "
    "what is stated of the steps does not make them private as claimed (sampled_gaussian_not_private, the same with "
    "zero and replace, gaussian_not_private, gaussian_replace_not_private; laplace_not_private, discrete_not_private, "
    "of one step laplace_event_not_private and discrete_event_not_private, of a number that a record changes by as "
    f"much as is stated; in proofs/coq). Trusted: {PROGRAM}"
)
"""... and bounded from below."""
TRUST_ATTAINED = (
    "There are outputs with exactly what is stated of the one step, finitely many, and an event of them, whose "
    "probabilities differ by what the program found, so that the step is not private as claimed (outputs_not_private, "
    f"response_not_private and guarantee_not_private in proofs/coq). Trusted: {PROGRAM}"
)
"""... of one step with finitely many outputs, or of which a guarantee is stated."""


@dataclass(frozen=True)
class Product:
    """A hint for one product: its window, and the sum of the masses and the mass at infinity found in it.

    coarser: how many times coarser the grid is on which the masses go on; from above.
    """

    first: int
    last: int
    sum: int
    infinity: int
    coarser: int = 1


@dataclass(frozen=True)
class Kind:
    """masses[i] 2^-bits at the loss (low + i) step, infinity 2^-bits at infinity: the law of one of `count` steps."""

    count: int
    low: int
    infinity: int
    masses: tuple[int, ...]

    @property
    def grid(self) -> LawGrid:
        """Where the masses are."""
        grid = LawGrid(self.low, ((len(self.masses) - 1, 1),))
        if not grid.is_proper():
            raise InvalidInput("low", self.low, "negative")
        return grid


@dataclass(frozen=True)
class FormalPart:
    """The kinds of steps in the order of the composition's laws, and what their composition comes to.

    side: above says delta(epsilon) <= bound 2^-bits, below says >=. prec: bits of the ball arithmetic that compares.
    No kinds and no products: one Gaussian loss, bounded by an event, or zCDP steps, by a moment; step is 1.
    """

    order: str
    side: str
    epsilon: Fraction
    step: Fraction
    bits: int
    prec: int
    kinds: tuple[Kind, ...]
    products: tuple[Product, ...]
    bound: int

    @property
    def delta(self) -> Fraction:
        """The bound."""
        return Fraction(self.bound, 1 << self.bits)

    @property
    def points(self) -> int:
        """Of all kinds."""
        return sum(len(kind.masses) for kind in self.kinds)


# ---------- as plain data ----------


def part_record(part: FormalPart) -> Document:
    """The part as plain data; integers that may be long are text."""
    return {
        "order": part.order,
        "side": part.side,
        "epsilon": number_text(part.epsilon),
        "step": number_text(part.step),
        "bits": part.bits,
        "prec": part.prec,
        "kinds": [_kind_record(kind) for kind in part.kinds],
        "products": [[p.first, p.last, str(p.sum), str(p.infinity), *([p.coarser] if p.coarser > 1 else [])]
                     for p in part.products],
        "bound": str(part.bound),
    }


def _kind_record(kind: Kind) -> Document:
    return {"count": kind.count, "low": kind.low, "infinity": str(kind.infinity),
            "masses": [str(mass) for mass in kind.masses]}


def read_parts(found: Any) -> list[FormalPart]:
    """All formal parts, in canonical form only."""
    if type(found) is not list or not 0 < len(found) <= 4:
        raise InvalidCertificate("formal", "must be a list of one to four parts")
    return [_read_part(table, f"formal[{index}]") for index, table in enumerate(found)]


_KEYS = ("order", "side", "epsilon", "step", "bits", "prec", "kinds", "products", "bound")
_KIND_KEYS = ("count", "low", "infinity", "masses")


def _read_part(table: Any, path: str) -> FormalPart:
    check_keys(table, _KEYS, path)
    kinds, products = table["kinds"], table["products"]
    if type(kinds) is not list or len(kinds) > MAX_KINDS or type(products) is not list:
        raise InvalidCertificate(f"{path}.kinds", f"kinds and products must be lists, of at most {MAX_KINDS} kinds")
    part = FormalPart(
        table["order"], table["side"], read_number(table["epsilon"], f"{path}.epsilon"),
        read_number(table["step"], f"{path}.step"),
        _small(table["bits"], f"{path}.bits", 1, MAX_BITS), _small(table["prec"], f"{path}.prec", 2, 4 * MAX_BITS),
        tuple(_read_kind(kind, f"{path}.kinds[{i}]") for i, kind in enumerate(kinds)),
        tuple(_read_product(row, f"{path}.products[{i}]") for i, row in enumerate(products)),
        _natural(table["bound"], f"{path}.bound"))
    if type(part.order) is not str or part.side not in SIDES:
        raise InvalidCertificate(path, "order must be text, and side above or below")
    if not part.kinds and (part.products or part.step != 1):
        raise InvalidCertificate(f"{path}.kinds", "must not be empty, unless products are, and step is 1")
    if part.step <= 0 or abs(part.epsilon / part.step) > MAX_INDEX:
        raise InvalidCertificate(path, "step must be positive, and epsilon not too many steps")
    if part.points * part.prec > MAX_WORK:
        raise InvalidCertificate(path, f"more than {MAX_WORK} bits to compare")
    check_equal(part_record(part), table, path, "not in canonical form")
    return part


def _read_kind(table: Any, path: str) -> Kind:
    check_keys(table, _KIND_KEYS, path)
    masses = table["masses"]
    if type(masses) is not list or not 2 < len(masses) <= MAX_POINTS:
        raise InvalidCertificate(f"{path}.masses", f"must be a list of 3 to {MAX_POINTS} masses")
    return Kind(
        _small(table["count"], f"{path}.count", 1, 10**12), _small(table["low"], f"{path}.low", -MAX_INDEX, MAX_INDEX),
        _natural(table["infinity"], f"{path}.infinity"),
        tuple(_natural(text, f"{path}.masses[{i}]") for i, text in enumerate(masses)))


def _read_product(row: Any, path: str) -> Product:
    if type(row) is not list or len(row) not in (4, 5):
        raise InvalidCertificate(path, "must be a list: first, last, sum, infinity, coarser (if it is)")
    first, last = (_small(index, path, -MAX_INDEX, MAX_INDEX) for index in row[:2])
    if not first <= last < first + MAX_POINTS:
        raise InvalidCertificate(path, f"must be a window of at most {MAX_POINTS} points")
    coarser = _small(row[4], path, 2, MAX_COARSER) if len(row) == 5 else 1
    return Product(first, last, _natural(row[2], path), _natural(row[3], path), coarser)


def _small(value: Any, path: str, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise InvalidCertificate(path, f"must be an integer from {least} to {most}")
    return value


def _natural(text: Any, path: str) -> int:
    if type(text) is not str or not (text.isascii() and text.isdecimal()) or len(text) > MAX_BITS:
        raise InvalidCertificate(path, "must be the digits of an integer")
    return int(text)


# ---------- the one-step law ----------


@proved_by("T120-integer-law-above")
def is_above(part: FormalPart, kind: Kind, law: Law) -> bool:
    """Whether every integer mass is at least that of the dominating law on the same grid (T26), in balls."""
    with ctx.workprec(part.prec):
        found, scale = enclose_step(law, kind.grid, part.step, part.bits), arb((1, part.bits))
        masses = all(mass >= scale * least for mass, least in zip(map(arb, kind.masses), found.above, strict=True))
        return masses and bool(arb(kind.infinity) >= scale * infinity_above(law, kind.grid, part.step, found))


@proved_by("T120-integer-law-above")
def infinity_above(law: Law, grid: LawGrid, step: Fraction, found: StepMasses) -> arb:
    """Bound the dominating law's mass at infinity: exactly the law's own where the grid reaches its largest loss."""
    mass = law.infinity_fraction()
    last, end = grid.vertices()[-1] * step, law.enclose_largest_loss()
    ended = law.largest_loss() <= last if has_rational_end(law) else end is not None and bool(end <= ball(last))
    return ball(mass) if ended and mass is not None else found.infinity_above


@proved_by("T121-integer-law-below")
def is_below(part: FormalPart, kind: Kind, law: Law) -> bool:
    """Whether no integer mass exceeds that of the dominated law on the same grid (T27), in balls."""
    with ctx.workprec(part.prec):
        found, scale = enclose_step(law, kind.grid, part.step, part.bits), arb((1, part.bits))
        masses = all(mass <= scale * most for mass, most in zip(map(arb, kind.masses), found.below, strict=True))
        return masses and bool(arb(kind.infinity) <= scale * found.infinity)


# ---------- the extracted checker ----------


def checker_path(given: str | None = None) -> Path:
    """The extracted program: the one at a path that is given, else the one that `make proofs` built, unchanged.

    Raises InvalidInput where nothing is at the given path, Unsupported where nothing is built or it was changed since.
    """
    if given is not None:
        if not Path(given).is_file():
            raise InvalidInput("formal-checker", given, "the path of a program")
        return Path(given).resolve()
    if not CHECKER.is_file() or not HASH.is_file():
        raise Unsupported("the formal checker is not built: run `make proofs`, or give its path", "formal")
    if hashlib.sha256(CHECKER.read_bytes()).hexdigest() != HASH.read_text(encoding="ascii").strip():
        raise Unsupported("the formal checker is not the program that `make proofs` built: run it again", "formal")
    return CHECKER


def problem_words(part: FormalPart, laws: Sequence[Law]) -> Iterator[int | str]:
    """What the extracted program reads."""
    yield part.side
    yield from (part.bits, part.epsilon.numerator, part.epsilon.denominator, part.step.numerator, part.step.denominator)
    yield len(part.kinds)
    for kind in part.kinds:
        yield from [kind.count, kind.low, kind.infinity, len(kind.masses), *kind.masses]
    yield len(part.products)
    for hint in part.products:
        yield from [hint.first, hint.last, hint.sum, hint.infinity, hint.coarser]
    yield part.bound
    steps = [compared_step(part, law) for law in laws]
    yield next((step.order for step in steps if step), "none")
    if not part.kinds:
        yield from (word for step in steps if step for word in step.event_words(part.epsilon, part.bits))
    for kind, step in zip(part.kinds, steps if part.kinds else [], strict=True):
        if step is None or isinstance(step, ZCDPSteps):
            yield "given"
        else:
            yield from step.words(part.side, kind.low, len(kind.masses), part.step, part.bits)


def told_rows(part: FormalPart, laws: Sequence[Law]) -> Iterator[str]:
    """What the program must print of the problem that it decided, by names; of a step, without its hints.

    Not made from problem_words: what is in a wrong place there differs here.
    """
    yield part.side
    yield f"bits {part.bits}"
    yield f"epsilon {part.epsilon.numerator} {part.epsilon.denominator}"
    yield f"step {part.step.numerator} {part.step.denominator}"
    for kind in part.kinds:
        yield f"kind {kind.count} {kind.low} {kind.infinity} {' '.join(map(str, kind.masses))}"
    for hint in part.products:
        yield f"hint {hint.first} {hint.last} {hint.sum} {hint.infinity} {hint.coarser}"
    yield f"bound {part.bound}"
    steps = [compared_step(part, law) for law in laws]
    yield f"order-{next((step.order for step in steps if step), 'none')}"
    yield from (step.told(part.epsilon) if step else "given" for step in steps)


def check_told(rows: Sequence[str], part: FormalPart, laws: Sequence[Law]) -> None:
    """Raise Unsupported unless the program decided this problem: it is the program that is wrong, or what wrote it."""
    for found, meant in zip_longest(rows, told_rows(part, laws), fillvalue=""):
        hints = meant.startswith(HINTED) and found.startswith(f"{meant} ")
        if found != meant and not hints:
            difference = f"{found[:60]!r}, not {meant[:60]!r}"
            raise Unsupported(f"the formal checker decided another problem: {difference}", "formal")


def compared_step(part: FormalPart, law: Law) -> KnownStep | None:
    """The step that the program itself finds a kind's integer law above (below)."""
    return compared(law, part.order, part.side, part.bits, by_law=bool(part.kinds))


_RUN = 'ulimit -v "$1"; ulimit -s unlimited 2>/dev/null || ulimit -s "$(ulimit -H -s)"; exec "$0"'
"""A shell's words: so much memory, and all of it for the stack."""


@proved_by("T122-formal-checker")
def is_accepted(part: FormalPart, laws: Sequence[Law], checker: Program | None = None) -> bool:
    """Whether the extracted checker accepts. Raises Unsupported where it does not end, or decided another problem."""
    text = "\n".join(map(str, problem_words(part, laws))) + "\n"
    found = checker(text) if callable(checker) else _run(text, checker_path(checker))
    *rows, answer = found.splitlines() or [""]
    check_told(rows, part, laws)
    return answer == "accepted"


def _run(text: str, program: Path) -> str:
    """What a program on this machine answers."""
    command = ["/bin/sh", "-c", _RUN, str(program), str(MAX_MEMORY << 10)]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unsupported(f"the formal checker did not finish: {error}", "formal") from None
    if (done.returncode, *done.stdout.splitlines()[-1:]) not in ((0, "accepted"), (1, "rejected")):
        raise Unsupported(f"the formal checker failed: {done.stderr.strip()[:200]}", "formal")
    return done.stdout


# ---------- the whole part ----------


def check_formally(data: bytes, checker: Program | None = None) -> Check:
    """What `verify_formal` says of the bytes of a certificate; what proves less than it says is refused."""
    try:
        return verify_formal(read_document(data), checker)
    except InvalidCertificate as error:
        return refused(error)


@alone
def verify_formal(document: Document, checker: Program | None = None) -> Check:
    """Check the formal part of a certificate that is valid otherwise; `checker` is another program.

    Raises InvalidCertificate where it proves less than it says, Unsupported where there is none.
    """
    if "formal" not in document:
        raise Unsupported("the certificate has no formal part: `certify --formal` writes one", "formal")
    spec = read_spec(document)
    if spec.claim is None:
        raise InvalidCertificate("claim", "is missing")
    parts = read_parts(document["formal"])
    losses = {loss.order: loss for loss in privacy_losses(spec.composition, spec.relation)}
    check_purpose(document["verdict"], spec.claim, parts, losses)
    refuted = document["verdict"] == "refuted"
    claimed = [(attained_laws if refuted else stated_laws)(spec, part.order) for part in parts]
    laws = [_check_part(part, losses[part.order], stated, f"formal[{index}]", checker)
            for index, (part, stated) in enumerate(zip(parts, claimed, strict=True))]
    points = ", ".join(f"{part.order} {part.side} with {part.points} points" for part in parts)
    program = f"the program {checker_path(checker)}" if isinstance(checker, str) else "the checker extracted from Coq"
    found = all(compared_step(part, law) for part, used in zip(parts, laws, strict=True) for law, _ in used)
    if laws == claimed:
        known = TRUST_ATTAINED if refuted else TRUST_SAMPLED
    elif is_covered(spec, losses, parts, refuted=refuted):
        known = TRUST_REFUTED if refuted else TRUST_SAMPLED
    else:
        known = TRUST_LOSSES
    trust = known if found else TRUST
    return Check(True, document["verdict"], None, f"composition in integers accepted by {program} ({points}). {trust}")


def is_covered(spec: Spec, losses: Mapping[str, ComposedLoss], parts: Sequence[FormalPart], *, refuted: bool) -> bool:
    """Whether the Coq theorems speak of the mechanism, by the losses of its steps.

    Gaussians, none sampled, for groups too; all sampled; all on batches of a fixed size; one mu-GDP step; Renyi
    divergences. From below: plain Gaussians by one event alone, and sampled ones; Laplace noise of one scale on a
    number; discrete noise on one.
    """
    steps = [step for step, _ in spec.composition.parts]
    if all(isinstance(step, Gaussian) for step in steps):
        return not (refuted and any(part.kinds for part in parts))
    if all(type(step) in (DiscreteLaplace, DiscreteGaussian) for step in steps):
        return refuted
    if all(type(step) is Laplace for step in steps):
        return refuted and len({step.scale for step in steps if type(step) is Laplace}) == 1
    grouped = all(isinstance(step, Grouped) and isinstance(step.mechanism, Gaussian) for step in steps)
    told = [(type(step), count) for step, count in spec.composition.parts] == [(GaussianDP, 1)]
    known = all(isinstance(law, ZCDPLoss | RenyiLoss) for loss in losses.values() for law, _ in loss.laws)
    if grouped or told or (known and all(isinstance(step, ZCDP | Renyi) for step in steps)):
        return not refuted
    beside = any(loss.mean_shift_squared for loss in losses.values())  # sampled always
    if all(isinstance(step, WithoutReplacement) for step in steps):
        return not (beside or refuted) and spec.relation in (Relation.REPLACE, Relation.ZERO_OUT)
    return not beside and all(isinstance(step, PoissonSampled) and isinstance(step.mechanism, Gaussian)
                              for step in steps)


@proved_by("T122-formal-checker")
def check_purpose(verdict: str, claim: Claim, parts: list[FormalPart], losses: Mapping[str, ComposedLoss]) -> None:
    """The parts' bounds must show the verdict: every order is above if proved, some order is below if refuted."""
    for index, part in enumerate(parts):
        if part.order not in losses or part.epsilon != claim.epsilon:
            raise InvalidCertificate(f"formal[{index}]", "must be about an order of the pair at the claimed epsilon")
        if part.side != ("below" if verdict == "refuted" else "above"):
            raise InvalidCertificate(f"formal[{index}].side", f"must be the verdict's ({verdict})")
    proved = {part.order for part in parts if part.delta <= claim.delta}
    refuted = any(part.delta > claim.delta for part in parts)
    if not (proved == set(losses) if verdict == "proved" else refuted and verdict == "refuted"):
        raise InvalidCertificate("formal", f"the bounds do not show the verdict ({verdict})")


Laws = tuple[tuple[Law, int], ...]
"""With their counts."""


def _check_part(part: FormalPart, loss: ComposedLoss, stated: Laws, path: str, checker: Program | None) -> Laws:
    """The laws that its kinds are above (below): those of the steps as stated, or those of the composition."""
    laws = stated if _is_above_all(part, stated) or (stated and not part.kinds) else merged(loss.laws)
    alone = not part.kinds and [count for _, count in laws] == [1] and compared_step(part, laws[0][0]) is not None
    if [kind.count for kind in part.kinds] != [count for _, count in laws] and not alone:
        raise InvalidCertificate(f"{path}.kinds", f"counts must be {', '.join(str(count) for _, count in laws)}")
    if laws is not stated:
        for index, (kind, (law, _)) in enumerate(zip(part.kinds, [] if alone else laws, strict=True)):
            _check_kind(part, kind, law, f"{path}.kinds[{index}].masses")
    if not is_accepted(part, [law for law, _ in laws], checker):
        raise InvalidCertificate(path, "rejected by the formal checker")
    return laws


def _is_above_all(part: FormalPart, laws: Laws) -> bool:
    if not laws or part.side == "below" or [kind.count for kind in part.kinds] != [count for _, count in laws]:
        return False
    try:
        return all(is_above(part, kind, law) for kind, (law, _) in zip(part.kinds, laws, strict=True))
    except (InvalidInput, ArithmeticError, ValueError):
        return False


def _check_kind(part: FormalPart, kind: Kind, law: Law, path: str) -> None:
    try:
        bounds = is_above(part, kind, law) if part.side == "above" else is_below(part, kind, law)
    except (InvalidInput, ArithmeticError, ValueError) as error:
        raise InvalidCertificate(path, f"cannot be compared: {error}") from None
    if not bounds:
        raise InvalidCertificate(path, f"not {part.side} the law of one step")
