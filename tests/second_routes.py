"""delta of one order by every kind of witness that can be chosen for it, and by a sum over all outcomes.

Two that are right meet: their enclosures hold the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

import oracles
from enumeration import enumerated as sum_of_outcomes
from flint import arb, ctx

from verified_dp.core.families.finite.atomic import AtomicLaw
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import lower_dyadic, upper_dyadic
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import InvalidInput, Undecided, Unsupported
from verified_dp.core.kernel.witnesses import Witness
from verified_dp.search.answer import Answer
from verified_dp.search.deadline import Budget
from verified_dp.search.halves import has_halves, plan_halves
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.line import choose_line, plan_line
from verified_dp.search.marked import choose_marked, plan_marked
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.orders import order_of
from verified_dp.search.outcomes import has_listed, plan_outcomes
from verified_dp.search.planners.epochs import Epochs
from verified_dp.search.planners.line import MAX_TILT
from verified_dp.search.rays import choose_rays, plan_rays

BITS, FEW_BITS, SECONDS, QUICK = 40.0, 12.0, 1.0, 0.2
"""QUICK: predicted seconds of what the independent checker shall read too."""
_MOST_ROWS = 4096


@dataclass(frozen=True)
class Route:
    """What one witness, or a sum without one, says of delta."""

    name: str
    ends: tuple[Dyadic, Dyadic]
    answer: Answer | None = None

    def meets(self, other: Route) -> bool:
        """Whether one number is in both."""
        return self.ends[0] <= other.ends[1] and other.ends[0] <= self.ends[1]

    @property
    def is_empty(self) -> bool:
        """Nothing is said: no more than 0 <= delta <= 1."""
        return self.ends[0] <= Dyadic(0, 0) and self.ends[1] >= Dyadic(1, 0)


def _route(answer: Answer) -> Iterator[Route]:
    for _, one in answer.by_side():
        yield Route(one.witness.kind, (lower_dyadic(one.bounds.lower), upper_dyadic(one.bounds.upper)), one)


def _by_method(method: str) -> Callable[[ComposedLoss, Fraction], Answer | None]:
    def answer(loss: ComposedLoss, epsilon: Fraction) -> Answer:
        bits = FEW_BITS if method == "lattice" else BITS
        return order_of(loss).enclose(epsilon, bits, method, Budget(SECONDS))
    return answer


def _by_contour(choose: Callable[[OneDirection, Fraction], Witness | None],
                ) -> Callable[[ComposedLoss, Fraction], Answer | None]:
    def answer(loss: ComposedLoss, epsilon: Fraction) -> Answer | None:
        order = OneDirection(loss)
        if not order.has_contour or order.is_trivial:
            return None
        witness = choose(order, epsilon)
        return None if witness is None else order.evaluate(epsilon, witness)
    return answer


def _line(order: OneDirection, epsilon: Fraction) -> Witness | None:
    plan = plan_line(order.float_model, float(epsilon), order.saddle(epsilon), BITS)
    return choose_line(order.float_model, plan) if plan.seconds < SECONDS else None


def _rays(order: OneDirection, epsilon: Fraction) -> Witness | None:
    plan = plan_rays(order.float_model, float(epsilon), order.jumping(epsilon, order.saddle(epsilon)), BITS)
    return choose_rays(plan) if plan is not None and plan.seconds < QUICK else None


def _marked(order: OneDirection, epsilon: Fraction) -> Witness | None:
    plan = plan_marked(order.float_model, float(epsilon), order.saddle(epsilon), BITS)
    return choose_marked(plan) if plan is not None and plan.seconds < QUICK else None


def _sums(loss: ComposedLoss, epsilon: Fraction) -> Answer | None:
    """Few outcomes, in two halves; not where delta is 1, which a search says before."""
    if not has_halves(loss) or not loss.enclose_infinity_mass() < 1:
        return None
    model = LatticeModel(loss)
    plan = plan_halves(model, float(epsilon), model.saddle(float(epsilon)), BITS)
    return None if plan is None or plan.seconds > SECONDS else OneDirection(loss).evaluate(epsilon, plan.witness)


def _outcomes(loss: ComposedLoss, epsilon: Fraction) -> Answer | None:
    if not has_listed(loss):
        return None
    model = LatticeModel(loss)
    saddle = model.saddle(float(epsilon))
    plan = plan_outcomes(model, float(epsilon), saddle, FEW_BITS, QUICK) if 0 < saddle.tilt < MAX_TILT else None
    return None if plan is None else OneDirection(loss).evaluate(epsilon, plan.witness)


ROUTES: tuple[Callable[[ComposedLoss, Fraction], Answer | None], ...] = (
    _sums, _outcomes, *map(_by_contour, (_rays, _marked, _line)), *map(_by_method, ("closed-form", "contour")))


def enumerated(loss: ComposedLoss, epsilon: Fraction) -> Route | None:
    """sum (p - e^eps q)_+ over all sequences of outcomes, where there are few."""
    laws = [law for law, count in loss.parts for _ in range(min(count, 13)) if isinstance(law, AtomicLaw)]
    if loss.mean_shift_squared or not 0 < len(laws) == sum(count for _, count in loss.parts):
        return None
    if prod(law.outcomes + 1 for law in laws) > _MOST_ROWS:
        return None
    with ctx.workprec(2000):
        total = sum_of_outcomes(loss.parts, epsilon)
        return Route("enumeration", (lower_dyadic(total), upper_dyadic(total)))


def integrated(loss: ComposedLoss, epsilon: Fraction) -> Route | None:
    """One or two sampled Gaussian steps by quadrature of the densities, to 12 digits where that many are held."""
    laws = [law for law, count in loss.parts for _ in range(min(count, 3))]
    if loss.mean_shift_squared or not 1 <= len(laws) <= 2 or epsilon > 30:
        return None
    given = [(law.sampling_probability, law.noise_multiplier) for law in laws if isinstance(law, SampledGaussianLoss)]
    if len(given) < len(laws) or any(noise < Fraction(1, 2) or chance in (0, 1) for chance, noise in given):
        return None
    order = loss.order
    value = (oracles.hockey_stick(order, *given[0], epsilon) if len(given) == 1
             else oracles.two_step_delta(order, given[0], given[1], epsilon))
    with ctx.workprec(200):
        around = arb(str(value)) * arb(1, "1e-9")
        return Route("quadrature", (lower_dyadic(around), upper_dyadic(around))) if value > 1e-20 else None


def _epochs(loss: ComposedLoss, epsilon: Fraction) -> Iterator[Route]:
    """Epochs of random allocation by a line of each order."""
    order = OneDirection(loss)
    planner = order.offered("epochs")
    assert isinstance(planner, Epochs)
    for plan in planner.plans(epsilon, order.saddle(epsilon).log_delta - FEW_BITS):
        name = "swapped line" if plan.witness.tilt < 0 else "line"
        yield from (replace(one, name=name) for one in _route(order.evaluate(epsilon, plan.witness)))


def all_routes(loss: ComposedLoss, epsilon: Fraction, timed: Callable[[Callable[[], None]], None]) -> list[Route]:
    """What every route says that applies; one of a kind; the lattice where there is but one.

    timed: runs a task, and gives it up where it takes long.
    """
    found: dict[str, Route] = {}

    def ask(route: Callable[[ComposedLoss, Fraction], Answer | None]) -> None:
        with suppress(Unsupported, Undecided, InvalidInput):
            answer = route(loss, epsilon)
            for one in () if answer is None else _route(answer):
                found.setdefault(one.name, one)

    def sum_up(route: Callable[[ComposedLoss, Fraction], Route | None]) -> None:
        one = route(loss, epsilon)
        if one is not None:
            found[one.name] = one

    for route in ROUTES:
        timed(lambda route=route: ask(route))  # type: ignore[misc]
    for plain in (enumerated, integrated):
        timed(lambda plain=plain: sum_up(plain))  # type: ignore[misc]
    if OneDirection(loss).has_epochs:
        timed(lambda: found.update({one.name: one for one in _epochs(loss, epsilon)}))
    if len(found) < 2 or {"line", "swapped line"} & found.keys():
        timed(lambda: ask(_by_method("lattice")))
    return list(found.values())
