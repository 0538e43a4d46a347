"""log M of one step at the ends of the buckets, on one vertical line and at two alias exponents: balls, then doubles.

Every entry is a double with a proved distance to the truth; the distances and the cost of interpolation are collected
per bucket and frequency, so that a record's whole error is its counts times this matrix (T116, T117).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import acb, arb, ctx

from verified_dp.errors import InvalidInput
from verified_dp.exact import square_root
from verified_dp.individual.doubles import ROUND_UP, double_above, double_below, to_double
from verified_dp.individual.interpolation import (
    Hull,
    Shares,
    bound_beyond,
    bound_log_errors,
    bound_log_moduli,
    bound_rise,
    bound_shares,
    derivative_factors,
)
from verified_dp.individual.squares import HULL_SLACK, SQUARE_SLACK
from verified_dp.individual.training import Training, bucket_count
from verified_dp.kernel.balls import BOUND_BITS, ball, disc
from verified_dp.kernel.contour import bound_chernoff_factor, enclose_transforms_on_line
from verified_dp.kernel.nodes import NodeRule, NodeSet, bound_line_error, bound_transform_beyond, enclose_nodes
from verified_dp.losses.sampled_gaussian import SampledGaussianLoss
from verified_dp.theorems import proved_by

UNKNOWN = 1e6
"""Stands for an infinite error per step: its exponential is infinite, and 0 steps of it cost nothing (T118)."""
PRODUCT_ERROR = 2.0**-40
"""Relative error per step of a matrix product with up to 1025 ends, and of the weights in it."""


@dataclass(frozen=True)
class TableWitness:
    """Any values give correct tables or are refused. Names as in LineWitness; one rule for each bucket's upper end from
    the first on. right_nodes: for the exponent `right`, where the window lies further out.

    left = 0: the left aliases are bounded by D <= 1.
    """

    tilt: Fraction
    step: Fraction
    count: int
    right: Fraction
    left: Fraction
    nodes: tuple[NodeRule, ...]
    right_nodes: tuple[NodeRule, ...]
    tail_nodes: tuple[NodeRule, ...]
    prec: int

    @proved_by("T118-individual-enclosure")
    def check(self) -> None:
        """Raise InvalidInput unless 0 <= left < tilt < right, the step is positive and there is a frequency."""
        if not 0 <= self.left < self.tilt < self.right:
            exponents = ", ".join(map(str, (self.left, self.tilt, self.right)))
            raise InvalidInput("left, tilt, right", exponents, "increasing, the first of them >= 0")
        if not (self.step > 0 and self.count >= 1):
            raise InvalidInput("step, count", f"{self.step}, {self.count}", "positive")


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

    Buckets past the last node rule are left unknown: their errors are UNKNOWN.
    """
    witness.check()
    with ctx.workprec(witness.prec):
        edges, points = training.variance_edges(parts)[:len(witness.nodes) + 1], _points(witness)
        node_sets = _node_sets(training, edges, witness.nodes)
        line = [_line_transforms(nodes, witness) for nodes in node_sets]
        hulls = _hulls(training, edges)
        shares = _shares(training, hulls, witness.tilt)
        real, imaginary, errors, moduli = _logs(hulls, shares, points, line)
        beyond, beyond_share = _beyond(training, hulls, shares, points[-1], witness)
        right = _real_column(training, hulls, _node_sets(training, edges, witness.right_nodes), witness.right)
        left = _real_column(training, hulls, node_sets, witness.left)
    padded = [_pad(part, bucket_count(parts) + 1, 0.0) for part in (real, imaginary)]
    bounds = [_pad(part, bucket_count(parts), UNKNOWN) for part in (errors, moduli, beyond, beyond_share)]
    columns = [Column(_pad(x.values, bucket_count(parts) + 1, 0.0), _pad(x.errors, bucket_count(parts), UNKNOWN))
               for x in (right, left)]
    above, below, own = _alias_factors(witness)
    return Table(witness, padded[0], padded[1], bounds[0], bounds[1], bounds[2], bounds[3], columns[0], columns[1],
                 above, below, own, _kernel(witness), *_divergences(training, parts))


@proved_by("T118-individual-enclosure")
def _kernel(witness: TableWitness) -> np.ndarray:
    """(1 or 2) / (z (z+1)) to 2^-50 relatively, whatever the witness's precision."""
    with ctx.workprec(BOUND_BITS):
        return np.array([complex((2 if m else 1) / (z * (z + 1))) for m, z in enumerate(_points(witness))])


@proved_by("T118-individual-enclosure")
def _divergences(training: Training, parts: int) -> tuple[np.ndarray, float]:
    """Bounds of log(1 + q^2 (e^v - 1)), log E[e^L] in the remove order, at every end, and of what a step may add."""
    with ctx.workprec(BOUND_BITS):
        square = ball(training.sampling_probability ** 2)
        logs = [(square * ball(v).expm1()).log1p() for v in training.variance_edges(parts)]
        slack = ball(2 * HULL_SLACK / training.noise_multiplier**2) * square * (logs[-1].expm1() / square + 1)
        return np.array([double_above(x) for x in logs]), double_above(slack + logs[-1] * ball(Fraction(1, 2**48)))


def _pad(part: np.ndarray, rows: int, value: float) -> np.ndarray:
    """The array with rows of `value` below."""
    return np.concatenate([part, np.full((rows - len(part), *part.shape[1:]), value)])


def _node_sets(training: Training, edges: Sequence[Fraction], rules: Sequence[NodeRule]) -> list[NodeSet]:
    return [enclose_nodes(_law(training, v), rule) for v, rule in zip(edges[1:], rules, strict=True)]


def _points(witness: TableWitness) -> list[acb]:
    tilt, step = ball(witness.tilt), ball(witness.step)
    return [acb(tilt, m * step) for m in range(witness.count + 1)]


def _law(training: Training, variance: Fraction) -> SampledGaussianLoss:
    return SampledGaussianLoss(training.sampling_probability, square_root(1 / variance), training.order)


def _hulls(training: Training, edges: Sequence[Fraction]) -> list[Hull]:
    slack = HULL_SLACK / training.noise_multiplier**2
    return [Hull(low, high, slack) for low, high in pairwise(edges)]


def _shares(training: Training, hulls: Sequence[Hull], tilt: Fraction) -> list[Shares]:
    with ctx.workprec(BOUND_BITS):
        return [bound_shares(training.sampling_probability, training.order, tilt, hull.top) for hull in hulls]


def _line_transforms(nodes: NodeSet, witness: TableWitness) -> list[acb]:
    """Enclose M on the line: the node sums with their error as a disc."""
    tilt, step = ball(witness.tilt), ball(witness.step)
    error = disc(sum(bound_line_error(nodes, tilt), arb(0)))
    return [value + error for value in enclose_transforms_on_line(nodes, tilt, step, witness.count)]


@proved_by("T116-variance-interpolation", "T117-double-precision")
def _logs(hulls: Sequence[Hull], shares: Sequence[Shares], points: Sequence[acb],
          line: Sequence[Sequence[acb]]) -> tuple[np.ndarray, ...]:
    """log M along v from 0 upwards at every point, as doubles per end; errors and log |M| of a step per bucket.

    The logarithm is continued from end to end; where that is not certain the bucket's error is UNKNOWN.
    """
    before, logs = [acb(1)] * len(points), [acb(0)] * len(points)
    real, imaginary, radius = [np.zeros((len(hulls) + 1, len(points))) for _ in range(3)]
    errors, moduli = np.zeros((2, len(hulls), len(points)))
    slack, factors = SQUARE_SLACK / HULL_SLACK * hulls[0].slack, derivative_factors(shares[0].order, points)
    for b, (hull, share, values) in enumerate(zip(hulls, shares, line, strict=True)):
        sizes = [np.array([double_below(x.abs_lower()) for x in row]) for row in (before, values)]
        errors[b] = bound_log_errors(hull, share.derivatives(factors), (sizes[0], sizes[1]), slack)
        if len(points) == 1:
            errors[b] = np.minimum(errors[b], bound_rise(hull, share, points[0], before[0], values[0], slack))
        most = bound_log_moduli(hull, share.derivatives(factors)[0], *(
            np.array([double_above(x.abs_upper()) for x in row]) for row in (before, values)))
        moduli[b] = np.minimum(most, UNKNOWN)
        logs = [log + (high / low).log() for log, low, high in zip(logs, before, values, strict=True)]
        pairs = np.array([(*to_double(x.real), *to_double(x.imag)) for x in logs])
        real[b + 1], imaginary[b + 1], radius[b + 1] = pairs[:, 0], pairs[:, 2], pairs[:, 1] + pairs[:, 3]
        before = list(values)
    return real, imaginary, _with_rounding(errors, np.abs(real) + np.abs(imaginary), radius), moduli


@proved_by("T117-double-precision")
def _with_rounding(errors: np.ndarray, sizes: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Add what the entries' own error and the products' rounding cost per step of each bucket."""
    size, own = np.maximum(sizes[1:], sizes[:-1]), np.maximum(radius[1:], radius[:-1])
    total = (errors + own + PRODUCT_ERROR * size) * ROUND_UP
    return np.minimum(np.nan_to_num(total, nan=UNKNOWN), UNKNOWN)


@proved_by("T118-individual-enclosure")
def _real_column(training: Training, hulls: Sequence[Hull], node_sets: Sequence[NodeSet], exponent: Fraction) -> Column:
    """log M at a real exponent; all 0 at the exponent 0."""
    if exponent == 0:
        return Column(np.zeros(len(hulls) + 1), np.zeros(len(hulls)))
    point, values = acb(ball(exponent)), []
    for nodes in node_sets:
        total = sum(nodes.weights(point), acb(0))
        values.append([acb((total + disc(sum(bound_line_error(nodes, point.real), arb(0)))).real)])
    real, _, errors, _ = _logs(hulls, _shares(training, hulls, exponent), [point], values)
    return Column(real[:, 0], errors[:, 0])


@proved_by("T116-variance-interpolation")
def _beyond(training: Training, hulls: Sequence[Hull], shares: Sequence[Shares], last: acb,
            witness: TableWitness) -> tuple[np.ndarray, np.ndarray]:
    """log of a bound of |M| beyond the last frequency, per step of each bucket and per weight at its upper end."""
    found = []
    with ctx.workprec(BOUND_BITS):
        for b, (hull, share) in enumerate(zip(hulls, shares, strict=True)):
            at_low, angle = arb(1), arb(0)
            if b:
                rule, law = witness.tail_nodes[b - 1], _law(training, hull.low)
                at_low = bound_transform_beyond(enclose_nodes(law, rule), last.real, last.imag)
                angle = ball(rule.height * hull.low)
            found.append([min(double_above(x), UNKNOWN) for x in bound_beyond(hull, share, at_low, angle, last)])
    return np.array(found)[:, 0], np.array(found)[:, 1]


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
