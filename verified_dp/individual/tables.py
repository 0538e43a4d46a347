"""log M of one step at the ends of the buckets, on one vertical line and at two alias exponents: balls, then doubles.

Every entry is a double with a proved distance to the truth; the distances and the cost of interpolation are collected
per bucket and frequency, so that a record's whole error is its counts times this matrix (T116, T117).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from flint import acb, arb, ctx

from verified_dp.core.engines.contour import enclose_transforms_on_line
from verified_dp.core.engines.nodes import NodeRule, NodeSet, bound_line_error, bound_transform_beyond, enclose_nodes
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import BOUND_BITS, ball, disc
from verified_dp.core.kernel.bounds import bound_chernoff_factor
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import square_root
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.interpolation import (
    Hull,
    Shares,
    bound_beyond,
    bound_log_errors,
    bound_log_moduli,
    bound_rise,
    bound_shares,
    cut_cells,
    derivative_factors,
)
from verified_dp.individual.squares import HULL_SLACK, SQUARE_SLACK
from verified_dp.individual.training import Training
from verified_dp.search.doubles import ROUND_UP, bound_moduli, double_above, to_doubles

UNKNOWN = 1e6
"""Stands for an infinite error per step: its exponential is infinite, and 0 steps of it cost nothing (T118)."""
SHARED = Fraction(97, 100)
"""How much smaller v may be for a bucket to use the expectations' bounds of one above."""
MOST_FREQUENCIES = 2**16
PRODUCT_ERROR = 2.0**-40
"""Relative error per step of a matrix product with up to 1025 ends, and of the weights in it."""


@dataclass(frozen=True)
class TableWitness:
    """Any values give correct tables or are refused. Names as in LineWitness.

    buckets: those that the table covers, increasing. For each end of these but 0: a rule for the line, one for the
    exponent `right`, where the window lies further out, and one that bounds |M| from a frequency on.
    left = 0: the left aliases are bounded by D <= 1.
    """

    tilt: Fraction
    step: Fraction
    count: int
    right: Fraction
    left: Fraction
    buckets: tuple[int, ...]
    nodes: Mapping[int, NodeRule]
    right_nodes: Mapping[int, NodeRule]
    tail_nodes: Mapping[int, tuple[Fraction, NodeRule]]
    prec: int

    @proved_by("T118-individual-enclosure")
    def check(self) -> None:
        """Raise InvalidInput unless 0 <= left < tilt < right, step > 0 and there are 1 to 2^16 frequencies (T117)."""
        if not 0 <= self.left < self.tilt < self.right:
            exponents = ", ".join(map(str, (self.left, self.tilt, self.right)))
            raise InvalidInput("left, tilt, right", exponents, "increasing, the first of them >= 0")
        if not (self.step > 0 and 1 <= self.count <= MOST_FREQUENCIES):
            raise InvalidInput("step, count", f"{self.step}, {self.count}", f"positive, count up to {MOST_FREQUENCIES}")


@dataclass(frozen=True)
class Column:
    """log M at one point for each end (ends,), and per bucket the error of a step whose v lies inside (buckets,)."""

    values: np.ndarray
    errors: np.ndarray


@dataclass(frozen=True)
class Table:
    """One line: logs and errors of all frequencies m = 0..count, bounds beyond them, alias exponents.

    real, imaginary: (ends, frequencies). errors, moduli (log of a bound of |M|): (buckets, frequencies).
    beyond, beyond_share: log of a bound of |M| past the last frequency, per step of each bucket and per weight at its
    upper end. kernel: (1 or 2) / (z (z+1)), to 2^-50 relatively. divergences: log E[e^L] (ends,), and a step's slack.
    """

    witness: TableWitness
    real: np.ndarray
    imaginary: np.ndarray
    errors: np.ndarray
    moduli: np.ndarray
    beyond: np.ndarray
    beyond_share: np.ndarray
    right: Column
    left: Column
    right_factor: float
    left_factor: float
    own_factor: float
    kernel: np.ndarray
    divergences: np.ndarray
    divergence_slack: float


@proved_by("T118-individual-enclosure")
def build_table(training: Training, parts: int, witness: TableWitness) -> Table:
    """Enclose everything that does not depend on a record, then turn it into doubles.

    Buckets that the witness does not name are left unknown: their errors are UNKNOWN.
    """
    witness.check()
    with ctx.workprec(witness.prec):
        grid, points = _grid(training, parts, witness.buckets), _points(witness)
        node_sets = _node_sets(training, grid, witness.nodes)
        line = {end: _line_transforms(nodes, witness) for end, nodes in node_sets.items()}
        shares = _shares(training, grid, witness.tilt)
        real, imaginary, errors, moduli = _logs(grid, shares, points, line)
        beyond, beyond_share = _beyond(training, grid, shares, points[-1], witness)
        right = _real_column(training, grid, _node_sets(training, grid, witness.right_nodes), witness.right)
        left = _real_column(training, grid, node_sets, witness.left)
    above, below, own = _alias_factors(witness)
    return Table(witness, real, imaginary, errors, moduli, beyond, beyond_share, right, left,
                 above, below, own, _kernel(witness), *_divergences(training, parts))


@proved_by("T118-individual-enclosure")
def _kernel(witness: TableWitness) -> np.ndarray:
    """(1 or 2) / (z (z+1)) to 2^-50 relatively, whatever the witness's precision."""
    with ctx.workprec(BOUND_BITS):
        return np.array([complex((2 if m else 1) / (z * (z + 1))) for m, z in enumerate(_points(witness))])


@cache
@proved_by("T118-individual-enclosure")
def _divergences(training: Training, parts: int) -> tuple[np.ndarray, float]:
    """Bounds of log(1 + q^2 (e^v - 1)), log E[e^L] in the remove order, at every end, and of what a step may add."""
    with ctx.workprec(BOUND_BITS):
        square = ball(training.sampling_probability ** 2)
        logs = [(square * ball(v).expm1()).log1p() for v in training.variance_edges(parts)]
        slack = ball(2 * HULL_SLACK / training.noise_multiplier**2) * square * (logs[-1].expm1() / square + 1)
        return np.array([double_above(x) for x in logs]), double_above(slack + logs[-1] * ball(Fraction(1, 2**48)))


@dataclass(frozen=True)
class Grid:
    """The ends of all buckets, v increasing, and the hulls of those in use."""

    ends: Sequence[Fraction]
    hulls: Mapping[int, Hull]

    @property
    def used_ends(self) -> list[int]:
        """The ends of the buckets in use but the end 0, increasing."""
        return sorted({end for bucket in self.hulls for end in (bucket, bucket + 1)} - {0})

    def empty(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """(ends, count) of zeros, (buckets, count) of UNKNOWN."""
        return np.zeros((len(self.ends), count)), np.full((len(self.ends) - 1, count), UNKNOWN)


def _grid(training: Training, parts: int, buckets: Sequence[int]) -> Grid:
    ends, slack = training.variance_edges(parts), HULL_SLACK / training.noise_multiplier**2
    return Grid(ends, {b: Hull(ends[b], ends[b + 1], slack) for b in buckets})


def _node_sets(training: Training, grid: Grid, rules: Mapping[int, NodeRule]) -> dict[int, NodeSet]:
    return {end: enclose_nodes(_law(training, grid.ends[end]), rules[end]) for end in grid.used_ends}


def _points(witness: TableWitness) -> list[acb]:
    tilt, step = ball(witness.tilt), ball(witness.step)
    return [acb(tilt, m * step) for m in range(witness.count + 1)]


def _law(training: Training, variance: Fraction) -> SampledGaussianLoss:
    return SampledGaussianLoss(training.sampling_probability, square_root(1 / variance), training.order)


def _shares(training: Training, grid: Grid, tilt: Fraction) -> dict[int, Shares]:
    """For each bucket in use; a bucket's bounds serve those below it whose v is a little smaller."""
    q, order, found = training.sampling_probability, training.order, dict[int, Shares]()
    with ctx.workprec(BOUND_BITS):
        cells, shares = cut_cells(q, order, tilt, max(hull.top for hull in grid.hulls.values())), None
        for b, hull in sorted(grid.hulls.items(), reverse=True):
            if shares is None or hull.bottom < shares.least:
                least = min(hull.bottom, SHARED * hull.top)
                shares = bound_shares(q, order, tilt, least, hull.top, cells)
            found[b] = shares
    return found


def _line_transforms(nodes: NodeSet, witness: TableWitness) -> list[acb]:
    """Enclose M on the line: the node sums with their error as a disc."""
    tilt, step = ball(witness.tilt), ball(witness.step)
    error = disc(sum(bound_line_error(nodes, tilt), arb(0)))
    return [value + error for value in enclose_transforms_on_line(nodes, tilt, step, witness.count)]


@proved_by("T116-variance-interpolation", "T117-double-precision")
def _logs(grid: Grid, shares: Mapping[int, Shares], points: Sequence[acb],
          line: Mapping[int, Sequence[acb]]) -> tuple[np.ndarray, ...]:
    """log M at every point, as doubles per end; errors and log |M| of a step per bucket.

    Within a bucket the logarithm is continued along v, and from bucket to bucket where they touch, so that all ends in
    a row share one branch; where that is not certain the bucket's error is UNKNOWN.
    """
    (table, errors), (radius, moduli) = grid.empty(len(points)), grid.empty(len(points))
    table, logs, values = table.astype(complex), [acb(0)] * len(points), {0: [acb(1)] * len(points), **line}
    slack = SQUARE_SLACK / HULL_SLACK * next(iter(grid.hulls.values())).slack
    factors = derivative_factors(next(iter(shares.values())).order, points)
    sizes = {end: bound_moduli(*to_doubles(row)) for end, row in values.items()}
    for b, hull in sorted(grid.hulls.items()):
        (least, most), (next_least, next_most) = sizes[b], sizes[b + 1]
        if b and b - 1 not in grid.hulls:
            logs = [x.log() for x in values[b]]
            table[b], radius[b] = to_doubles(logs)
        derivatives = shares[b].derivatives(factors)
        errors[b] = bound_log_errors(hull, derivatives, (least, next_least), slack)
        if len(points) == 1:
            rise = bound_rise(hull, shares[b], points[0], values[b][0], values[b + 1][0], slack)
            errors[b] = np.minimum(errors[b], rise)
        bounds = bound_log_moduli(hull, derivatives[0], most, next_most)
        moduli[b] = np.minimum(bounds, bounds[0])  # |M(z)| <= M(Re z), and the first point is real
        logs = [log + (high / low).log() for log, low, high in zip(logs, values[b], values[b + 1], strict=True)]
        table[b + 1], radius[b + 1] = to_doubles(logs)
    return table.real, table.imag, _with_rounding(errors, np.abs(table.real) + np.abs(table.imag), radius), moduli


@proved_by("T117-double-precision")
def _with_rounding(errors: np.ndarray, sizes: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Add what the entries' own error and the products' rounding cost per step of each bucket."""
    size, own = np.maximum(sizes[1:], sizes[:-1]), np.maximum(radius[1:], radius[:-1])
    total = (errors + own + PRODUCT_ERROR * size) * ROUND_UP
    return np.minimum(np.nan_to_num(total, nan=UNKNOWN), UNKNOWN)


@proved_by("T118-individual-enclosure")
def _real_column(training: Training, grid: Grid, node_sets: Mapping[int, NodeSet], exponent: Fraction) -> Column:
    """log M at a real exponent; all 0 at the exponent 0."""
    if exponent == 0:
        return Column(np.zeros(len(grid.ends)), np.zeros(len(grid.ends) - 1))
    point, values = acb(ball(exponent)), {}
    for end, nodes in node_sets.items():
        error = disc(sum(bound_line_error(nodes, point.real), arb(0)))
        values[end] = [acb((sum(nodes.weights(point), acb(0)) + error).real)]
    real, _, errors, _ = _logs(grid, _shares(training, grid, exponent), [point], values)
    return Column(real[:, 0], errors[:, 0])


@proved_by("T116-variance-interpolation")
def _beyond(training: Training, grid: Grid, shares: Mapping[int, Shares], last: acb,
            witness: TableWitness) -> tuple[np.ndarray, np.ndarray]:
    """log of a bound of |M| beyond the last frequency, per step of each bucket and per weight at its upper end.

    Each bucket's holds from a frequency of its own on, at most the last one.
    """
    found = grid.empty(2)[1]
    with ctx.workprec(BOUND_BITS):
        for b, hull in grid.hulls.items():
            z, at_low, angle = last, arb(1), arb(0)
            if b:
                frequency, rule = witness.tail_nodes[b]
                z, angle = acb(last.real, ball(frequency)), ball(rule.height * hull.low)
                at_low = bound_transform_beyond(enclose_nodes(_law(training, hull.low), rule), z.real, z.imag)
            if not b or 0 < frequency <= witness.step * witness.count:
                found[b] = [min(double_above(x), UNKNOWN) for x in bound_beyond(hull, shares[b], at_low, angle, z)]
    return found[:, 0], found[:, 1]


@proved_by("T04-alias-bounds")
def _alias_factors(witness: TableWitness) -> tuple[float, float, float]:
    """Bounds of C(l) r/(1-r), which e^{K(l) - l eps} multiplies (C = 1 at l = 0), and of C(tilt) itself."""
    with ctx.workprec(BOUND_BITS):
        period, tilt = 2 * arb.pi() / ball(witness.step), ball(witness.tilt)
        right, left = ball(witness.right), ball(witness.left)
        above = bound_chernoff_factor(right) / ((right - tilt) * period).expm1()
        constant = bound_chernoff_factor(left) if witness.left else arb(1)
        below = constant / ((tilt - left) * period).expm1()
        return double_above(above), double_above(below), double_above(bound_chernoff_factor(tilt))
