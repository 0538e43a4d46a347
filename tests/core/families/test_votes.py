"""Noisy votes against brute force: exact probabilities of every class, at the counts and at all their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from flint import arb
from scipy.special import log_ndtr

from verified_dp import Gaussian, compose, privacy_profile
from verified_dp.core.families.table import ALL_RELEASES
from verified_dp.core.families.votes.noisy_votes import NoisyVotesLoss, bound_vote
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.steps import step_of
from verified_dp.core.kernel.words import assumptions
from verified_dp.mechanisms import GNMax, GNMaxVotes
from verified_dp.questions.statement import DEPENDENT, sentences
from verified_dp.spec import parse_spec

NODES, WEIGHTS = np.polynomial.legendre.leggauss(30)
CUTS = np.arange(-14.0, 15.0)
X = np.concatenate([a + (1 + NODES) / 2 for a in CUTS[:-1]])
ORDERS = (1.1, 2, 4, 8, 16, 32)


def log_wins(counts: tuple[int, ...], sigma: float) -> np.ndarray:
    """log P(each class wins), by quadrature around where it does."""
    found = []
    for own in counts:
        gaps = [(own - other) / sigma for other in counts]
        at = X + max(0.0, -min(gaps)) / 2
        beaten = sum(log_ndtr(at + gap) for gap in gaps) - log_ndtr(at)
        found.append(np.logaddexp.reduce(beaten - at * at / 2 + np.log(np.tile(WEIGHTS, len(CUTS) - 1) / 2)))
    return np.array(found) - np.log(2 * np.pi) / 2


def neighbours(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Up to the order of equal counts that the vote does not touch."""
    seen = set()
    for a, b in permutations(range(len(counts)), 2):
        moved = tuple(n - (i == a) + (i == b) for i, n in enumerate(counts))
        if (key := (moved[0], *sorted(moved[1:]), counts[a], counts[b])) not in seen and counts[a]:
            seen.add(key)
            yield moved


def divergence(p: np.ndarray, q: np.ndarray, order: float) -> float:
    return float(np.logaddexp.reduce(order * p + (1 - order) * q) / (order - 1))


@pytest.mark.theorem("T233-noisy-votes")
@pytest.mark.parametrize(("counts", "sigma", "near"), [
    ((10, 0, 0), 2, 1.5), ((6, 5, 1), 1, 8), ((30, 5, 1), 5, 1.3), ((9, 9, 2), 6, 6), ((20, 3), 4, 1.3),
    ((250, *[0] * 9), 40, 1.4), ((200, 20, 10, 5, 5, 5, 5, 0, 0, 0), 40, 1.6)], ids=str)
def test_votes_of_all_neighbours(counts: tuple[int, ...], sigma: int, near: float) -> None:
    """The larger of both directions is below the bound, and near it for some order."""
    here, closest = log_wins(counts, sigma), np.inf
    assert abs(np.exp(here).sum() - 1) < 1e-9
    there = [log_wins(other, sigma) for other in neighbours(counts)]
    stated = GNMaxVotes(sigma, counts)
    for order in ORDERS:
        exact = max(max(divergence(here, q, order), divergence(q, here, order)) for q in there)
        bound = float(bound_vote(stated.sigma, stated.gaps, arb(order - 1))) / (order - 1)
        assert exact <= bound * (1 + 1e-6) <= order / sigma**2 * (1 + 1e-5)
        closest = min(closest, bound / exact)
    assert closest < near


@pytest.mark.theorem("T233-noisy-votes")
@pytest.mark.parametrize("threshold", [9, 12, 30])
def test_a_threshold_before_the_vote(threshold: int) -> None:
    counts, sigma, other = (12, 2, 1), 3, 4
    tails = {n: (log_ndtr((n - threshold) / other), log_ndtr((threshold - n) / other)) for n in (11, 12, 13)}

    def law(votes: tuple[int, ...]) -> np.ndarray:
        answered, not_answered = tails[max(votes)]
        return np.append(log_wins(votes, sigma) + answered, not_answered)

    stated = GNMaxVotes(sigma, counts, threshold, other)
    loss = NoisyVotesLoss(stated.sigma, stated.gaps, Fraction(12 - threshold), Fraction(other))
    for order in ORDERS:
        exact = max(divergence(p, q, order) for votes in neighbours(counts)
                    for p, q in ((law(counts), law(votes)), (law(votes), law(counts))))
        bound = float(loss.bound_log_moment(arb(order - 1))) / (order - 1)
        assert exact <= bound * (1 + 1e-9) <= order * (1 / sigma**2 + 1 / (2 * other**2)) * (1 + 1e-5)
    assert float(loss.bound_relative_entropy()) >= divergence(law(counts), law((11, 3, 1)), 1.0001)


@pytest.mark.theorem("T233-noisy-votes")
def test_without_votes_it_is_gaussian_noise_on_what_moves() -> None:
    """Of sensitivity sqrt(2), beside the largest count."""
    assert step_of(GNMax(5), "remove", Relation.REPLACE).shift_squared == Fraction(2, 25)
    assert step_of(GNMax(5, 10), "add", Relation.ADD).shift_squared == Fraction(9, 100)
    found, same = (privacy_profile(compose((kind, 100)), "replace").epsilon("1e-6", digits=4)
                   for kind in (GNMax("7.0710678118654752441"), Gaussian(sigma="5", sensitivity="1")))
    assert abs(found.upper - same.upper) < Fraction(1, 1000)


@pytest.mark.theorem("T233-noisy-votes")
def test_a_bound_from_votes_is_small_where_teachers_agree() -> None:
    table = '[[mechanism]]\nkind = "gnmax-votes"\nsigma = 40\nthreshold = 200\nthreshold_sigma = 150\n'
    asked = "".join(f"{table}{votes}\n"
                    for votes in ("votes = [250, 0, 0]\ncount = 300", "votes = [190, 50, 10]\ncount = 20"))
    dependent = privacy_profile(parse_spec('relation = "add-or-remove"\n' + asked)).delta("1/2", digits=2)
    plain = privacy_profile(compose((GNMax(40, 150), 320)), "add-or-remove").delta("2", digits=2)
    assert plain.upper > 1e-5 > dependent.upper > 0 == dependent.lower


@pytest.mark.parametrize("gaps", [((Fraction(0), 1),), ((Fraction(1), 9), (Fraction(10**6), 1))], ids=str)
def test_votes_without_a_winner_are_bounded_as_any(gaps: tuple[tuple[Fraction, int], ...]) -> None:
    assert bound_vote(Fraction(40), gaps, arb(7)) == ball(Fraction(56, 1600)).upper()


def test_what_is_refused_and_what_is_said() -> None:
    with pytest.raises(InvalidInput, match="at least 2 classes"):
        GNMaxVotes(1, [3])
    with pytest.raises(InvalidInput, match="threshold_sigma must be given where threshold is"):
        GNMaxVotes(1, [3, 1], 3)
    with pytest.raises(Unsupported, match="gnmax"):
        privacy_profile(GNMax(1), "add", group_size=2)
    said = assumptions(compose(GNMaxVotes(1, [3, 1])), Relation.ADD)
    assert "no guarantee of differential privacy" in said[0] and "depends on the data" in " ".join(said)


def test_no_statement_calls_it_differential_privacy_alone(certify_text: Callable[..., dict[str, object]]) -> None:
    """Titles and sentences say that it is of the stated votes; every kind that says so in its words is among these."""
    step = '[[mechanism]]\nkind = "{}"\nsigma = 40\n{}'
    for kind, more in (("gnmax-votes", "votes = [200, 50]\n"), ("gnmax", "")):
        document = certify_text("replace", step.format(kind, more), "1", "1e-5", digits=3)
        told = " ".join(sentences(document))
        assert ("differential privacy at the stated votes alone (no guarantee)" in told) == (kind == "gnmax-votes")
    assert [kind for kind, one in ALL_RELEASES.items() if "no guarantee" in one.stated.convention] == [*DEPENDENT]
