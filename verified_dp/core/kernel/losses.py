"""From what was run to the relation's dominating pairs, each with its theorem, and to their privacy losses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction

from flint import fmpz

from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Composition, Relation
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.steps import DominatingPair, Step, expanded, step_of
from verified_dp.core.kernel.theorems import proved_by

ORDERS = {
    Relation.ADD_OR_REMOVE: ("remove", "add"),
    Relation.ZERO_OUT: ("remove", "add"),
    Relation.REMOVE: ("remove",),
    Relation.ADD: ("add",),
    Relation.REPLACE: ("symmetric",),
}
"""The orders in which a relation's pair is composed; where there are two, the larger delta is the answer (T25)."""


def _steps(composition: Composition, order: str, relation: Relation) -> Iterator[tuple[Step, int]]:
    for mechanism, count in composition.merged():
        for part, times in expanded(mechanism, count):
            yield step_of(part, order, relation), times


@proved_by("T25-composition")
def pairs_and_losses(composition: Composition,
                     relation: Relation) -> tuple[tuple[DominatingPair, ...], tuple[ComposedLoss, ...]]:
    """The pair of every step in every order of the relation, without repetitions; the whole's loss in each order."""
    found = {order: list(_steps(composition, order, relation)) for order in ORDERS[relation]}
    pairs = dict.fromkeys(step.pair for steps in found.values() for step, _ in steps)
    return tuple(pairs), tuple(compose_steps(order, steps) for order, steps in found.items())


@proved_by("T25-composition")
def describe_pairs(composition: Composition, relation: Relation) -> tuple[DominatingPair, ...]:
    """The first of `pairs_and_losses`."""
    return pairs_and_losses(composition, relation)[0]


@proved_by("T25-composition")
def privacy_losses(composition: Composition, relation: Relation) -> tuple[ComposedLoss, ...]:
    """The second of `pairs_and_losses`."""
    return pairs_and_losses(composition, relation)[1]


@proved_by("T15-gaussian", "T07-ends")
def compose_steps(order: str, steps: Iterable[tuple[Step, int]]) -> ComposedLoss:
    """Plain Gaussians merge into one (T15); equal laws share a count, so equal steps are one step with a count."""
    laws: dict[Law, int] = {}
    shift_squared, special = Fraction(0), list[tuple[Step, int]]()
    for step, count in steps:
        shift_squared += count * step.shift_squared
        if step.law is not None:
            laws[step.law] = laws.get(step.law, 0) + count * step.copies
        if step.composed is not None:
            special.append((step, count))
    parts = tuple(sorted(laws.items(), key=_sort_key) if len(laws) > 1 else laws.items())  # exact: text
    loss = ComposedLoss(order, parts, shift_squared)
    return special[0][0].composed(loss, special) if special and special[0][0].composed else loss


def _sort_key(item: tuple[Law, int]) -> tuple[str, str]:
    """By kind, then by parameters: any fixed rule that the writer and the checker of a certificate share."""
    law, _ = item
    return type(law).__name__, _words(law)


def _words(value: object) -> str:
    """`repr` of a law, also where Python refuses to print its numbers because they have more than 4300 digits."""
    if isinstance(value, Fraction):
        return f"Fraction({fmpz(value.numerator)}, {fmpz(value.denominator)})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_words, value))}{',' * (len(value) == 1)})"
    if is_dataclass(value):
        named = (f"{field.name}={_words(getattr(value, field.name))}" for field in fields(value))
        return f"{type(value).__qualname__}({', '.join(named)})"
    return repr(value)
