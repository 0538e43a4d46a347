"""Floating-point choices of the PRV accountant: errors, mesh and domain of Theorem 5.5, ranges, tilt, precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.kernel.balls import ball, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import Law
from verified_dp.papers.fourier.choose import least_half_length, window_exponents
from verified_dp.papers.prv.bounds import PRVWitness
from verified_dp.search.deadline import timed
from verified_dp.search.lattice_model import DEEPEST, LatticeModel
from verified_dp.search.line import dyadic

MOST_POINTS = 2**15
"""No longer grid is chosen where neither eps_error nor a mesh is asked for."""
LARGEST_GRID = 2**22
"""No longer grid is chosen at all; it may be asked for by a mesh and a domain."""
PARTS = {"hoeffding": 1, "one-sided": 1, "mgf": 4}
"""Into how many parts a cell is split."""
LOST = 64
"""All steps together may leave their ranges with a probability of delta_error / 64."""
LOG2 = math.log(2)
_SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)


@dataclass(frozen=True)
class Asked:
    """The user's parameters, None where the method chooses."""

    eps_error: Fraction | None = None
    delta_error: Fraction | None = None
    mesh: Fraction | None = None
    domain: Fraction | None = None
    tilt: Fraction | None = None
    bits: int | None = None
    coupling: str = "mgf"
    most: int = MOST_POINTS


@dataclass(frozen=True)
class Errors:
    """delta_error, and eps_error where it is known already; count: k; coupling: the bound on the slip.

    atoms: whether some loss has any, which may lie at the ends of their cells.
    """

    delta_error: Fraction
    eps_error: Fraction | None
    count: int
    coupling: str
    atoms: bool = False

    @property
    def parts(self) -> int:
        return PARTS[self.coupling]

    @property
    def variance(self) -> float:
        """Of one rounding error over h^2, as the bound on the slip sees it."""
        return 1 / 12 + 1 / (4 * self.parts**2) if self.coupling == "mgf" and not self.atoms else 1 / 4

    @property
    def bias(self) -> float:
        """The sum of the biases over h^2, at most."""
        return self.count / (8 * self.parts**2)

    def distance(self, mesh: float) -> float:
        """d such that the slip is delta_error / 6."""
        return mesh * math.sqrt(2 * self.count * self.variance * self._log_slip) + self.bias * mesh**2

    def mesh(self, distance: float) -> float:
        """The largest h with that distance: Theorem 5.5, with what the biases take."""
        linear = math.sqrt(2 * self.count * self.variance * self._log_slip)
        return 2 * distance / (linear + math.sqrt(linear**2 + 4 * self.bias * distance))

    @property
    def _log_slip(self) -> float:
        return math.log(12 if self.coupling == "hoeffding" else 6) - log_of(self.delta_error)


def log_of(value: Fraction) -> float:
    """log of a positive fraction of any size."""
    return math.log(value.numerator) - math.log(value.denominator)


class PRVPlan:
    """What is chosen before the domain: errors, tilt, ranges of the steps."""

    def __init__(self, loss: ComposedLoss, epsilon: float, bits: float, asked: Asked, tilted: bool) -> None:
        self.asked, self.bits, self.model = asked, bits, LatticeModel(loss)
        end = self.model.largest
        self.epsilon = min(epsilon, end - 1e-3 * abs(end)) if math.isfinite(end) else epsilon
        saddle = self.model.saddle(self.epsilon)
        self.saddle_tilt, infinity = min(saddle.tilt, 1e6), self.model.infinity
        self.log_delta = min(max(saddle.log_delta, math.log(infinity) if infinity > 0 else -math.inf), 0.0)
        if asked.delta_error is None and self.log_delta < -DEEPEST:
            raise Unsupported(f"delta is below e^-{DEEPEST:.0f} here, too small for prv: use auto")
        count = sum(int(count) for _, count in loss.laws)
        delta_error = asked.delta_error or Fraction(2) ** math.floor((self.log_delta / LOG2) - bits - 2)
        atoms = any(law.enclose_loss_atoms() != [] for law, _ in loss.laws)
        self.errors = Errors(delta_error, asked.eps_error, count, asked.coupling, atoms)
        self.tilt = self._choose_tilt(tilted) if asked.tilt is None else asked.tilt
        lost = delta_error / (LOST * count)
        self.reaches = [choose_reach(law, lost) for law, _ in timed(loss.laws)]

    def _choose_tilt(self, tilted: bool) -> Fraction:
        """The share of the saddle point with the shortest window; 0 where none is wanted."""
        tilts = [dyadic(share * self.saddle_tilt, 12) for share in _SHARES] if tilted else [Fraction(0)]
        return min(tilts, key=lambda tilt: self._least_half_length(float(tilt), self.epsilon))

    def _least_half_length(self, tilt: float, epsilon: float) -> float:
        target = log_of(self.errors.delta_error) - math.log(8)
        return least_half_length(self.model, tilt, epsilon, target)

    def least_domain(self, epsilon: float) -> float:
        """The least L by Chernoff bounds; the window holds eps and each step."""
        composed = self._least_half_length(float(self.tilt), epsilon)
        shift = float(self.errors.eps_error or 0)
        return max([composed * 1.02 + shift, epsilon + 2 * shift, *(float(x) for ends in self.reaches for x in ends)])

    def witness(self, domain: float) -> PRVWitness:
        """Mesh and points for a domain, ranges on it, exponents and precisions."""
        half_length, points = self._grid(domain)
        step, errors = 2 * half_length / points, self.errors
        distance = errors.eps_error
        if distance is None or self.asked.mesh is not None:
            distance = errors.eps_error or dyadic(errors.distance(float(step)) * (1 + 2e-7))
        slack = float(distance) - errors.bias * float(step) ** 2
        rate = max(slack, float(distance) / 8) / (errors.count * errors.variance * float(step) ** 2)
        c = float(self.tilt)
        # larger exponents would ask for more bits of the masses: e^{l x} magnifies their rounding
        right, left = window_exponents(self.model, c, self.epsilon, float(half_length),
                                       log_of(self.errors.delta_error) - 12, 2 * c)
        ranges = tuple(self._range(ends, step, points) for ends in self.reaches)
        weight = max(max(-left * first, right * last) * float(step) for first, last in ranges) / LOG2
        lost = max(0.0, self.model.cumulants(c)[0] - c * self.epsilon - self.log_delta) / LOG2 if c else (
            -self.log_delta / LOG2)
        fine = self.bits + math.log2(errors.count) + math.log2(points) + 24
        prec = self.asked.bits or math.ceil(fine + lost)
        mass_bits = math.ceil(max(fine + lost, prec) + 80 + 2 * max(-math.log2(step), 0)
                              + max(0.0, -log_of(errors.delta_error) / LOG2) + weight)
        return PRVWitness(half_length, points, ranges, errors.parts, distance, errors.coupling, dyadic(rate), self.tilt,
                          max(dyadic(right), self.tilt), dyadic(left), mass_bits, prec)

    def _grid(self, domain: float) -> tuple[Fraction, int]:
        """(L, n): n a power of 2 unless the domain is asked for, L at least the domain."""
        asked, exact_domain = self.asked, self.asked.domain or dyadic(domain * (1 + 1e-3), 12)
        if asked.mesh is not None:
            points = 2 * max(math.ceil(exact_domain / asked.mesh), 4)
            return points * asked.mesh / 2, points
        wanted = self.errors.eps_error or dyadic(2.0**-self.bits / (2 * max(self.saddle_tilt, 1e-3)))
        mesh = self.errors.mesh(float(wanted))
        most = LARGEST_GRID if self.errors.eps_error is not None else asked.most
        points = 2 ** max(math.ceil(math.log2(2 * float(exact_domain) / mesh)), 4)
        if points > most and self.errors.eps_error is not None:
            raise Unsupported(f"prv: eps_error = {float(wanted):.3g} needs {points} points; the most is {most}: ask "
                              "for a larger eps_error, or use auto")
        points = min(points, most)
        return (exact_domain, points) if asked.domain is not None or points == most else _shrunk(mesh, points)

    @staticmethod
    def _range(ends: tuple[Fraction, Fraction], step: Fraction, points: int) -> tuple[int, int]:
        """The first and last cell of a step: Algorithm 2's window, cut where hardly any mass is."""
        most = points // 2 - 1
        return -min(max(math.ceil(ends[0] / step), 1), most), min(max(math.ceil(ends[1] / step), 1), most)


def _shrunk(mesh: float, points: int) -> tuple[Fraction, int]:
    """The mesh rounded down to 16 bits, and L that goes with it."""
    step = dyadic(mesh * (1 - 2.0**-15), 16)
    return points * step / 2, points


def choose_reach(law: Law, lost: Fraction) -> tuple[Fraction, Fraction]:
    """(a, b): the loss is below -a, or above b and finite, with a probability of at most `lost` each, about."""
    with ctx.workprec(math.ceil(-log_of(lost) / LOG2) + 64):
        infinity, bound = law.enclose_infinity_mass(), ball(lost)
        right = _least(lambda x: bool(upper_end(law.enclose_tails(ball(x))[0] - infinity) <= bound))
        left = _least(lambda x: bool(upper_end(arb(1) - law.enclose_tails(-ball(x))[0]) <= bound))
    return left, right


def _least(accept: Callable[[Fraction], bool]) -> Fraction:
    """The least x from 2^-30 to 2^20, up to 2 %, that a monotone test accepts; 2^20 where none is."""
    low, high = Fraction(1, 2**30), Fraction(2**20)
    if accept(low):
        return low
    while high > low * Fraction(51, 50):
        middle = dyadic(math.sqrt(float(low) * float(high)), 12)
        low, high = (low, middle) if accept(middle) else (middle, high)
    return high
