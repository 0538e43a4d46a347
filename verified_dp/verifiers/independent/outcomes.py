"""Laws of atoms on no grid, by sums of their transforms on a line; cells bound what is not summed (T188, T189, T192).

With z_m = c + im eta and M the product of the sums over all listed outcomes, their D(eps) is

    (eta/2pi) sum over |m| <= m0 of M(z_m) e^{-z_m eps}/(z_m(z_m+1))  +- (other frequencies)  -  aliases (>= 0).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .atoms import AtomicLaw
from .balls import (
    Ball,
    Complex,
    Unknown,
    ball,
    complex_power,
    cos_sin,
    exp,
    expm1,
    inverse,
    larger,
    log,
    pi,
    precision,
    scaled_by,
    smaller,
    sqrt,
    times,
    total,
    turn_sums,
)
from .contour import LOW_BITS, Bounds, bounds_from_sum, chernoff_factor, require
from .laws import SampledLoss
from .losses import ComposedLoss, composed_infinity
from .shifts import DiscreteGaussianLoss, distribution


@dataclass(frozen=True)
class Outcomes:
    """tilt c, step eta, count m0, alias exponents as of a line; reaches: of the integers that are listed, one per law;
    cover: blocks (cells, stride) of frequencies from m0 on."""

    prec: int
    left: Fraction
    tilt: Fraction
    right: Fraction
    step: Fraction
    count: int
    cover: tuple[tuple[int, int], ...]
    reaches: tuple[int, ...]

    def evaluate(self, loss: ComposedLoss) -> OutcomesValues:
        require(self.step > 0 and self.count >= 1 and self.right > self.tilt > self.left >= 0)
        require(min((min(block) for block in self.cover), default=1) > 0)
        require(not loss.mean_shift_squared and len(self.reaches) == len(loss.parts) > 0)
        return OutcomesValues(self, loss)


class Steps:
    """One law's listed outcomes: (loss, mass); rest: of all others, under P and under Q."""

    def __init__(self, law: Any, count: int, reach: int) -> None:
        self.count, self.infinity, self.rest = count, law.infinity(), Ball(0)
        if isinstance(law, AtomicLaw):
            self.pairs = [(loss, p) for (p, _), loss in zip(law.finite_atoms(), law.losses(), strict=True)]
            return
        noise = law.base if isinstance(law, SampledLoss) else law
        if not isinstance(noise, DiscreteGaussianLoss) or reach <= noise.sensitivity:
            raise Unknown("a law whose outcomes are not listed")
        variance, shift = noise.sigma_squared, noise.sensitivity
        self.rest = (2 * distribution(variance, shift - reach - 1)).upper()
        scale = log(distribution(variance, 0) - distribution(variance, -1))
        self.pairs = []
        for x in range(-reach, reach + 1):
            with_it, without = (exp(scale - Fraction((x - centre) ** 2) / (2 * variance)) for centre in (0, shift))
            loss = ball(Fraction(shift * (shift - 2 * x)) / (2 * variance))
            if law is not noise:
                q = law.probability
                mixed = log(1 + expm1(loss) * q)
                loss, with_it = (mixed, without * exp(mixed)) if law.order == "remove" else (-mixed, without)
            self.pairs.append((loss, with_it))

    def tilted(self, c: Fraction) -> list[Ball]:
        return [mass * exp(loss * c) for loss, mass in self.pairs]

    def line(self, weights: Iterable[Ball], start: Ball, step: Ball, count: int) -> list[Complex]:
        """sum of weight e^{i loss (start + m step)}, m = 0..count."""
        first = [scaled_by(cos_sin(loss * start), w) for (loss, _), w in zip(self.pairs, weights, strict=True)]
        turns = [cos_sin(loss * step) for loss, _ in self.pairs]
        return turn_sums(first, turns, count) if turns else [(Ball(0), Ball(0))] * (count + 1)

    def log_cells(self, weights: list[Ball], middle: Ball, width: Ball, reach: Ball, cells: int) -> list[Ball]:
        """count times log of a bound of |M| as far as reach from the middle of each cell, by the angle of T189."""
        whole = total(weights)
        mean = (total(w * loss for (loss, _), w in zip(self.pairs, weights, strict=True)) / whole).upper()
        away = [loss - mean for loss, _ in self.pairs]
        turn = sqrt((total(w * x * x for x, w in zip(away, weights, strict=True)) / whole).upper()) * reach
        (cosine, sine), found = cos_sin(turn), []
        for re, im in self.line(weights, middle, width, cells - 1):
            share, most = (sqrt(re * re + im * im) / whole).upper(), whole
            if 2 * turn < pi() and share <= cosine:
                most = whole * (share * cosine + sqrt(1 - share * share) * sine)
            found.append(log(most.upper()) * self.count)
        return found


class OutcomesValues:
    """M/(z(z+1)) at the frequencies that are summed, and bounds of all that is not."""

    def __init__(self, witness: Outcomes, loss: ComposedLoss) -> None:
        self.witness, c, step = witness, ball(witness.tilt), ball(witness.step)
        steps = [Steps(law, k, reach) for (law, k), reach in zip(loss.parts, witness.reaches, strict=True)]
        weights = [one.tilted(witness.tilt) for one in steps]
        columns = [one.line(row, Ball(0), step, witness.count) for one, row in zip(steps, weights, strict=True)]
        self.terms: list[Complex] = []
        inside = Ball(0)
        for m, row in enumerate(zip(*columns, strict=True)):
            w = step * m
            found, size = inverse(times((c, w), (c + 1, w))), Ball(2 if m else 1)
            for value, one in zip(row, steps, strict=True):
                found = times(found, complex_power(value, one.count))
                size = size * exp(log(sqrt(value[0] * value[0] + value[1] * value[1]).upper()) * one.count)
            self.terms.append(found)
            inside = (inside + size).upper()
        self.infinity = composed_infinity([(one.infinity, one.count) for one in steps]).lower()
        self.most = composed_infinity([(smaller(one.infinity + one.rest, 1), one.count) for one in steps]).upper()
        with precision(LOW_BITS + 2 * sum(one.count for one in steps).bit_length()):
            self.masses = {}
            for exponent in (witness.right, witness.left):
                size = exp(total(log(total(one.tilted(exponent))) * one.count for one in steps))
                self.masses[exponent] = size * chernoff_factor(ball(exponent)) if exponent else size
            self.beyond = self._beyond(steps, weights, inside)

    def _beyond(self, steps: list[Steps], weights: list[list[Ball]], inside: Ball) -> Ball:
        """(eta/2pi) times the sum of |M|/|z|^2 over all m0 < |m| <= m', and what T192 or T188 says of the others.

        inside: the sum of |M| over |m| <= m0.
        """
        step, c, m, found = ball(self.witness.step), ball(self.witness.tilt), self.witness.count, Ball(0)
        for cells, stride in self.witness.cover:
            blocks = [one.log_cells(row, step * Fraction(2 * m + stride + 1, 2), step * stride,
                                    step * Fraction(stride - 1, 2), cells)
                      for one, row in zip(steps, weights, strict=True)]
            for sizes in zip(*blocks, strict=True):
                size = (exp(total(sizes)) * stride).upper()
                found, inside = (found + size / (m * m)).upper(), (inside + 2 * size).upper()
                m += stride
        height = exp(total(log(total(row)) * one.count for one, row in zip(steps, weights, strict=True)))
        spacing = 2 * pi() / (step * (m + 1))
        square = spacing * spacing
        band = inside * step * step / 2 * larger(exp(c * (c + 1) * square / 24) / 2, 1) * square / 12
        return ((found + smaller(height / m, band)) / (pi() * step)).upper()

    def enclose(self, epsilon: Fraction) -> Bounds:
        """All that is not listed is finite with delta 0 for the lower end, infinite for the upper one."""
        witness, found = self.witness, Ball(0)
        place, period = ball(epsilon), 2 * pi() / ball(witness.step)
        for m, term in enumerate(self.terms):
            turned = times(term, cos_sin(-(place * witness.step * m)))[0]
            found = found + (2 * turned if m else turned)
        fall, (right, left) = exp(-(place * witness.tilt)), (witness.right, witness.left)
        aliases = (self.masses[right] * exp(-(place * right)) / expm1(period * (right - witness.tilt))
                   + self.masses[left] * exp(-(place * left)) / expm1(period * (witness.tilt - left)))
        d = bounds_from_sum(found * fall / period, {"frequency_tail": (fall * self.beyond).upper()},
                            {"aliasing": aliases.upper()})
        upper, lower = smaller(d.upper + self.most, 1), larger(d.lower + self.infinity, 0)
        return Bounds(lower.lower(), upper.upper(), {**d.budget, "truncation": (self.most - self.infinity).upper()})
