"""What every engine offers: a witness, and the one protocol by which it is evaluated on a composed loss.

    values = evaluate(loss, witness)     the work that does not depend on eps
    bounds = values.delta(epsilon)       cheap, at any eps

A witness is what a search chose. Whatever it chose, the bounds hold: a bad witness costs width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import ClassVar, Protocol

from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.work import Work, nothing


class Values(Protocol):
    """A loss that a witness was evaluated on."""

    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose delta(eps), any real eps."""


class Witness(Protocol):
    """A frozen dataclass of exact numbers: what a certificate records of an evaluation.

    kind: its name in certificates. method: that of the method which it belongs to.
    """

    kind: ClassVar[str]
    method: ClassVar[str]

    @property
    def prec(self) -> int:
        """The bits of the evaluation."""

    def applies(self, loss: ComposedLoss) -> bool:
        """Whether all side conditions hold that are plain comparisons of exact numbers."""

    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> Values:
        """Do the work that does not depend on eps, for a loss that the witness applies to."""

    def work(self, loss: ComposedLoss) -> Work:
        """What evaluating takes, from counts alone, for any witness whatever."""


class Earlier(Protocol):
    """A frozen dataclass of the fields that a witness of an earlier kind was recorded with.

    kind, method: as recorded. sources: names of its error budget that have another name today.
    """

    kind: ClassVar[str]
    method: ClassVar[str]
    sources: ClassVar[Mapping[str, str]]

    def now(self) -> Witness:
        """A witness of today that makes the same statement. Raises Unsupported where there is none."""


MAX_BITS = 10**6
"""No witness may ask for more bits: a guard against witnesses from outside."""


def evaluate(loss: ComposedLoss, witness: Witness, between: Callable[[], None] = nothing) -> Values:
    """Evaluate a witness on a loss. Raises InvalidInput where the witness breaks a side condition.

    between: called now and then during long work; what it raises gives the work up.
    """
    if not 2 <= witness.prec <= MAX_BITS:
        raise InvalidInput("witness.prec", witness.prec, f"between 2 and {MAX_BITS} bits")
    if not witness.applies(loss):
        raise InvalidInput("witness", type(witness).__name__, "a witness that meets its side conditions")
    return loss.read(witness, witness.evaluate(loss, between))
