"""dp_accounting 0.6.0, PLDAccountant: ten randomised responses cost as much as one.

Reason: `_maybe_compose` of RandomizedResponseDpEvent composes one loss distribution and leaves `count` out; also in the
repository's head of August 2026.
Suggestion: `rr_pld.self_compose(count)`, as the other events do.
"""

from __future__ import annotations

from comparison import show

from verified_dp import Enclosure, Spec, privacy_profile
from verified_dp.interop import from_dp_event

EVENT = {"class_name": "SelfComposedDpEvent", "count": 10, "event": {
    "class_name": "RandomizedResponseDpEvent", "noise_parameter": 0.5, "num_buckets": 3}}
RECORDED = "1.386284999887499"
CLAIM = (RECORDED, "1e-5")


def spec() -> Spec:
    return from_dp_event(EVENT, relation="replace")


def truth() -> Enclosure:
    return privacy_profile(spec()).epsilon("1e-5")


def reported() -> float:
    import dp_accounting as peer

    event = peer.SelfComposedDpEvent(peer.RandomizedResponseDpEvent(0.5, 3), 10)
    accountant = peer.pld.PLDAccountant(peer.NeighboringRelation.REPLACE_ONE)
    return accountant.compose(event).get_epsilon(1e-5)


if __name__ == "__main__":
    show("dp-accounting", reported, RECORDED, truth())
