"""Floating-point models of the laws whose transform is known in closed form: values of the law itself, rounded."""

from __future__ import annotations

import math

import numpy as np
from flint import arb, ctx

from verified_dp.core.kernel.law import DirectLaw, RuleLaw
from verified_dp.search.deadline import check_time

_PREC = 160
_MESH = 2.0**-24
"""Relative distance of the points of a second difference."""


class DirectModel:
    """One law in floating point: log M with two derivatives, and the bound of |M| far out."""

    def __init__(self, law: DirectLaw) -> None:
        self.law = law
        with ctx.workprec(_PREC):
            self.largest = _end(law.enclose_largest_loss(), math.inf)
            smallest = _end(law.enclose_smallest_loss(), -math.inf)
        self.spread = max(self.largest - smallest, 1e-300)

    def _log_moment(self, exponent: arb) -> arb:
        check_time()
        return self.law.enclose_moment(exponent).log()

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """(K, K', K'') at c > 0, by central differences with bits to spare."""
        with ctx.workprec(_PREC):
            mesh = arb(min(c, 1.0 / min(self.spread, 1e9)) * _MESH)
            left, middle, right = (self._log_moment(arb(c) + n * mesh) for n in (-1, 0, 1))
            slope, bend = (right - left) / (2 * mesh), (right - 2 * middle + left) / (mesh * mesh)
            return float(middle), float(slope), max(float(bend), 1e-300)

    def log_masses(self, xs: np.ndarray) -> np.ndarray:
        """K at each of xs > 0."""
        with ctx.workprec(_PREC):
            return np.array([float(self._log_moment(arb(float(x)))) for x in xs])

    def log_beyond(self, c: float, omega: float) -> float:
        """log of the kernel's bound on |M(c + iw)| for w >= omega."""
        check_time()
        with ctx.workprec(_PREC):
            return float(self.law.bound_transform_beyond(arb(c), arb(omega)).log())

    def nodes(self, c: float, omega: float) -> int:
        """How many nodes the law takes for all frequencies up to omega; none where its transform is in closed form."""
        if not isinstance(self.law, RuleLaw):
            return 0
        with ctx.workprec(_PREC):
            return self.law.count_nodes(arb(c), arb(omega))


def _end(end: arb | None, infinite: float) -> float:
    return infinite if end is None else float(end)
