"""Closed forms that are sums: binomial and trinomial ones, and those over all atoms and uniform pieces."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from verified_dp.core.engines.binomial import (
    count_terms,
    enclose_binomial,
    enclose_trinomial,
    is_binomial,
    is_trinomial,
    reach_of,
)
from verified_dp.core.engines.pieces import (
    MAX_EASY_WORK,
    MAX_WORK,
    atoms_matter,
    count_pieces,
    enclose_exactly,
    spare_bits,
)
from verified_dp.core.engines.truncated import count_kept, enclose_truncated, is_truncated
from verified_dp.core.kernel.balls import plus_minus
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import words


def is_sum(loss: ComposedLoss) -> bool:
    """Whether delta is a sum of few enough terms."""
    return is_merged(loss) or is_binomial(loss) or is_trinomial(loss) or is_exact(loss) or is_truncated(loss)


def is_quick(loss: ComposedLoss) -> bool:
    """Whether it is a short one."""
    return is_merged(loss) or is_easy(loss) or is_binomial(loss) or is_trinomial(loss)


def is_merged(loss: ComposedLoss) -> bool:
    """Whether the steps are nearly one of another law."""
    alone = len(loss.parts) == 1 and not loss.mean_shift_squared
    return alone and loss.parts[0][0].merged(loss.parts[0][1]) is not None


@proved_by("T224-sums-of-discrete-gaussians")
def enclose_merged(loss: ComposedLoss, epsilon: arb) -> arb:
    """Enclose delta(eps) by that one."""
    (law, count), = loss.parts
    one, error = law.merged(count) or (law, arb.pos_inf())
    return one.enclose_hockey_stick(epsilon) * (1 + plus_minus(error))


def is_easy(loss: ComposedLoss) -> bool:
    """Whether the sum over all pieces is short."""
    work = count_pieces(loss)
    return work is not None and work <= MAX_EASY_WORK


def _is_long_trinomial(loss: ComposedLoss) -> bool:
    """Whether sums for three losses take the place of that over all pieces."""
    return is_trinomial(loss) and not is_easy(loss)


def is_exact(loss: ComposedLoss) -> bool:
    """Whether the composition of pieces is a sum of few enough terms: very few where the contour is good."""
    work = count_pieces(loss)
    return work is not None and work <= (MAX_WORK if atoms_matter(loss) else MAX_EASY_WORK)


def way(loss: ComposedLoss) -> Callable[[ComposedLoss, arb], arb]:
    """The sum of a loss that has one."""
    if is_merged(loss):
        return enclose_merged
    if is_binomial(loss):
        return enclose_binomial
    if _is_long_trinomial(loss):
        return enclose_trinomial
    return enclose_exactly if is_exact(loss) else enclose_truncated


def units(loss: ComposedLoss, prec: int) -> int:
    """Units of work that its terms take."""
    if is_merged(loss):
        law, count = loss.parts[0]
        one, _ = law.merged(count) or (law, None)
        return one.value_work(prec) + one.table_work(prec)
    if is_binomial(loss):
        return 2 * _PIECE * count_terms(loss.parts[0][1], prec) * words(prec)
    if _is_long_trinomial(loss):
        return 12 * _PIECE * reach_of(loss.parts[0][1], prec + 100) * words(prec)
    if is_exact(loss):
        return _PIECE * (count_pieces(loss) or MAX_WORK) * words(prec + spare_bits(loss))
    return _PIECE * count_kept(loss) * words(prec + spare_bits(loss))


_PIECE = 60
"""Units that one term of a sum of pieces takes."""
