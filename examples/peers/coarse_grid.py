"""fourier-accountant 0.12.11, at its defaults: epsilon of 2000 sampled Gaussian steps is 72 % below the truth.

Reason: the density of a step's loss is sampled at 10^6 points of [-20, 20]. With q = .001 nearly all of its mass lies
within a few of the grid's steps of log(1 - q), where the density is singular; how much of it is caught is left to
chance, and no error is reported. With nx = 10^7 the answer is .80704, close to the truth and below it.
Suggestion: the mass of each cell in the place of the density at its middle, and a bound on what the grid changes.
"""

from __future__ import annotations

from comparison import show

from verified_dp import Enclosure, Spec, privacy_profile
from verified_dp.interop import from_opacus

HISTORY = [(0.8, 0.001, 2000)]
RECORDED = "0.2222624986741039"
CLAIM = (RECORDED, "1e-7")


def spec() -> Spec:
    return from_opacus(HISTORY, floats="shortest-decimal")


def truth() -> Enclosure:
    return privacy_profile(spec()).epsilon("1e-7")


def reported() -> float:
    import numpy as np
    from fourier_accountant import get_epsilon_R

    return float(get_epsilon_R(1e-7, *(np.array([number]) for number in HISTORY[0])))


if __name__ == "__main__":
    show("fourier-accountant", reported, RECORDED, truth())
