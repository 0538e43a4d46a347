"""prv_accountant 0.2.0: a small delta_error gives an upper bound on delta that is negative.

Reason: losses are composed by FFT in double precision, whose absolute errors are near 1e-16 and have no sign; the
bounds add delta_error and the errors of the grid alone. With small errors asked, delta at epsilon = 4 of 5000 steps is
said to lie between -2.5e-16 and -2.6e-16.
Suggestion: a bound on the FFT's error in both ends, or delta_error of at least 1e-13 or so.
"""

from __future__ import annotations

from comparison import show

from verified_dp import Enclosure, Spec, privacy_profile
from verified_dp.interop import from_opacus

HISTORY = [(2.0, 0.01, 5000)]
RECORDED = "-2.613876170893561e-16"
CLAIM = ("4", "0")


def spec() -> Spec:
    return from_opacus(HISTORY, floats="shortest-decimal")


def truth() -> Enclosure:
    return privacy_profile(spec()).delta(4)


def reported() -> float:
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

    step = PoissonSubsampledGaussianMechanism(0.01, 2.0)
    accountant = PRVAccountant([step], eps_error=0.1, delta_error=1e-30, max_self_compositions=[5000])
    return float(accountant.compute_delta(4.0, [5000])[2])


if __name__ == "__main__":
    show("prv-accountant", reported, RECORDED, truth())
