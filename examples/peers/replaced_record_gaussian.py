"""dp_accounting 0.6.0, RdpAccountant: a Gaussian under REPLACE_ONE is accounted for at half its distance.

Reason: contributions are bounded by the norm C, so replacing one moves their sum by up to 2 C; the Renyi divergence is
that of a distance C. Its own PLDAccountant says 2.61366 for the same event.
Suggestion: noise_multiplier / 2 under REPLACE_ONE.
"""

from __future__ import annotations

from comparison import show

from verified_dp import Enclosure, Spec, privacy_profile
from verified_dp.interop import from_dp_event

EVENT = {"class_name": "GaussianDpEvent", "noise_multiplier": 3.14159}
RECORDED = "1.3177467526781084"
CLAIM = (RECORDED, "1e-5")


def spec() -> Spec:
    return from_dp_event(EVENT, relation="replace", floats="shortest-decimal")


def truth() -> Enclosure:
    return privacy_profile(spec()).epsilon("1e-5")


def reported() -> float:
    import dp_accounting as peer

    accountant = peer.rdp.RdpAccountant(neighboring_relation=peer.NeighboringRelation.REPLACE_ONE)
    return accountant.compose(peer.GaussianDpEvent(3.14159)).get_epsilon(1e-5)


if __name__ == "__main__":
    show("dp-accounting", reported, RECORDED, truth())
