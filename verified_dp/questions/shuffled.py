"""Shuffled messages from below: what an attack on one pair of data sets sees is revealed (T139)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.families.batches.shuffled import masses_of
from verified_dp.core.families.clones.mechanism import ShuffledLocal
from verified_dp.core.families.finite.mechanism import Finite
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import ball, integer_above, lower_dyadic
from verified_dp.core.kernel.composition import Composition, compose
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.attack import hull, rounded

MAX_ATTACKED = 10**6
"""Users: the attack's law has as many terms."""
_PREC, _REACH, _POINTS = 160, 14, 48
"""Bits; thresholds reach so many deviations, in so many steps."""


@proved_by("T139-messages-from-below")
def local_attack(users: Number, epsilon0: Number | None = None, odds: Number | None = None,
                 rounds: Number = 1) -> Composition:
    """Shuffled messages of ternary randomised response, all other users with the third input: a lower bound.

    Every delta and epsilon of the composition that is returned, under replace, is at most that of the worst randomiser
    of shuffled-local; so a claim that is refuted for it is refuted for shuffled-local. It proves no claim.

    >>> from verified_dp.profile import privacy_profile
    >>> attack = local_attack(1000, odds=3)
    >>> float(privacy_profile(attack, relation="replace").epsilon("1e-6", digits=3).lower) > 0.14
    True
    """
    stated = ShuffledLocal(users, epsilon0, odds)
    if stated.users > MAX_ATTACKED:
        raise InvalidInput("users", users, f"an integer from 1 to {MAX_ATTACKED}")
    with ctx.workprec(_PREC):
        factor = stated.odds or lower_dyadic(ball(stated.epsilon0 or 0).exp()).as_fraction()
        if factor <= 1:
            raise InvalidInput("epsilon0", epsilon0, "so large that messages differ")
        tails = difference_tails(stated.users - 1, factor)
        spread = (2 * stated.users / (2 + ball(factor))).sqrt()
        reach = min(integer_above(_REACH * spread), stated.users)  # exact: integers
        places = sorted({reach * n // _POINTS for n in range(_POINTS + 1)})
        corners = [rounded(Fraction(c), *difference_rates(tails, factor, c)) for c in places]
    mirrored = [(-1 - c, 1 - p, 1 - q) for c, q, p in corners]
    masses = masses_of(hull(corners + mirrored))
    return compose((Finite([p for p, _ in masses], [q for _, q in masses]), exact.count(rounds, "rounds")))


@proved_by("T139-messages-from-below")
def difference_tails(others: int, odds: Fraction) -> list[arb]:
    """Enclose P(S >= N - i), i = 0..N, S the sum of N = `others` terms: 1, -1, 0 as 1 : 1 : odds.

    (1 + odds z + z^2)^N has the coefficients c_0 = 1, (j+1) c_{j+1} = odds (N-j) c_j + (2N-j+1) c_{j-1}.
    """
    p, before, here = ball(odds), arb(0), (ball(odds) + 2) ** -others
    sums = [here]
    for j in range(others):
        before, here = here, (p * (others - j) * here + (2 * others - j + 1) * before) / (j + 1)
        sums.append(sums[-1] + here)
    return sums


@proved_by("T139-messages-from-below")
def difference_rates(tails: Sequence[arb], odds: Fraction, threshold: int) -> tuple[arb, arb]:
    """Enclose (q, p) of the test that more than `threshold` messages more say 1 than 2."""
    others, p = len(tails) - 1, ball(odds)

    def tail(d: int) -> arb:
        if d < 1:
            return 1 - tail(1 - d)
        return tails[others - d] if d <= others else arb(0)

    one, none, two = (tail(threshold + n) for n in range(3))
    return (one + none + p * two) / (p + 2), (p * one + none + two) / (p + 2)
