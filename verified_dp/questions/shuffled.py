"""Shuffled epochs from below: what one attack on one pair of data sets sees is certainly revealed (T144)."""

from __future__ import annotations

from verified_dp.core import exact
from verified_dp.core.composition import Composition, compose
from verified_dp.core.errors import InvalidInput
from verified_dp.core.exact import Number
from verified_dp.core.laws.shuffled import ShuffledEpoch, masses_of
from verified_dp.core.mechanisms import Finite
from verified_dp.core.theorems import proved_by
from verified_dp.search.attack import choose_corners


@proved_by("T144-shuffled-epochs")
def shuffled_attack(noise_multiplier: Number, rounds: Number, epochs: Number = 1) -> Composition:
    """Epochs of `rounds` batches, cut from all records in a fresh uniform order: a lower bound of their loss.

    Every delta and epsilon of the composition that is returned, under add-or-remove or zero-out, is at most that of the
    training; so a claim that is refuted for it is refuted for the training. It proves no claim.

    >>> from verified_dp.profile import privacy_profile
    >>> attack = shuffled_attack("0.5", 100)
    >>> float(privacy_profile(attack, relation="zero-out").delta("4", digits=3).lower) > 0.083
    True
    """
    epoch = ShuffledEpoch(exact.positive(noise_multiplier, "noise_multiplier"), exact.count(rounds, "rounds"), 1)
    corners = choose_corners(epoch)
    if not corners:
        raise InvalidInput("noise_multiplier", noise_multiplier, "so small that this attack sees something")
    masses = masses_of(corners)
    return compose((Finite([p for p, _ in masses], [q for _, q in masses]), exact.count(epochs, "epochs")))
