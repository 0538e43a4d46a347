"""One reading as integers: its bucket and its squared relative sensitivity in units of 2^-60, rounded up.

The numpy function and the SQL expressions do the same IEEE operations in the same order, so that they agree to the bit.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.training import HALVINGS, UNIT_BITS

WIDEN = 1 + 2.0**-49
SQUARE_SLACK = Fraction(1, 2**47)
"""The integer exceeds r^2 2^60 by at most this share of 2^60, and is never below it."""
HULL_SLACK = Fraction(1, 2**45)
"""r^2 and its integer lie in their bucket up to this much on either side."""


@proved_by("T115-squared-sensitivity")
def square_units(norms: np.ndarray, clipping: float) -> np.ndarray:
    """The integer >= r^2 2^60 of each norm, r = min(norm, clipping) / clipping.

    min(2^60, ceil(r r 2^60 (1 + 2^-49)) + 1), and 0 for norm 0 only; a norm >= clipping has exactly 2^60.
    """
    ratio = _ratio(norms, clipping)
    scaled = np.ceil(ratio * ratio * 2.0**UNIT_BITS * WIDEN).astype(np.int64) + (norms > 0)
    return np.minimum(scaled, 2**UNIT_BITS)


@proved_by("T115-squared-sensitivity")
def square_and_bucket(norms: np.ndarray, clipping: float, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """The integer of `square_units` and the bucket of each norm.

    The bucket is max(ceil(r B), 1) + 5 less the number of k = 1..6 with r B 2^k <= 1.
    """
    ratio = _ratio(norms, clipping)
    bucket = np.maximum(np.ceil(ratio * parts).astype(np.int64), 1) + (HALVINGS - 1)
    for k in range(1, HALVINGS + 1):
        bucket -= ratio * float(parts * 2**k) <= 1
    return square_units(norms, clipping), bucket


def _ratio(norms: np.ndarray, clipping: float) -> np.ndarray:
    return np.minimum(norms.astype(np.float64), clipping) / clipping


@proved_by("T115-squared-sensitivity")
def square_sql(clipping: float) -> str:
    """The same integer as SQL on the column `norm`."""
    ratio = _ratio_sql(clipping)
    value = f"{ratio} * {ratio} * {_double(2.0**UNIT_BITS)} * {_double(WIDEN)}"
    up = f"CAST(CEIL({value}) AS BIGINT) + CASE WHEN norm > 0 THEN 1 ELSE 0 END"
    return f"LEAST({up}, CAST({2**UNIT_BITS} AS BIGINT))"


@proved_by("T115-squared-sensitivity")
def bucket_sql(clipping: float, parts: int) -> str:
    """The same bucket as SQL on the column `norm`."""
    ratio = _ratio_sql(clipping)
    part = f"GREATEST(CAST(CEIL({ratio} * {_double(parts)}) AS BIGINT), CAST(1 AS BIGINT))"
    halves = [f"CASE WHEN {ratio} * {_double(parts * 2**k)} <= {_double(1)} THEN 1 ELSE 0 END"
              for k in range(1, HALVINGS + 1)]
    return f"CAST({part} + {HALVINGS - 1} - ({' + '.join(halves)}) AS BIGINT)"


def _ratio_sql(clipping: float) -> str:
    constant = _double(clipping)
    return f"(LEAST(CAST(norm AS DOUBLE), {constant}) / {constant})"


def _double(value: float) -> str:
    """A double that every engine reads back to the bit: the shortest decimal that rounds to it."""
    return f"CAST('{float(value)!r}' AS DOUBLE)"
