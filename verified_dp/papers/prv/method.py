"""The PRV accountant of Gopi, Lee and Wutschitz (2021): Algorithms 1 and 2 with conclusion (8) as a proved interval.

    PRVAccountant(eps_error="1/10", delta_error="1e-10").curve(loss, Fraction(1), 4, Budget(None)).delta(Fraction(1))

The estimate is what the authors' program reports, delta of the rounded losses at eps itself; the bounds are those of
(8), at eps -+ eps_error with delta_error, each source of error evaluated in balls (T87 to T92).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.engines.exact import enclose_past_support
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.law import SWAPPED, Law
from verified_dp.papers.paper import Method, PaperAnswer, Readers, one_of, whole
from verified_dp.papers.prv.bounds import (
    COUPLINGS,
    Profile,
    PRVValues,
    PRVWitness,
    approximate_by_prv,
    certify_domain,
    enclose_by_coupling,
    evaluate_prv,
)
from verified_dp.papers.prv.choose import LARGEST_GRID, MOST_POINTS, PARTS, Asked, PRVPlan, log_of
from verified_dp.search.deadline import Budget, check_time
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.moment_engine import MomentEngine
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import guess_epsilon

WINDOWS = ("chernoff", "renyi", "engine")
_POINT_SECONDS = 3e-5
"""Of one point, or of one part of a cell, and 100 bits."""
_FEWEST_POINTS = 2**10


def _below_one(value: object, key: str) -> Fraction:
    number = exact.positive(value, key)
    if number >= 1:
        raise InvalidInput(key, value, "below 1")
    return number


@dataclass(frozen=True)
class PRVAccountant(Method):
    """Parameters of the paper; each is chosen by the method where it is None.

    eps_error, delta_error: those of Theorem 5.5; None: what `points` and the time allow, a share of delta by digits.
    points: an even number, the most that are chosen where neither eps_error nor the mesh is asked for. mesh: h.
    domain: L. tilt: c >= 0 of an exponential tilting (0: as published). bound: how rounding errors add up, "mgf"
    (Chernoff's bound with their own transform), "hoeffding" (as published) or "one-sided". window: how L is found, by
    "chernoff" bounds, or as in Remark 5.6 through "renyi" divergences or the certified "engine". bits: of the
    transforms.
    """

    name: ClassVar[str] = "prv"
    nothing: ClassVar[str] = "there is no loss to round"
    readers: ClassVar[Readers] = {"eps_error": exact.positive, "delta_error": _below_one, "mesh": exact.positive,
               "domain": exact.positive, "tilt": exact.non_negative, "bound": one_of(COUPLINGS),
               "points": whole(16, LARGEST_GRID, 2), "window": one_of(WINDOWS), "bits": whole(24, 10_000)}
    eps_error: Fraction | None = None
    delta_error: Fraction | None = None
    mesh: Fraction | None = None
    domain: Fraction | None = None
    tilt: Fraction | None = None
    bound: str = "mgf"
    points: int = MOST_POINTS
    window: str = "chernoff"
    bits: int | None = None

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> PRVCurve:
        """The curve of one order. Raises Unsupported where a step is known by its moments alone, or nothing depends."""
        self.check(loss)
        return PRVCurve(self, loss, epsilon, digits, budget)

    def run(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> PRVRun:
        """Choose mesh, domain and ranges, compose."""
        most = affordable(self.points, loss, self.bound, budget)
        asked = Asked(self.eps_error, self.delta_error, self.mesh, self.domain, self.tilt, self.bits, self.bound, most)
        plan = PRVPlan(loss, as_float(epsilon), 3.32 * digits + 1, asked, self.window == "chernoff")
        domain, profile, certified = self._domain(loss, plan, budget)
        witness = plan.witness(domain)
        seconds = predict_seconds(witness)
        check_time(seconds)
        if seconds > 1:
            budget.say(f"prv: about {seconds:.0f} s for {witness.points} points")
        return PRVRun(evaluate_prv(loss, witness, profile), plan.errors.delta_error, certified)

    def _domain(self, loss: ComposedLoss, plan: PRVPlan, budget: Budget) -> tuple[float, Profile | None, bool | None]:
        """(L, the profile that Lemma 5.4 reads, whether (7) is certified): Remark 5.6, or Chernoff bounds."""
        if self.window == "chernoff":
            return (plan.least_domain(plan.epsilon) if self.domain is None else float(self.domain)), None, None
        if not all(one.enclose_infinity_mass().is_zero() for one in both_orders(loss)):
            raise Unsupported("Remark 5.6 finds no domain where there is mass at infinity: use window=chernoff")
        error, shift = plan.errors.delta_error, self.eps_error or Fraction(1, 10)
        if self.domain is None:
            singles = [max(self._epsilon(single, error / (8 * plan.errors.count)) for single in both_orders(alone(law)))
                       for law in {law for law, _ in loss.laws}]
            composed = max(self._epsilon(one, error / 4) for one in both_orders(loss))
            domain = 2 + max(shift + composed, *singles)
        else:
            domain = self.domain
        where = max(domain - 2 - shift, Fraction(0))
        forward, backward = (self._delta(one, where, budget) for one in both_orders(loss))
        profile = Profile(where, forward, backward)
        with ctx.workprec(128):
            return float(domain), profile, certify_domain(loss, domain - 2, error, profile)

    def _epsilon(self, loss: ComposedLoss, delta: Fraction) -> Fraction:
        """About the eps of that delta, rounded up."""
        if self.window == "renyi":
            return dyadic(MomentEngine(loss).guess_epsilon(log_of(delta)) * 1.001, 20)
        return guess_epsilon(OneDirection(loss), delta)[0] * Fraction(1001, 1000)

    def _delta(self, loss: ComposedLoss, epsilon: Fraction, budget: Budget) -> arb:
        """A proved upper bound of delta."""
        if self.window == "renyi":
            return MomentEngine(loss).solve(epsilon).bounds.upper
        return OneDirection(loss).enclose(epsilon, 10, "auto", budget).bounds.upper


def predict_seconds(witness: PRVWitness) -> float:
    """About how long it takes on a slow core."""
    cells = sum(last - first for first, last in witness.ranges) * witness.parts
    return _POINT_SECONDS * (witness.points * witness.prec + cells * witness.mass_bits) / 100


def affordable(points: int, loss: ComposedLoss, bound: str, budget: Budget) -> int:
    """The most points, halved until about half of the time that is left is enough for them."""
    each = _POINT_SECONDS * (1 + len(loss.laws) * PARTS[bound] / 2)
    while points > _FEWEST_POINTS and points * each > budget.left / 2:
        points //= 2
    return points


def both_orders(loss: ComposedLoss) -> tuple[ComposedLoss, ComposedLoss]:
    """The loss, and that of the swapped pair."""
    return loss, loss.in_order(SWAPPED[loss.order])


def alone(law: Law) -> ComposedLoss:
    """One step."""
    return ComposedLoss(law.order, ((law, 1),), Fraction(0))


@dataclass(frozen=True)
class PRVRun:
    """What does not depend on eps; certified: whether (7) holds, None where Remark 5.6 was not asked for."""

    values: PRVValues
    delta_error: Fraction
    certified: bool | None


@dataclass(frozen=True)
class PRVCurve:
    """delta of one order; cheap after the first time, and narrowest near the eps it was made for."""

    method: PRVAccountant
    loss: ComposedLoss
    epsilon: Fraction
    digits: int
    budget: Budget

    @cached_property
    def run(self) -> PRVRun:
        """The work, done when it is first needed."""
        return self.method.run(self.loss, self.epsilon, self.digits, self.budget)

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """The interval of (8) at eps, and the authors' estimate; past the largest loss what is known without either."""
        past = enclose_past_support(self.loss, epsilon)
        if past.upper < 1:
            return PaperAnswer(past)
        values = self.run.values
        with ctx.workprec(values.witness.prec):
            estimate = approximate_by_prv(values, epsilon).mid().str(15, radius=False)
        return PaperAnswer(enclose_by_coupling(values, epsilon), estimate,
                           "delta of the rounded losses at eps itself, without the errors of (8)", self.parameters)

    @cached_property
    def parameters(self) -> dict[str, str]:
        """What was used, in words."""
        used, certified = self.run.values.witness, self.run.certified
        shown = {"eps_error": f"{float(used.distance):.6g}", "delta_error": arb_text(self.run.delta_error),
                 "mesh": f"{float(used.step):.6g}", "domain": f"{float(used.half_length):.6g}",
                 "points": str(used.points), "tilt": f"{float(used.tilt):.6g}", "bound": used.coupling,
                 "window": self.method.window, "bits": str(used.prec)}
        return shown if certified is None else shown | {"condition (7)": "holds" if certified else "not shown"}


def arb_text(value: Fraction) -> str:
    """Six digits of a number of any size."""
    with ctx.workprec(64):
        return (arb(value.numerator) / arb(value.denominator)).str(6, radius=False)
