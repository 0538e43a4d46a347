"""The saddle-point accountant (Alghamdi et al.): the steepest-descent series of any order, and SP-CLT, as estimates.

Beside them stands the interval of the uniform expansion (T141), which keeps the poles that MSD expands.
`BerryEsseenAccountant` is SP-CLT with an interval, at any tilt: that of the expansion of order 0, or Theorem 5's.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.engines.exact import enclose_past_support
from verified_dp.core.engines.expansion_cells import HIGHEST, Steps
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.tilted_moments import MomentTable, tabulate_moments
from verified_dp.core.families.finite.atomic import OddsLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InconsistentEnclosures, Undecided, Unsupported
from verified_dp.core.kernel.law import Law
from verified_dp.papers.paper import Method, PaperAnswer, Readers, one_of, whole
from verified_dp.papers.saddlepoint.bounds import (
    check_constant,
    enclose_by_berry_esseen,
    enclose_by_plain_normal,
    enclose_normal_part,
    enclose_saddle,
    enclose_state,
    has_equal_steps,
)
from verified_dp.papers.saddlepoint.choose import choose_tilts
from verified_dp.papers.symbolic.series import (
    bounded_range_cgf,
    enclose_corrections,
    enclose_cumulants,
    enclose_exponent_derivatives,
    gaussian_cgf,
    laplace_cgf,
    randomized_response_cgf,
)
from verified_dp.search.deadline import Budget, check_time
from verified_dp.search.expansion import (
    ExpansionCurve,
    asymptotic_saddle,
    choose_moment_rules,
    choose_prec,
    choose_table,
    refine_saddle,
)
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.models import float_loss
from verified_dp.search.saddle import choose_saddle

NORMAL_FORMS = TILTED, PLAIN, CITED, PLAIN_CITED = "tilted", "plain", "cited", "plain-cited"
CITATION = "a citation: Shevtsova 2010, 2013"
"""For the constant of the Berry-Esseen theorem in the forms that have it."""
MAX_ORDER = 40
_BITS = (70.0, 160.0, 400.0)
"""Relative accuracy of the moments: the next one where the saddle point is not isolated with the one before."""


def decimal(value: arb) -> str:
    """A decimal with 17 digits, for an estimate: the ball's centre."""
    return "0" if value.is_zero() else value.mid().str(17, radius=False).replace("e+", "e")


def check_supported(loss: ComposedLoss) -> None:
    """Raises Unsupported where the saddle-point methods do not apply."""
    if not loss.parts and not loss.mean_shift_squared:
        raise Unsupported("nothing depends on the data: there is no saddle point")
    if not lines(loss).has_transform:
        raise Unsupported("this method needs the transform of every step, and one of them has none: use lattice")


class SaddleCurve:
    """The saddle point and tilted moments of one order at any eps; nodes are kept between questions."""

    def __init__(self, loss: ComposedLoss, moments: int) -> None:
        check_supported(loss)
        self.loss, self.moments = loss, moments
        self.model = float_loss(loss)
        self._tilt: float | None = None
        self._table: MomentTable | None = None
        self._built_for = 0.0

    def past_support(self, epsilon: Fraction) -> PaperAnswer | None:
        """delta is the infinity mass, exactly, past the largest finite loss."""
        bounds = enclose_past_support(self.loss, epsilon)
        if not bounds.upper < 1:
            return None
        return PaperAnswer(bounds, decimal(bounds.upper), "exact: eps is past the largest loss")

    def find_saddle(self, epsilon: Fraction) -> tuple[MomentTable, arb]:
        """Enclose the saddle point, with a table of moments that is good around it. Raises Unsupported."""
        tilt = self.rough_saddle(epsilon)
        for bits in _BITS:
            table = self.table_at(tilt, bits)
            guess = polish_saddle(table, epsilon, dyadic(tilt, 52))
            try:
                return table, enclose_saddle(table, epsilon, guess, guess / 2**40)
            except Undecided:
                self._table = None
        raise Unsupported("the saddle point is not isolated by its moments: too far out, or a loss too small: use auto")

    def rough_saddle(self, epsilon: Fraction) -> float:
        """The saddle point in floating point, from the asymptotic one or the last one found."""
        eps = as_float(epsilon)
        start = asymptotic_saddle(self.model, eps) if self._tilt is None else self._tilt
        self._tilt = refine_saddle(self.model, eps, choose_saddle(self.model, eps, start))
        return self._tilt

    def table_at(self, tilt: float, bits: float) -> MomentTable:
        """The kept table where it still serves this tilt, else a new one."""
        if self._table is None or not self._built_for * 0.75 < tilt < self._built_for * 1.4:
            rules = choose_moment_rules(self.loss, tilt, bits, self.moments)
            prec = choose_prec(self.loss, bits, self.moments, tilt)
            self._table, self._built_for = tabulate_moments(self.loss, rules, prec, check_time), tilt
        return self._table


def polish_saddle(table: MomentTable, epsilon: Fraction, tilt: Fraction) -> Fraction:
    """A better guess, by Newton steps on balls: many steps of tiny loss leave few digits to floating point."""
    with ctx.workprec(table.prec):
        for _ in range(6):
            point = ball(tilt)
            state = enclose_state(table, point)
            near, far = 1 / point, 1 / (1 + point)
            _, mean, variance = state.cumulants
            move = float((mean - ball(epsilon) - near - far) / (variance + near * near + far * far))
            if not abs(move) < tilt / 2:
                break
            tilt = dyadic(float(tilt) - move, 52)
            if abs(move) < tilt / 2**26:
                break
    return tilt


def closed_cgf(law: Law, tilt: arb, order: int) -> list[arb] | None:
    """[K', ..., K^(order)] by the derived closed form of the law; None where it has none."""
    if isinstance(law, LaplaceLoss):
        return laplace_cgf(ball(law.ratio), tilt, order)
    if isinstance(law, BoundedRangeLoss):
        return bounded_range_cgf(ball(law.bounded_range), tilt, order)
    if isinstance(law, OddsLoss) and not law.others:
        return randomized_response_cgf(ball(law.epsilon), tilt, order)
    return None


def enclose_composed_cgf(table: MomentTable, state: Steps, order: int) -> list[arb]:
    """[K', ..., K^(order)] of the composition, by closed forms and tilted moments."""
    total = gaussian_cgf(ball(table.loss.mean_shift_squared), state.tilt, order)
    for (law, _), (count, moments) in zip(table.loss.parts, state.laws, strict=True):
        own = closed_cgf(law, state.tilt, order)
        if own is None:
            own = enclose_cumulants(moments.values[:order])
            own[0] += moments.centre
        total = [sum_ + count * one for sum_, one in zip(total, own, strict=True)]
    return total


@dataclass(frozen=True)
class SeriesCurve:
    """delta by the series of one order."""

    core: SaddleCurve
    order: int
    expansion: ExpansionCurve

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """MSD0, ..., MSD of the asked order, and SP-CLT at the saddle point; the interval of the asked expansion."""
        past = self.core.past_support(epsilon)
        if past is not None:
            return past
        table, saddle = self.core.find_saddle(epsilon)
        with ctx.workprec(table.prec):
            state = enclose_state(table, saddle, self.core.moments)
            mass = table.loss.enclose_infinity_mass()
            series = estimate_series(table, state, epsilon, self.order)
            scale = (state.log_mass - ball(epsilon) * saddle).exp()
            normal = scale * enclose_normal_part(state, ball(epsilon))
            estimates = {f"MSD{n}": decimal(value + mass) for n, value in enumerate(series)}
            estimates["SP-CLT"] = decimal(normal + mass)
        bounds, uniform, used = self.expansion.delta(epsilon)
        estimates["uniform"] = decimal(uniform)
        parameters = {"order": str(self.order), **used, "saddle": saddle.str(17, radius=False)}
        reason = "a series cut off"
        if not bounds.upper < 2 * bounds.lower:
            reason = f"warning: not to be relied on here: {reason}, and no better is proved than the interval"
        return PaperAnswer(bounds, estimates[f"MSD{self.order}"], reason, parameters, estimates)


def estimate_series(table: MomentTable, state: Steps, epsilon: Fraction, order: int) -> list[arb]:
    """[MSD0, ..., MSD_order] at the saddle point of `state`, infinity mass excluded: (60), (61) and beyond.

    MSD0 = e^{K - eps t} / (t (1+t) sqrt(2 pi F'')), MSDn = MSD0 (1 + c_1 + ... + c_n).
    """
    tilt = state.tilt
    derivatives = enclose_exponent_derivatives(enclose_composed_cgf(table, state, 2 * order + 2), tilt)
    scale = (state.log_mass - ball(epsilon) * tilt).exp() / (tilt * (1 + tilt))
    first = scale / (2 * arb.pi() * derivatives[2]).sqrt()
    factor, series = arb(1), [first]
    for correction in enclose_corrections(derivatives, order):
        factor += correction
        series.append(first * factor)
    return series


@dataclass(frozen=True)
class SaddlePointAccountant(Method):
    """order: n >= 0 of the series MSDn (0: equation (7), 1: equation (61) of the paper) and of the interval, up to 6.

    None: MSD1, and the interval of whichever order is proved the narrowest. The interval is that of the expansion that
    keeps the poles (T141).
    """

    order: int | None = None
    name: ClassVar[str] = "saddlepoint"
    readers: ClassVar[Readers] = {"order": whole(0, MAX_ORDER)}

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> SeriesCurve:
        """The series near eps; its cost does not depend on the counts. Raises Unsupported."""
        order = 1 if self.order is None else self.order
        expansion = ExpansionCurve(loss, None if self.order is None else min(self.order, HIGHEST))
        return SeriesCurve(SaddleCurve(loss, max(4, 2 * order + 2)), order, expansion)


@dataclass(frozen=True)
class NormalCurve:
    """delta by the normal approximation at one tilt (0: the plain one, (88)) or at the best of a few.

    cited: with Theorem 5's interval by a cited constant, else with that of the expansion of order 0.
    """

    core: SaddleCurve
    tilt: Fraction | None
    constant: Fraction | None
    cited: bool

    @cached_property
    def expansion(self) -> ExpansionCurve:
        """Kept between questions."""
        return ExpansionCurve(self.core.loss, 0, self.tilt)

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """The interval and the normal approximation; where cited, all tilts' intersection and that of the last one."""
        past = self.core.past_support(epsilon)
        if past is not None:
            return past
        loss, name = self.core.loss, "CLT" if self.tilt == 0 else "SP-CLT"
        if self.cited:
            bounds, normal = self._cited(epsilon)
            known = "structural (0.4690)" if has_equal_steps(loss) else "0.56"
            used = {"rests_on": CITATION, "constant": known if self.constant is None else str(self.constant)}
        else:
            bounds, normal, used = self.expansion.delta(epsilon)
        return PaperAnswer(bounds, decimal(normal), "the normal approximation alone; the interval bounds its error",
                           used, {name: decimal(normal)})

    def _cited(self, epsilon: Fraction) -> tuple[Bounds, arb]:
        if self.tilt == 0:
            table = choose_table(self.core.loss, self.core.model, 0.0, 0)
            return enclose_by_plain_normal(table, epsilon, self.constant)
        saddle = self.tilt or dyadic(self.core.rough_saddle(epsilon), 52)
        few = choose_tilts(self.core.model, as_float(epsilon), float(saddle))[:-1] if self.tilt is None else []
        with ctx.workprec(64):
            table = self.core.table_at(float(saddle), 70.0)
            found = [enclose_by_berry_esseen(table, tilt, epsilon, self.constant) for tilt in (*few, saddle)]
            return intersect([one for one, _ in found]), found[-1][1]


def intersect(candidates: Sequence[Bounds]) -> Bounds:
    """The intersection of enclosures of one number, with the budget of the narrowest."""
    lower, upper = arb(0), arb(1)
    for one in candidates:
        lower, upper = lower.max(one.lower), upper.min(one.upper)
    if lower > upper:
        raise InconsistentEnclosures("two tilts give disjoint enclosures of delta")
    narrowest = min(candidates, key=lambda one: float(one.upper - one.lower))
    return Bounds(lower, upper, narrowest.budget)


@dataclass(frozen=True)
class BerryEsseenAccountant(Method):
    """tilt: any t > 0 (None: whichever is best). constant: C of Theorem 5.

    form: tilted, or plain: of the loss as it is, (88). Their intervals are the expansion's of order 0 (T141), as
    `certify --method berry-esseen` has it; cited and plain-cited: those of the Berry-Esseen theorem by Shevtsova's
    constants. A stated constant is a cited one, and may not be below these (the paper has 0.56).
    """

    tilt: Fraction | None = None
    constant: Fraction | None = None
    form: str = TILTED
    name: ClassVar[str] = "berry-esseen"
    readers: ClassVar[Readers] = {"form": one_of(NORMAL_FORMS), "tilt": exact.positive}

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> NormalCurve:
        """The interval near eps; its cost does not depend on the counts. Raises Unsupported."""
        check_constant(loss, self.constant)
        cited = self.constant is not None or self.form in (CITED, PLAIN_CITED)
        tilt = Fraction(0) if self.form in (PLAIN, PLAIN_CITED) else self.tilt
        return NormalCurve(SaddleCurve(loss, 4), tilt, self.constant, cited)
