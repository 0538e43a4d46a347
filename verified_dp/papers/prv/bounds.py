"""The PRV accountant: rounded losses with the same mean, composed in a circle, with every error of (8) (T87 to T92).

DiscretizePRV keeps what one step's loss does in a window of cells, moves it to the middles of the cells and shifts it
by the mean of what that changed. ComposePRV is the circular convolution of the Fourier accountant. The rounding errors
of k steps are independent and centred, so that they add up to about h sqrt(k), not h k.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.engines.grid import LawGrid, StepMasses
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.law import SWAPPED, Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.papers.fourier.bounds import (
    FourierValues,
    FourierWitness,
    bound_past_window,
    bound_wraps,
    check_fourier,
    compose_steps,
    sum_window,
)
from verified_dp.search.deadline import timed


@dataclass(frozen=True)
class PRVWitness:
    """Any values give a correct enclosure; good ones a narrow one.

    half_length: L > 0. points: n, even; h = 2L/n. ranges: of each law the first and the last cell that is kept, cell i
    being ((i - 1/2) h, (i + 1/2) h]. parts: into how many each cell is split where the rounding is measured.
    distance: d > 0, by how much the sum of the rounding errors may move the loss. coupling: a key of COUPLINGS.
    rate: s > 0, the exponent of "mgf". tilt, right, left, mass_bits, prec: as in FourierWitness.
    """

    half_length: Fraction
    points: int
    ranges: tuple[tuple[int, int], ...]
    parts: int
    distance: Fraction
    coupling: str
    rate: Fraction
    tilt: Fraction
    right: Fraction
    left: Fraction
    mass_bits: int
    prec: int

    @property
    def step(self) -> Fraction:
        """h = 2 L / n."""
        return 2 * self.half_length / self.points


@dataclass(frozen=True)
class Rounding:
    """One step's loss, rounded to the middles of its cells.

    masses: of the cells, balls. positions: for each part of a cell (mass, E[u; part]) over all cells, u = loss minus
    the middle of its cell. outside: bounds the finite mass outside of the range. shift: of all points in steps, near
    the mean of u given the range; bias: bounds that mean minus shift h, from above; it is not negative.
    """

    masses: list[arb]
    positions: list[tuple[arb, arb]]
    outside: arb
    shift: Fraction
    bias: arb


@dataclass(frozen=True)
class Profile:
    """Bounds of delta at one epsilon >= 0 in the order of the loss and in the other one; the caller's to prove."""

    epsilon: Fraction
    forward: arb
    backward: arb


@dataclass(frozen=True)
class PRVValues:
    """What does not depend on eps.

    circular: the composition of the rounded steps. slip_up, slip_down: bounds of P(S - T > d) and P(T - S > d), S the
    loss given that every step is in its range and T the rounded one. mean: what the unknown part of the means adds to
    both. outside: bounds P(S < inf, a step out of its range). infinity: encloses P(S = inf).
    """

    witness: PRVWitness
    circular: FourierValues
    slip_up: arb
    slip_down: arb
    mean: arb
    outside: arb
    infinity: arb
    profile: Profile | None = None


@proved_by("T87-mean-of-cells")
def discretise(law: Law, step: Fraction, first: int, last: int, parts: int) -> Rounding:
    """DiscretizePRV (Algorithm 2) on the cells first..last, the means from the tails of both measures.

    In a part with middle c and half-width g, of masses p under P and q under Q, E[L - c; part] lies between
    p - q e^c and p - q e^c + p (e^g - 1 - g).
    """
    half, count = step / (2 * parts), (last - first + 1) * parts
    start = (2 * first - 1) * parts
    tails = [law.enclose_tails(ball(half * (start + 2 * j))) for j in timed(range(count + 1))]
    excess = arb(0).union(ball(half).exp() - 1 - ball(half))
    masses = [arb(0)] * (last - first + 1)
    sums, slopes = [arb(0)] * parts, [arb(0)] * parts
    for j in range(count):
        p, q = tails[j][0] - tails[j + 1][0], tails[j][1] - tails[j + 1][1]
        masses[j // parts] += p
        sums[j % parts] += p
        slopes[j % parts] += p - q * ball(half * (start + 2 * j + 1)).exp()
    places = [ball(half * (2 * n + 1 - parts)) for n in range(parts)]
    positions = [(p, place * p + slope + excess * p) for p, place, slope in zip(sums, places, slopes, strict=True)]
    total, infinity = tails[0][0] - tails[-1][0], law.enclose_infinity_mass()
    outside = upper_end(1 - tails[0][0]).max(arb(0)) + upper_end(tails[-1][0] - infinity).max(arb(0))
    return Rounding(masses, positions, outside, *_centre(sum((f for _, f in positions), arb(0)) / total, step))


@proved_by("T87-mean-of-cells")
def _centre(mean: arb, step: Fraction) -> tuple[Fraction, arb]:
    """(shift, bias): shift h <= mean, and mean - shift h <= bias. Raises InvalidInput where nothing is known."""
    place = lower_end(mean / ball(step) * 2**64).floor()
    if not place.is_finite():
        raise InvalidInput("witness.mass_bits", ctx.prec, "enough bits for the mean of a rounded step")
    shift = Fraction(int(place.unique_fmpz() or 0), 2**64)
    return shift, upper_end(mean - ball(shift * step)).max(arb(0))


@proved_by("T88-coupling")
def bound_by_hoeffding(roundings: Sequence[Rounding], counts: Sequence[int], witness: PRVWitness) -> arb:
    """Bound P(S - T > d) and P(T - S > d): e^{-2 (d - b)^2 / (k h^2)}, b the sum of the biases; 1 where d <= b."""
    bias = sum((count * one.bias for one, count in zip(roundings, counts, strict=True)), arb(0))
    slack = lower_end(ball(witness.distance) - bias)
    if not slack > 0:
        return arb(1)
    return upper_end((-2 * slack * slack / (sum(counts) * ball(witness.step) ** 2)).exp())


def bound_two_sided(roundings: Sequence[Rounding], counts: Sequence[int], witness: PRVWitness) -> tuple[arb, arb]:
    """As published: each of both slips is counted with the other."""
    slip = upper_end(2 * bound_by_hoeffding(roundings, counts, witness)).min(arb(1))
    return slip, slip


def bound_one_sided(roundings: Sequence[Rounding], counts: Sequence[int], witness: PRVWitness) -> tuple[arb, arb]:
    """Each bound of delta needs a slip to one side only."""
    slip = bound_by_hoeffding(roundings, counts, witness)
    return slip, slip


@proved_by("T89-rounding-transform")
def bound_by_transform(roundings: Sequence[Rounding], counts: Sequence[int], witness: PRVWitness) -> tuple[arb, arb]:
    """e^{-s d} prod E[e^{s X_i}], and with -s: Chernoff's bound with the rounding errors' own transform."""
    found = []
    for rate in (ball(witness.rate), -ball(witness.rate)):
        product = (-ball(witness.rate * witness.distance)).exp()
        for one, count in zip(roundings, counts, strict=True):
            product *= upper_end(_bound_transform(one, witness.step, rate)) ** count
        found.append(upper_end(product).min(arb(1)))
    return found[0], found[1]


@proved_by("T89-rounding-transform")
def _bound_transform(rounding: Rounding, step: Fraction, rate: arb) -> arb:
    """Bound E[e^{s X}], X = u - shift h: in each part e^{s u} is at most its chord, whose mean the positions give."""
    parts = len(rounding.positions)
    total, mass = arb(0), sum((p for p, _ in rounding.positions), arb(0))
    for n, (p, moment) in enumerate(rounding.positions):
        left, right = (ball(step * Fraction(2 * m - parts, 2 * parts)) for m in (n, n + 1))
        slope = ((rate * right).exp() - (rate * left).exp()) / (right - left)
        total += p * (rate * left).exp() + (moment - left * p) * slope
    return total / mass * (-rate * ball(rounding.shift * step)).exp()


COUPLINGS: dict[str, Callable[[Sequence[Rounding], Sequence[int], PRVWitness], tuple[arb, arb]]] = {
    "hoeffding": bound_two_sided, "one-sided": bound_one_sided, "mgf": bound_by_transform}
"""How P(S - T > d) and P(T - S > d) are bounded."""


def evaluate_prv(loss: ComposedLoss, witness: PRVWitness, profile: Profile | None = None) -> PRVValues:
    """ComposePRV (Algorithm 1). Raises InvalidInput where the witness breaks a side condition."""
    counts = [count for _, count in loss.laws]
    if not check_prv(witness, len(counts)):
        raise InvalidInput("witness", "prv", "a witness that meets its side conditions")
    with ctx.workprec(witness.mass_bits):
        roundings = [discretise(law, witness.step, first, last, witness.parts)
                     for (law, _), (first, last) in zip(loss.laws, witness.ranges, strict=True)]
        slip_up, slip_down = COUPLINGS[witness.coupling](roundings, counts, witness)
        mean = bound_share_of_means(roundings, counts, witness, slip_up)
        outside = sum((count * one.outside for one, count in zip(roundings, counts, strict=True)), arb(0))
        infinity = loss.enclose_infinity_mass()
    return PRVValues(witness, compose_rounded(roundings, counts, witness), slip_up, slip_down, mean,
                     upper_end(outside), infinity, profile)


@proved_by("T88-coupling")
def check_prv(witness: PRVWitness, laws: int) -> bool:
    """The side conditions that are not the transform's."""
    ranges = len(witness.ranges) == laws > 0 and all(first < 0 < last for first, last in witness.ranges)
    return ranges and witness.parts >= 1 and witness.distance > 0 and witness.rate > 0 and witness.coupling in COUPLINGS


def bound_share_of_means(roundings: Sequence[Rounding], counts: Sequence[int], witness: PRVWitness, slip: arb) -> arb:
    """What of a slip's bound is due to the biases, for the error budget alone."""
    exact = [Rounding(one.masses, one.positions, one.outside, one.shift, arb(0)) for one in roundings]
    if witness.coupling != "mgf":
        return upper_end(slip - COUPLINGS[witness.coupling](exact, counts, witness)[0]).max(arb(0))
    bias = sum((count * one.bias for one, count in zip(roundings, counts, strict=True)), arb(0))
    return upper_end(-slip * (-ball(witness.rate) * bias).expm1())


@proved_by("T91-prv-interval")
def compose_rounded(roundings: Sequence[Rounding], counts: Sequence[int], witness: PRVWitness) -> FourierValues:
    """The circular convolution of the rounded steps: of upper ends of their masses, and of lower ends."""
    steps, grids = [], []
    for (first, last), one in zip(witness.ranges, roundings, strict=True):
        whole = one.shift.__floor__()
        grid = LawGrid(first + whole, ((last - first, 1),), shift=one.shift - whole)
        above = [upper_end(mass).max(arb(0)) for mass in one.masses]
        below = [lower_end(mass).max(arb(0)) for mass in one.masses]
        steps.append(StepMasses(grid.vertices(), above, below, arb(0), arb(0)))
        grids.append(grid)
    circle = FourierWitness(witness.half_length, witness.points, witness.tilt, "cells", tuple(grids), witness.right,
                            witness.left, witness.mass_bits, witness.prec)
    if not check_fourier(circle, len(grids)):
        raise InvalidInput("witness", "prv", "a witness that meets its side conditions")
    return compose_steps(steps, counts, circle)


@proved_by("T90-two-sided-tail")
def bound_two_sided_tail(profile: Profile, beyond: arb) -> arb:
    """Bound P(|L| >= eps + t, L < inf), t > 0, by (delta_forward + e^{-eps - t} delta_backward) / (1 - e^{-t})."""
    weight = (-ball(profile.epsilon) - beyond).exp()
    return upper_end((profile.forward + weight * profile.backward) / -(-beyond).expm1())


@proved_by("T91-prv-interval", "T90-two-sided-tail")
def bound_outside_circle(values: PRVValues) -> arb:
    """Bound the mass of the rounded composition outside of its window by Lemma 5.4; +inf where that says nothing."""
    witness, circle, profile = values.witness, values.circular, values.profile
    start = witness.step * (circle.low + circle.shift)
    reach = min(witness.step - start, start + 2 * witness.half_length) - witness.distance  # exact: fractions
    if profile is None or witness.tilt != 0 or reach <= profile.epsilon or profile.epsilon < 0:
        return arb.pos_inf()
    tail = bound_two_sided_tail(profile, ball(reach - profile.epsilon))
    return upper_end(tail + values.slip_up + values.slip_down)


@proved_by("T91-prv-interval", "T81-circular-convolution")
def enclose_by_coupling(values: PRVValues, epsilon: Fraction) -> Bounds:
    """infinity + D(eps + d) - slip <= delta(eps) <= infinity + D(eps - d) + slip + outside, D of the rounded losses.

    This is (8) with eps_error = d; D is known up to what wraps around and to rounding.
    """
    witness, circle = values.witness, values.circular
    with ctx.workprec(witness.prec):
        above, _ = sum_window(circle, epsilon - witness.distance)
        _, below = sum_window(circle, epsilon + witness.distance)
        lemma = bound_outside_circle(values)
        past = bound_past_window(circle, epsilon - witness.distance).min(lemma)
        wraps = upper_end(sum(bound_wraps(circle, epsilon + witness.distance), arb(0))).min(lemma)
        upper = upper_end(values.infinity + above + past + values.slip_up + values.outside).min(arb(1))
        lower = lower_end(values.infinity + (below - wraps - values.slip_down).max(arb(0))).max(arb(0))
        slips = values.slip_up + values.slip_down
        budget = {"discretisation": (above - below).max(arb(0)), "coupling": slips, "mean": 2 * values.mean,
                  "truncation": values.outside, "wrap": past + wraps,
                  "rounding": above.rad() + below.rad() + values.infinity.rad()}
        return Bounds(lower_end(lower), upper_end(upper), {name: upper_end(size) for name, size in budget.items()})


def approximate_by_prv(values: PRVValues, epsilon: Fraction) -> arb:
    """What the authors report: the delta of the rounded losses at eps itself, with the mass at infinity."""
    with ctx.workprec(values.witness.prec):
        return values.infinity + sum_window(values.circular, epsilon)[0]


@proved_by("T92-choice-of-mesh")
def certify_domain(loss: ComposedLoss, epsilon: Fraction, delta_error: Fraction, profile: Profile) -> bool:
    """Whether (7) holds with L - 2 = epsilon: sum_i delta_i(epsilon) <= delta_error / 8, and delta <= delta_error / 4.

    The second at the profile's epsilon, which is to be L - 2 - eps_error; every delta is the larger of both orders.
    """
    total = arb(0)
    for law, count in loss.laws:
        other = law.in_order(SWAPPED[law.order])
        sticks = (upper_end(one.enclose_hockey_stick(ball(epsilon))) for one in (law, other))
        total += count * next(sticks).max(next(sticks))
    bound = ball(delta_error)
    return bool(total <= bound / 8) and bool(profile.forward <= bound / 4) and bool(profile.backward <= bound / 4)
