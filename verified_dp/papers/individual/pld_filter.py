"""The approximative PLD filter of Koskela, Tobaben and Honkela (2023), section 5: an estimate, and why.

It asks that the composed curve stays below a Gaussian's,

    delta(eps) <= H_{e^eps}(N(mu, 1) || N(0, 1))        (5.1)

for ALL real eps; by Blackwell's theorem mu-GDP of the product of the pairs, and with it a bound on every Renyi
divergence, would follow. On a range of eps (5.1) is proved here. On all of them it cannot hold for k sampled
Gaussian steps unless mu >= sqrt(k) / sigma, where sampling gains nothing: their Renyi divergence of order a grows like
a k / (2 sigma^2). And a range is not enough, nor would (5.1) without Blackwell be: filters that stop when the composed
curve crosses a target are not valid in general (arXiv:2602.06756, arXiv:2602.15815). So the answer is an `Estimate`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb, ctx

from verified_dp.adaptive.budgets import decide, largest_decimal
from verified_dp.adaptive.sums import Verdict
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composition import Composition, Mechanism, Relation, compose
from verified_dp.core.kernel.dyadic import Dyadic, outward_decimal
from verified_dp.core.kernel.ends import End
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.gaussian import enclose_gaussian_profile
from verified_dp.core.kernel.locks import alone
from verified_dp.enclosure import Estimate
from verified_dp.ends import ball_of
from verified_dp.profile import privacy_profile

METHOD = "approximative PLD filter"
CURVE_DIGITS = 4


@dataclass(frozen=True)
class EpsilonRange:
    """The eps where (5.1) is looked at: from low to high, at `points` points."""

    low: Fraction = Fraction(0)
    high: Fraction = Fraction(8)
    points: int = 33

    def __post_init__(self) -> None:
        low, high = exact.exact(self.low, "epsilons.low"), exact.exact(self.high, "epsilons.high")
        points = exact.count(self.points, "epsilons.points")
        if low >= high or points < 2:
            raise InvalidInput("epsilons", f"{self.low} to {self.high}, {self.points} points", "a range of >= 2 points")
        for name, value in (("low", low), ("high", high), ("points", points)):
            object.__setattr__(self, name, value)

    @property
    def values(self) -> tuple[Fraction, ...]:
        """The points."""
        width = (self.high - self.low) / (self.points - 1)
        return tuple(self.low + i * width for i in range(self.points))


Curve = tuple[tuple[Fraction, End], ...]


def bound_curve(composition: Composition, relation: Relation | str, epsilons: EpsilonRange) -> Curve:
    """(right end, upper bound of delta on the cell) for each cell between neighbouring points: delta falls in eps."""
    profile, points = privacy_profile(composition, relation=relation), epsilons.values
    uppers = [profile.delta(left, CURVE_DIGITS).upper for left in points[:-1]]
    return tuple(zip(points[1:], uppers, strict=True))


def is_below_gaussian(curve: Curve, mu_squared: Fraction) -> bool:
    """Whether (5.1) is proved on the whole range: delta at each cell's left end <= the Gaussian's at its right end."""
    def gap(right: Fraction, upper: End) -> arb:
        return enclose_gaussian_profile(mu_squared, ball(right)) - ball_of(upper)

    return all(decide(lambda cell=cell: gap(*cell)) is True for cell in curve)  # type: ignore[misc]


@alone
def blackwell_mu(steps: Composition | Mechanism, relation: Relation | str, epsilons: EpsilonRange | None = None,
                 digits: int = 4) -> Estimate:
    """A mu of so many digits, smallest up to rounding and the grid, for which (5.1) holds on the range of eps.

    >>> from verified_dp import Gaussian, PoissonSampled, compose
    >>> steps = compose((PoissonSampled(Gaussian(2), "0.05"), 100))
    >>> blackwell_mu(steps, "remove", EpsilonRange(0, 4, 9)).method
    'approximative PLD filter'
    """
    epsilons, digits = epsilons or EpsilonRange(), exact.digits(digits)
    curve = bound_curve(compose(steps), relation, epsilons)
    below = largest_decimal(lambda square: not is_below_gaussian(curve, square), digits + 1)
    with ctx.workprec(4 * digits + 64):
        root = ball(below).sqrt().upper()
    mantissa, exponent = root.man_exp()
    return _estimate(outward_decimal(Dyadic(int(mantissa), int(exponent)), digits, up=True).text, epsilons)


def _estimate(value: str, epsilons: EpsilonRange) -> Estimate:
    return Estimate(value, METHOD, f"(5.1) is known for eps from {epsilons.low} to {epsilons.high} only and fails "
                    "further out, and crossing a curve is no valid stopping rule in general "
                    "(arXiv:2602.06756, arXiv:2602.15815): use a GDP or Renyi filter for a guarantee")


@dataclass(frozen=True)
class PLDDecision:
    """The approximate verdict on a step, the state after it, and the reason why no guarantee follows."""

    verdict: Verdict
    state: ApproximatePLDFilter
    estimate: Estimate


@dataclass(frozen=True)
class ApproximatePLDFilter:
    """HALT when (5.1), with the step about to run, is no longer proved on the range of eps. It certifies nothing.

    Args:
        budget: mu^2 > 0. relation: the neighbours. epsilons: the range. steps: what has run.
    """

    budget: Fraction
    relation: Relation
    epsilons: EpsilonRange = EpsilonRange()
    steps: tuple[Mechanism, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", exact.positive(self.budget, "budget"))
        object.__setattr__(self, "relation", Relation.of(self.relation))

    def charge(self, mechanism: Mechanism) -> PLDDecision:
        """Whether a step may run, approximately."""
        steps = (*self.steps, mechanism)
        curve = bound_curve(compose(*steps), self.relation, self.epsilons)
        verdict, state = Verdict.HALT, self
        if is_below_gaussian(curve, self.budget):
            verdict, state = Verdict.CONTINUE, replace(self, steps=steps)
        return PLDDecision(verdict, state, _estimate(str(verdict), self.epsilons))
