"""Floating-point model of shuffled messages for the lattice's search: a density in place of very many atoms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from verified_dp.core.families.clones.clones import CloneLoss, CloneOddsLoss, Clones
from verified_dp.search.lattice_model import LawModel, model_of
from verified_dp.search.transforms import log_sum

_FEW = 200
"""So few expected clones, and the atoms themselves are taken."""
_POINTS = 1200
_UNIT = 1e-7
"""Seconds of a unit of work."""


class CloneModel(LawModel):
    """With u the share of ones among k + 1 answers, u = (1 + tanh(x/2)/tanh(e/2))/2 at the loss x, and
    r = u^-u (1-u)^(u-1)/2, the density is about (1-s+sr)^N sqrt(k/(u(1-u))) (p u + 1 - u) du/dx, k = N s r/(1-s+sr)."""

    def __init__(self, law: Clones, epsilon0: float, floor: float) -> None:
        self.law, self.anchors, self.infinity = law, [], -math.inf
        self.seconds = 2 * _UNIT * law.value_work(64)
        others, silent, p = law.users - 1, math.tanh(epsilon0 / 2), math.exp(-epsilon0)

        def log_density(x: np.ndarray) -> np.ndarray:
            u = (1 + np.tanh(x / 2) / silent) / 2
            rate = np.exp(-u * np.log(u) - (1 - u) * np.log1p(-u)) / 2
            mean = silent + (1 - silent) * rate
            level = others * (np.log(mean) + 0.5 * np.log(rate / (mean * u * (1 - u))) / others)
            return level + np.log(u + p * (1 - u)) - 2 * np.log(np.cosh(x / 2))

        reach = np.linspace(0, epsilon0 * (1 - 1e-9), 20_000)
        inside = log_density(reach) - log_density(np.zeros(1)) > floor
        end = reach[min(int(inside.argmin()) or len(reach) - 1, len(reach) - 1)]
        self.points = np.linspace(-end, end, _POINTS)
        self.log_masses = log_density(self.points)
        self.log_masses -= log_sum(self.log_masses)
        self.low, self.high = Fraction(-end), Fraction(end)

    def refine(self, tilt: float, share: float = 1e-6) -> None:
        """The mesh is as fine everywhere."""


@model_of.register(CloneLoss)
@model_of.register(CloneOddsLoss)
def _(law: CloneLoss | CloneOddsLoss, floor: float) -> LawModel:
    epsilon0 = float(law.enclose_largest_loss())
    many = law.users * 2 / (1 + math.exp(min(epsilon0, 700.0))) > _FEW
    return CloneModel(law, epsilon0, floor) if many else LawModel(law, floor)
