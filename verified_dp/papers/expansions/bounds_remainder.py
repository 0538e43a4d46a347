"""Bound what an expansion leaves out: the integral of |psi - psi_n| / (|t+iw| |1+t+iw|) over w > 0, cell by cell (T141)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flint import acb, arb, fmpz

from verified_dp.core.balls import disc, upper_end
from verified_dp.core.theorems import proved_by
from verified_dp.papers.symbolic.hermite import hermite_coefficients
from verified_dp.papers.symbolic.polynomials import evaluate
from verified_dp.papers.symbolic.tables import CUMULANTS


@dataclass(frozen=True)
class Spread:
    """One law, `count` times: M(t), moments m_0 = 1, m_1, ... of the tilted loss about a centre, its cumulants."""

    count: int
    mass: arb
    moments: list[arb]
    cumulants: list[arb]

    def absolute(self, power: int) -> arb:
        """Bound E|Y|^j: m_j for even j, else sqrt(m_{j-1} m_{j+1})."""
        if power % 2 == 0:
            return upper_end(self.moments[power])
        below, above = upper_end(self.moments[power - 1]), upper_end(self.moments[power + 1])
        return upper_end((below * above).sqrt())


@dataclass(frozen=True)
class Steps:
    """A composition tilted by t: K(t), the variance of its Gaussian steps, kappa_0 = 0, kappa_1, ..., its laws."""

    tilt: arb
    log_mass: arb
    shift: arb
    cumulants: list[arb]
    laws: list[Spread]


def moment_count(order: int) -> int:
    """Moments of each law that order n reads: up to n + 4, rounded up to even."""
    return order + 4 + order % 2


@proved_by("T141-certified-expansions")
def bound_derivative(law: Spread, order: int, frequency: arb) -> arb:
    """Bound |K_1^(j)(t+iv)|, j = order, for |v| <= frequency, one step; +inf where M might have a zero there.

    K^(j) is sympy's polynomial in g^(i)/g, g^(i)(v) = E[Y^i e^{ivY}] in m_i +- |v| E|Y|^{i+1}, and for i = 0 in
    1 +- (|v| |m_1| + v^2 m_2/2).
    """
    slip = upper_end(frequency * (abs(law.moments[1]) + frequency * law.moments[2] / 2))
    if not slip < 1:
        return arb.pos_inf()
    inverse = 1 / (1 + disc(slip))
    ratios = {i: (law.moments[i] + disc(frequency * law.absolute(i + 1))) * inverse for i in range(1, order + 1)}
    return upper_end(evaluate(CUMULANTS[order], ratios).abs_upper())


@proved_by("T141-certified-expansions")
def bound_modulus(steps: Steps, low: arb, high: arb) -> arb:
    """Bound |psi(w)| for low <= w <= high: |E e^{iwY}|^2 <= 1 - kappa_2 w^2 + (kappa_4 + 6 kappa_2^2) w^4/12."""
    square, fourth = low * low, high * high * high * high
    logarithm = -steps.shift * square / 2
    for law in steps.laws:
        second = law.cumulants[2]
        share = upper_end(1 - second * square + (law.cumulants[4] + 6 * second * second) * fourth / 12)
        logarithm += law.count * share.log() / 2 if 0 < share < 1 else arb(0)
    return upper_end(logarithm.exp())


def _sum_of_powers(factors: Mapping[int, arb], base: arb) -> arb:
    """sum_l factor_l base^l by Horner's rule."""
    total = arb(0)
    for power in range(max(factors), -1, -1):  # exact: whole numbers
        total = total * base + factors.get(power, arb(0))
    return total


@dataclass(frozen=True)
class _Cell:
    """What is the same in every cell: A(w) and sum |q|_l w^l at |kappa_j|, Re a(w), |q_l|."""

    steps: Steps
    order: int
    exponent: dict[int, arb]
    even: dict[int, arb]
    positive: dict[int, arb]
    sizes: dict[int, arb]

    @proved_by("T141-certified-expansions")
    def bound_structured(self, low: arb, high: arb, normal: arb) -> arb:
        """Bound e^{-tau w^2/2} (e^{Re a} (e^{|rho|} - 1) + e^{A(w)} - sum |q|_l w^l), every part at its worse end."""
        order, steps = self.order + 3, self.steps
        rho = sum((law.count * bound_derivative(law, order, high) for law in steps.laws), arb(0))
        for _ in range(order):
            rho *= high
        real = upper_end(_sum_of_powers(self.even, low.union(high)))
        first = real.exp() * (rho / fmpz.fac_ui(order)).expm1()
        beyond = _sum_of_powers(self.exponent, high).exp() - _sum_of_powers(self.positive, high)
        return upper_end(normal * (upper_end(first) + upper_end(beyond)))

    @proved_by("T141-certified-expansions")
    def bound_apart(self, low: arb, high: arb, normal: arb) -> arb:
        """Bound |psi| + |psi_n|."""
        return upper_end(bound_modulus(self.steps, low, high) + normal * _sum_of_powers(self.sizes, high))

    @proved_by("T141-certified-expansions")
    def bound(self, low: arb, high: arb) -> arb:
        """Bound the integral over low <= w <= high."""
        square, tilt = low * low, self.steps.tilt
        normal = upper_end((-self.steps.cumulants[2] * square / 2).exp())
        size = self.bound_apart(low, high, normal)
        size = size.min(self.bound_structured(low, high, normal))
        return upper_end(size * (high - low) / ((tilt * tilt + square) * ((1 + tilt) * (1 + tilt) + square)).sqrt())


@proved_by("T141-certified-expansions")
def bound_cells(steps: Steps, order: int, factors: Mapping[int, arb], ends: Sequence[arb]) -> arb:
    """Bound the integral over 0 < w < W, cut at the ends; factors: l -> q_l."""
    used = range(3, order + 3)
    sizes = [arb(0), arb(0), arb(0), *(abs(steps.cumulants[j]) for j in used)]
    exponent = {0: arb(0)} | {j: sizes[j] / fmpz.fac_ui(j) for j in used}
    even = {0: arb(0)} | {j: (-1) ** (j // 2) * steps.cumulants[j] / fmpz.fac_ui(j) for j in used if j % 2 == 0}
    cell = _Cell(steps, order, exponent, even, hermite_coefficients(sizes, order),
                 {power: abs(factor) for power, factor in factors.items()})
    return upper_end(sum((cell.bound(low, high) for low, high in zip([arb(0), *ends], ends, strict=False)), arb(0)))


@proved_by("T141-certified-expansions")
def bound_far_expansion(steps: Steps, factors: Mapping[int, arb], start: arb) -> arb:
    """Bound the integral of |psi_n| / (|t+iw| |1+t+iw|) over w > W: incomplete gamma integrals.

    int_W^inf w^l e^{-tau w^2/2} dw = (2/tau)^{(l+1)/2} Gamma((l+1)/2, tau W^2/2) / 2.
    """
    tilt, twice = steps.tilt, 2 / steps.cumulants[2]
    total, square = arb(0), start * start
    for power, factor in factors.items():
        half = arb(power + 1) / 2
        total += abs(factor) * (half * twice.log()).exp() * (square / twice).gamma_upper(half) / 2
    return upper_end(total / ((tilt * tilt + square) * ((1 + tilt) * (1 + tilt) + square)).sqrt())
