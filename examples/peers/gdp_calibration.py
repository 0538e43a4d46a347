"""Opacus 1.6.0, accountant "gdp": noise calibrated for (8, 1e-5) has a delta of 2.002e-5 at epsilon = 8.

Reason: the central limit theorem of Gaussian DP is an approximation without a sign; Opacus warns of it when the
accountant is made. The number here is the delta of the noise that it calibrates (sample rate .01, 10^4 steps).
Suggestion: for calibration an accountant with an upper bound.
"""

from __future__ import annotations

from comparison import show

from verified_dp import Enclosure, Spec, privacy_profile
from verified_dp.interop import from_opacus

HISTORY = [(0.867919921875, 0.01, 10000)]  # from get_noise_multiplier(accountant="gdp")
RECORDED = "1e-5"
CLAIM = ("8", RECORDED)


def spec() -> Spec:
    return from_opacus(HISTORY, floats="shortest-decimal")


def truth() -> Enclosure:
    return privacy_profile(spec()).delta(8)


def reported() -> float:
    from opacus.accountants.utils import get_noise_multiplier

    noise = get_noise_multiplier(
        target_epsilon=8.0, target_delta=1e-5, sample_rate=0.01, steps=10000, accountant="gdp", epsilon_tolerance=0.01)
    assert noise == HISTORY[0][0]
    return 1e-5  # what the noise was calibrated for


if __name__ == "__main__":
    show("opacus", reported, RECORDED, truth())
