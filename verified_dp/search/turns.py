"""Sums of terms times powers of turns, for many turns at once: one product of matrices (T225)."""

from __future__ import annotations

from collections.abc import Sequence

from flint import acb, acb_mat

from verified_dp.core.engines.shared import all_powers
from verified_dp.core.kernel.theorems import proved_by


@proved_by("T225-along")
def turned_sums(rows: acb_mat, turns: Sequence[acb]) -> list[acb]:
    """Enclose sum_m term_m turn^m for each turn, |turn| = 1, where `rows` are the cut terms."""
    babies = all_powers(turns, rows.ncols())
    giants = all_powers([baby * turn for baby, turn in zip(babies[-1], turns, strict=True)], rows.nrows())
    return contracted((rows * acb_mat(babies)).tolist(), giants)


@proved_by("T225-along")
def contracted(rows: Sequence[Sequence[acb]], others: Sequence[Sequence[acb]]) -> list[acb]:
    """Enclose the sums over i of row_ij other_ij, for each j."""
    total = [x * y for x, y in zip(rows[0], others[0], strict=True)]
    for row, other in zip(rows[1:], others[1:], strict=True):
        total = [size + x * y for size, x, y in zip(total, row, other, strict=True)]
    return total
