"""dp_accounting 0.6.0, MixtureGaussianPrivacyLoss: delta at the integer 1 is below delta at 1.0.

Reason: the inverse of the privacy loss is computed in an array of the dtype of epsilon, so that for an integer its
values are cut down to integers; delta is then taken of another event, and is too small.
Suggestion: `np.atleast_1d(np.asarray(epsilon, dtype=float))`.
"""

from __future__ import annotations

from fractions import Fraction

from comparison import show

from verified_dp import Enclosure, Gaussian, Relation, Spec, compose, privacy_profile

DEVIATION, SENSITIVITY = 8.599796663725433, 7.821589626462722
RECORDED = "0.09566220791965174"
CLAIM = ("1", RECORDED)


def spec() -> Spec:
    return Spec(Relation.ADD, compose(Gaussian(sigma=Fraction(DEVIATION), sensitivity=Fraction(SENSITIVITY))))


def truth() -> Enclosure:
    return privacy_profile(spec()).delta(1)


def reported() -> float:
    import numpy as np
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, MixtureGaussianPrivacyLoss

    loss = MixtureGaussianPrivacyLoss(DEVIATION, [SENSITIVITY], [1.0], adjacency_type=AdjacencyType.ADD)
    return float(loss.get_delta_for_epsilon(np.array([1]))[0])


if __name__ == "__main__":
    show("dp-accounting", reported, RECORDED, truth())
