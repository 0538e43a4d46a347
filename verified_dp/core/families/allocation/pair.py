"""Dominating pairs of random allocation: a record in some rounds of an epoch (T130, T133)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.families.allocation.mechanism import RandomAllocation
from verified_dp.core.families.allocation.random_allocation import RandomAllocationLoss
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.exact import SquareRoot, square, square_root
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.steps import Step, expanded, pair_in_order, refuse, step_of
from verified_dp.core.kernel.theorems import proved_by

THEOREM = "T130-participation-patterns"

LEAST, LARGEST = Fraction(1, 20), 256
"""Beyond such noise multipliers the transform takes too many nodes, or too many bits: the place is given away."""


@dataclass(frozen=True)
class Placement:
    """A record in one of `rounds` Gaussian steps of that noise; tight: this is all that is known of the record."""

    noise_multiplier: Fraction | SquareRoot
    rounds: int
    tight: bool


@expanded.register
@proved_by("T130-participation-patterns", "T133-random-allocation")
def _allocated(mechanism: RandomAllocation, count: int) -> Iterator[tuple[Placement, int]]:
    """picks blocks of rounds, one pick in each; batches that are kept are less noise, sigma / sqrt(count)."""
    noise: Fraction | SquareRoot = Fraction(mechanism.mechanism.noise_multiplier or 0)
    if mechanism.fixed:
        noise, count = square_root(square(noise) / count), 1
    size, longer = divmod(mechanism.rounds, mechanism.picks)
    for rounds, blocks in ((size + 1, longer), (size, mechanism.picks - longer)):
        if blocks:
            yield Placement(noise, rounds, mechanism.picks in (1, mechanism.rounds)), blocks * count


@step_of.register
@proved_by("T130-participation-patterns", "T133-random-allocation")
def _placed(mechanism: Placement, order: str, relation: Relation) -> Step:
    """One round is the plain Gaussian, and bounds any number of them."""
    if order == "symmetric":
        refuse("random allocation", relation, "no theorem covers two records that both contribute; use add-or-remove")
    s, t = mechanism.noise_multiplier, mechanism.rounds
    known = t == 1 or not LEAST**2 <= square(s) <= LARGEST**2
    variance = f"({shown(square(s))}) I"
    pair = pair_in_order(order, f"N(1, {variance})" if known else f"N(e_j, {variance}) with j uniform on 1..{t}",
                         f"N(0, {variance})", THEOREM, "T133-random-allocation",
                         tight=mechanism.tight and t * known <= 1)
    if known:
        return Step(pair, shift_squared=1 / square(s))
    return Step(pair, RandomAllocationLoss(t, s, order))
