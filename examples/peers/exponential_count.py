"""dp_accounting, head of August 2026, RdpAccountant: ten exponential mechanisms cost as much as one.

Reason: `_maybe_compose` of ExponentialMechanismDpEvent adds the divergence once and leaves `count` out.
Suggestion: `count *` before the minimum, as the other events do.
The specification here is ten exponential mechanisms of epsilon 1 with two candidates, whose odds are 7/33 for one
data set and 2.718 * 7/33 < e 7/33 for its neighbour: what this pair attains is a lower bound for the event.
"""

from __future__ import annotations

from comparison import show

from verified_dp import Enclosure, Finite, Relation, Spec, compose, privacy_profile

RECORDED = "1.0035"
CLAIM = (RECORDED, "1e-5")


def spec() -> Spec:
    pair = Finite(["3171/8671", "5500/8671"], ["7/40", "33/40"])
    return Spec(Relation.ADD_OR_REMOVE, compose((pair, 10)))


def truth() -> Enclosure:
    return privacy_profile(spec()).epsilon("1e-5")


def reported() -> float:
    import dp_accounting as peer

    if not hasattr(peer, "ExponentialMechanismDpEvent"):
        raise ImportError("this version has no such event")
    event = peer.SelfComposedDpEvent(peer.ExponentialMechanismDpEvent(1.0), 10)
    return peer.rdp.RdpAccountant().compose(event).get_epsilon(1e-5)


if __name__ == "__main__":
    show("dp-accounting", reported, RECORDED, truth())
