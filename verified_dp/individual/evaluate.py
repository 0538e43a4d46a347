"""delta_i(eps) of many records at once in double precision, with every rounding bounded (T117, T118).

A record's whole transform on a line is one row of a matrix product, log M_i(z_m) = sum of weight_b * log M_b(z_m).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.counts import Counts, split_weights
from verified_dp.individual.tables import UNKNOWN, Column, Table
from verified_dp.search.doubles import LARGEST_ANGLE, cosine_and_sine, exponential

UP = 1 + 2.0**-38
"""Covers the few dozen roundings of a product of positive numbers, and the functions' errors."""
SUM_ERROR = 2.0**-43
"""Relative error per term and frequency of the sum over the frequencies."""
LARGEST_TURN = 64.0
TINY = 1e-290


@dataclass(frozen=True)
class Rows:
    """What a line yields for some records before eps is known; all arrays end with the axis of records.

    delta = e^{scale - c eps} (eta/2pi) (Re sum_m terms_m e^{-i m eta eps} +- error) up to the aliases.
    """

    table: Table
    scale: np.ndarray
    terms: np.ndarray
    error: np.ndarray
    own: np.ndarray
    right: np.ndarray
    left: np.ndarray
    variation: np.ndarray

    @proved_by("T118-individual-enclosure")
    def delta(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of delta_i(eps_i) from below and above."""
        total, turned = self._sum(self.terms, epsilon)
        exponent = self.scale - self._tilt * epsilon
        scale = exponential(exponent) * self._step / (2 * np.pi)
        error = np.where(turned & (np.abs(exponent) < 650) & (np.abs(self.scale) < 2.0**12), self.error, np.inf)
        upper = scale * np.maximum(total + error, 0) * UP + TINY
        lower = scale * np.maximum(total - error, 0) / UP - self._aliases(epsilon)
        chernoff = _weighted(self.table.own_factor, self.own, self._tilt * epsilon) * UP + TINY
        upper = np.minimum(np.nan_to_num(upper, nan=1.0), np.minimum(chernoff, self.variation))
        return np.maximum(np.nan_to_num(lower, nan=0.0), 0), upper

    def chernoff_epsilon(self, log_delta: float) -> np.ndarray:
        """Where the Chernoff bound on this line is a little below delta: a candidate."""
        return np.maximum((self.own + np.log(self.table.own_factor) - log_delta) / self._tilt, 0) * (1 + 1e-9) + 1e-9

    def slope(self, epsilon: np.ndarray) -> np.ndarray:
        """d delta / d eps, not bounded: it steers the search."""
        total, _ = self._sum(self._steered, epsilon)
        return -exponential(self.scale - self._tilt * epsilon) * self._step / (2 * np.pi) * total

    @cached_property
    def _steered(self) -> np.ndarray:
        z = self._tilt + 1j * self._step * np.arange(len(self.terms))
        return self.terms * z[:, None]

    @property
    def _tilt(self) -> float:
        return float(self.table.witness.tilt)

    @property
    def _step(self) -> float:
        return float(self.table.witness.step)

    @proved_by("T117-double-precision")
    def _sum(self, terms: np.ndarray, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Re sum_m terms_m turn^m, turn = e^{-i eta eps}, by Horner; where eta eps is small enough for the bound."""
        angle = self._step * epsilon
        cosine, sine = cosine_and_sine(np.minimum(angle, LARGEST_TURN))
        turn = cosine - 1j * sine
        total = terms[-1].copy()
        for term in terms[-2::-1]:
            total *= turn
            total += term
        return total.real, angle <= LARGEST_TURN

    @proved_by("T118-individual-enclosure")
    def _aliases(self, epsilon: np.ndarray) -> np.ndarray:
        witness = self.table.witness
        right = _weighted(self.table.right_factor, self.right, float(witness.right) * epsilon)
        left = _weighted(self.table.left_factor, self.left, float(witness.left) * epsilon)
        return (right + left) * UP


def _weighted(factor: float, log: np.ndarray, fall: np.ndarray) -> np.ndarray:
    """Bound factor e^{log - fall}, fall >= 0 rounded once; inf where the log is unknown."""
    exponent = log - fall + (np.abs(log) + fall) * 2.0**-50
    return np.where((np.abs(exponent) < 2.0**12) & (log < UNKNOWN), factor * exponential(exponent), np.inf)


@proved_by("T118-individual-enclosure")
def evaluate_rows(table: Table, counts: Counts) -> Rows:
    """The matrix products and exponentials of some records on one line."""
    steps, weights_above = counts.steps.astype(np.float64), counts.weights_above()
    weights = split_weights(steps, weights_above)
    logs, angles = table.real.T @ weights.T, table.imaginary.T @ weights.T
    scale = logs[0].copy()
    spread = exponential(table.errors.T @ steps.T * UP)
    cosine, sine = cosine_and_sine(np.clip(angles, -LARGEST_ANGLE, LARGEST_ANGLE))
    sizes = exponential(logs - scale)
    terms = sizes * table.kernel[:, None] * (cosine + 1j * sine)
    sizes *= np.abs(table.kernel)[:, None]
    sizes = np.where(np.abs(angles) < LARGEST_ANGLE, sizes, np.inf)
    slack = (len(terms) + 2) * SUM_ERROR
    size = steps @ table.moduli - scale[:, None]
    size += (steps @ np.abs(table.moduli) + np.abs(scale)[:, None]) * 2.0**-40
    sure = np.abs(table.kernel)[:, None] * exponential(size.T) * UP
    with np.errstate(invalid="ignore"):
        near = sizes * ((spread * UP - 1) + slack * spread)
    far = sizes * (1 + slack) + sure
    error = np.fmin(near, far).sum(axis=0) * UP + TINY
    own = scale + steps @ table.errors[:, 0] * UP + np.abs(scale) * 2.0**-50
    return Rows(table, scale, terms, error + _bound_tail(table, steps, weights_above, scale), own,
                _log_above(table.right, weights, steps), _log_above(table.left, weights, steps),
                _bound_variation(table, weights, steps))


@proved_by("T118-individual-enclosure")
def _bound_variation(table: Table, weights: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Bound delta_i(0), the total variation, by sqrt(chi^2)/2 where 1 + chi^2 = E[e^L] = e^{K(1)}, remove order."""
    logs = np.minimum((weights @ table.divergences + steps.sum(axis=1) * table.divergence_slack) * UP, 1.0)
    return np.where(logs < 1, 0.5 * np.sqrt(logs * (1 + logs)) * UP, 1.0)


@proved_by("T118-individual-enclosure")
def _log_above(column: Column, weights: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """log of a bound of M_i at a real exponent."""
    value = weights @ column.values + steps @ column.errors * UP
    return value + np.abs(value) * 2.0**-50 + 2.0**-50


@proved_by("T118-individual-enclosure")
def _bound_tail(table: Table, steps: np.ndarray, above: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """What the frequencies beyond the last one add to the sum: |M_i| there times 2 / (eta Omega), over e^scale."""
    witness = table.witness
    exponent = steps @ table.beyond + above @ table.beyond_share - scale
    sizes = steps @ (np.abs(table.beyond) + table.beyond_share) + np.abs(scale)
    factor = 2 / (float(witness.step) * float(witness.step) * witness.count)
    return exponential(exponent + sizes * 2.0**-40) * factor * UP
