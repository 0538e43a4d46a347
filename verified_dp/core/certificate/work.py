"""What checking a witness costs, from its counts alone: a certificate from outside must not hang its checker.

One unit of work is a product of two 64-bit complex balls in a matrix product, about 0.1 microseconds on a machine
of 2024 (0.07 to 0.12 measured from 64 to 40000 bits). The largest evaluations of known hard cases (tens of
thousands of frequencies at q = .001 and s = .3; k = 5 at q = .01 and s = .5; 200 digits) need 10^7 to 2 * 10^8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch
from typing import NamedTuple

from verified_dp.core.certificate.law_cost import law_cost, words
from verified_dp.core.engines.chernoff import ChernoffWitness
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.evaluate import SupportWitness, Witness
from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.engines.panels import PanelWitness
from verified_dp.core.engines.renyi import RenyiWitness
from verified_dp.core.engines.sparse import SparseWitness
from verified_dp.core.errors import InvalidCertificate
from verified_dp.core.laws.composed import ComposedLoss

MAX_PRECISION = 50_000
"""Bits; 1000 digits, the most the command line gives, need under 10^4."""
MAX_WORK = 4 * 10**9
"""Units for a whole certificate: five to ten minutes, twenty times the largest known one."""
MAX_MEMORY = 2**31
"""Bytes of any one evaluation."""
MAX_POINTS = 2048
"""Gauss-Legendre points of a panel; searches use 16 to 128. A root costs some products per point."""

_EXPONENTIAL = 64  # units: about what exp of a ball, or a power of a transform, costs beside a product
_BOUND_WORDS = 1  # one-sided bounds are evaluated with 64 bits


class Cost(NamedTuple):
    """Units of work, and bytes held at once."""

    work: int
    memory: int


def check_costs(evaluations: Iterable[tuple[ComposedLoss, Witness]], path: str = "evaluations") -> None:
    """InvalidCertificate where a witness asks for too much, or all together do. Nothing is evaluated."""
    total = 0
    for index, (loss, witness) in enumerate(evaluations):
        if not 2 <= witness.prec <= MAX_PRECISION:
            raise InvalidCertificate(
                f"{path}[{index}].witness.prec", f"must be from 2 to {MAX_PRECISION} bits"
            )
        cost = cost_of(witness)
        total += cost.work + law_cost(loss, witness)
        if total > MAX_WORK or cost.memory > MAX_MEMORY:
            raise InvalidCertificate(
                f"{path}[{index}].witness", "takes more work or memory than a check may use"
            )


def _entry_bytes(prec: int) -> int:
    """Of a complex ball in a Python list and in a matrix."""
    return 400 + prec // 2


def _nodes(rules: Iterable[NodeRule]) -> int:
    """Nodes, and cells where there are more of these."""
    return sum(max(abs(rule.last - rule.first) + 1, abs(rule.cells)) for rule in rules)  # exact: integers


@singledispatch
def cost_of(witness: Witness) -> Cost:
    """The cost of evaluating delta with a witness at one eps."""
    raise TypeError(f"no cost is known for {type(witness).__name__}")


@cost_of.register
def _(witness: LineWitness) -> Cost:
    nodes, frequencies = _nodes(witness.nodes), abs(witness.count) + 1
    side = 1 << (frequencies.bit_length() + 1) // 2  # at least the square root of the frequencies
    products = nodes * frequencies + _EXPONENTIAL * (nodes + frequencies * (len(witness.nodes) + 1))
    bounds = 8 * _EXPONENTIAL * (_nodes(witness.tail_nodes) + nodes)
    entries = 2 * nodes * side + 4 * frequencies
    return Cost(products * words(witness.prec) + bounds * _BOUND_WORDS, entries * _entry_bytes(witness.prec))


@cost_of.register
def _(witness: PanelWitness) -> Cost:
    parts = list(_block_costs(witness))
    bounds = 8 * _EXPONENTIAL * _nodes(witness.ray_nodes)
    return Cost(sum(part.work for part in parts) + bounds, sum(part.memory for part in parts))


def _block_costs(witness: PanelWitness) -> Iterator[Cost]:
    factor, size = words(witness.prec), _entry_bytes(witness.prec)
    for index, block in enumerate(witness.blocks):
        if not 2 <= block.points <= MAX_POINTS:
            reason = f"must be from 2 to {MAX_POINTS} points"
            raise InvalidCertificate(f"evaluations[].witness.blocks[{index}].points", reason)
        nodes, frequencies = _nodes(block.nodes), abs(block.panels) * block.points
        sides = abs(block.panels) + block.points
        products = nodes * frequencies + _EXPONENTIAL * (nodes * sides + frequencies * (len(block.nodes) + 1))
        bounds = 16 * _EXPONENTIAL * (nodes + _nodes(block.bound_nodes))
        yield Cost((products + block.points**2) * factor + bounds, (nodes * sides + 4 * frequencies) * size)


@cost_of.register
def _(witness: LatticeWitness) -> Cost:
    spans = [abs(high - low) + 1 for low, high in witness.windows]
    cells = [abs(cells) for grid in witness.grids for cells, _ in grid.blocks]
    spans += [sum(abs(cells * stride) for cells, stride in grid.blocks) + 1 for grid in witness.grids]
    factor = words(witness.prec)
    products = 64 * sum(spans) * factor + 32 * _EXPONENTIAL * sum(cells) * factor
    widest = max(spans, default=0)  # exact: whole numbers
    return Cost(products, 6 * widest * (64 + witness.bits // 4))


@cost_of.register
def _(witness: SparseWitness) -> Cost:
    atoms = sum(abs(cells) for grid in witness.grids for cells, _ in grid.blocks) + len(witness.grids)
    frequencies = abs(witness.count) + 2 * sum(abs(cells) for cells, _ in witness.cover) + 1
    side = 1 << (frequencies.bit_length() + 1) // 2  # at least the square root of the frequencies
    products = atoms * (2 * frequencies + _EXPONENTIAL * (32 + 8 * len(witness.cover) + side // 16))
    powers = 2 * _EXPONENTIAL * frequencies * len(witness.grids)
    return Cost((products + powers) * words(witness.prec),
                (3 * atoms * side + 8 * frequencies) * _entry_bytes(witness.prec))


@cost_of.register(ChernoffWitness)
@cost_of.register(RenyiWitness)
def _(witness: ChernoffWitness | RenyiWitness) -> Cost:
    nodes = _nodes(witness.nodes)
    return Cost(2 * _EXPONENTIAL * nodes * words(witness.prec), 2 * nodes * _entry_bytes(witness.prec))


@cost_of.register(ClosedFormWitness)
@cost_of.register(SupportWitness)
def _(witness: ClosedFormWitness | SupportWitness) -> Cost:
    return Cost(8 * _EXPONENTIAL * words(witness.prec), 0)
