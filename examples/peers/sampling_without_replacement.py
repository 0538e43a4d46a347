"""dp_accounting 0.6.0, RdpAccountant: 100 batches of 10 of 1000 records, noise 1: epsilon 1.48 at delta = 1e-5.

Reason: half the distance, as in replaced_record_gaussian.py. Data attain more: all other records contribute -1, the
record +1 in one data set and -1 in the other. The sum is then 2 higher wherever the record is drawn, so the release is
N(-10, 1) against the mixture 99/100 N(-10, 1) + 1/100 N(-8, 1): a mixture of Gaussians, whose delta at the claimed
epsilon is 0.0171, a thousand times the claimed one. The specification here is that pair, a lower bound for the event.
"""

from __future__ import annotations

from comparison import show

from verified_dp import Enclosure, MixtureOfGaussians, Relation, Spec, compose, privacy_profile

RECORDED = "1.482525669114427"
CLAIM = (RECORDED, "1e-5")


def spec() -> Spec:
    return Spec(Relation.ADD_OR_REMOVE, compose((MixtureOfGaussians(1, [0, 2], ["99/100", "1/100"]), 100)))


def truth() -> Enclosure:
    return privacy_profile(spec()).epsilon("1e-5")


def reported() -> float:
    import dp_accounting as peer

    batch = peer.SampledWithoutReplacementDpEvent(1000, 10, peer.GaussianDpEvent(1.0))
    accountant = peer.rdp.RdpAccountant(neighboring_relation=peer.NeighboringRelation.REPLACE_ONE)
    return accountant.compose(peer.SelfComposedDpEvent(batch, 100)).get_epsilon(1e-5)


if __name__ == "__main__":
    show("dp-accounting", reported, RECORDED, truth())
