"""The tilted expansion of order n, and the interval of delta around it: poles kept (T141) or expanded too (T171).

    D(eps) = e^{K(t) - t eps} (1/2 pi) int psi(w) e^{iwx} / ((t+iw)(1+t+iw)) dw
    psi(w) = e^{K(t+iw) - K(t) - iw K'(t)}
    psi_n(w) = e^{-tau w^2/2} sum_l q_l (iw)^l,   x = K'(t) - eps,   tau = K''(t)

With the poles expanded F = K - eps z - log z - log(1+z) stands in the place of K - eps z: at the saddle point the
expansion of order 2n is the published series MSD_n. The derivatives of K and the q_l are sympy's stored polynomials,
evaluated on balls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from flint import arb, ctx

from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.nodes import NodeRule, bound_transform_beyond, enclose_nodes
from verified_dp.core.kernel.balls import ball, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor, bounds_from_sum
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.law import DirectLaw, Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.papers.expansions.bounds_forms import ExpandedPoles, KeptPoles
from verified_dp.papers.expansions.bounds_remainder import Spread, Steps, bound_cells, bound_far_expansion, moment_count
from verified_dp.papers.saddlepoint.bounds_moments import MomentTable, enclose_moments
from verified_dp.papers.symbolic.hermite import hermite_coefficients
from verified_dp.papers.symbolic.series import enclose_cumulants, gaussian_cgf

HIGHEST = 4
POLES: dict[str, type[KeptPoles | ExpandedPoles]] = {"kept": KeptPoles, "expanded": ExpandedPoles}
ORDERS = {"kept": range(HIGHEST + 1), "expanded": range(0, 7, 2)}
"""With the poles expanded the odd orders add nothing at the saddle point: order 2n is MSD_n."""


@dataclass(frozen=True)
class Ray:
    """|w| > start, with one far rule per law."""

    start: Fraction
    rules: tuple[NodeRule | None, ...]


@dataclass(frozen=True)
class ExpansionWitness:
    """tilt: t > 0. order: n. poles: kept or expanded. ends: 0 < w_1 < ... < w_N of the cells [0, w_1], ..., to W.

    rays: (start, rules) by start, the first W: from there to the next start |psi| is bounded by its bound beyond the
    start; rules: one per law, of T11's modulus rule for sampled Gaussian steps, else None.
    """

    tilt: Fraction
    order: int
    ends: tuple[Fraction, ...]
    rays: tuple[Ray, ...]
    poles: str = "kept"

    def __post_init__(self) -> None:
        if self.order not in ORDERS[self.poles]:
            raise InvalidInput("expansion.order", self.order, f"one of {[*ORDERS[self.poles]]}")
        if not self.tilt > 0:
            raise InvalidInput("expansion.tilt", self.tilt, "positive")
        check_cells(self.ends, self.rays)


def check_cells(ends: tuple[Fraction, ...], rays: tuple[Ray, ...]) -> None:
    """Raises InvalidInput unless the cells join from 0 on and the rays start where they end, and increase."""
    if not ends or not _increasing((Fraction(0), *ends)):
        raise InvalidInput("expansion.ends", len(ends), "increasing positive numbers")
    starts = tuple(ray.start for ray in rays)
    if starts[:1] != ends[-1:] or not _increasing(starts):
        raise InvalidInput("expansion.rays", len(rays), "increasing numbers from the last end of a cell on")


def _increasing(numbers: tuple[Fraction, ...]) -> bool:
    return all(low < high for low, high in pairwise(numbers))


@proved_by("T141-certified-expansions")
def enclose_steps(table: MomentTable, tilt: arb, order: int) -> Steps:
    """Enclose K(t) and the cumulants kappa_0 = 0, kappa_1 = K', ... of the composition, its infinity mass left out."""
    shift, size = ball(table.loss.mean_shift_squared), moment_count(order)
    last = 2 + max(order, HIGHEST)  # exact: whole numbers
    total, log_mass, spreads = gaussian_cgf(shift, tilt, last), tilt * (tilt + 1) * shift / 2, []
    for index, (_, count) in enumerate(table.loss.parts):
        moments = enclose_moments(table, index, tilt, size)
        own = enclose_cumulants(moments.values[:last])
        spreads.append(Spread(count, moments.mass, [arb(1), *moments.values], [arb(0), *own]))
        log_mass += count * moments.mass.log()
        total = [sum_ + count * one for sum_, one in zip(total, own, strict=True)]
        total[0] += count * moments.centre
    return Steps(tilt, log_mass, shift, [arb(0), *total], spreads)


@proved_by("T141-certified-expansions")
def bound_rays(table: MomentTable, steps: Steps, rays: Sequence[Ray]) -> arb:
    """Bound the integral of |psi| / (|t+iw| |1+t+iw|) over w > W.

    From w_0 to w_1 it is at most sup |psi| (atan(t/w_0) - atan(t/w_1)) / t; the last ray has no end.
    """
    tilt = steps.tilt
    angles = [*((tilt / ball(ray.start)).atan() for ray in rays), arb(0)]
    total = sum((bound_beyond(table, steps, ray) * (wide - narrow)
                 for ray, (wide, narrow) in zip(rays, pairwise(angles), strict=True)), arb(0))
    return upper_end(total / tilt)


@proved_by("T141-certified-expansions")
def bound_beyond(table: MomentTable, steps: Steps, ray: Ray) -> arb:
    """Bound |psi(w)| for every w beyond the ray's start: a product over the steps, each factor at most 1."""
    start = ball(ray.start)
    log_modulus = -steps.shift * start * start / 2
    for (law, count), rule, spread in zip(table.loss.parts, ray.rules, steps.laws, strict=True):
        share = upper_end(_bound_beyond(law, rule, steps.tilt, start) / spread.mass)
        log_modulus += count * share.log() if 0 < share < 1 else arb(0)
    return upper_end(log_modulus.exp())


def _bound_beyond(law: Law, rule: NodeRule | None, tilt: arb, start: arb) -> arb:
    """Bound |M(t+iw)| of one law for every w >= W; +inf where nothing is known."""
    if isinstance(law, MixtureLines):
        return arb.pos_inf() if rule is None else bound_transform_beyond(enclose_nodes(law, rule), tilt, start)
    if not tilt > 0:
        return arb.pos_inf()
    return law.bound_transform_beyond(tilt, start) if isinstance(law, DirectLaw) else arb.pos_inf()


@dataclass(frozen=True)
class TiltedExpansion:
    """What does not depend on eps.

    factors: l -> q_l. errors: what is left out, over e^{K - t eps}. mass: P(S = inf).
    """

    steps: Steps
    form: KeptPoles | ExpandedPoles
    factors: dict[int, arb]
    errors: dict[str, arb]
    mass: arb
    prec: int

    @proved_by("T141-certified-expansions", "T171-steepest-descent", "T03-chernoff")
    def enclose_delta(self, epsilon: Fraction) -> tuple[Bounds, arb]:
        """Enclose delta(eps) by e^{K - t eps} (series +- error) + P(S = inf), and the series' part alone (no bound).

        Also at most the Chernoff bound e^{K - eps t} C(t) + P(S = inf).
        """
        with ctx.workprec(self.prec):
            scale = (self.steps.log_mass - ball(epsilon) * self.steps.tilt).exp()
            gap, variance = self.steps.cumulants[1] - ball(epsilon), self.steps.cumulants[2]
            series = scale * self.form.enclose_series(gap, variance, self.factors) + self.mass
            bounds = bounds_from_sum(series, {name: upper_end(scale * size) for name, size in self.errors.items()}, {})
            peak = upper_end(scale * bound_chernoff_factor(self.steps.tilt) + self.mass)
            return Bounds(bounds.lower, bounds.upper.min(peak), bounds.budget), series


@proved_by("T141-certified-expansions", "T171-steepest-descent")
def enclose_expansion(table: MomentTable, witness: ExpansionWitness) -> TiltedExpansion:
    """Enclose the expansion of the witness's order and bound what it leaves out."""
    with ctx.workprec(table.prec):
        tilt, mass = ball(witness.tilt), table.loss.enclose_infinity_mass()
        form = POLES[witness.poles](tilt)
        steps = enclose_steps(table, tilt, witness.order)
        steps = replace(steps, cumulants=form.enclose_cumulants(steps.cumulants))
        factors = hermite_coefficients(steps.cumulants, witness.order)
        return TiltedExpansion(steps, form, factors, _errors(table, steps, form, witness, factors), mass, table.prec)


def _errors(table: MomentTable, steps: Steps, form: KeptPoles | ExpandedPoles, witness: ExpansionWitness,
            factors: Mapping[int, arb]) -> dict[str, arb]:
    """What the cells, the rays and the expansion's own tail leave out."""
    if not steps.cumulants[2] > 0:
        return {"cells": arb.pos_inf()}
    ends = [ball(end) for end in witness.ends]
    parts = {"cells": bound_cells(steps, form, witness.order, factors, ends),
             "rays": bound_rays(table, steps, witness.rays),
             "expansion_tail": bound_far_expansion(steps, form, factors, ends[-1])}
    return {name: upper_end(size / arb.pi()) for name, size in parts.items()}
