"""dp_accounting 0.6.0, PLDAccountant: epsilon of 10^4 sampled Gaussian steps at delta = 1e-12 is below the truth.

Reason: losses are rounded up on a grid of 1e-4, but their probabilities are composed by FFT in double precision. Its
absolute errors, near 1e-16 in each of many entries, are not small beside delta and have no sign.
Suggestion: add a bound on the FFT's error to delta, or compose tilted probabilities.
"""

from __future__ import annotations

from comparison import show

from verified_dp import Enclosure, Spec, privacy_profile
from verified_dp.interop import from_dp_event

EVENT = {"class_name": "SelfComposedDpEvent", "count": 10000, "event": {
    "class_name": "PoissonSampledDpEvent", "sampling_probability": 0.01, "event": {
        "class_name": "GaussianDpEvent", "noise_multiplier": 1.0}}}
RECORDED = "10.298822461444551"
CLAIM = (RECORDED, "1e-12")


def spec() -> Spec:
    return from_dp_event(EVENT, floats="shortest-decimal")


def truth() -> Enclosure:
    return privacy_profile(spec()).epsilon("1e-12")


def reported() -> float:
    import dp_accounting as peer

    event = peer.SelfComposedDpEvent(peer.PoissonSampledDpEvent(0.01, peer.GaussianDpEvent(1.0)), 10000)
    return peer.pld.PLDAccountant().compose(event).get_epsilon(1e-12)


if __name__ == "__main__":
    show("dp-accounting", reported, RECORDED, truth())
