"""Records of two steps by the hundred thousand: the one output on a line of nodes, the other step in closed form.

delta is E[F(Y)], Y standard normal: F is what the larger step has left once the smaller one's output is known. F is
convex in the likelihood ratio: chords between nodes lie above it, the cells' means below (T164). Nodes, weights and
means are those of a group of records; which group a record is in is guessed from a grid of pairs of steps, whatever
the other records, so that neither do its ends depend on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, ctx

from verified_dp.core.kernel.balls import normal_density, normal_tail
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.brackets import doubles_around
from verified_dp.individual.normal import LARGEST_RATIO, TINY, excess
from verified_dp.individual.training import UNIT_BITS, Training
from verified_dp.individual.widths import narrow, sizes
from verified_dp.search.doubles import ROUND_UP, double_above, double_below, exponential

END = 42
"""Nodes end there on both sides."""
LARGEST_EPSILON, LARGEST_ODDS, RARE = 600, 1e250, Fraction(1, 10**6)
LEAST_RATIO, NEAR, MANY = 1e-12, 2.0**-48, 1 + 2.0**-37
"""A smaller ratio of sensitivity to noise counts as this one, or as none. More than what a few roundings change, and
those of a sum of 2^15 terms."""
BLOCK, ROUNDS, LATE, REACH = 256, 6, 2, 4
"""Records evaluated at once; evaluations of each; from the third on with a guess of its own."""
FEWEST_BITS, MOST_BITS = 2, 7
"""Nodes are 2^-2 to 2^-7 apart."""
OCTAVES, PER_OCTAVE, PLACES, OUTSIDE, SHIFT = 12, 3, np.arange(-16, 38.1, 0.5), 1e-3, 0.01
"""The grid of guesses; where F is evaluated for them; which share of delta may lie outside of the narrowest nodes."""


@dataclass(frozen=True)
class Line:
    """Nodes y_0 < .. < y_N; for the cells between two of them, theta = (Y - y_i)/(y_{i+1} - y_i) and mass P(Y in cell):

    hats: bounds of E[the chords' weight of a node] from above. least, most: of the masses. shares: of E[theta; cell]
    from below. means: of the cell's E[Y] from below; centres: of its E[theta] from above.
    """

    nodes: np.ndarray
    hats: np.ndarray
    least: np.ndarray
    most: np.ndarray
    shares: np.ndarray
    means: np.ndarray
    centres: np.ndarray


@lru_cache(1024)
@proved_by("T164-two-steps")
def build_line(low: int, high: int, bits: int) -> Line:
    """Nodes 2^-bits apart from `low` to `high`, then further and further apart."""
    right, left = _outwards(high, bits), _outwards(-low, bits)
    nodes = np.array([*(-y for y in reversed(left)), *np.arange(low, high + 2.0**-bits / 2, 2.0**-bits), *right])
    with ctx.workprec(160):
        exact = [arb(float(y)) for y in nodes]
        cells = [_cell(a, b) for a, b in pairwise(exact)]
        hats = [arb(0)] * len(exact)
        for i, (mass, share, _) in enumerate(cells):
            hats[i], hats[i + 1] = hats[i] + mass - share, hats[i + 1] + share
        masses, shares, centres = zip(*cells, strict=True)
        means = [a + centre * (b - a) for (a, b), centre in zip(pairwise(exact), centres, strict=True)]
        columns = [[side(value) for value in values] for side, values in (
            (double_above, hats), (double_below, masses), (double_above, masses), (double_below, shares),
            (double_below, means), (double_above, centres))]
    return Line(nodes, *map(np.array, columns))


def _outwards(start: int, bits: int) -> list[float]:
    """Places from `start` to END, their distance doubled every unit."""
    found, distance = [float(start)], 2.0**-bits
    while found[-1] < END:
        distance = min(2 * distance, 2.0)
        found += [found[-1] + distance * n for n in range(1, max(1, int(1 / distance)) + 1)]
    return [*(place for place in found[1:] if place < END), float(END)] if start < END else []


@proved_by("T164-two-steps")
def _cell(a: arb, b: arb) -> tuple[arb, arb, arb]:
    """P(a < Y < b), E[theta; a < Y < b] and E[theta | a < Y < b]."""
    mass = normal_tail(a) - normal_tail(b) if a + b > 0 else normal_tail(-b) - normal_tail(-a)
    share = (normal_density(a, arb(1)) - normal_density(b, arb(1)) - a * mass) / (b - a)
    return mass, share, share / mass


@dataclass(frozen=True)
class Guess:
    """For each record: eps, minus the slope of log delta there, where most of E[F(Y)] lies, and its E[Y^2]."""

    epsilon: np.ndarray
    slope: np.ndarray
    low: np.ndarray
    high: np.ndarray
    square: np.ndarray


@dataclass(frozen=True)
class TwoSteps:
    """delta at `given` = eps, or eps at `given` = delta (quantity "epsilon"), of records of two steps of a training.

    width: asked of the intervals, as elsewhere.
    """

    training: Training
    quantity: str
    given: Fraction
    width: float

    @property
    def applies(self) -> bool:
        """Whether the doubles here can hold it."""
        training = self.training
        return (Fraction(1) / Fraction(LARGEST_RATIO) < training.noise_multiplier < 10**20
                and RARE**4 < training.sampling_probability <= 1 - RARE
                and (self.quantity == "epsilon" or self.given <= LARGEST_EPSILON))

    @proved_by("T164-two-steps")
    def enclose(self, least: np.ndarray, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ends for records whose squared sensitivities 2^60 lie between `least` and `most`: (records, 2), increasing.

        What is not reached is 0 or inf.
        """
        if not len(most) or not self.applies:
            return np.zeros(len(most)), np.full(len(most), np.inf)
        ratios = self._ratios(least, 1 - NEAR), self._ratios(most, 1 + NEAR)
        return self._epsilons(*ratios) if self.quantity == "epsilon" else self._deltas(*ratios)

    @proved_by("T164-two-steps")
    def _ratios(self, units: np.ndarray, factor: float) -> np.ndarray:
        """(2, records): r / sigma of the smaller and of the larger step, moved by `factor`."""
        return np.sqrt(units.T * 2.0**-UNIT_BITS) / float(self.training.noise_multiplier) * factor

    @proved_by("T164-two-steps")
    def _deltas(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        below, above = (np.full(low.shape[1], end) for end in doubles_around(self.given))
        guess, lower, upper = self._guess(high), np.zeros(low.shape[1]), np.ones(low.shape[1])
        for finer in range(ROUNDS):
            rows = np.flatnonzero(~narrow(self.quantity, lower, upper, self.width))
            if not len(rows):
                break
            if finer == LATE:
                self._look_again(guess, high, rows, above[rows])
            some = _take(guess, rows, finer)
            bits = self._bits(some, np.full(len(rows), self.width / 2)) + finer
            lower[rows] = np.maximum(lower[rows], self._bound(low[:, rows], above[rows], some, bits, False))
            upper[rows] = np.minimum(upper[rows], self._bound(high[:, rows], below[rows], some, bits, True))
        return lower, upper

    @proved_by("T164-two-steps")
    def _epsilons(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Newton's steps to where delta is the target, and two evaluations around each: ends that bracket it (T13)."""
        guess, lower, upper = self._guess(high), np.zeros(low.shape[1]), np.full(low.shape[1], np.inf)
        near, slope, finer = guess.epsilon.copy(), guess.slope.copy(), np.zeros(low.shape[1], dtype=int)
        for turn in range(ROUNDS):
            rows = np.flatnonzero(~narrow(self.quantity, lower, upper, self.width))
            if not len(rows):
                break
            if turn == LATE:
                self._look_again(guess, high, rows, near[rows])
            at, some = near[rows], _take(guess, rows, turn)
            asked = self.width * sizes("epsilon", at) * slope[rows]
            bits = self._bits(some, asked / 2) + finer[rows]
            least, lower[rows] = self._from_below(low[:, rows], at, some, bits, lower[rows])
            most, upper[rows] = self._from_above(high[:, rows], at, some, bits, upper[rows])
            middle = (least + most) / 2
            room = (0.6 * (most - least) + 0.2 * np.abs(middle)) / slope[rows] + 1e-12
            right, left = (np.clip(at + middle / slope[rows] + move, 0, LARGEST_EPSILON) for move in (room, -room))
            last, upper[rows] = self._from_above(high[:, rows], right, some, bits, upper[rows])
            _, lower[rows] = self._from_below(low[:, rows], left, some, bits, lower[rows])
            finer[rows] += (most - least > asked / 4) | (turn > 0)
            secant = (most - last) / np.where(right == at, 1, right - at)
            slope[rows] = np.where(secant > 0, secant, slope[rows])
            near[rows] = np.clip(right + (last - (most - least) / 2) / slope[rows], 0, LARGEST_EPSILON)
        return lower, upper

    @proved_by("T164-two-steps")
    def _from_above(self, ratios: np.ndarray, epsilon: np.ndarray, guess: Guess, bits: np.ndarray,
                    best: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(log of a bound of delta over the target, upper ends): eps is one where the bound is at most the target."""
        found = self._bound(ratios, epsilon, guess, bits, True)
        ends = np.where(found <= doubles_around(self.given)[0], np.minimum(best, epsilon), best)
        return np.log(found) - _log(self.given), ends

    @proved_by("T164-two-steps")
    def _from_below(self, ratios: np.ndarray, epsilon: np.ndarray, guess: Guess, bits: np.ndarray,
                    best: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same from below: eps is a lower end where the bound exceeds the target."""
        found = self._bound(ratios, epsilon, guess, bits, False)
        ends = np.where(found > doubles_around(self.given)[1], np.maximum(best, epsilon), best)
        return np.log(np.maximum(found, 1e-300)) - _log(self.given), ends

    def _bits(self, guess: Guess, error: np.ndarray) -> np.ndarray:
        """So close nodes that chords and means differ by about this relative error: h^2 E[Y^2] / 8."""
        found = np.ceil(np.log2(np.maximum(guess.square, 0.5) / (8 * np.clip(error, 1e-12, 0.3))) / 2)
        return np.clip(found, FEWEST_BITS, MOST_BITS).astype(int)

    def _bound(self, ratios: np.ndarray, epsilon: np.ndarray, guess: Guess, bits: np.ndarray,
               above: bool) -> np.ndarray:
        """Bounds of delta for every record, group by group."""
        kinds = np.stack([guess.low, guess.high, np.clip(bits, FEWEST_BITS, MOST_BITS)])
        groups, kind = np.unique(kinds.astype(int), axis=1, return_inverse=True)
        found = np.zeros(len(epsilon))
        for number, group in enumerate(groups.T.tolist()):
            nodes, rows = build_line(*group), np.flatnonzero(kind.ravel() == number)
            for start in range(0, len(rows), BLOCK):
                some = rows[start:start + BLOCK]
                padded = np.resize(some, max(2, len(some)))  # a sum over one column might be taken in another order
                bound = self._above if above else self._below
                found[some] = bound(nodes, ratios[:, padded], epsilon[padded])[: len(some)]
        return found

    @proved_by("T164-two-steps")
    def _above(self, nodes: Line, ratios: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
        """delta from above: the chords of F between the nodes."""
        own, other = ratios[0], np.maximum(ratios[1], LEAST_RATIO)
        rest = self._left(_growth(nodes.nodes, own), own, other, epsilon, True)
        if self.training.order == "remove":
            total = (nodes.hats[:, None] * rest).sum(axis=0)
        else:
            step = np.diff(nodes.nodes)[:, None] * own
            bend = nodes.most[:, None] * step * (1 + step) / 8 * ROUND_UP
            share = np.maximum(nodes.shares[:, None] - bend, 0) / ROUND_UP
            total = ((nodes.most[:, None] - share) * rest[:-1] + share * rest[1:]).sum(axis=0)
        return np.minimum((total + exponential(-((END - own) ** 2) / 2)) * MANY + TINY, 1.0)

    @proved_by("T164-two-steps")
    def _below(self, nodes: Line, ratios: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
        """delta from below: F at the mean of every cell."""
        own, other = ratios[0], np.maximum(ratios[1], LEAST_RATIO)
        if self.training.order == "remove":
            growth = _growth(nodes.means, own)
        else:
            ends, centre = _growth(nodes.nodes, own), nodes.centres[:, None]
            growth = (1 - centre) * ends[:-1] + centre * ends[1:]
        rest = self._left(growth, own, other, epsilon, False)
        total = (nodes.least[:, None] * rest).sum(axis=0)
        return np.where(ratios[1] < LEAST_RATIO, 0.0, np.maximum(total / MANY - TINY, 0))

    @proved_by("T164-two-steps")
    def _left(self, growth: np.ndarray, own: np.ndarray, other: np.ndarray, epsilon: np.ndarray,
              above: bool) -> np.ndarray:
        """F where the smaller step's likelihood ratio is 1 - q + q growth."""
        q, rest = float(self.training.sampling_probability), float(1 - self.training.sampling_probability)
        slack = (2.0**-43 + 2.0**-44 * own) * (1 if above else -1)
        scale, ratio = exponential(epsilon), rest + q * growth
        if self.training.order == "remove":
            return excess(q * ratio * (1 + slack), scale - rest * ratio - slack * (scale + ratio), other, above)
        with np.errstate(over="ignore"):
            odds = np.minimum(scale * ratio * (1 - slack), LARGEST_ODDS)
        return excess(1 - rest * odds + (2.0**-48 if above else -2.0**-48), q * odds, other, above)

    def _guess(self, ratios: np.ndarray) -> Guess:
        """Between the pairs of the grid."""
        grid, size = self._grid, OCTAVES * PER_OCTAVE
        place = np.clip((_log2(1 / self.training.noise_multiplier) - np.log2(np.maximum(ratios, 1e-300))) * PER_OCTAVE,
                        0, size - 1e-9)
        corner, share = np.floor(place).astype(int), place % 1
        columns = []
        for values in grid:
            upper = values[corner[0], corner[1]] * (1 - share[1]) + values[corner[0], corner[1] + 1] * share[1]
            lower = values[corner[0] + 1, corner[1]] * (1 - share[1]) + values[corner[0] + 1, corner[1] + 1] * share[1]
            columns.append(upper * (1 - share[0]) + lower * share[0])
        loss, slope, low, high, square = columns
        q = float(self.training.sampling_probability)
        epsilon = np.log1p(q * np.expm1(np.maximum(np.exp(loss) - SHIFT, 0)))
        return Guess(epsilon, np.exp(slope), 2 * np.floor(low / 2), 2 * np.ceil(high / 2), square)

    def look(self, own: np.ndarray, other: np.ndarray, epsilon: np.ndarray, reach: int = 0) -> tuple[np.ndarray, ...]:
        """About log delta, between which places most of it lies, and E[Y^2] there.

        reach: also what F so many places further right or left adds here, as on a chord between distant nodes.
        """
        rest, density = self._left(_growth(PLACES, own), own, other, epsilon, True), np.exp(-(PLACES**2) / 2)[:, None]
        found = density * rest * 0.2
        total = found.sum(axis=0)
        far = np.pad(rest, ((reach, reach), (0, 0)), mode="edge")
        most = density * np.maximum(far[: len(rest)], far[2 * reach:]) > OUTSIDE * total
        low, high = PLACES[most.argmax(axis=0)], PLACES[len(PLACES) - 1 - most[::-1].argmax(axis=0)]
        return np.log(total), low - 0.5, high + 0.5, (found * PLACES[:, None] ** 2).sum(axis=0) / total

    def _look_again(self, guess: Guess, ratios: np.ndarray, rows: np.ndarray, epsilon: np.ndarray) -> None:
        """Guesses for records that the grid does not serve."""
        own, other = np.maximum(ratios[:, rows], LEAST_RATIO)
        _, low, high, guess.square[rows] = self.look(own, other, epsilon, REACH)
        guess.low[rows], guess.high[rows] = np.floor(low), np.ceil(high)

    @cached_property
    def _grid(self) -> np.ndarray:
        return _grid_of(self.training, self.quantity, self.given)


def _take(guess: Guess, rows: np.ndarray, wider: int) -> Guess:
    """Of some records, with nodes near each other on a wider range."""
    move = 2 * (wider % LATE)
    return Guess(guess.epsilon[rows], guess.slope[rows], np.maximum(guess.low[rows] - move, 2 - END),
                 np.minimum(guess.high[rows] + move, END - 2), guess.square[rows])


@proved_by("T164-two-steps")
def _growth(places: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """e^{r y - r^2/2}: (places, records)."""
    return exponential(places[:, None] * ratio - ratio * ratio / 2)


@lru_cache(16)
def _grid_of(training: Training, quantity: str, given: Fraction) -> np.ndarray:
    """(5, sizes, sizes): what a Guess has, for pairs of ratios 2^(-i/3), 2^(-j/3) over sigma."""
    sizes = 2.0 ** (-np.arange(OCTAVES * PER_OCTAVE + 1) / PER_OCTAVE) / float(training.noise_multiplier)
    first, second = (part.ravel() for part in np.meshgrid(sizes, sizes, indexing="ij"))
    own, other = np.minimum(first, second), np.maximum(first, second)
    steps = TwoSteps(training, quantity, given, 1.0)
    epsilon = np.full(len(own), float(given))
    if quantity == "epsilon":
        ends, goal = [np.zeros(len(own)), np.full(len(own), float(LARGEST_EPSILON))], _log(given)
        for _ in range(40):
            epsilon = (ends[0] + ends[1]) / 2
            over = steps.look(own, other, epsilon)[0] > goal
            ends = [np.where(over, epsilon, ends[0]), np.where(over, ends[1], epsilon)]
    (log, low, high, square), step = steps.look(own, other, epsilon), 1e-4 * (1 + epsilon)
    slope = np.maximum((log - steps.look(own, other, epsilon + step)[0]) / step, 1e-3)
    loss = np.log(np.log1p(np.expm1(epsilon) / float(training.sampling_probability)) + SHIFT)
    return np.stack([loss, np.log(slope), low, high, square]).reshape(5, len(sizes), len(sizes))


def _log(number: Fraction) -> float:
    return math.log(number.numerator) - math.log(number.denominator)


def _log2(number: Fraction) -> float:
    return _log(number) / math.log(2)
