"""What the laws add to the cost of checking a witness: one value of a hockey-stick curve, and the closed forms.

Units as in `cost`. They are about what was measured on a machine of 2024, where that is known, or more.
"""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch

from flint import fmpz

from verified_dp.core.engines import closed
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.evaluate import Witness
from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.engines.pieces import count_pieces, spare_bits
from verified_dp.core.engines.sparse import SparseWitness
from verified_dp.core.laws.atomic import AtomicLaw, DiscreteLaplaceLoss, FiniteLoss, SampledAtomicLoss
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.core.laws.discrete_gaussian import SMOOTH, DiscreteGaussianLoss
from verified_dp.core.laws.law import Law
from verified_dp.core.laws.mixture import MixtureLoss
from verified_dp.core.laws.sampled import SampledLoss
from verified_dp.core.laws.sampled_laplace import SampledLaplaceLoss
from verified_dp.core.laws.shifts import DiscreteLaplaceMixtureLoss, LaplaceMixtureLoss

_VALUE = 2000  # units: a few logarithms and error functions at 64 bits
_ATOM = 100
_COMPONENT = 2000  # of a mixture: its exponentials at every cut that is tried
_TERM = 80  # of a sum over integers
_PIECE = 60
_RULE = 4 * 4096  # of a quadrature rule: all its nodes at one frequency


def law_cost(loss: ComposedLoss, witness: Witness) -> int:
    """Units which the laws of a loss add to those of `cost_of(witness)`."""
    if isinstance(witness, LatticeWitness | SparseWitness):
        return sum(_on_grid(law, grid, witness.step, witness.prec)
                   for (law, _), grid in zip(loss.laws, witness.grids, strict=False))
    if isinstance(witness, ClosedFormWitness):
        return _closed(loss, witness.prec)
    return sum(_transforms(law, witness) for law, _ in loss.direct_parts)


def words(prec: int) -> int:
    """Cost of a product relative to one of 64 bits: linear, then nearly quadratic."""
    count = -(-prec // 64)
    return count * (1 + count // 64)


def _closed(loss: ComposedLoss, prec: int) -> int:
    if not loss.parts:
        return _VALUE * words(prec)
    if closed.is_single(loss):
        law = loss.parts[0][0]
        return value_cost(law, prec) + _sums(law, prec)
    return _PIECE * (count_pieces(loss) or closed.MAX_WORK) * words(prec + spare_bits(loss))


def _transforms(law: Law, witness: Witness) -> int:
    """Every frequency of a line is one sum over the law's atoms or integers."""
    frequencies = abs(getattr(witness, "count", 1)) + 1
    return frequencies * (value_cost(law, witness.prec) + _sums(law, witness.prec))


def _on_grid(law: Law, grid: LawGrid, step: Fraction, prec: int) -> int:
    """Two values a cell; far out, sums over integers that no table holds."""
    cells = sum(abs(cells) for cells, _ in grid.blocks)
    far = _far_cells(law, grid, step, prec) if isinstance(law, DiscreteGaussianLoss) else 0
    return 2 * cells * value_cost(law, prec) + (2 * far + 1) * _sums(law, prec)


def _far_cells(law: DiscreteGaussianLoss, grid: LawGrid, step: Fraction, prec: int) -> int:
    """The cells of all blocks that reach beyond the table of sums, in losses beyond D reach / s^2."""
    reach, index, far = law.sensitivity * _reach(law, prec) / law.sigma_squared, grid.first, 0
    for cells, stride in grid.blocks:
        start, index = index, index + cells * stride
        far += abs(cells) if max(abs(start), abs(index)) * abs(step) > reach else 0  # exact: rational numbers
    return far


def _reach(law: DiscreteGaussianLoss, prec: int) -> int:
    """About how many terms a sum over integers takes; wide noise is summed by Euler and Maclaurin instead."""
    square = min(law.sigma_squared, Fraction(SMOOTH))  # exact: rational numbers
    return int(fmpz(2 * prec * square.numerator // square.denominator).isqrt()) + 2


@singledispatch
def _sums(law: Law, prec: int) -> int:
    """What is made once for a law: tables."""
    return 0


@_sums.register
def _(law: DiscreteGaussianLoss, prec: int) -> int:
    return 3 * _TERM * _reach(law, prec) * words(prec)


@_sums.register
def _(law: SampledLoss, prec: int) -> int:
    return _sums(law.base, prec)


@singledispatch
def value_cost(law: Law, prec: int) -> int:
    """Units of one value of a law's hockey-stick curve."""
    return _VALUE * words(prec)


@value_cost.register(MixtureLoss)
@value_cost.register(LaplaceMixtureLoss)
@value_cost.register(DiscreteLaplaceMixtureLoss)
def _(law: MixtureLoss | LaplaceMixtureLoss | DiscreteLaplaceMixtureLoss, prec: int) -> int:
    return _COMPONENT * (len(law.above) + len(law.below)) * words(prec) * (1 + prec // 1024)


@value_cost.register
def _(law: SampledLoss, prec: int) -> int:
    return _VALUE * words(prec) + value_cost(law.base, prec)


@value_cost.register
def _(law: SampledLaplaceLoss, prec: int) -> int:
    return (_VALUE + _RULE) * words(prec)


@value_cost.register
def _(law: AtomicLaw, prec: int) -> int:
    return _VALUE * words(prec) + _ATOM * _atoms(law) * words(prec)


@singledispatch
def _atoms(law: Law) -> int:
    """The number of a law's outcomes."""
    return 8


@_atoms.register
def _(law: FiniteLoss) -> int:
    return len(law.masses)


@_atoms.register
def _(law: DiscreteLaplaceLoss) -> int:
    return law.sensitivity + 1


@_atoms.register
def _(law: SampledAtomicLoss) -> int:
    return _atoms(law.base)
