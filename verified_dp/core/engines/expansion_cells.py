"""A tilted composition, and what its expansion leaves out: int |psi - psi_n| / |(t+iw)(1+t+iw)|, by cells (T141)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

from flint import acb, arb, fmpq

from verified_dp.core.engines.direct import is_direct
from verified_dp.core.engines.expansion_tables import CUMULANTS, TERMS
from verified_dp.core.engines.lines import has_nodes
from verified_dp.core.engines.nodes import NodeRule, bound_transform_beyond, enclose_nodes
from verified_dp.core.engines.tilted_moments import MomentTable, TiltedMoments, enclose_moments, has_range
from verified_dp.core.kernel.balls import ball, disc, upper_end
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import nothing, paced

HIGHEST, TAYLOR, MANY = 6, 4, 3
"""Of the orders; of the Taylor polynomials of g^(i); more laws than this are bounded together."""
Number = TypeVar("Number", arb, acb)
Term = tuple[int, int, tuple[tuple[int, int], ...]]
"""(numerator, denominator, ((variable, exponent), ...)): the coefficient and the powers."""


def evaluate(polynomial: Sequence[Term], values: Mapping[int, Number]) -> Number:
    """Enclose the polynomial at balls, one per variable, by products: `arb ** int` is nan on a ball around 0.

    >>> from flint import arb
    >>> evaluate(((1, 2, ((1, 2),)), (-3, 1, ((2, 1),))), {1: arb(4), 2: arb(1)})
    5.00000000000000
    """
    total: Any = arb(0)
    for numerator, denominator, powers in polynomial:
        term: Any = arb(fmpq(numerator, denominator))
        for variable, exponent in powers:
            for _ in range(exponent):
                term *= values[variable]
        total += term
    found: Number = total
    return found


def enclose_cumulants(moments: Sequence[arb]) -> list[arb]:
    """Enclose [K', K'', ...] from the moments [m_1, m_2, ...] = [M'/M, M''/M, ...], about any centre.

    About a centre c instead of 0 the first cumulant is K' - c and the others are the same.
    """
    values = dict(enumerate(moments, 1))
    return [evaluate(CUMULANTS[n], values) for n in values]


def hermite_polynomials(z: arb, highest: int) -> list[arb]:
    """Enclose He_0(z), ..., He_highest(z): He_{m+1} = z He_m - m He_{m-1}.

    >>> [int(value.unique_fmpz()) for value in hermite_polynomials(arb(2), 4)]
    [1, 2, 3, 2, -5]
    """
    values = [arb(1), z]
    for m in range(1, highest):
        values.append(z * values[m] - m * values[m - 1])
    return values[:highest + 1]


def hermite_coefficients(cumulants: Sequence[arb], order: int) -> dict[int, arb]:
    """Enclose the factor of each u^m in 1 + T_1 + ... + T_order; cumulants[r] = kappa_r, the first three not read."""
    factors = {0: arb(1)}
    for n in range(1, order + 1):
        for numerator, denominator, m, powers in TERMS[n]:
            term = (numerator, denominator, powers)
            factors[m] = factors.get(m, arb(0)) + evaluate([term], dict(enumerate(cumulants)))
    return factors


def moment_count(order: int) -> int:
    """Moments of each law that order n reads: up to n + 3 + TAYLOR, rounded up to even."""
    return order + 3 + TAYLOR + (order + 3 + TAYLOR) % 2


@dataclass(frozen=True)
class Ray:
    """|w| > start. rules: one far rule for each law with nodes (T11), or none: then |psi| <= 1 is all that is known."""

    start: Fraction
    rules: tuple[NodeRule, ...]


@dataclass(frozen=True)
class Cover:
    """ends: 0 < w_1 < ... < w_N = W of the cells [0, w_1], ...

    rays: by start, the first W: from there to the next start |psi| is bounded by its bound beyond the start.
    """

    ends: tuple[Fraction, ...]
    rays: tuple[Ray, ...]

    @proved_by("T141-certified-expansions")
    def joins(self, laws: int) -> bool:
        """Whether the cells join from 0 on and the rays where they end; laws: how many have nodes."""
        starts = tuple(ray.start for ray in self.rays)
        joined = all(low < high for low, high in (*pairwise((Fraction(0), *self.ends)), *pairwise(starts)))
        fits = all(len(ray.rules) in (0, laws) for ray in self.rays)
        return bool(self.ends) and starts[:1] == self.ends[-1:] and joined and fits


@dataclass(frozen=True)
class Steps:
    """A composition tilted by t: K(t), the variance of its Gaussian steps, kappa_0 = 0, kappa_1, ..., its laws."""

    tilt: arb
    log_mass: arb
    shift: arb
    cumulants: list[arb]
    laws: list[tuple[int, TiltedMoments]]


@proved_by("T141-certified-expansions")
def enclose_steps(table: MomentTable, tilt: arb, last: int, size: int, between: Callable[[], None] = nothing) -> Steps:
    """Enclose K(t) and kappa_1 = K', ..., kappa_last of the composition, its infinity mass left out, last >= 2.

    For every tilt of the ball. size: so many moments of each law are kept.
    """
    shift = ball(table.loss.mean_shift_squared)
    total = [(2 * tilt + 1) * shift / 2, shift, *(arb(0) for _ in range(last - 2))]
    log_mass, laws = tilt * (tilt + 1) * shift / 2, []
    for index, (_, count) in paced(enumerate(table.loss.parts), between):
        moments = enclose_moments(table, index, tilt, size)
        laws.append((count, moments))
        log_mass += count * moments.mass.log()
        total = [sum_ + count * one for sum_, one in zip(total, enclose_cumulants(moments.values[:last]), strict=True)]
        total[0] += count * moments.centre
    return Steps(tilt, log_mass, shift, [arb(0), *total], laws)


@proved_by("T141-certified-expansions")
def bound_beyond(table: MomentTable, steps: Steps, ray: Ray) -> arb:
    """Bound |psi(w)| for every w beyond the ray's start: a product over the steps, each factor at most 1."""
    start, rules = ball(ray.start), iter(ray.rules)
    log_modulus = -steps.shift * start * start / 2
    for (law, _), (count, moments) in zip(table.loss.parts, steps.laws, strict=True):
        rule = next(rules, None) if has_nodes(law) else None
        share = upper_end(bound_law_beyond(law, rule, steps.tilt, start) / moments.mass)
        log_modulus += count * share.log() if 0 < share < 1 else arb(0)
    return upper_end(log_modulus.exp())


def bound_law_beyond(law: Law, rule: NodeRule | None, tilt: arb, start: arb) -> arb:
    """Bound |M(t+iw)| of one law for every w >= start; +inf where nothing is known."""
    if has_nodes(law):
        if rule is None or not rule.step > 0:
            return arb.pos_inf()
        return bound_transform_beyond(enclose_nodes(law, rule), tilt, start)
    return law.bound_transform_beyond(tilt, start) if is_direct(law) and (tilt > 0 or has_range(law)) else arb.pos_inf()


@proved_by("T141-certified-expansions")
def _enclose_derivatives(law: TiltedMoments, order: int, frequency: arb) -> list[acb]:
    """Enclose g^(i)(v) / i^i = E[Y^i e^{ivY}], i = 0..order, for every v >= 0 of the ball.

    sum_{r<R} (iv)^r m_{i+r} / r! +- v^R E|Y|^{i+R} / R! with the R <= TAYLOR of the smallest error.
    """
    turn, last, raw, absolute = acb(0, frequency), upper_end(frequency), [arb(1), *law.values], law.absolute
    powers, sizes, found = [acb(1)], [arb(1)], []
    for r in range(1, TAYLOR + 1):
        powers.append(powers[-1] * turn / r)
        sizes.append(upper_end(sizes[-1] * last / r))
    for i in range(order + 1):
        total, best, error = acb(0), acb(0), arb.pos_inf()
        for r in range(TAYLOR):
            total += powers[r] * raw[i + r]
            left = upper_end(sizes[r + 1] * absolute[i + r + 1])
            best, error = (total, left) if left < error else (best, error)
        found.append(best + disc(error))
    return found


@proved_by("T141-certified-expansions")
def bound_derivative(law: TiltedMoments, order: int, frequency: arb) -> arb:
    """Bound |K_1^(j)(t+iv)|, j = order, of one step for every v of the ball; +inf where M might be 0 there.

    K^(j) is sympy's polynomial in g^(i)/g.
    """
    whole, *parts = _enclose_derivatives(law, order, frequency)
    inverse = 1 / whole
    return upper_end(evaluate(CUMULANTS[order], dict(enumerate([part * inverse for part in parts], 1))).abs_upper())


@proved_by("T141-certified-expansions")
def bound_modulus(steps: Steps, low: arb, high: arb) -> arb:
    """Bound |psi(w)| for low <= w <= high: |E e^{iwY}|^2 <= 1 - kappa_2 w^2 + (kappa_4 + 6 kappa_2^2) w^4/12.

    Of many laws the logarithms are bounded by their sum, log(1 + y) <= y.
    """
    square, fourth = low * low, high * high * high * high
    logarithm = -steps.shift * square / 2
    for count, law in steps.laws:
        fall = law.rest * fourth - law.variance * square
        if len(steps.laws) <= MANY:
            share = upper_end(1 + fall)
            fall = share.log() if 0 < share < 1 else arb(0)
        logarithm += count * fall / 2
    return upper_end(logarithm.exp()).min(arb(1))


@proved_by("T141-certified-expansions")
def bound_poles(tilt: arb, near: arb, far: arb) -> arb:
    """1 / (|t+iu| |1+t+iv|) at u = near, v = far."""
    square = (tilt * tilt + near * near) * ((1 + tilt) * (1 + tilt) + far * far)
    return upper_end(1 / square.sqrt()) if square > 0 else arb.pos_inf()


def _sum_of_powers(factors: Mapping[int, arb], base: arb) -> arb:
    """sum_l factor_l base^l by Horner's rule."""
    total = arb(0)
    for power in range(max(factors), -1, -1):  # exact: whole numbers
        total = total * base + factors.get(power, arb(0))
    return total


@dataclass(frozen=True)
class _Cells:
    """What is the same in every cell, as polynomials of w: A(w), Re a(w), sum |q|_l w^l at |kappa_j|, sum |q_l| w^l."""

    steps: Steps
    order: int
    exponent: dict[int, arb]
    even: dict[int, arb]
    positive: dict[int, arb]
    sizes: dict[int, arb]

    @classmethod
    def of(cls, steps: Steps, order: int, factors: Mapping[int, arb]) -> _Cells:
        """factors: l -> q_l."""
        terms = {j: steps.cumulants[j] / arb.fac_ui(j) for j in range(3, order + 3)}
        return cls(steps, order, {0: arb(0)} | {j: abs(term) for j, term in terms.items()},
                   {0: arb(0)} | {j: (-1) ** (j // 2) * term for j, term in terms.items() if j % 2 == 0},
                   hermite_coefficients([abs(value) for value in steps.cumulants], order),
                   {power: abs(factor) for power, factor in factors.items()})

    @proved_by("T141-certified-expansions")
    def bound_structured(self, low: arb, high: arb, worst: arb, modulus: arb, normal: arb) -> arb:
        """Bound |psi - e^{-tau w^2/2 + a}| + e^{-tau w^2/2} |e^a - sum q_l (iw)^l|, every part at its worse end.

        The first is at most e^{-tau w^2/2 + Re a} (e^{|rho|} - 1), and |rho| max(e^{-tau w^2/2 + Re a}, |psi|); the
        second e^{-tau w^2/2} (e^{A(w)} - sum |q|_l w^l). worst: of |K^(n+3)(t+iv)| for |v| <= high.
        """
        rho = worst
        for j in range(1, self.order + 4):
            rho = upper_end(rho * high / j)
        size = upper_end(normal * upper_end(_sum_of_powers(self.even, low.union(high))).exp())
        first = upper_end(size * rho.expm1()).min(upper_end(rho * size.max(modulus)))
        beyond = _sum_of_powers(self.exponent, high).exp() - _sum_of_powers(self.positive, high)
        return upper_end(first + normal * beyond)

    @proved_by("T141-certified-expansions")
    def bound(self, low: arb, high: arb, worst: arb) -> arb:
        """Bound the integral over low <= w <= high: |psi - psi_n| / w grows, and is at most (|psi| + |psi_n|) / w."""
        normal = upper_end((-self.steps.cumulants[2] * low * low / 2).exp())
        modulus, tilt = bound_modulus(self.steps, low, high), self.steps.tilt
        apart = bound_poles(tilt, low, low) * (modulus + normal * _sum_of_powers(self.sizes, high))
        if worst.is_finite():
            structured = bound_poles(tilt, high, low) * self.bound_structured(low, high, worst, modulus, normal)
            apart = upper_end(apart).min(upper_end(structured))
        return upper_end(apart * (high - low))


def cells_together(laws: int, cells: int) -> int:
    """How many neighbouring cells share one bound of the derivatives."""
    return 3 if laws <= MANY else 1 + cells // 8


@proved_by("T141-certified-expansions")
def bound_cells(steps: Steps, order: int, factors: Mapping[int, arb], ends: Sequence[arb],
                between: Callable[[], None] = nothing) -> arb:
    """Bound the integral over 0 < w < W, cut at the ends; factors: l -> q_l.

    Neighbouring cells share one bound of the derivatives: three, of many laws an eighth of all.
    """
    same, total, worst = _Cells.of(steps, order, factors), arb(0), arb(0)
    cells, together = list(pairwise([arb(0), *ends])), cells_together(len(steps.laws), len(ends))
    for group in paced([cells[i:i + together] for i in range(0, len(cells), together)], between):
        if worst.is_finite():
            span = group[0][0].union(group[-1][1])
            here = sum((count * bound_derivative(law, order + 3, span) for count, law in paced(steps.laws, between)),
                       arb(0))
            worst = worst.max(upper_end(here))
        total += sum((same.bound(low, high, worst) for low, high in group), arb(0))
    return upper_end(total)


@proved_by("T141-certified-expansions")
def bound_rays(table: MomentTable, steps: Steps, rays: Sequence[Ray], between: Callable[[], None] = nothing) -> arb:
    """Bound the integral of |psi| / |poles| beyond the cells; from ray to ray |psi| falls.

    int_u^v dw/(t^2+w^2) = (atan(t/u) - atan(t/v)) / t, at most 1/u - 1/v.
    """
    places, tilt, total = [*(ball(ray.start) for ray in rays), arb.pos_inf()], steps.tilt, arb(0)
    for ray, (low, high) in paced(zip(rays, pairwise(places), strict=True), between):
        along = 1 / low - 1 / high
        if tilt > 0:
            along = ((tilt / low).atan() - (tilt / high).atan()) / tilt
        total += bound_beyond(table, steps, ray) * along
    return upper_end(total)


@proved_by("T141-certified-expansions")
def bound_expansion_integral(variance: arb, factors: Mapping[int, arb], start: arb) -> arb:
    """Bound the integral of |psi_n| over w > W by incomplete gamma integrals.

    int_W^inf w^l e^{-tau w^2/2} dw = (2/tau)^{(l+1)/2} Gamma((l+1)/2, tau W^2/2) / 2.
    """
    twice, total = 2 / variance, arb(0)
    for degree, factor in factors.items():
        half = arb(degree + 1) / 2
        total += abs(factor) * (half * twice.log()).exp() * (start * start / twice).gamma_upper(half) / 2
    return upper_end(total)


@proved_by("T141-certified-expansions")
def bound_remainder(table: MomentTable, steps: Steps, factors: Mapping[int, arb], cover: Cover, order: int,
                    between: Callable[[], None] = nothing) -> dict[str, arb]:
    """Bound the integral of |psi - psi_n| / |poles|: on cells, on rays, and of psi_n beyond the cells."""
    if not steps.cumulants[2] > 0:
        return dict.fromkeys(("cells", "rays", "expansion_tail"), arb.pos_inf())
    ends = [ball(end) for end in cover.ends]
    tail = bound_poles(steps.tilt, ends[-1], ends[-1]) * bound_expansion_integral(steps.cumulants[2], factors, ends[-1])
    return {"cells": bound_cells(steps, order, factors, ends, between),
            "rays": bound_rays(table, steps, cover.rays, between), "expansion_tail": upper_end(tail)}
