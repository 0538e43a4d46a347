"""dp_accounting 0.6.0, PLDAccountant: delta of 20000 Laplace releases is negative.

Reason: as in many_sampled_steps.py, the errors of an FFT in double precision are larger than the answer, 8e-13, and
have no sign. A negative delta is no upper bound.
Suggestion: at least the maximum with 0 plus the error; better a bound on the error.
"""

from __future__ import annotations

from comparison import show

from verified_dp import Enclosure, Spec, privacy_profile
from verified_dp.interop import from_dp_event

EVENT = {"class_name": "SelfComposedDpEvent", "count": 20000, "event": {
    "class_name": "LaplaceDpEvent", "noise_multiplier": 200}}
RECORDED = "-3.6760860878441554e-14"
CLAIM = ("5", "0")


def spec() -> Spec:
    return from_dp_event(EVENT)


def truth() -> Enclosure:
    return privacy_profile(spec()).delta(5)


def reported() -> float:
    import dp_accounting as peer

    event = peer.SelfComposedDpEvent(peer.LaplaceDpEvent(200.0), 20000)
    return peer.pld.PLDAccountant().compose(event).get_delta(5.0)


if __name__ == "__main__":
    show("dp-accounting", reported, RECORDED, truth())
