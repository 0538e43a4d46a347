"""The facade: delta(eps) and epsilon(delta) of a composition under a relation, certified to the asked digits.

    profile = privacy_profile(load_spec("claim.toml"))
    profile.epsilon("1e-5", digits=12)

Where a relation composes two orders, the answer is the larger (T25): the larger one is enclosed to all digits,
the other only has to be shown smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property, partial, singledispatch
from typing import TYPE_CHECKING, Self, TypeGuard, cast, overload

from flint import arb, ctx

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import ball, lower_dyadic, lower_end, upper_dyadic
from verified_dp.core.kernel.bounds import Bounds, reverse_bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Claim, Composition, Mechanism, Relation, Spec, compose
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import InconsistentEnclosures, InvalidInput, Unsupported
from verified_dp.core.kernel.evaluation import Ends, Evaluation, largest_delta, largest_epsilon
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.losses import pairs_and_losses
from verified_dp.core.kernel.steps import DominatingPair
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.witnesses import Values
from verified_dp.core.kernel.words import convention
from verified_dp.enclosure import Enclosure, Solution, html_table
from verified_dp.ends import readable
from verified_dp.questions.curve import Curve
from verified_dp.search.answer import Answer, intersect
from verified_dp.search.deadline import Budget, OutOfTime, ending_at, is_stopped
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.orders import bracket_order, order_of
from verified_dp.search.planners.plan import LATTICE_DIGITS
from verified_dp.search.planners.table import EXPANSIONS
from verified_dp.search.roots import Bracket, first_guess, guess_epsilon, is_below, log_of

if TYPE_CHECKING:
    from verified_dp.questions.loss_distribution import LossOnGrid
    from verified_dp.questions.many import Found
    from verified_dp.questions.tradeoff import Delta, TradeOff

METHODS = ("auto", "closed-form", "contour", "lattice")
CURVE_DIGITS = 6
GDP_DIGITS = 3
DEFAULT_DIGITS = 12
"""What is asked for where nobody says and a method is at hand whose cost hardly grows with the digits."""


_FIRST_BITS = 8.0
"""Of a first answer: of the order that seems smaller, or before a search that may take long."""
_FIRST_SHARE = 0.6
"""Of a stated time for the first order, where no method is quick in both."""
_RESERVE = 0.002
"""Seconds per law and order that a bound by one moment takes."""
_MANY_LAWS = 20
"""Of all orders: from so many on a schedule is also enclosed in buckets where its own laws give wide ends."""
_LEAST_PER_LAW = 0.004
"""Seconds below which a schedule's own laws are not asked at all."""
_IN_BUCKETS, _BUCKET_SHARE, _BUCKET_DIGITS = 10.0, 0.4, 5
"""Seconds for buckets where no time is stated, their share of a stated time, and the digits asked of each schedule."""
_POINT_SHARE = 0.3
"""Of what is left, for each delta of a trade-off curve."""
_FOR_LOWER, _TINY = 5.0, -20_000.0
"""Seconds for the lower end of steps that meet a guarantee, where no time is stated; a log of delta not worth them."""
Ask = Callable[["PrivacyProfile", int, float | None], Enclosure]


@dataclass(frozen=True)
class Reversed:
    """delta of an order from the values of the swapped pair."""

    swapped: Values

    @proved_by("T16-reversal")
    def delta(self, epsilon: Fraction) -> Bounds:
        """H_a(P || Q) from H_{1/a}(Q || P), a = e^eps."""
        return reverse_bounds(self.swapped.delta(-epsilon), epsilon)


class PrivacyProfile:
    """The privacy profile delta(eps) of a composition under a relation.

    Args:
        composition: what was run. relation: which data sets are neighbours.
        progress: called with a short text before long work.
    losses: the privacy loss in each order of the relation. proven: whether the pairs dominate the relation.
    """

    proven = True

    @alone
    def __init__(self, composition: Composition, relation: Relation | str,
                 progress: Callable[[str], None] | None = None) -> None:
        self.composition, self.relation, self.progress = composition, Relation.of(relation), progress
        self.pairs, self.losses = self._compose()
        self._orders: Sequence[OneDirection] = [order_of(loss) for loss in self.losses]

    def _compose(self) -> tuple[tuple[DominatingPair, ...], tuple[ComposedLoss, ...]]:
        return pairs_and_losses(self.composition, self.relation)

    @classmethod
    def of(cls, what: Spec | Composition | Mechanism, relation: Relation | str | None = None,
           progress: Callable[[str], None] | None = None, group_size: exact.Number | None = None) -> Self:
        """`privacy_profile`, for this class."""
        if isinstance(what, Spec):
            if group_size is not None and exact.count(group_size, "group_size") != what.composition.group_size:
                stated = what.composition.group_size
                raise InvalidInput("group_size", group_size, f"left out, or {stated} as in the specification")
            if relation is not None and Relation.of(relation) is not what.relation:
                raise InvalidInput("relation", str(relation), f"left out, or {what.relation} as in the specification")
            return cls(what.composition, what.relation, progress)
        if relation is None:
            raise InvalidInput("relation", None, "one of " + ", ".join(Relation))
        composition = compose(what)
        return cls(composition if group_size is None else composition.for_groups(group_size), relation, progress)

    def __repr__(self) -> str:
        return f"PrivacyProfile({summary(self.composition)}, {self.relation})"

    def _repr_html_(self) -> str:
        words = {"composition": summary(self.composition, 1000), "relation": self.relation.value,
                 "convention": convention(self.composition, self.relation)}
        return html_table({"": "privacy profile", **words})

    @overload  # a text is one number, though it is iterable
    def delta(self, epsilon: exact.Number, digits: int | None = None, method: str = "auto",  # type: ignore[overload-overlap]
              max_seconds: float | None = None) -> Enclosure: ...
    @overload
    def delta(self, epsilon: Iterable[exact.Number], digits: int | None = None, method: str = "auto",
              max_seconds: float | None = None) -> Curve: ...

    @alone
    def delta(self, epsilon: exact.Number | Iterable[exact.Number], digits: int | None = None, method: str = "auto",
              max_seconds: float | None = None) -> Enclosure | Curve:
        """Enclose delta(eps) = sup over events and neighbours of P(E) - e^eps Q(E), for any real eps.

        epsilon: one, or several for the `Curve` of their enclosures, which costs little more; max_seconds is for all.
        digits: 12 where it is not given, but 4 where only the lattice method applies, whose cost grows with the digits.
        Ensures: the truth lies in the enclosure; its relative width is at most 10^-digits, or its status is "wide".
        Where bounds on divergences are all that is known of a step, the truth is the largest delta that meets them.
        Raises: InvalidInput, Unsupported.
        """
        if _is_several(epsilon):
            return self._along("epsilon", epsilon, digits, method, max_seconds)
        return self._one("delta", cast(exact.Number, epsilon), digits, method, max_seconds)

    @overload  # a text is one number, though it is iterable
    def epsilon(self, delta: exact.Number, digits: int | None = None, method: str = "auto",  # type: ignore[overload-overlap]
                max_seconds: float | None = None) -> Enclosure: ...
    @overload
    def epsilon(self, delta: Iterable[exact.Number], digits: int | None = None, method: str = "auto",
                max_seconds: float | None = None) -> Curve: ...

    @alone
    def epsilon(self, delta: exact.Number | Iterable[exact.Number], digits: int | None = None, method: str = "auto",
                max_seconds: float | None = None) -> Enclosure | Curve:
        """Enclose the smallest eps >= 0 with delta(eps) <= delta, for 0 <= delta <= 1; 0 where delta(0) <= delta.

        delta = 0 asks for the pure epsilon, the largest loss; infinite where there is none, or mass at infinity.
        Several deltas give the `Curve` of their enclosures.

        Ensures and raises as `delta`.
        """
        if _is_several(delta):
            return self._along("delta", delta, digits, method, max_seconds)
        return self._one("epsilon", cast(exact.Number, delta), digits, method, max_seconds)

    def _one(self, quantity: str, at: exact.Number, digits: int | None, method: str,
             max_seconds: float | None) -> Enclosure:
        """One delta or epsilon, in buckets where that is better, with what is attained where guarantees are stated."""
        def ask(profile: PrivacyProfile, digits: int, seconds: float | None) -> Enclosure:
            solve = profile.solve_delta if quantity == "delta" else profile.solve_epsilon
            return solve(at, digits, method, seconds).enclosure

        return self._raised(self._answer(quantity, ask, digits, method, max_seconds), ask, at, max_seconds)

    @proved_by("T147-attained-guarantees")
    def _raised(self, found: Enclosure, ask: Ask, at: exact.Number, max_seconds: float | None) -> Enclosure:
        """The lower end raised to what some steps attain that meet the bounds on divergences which are stated."""
        if not any(loss.only_moments for loss in self.losses):
            return found
        from verified_dp.questions.attained import Guaranteed

        known = Guaranteed.of(self.composition, self.relation, self.losses)
        if known is None or self.composition.group_size > 1:
            return found
        with ctx.workprec(4 * found.digits + 128):
            where = exact.exact(at, found.quantity)
            try:
                end = known.lower_bound_delta(where) if found.quantity == "delta" else known.lower_bound_epsilon(where)
            except OutOfTime:  # what is found holds, with a lower end that is not raised
                return found
            left = _FOR_LOWER if max_seconds is None else max(max_seconds - found.seconds, 0.0)
            low, below = max(lower_dyadic(end), found.lower), self._of_losses(known.losses)
            if found.quantity == "epsilon" or any(one.log_estimate(where) > _TINY for one in below._orders):
                low = max(low, ask(below, found.digits, left).lower)
        if low > found.upper:
            raise InconsistentEnclosures(f"{found.quantity} of steps that meet the guarantees is above {found!r}")
        return replace(found, lower=readable(low))

    def _answer(self, quantity: str, ask: Ask, digits: int | None, method: str,
                max_seconds: float | None) -> Enclosure:
        """What is asked, of many laws also in buckets: instead where time is short, else where the ends are wide."""
        digits, budget = self._digits(digits, method), Budget(max_seconds)
        if not self._has_buckets(method):
            return ask(self, digits, max_seconds)
        stated = max_seconds is not None
        with ending_at(budget.end, budget.last):
            if stated and self._is_short(budget, _LEAST_PER_LAW):
                found = self._in_buckets(quantity, ask, digits, budget.left)
                return ask(self, digits, max_seconds) if found is None else found
            found = ask(self, digits, (1 - _BUCKET_SHARE) * budget.seconds if stated else None)
            if found.status == "certified":
                return found
            more = self._in_buckets(quantity, ask, digits, budget.left if stated else _IN_BUCKETS)
            return found if more is None else found.intersect(more)

    def _has_buckets(self, method: str) -> bool:
        """Whether there are so many laws that a schedule of few, rounded both ways, may say more in little time."""
        if method != "auto" or sum(len(loss.laws) for loss in self.losses) < _MANY_LAWS:
            return False
        from verified_dp.search.buckets import has_buckets

        return not any(loss.only_moments for loss in self.losses) and has_buckets(self.composition)

    def _in_buckets(self, quantity: str, ask: Ask, digits: int, seconds: float) -> Enclosure | None:
        """Between two schedules of few steps; None where there are none."""
        from verified_dp.search.buckets import enclose_in_buckets

        def ask_schedule(composition: Composition, seconds: float) -> Enclosure:
            return ask(type(self)(composition, self.relation), min(digits, _BUCKET_DIGITS), seconds)

        spent = Budget(seconds, self.progress)
        found = enclose_in_buckets(self.composition, ask_schedule, spent)
        if found is None:
            return None
        lower, upper, methods = found
        return self.enclosure(quantity, (lower, upper), order="both" if len(self.losses) > 1 else self.losses[0].order,
                              method="buckets", methods=("buckets", *methods), sources={}, digits=digits, spent=spent,
                              certifiable=False)

    @alone
    @proved_by("T70-moment-enclosure", "T146-relative-entropy", "T25-composition")
    def renyi(self, renyi_order: exact.Number, digits: int = DEFAULT_DIGITS) -> Enclosure:
        """Enclose the Renyi divergence of an order in [1, inf]: the larger of the relation's orders.

        1: the relative entropy; float("inf") or "inf": the largest loss, which is epsilon(0).

        Ensures: the truth lies in the enclosure; infinite where there may be mass at infinity, from 0 on where a step
        is known by upper bounds only. Raises: InvalidInput.
        """
        from verified_dp.questions.moments import enclose_renyi_divergence
        from verified_dp.questions.relative_entropy import choose_relative_entropy

        if renyi_order in ("inf", math.inf):
            return replace(self.epsilon(0, digits), quantity="renyi")
        self.refuse_shuffled("a Renyi divergence")
        with ctx.workprec(4 * exact.digits(digits) + 64):
            order_one = exact.exact(renyi_order, "renyi_order") == 1
            found = [choose_relative_entropy(loss, digits) if order_one
                     else enclose_renyi_divergence(loss, renyi_order, digits) for loss in self.losses]
            lower, upper = found[0]
            for low, high in found[1:]:
                lower, upper = lower.max(low), upper.max(high)
            ends = lower_dyadic(lower) if lower.is_finite() else Dyadic.infinity(), upper_dyadic(upper)
        order = self.losses[0].order if len(self.losses) == 1 else "both"
        return self.enclosure("renyi", ends, order=order, method="renyi", sources={}, digits=digits, spent=Budget(None))

    @alone
    def curve(self, *, epsilons: Sequence[exact.Number] | None = None, deltas: Sequence[exact.Number] | None = None,
              digits: int | None = None, method: str = "auto", max_seconds: float | None = None) -> Curve:
        """delta at these epsilons, or epsilon at these deltas, with at least six digits where they cost little.

        What depends on neither is computed once for many points. max_seconds: for the whole curve; a point may take
        half of what is left.
        """
        if (epsilons is None) == (deltas is None):
            raise InvalidInput("epsilons", epsilons, "given, or deltas instead (one of the two)")
        points, given = (epsilons, "epsilon") if deltas is None else (deltas, "delta")
        few = min(self._digits(None, method), CURVE_DIGITS) if digits is None else digits
        return self._along(given, cast(Sequence[exact.Number], points), few, method, max_seconds)

    def _along(self, given: str, points: Iterable[exact.Number], digits: int | None, method: str,
               max_seconds: float | None) -> Curve:
        """The points answered from what is known near them, or by questions of their own."""
        from verified_dp.questions.many import Many, deltas_along, epsilons_along

        quantity, read = ("delta", exact.exact) if given == "epsilon" else ("epsilon", exact.probability)
        stated, along, budget = _listed(points, given), self.following(), Budget(max_seconds)
        values, digits = [read(point, given) for point in stated], self._digits(digits, method)
        many = Many(along._orders, digits, method)
        solve = along.delta if given == "epsilon" else along.epsilon

        def ask(i: int) -> Enclosure:
            return solve(values[i], digits, method, None if max_seconds is None else budget.left / 2)

        made = self._enclosing(quantity, digits)
        like: dict[tuple[str, str, int], tuple[Found, Enclosure]] = {}

        def shown(found: Found) -> Enclosure:
            key = found.order, found.method, id(found.budget)  # kept alive by what is kept
            if key not in like:
                like[key] = found, made(*found.ends, order=found.order, method=found.method, budget=found.budget)
            return like[key][1].beside(found.ends)

        answered = deltas_along if quantity == "delta" else epsilons_along
        return Curve(given, stated, answered(many, values, ask, shown, budget), values)

    @alone
    def tradeoff(self, digits: int | None = None, max_seconds: float | None = None) -> TradeOff:
        """The false negative rates of all tests that tell neighbours apart, at their false positive rates.

        digits: of no delta more than so many; max_seconds: for all that is asked from now on, a part of what is left
        for each delta. What needs more is wide.
        """
        along, other = self._both_ways(digits, max_seconds)
        from verified_dp.questions.tradeoff import TradeOff

        return TradeOff(along, other, along(Fraction(0), CURVE_DIGITS))

    @alone
    @proved_by("T129-gaussian-guarantee")
    def gdp(self, most_epsilon: exact.Number | None = None, digits: int = GDP_DIGITS) -> Enclosure:
        """Enclose the least mu with delta(eps) <= delta_mu(eps) at every eps in [0, most_epsilon], of both orders.

        most_epsilon None: at every eps, that is, the least mu of mu-GDP. Sampling gains nothing there: far out every
        record was sampled. The upper end is infinite where a loss is unbounded and its noise no mixture of Gaussians.
        """
        self.refuse_shuffled("a Gaussian guarantee")
        digits, budget = exact.digits(digits), Budget(None)
        with ctx.workprec(8 * digits + 128):
            ends = self._enclose_gdp(None if most_epsilon is None else exact.positive(most_epsilon, "most_epsilon"),
                                     digits)
            low, high = (Dyadic.infinity() if end == arb.pos_inf() else to(end)
                         for end, to in zip(ends, (lower_dyadic, upper_dyadic), strict=True))
        return self.enclosure("gdp", (low, high), order="both", method="gdp", sources={}, digits=digits, spent=budget)

    @proved_by("T129-gaussian-guarantee", "T44-infinity-mass")
    def _enclose_gdp(self, most: Fraction | None, digits: int) -> tuple[arb, arb]:
        from verified_dp.questions.gdp import GaussianFit, largest_loss, squares_of_distances

        if most is None and any(loss.enclose_infinity_mass() > 0 for loss in self.losses):
            return arb.pos_inf(), arb.pos_inf()
        least, largest = squares_of_distances(self.losses)
        end, everything = largest_loss(self.losses), arb.pos_inf() if largest is None else ball(largest).sqrt()
        if least == largest and (most is None or not any(loss.parts for loss in self.losses)):
            return everything, everything
        reach = most or end or max(4 * self.guess_epsilon(Fraction(1, 10**9)), Fraction(1))
        low, high = GaussianFit(self._directions(), reach, digits).enclose()
        if most is not None or end is not None:
            return low, high.min(everything)
        return low.max(ball(least).sqrt()), self._bound_gdp_by_steps(digits).min(everything)

    @proved_by("T129-gaussian-guarantee")
    def _bound_gdp_by_steps(self, digits: int) -> arb:
        """Bound mu at all eps by sqrt(sum k_i mu_i^2), mu_i that of each law whose loss is bounded, or of a mixture."""
        from verified_dp.questions.gdp import GaussianFit, largest_loss, squares_of_distances

        total = arb(0)
        for loss in self.losses:
            square = ball(loss.mean_shift_squared)
            for law, count in loss.parts:
                one = replace(loss, parts=((law, 1),), mean_shift_squared=Fraction(0))
                most, end = squares_of_distances([one])[1], largest_loss([one])
                found = arb.pos_inf() if most is None else ball(most)
                if end is not None:
                    mu = GaussianFit(self._of_losses([one])._directions(both=True), end, digits).enclose()[1]
                    found = found.min(mu * mu)
                square += count * found
            total = total.max(square)
        return total.sqrt()

    def _of_losses(self, losses: Sequence[ComposedLoss]) -> Self:
        """The same profile with these losses in the place of its own."""
        other = copy(self)
        other.losses, other._orders = tuple(losses), [order_of(loss) for loss in losses]
        return other

    def _directions(self, both: bool = False) -> Sequence[Delta]:
        """delta of the orders whose curves count for a Gaussian guarantee: of single orders also the swapped ones."""
        alone = both or [loss.order for loss in self.losses] in (["remove"], ["add"])
        return self._both_ways()[: 2 if alone else 1]

    @alone
    def privacy_loss_distribution(self, step: exact.Number, most_epsilon: exact.Number,
                                  least_epsilon: exact.Number = 0, digits: int = LATTICE_DIGITS
                                  ) -> tuple[LossOnGrid, ...]:
        """The loss of each order on a grid, from above and from below, as arrays of doubles for other programs.

        step: of the grid, best a dyadic number. digits: of delta, between the two eps, that what lies outside of the
        grid may cost. Raises: InvalidInput, Unsupported.
        """
        from verified_dp.questions.loss_distribution import enclose_loss

        self.refuse_shuffled("the loss distribution")
        h, most = exact.positive(step, "step"), exact.positive(most_epsilon, "most_epsilon")
        least, width = exact.non_negative(least_epsilon, "least_epsilon"), 10.0 ** -exact.digits(digits)
        return tuple(enclose_loss(loss, h, float(least), float(most), width) for loss in self.losses)

    def _both_ways(self, digits: int | None = None, max_seconds: float | None = None) -> tuple[Delta, Delta]:
        """delta of the relation and of the swapped one, for many questions: the same one but of a single order."""
        along, budget = self.following(), Budget(max_seconds)
        sharp = self._digits(None, "auto") > LATTICE_DIGITS
        most = (exact.MAX_DIGITS if sharp else LATTICE_DIGITS + 1) if digits is None else exact.digits(digits)

        begun: list[Fraction] = []

        def asked(profile: Self) -> Delta:
            def ask(epsilon: Fraction, digits: int) -> Enclosure:
                if begun and (is_stopped() or (max_seconds is not None and budget.spent)):
                    raise OutOfTime
                begun.append(epsilon)
                with ending_at(budget.end, budget.last):
                    seconds = None if max_seconds is None else _POINT_SHARE * budget.left
                    if profile is along:
                        return profile.delta(epsilon, min(digits, most), max_seconds=seconds)
                    return profile.solve_delta(epsilon, min(digits, most), "auto", seconds).enclosure

            return ask

        if [loss.order for loss in self.losses] not in (["remove"], ["add"]):
            return asked(along), asked(along)
        from verified_dp.search.following import Following

        other = copy(self)  # in an order that its relation does not have, so not in buckets
        other._orders = [order_of(loss.in_order(SWAPPED[loss.order]), Following) for loss in self.losses]
        return asked(along), asked(other)

    def refuse_shuffled(self, what: str) -> None:
        """Raise Unsupported where epochs are shuffled: their loss itself is not known."""
        if any(order.is_attacked for order in self._orders):
            raise Unsupported(f"{what} of shuffled batches: only delta and epsilon have both ends", "scheme")

    def following(self) -> Self:
        """The same profile for many questions in a row: it keeps what serves several of them."""
        from verified_dp.search.following import Following

        if all(isinstance(order, Following) for order in self._orders):
            return self
        other = copy(self)
        other._orders = [order_of(loss, Following) for loss in self.losses]
        return other

    @alone
    def guess_epsilon(self, target: Fraction) -> Fraction:
        """About where delta(eps) is the target, from the first-order estimate; 1 where there is no model to ask."""
        try:
            return max(guess_epsilon(order, target)[0] for order in self._orders if not order.is_trivial)
        except (Unsupported, ValueError):
            return Fraction(1)

    @alone
    def solve_delta(self, epsilon: exact.Number, digits: int | None = None, method: str = "auto",
                    max_seconds: float | None = None) -> Solution:
        """`delta` together with the evaluations that prove it."""
        digits = self._digits(digits, method)
        eps, budget = exact.exact(epsilon, "epsilon"), self._budget(method, max_seconds)
        bits = digits * math.log2(10) + 1
        with ctx.workprec(math.ceil(bits) + 64), ending_at(budget.end, budget.last):
            answers = self._enclose_largest(eps, bits, method, budget)
            evaluations = tuple(one.evaluation("delta", order, side)
                                for order, answer in answers for side, one in answer.by_side())
            ends, order = largest_delta(evaluations)
            used = next(e for e in evaluations if order in ("both", e.order))
            enclosure = self._shown("delta", ends, order, used, evaluations, digits, budget)
        return Solution(enclosure, evaluations)

    def _enclose_largest(self, eps: Fraction, bits: float, method: str, budget: Budget) -> list[tuple[str, Answer]]:
        """The larger order to all bits; the other with as few as show it smaller. Negative eps by reversal (T16)."""
        if eps < 0:
            return [(order.loss.order, self._reversed(order, eps, bits, method, budget)) for order in self._orders]
        one_law = all(order.loss.equals_in_law(self._orders[0].loss) for order in self._orders)
        larger, *others = self._orders if one_law else _by_estimate(self._orders, eps)
        if others and not one_law:
            larger.look_beside(others[0], eps)
            if not larger.has_contour and budget.end < math.inf:  # its search may take all of a stated time
                others[0].enclose(eps, _FIRST_BITS, method, budget)
        first = larger.enclose(eps, bits, method, budget)
        answers = [(larger.loss.order, first)]
        for order in others:
            same = order.loss.equals_in_law(larger.loss)
            other = first if same else larger.reversed(first, order, first.bounds.lower) or _show_smaller(
                order, eps, first, bits, method, budget)
            answers.append((order.loss.order, other))
        return answers

    @proved_by("T16-reversal")
    def _reversed(self, order: OneDirection, eps: Fraction, bits: float, method: str, budget: Budget) -> Answer:
        """delta(eps) of an order at eps < 0 from the swapped pair at -eps."""
        other = order_of(order.loss.in_order(SWAPPED[order.loss.order]))
        answer = other.enclose(-eps, bits, method, budget)
        return intersect([Answer(eps, one.witness, Reversed(one.values), reverse_bounds(one.bounds, eps))
                          for _, one in answer.by_side()])

    @alone
    def solve_epsilon(self, delta: exact.Number, digits: int | None = None, method: str = "auto",
                      max_seconds: float | None = None) -> Solution:
        """`epsilon` together with the evaluations that prove it."""
        digits = self._digits(digits, method)
        target, budget = exact.probability(delta, "delta"), self._budget(method, max_seconds)
        with ctx.workprec(4 * digits + 64), ending_at(budget.end, budget.last):
            brackets = self._bracket_largest(target, digits, method, budget)
            evaluations = tuple(
                answer.proving(side).evaluation("epsilon", order, side) for order, bracket in brackets
                for side, answer in (("lower", bracket.lower), ("upper", bracket.upper)) if answer is not None)
            ends, order = largest_epsilon([order for order, _ in brackets], evaluations, target)
            if any(bracket.never for _, bracket in brackets):
                ends = Dyadic.infinity(), Dyadic.infinity()
            used = next((e for e in evaluations if order in ("both", e.order)), None)
            enclosure = self._shown("epsilon", ends, order, used, evaluations, digits, budget)
        return Solution(enclosure, evaluations)

    @proved_by("T13-epsilon-of-delta", "T25-composition")
    def _bracket_largest(self, target: Fraction, digits: int, method: str,
                         budget: Budget) -> list[tuple[str, Bracket]]:
        """The first order bracketed; of the other, delta(eps_hi) <= target where that is so, else its own bracket."""
        first, *rest = self._orders
        if rest and target:
            with suppress(Unsupported, ValueError, OutOfTime):  # lines near delta = target may show both orders
                if first.has_contour and not first.is_trivial and not first.loss.equals_in_law(rest[0].loss):
                    first.look_beside(rest[0], first_guess(first, target)[0])
        own = budget if first.has_contour or not rest else budget.share(_FIRST_SHARE)
        with ending_at(own.end, own.last):
            brackets = [(first.loss.order, bracket_order(first, target, digits, method, own))]
        for order in rest:
            top = brackets[0][1].upper
            if order.loss.equals_in_law(first.loss):
                brackets.append((order.loss.order, brackets[0][1]))
                continue
            shown = None
            if top is not None and target:
                shown = first.reversed(top, order, lower_end(ball(target))) or _show_below(
                    order, top.epsilon, target, method, budget)
            if shown is not None:
                brackets.append((order.loss.order, Bracket(None, shown)))
            else:
                brackets.append((order.loss.order, bracket_order(order, target, digits, method, budget)))
        return brackets

    @alone
    def solve_claim(self, claim: Claim, digits: int | None = None, method: str = "auto",
                    max_seconds: float | None = None) -> tuple[Solution, Solution]:
        """delta at the claimed epsilon, with as many digits as decide the claim, and epsilon at the claimed delta.

        Unless the claim is proved epsilon gets three digits more than it prints, so that rounding to them can be
        judged; at most 1000.
        Where time is short, the enclosures may be narrower than what their evaluations prove: by buckets.
        """
        digits, limit = self._digits(digits, method), Budget(max_seconds)
        with ending_at(limit.end, limit.last):
            if max_seconds is None or not self._has_buckets(method):
                return self._solve_claim(claim, digits, method, limit)
            own = Budget(max_seconds * (0 if self._is_short(limit, _LEAST_PER_LAW) else 1 - _BUCKET_SHARE))
            with ending_at(-math.inf, -math.inf) if self._is_short(limit, _RESERVE) else nullcontext():
                delta, epsilon = self._solve_claim(claim, digits, method, own)
            return (self._beside_buckets("delta", delta, lambda profile, digits, seconds: profile.solve_delta(
                        claim.epsilon, digits, method, seconds).enclosure, limit.left / 2),
                    self._beside_buckets("epsilon", epsilon, lambda profile, digits, seconds: profile.solve_epsilon(
                        claim.delta, digits, method, seconds).enclosure, limit.left))

    def _is_short(self, budget: Budget, seconds: float) -> bool:
        """Whether there is no time for so many seconds per law and order."""
        return budget.seconds < seconds * sum(len(loss.laws) for loss in self.losses)

    def _beside_buckets(self, quantity: str, solution: Solution, ask: Ask, seconds: float) -> Solution:
        """The solution, its enclosure intersected with one in buckets unless it is sharp; its evaluations stay."""
        own = solution.enclosure
        more = None if own.status == "certified" else self._in_buckets(quantity, ask, own.digits, seconds)
        return solution if more is None else replace(solution, enclosure=own.intersect(more))

    def _solve_claim(self, claim: Claim, digits: int, method: str, limit: Budget) -> tuple[Solution, Solution]:
        asked = digits
        while True:
            delta = self.solve_delta(claim.epsilon, asked, method, limit.left)
            undecided = delta.enclosure.lower <= claim.delta < delta.enclosure.upper
            # no digits help where only an upper bound is known, or an attack
            from_above = delta.enclosure.method == "renyi" or any(order.is_attacked for order in self._orders)
            if not undecided or limit.spent or asked >= exact.MAX_DIGITS // 2 or from_above or method in EXPANSIONS:
                break
            asked *= 2
        if delta.enclosure.upper > claim.delta:
            printed = sum(character.isdigit() for character in claim.epsilon_text.lower().partition("e")[0])
            digits = min(max(digits, printed + 3), exact.MAX_DIGITS)
        return delta, self.solve_epsilon(claim.delta, digits, method, limit.left)

    def _digits(self, asked: int | None, method: str) -> int:
        """Those asked for; else 12, or the lattice method's few where no other applies or it is asked for."""
        if asked is not None:
            return exact.digits(asked)
        sharp = all(order.is_sharp for order in self._orders)
        return DEFAULT_DIGITS if sharp and method not in ("lattice", *EXPANSIONS) else LATTICE_DIGITS

    def _budget(self, method: str, max_seconds: float | None) -> Budget:
        if method not in (*METHODS, *EXPANSIONS):
            raise InvalidInput("method", method, f"one of {', '.join((*METHODS, *EXPANSIONS))}; ask "
                               "verified_dp.papers.accountant for a paper's method")
        return Budget(max_seconds, self.progress, _RESERVE * sum(len(loss.laws) for loss in self.losses))

    def _shown(self, quantity: str, ends: Ends, order: str, used: Evaluation[Dyadic] | None,
               evaluations: tuple[Evaluation[Dyadic], ...], digits: int, budget: Budget) -> Enclosure:
        """`used` is the evaluation whose method and budget are shown; None where the time allowed none."""
        return self.enclosure(
            quantity, ends, order=order, method=used.witness.method if used else "auto", digits=digits, spent=budget,
            methods=tuple(dict.fromkeys(evaluation.witness.method for evaluation in evaluations)),
            sources=used.budget if used else {})

    def enclosure(self, quantity: str, ends: Ends, *, order: str, method: str, sources: Mapping[str, Dyadic],
                  digits: int, spent: Budget, methods: tuple[str, ...] = (), certifiable: bool = True) -> Enclosure:
        """Ends of delta or epsilon with what this profile says of them; sources: the errors on delta."""
        return self._enclosing(quantity, digits)(
            *ends, budget=sources, method=method, methods=methods, order=order, seconds=spent.elapsed,
            certifiable=certifiable)

    def _enclosing(self, quantity: str, digits: int) -> Callable[..., Enclosure]:
        """An enclosure of one quantity with what this profile says of all of them."""
        return partial(self._of_all, quantity=quantity, digits=digits)

    @cached_property
    def _of_all(self) -> Callable[..., Enclosure]:
        return partial(Enclosure, relation=self.relation.value, convention=convention(self.composition, self.relation),
                       tight=all(pair.is_attained for pair in self.pairs), proven=self.proven)


def _listed(points: Iterable[exact.Number], given: str) -> list[exact.Number]:
    """The points; an array of no dimension is iterable, and has none."""
    try:
        if not isinstance(points, str | bytes):
            return list(points)
    except TypeError:
        pass
    raise InvalidInput(given, points, "several numbers, such as a list of them")


def _is_several(points: exact.Number | Iterable[exact.Number]) -> TypeGuard[Iterable[exact.Number]]:
    return isinstance(points, Iterable) and not isinstance(points, str)


def summary(composition: Composition, most: int = 80) -> str:
    """A composition in one short line, cut after `most` characters: "10000 x PoissonSampled(Gaussian(3/2), 1/100)"."""
    text = " + ".join(f"{count} x {_words(mechanism)}" for mechanism, count in composition.parts[:most])
    return text if len(text) <= most else f"{text[:most - 3]}..."


@singledispatch
def _words(value: object) -> str:
    """A mechanism with the numbers that are stated."""
    if not is_dataclass(value):
        return str(value)
    stated = (getattr(value, field.name) for field in fields(value))
    return f"{type(value).__name__}({', '.join(_words(item) for item in stated if item is not None)})"


@_words.register(tuple)
def _(value: tuple[object, ...]) -> str:
    return f"[{', '.join(map(_words, value))}]"


_words.register(Fraction, exact.fraction_text)
_words.register(Composition, summary)


def _log_estimate(order: OneDirection, eps: Fraction, start: float | None = None, beside: float = -math.inf) -> float:
    """The first-order estimate; -inf past the deadline: it only says which order comes first."""
    try:
        return order.log_estimate(eps, start, beside)
    except OutOfTime:
        return -math.inf


def _by_estimate(orders: Sequence[OneDirection], eps: Fraction) -> list[OneDirection]:
    """The largest first; each saddle point is looked for from the last one's tilt on."""
    found, start = list[tuple[float, OneDirection]](), None
    for order in orders:
        largest = max((log for log, _ in found), default=-math.inf)
        found.append((_log_estimate(order, eps, start, largest), order))
        start = order.tilt
    return [order for _, order in sorted(found, key=lambda pair: pair[0], reverse=True)]


def _chernoff(order: OneDirection, eps: Fraction, goal: arb) -> Answer | None:
    """The cheap upper bound where it is expected to be below the goal; None past the deadline."""
    try:
        return order.quick_upper(eps) if order.saddle(eps).log_chernoff < float(goal.log()) else None
    except OutOfTime:
        return None


def _show_smaller(order: OneDirection, eps: Fraction, first: Answer, bits: float, method: str,
                  budget: Budget) -> Answer:
    """Enclose the order that seems smaller: by Chernoff, then with few bits, then with as many as decide or match."""
    if order.loss.parts and order.has_contour and method in ("auto", "contour") and eps < order.model.largest:
        quick = _chernoff(order, eps, first.bounds.lower)
        if quick is not None and quick.bounds.upper <= first.bounds.lower:
            return quick
    asked = _FIRST_BITS
    while True:
        answer = order.enclose(eps, asked, method, budget)
        if answer.bounds.upper <= first.bounds.lower or asked >= bits or budget.spent:
            return answer
        asked = bits if asked > 8 or eps == 0 else 20.0


def _show_below(order: OneDirection, eps: Fraction, target: Fraction, method: str, budget: Budget) -> Answer | None:
    """An answer that proves delta(eps) <= target, or None."""
    gap = _log_estimate(order, eps) - float(log_of(target))
    usable = order.loss.parts and order.has_contour and method in ("auto", "contour")
    if gap < -0.5 and usable and eps < order.model.largest:
        quick = _chernoff(order, eps, ball(target))
        if quick is not None and is_below(quick, target):
            return quick
    for bits in (8.0, 20.0):
        answer = order.enclose(eps, bits, method, budget)
        if is_below(answer, target):
            return answer
        if answer.bounds.lower > 0 and gap > 1:
            return None
    return None


def privacy_profile(what: Spec | Composition | Mechanism, relation: Relation | str | None = None,
                    progress: Callable[[str], None] | None = None,
                    group_size: exact.Number | None = None) -> PrivacyProfile:
    """The privacy profile of a specification, a composition or a single mechanism.

    A specification states its relation and group size; for the others the relation must be given.
    group_size: in how many records neighbours differ, 1 where nobody says.
    """
    return PrivacyProfile.of(what, relation, progress, group_size)
