"""One step's dominating pair in one order: in words with its theorem, and as a law; Unsupported without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from verified_dp.core.families.table import by_family
from verified_dp.core.kernel.composition import Mechanism, Relation
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.theorems import proved_by

if TYPE_CHECKING:
    from verified_dp.core.kernel.composed import ComposedLoss


@dataclass(frozen=True)
class DominatingPair:
    """One step's pair in one order, in words, its theorems, and whether data sets of the relation realise it.

    tight: compositions of the pair are attained by data sets of the relation; else the pair only bounds from above.
    """

    order: str
    P: str
    Q: str
    theorems: tuple[str, ...]
    tight: bool

    @property
    def is_attained(self) -> bool:
        """Whether lower ends hold for data sets of the relation."""
        return self.tight


@dataclass(frozen=True)
class Step:
    """One step in one order: its law, or the squared mean shift of a Gaussian, or neither (nothing is revealed).

    copies: how many independent copies of the law the step consists of. composed: where more is known of a
    composition with such steps than its loss says, what is made of both.
    """

    pair: DominatingPair
    law: Law | None = None
    shift_squared: Fraction = Fraction(0)
    copies: int = 1
    composed: Callable[[ComposedLoss, Sequence[tuple[Step, int]]], ComposedLoss] | None = None


def pair_in_order(order: str, P: str, Q: str, *theorems: str, tight: bool = True) -> DominatingPair:
    """P and Q as of the remove order: swapped in the add order."""
    first, second = (Q, P) if order == "add" else (P, Q)
    return DominatingPair(order, first, second, theorems, tight)


def refuse(what: str, relation: Relation, reason: str) -> NoReturn:
    raise Unsupported(f"{what} under {relation}: {reason}", "relation")


@by_family
def step_of(mechanism: object, order: str, relation: Relation) -> Step:
    """The step in that order of the relation; Unsupported where no theorem covers it."""
    raise Unsupported(f"no dominating pair is proven for {type(mechanism).__name__}")


@step_of.register
@proved_by("T23-pair-gaussian")
def _gaussian(mechanism: Gaussian, order: str, relation: Relation) -> Step:
    shift = mean_distance(mechanism, relation)
    theorems = ("T23-pair-gaussian", *zero_out(relation))
    return Step(DominatingPair(order, f"N({shown(shift)}, 1)", "N(0, 1)", theorems, True), shift_squared=shift**2)


def mean_distance(mechanism: Gaussian, relation: Relation) -> Fraction:
    """Distance between the two means in units of sigma, before any sampling.

    One norm per record that contributes: 1 / noise_multiplier, under replace 2 / noise_multiplier;
    sensitivity / sigma in the other form, where the sensitivity is already that of the relation.
    """
    if mechanism.noise_multiplier is not None:
        return (2 if relation is Relation.REPLACE else 1) / mechanism.noise_multiplier
    return Fraction(mechanism.sensitivity or 0) / Fraction(mechanism.sigma or 1)  # both are set in this form


def zero_out(relation: Relation) -> tuple[str, ...]:
    """What is needed besides the pair of add or remove."""
    return _no_record() if relation is Relation.ZERO_OUT else ()


@proved_by("T24-pair-zero-out")
def _no_record() -> tuple[str, ...]:
    """A record that contributes zero is no record: the pairs of add or remove dominate zero-out too."""
    return ("T24-pair-zero-out",)


def with_theorem(step: Step, theorem: str) -> Step:
    return replace(step, pair=replace(step.pair, theorems=(*step.pair.theorems, theorem)))


@by_family
def expanded(mechanism: Mechanism, count: int) -> Iterator[tuple[object, int]]:
    """What `count` runs of a mechanism are composed of, as far as its pair is concerned."""
    yield mechanism, count
