"""Lines of the outcomes with a marked loss, the others by a moment (CERTIFICATE.md, `marked`; T149)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb

from .balls import (
    Ball,
    Complex,
    ball,
    complex_exp,
    cos_sin,
    exp,
    expm1,
    inverse,
    larger,
    log,
    modulus,
    pi,
    plus,
    plus_minus,
    power,
    powers,
    precision,
    scaled_by,
    smaller,
    times,
    total,
    turn_sums,
)
from .contour import LOW_BITS, Bounds, Part, ReversedValues, bounds_from_sum, chernoff_factor, product, require
from .losses import SWAPPED, ComposedLoss
from .nodes import Nodes, Rule, side_of, side_tails

MAX_VOTES = 64


@dataclass(frozen=True)
class Mark:
    """p = 1/(1 + e^{-(t - place)/scale}): the probability of a vote; who has `votes` first."""

    place: Fraction
    scale: Fraction
    votes: int

    def share(self, t: Complex, sign: int) -> Complex:
        """(1-p)^m sum_{i<m} binom(m-1+i, i) p^i for sign = 1, p and 1 - p exchanged for -1."""
        odds = complex_exp(scaled_by((t[0] - self.place, t[1]), sign / self.scale))
        chance, rest = (inverse((1 + one[0], one[1])) for one in (inverse(odds), odds))
        found: Complex = (Ball(0), Ball(0))
        for i in reversed(range(self.votes)):
            found = plus(times(found, chance), (Ball(comb(self.votes - 1 + i, i)), Ball(0)))
        for _ in range(self.votes):
            found = times(found, rest)
        return found

    def growth(self, reach: Fraction) -> Ball:
        """cos(reach/(2 scale))^{1-2m}."""
        require(ball(reach) < pi() * self.scale)
        return 1 / power(cos_sin(ball(reach / (2 * self.scale)))[0], 2 * self.votes - 1)


class Share:
    """Of a law the integral with 1 - X (sign 1) or X (-1) by nodes."""

    def __init__(self, nodes: Nodes, mark: Mark, sign: int) -> None:
        nodes.inside()
        self.nodes, self.mark, self.sign = nodes, mark, sign
        rule, side = nodes.rule, side_of(nodes.law)
        self.growth = mark.growth(rule.height + rule.half_width)
        self.shares = [mark.share((ball(side * j * rule.step), ball(rule.height)), sign)
                       for j in range(rule.first, rule.last + 1)]
        end = side * rule.step * (rule.last if sign * side > 0 else rule.first)
        self.far = mark.share((ball(end), Ball(0)), sign)[0]

    def weights(self, x: Ball) -> list[Complex]:
        return [times(weight, share) for weight, share in zip(self.nodes.weights((x, Ball(0))), self.shares,
                                                              strict=True)]

    def errors(self, x: Ball, size: Ball) -> tuple[Ball, Ball]:
        """Of the sum at x + iw, w >= 0, by quadrature and by nodes outside (T149 (7)); size: |sum| at x."""
        low, high = side_tails(self.nodes.law, (x, Ball(0)), *self.nodes.window())
        tails = self.growth * (low + self.far * high if self.sign > 0 else self.far * low + high)
        kappa = self.growth * self.nodes.kappa(x)
        require(kappa < 1)
        return (kappa * (size + tails) / (1 - kappa)).upper(), tails.upper()

    def mass(self, x: Ball) -> Ball:
        weights = self.weights(x)
        real, imaginary = (total(weight[part] for weight in weights) for part in (0, 1))
        return real + plus_minus(total(self.errors(x, modulus((real, imaginary)).upper())))

    def beyond(self, x: Ball, frequency: Ball) -> Ball:
        """(8)."""
        weights = self.weights(x)
        size = modulus((total(w[0] for w in weights), total(w[1] for w in weights))).upper()
        sizes = total(exp(base[0] + x * v[0] - frequency * v[1]) * modulus(share) for (base, v), share in zip(
            self.nodes.points, self.shares, strict=True))
        return (sizes + total(self.errors(x, size))).upper()


@dataclass(frozen=True)
class Marked:
    """A line, with rules for each law's part with a mark, for it beyond the line, and for that without."""

    tilt: Fraction
    step: Fraction
    count: int
    nodes: tuple[Rule, ...]
    tail_nodes: tuple[Rule, ...]
    rest_nodes: tuple[Rule, ...]
    marks: tuple[Mark, ...]
    right: Fraction
    left: Fraction
    rest: Fraction
    prec: int

    def evaluate(self, loss: ComposedLoss) -> MarkedValues | ReversedValues:
        if self.tilt < -1:
            return ReversedValues(replace(self, tilt=-1 - self.tilt).evaluate(loss.in_order(SWAPPED[loss.order])))
        require(0 <= self.left < self.tilt < self.right and self.step > 0 and self.count >= 1)
        require(self.rest > 0 or self.rest < -1)
        require(loss.has_transform and not loss.direct_parts and not loss.only_moments)
        laws = len(loss.node_parts)
        require(laws >= 1 and all(len(one) == laws for one in (
            self.nodes, self.tail_nodes, self.rest_nodes, self.marks)))
        require(all(mark.scale > 0 and 1 <= mark.votes <= MAX_VOTES for mark in self.marks))
        return MarkedValues(self, loss)


class MarkedValues:
    """What does not depend on eps."""

    def __init__(self, witness: Marked, loss: ComposedLoss) -> None:
        self.witness, self.loss = witness, loss
        tilt, step = ball(witness.tilt), ball(witness.step)
        parts = self._shares(witness.nodes, True), self._shares(witness.rest_nodes, False)
        columns = [[self._column(share, tilt, step) for share in shares] for shares in parts]
        self.terms, self.quadrature, self.node_tail = list[Complex](), Ball(0), Ball(0)
        for m in range(witness.count + 1):
            self._add(columns, (tilt, step * m), m)
        with precision(LOW_BITS):
            parts = self._shares(witness.nodes, True), self._shares(witness.rest_nodes, False)
            self.right = self._moment(parts, witness.right)
            self.left = self._moment(parts, witness.left) if witness.left else Ball(1)
            self.beyond = self._bound_beyond(columns, (tilt, step * witness.count))
            self.moment = self._moment(parts[1:], witness.rest)
        self.known = Ball(0), Ball(0)
        if witness.rest < 0:
            rest = [self._shares(witness.rest_nodes, False)]
            self.known = self._mass(rest, Ball(0)), self._mass(rest, Ball(-1))

    def _shares(self, rules: Sequence[Rule], marked: bool) -> list[Share]:
        sign = 1 if (self.witness.rest > 0) != marked else -1
        return [Share(Nodes(law, rule), mark, sign) for (law, _), rule, mark in zip(
            self.loss.node_parts, rules, self.witness.marks, strict=True)]

    def _column(self, share: Share, tilt: Ball, step: Ball) -> tuple[list[Complex], Ball, Ball]:
        turns = [complex_exp((-v[1] * step, v[0] * step)) for v in share.nodes.losses]
        values = turn_sums(share.weights(tilt), turns, self.witness.count)
        with precision(LOW_BITS):
            return values, *share.errors(tilt, modulus(values[0]).upper())

    def _add(self, columns: Sequence[Sequence[tuple[list[Complex], Ball, Ball]]], z: Complex, m: int) -> None:
        whole, rest = [], []
        for high, low, (_, count) in zip(*columns, self.loss.node_parts, strict=True):
            whole.append(Part(plus(high[0][m], low[0][m]), high[1] + low[1], high[2] + low[2], count))
            rest.append(Part(low[0][m], low[1], low[2], count))
        found, others = (product(parts, self.loss.gaussian_exponent(z)) for parts in (whole, rest))
        kernel, sides = times(z, (z[0] + 1, z[1])), 2 if m else 1
        value = found[0][0] - others[0][0], found[0][1] - others[0][1]
        self.terms.append(scaled_by(times(value, inverse(kernel)), sides))
        size = modulus(kernel)
        self.quadrature = self.quadrature + sides * (found[1] + others[1]) / size
        self.node_tail = self.node_tail + sides * (found[2] + others[2]) / size

    def _mass(self, parts: Sequence[Sequence[Share]], x: Ball, upwards: bool = False) -> Ball:
        """The product of the sums of the laws' parts at x, or a bound of it."""
        size = self.loss.gaussian_exponent((x, Ball(0)))[0]
        for shares, (_, count) in zip(zip(*parts, strict=True), self.loss.node_parts, strict=True):
            found = total(share.mass(x) for share in shares)
            size = size + log(found.upper() if upwards else found) * count
        return exp(size)

    def _moment(self, parts: Sequence[Sequence[Share]], exponent: Fraction) -> Ball:
        factor = chernoff_factor(ball(exponent if exponent > 0 else -1 - exponent))
        return (factor * self._mass(parts, ball(exponent), upwards=True)).upper()

    def _bound_beyond(self, columns: Sequence[Sequence[tuple[list[Complex], Ball, Ball]]], last: Complex) -> Ball:
        """sum_i k_i h_i/m_i prod m_i^{k_i} at the last frequency (6)."""
        size, found = self.loss.gaussian_exponent(last)[0], Ball(0)
        for high, low, share, (_, count) in zip(*columns, self._shares(self.witness.tail_nodes, True),
                                                self.loss.node_parts, strict=True):
            mass = modulus(plus(high[0][0], low[0][0])).upper() + total([*high[1:], *low[1:]])
            size = size + log(mass) * count
            found = found + share.beyond(*last) * count / mass
        return (exp(size) * found).upper()

    def enclose(self, epsilon: Fraction) -> Bounds:
        """The line of the outcomes with a mark, as `line`; and the others."""
        witness = self.witness
        tilt, step, eps = ball(witness.tilt), ball(witness.step), ball(epsilon)
        phases = [(Ball(re, error, e), Ball(im, error, e)) for re, im, e, error in powers(
            cos_sin(-(step * eps)), witness.count + 1)]
        scale, period = exp(-(tilt * eps)), 2 * pi() / step
        prefactor = scale * step / (2 * pi())
        found = prefactor * total(times(term, phase)[0] for term, phase in zip(self.terms, phases, strict=True))
        errors = {"quadrature": (prefactor * self.quadrature).upper(),
                  "node_tail": (prefactor * self.node_tail).upper(),
                  "frequency_tail": (scale * self.beyond / (pi() * step * witness.count)).upper()}
        aliases = (self.right * exp(-(witness.right * eps)) / expm1((witness.right - tilt) * period)
                   + self.left * exp(-(witness.left * eps)) / expm1((tilt - witness.left) * period))
        line = bounds_from_sum(found, errors, {"aliasing": aliases.upper()})
        most = (self.moment * exp(-(witness.rest * eps))).upper()
        known = self.known[0] - exp(eps) * self.known[1]
        budget = {**line.budget, "unmarked": most, "rounding": line.budget["rounding"] + known.radius()}
        return Bounds((line.lower + larger(known.lower(), 0)).lower(),
                      smaller(line.upper + known.upper() + most, 1).upper(), budget)
