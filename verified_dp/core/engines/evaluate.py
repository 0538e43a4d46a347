"""The door to the kernel: a composed loss and a witness in, values that do not depend on eps, then bounds at any eps.

    values = evaluate(loss, witness)
    bounds = enclose_delta(values, epsilon)
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.balls import BOUND_BITS, ball, lower_end, upper_end
from verified_dp.core.bounds import Bounds
from verified_dp.core.engines.chernoff import ChernoffWitness, bound_delta
from verified_dp.core.engines.closed import ClosedFormWitness, enclose_closed_form, has_closed_form
from verified_dp.core.engines.contour import LineValues, LineWitness, check_line, enclose_on_line, evaluate_line
from verified_dp.core.engines.grid import nothing
from verified_dp.core.engines.lattice import (
    LatticeValues,
    LatticeWitness,
    check_lattice,
    enclose_on_lattice,
    evaluate_lattice,
)
from verified_dp.core.engines.panels import PanelValues, PanelWitness, check_path, enclose_on_path, evaluate_path
from verified_dp.core.engines.renyi import RenyiValues, RenyiWitness, bound_on_order, check_order, evaluate_order
from verified_dp.core.engines.sparse import (
    SparseValues,
    SparseWitness,
    check_sparse,
    enclose_on_frequencies,
    evaluate_sparse,
)
from verified_dp.core.errors import InvalidInput
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.core.theorems import proved_by


@dataclass(frozen=True)
class SupportWitness:
    """Nothing to choose: delta is exactly 0 past the largest possible loss. prec: the bits of the comparison."""

    prec: int


Witness = (LineWitness | PanelWitness | LatticeWitness | SparseWitness | ClosedFormWitness | ChernoffWitness
           | SupportWitness | RenyiWitness)

MAX_BITS = 10**6
"""No witness may ask for more bits: a guard against witnesses from outside."""


@dataclass(frozen=True)
class DirectValues:
    """A witness whose evaluation has no part that is independent of eps."""

    loss: ComposedLoss
    witness: ClosedFormWitness | ChernoffWitness | SupportWitness


Values = LineValues | PanelValues | LatticeValues | SparseValues | RenyiValues | DirectValues


def evaluate(loss: ComposedLoss, witness: Witness, between: Callable[[], None] = nothing) -> Values:
    """Do the work that does not depend on eps. Raises InvalidInput where a witness breaks a side condition.

    between: called now and then during the lattice's long work; what it raises gives the work up.
    """
    if not 2 <= witness.prec <= MAX_BITS:
        raise InvalidInput("witness.prec", witness.prec, f"between 2 and {MAX_BITS} bits")
    if isinstance(witness, RenyiWitness):
        _require(check_order(witness, len(loss.node_parts)), witness)
        return evaluate_order(loss, witness)
    _require(not loss.only_moments or isinstance(witness, SupportWitness), witness)
    if isinstance(witness, LineWitness):
        _require(loss.has_transform and check_line(witness, len(loss.node_parts)), witness)
        return evaluate_line(loss, witness)
    if isinstance(witness, PanelWitness):
        node_parts_alone = loss.has_transform and not loss.direct_parts
        _require(node_parts_alone and check_path(witness, len(loss.parts)), witness)
        return evaluate_path(loss, witness)
    if isinstance(witness, LatticeWitness):
        _require(check_lattice(witness, [count for _, count in loss.laws]), witness)
        return evaluate_lattice(loss, witness, between)
    if isinstance(witness, SparseWitness):
        _require(check_sparse(witness, len(loss.laws)), witness)
        return evaluate_sparse(loss, witness, between)
    if isinstance(witness, ClosedFormWitness):
        _require(has_closed_form(loss), witness)
    if isinstance(witness, ChernoffWitness):
        _require(witness.exponent > 0 and len(witness.nodes) == len(loss.node_parts) and loss.has_transform, witness)
    return DirectValues(loss, witness)


def _require(condition: bool, witness: Witness) -> None:
    if not condition:
        raise InvalidInput("witness", type(witness).__name__, "a witness that meets its side conditions")


def enclose_delta(values: Values, epsilon: Fraction) -> Bounds:
    """Enclose delta(eps) of the loss that was evaluated."""
    if isinstance(values, LineValues):
        return enclose_on_line(values, epsilon)
    if isinstance(values, PanelValues):
        return enclose_on_path(values, epsilon)
    if isinstance(values, LatticeValues):
        return enclose_on_lattice(values, epsilon)
    if isinstance(values, SparseValues):
        return enclose_on_frequencies(values, epsilon)
    if isinstance(values, RenyiValues):
        return bound_on_order(values, epsilon)
    if isinstance(values.witness, ClosedFormWitness):
        return enclose_closed_form(values.loss, values.witness, epsilon)
    if isinstance(values.witness, ChernoffWitness):
        return bound_delta(values.loss, values.witness, epsilon)
    return enclose_past_support(values.loss, epsilon, values.witness.prec)


@proved_by("T07-ends")
def enclose_past_support(loss: ComposedLoss, epsilon: Fraction, prec: int = BOUND_BITS) -> Bounds:
    """delta(eps) is the infinity mass where eps is at least the largest finite loss; else at least that, at most 1."""
    with ctx.workprec(prec):
        exact, infinity_mass = loss.largest_loss(), loss.enclose_infinity_mass()
        largest = loss.enclose_largest_loss() if exact is None else None
        past = epsilon >= exact if exact is not None else largest is not None and bool(ball(epsilon) >= largest)
        upper = upper_end(infinity_mass).min(arb(1)) if past else arb(1)
        return Bounds(lower_end(infinity_mass).max(arb(0)), upper, {})
