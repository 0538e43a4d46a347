"""TRUSTED. The formal part of a certificate: a composition in integers, checked by a program extracted from Coq.

The part says, for one order of the composition and one side: this integer law of one step is above (below) the
mechanism's; its k-fold composition has a delta(eps) of at most (at least) the bound. The first is proved here in
ball arithmetic (T120, T121), the second by the program that proofs/coq/Link.v proves right (T122).
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from flint import arb, ctx

from verified_dp.core.certificate.check import Check
from verified_dp.core.certificate.document import Document, check_equal, check_keys
from verified_dp.core.certificate.statement import read_spec
from verified_dp.core.certificate.witness import number_text, read_number
from verified_dp.core.composition import Claim
from verified_dp.core.engines.grid import LawGrid, enclose_step
from verified_dp.core.errors import InvalidCertificate, InvalidInput, Unsupported
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.core.laws.law import Law
from verified_dp.core.locks import alone
from verified_dp.core.pairs.losses import privacy_losses
from verified_dp.core.theorems import proved_by

SIDES = ("above", "below")
MAX_POINTS = 2**18
MAX_INDEX = 2**26
MAX_BITS = 4096
MAX_WORK = 2**28
"""Points times bits of precision; known certificates need 2^24."""
MAX_SECONDS = 600
"""Of the extracted program; known parts take seconds, the largest of 16000 points about a minute."""
MAX_MEMORY = 4096
"""Megabytes of the extracted program."""
CHECKER = Path(__file__).resolve().parents[2] / "proofs" / "coq" / "build" / "formal-checker"
HASH = CHECKER.with_suffix(".sha256")
"""What `make proofs` writes beside the program that it built: its sha256."""

TRUST = (
    "Trusted: that the one-step integer law bounds the mechanism (this package's ball arithmetic, T120, T121), "
    "that the losses of the pair compose (T25), Coq's kernel and extraction, the OCaml compiler and zarith."
)
"""What remains trusted after a formal check."""


@dataclass(frozen=True)
class Product:
    """A hint for one product: its window, and the sum of the masses and the mass at infinity found in it."""

    first: int
    last: int
    sum: int
    infinity: int


@dataclass(frozen=True)
class FormalPart:
    """masses[i] 2^-bits at the loss (low + i) step, infinity 2^-bits at infinity: the law of one of `count` steps.

    side: above says delta(epsilon) <= bound 2^-bits, below says >=. prec: bits of the ball arithmetic that compares.
    """

    order: str
    side: str
    epsilon: Fraction
    count: int
    step: Fraction
    bits: int
    prec: int
    low: int
    infinity: int
    masses: tuple[int, ...]
    products: tuple[Product, ...]
    bound: int

    @property
    def delta(self) -> Fraction:
        """The bound."""
        return Fraction(self.bound, 1 << self.bits)


# ---------- as plain data ----------


def part_record(part: FormalPart) -> Document:
    """The part as plain data; integers that may be long are text."""
    return {
        "order": part.order,
        "side": part.side,
        "epsilon": number_text(part.epsilon),
        "count": part.count,
        "step": number_text(part.step),
        "bits": part.bits,
        "prec": part.prec,
        "low": part.low,
        "infinity": str(part.infinity),
        "masses": [str(mass) for mass in part.masses],
        "products": [[p.first, p.last, str(p.sum), str(p.infinity)] for p in part.products],
        "bound": str(part.bound),
    }


def read_parts(found: Any) -> list[FormalPart]:
    """All formal parts, in canonical form only."""
    if type(found) is not list or not 0 < len(found) <= 4:
        raise InvalidCertificate("formal", "must be a list of one to four parts")
    return [_read_part(table, f"formal[{index}]") for index, table in enumerate(found)]


_KEYS = ("order", "side", "epsilon", "count", "step", "bits", "prec", "low", "infinity", "masses", "products", "bound")


def _read_part(table: Any, path: str) -> FormalPart:
    check_keys(table, _KEYS, path)
    masses, products = table["masses"], table["products"]
    if type(masses) is not list or not 2 < len(masses) <= MAX_POINTS or type(products) is not list:
        raise InvalidCertificate(f"{path}.masses", f"masses and products must be lists, of 3 to {MAX_POINTS} masses")
    part = FormalPart(
        table["order"], table["side"], read_number(table["epsilon"], f"{path}.epsilon"),
        _small(table["count"], f"{path}.count", 1, 10**12), read_number(table["step"], f"{path}.step"),
        _small(table["bits"], f"{path}.bits", 1, MAX_BITS), _small(table["prec"], f"{path}.prec", 2, 4 * MAX_BITS),
        _small(table["low"], f"{path}.low", -MAX_INDEX, MAX_INDEX), _natural(table["infinity"], f"{path}.infinity"),
        tuple(_natural(text, f"{path}.masses[{i}]") for i, text in enumerate(masses)),
        tuple(_read_product(row, f"{path}.products[{i}]") for i, row in enumerate(products)),
        _natural(table["bound"], f"{path}.bound"))
    if type(part.order) is not str or part.side not in SIDES:
        raise InvalidCertificate(path, "order must be text, and side above or below")
    if part.step <= 0 or abs(part.epsilon / part.step) > MAX_INDEX:
        raise InvalidCertificate(path, "step must be positive, and epsilon not too many steps")
    if len(part.masses) * part.prec > MAX_WORK:
        raise InvalidCertificate(path, f"more than {MAX_WORK} bits to compare")
    check_equal(part_record(part), table, path, "not in canonical form")
    return part


def _read_product(row: Any, path: str) -> Product:
    if type(row) is not list or len(row) != 4:
        raise InvalidCertificate(path, "must be a list: first, last, sum, infinity")
    first, last = (_small(index, path, -MAX_INDEX, MAX_INDEX) for index in row[:2])
    if not first <= last < first + MAX_POINTS:
        raise InvalidCertificate(path, f"must be a window of at most {MAX_POINTS} points")
    return Product(first, last, _natural(row[2], path), _natural(row[3], path))


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
def is_above(part: FormalPart, law: Law) -> bool:
    """Whether every integer mass is at least that of the dominating law on the same grid (T26), in balls."""
    with ctx.workprec(part.prec):
        found, scale = enclose_step(law, _grid(part), part.step, part.bits), arb((1, part.bits))
        masses = all(mass >= scale * least for mass, least in zip(map(arb, part.masses), found.above, strict=True))
        return masses and bool(arb(part.infinity) >= scale * found.infinity_above)


@proved_by("T121-integer-law-below")
def is_below(part: FormalPart, law: Law) -> bool:
    """Whether no integer mass exceeds that of the dominated law on the same grid (T27), in balls."""
    with ctx.workprec(part.prec):
        found, scale = enclose_step(law, _grid(part), part.step, part.bits), arb((1, part.bits))
        masses = all(mass <= scale * most for mass, most in zip(map(arb, part.masses), found.below, strict=True))
        return masses and bool(arb(part.infinity) <= scale * found.infinity)


def _grid(part: FormalPart) -> LawGrid:
    grid = LawGrid(part.low, ((len(part.masses) - 1, 1),))
    if not grid.is_proper():
        raise InvalidInput("low", part.low, "negative")
    return grid


def single_law(loss: ComposedLoss) -> tuple[Law, int]:
    """The law of every step, and how many there are. Raises Unsupported where steps differ."""
    if len(loss.laws) != 1:
        raise Unsupported("the formal checker composes one kind of step; this composition has several", "formal")
    return loss.laws[0]


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


def problem_words(part: FormalPart) -> Iterator[int | str]:
    """What the extracted program reads."""
    numbers = (part.count, part.epsilon.numerator, part.epsilon.denominator, part.step.numerator, part.step.denominator)
    yield part.side
    yield from [part.bits, *numbers, part.low, part.infinity, len(part.masses), *part.masses]
    yield len(part.products)
    for hint in part.products:
        yield from [hint.first, hint.last, hint.sum, hint.infinity]
    yield part.bound


_RUN = 'ulimit -v "$1"; ulimit -s unlimited 2>/dev/null || ulimit -s "$(ulimit -H -s)"; exec "$0"'
"""A shell's words: so much memory, and all of it for the stack."""


@proved_by("T122-formal-checker")
def is_accepted(part: FormalPart, checker: str | None = None) -> bool:
    """Whether the extracted checker accepts. Raises Unsupported where it cannot run to its end."""
    text = "\n".join(map(str, problem_words(part))) + "\n"
    command = ["/bin/sh", "-c", _RUN, str(checker_path(checker)), str(MAX_MEMORY << 10)]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unsupported(f"the formal checker did not finish: {error}", "formal") from None
    answer = done.returncode, done.stdout.strip()
    if answer not in ((0, "accepted"), (1, "rejected")):
        raise Unsupported(f"the formal checker failed: {done.stderr.strip()[:200]}", "formal")
    return answer == (0, "accepted")


# ---------- the whole part ----------


@alone
def verify_formal(document: Document, checker: str | None = None) -> Check:
    """Check the formal part of a certificate that is valid otherwise; `checker` is the path of another program.

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
    for index, part in enumerate(parts):
        _check_part(part, losses[part.order], f"formal[{index}]", checker)
    points = ", ".join(f"{part.order} {part.side} with {len(part.masses)} points" for part in parts)
    program = "the checker extracted from Coq" if checker is None else f"the program {checker_path(checker)}"
    reason = f"composition in integers accepted by {program} ({points}). {TRUST}"
    return Check(True, document["verdict"], None, reason)


@proved_by("T122-formal-checker")
def check_purpose(verdict: str, claim: Claim, parts: list[FormalPart], losses: Mapping[str, ComposedLoss]) -> None:
    """The parts' bounds must show the verdict: every order is above if proved, some order is below if refuted."""
    for index, part in enumerate(parts):
        if part.order not in losses or part.epsilon != claim.epsilon:
            raise InvalidCertificate(f"formal[{index}]", "must be about an order of the pair at the claimed epsilon")
    proved = {part.order for part in parts if part.side == "above" and part.delta <= claim.delta}
    refuted = any(part.side == "below" and part.delta > claim.delta for part in parts)
    if not (proved == set(losses) if verdict == "proved" else refuted and verdict == "refuted"):
        raise InvalidCertificate("formal", f"the bounds do not show the verdict ({verdict})")


def _check_part(part: FormalPart, loss: ComposedLoss, path: str, checker: str | None) -> None:
    law, count = single_law(loss)
    if part.count != count:
        raise InvalidCertificate(f"{path}.count", f"must be {count}")
    try:
        bounds = is_above(part, law) if part.side == "above" else is_below(part, law)
    except (InvalidInput, ArithmeticError, ValueError) as error:
        raise InvalidCertificate(f"{path}.masses", f"cannot be compared: {error}") from None
    if not bounds:
        raise InvalidCertificate(f"{path}.masses", f"not {part.side} the law of one step")
    if not is_accepted(part, checker):
        raise InvalidCertificate(path, "rejected by the formal checker")
