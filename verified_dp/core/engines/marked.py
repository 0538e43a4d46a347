"""The contour method where few large losses among very many steps decide: only outcomes with one are summed (T149).

Each outcome t of a step is marked with probability X(t), which rises from 0 to 1 about a place. With the transform M of
the loss, L its part without marks, and H = M - L,

    D(eps) = (1/2pi) int (prod M^k - prod L^k)(c+iw) e^{-(c+iw) eps} / ((c+iw)(c+1+iw)) dw + D_rest(eps):

outcomes without any mark are bounded by one moment, or known but for one. The integrand is at most k |H| M(c)^{k-1}
over w^2: no power of a modulus integral has to be small, and |H| soon is, as marked losses are spread out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb, factorial  # exact: integers
from typing import ClassVar

from flint import acb, arb, ctx

from verified_dp.core.engines.contour import LineValues, LineWitness
from verified_dp.core.engines.lines import EitherOrder, lines
from verified_dp.core.engines.nodes import (
    NodeRule,
    NodeSet,
    count_nodes,
    enclose_nodes,
    geometric,
    work_of_nodes,
)
from verified_dp.core.engines.powers import Column, enclose_products, turn_sums
from verified_dp.core.engines.shared import all_powers
from verified_dp.core.kernel.balls import BOUND_BITS, ball, disc, lower_end, plus_minus, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, paced, root_above, words

MAX_VOTES = 64
"""Of a mark: each costs a product per node."""
_TERMS = 8
"""Of Taylor's series for nodes whose losses hardly differ."""


@proved_by("T149-marked-losses")
def bound_share_error(nodes: NodeSet, exponent: arb, growth: arb, size: arb) -> arb:
    """Bound the quadrature error of a share of M(exponent), real, whose sum with its tails is at most `size`.

    growth: what the share's modulus gains at most on the lines beside that of the nodes. As T09, for the share alone.
    """
    if not nodes.is_inside:
        return arb.pos_inf()
    kappa = 2 * growth * nodes.law.enclose_strip_factor(exponent, *nodes.lengths[:2]) / geometric(nodes.rule)
    return upper_end(kappa * size / (1 - kappa)) if kappa < 1 else arb.pos_inf()


@dataclass(frozen=True)
class Mark:
    """Whether t is marked: who first has `votes` votes, each with probability p = 1 / (1 + e^{-(t - place)/scale}).

    t counts in the pair's own direction, in which losses grow. Where low losses are marked, 1 - p takes the place of p.
    """

    place: Fraction
    scale: Fraction
    votes: int

    @property
    def is_shaped(self) -> bool:
        """A transition of some width."""
        return self.scale > 0 and 1 <= self.votes <= MAX_VOTES

    @proved_by("T149-marked-losses")
    def bound_growth(self, reach: arb) -> arb:
        """Bound |X(t + ia)| / X(t), |a| <= reach, and that of 1 - X: cos(reach / (2 scale))^{1 - 2 votes}."""
        turn = reach / (2 * ball(self.scale))
        return upper_end(turn.cos() ** (1 - 2 * self.votes)) if 2 * turn < arb.pi() else arb.pos_inf()

    @proved_by("T149-marked-losses")
    def enclose_shares(self, points: Sequence[acb], sign: int) -> list[acb]:
        """Enclose 1 - X at each point for sign = 1, X for -1: (1-p)^m sum_{i<m} binom(m-1+i, i) p^i, m votes."""
        place, scale, ways = ball(self.place), ball(self.scale), [comb(self.votes - 1 + i, i)
                                                                 for i in reversed(range(self.votes))]
        found = []
        for t in points:
            odds, total = (sign * (t - place) / scale).exp(), acb(0)
            chance = 1 / (1 + 1 / odds)
            for number in ways:
                total = total * chance + number
            found.append(total / (1 + odds) ** self.votes)
        return found


@proved_by("T149-marked-losses")
def _shares(nodes: NodeSet, mark: Mark, sign: int) -> list[acb]:
    """`Mark.enclose_shares` at the nodes."""
    rule, side = nodes.rule, nodes.law.side
    height, step = ball(rule.height), ball(rule.step)
    return mark.enclose_shares([acb(side * j * step, height) for j in range(rule.first, rule.last + 1)], sign)


@dataclass(frozen=True)
class Share:
    """The part of a law's transform that has no mark (sign 1) or has one (-1): nodes with their shares of 1 - X, X.

    Where low losses are marked the signs are the other way round: sign 1 is the part of low losses.
    """

    nodes: NodeSet
    mark: Mark
    sign: int

    @cached_property
    def shares(self) -> list[acb]:
        """Of the nodes."""
        return _shares(self.nodes, self.mark, self.sign)

    def weights(self, z: acb) -> list[acb]:
        """Enclose W_j(z) times the share."""
        return [weight * share for weight, share in zip(self.nodes.weights(z), self.shares, strict=True)]

    @cached_property
    def growth(self) -> arb:
        """What the share's modulus gains at most on the lines beside that of the nodes."""
        return self.mark.bound_growth(ball(self.nodes.rule.height + self.nodes.rule.half_width))

    @proved_by("T149-marked-losses")
    def bound_errors(self, exponent: arb, total: arb) -> tuple[arb, arb]:
        """Bound the errors of the sum at exponent + iw, w >= 0, by quadrature and by tails; total: |sum| at w = 0.

        Beyond the far end, to which the share falls, it is at most its value there.
        """
        law, rule = self.nodes.law, self.nodes.rule
        end = rule.last if self.sign * law.side > 0 else rule.first
        far = self.mark.enclose_shares([acb(law.side * ball(rule.step * end))], self.sign)[0].real
        low, high, scale = law.bound_both_tails(acb(exponent), ball(rule.height), *self.nodes.lengths[3:])
        tails = upper_end(self.growth * scale * (low + far * high if self.sign > 0 else far * low + high))
        return bound_share_error(self.nodes, exponent, self.growth, total + tails), tails

    @proved_by("T149-marked-losses")
    def enclose_mass(self, exponent: arb) -> arb:
        """Enclose the part of M at a real exponent."""
        total = sum(self.weights(acb(exponent)), acb(0))
        quadrature, tails = self.bound_errors(exponent, upper_end(total.abs_upper()))
        return total.real + plus_minus(quadrature + tails)

    @proved_by("T149-marked-losses")
    def enclose_on_line(self, tilt: arb, step: arb, count: int, between: Callable[[], None]) -> Column:
        """Enclose the part of M at tilt + i m step, m <= count."""
        values = line_sums(self.weights(acb(tilt)), self.nodes.losses, step, count, between)
        with ctx.workprec(BOUND_BITS):
            return Column(values, *self.bound_errors(tilt, upper_end(values[0].abs_upper())), 1)

    @proved_by("T149-marked-losses")
    def bound_beyond(self, z: acb) -> arb:
        """Bound the part of |M(c + iw)| for every w >= Im z: the moduli at the nodes, and the errors for all w."""
        total = upper_end(sum(self.weights(acb(z.real)), acb(0)).abs_upper())
        sizes = ((base + z * loss).real.exp() * share.abs_upper() for base, loss, share in zip(
            self.nodes.bases, self.nodes.losses, self.shares, strict=True))
        return upper_end(sum(sizes, sum(self.bound_errors(z.real, total), arb(0))))


@proved_by("T149-marked-losses")
def line_sums(weights: Sequence[acb], losses: Sequence[acb], step: arb, count: int,
              between: Callable[[], None] = nothing) -> list[acb]:
    """Enclose sum_j weight_j e^{i m step v_j}, Im v_j >= 0, for m = 0..count.

    Nodes whose losses hardly differ from that of the first or the last hardly turn: there Taylor's series is taken.
    """
    if not losses:
        return [acb(0)] * (count + 1)
    near = losses[0] if losses[0].real < losses[-1].real else losses[-1]
    reach, least = step * count, arb(2) ** -ctx.prec
    with ctx.workprec(BOUND_BITS):
        turned = [upper_end(reach * (loss - near).abs_upper()) for loss in losses]
        rests = [weight.abs_upper() * x.exp() * x**_TERMS / factorial(_TERMS)
                 for weight, x in zip(weights, turned, strict=True)]
    still = [bool(rest < least) for rest in rests]
    moving = [j for j, stays in enumerate(still) if not stays]
    found = turn_sums([[weights[j] for j in moving]], [(losses[j] * acb(0, step)).exp() for j in moving], count,
                      between)[0] if moving else [acb(0)] * (count + 1)
    if len(moving) == len(weights):
        return found
    quiet = [(weight, loss - near) for weight, loss, stays in zip(weights, losses, still, strict=True) if stays]
    series = [sum((weight * loss**r for weight, loss in quiet), acb(0)) / factorial(r) for r in range(_TERMS)]
    room = disc(sum((rest for rest, stays in zip(rests, still, strict=True) if stays), arb(0)))
    turn, slow = (near * acb(0, step)).exp(), [acb(0)] * (count + 1)
    for m, factor in enumerate(all_powers([turn], count + 1)):
        total, at = acb(0), acb(0, m * step)
        for coefficient in reversed(series):
            total = total * at + coefficient
        slow[m] = factor[0] * total + room
    return [x + y for x, y in zip(found, slow, strict=True)]


@dataclass(frozen=True)
class MarkedWitness(EitherOrder):
    """tilt, step, count, right, prec: as of a line, with left >= 0; marks: one for each law, and of each rules.

    nodes: for its part with a mark; tail_nodes: for that beyond the last frequency; rest_nodes: for that without.
    rest: the exponent l of the moment without marks. l > 0: high losses are marked; l < -1: low ones.
    tilt < -1: the swapped pair at -1 - tilt, read at -eps (T16); marks and exponents are meant there.
    """

    tilt: Fraction
    step: Fraction
    count: int
    nodes: tuple[NodeRule, ...]
    tail_nodes: tuple[NodeRule, ...]
    rest_nodes: tuple[NodeRule, ...]
    marks: tuple[Mark, ...]
    right: Fraction
    left: Fraction
    rest: Fraction
    prec: int

    kind: ClassVar[str] = "marked"
    method: ClassVar[str] = "contour"

    @proved_by("T149-marked-losses")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions that are plain comparisons of exact numbers; every step has nodes or is Gaussian."""
        if self.tilt < -1:
            return self._twin.applies(loss.in_order(SWAPPED[loss.order]))
        laws = len(lines(loss).node_parts)
        stated = laws == len(loss.parts) == len(self.nodes) == len(self.tail_nodes) == len(self.rest_nodes)
        ordered = 0 <= self.left < self.tilt < self.right and self.step > 0 and self.count >= 1
        chosen = len(self.marks) == laws >= 1 and all(mark.is_shaped for mark in self.marks)
        return stated and ordered and chosen and (self.rest > 0 or self.rest < -1)

    def _parts(self, loss: ComposedLoss, rules: Sequence[NodeRule], marked: bool) -> list[Share]:
        """The part of each law with a mark, or that without."""
        sign = 1 if (self.rest > 0) != marked else -1
        return [Share(enclose_nodes(law, rule), mark, sign)
                for (law, _), rule, mark in zip(lines(loss).node_parts, rules, self.marks, strict=True)]

    @proved_by("T149-marked-losses")
    def _evaluate(self, loss: ComposedLoss, between: Callable[[], None]) -> MarkedValues:
        with ctx.workprec(self.prec):
            parts = [self._parts(loss, self.nodes, True), self._parts(loss, self.rest_nodes, False)]
            tilt, step = ball(self.tilt), ball(self.step)
            marked, rest = ([share.enclose_on_line(tilt, step, self.count, between) for share in shares]
                            for shares in parts)
            line = self._enclose_line(loss, parts, marked, rest, between)
            known = (_enclose_mass(loss, parts[1:], arb(0)), _enclose_mass(loss, parts[1:], arb(-1))) if (
                self.rest < 0) else (arb(0), arb(0))
        with ctx.workprec(BOUND_BITS):
            return MarkedValues(self, line, known, _bound_moment(loss, parts[1:], self.rest))

    @proved_by("T149-marked-losses", "T12-powers")
    def _enclose_line(self, loss: ComposedLoss, parts: Sequence[Sequence[Share]], marked: Sequence[Column],
                      rest: Sequence[Column], between: Callable[[], None]) -> LineValues:
        """What a line yields of the outcomes with a mark."""
        tilt, step, counts = ball(self.tilt), ball(self.step), [count for _, count in lines(loss).node_parts]
        points = [acb(tilt, m * step) for m in range(self.count + 1)]
        exponents = [loss.enclose_gaussian_exponent(z) for z in points]
        whole = [_joined([high, low], count) for high, low, count in zip(marked, rest, counts, strict=True)]
        others = [_joined([low], count) for low, count in zip(rest, counts, strict=True)]
        products = enclose_products(whole, exponents), enclose_products(others, exponents)
        factors = [side / (z * (z + 1)) for side, z in zip([1] + [2] * self.count, points, strict=True)]
        terms = [(value - less) * factor for value, less, factor in paced(zip(
            *(product.values for product in products), factors, strict=True), between)]
        with ctx.workprec(BOUND_BITS):
            errors = [product.bound_errors([factor.abs_upper() for factor in factors]) for product in products]
            quadrature, node_tail = (upper_end(sum(sizes, arb(0))) for sizes in zip(*errors, strict=True))
            right = _bound_moment(loss, parts, self.right)
            left = _bound_moment(loss, parts, self.left) if self.left else arb(1)
            beyond = self._bound_beyond(loss, whole)
        line = LineWitness(self.tilt, self.step, self.count, self.nodes, self.tail_nodes, self.right, self.left,
                           self.prec)
        return LineValues(line, terms, quadrature, node_tail, beyond, right, left, arb(0))

    @proved_by("T149-marked-losses")
    def _bound_beyond(self, loss: ComposedLoss, columns: Sequence[Column]) -> arb:
        """Bound |prod M^k - prod L^k| past the last frequency: sum_i k_i h_i / m_i prod m_i^{k_i}, m_i >= M_i(c)."""
        last = acb(ball(self.tilt), ball(self.step * self.count))
        size, parts = loss.enclose_gaussian_exponent(last).real, arb(0)
        for column, share in zip(columns, self._parts(loss, self.tail_nodes, True), strict=True):
            mass = upper_end(column.values[0].abs_upper() + column.quadrature + column.node_tail)
            size += column.count * mass.log()
            parts += column.count * share.bound_beyond(last) / mass
        return upper_end(size.exp() * parts)

    def work(self, loss: ComposedLoss) -> Work:
        """Of all nodes twice at all frequencies."""
        nodes, frequencies = count_nodes(self.nodes + self.rest_nodes), abs(self.count) + 1
        votes = sum(abs(mark.votes) for mark in self.marks)  # exact: integers
        made = sum(work_of_nodes(loss, rules) for rules in (self.nodes, self.tail_nodes, self.rest_nodes))
        products = nodes * frequencies + 2 * EXPONENTIAL * (made + frequencies * (len(self.nodes) + 1))
        shares = 4 * votes * made
        entries = 4 * nodes * root_above(frequencies) + 6 * frequencies
        return Work((products + shares) * words(self.prec), entries * entry_bytes(self.prec))


def _joined(parts: Sequence[Column], count: int) -> Column:
    """The sum of a law's parts, with the law's count."""
    values = [sum(row, acb(0)) for row in zip(*(part.values for part in parts), strict=True)]
    errors = [sum(sizes, arb(0)) for sizes in zip(*((part.quadrature, part.node_tail) for part in parts), strict=True)]
    return Column(values, errors[0], errors[1], count)


@proved_by("T149-marked-losses")
def _enclose_mass(loss: ComposedLoss, parts: Sequence[Sequence[Share]], exponent: arb) -> arb:
    """Enclose the product of the sums of the laws' parts at a real exponent, Gaussian steps included."""
    total = loss.enclose_gaussian_exponent(acb(exponent)).real
    for shares, (_, count) in zip(zip(*parts, strict=True), lines(loss).node_parts, strict=True):
        total += count * sum((share.enclose_mass(exponent) for share in shares), arb(0)).log()
    return total.exp()


@proved_by("T149-marked-losses", "T03-chernoff")
def _bound_moment(loss: ComposedLoss, parts: Sequence[Sequence[Share]], exponent: Fraction) -> arb:
    """Bound C(l) times that, or C(-1-l) times that for l < -1."""
    factor = bound_chernoff_factor(ball(exponent if exponent > 0 else -1 - exponent))
    return upper_end(factor * _enclose_mass(loss, parts, ball(exponent)))


@dataclass(frozen=True)
class MarkedValues:
    """The line of the outcomes with a mark; of the others a moment, and P and Q of them where low losses are marked."""

    witness: MarkedWitness
    line: LineValues
    known: tuple[arb, arb]
    rest_mass: arb

    @proved_by("T149-marked-losses")
    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose D(eps): that of the line, and known - e^eps known' <= D_rest <= that + C(l) L(l) e^{-l eps}."""
        found = self.line.delta(epsilon)
        with ctx.workprec(BOUND_BITS):
            most = upper_end(self.rest_mass * (-(ball(self.witness.rest) * ball(epsilon))).exp())
        with ctx.workprec(self.witness.prec):
            known = self.known[0] - ball(epsilon).exp() * self.known[1]
            lower = found.lower + lower_end(known).max(arb(0))
            upper = found.upper + upper_end(known) + most
            budget = {**found.budget, "unmarked": upper_end(most)}
            budget["rounding"] = upper_end(budget["rounding"] + known.rad())
            return Bounds(lower_end(lower), upper_end(upper).min(arb(1)), budget)
