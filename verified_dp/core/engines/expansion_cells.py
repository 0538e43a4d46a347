"""A tilted composition, and what its expansion leaves out: int |psi - psi_n| times a kernel, cell by cell (T141)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Protocol

from flint import acb, arb

from verified_dp.core.engines.expansion_tables import CUMULANTS
from verified_dp.core.engines.lines import has_nodes
from verified_dp.core.engines.nodes import NodeRule, bound_transform_beyond, enclose_nodes
from verified_dp.core.engines.polynomials import enclose_cumulants, evaluate, hermite_coefficients
from verified_dp.core.engines.tilted_moments import MomentTable, TiltedMoments, enclose_moments
from verified_dp.core.kernel.balls import ball, disc, upper_end
from verified_dp.core.kernel.law import SWAPPED, Law, is_direct
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import nothing, paced


@dataclass(frozen=True)
class Ray:
    """|w| > start. rules: one far rule for each law with nodes (T11), or none: then |psi| <= 1 is all that is known."""

    start: Fraction
    rules: tuple[NodeRule, ...]


@dataclass(frozen=True)
class Cover:
    """ends: 0 < w_1 < ... < w_N = W of the cells [0, w_1], ...; so many `together` share one bound of the derivatives.

    rays: by start, the first W: from there to the next start |psi| is bounded by its bound beyond the start. top: the
    end T of Prawitz's kernel, 0 where there is a tilt.
    """

    ends: tuple[Fraction, ...]
    rays: tuple[Ray, ...]
    together: int = 3
    top: Fraction = Fraction(0)

    @proved_by("T141-certified-expansions", "T170-edgeworth-smoothing")
    def joins(self, laws: int, smoothed: bool) -> bool:
        """Whether the cells join from 0 on and the rays where they end, before T; laws: how many have nodes."""
        starts = tuple(ray.start for ray in self.rays)
        joined = all(low < high for low, high in (*pairwise((Fraction(0), *self.ends)), *pairwise(starts)))
        fits = all(len(ray.rules) in (0, laws) for ray in self.rays) and self.together >= 1
        top = self.top >= starts[-1] if smoothed and starts else not self.top
        return bool(self.ends) and starts[:1] == self.ends[-1:] and joined and fits and top


@dataclass(frozen=True)
class Spread:
    """One law, `count` times: M(t), moments m_0 = 1, m_1, ... of the tilted loss about a centre, its cumulants."""

    count: int
    mass: arb
    moments: list[arb]
    cumulants: list[arb]

    @cached_property
    def absolute(self) -> list[arb]:
        """Bounds of E|Y|^j, up to the last even j: m_j, for odd j sqrt(m_{j-1} m_{j+1})."""
        ends = [upper_end(value) for value in self.moments]
        return [ends[j] if j % 2 == 0 else upper_end((ends[j - 1] * ends[j + 1]).sqrt()) for j in range(len(ends))]

    @property
    def rest(self) -> arb:
        """(kappa_4 + 6 kappa_2^2) / 12: E(Y-Y')^4/24, Y' an independent copy."""
        return (self.cumulants[4] + 6 * self.cumulants[2] * self.cumulants[2]) / 12


class Kernel(Protocol):
    """What an expansion is integrated against: the poles of delta (T141), or Prawitz's kernel (T170)."""

    def bound_weights(self, low: arb, high: arb) -> tuple[arb, arb]:
        """Bound it on [low, high]: for an error that grows at least like w and is known at high, for any."""

    def bound_beyond(self, start: arb) -> arb:
        """Bound what multiplies |psi_n(w)| for every w >= start."""

    def bound_integral(self, low: arb, high: arb) -> arb:
        """Bound its integral over low <= w <= high; with a tilt up to +inf."""


@dataclass(frozen=True)
class Steps:
    """A composition tilted by t: K(t), the variance of its Gaussian steps, kappa_0 = 0, kappa_1, ..., its laws."""

    tilt: arb
    log_mass: arb
    shift: arb
    cumulants: list[arb]
    laws: list[Spread]

    @cached_property
    def spreads(self) -> tuple[arb, arb]:
        """Sums over the steps of kappa_2 and of E(Y-Y')^4/24, the Gaussian ones left out."""
        second = sum((law.count * law.cumulants[2] for law in self.laws), arb(0))
        return second, sum((law.count * law.rest for law in self.laws), arb(0))


Moments = Callable[[MomentTable, int, arb, int], TiltedMoments]
"""(table, index of the law, tilt, how many) -> its moments."""
HIGHEST, LEAST, TERMS, MANY = 6, 4, 4, 3
"""Of the orders, and up to which cumulants are always made; of the Taylor polynomials of g^(i); more laws than this
are bounded together."""


def moment_count(order: int) -> int:
    """Moments of each law that order n reads: up to n + 3 + TERMS, rounded up to even."""
    return order + 3 + TERMS + (order + 3 + TERMS) % 2


@proved_by("T141-certified-expansions")
def enclose_steps(table: MomentTable, tilt: arb, order: int, moments_of: Moments = enclose_moments,
                  between: Callable[[], None] = nothing) -> Steps:
    """Enclose K(t) and the cumulants kappa_0 = 0, kappa_1 = K', ... of the composition, its infinity mass left out."""
    shift, size = ball(table.loss.mean_shift_squared), moment_count(order)
    last = 2 + max(order, LEAST)  # exact: whole numbers
    total = [(2 * tilt + 1) * shift / 2, shift, *(arb(0) for _ in range(last - 2))]
    log_mass, spreads = tilt * (tilt + 1) * shift / 2, []
    for index, (_, count) in paced(enumerate(table.loss.parts), between):
        moments = moments_of(table, index, tilt, size)
        own = enclose_cumulants(moments.values[:last])
        spreads.append(Spread(count, moments.mass, [arb(1), *moments.values], [arb(0), *own]))
        log_mass += count * moments.mass.log()
        total = [sum_ + count * one for sum_, one in zip(total, own, strict=True)]
        total[0] += count * moments.centre
    return Steps(tilt, log_mass, shift, [arb(0), *total], spreads)


@proved_by("T170-edgeworth-smoothing")
def at_rest(table: MomentTable, steps: Steps) -> tuple[MomentTable, Steps]:
    """The composition whose transform has the modulus of the steps': at tilt -1 the swapped order's at tilt 0."""
    if steps.tilt == -1:
        table = replace(table, loss=table.loss.in_order(SWAPPED[table.loss.order]))
        steps = replace(steps, tilt=arb(0))
    return table, steps


@proved_by("T141-certified-expansions")
def bound_beyond(table: MomentTable, steps: Steps, ray: Ray) -> arb:
    """Bound |psi(w)| for every w beyond the ray's start: a product over the steps, each factor at most 1."""
    start, rules = ball(ray.start), iter(ray.rules)
    log_modulus = -steps.shift * start * start / 2
    for (law, count), spread in zip(table.loss.parts, steps.laws, strict=True):
        rule = next(rules, None) if has_nodes(law) else None
        share = upper_end(_bound_beyond(law, rule, steps.tilt, start) / spread.mass)
        log_modulus += count * share.log() if 0 < share < 1 else arb(0)
    return upper_end(log_modulus.exp())


def _bound_beyond(law: Law, rule: NodeRule | None, tilt: arb, start: arb) -> arb:
    """Bound |M(t+iw)| of one law for every w >= start; +inf where nothing is known."""
    if has_nodes(law):
        if rule is None or not rule.step > 0:
            return arb.pos_inf()
        return bound_transform_beyond(enclose_nodes(law, rule), tilt, start)
    return law.bound_transform_beyond(tilt, start) if tilt > 0 and is_direct(law) else arb.pos_inf()


@proved_by("T141-certified-expansions")
def _enclose_derivatives(law: Spread, order: int, frequency: arb) -> list[acb]:
    """Enclose g^(i)(v) / i^i = E[Y^i e^{ivY}], i = 0..order, for every v >= 0 of the ball.

    sum_{r<R} (iv)^r m_{i+r} / r! +- v^R E|Y|^{i+R} / R! with the R <= TERMS of the smallest error.
    """
    turn, last = acb(0, frequency), upper_end(frequency)
    powers, sizes = [acb(1)], [arb(1)]
    for r in range(1, TERMS + 1):
        powers.append(powers[-1] * turn / r)
        sizes.append(upper_end(sizes[-1] * last / r))
    return [_taylor(law, i, powers, [upper_end(sizes[r] * law.absolute[i + r]) for r in range(1, TERMS + 1)])
            for i in range(order + 1)]


def _taylor(law: Spread, i: int, powers: Sequence[acb], errors: Sequence[arb]) -> acb:
    """The shortest sum whose error no longer one undercuts; errors[R-1] that of R terms."""
    best = 0
    for longer in range(1, TERMS):
        best = longer if errors[longer] < errors[best] else best
    return sum((powers[r] * law.moments[i + r] for r in range(best + 1)), disc(errors[best]))


@proved_by("T141-certified-expansions")
def bound_derivative(law: Spread, order: int, frequency: arb) -> arb:
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
    if len(steps.laws) > MANY:
        second, rest = steps.spreads
        return upper_end(((rest * fourth - (second + steps.shift) * square) / 2).exp()).min(arb(1))
    logarithm = -steps.shift * square / 2
    for law in steps.laws:
        share = upper_end(1 - law.cumulants[2] * square + law.rest * fourth)
        logarithm += law.count * share.log() / 2 if 0 < share < 1 else arb(0)
    return upper_end(logarithm.exp())


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
    kernel: Kernel
    order: int
    exponent: dict[int, arb]
    even: dict[int, arb]
    positive: dict[int, arb]
    sizes: dict[int, arb]

    @classmethod
    def of(cls, steps: Steps, kernel: Kernel, order: int, factors: Mapping[int, arb]) -> _Cells:
        """factors: l -> q_l."""
        terms = {j: steps.cumulants[j] / arb.fac_ui(j) for j in range(3, order + 3)}
        return cls(steps, kernel, order, {0: arb(0)} | {j: abs(term) for j, term in terms.items()},
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

    @proved_by("T141-certified-expansions", "T170-edgeworth-smoothing")
    def bound(self, low: arb, high: arb, worst: arb) -> arb:
        """Bound the integral over low <= w <= high; |psi - psi_n| is also at most |psi| + |psi_n|."""
        normal = upper_end((-self.steps.cumulants[2] * low * low / 2).exp())
        modulus = bound_modulus(self.steps, low, high)
        growing, any_error = self.kernel.bound_weights(low, high)
        apart = upper_end(any_error * (modulus + normal * _sum_of_powers(self.sizes, high)))
        if worst.is_finite():
            apart = apart.min(upper_end(growing * self.bound_structured(low, high, worst, modulus, normal)))
        return upper_end(apart * (high - low))


@proved_by("T141-certified-expansions", "T170-edgeworth-smoothing")
def bound_cells(steps: Steps, kernel: Kernel, order: int, factors: Mapping[int, arb], ends: Sequence[arb],
                together: int = 3, between: Callable[[], None] = nothing) -> arb:
    """Bound the integral over 0 < w < W, cut at the ends; factors: l -> q_l.

    together: so many neighbouring cells share one bound of the derivatives.
    """
    same, total, worst = _Cells.of(steps, kernel, order, factors), arb(0), arb(0)
    cells = list(pairwise([arb(0), *ends]))
    for group in paced([cells[i:i + together] for i in range(0, len(cells), together)], between):
        if worst.is_finite():
            span = group[0][0].union(group[-1][1])
            here = sum((law.count * bound_derivative(law, order + 3, span) for law in paced(steps.laws, between)),
                       arb(0))
            worst = worst.max(upper_end(here))
        total += sum((same.bound(low, high, worst) for low, high in group), arb(0))
    return upper_end(total)


@proved_by("T141-certified-expansions", "T170-edgeworth-smoothing")
def bound_rays(table: MomentTable, steps: Steps, kernel: Kernel, cover: Cover,
               between: Callable[[], None] = nothing) -> arb:
    """Bound the integral of |psi| times the kernel beyond the cells, up to its end; from ray to ray |psi| falls."""
    places = [*(ball(ray.start) for ray in cover.rays), ball(cover.top) if cover.top else arb.pos_inf()]
    return upper_end(sum((bound_beyond(table, steps, ray) * kernel.bound_integral(low, high) for ray, (low, high)
                          in paced(zip(cover.rays, pairwise(places), strict=True), between)), arb(0)))


@proved_by("T141-certified-expansions")
def bound_expansion_integral(variance: arb, factors: Mapping[int, arb], start: arb, power: int = 0) -> arb:
    """Bound the integral of w^power |psi_n| over w > W by incomplete gamma integrals, l' = l + power:

    int_W^inf w^l' e^{-tau w^2/2} dw = (2/tau)^{(l'+1)/2} Gamma((l'+1)/2, tau W^2/2) / 2.
    """
    twice, total = 2 / variance, arb(0)
    for degree, factor in factors.items():
        half = arb(degree + power + 1) / 2
        total += abs(factor) * (half * twice.log()).exp() * (start * start / twice).gamma_upper(half) / 2
    return upper_end(total)


@proved_by("T141-certified-expansions", "T170-edgeworth-smoothing")
def bound_remainder(table: MomentTable, steps: Steps, kernel: Kernel, factors: Mapping[int, arb], cover: Cover,
                    order: int, between: Callable[[], None] = nothing) -> dict[str, arb]:
    """Bound the integral of |psi - psi_n| times the kernel: on cells, on rays, and of psi_n beyond the cells."""
    if not steps.cumulants[2] > 0:
        return dict.fromkeys(("cells", "rays", "expansion_tail"), arb.pos_inf())
    ends = [ball(end) for end in cover.ends]
    tail = kernel.bound_beyond(ends[-1]) * bound_expansion_integral(steps.cumulants[2], factors, ends[-1])
    return {"cells": bound_cells(steps, kernel, order, factors, ends, cover.together, between),
            "rays": bound_rays(*at_rest(table, steps), kernel, cover, between), "expansion_tail": upper_end(tail)}
