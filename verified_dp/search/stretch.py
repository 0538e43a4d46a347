"""One tilt for many eps: where a line or a path answers a whole stretch of them, and what that costs in bits.

At the tilt c the integrand of eps is e^{-c (eps - start)} times that of the stretch's start, so an error e^t there is
good enough at all eps if t <= log delta(eps) + c (eps - start) less the bits asked: `Stretch.saddle` has the least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from verified_dp.search.models import FloatLoss
from verified_dp.search.saddle import Saddle
from verified_dp.search.transforms import geometric

_TILTS, _EXPONENTS = 16, 40
"""Tilts tried, and exponents of alias bounds for each."""


@dataclass(frozen=True)
class Stretch:
    """Some of the eps: their places in growing order, about log delta at each; their saddle points' extreme tilts."""

    places: tuple[int, ...]
    epsilons: np.ndarray
    logs: np.ndarray
    low: float
    high: float

    @property
    def length(self) -> float:
        """From the first eps to the last."""
        return float(self.epsilons[-1] - self.epsilons[0])

    def saddle(self, tilt: float, curvature: float) -> Saddle:
        """In the place of the saddle point of the first eps: log_delta is what errors have to be compared with."""
        return Saddle(tilt, float(self.least(np.array([tilt]))[0]), curvature)

    def others(self, saddle: Saddle) -> list[tuple[float, float]]:
        """The other eps, and how far their errors may exceed that of the first one where it is held to this saddle."""
        return list(zip(self.epsilons[1:].tolist(), (self.logs[1:] - saddle.log_delta).tolist(), strict=True))

    def least(self, tilts: np.ndarray) -> np.ndarray:
        """For each tilt what the errors at the start have to be compared with."""
        return np.asarray((self.logs + np.outer(tilts, self.epsilons - self.epsilons[0])).min(axis=1))


@dataclass(frozen=True)
class Tilts:
    """Of the line that should have the fewest frequencies, and of a path, with the bits that its sum loses at most."""

    line: float
    path: float
    lost: float


def choose_tilts(loss: FloatLoss, stretch: Stretch, bits: float) -> Tilts:
    """Choose among tilts from half of the least saddle point's to the largest one's."""
    tilts, start = geometric(stretch.low / 2, stretch.high, _TILTS), stretch.epsilons[0]
    exponents = geometric(stretch.low / 25, 3 * stretch.high + 1, _EXPONENTS)
    least, masses = stretch.least(tilts), loss.log_masses(tilts) - tilts * start
    lost = np.maximum(masses - np.log(tilts) - np.log1p(tilts) - least, 0.0)
    aims, apart = least - bits * math.log(2) - 2, exponents - tilts[:, None]
    periods = (loss.log_masses(exponents) - exponents * start - aims[:, None]) / np.abs(apart)
    rights = np.where(apart > 0, periods, np.inf).min(axis=1)
    lefts = np.minimum(np.where(apart < -1e-3 * tilts[:, None], periods, np.inf).min(axis=1), -aims / tilts)
    costs = np.maximum(rights, lefts + stretch.length) * (bits * math.log(2) + lost) ** 1.5
    best = int(lost.argmin())
    return Tilts(float(tilts[costs.argmin()]), float(tilts[best]), float(lost[best]) / math.log(2))
