"""Floating-point models of the laws whose transform is known in closed form.

Where the loss lies between two finite ends: atoms and Gauss-Legendre nodes of its density; else values of the law.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

import numpy as np
from flint import arb, ctx

from verified_dp.core.engines.direct import DirectLaw
from verified_dp.core.engines.rules import RuleLaw, is_atomic
from verified_dp.search.covers import Spread
from verified_dp.search.deadline import check_time

_PREC = 160
_FAR = 64.0, 1024.0
"""As the kernel's."""
_POINTS, _MOST_TURN, _AGREED = 80, 64.0, 1e-10
"""Of a rule for all frequencies and tilts up to so large a one times the range; how closely its moment there agrees."""
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

    @cached_property
    def _measure(self) -> tuple[np.ndarray, np.ndarray, int] | None:
        """Losses, masses, and how many are atoms; None where nodes are not what the law is."""
        found = None if is_atomic(self.law) or not self.spread < math.inf else self._nodes(1)
        if found is None:
            return None
        exponent = _MOST_TURN / self.spread
        with ctx.workprec(_PREC):
            known = float(self._log_moment(arb(exponent)))
        own = float(_log_moments(*found[:2], np.array([exponent]))[0])
        return found if abs(own - known) <= _AGREED * max(1.0, abs(known)) else None

    def _nodes(self, panels: int) -> tuple[np.ndarray, np.ndarray, int] | None:
        atoms = self.law.enclose_loss_atoms()
        if atoms is None:
            return None
        at, weights = _rule()
        length = self.spread / panels
        places = (self.largest - length * (np.arange(panels)[:, None] + (1 - at) / 2)).ravel()
        with ctx.workprec(64):
            density = np.array([float(self.law.enclose_density(arb(float(x)))) for x in places])
            heads = np.array([[float(x), float(mass)] for x, mass in atoms]).reshape(-1, 2)
        return np.concatenate([heads[:, 0], places]), np.concatenate(
            [heads[:, 1], density * np.tile(weights, panels) * length / 2]), len(atoms)

    def _by_nodes(self, most: float) -> tuple[np.ndarray, np.ndarray, int] | None:
        return self._measure if most * self.spread <= _MOST_TURN else None

    def curve(self, c: float, count: float) -> Spread | None:
        """How |M(c+iw)| is bounded cell by cell; None where it is not."""
        nodes = self._by_nodes(c)
        if nodes is None:
            return None
        points, masses, atoms = nodes
        weights = _tilted(points, masses, c)
        with ctx.workprec(_PREC):
            inner, size = self.law.bound_variation(arb(c)), self.law.enclose_moment(arb(c))
            if inner is None:
                return None
        share = float(inner / size)
        turns = min(max(2 * share * self.spread / max(float(weights[atoms:].sum()), 1e-300), _FAR[0]), _FAR[1])
        if turns > _FAR[0]:
            points, masses, atoms = self._nodes(1 + int(turns / _FAR[0])) or nodes
            weights = _tilted(points, masses, c)
        return Spread(points, weights, atoms, share, self.spread / 2, count, turns / self.spread)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """(K, K', K'') at c > 0, by nodes, or by central differences with bits to spare."""
        nodes = self._by_nodes(c)
        if nodes is not None:
            points, masses, _ = nodes
            top = float(points.max())
            weights = masses * np.exp(c * (points - top))
            total = float(weights.sum())
            mean = float(weights @ points) / total
            return math.log(total) + c * top, mean, max(float(weights @ (points - mean)**2) / total, 1e-300)
        with ctx.workprec(_PREC):
            mesh = arb(min(c, 1.0 / min(self.spread, 1e9)) * _MESH)
            left, middle, right = (self._log_moment(arb(c) + n * mesh) for n in (-1, 0, 1))
            slope, bend = (right - left) / (2 * mesh), (right - 2 * middle + left) / (mesh * mesh)
            return float(middle), float(slope), max(float(bend), 1e-300)

    def log_masses(self, xs: np.ndarray) -> np.ndarray:
        """K at each of xs > 0."""
        nodes = self._by_nodes(float(xs.max()))
        if nodes is not None:
            return _log_moments(*nodes[:2], xs)
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


@lru_cache
def _rule() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(_POINTS)


def _tilted(points: np.ndarray, masses: np.ndarray, c: float) -> np.ndarray:
    weights = masses * np.exp(c * (points - points.max()))
    return np.asarray(weights / weights.sum())


def _log_moments(points: np.ndarray, masses: np.ndarray, xs: np.ndarray) -> np.ndarray:
    top = points.max()
    return np.asarray(np.log(np.exp(np.multiply.outer(xs, points - top)) @ masses) + xs * top)


def _end(end: arb | None, infinite: float) -> float:
    return infinite if end is None else float(end)
