"""What noisy votes reveal: Gaussian noise on a vote that moves, or from stated counts a bound on Renyi divergences."""

from __future__ import annotations

from fractions import Fraction

from verified_dp.core.families.votes.mechanism import GNMax, GNMaxVotes
from verified_dp.core.families.votes.noisy_votes import NoisyVotesLoss
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.exact import square_root
from verified_dp.core.kernel.steps import DominatingPair, Step, pair_in_order, step_of
from verified_dp.core.kernel.theorems import proved_by


@step_of.register
@proved_by("T233-noisy-votes")
def _gnmax(mechanism: GNMax, order: str, relation: Relation) -> Step:
    """Two counts move by 1, and the largest by at most 1, each under noise of its own."""
    sigma = mechanism.threshold_sigma
    squared = 2 / mechanism.sigma**2 + (1 / sigma**2 if sigma else Fraction(0))
    pair = pair_in_order(order, f"N({shown(square_root(squared))}, 1)", "N(0, 1)", "T233-noisy-votes", tight=False)
    return Step(pair, shift_squared=squared)


@step_of.register
@proved_by("T233-noisy-votes")
def _gnmax_votes(mechanism: GNMaxVotes, order: str, relation: Relation) -> Step:
    """From these counts to all that differ in one vote, and back."""
    counts = ", ".join(map(shown, mechanism.votes))
    pair = DominatingPair(order, f"the noisy vote of the counts {counts}", "that of counts with one vote moved, or the "
                          "other way", ("T233-noisy-votes",), False)
    excess = None if mechanism.threshold is None else max(mechanism.votes) - mechanism.threshold  # exact: fractions
    return Step(pair, NoisyVotesLoss(mechanism.sigma, mechanism.gaps, excess, mechanism.threshold_sigma))
