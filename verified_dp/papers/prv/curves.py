"""A privacy loss from a privacy curve, and a mechanism from guarantees at several epsilons (Gopi et al., (6))."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import ctx

from verified_dp.core.families.finite.mechanism import Finite
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import lower_dyadic, upper_dyadic
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.locks import alone
from verified_dp.enclosure import Enclosure
from verified_dp.ends import ball_of
from verified_dp.papers.prv.bounds_curve import dominating_masses, enclose_tails

Ends = tuple[Dyadic, Dyadic]
BITS = 256


@dataclass(frozen=True)
class LossTail:
    """Lower and upper ends of P(Y > epsilon) and of P(X > epsilon): the loss under P, and under Q."""

    epsilon: Fraction
    under_p: Ends
    under_q: Ends


@alone
def loss_of_curve(curve: Callable[[Fraction], Enclosure], epsilons: Sequence[Number]) -> list[LossTail]:
    """Enclose the tails of the privacy loss that a curve has, at all of these epsilons but the first and the last.

    P(X > eps) = -e^-eps delta'(eps+), P(Y > eps) = delta(eps) + e^eps P(X > eps); the slopes from each epsilon to its
    neighbours enclose the derivative, so that close ones give narrow ends. curve: encloses delta(eps), such as
    `profile.delta`. Raises InvalidInput where the epsilons do not rise.
    """
    places = [exact.exact(epsilon, "epsilons") for epsilon in epsilons]
    if len(places) < 3 or any(a >= b for a, b in pairwise(places)):
        raise InvalidInput("epsilons", len(places), "three or more increasing numbers")
    values = [curve(place) for place in places]
    with ctx.workprec(BITS):
        tails = enclose_tails(places, [(ball_of(value.lower), ball_of(value.upper)) for value in values])
        ends = [[(lower_dyadic(low), upper_dyadic(high)) for low, high in pair] for pair in tails]
    return [LossTail(place, *pair) for place, pair in zip(places[1:-1], ends, strict=True)]


@alone
def mechanism_of_guarantees(guarantees: Sequence[tuple[Number, Number]], *, both: bool = True) -> Finite:
    """The worst mechanism that is (eps, delta)-DP for all of these pairs, as a mechanism of finitely many outcomes.

    Its curve is the largest convex one through the guarantees, so that compositions of what is known by them alone are
    bounded by its compositions; one pair gives that of `ApproximateDP`. both: the guarantees hold for neighbours in
    both directions. Raises InvalidInput where no mechanism meets them.

    >>> mechanism_of_guarantees([(0, "1/2")])
    Finite([0, '0.5', '0.5'], Q=['0.5', '0.5', 0])
    """
    points = [(exact.exact(epsilon, "epsilon"), exact.probability(delta, "delta")) for epsilon, delta in guarantees]
    if not points:
        raise InvalidInput("guarantees", guarantees, "one or more pairs of epsilon and delta")
    masses = dominating_masses(points, both)
    return Finite([p for p, _ in masses], [q for _, q in masses])
