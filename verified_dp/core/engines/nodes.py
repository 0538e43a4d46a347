"""From a law to its discrete stand-in: nodes t_j = j h + i a with weights W_j and losses v_j, and one certified error.

    M(z) = sum_j W_j(z) + error,   W_j(z) = h phi_s(t_j) e^{u(t_j) + z v(t_j)}

for every z of a vertical half-line (T08).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from flint import acb, acb_mat, arb, arb_mat

from verified_dp.core.engines.direct import direct_parts
from verified_dp.core.engines.lines import has_nodes, lines
from verified_dp.core.engines.mixture_lines import MixtureLines, Place
from verified_dp.core.engines.rules import is_on_lines
from verified_dp.core.kernel.balls import ball, upper_end
from verified_dp.core.kernel.bounds import bound_chernoff_factor
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import nothing, paced

if TYPE_CHECKING:
    from verified_dp.core.engines.revealed import RevealedNodes


@dataclass(frozen=True)
class NodeRule:
    """Witness: the line |Im t| = height, the half-width of the strip around it, the step, the first and last index.

    cells: Gauss points of each panel, where the rule is that of a half-line (T167); else without meaning.
    """

    height: Fraction
    half_width: Fraction
    step: Fraction
    first: int
    last: int
    cells: int = 0

    @proved_by("T08-shifted-line")
    def _is_shaped(self, law: MixtureLines) -> bool:
        """0 < A, 0 < h <= 2s, a window, 0 < b, A + b < pi s^2/d."""
        positive = self.height > 0 and self.half_width > 0 and self.step > 0 and self.cells >= 0
        return positive and self.first < self.last and self.step**2 <= law.largest_square and bool(
            ball(self.height + self.half_width) < law.enclose_strip())

    @proved_by("T08-shifted-line")
    def is_inside(self, law: MixtureLines) -> bool:
        """The side conditions of T08: the shape, and b <= A."""
        return self.half_width <= self.height and self._is_shaped(law)

    @proved_by("T11-tail-for-free")
    def is_central(self, law: MixtureLines) -> bool:
        """The side conditions of T11: the shape, and A and b at most half of pi s^2/d."""
        strip = law.enclose_strip()
        halves = [bool(2 * ball(part) <= strip) for part in (self.height, self.half_width)]
        return all(halves) and self._is_shaped(law)


class Lengths(NamedTuple):
    """A rule in balls: its height, half-width and step, the first and the last place."""

    height: arb
    half_width: arb
    step: arb
    left: arb
    right: arb


@dataclass(frozen=True)
class NodeSet:
    """Enclosures of the nodes' (log of h phi_s + u, v) for a law, with the rule they come from.

    leader: the nodes of the law whose rule and loss it shares, and place: where its own then lie (T156); else None.
    """

    law: MixtureLines
    rule: NodeRule
    bases: list[acb]
    losses: list[acb]
    leader: NodeSet | None = None
    place: Place | None = None

    @proved_by("T08-shifted-line")
    def weights(self, z: acb) -> list[acb]:
        """Enclose W_j(z)."""
        return [(base + z * loss).exp() for base, loss in zip(self.bases, self.losses, strict=True)]

    @cached_property
    def is_inside(self) -> bool:
        """The side conditions of T08: those of the rule, and h <= 2s in the law's own scale."""
        return self.rule.is_inside(self.law) if self.leader is None else self.leader.is_inside and self._is_fine

    @cached_property
    def is_central(self) -> bool:
        """The side conditions of T11 alike."""
        return self.rule.is_central(self.law) if self.leader is None else self.leader.is_central and self._is_fine

    @property
    def _is_fine(self) -> bool:
        return bool(self.lengths.step <= 2 * ball(self.law.sigma))

    @cached_property
    @proved_by("T156-one-loss")
    def lengths(self) -> Lengths:
        """Enclose the rule in the law's own scale."""
        rule = self.rule
        if self.leader is None or self.place is None:
            return Lengths(*map(ball, (rule.height, rule.half_width, rule.step, rule.step * rule.first,
                                       rule.step * rule.last)))
        own, offset = [self.place.scale * length for length in self.leader.lengths], self.place.offset
        return Lengths(own[0], own[1], own[2], own[3] + offset, own[4] + offset)

    @proved_by("T10-node-tails", "T156-one-loss")
    def bound_tails(self, z: acb) -> arb:
        """Bound the sum of |W_j(z)| over the nodes outside the window (T10)."""
        own = self.lengths
        return upper_end(self.law.bound_tails(z, own.height, own.left, own.right))

    def line_error(self, tilt: arb, total: arb | None = None) -> tuple[arb, arb]:
        """`bound_line_error`."""
        return bound_line_error(self, tilt, total)

    def beyond(self, tilt: arb, frequency: arb) -> arb:
        """`bound_transform_beyond`."""
        return bound_transform_beyond(self, tilt, frequency)

    @property
    def shift(self) -> arb:
        """By how much its losses exceed those of the leader."""
        return arb(0) if self.place is None else self.place.shift


AnyNodes: TypeAlias = "NodeSet | RevealedNodes"
"""Of one law, or of several of which one holds."""


@proved_by("T08-shifted-line")
def enclose_nodes(law: MixtureLines, rule: NodeRule) -> NodeSet:
    """Enclose the nodes of a rule at the current precision; an inadmissible rule gives infinite error bounds later."""
    log_step, exponents = ball(rule.step).log(), law.exponents(_points(law, rule), ball(rule.step))
    bases, losses = [base + log_step for base, _ in exponents], [loss for _, loss in exponents]
    return NodeSet(law, rule, bases, losses)


def _points(law: MixtureLines, rule: NodeRule) -> list[acb]:
    imaginary, step = ball(law.side * rule.height), ball(rule.step)
    return [acb(step * j, imaginary) for j in range(rule.first, rule.last + 1)]


@proved_by("T156-one-loss")
def enclose_family(laws: Sequence[MixtureLines], rule: NodeRule) -> list[NodeSet]:
    """Enclose the nodes of laws that share one loss, at those of the first: their losses differ by constants.

    log (h phi_s)(a t + b) = -(a^2 t^2 + 2ab t + b^2)/(2s^2) + log(a h/(s sqrt(2 pi))): one matrix product.
    """
    leader, *others = laws
    first = enclose_nodes(leader, rule)
    if not others:
        return [first]
    points = _points(leader, rule)
    places, log_norm = [law.place(leader) for law in others], (ball(rule.step) / (2 * arb.pi()).sqrt()).log()
    twice = [2 * ball(law.sigma) ** 2 for law in others]
    rows = [[-a * a / v, -2 * a * b / v, log_norm + (a * (2 / v).sqrt()).log() - b * b / v + law.loss_share * shift,
             arb(law.loss_share)] for law, (a, b, shift), v in zip(others, places, twice, strict=True)]
    columns = [[t * t for t in points], points, [acb(1)] * len(points), first.losses]
    bases = (acb_mat([[acb(x) for x in row] for row in rows]) * acb_mat(columns)).tolist()
    return [first] + [NodeSet(law, rule, base, [loss + place.shift for loss in first.losses], first, place)
                      for law, base, place in zip(others, bases, places, strict=True)]


def enclose_families(loss: ComposedLoss, rules: Sequence[NodeRule], between: Callable[[], None] = nothing,
                     frequency: Fraction = Fraction(0)) -> list[list[tuple[AnyNodes, int]]]:
    """The nodes of every law with its count, family by family: of each law alone, or of those that share a loss.

    rules: one for each law or one for each family; then those of the laws that are one of several.
    frequency: the largest one that is looked at on a line.
    """
    families, rest = lines(loss).ruled(len(rules)), iter(rules[len(rules) - lines(loss).revealed_rules:])
    found: list[list[tuple[AnyNodes, int]]] = [
        list(zip(enclose_family([law for law, _ in family], rule), (count for _, count in family), strict=True))
        for family, rule in paced(zip(families, rules, strict=False), between)]
    for law, count in paced(lines(loss).revealed_parts, between):
        found.append([(law.enclose_revealed(list(islice(rest, len(law.alternatives))), ball(frequency)), count)])
    return found


@proved_by("T08-shifted-line")
def geometric(rule: NodeRule) -> arb:
    """Enclose e^{2 pi b/h} - 1."""
    return (2 * arb.pi() * ball(rule.half_width / rule.step)).expm1()


@proved_by("T08-shifted-line", "T09-total-mass")
def bound_line_error(nodes: NodeSet, tilt: arb, total: arb | None = None) -> tuple[arb, arb]:
    """Bound |M(tilt+iw) - sum_j W_j| for every w >= 0 by (quadrature, node tails), both upper ends.

    quadrature = 2N / (e^{2 pi b/h} - 1); M(tilt) in N is bounded by (|sum W_j| + tails) / (1 - kappa).
    total: |sum W_j| at the tilt from above, where it is known.
    """
    if not nodes.is_inside:
        return arb.pos_inf(), arb.pos_inf()
    height, half_width = nodes.lengths[:2]
    kappa = 2 * nodes.law.enclose_strip_factor(tilt, height, half_width) / geometric(nodes.rule)
    tails = nodes.bound_tails(acb(tilt))
    mass = (bound_total(nodes, tilt) if total is None else total) + tails
    if not kappa < 1:
        return arb.pos_inf(), tails
    return upper_end(kappa * mass / (1 - kappa)), tails


@proved_by("T09-total-mass")
def bound_total(nodes: AnyNodes, exponent: arb) -> arb:
    """Bound |sum_j W_j(exponent)|."""
    return upper_end(sum(nodes.weights(acb(exponent)), acb(0)).abs_upper())


@proved_by("T03-chernoff", "T09-total-mass", "T157-known-aliases")
def bound_mass(loss: ComposedLoss, node_sets: Sequence[tuple[AnyNodes, int]], exponent: Fraction,
               between: Callable[[], None] = nothing) -> arb:
    """Bound C(l) M(l), so that D(eps) <= C(l) M(l) e^{-l eps}, for l = exponent > 0; node_sets: with counts.

    For l < -1 and laws with nodes alone C(-1-l) M(l), which bounds D(eps) - 1 + e^eps alike.
    """
    point = ball(exponent)
    log_mass = loss.enclose_gaussian_exponent(acb(point)).real
    for law, count in paced(direct_parts(loss), between):
        moment = law.bound_moment(point) if is_on_lines(law) else law.enclose_moment(point)
        log_mass += count * moment.log()
    for nodes, count in paced(node_sets, between):
        value = bound_total(nodes, point)
        quadrature, node_tail = nodes.line_error(point, value)
        log_mass += count * (value + quadrature + node_tail).log()
    return upper_end(log_mass.exp() * bound_chernoff_factor(point if exponent > 0 else -1 - point))


@proved_by("T11-tail-for-free")
def bound_transform_beyond(nodes: NodeSet, tilt: arb, frequency: arb) -> arb:
    """Bound |M(tilt+iw)| for every w >= frequency >= 0 by int |integrand| along the nodes' line, which falls in w.

    The integral is at most sum_j |W_j| e^{-w Im v_j} + 2 N' / (e^{2 pi b/h} - 1) + tails,
    N' / M(tilt) = e^{(A^2+b^2)/(2s^2)} cos(d_Q (A+b)/(2s^2))^{-tilt}.
    """
    if not nodes.is_central:
        return arb.pos_inf()
    height, half_width = nodes.lengths[:2]
    kappa = 2 * nodes.law.enclose_modulus_factor(tilt, height, half_width) / geometric(nodes.rule)
    tails = nodes.bound_tails(acb(tilt))
    at_rest, beyond = bound_moduli(nodes, [acb(tilt), acb(tilt, frequency)])
    at_rest += tails
    if not kappa < 1:
        return arb.pos_inf()
    quadrature = kappa * at_rest / (1 - kappa)
    return upper_end(beyond + quadrature + tails)


@proved_by("T08-shifted-line", "T187-rays")
def bound_moduli(nodes: NodeSet, points: Sequence[acb]) -> list[arb]:
    """Bound sum_j |W_j(z)| = sum_j exp(Re(base_j) + x Re v_j - w Im v_j) at each point z = x + iw."""
    rows = [[base.real for base in nodes.bases], [loss.real for loss in nodes.losses],
            [loss.imag for loss in nodes.losses]]
    exponents = arb_mat([[1, z.real, -z.imag] for z in points]) * arb_mat(rows)
    return [upper_end(sum([exponent.exp() for exponent in row], arb(0))) for row in exponents.tolist()]


def count_nodes(rules: Iterable[NodeRule]) -> int:
    """Nodes, and cells where there are more of these: what the rules cost."""
    return sum(max(abs(rule.last - rule.first) + 1, abs(rule.cells)) for rule in rules)  # exact: integers


def work_of_nodes(loss: ComposedLoss, rules: Sequence[NodeRule]) -> int:
    """Exponentials that the nodes take: those of a sampled Gaussian, and one for every further component."""
    shares = [sum(max(1, law.components - 3) for law, _ in family)  # exact: integers
              for family in lines(loss).ruled(len(rules))] + _revealed_sizes(loss, rules)
    return sum(count_nodes([rule]) * share for rule, share in zip(rules, shares, strict=False))


def _revealed_sizes(loss: ComposedLoss, rules: Sequence[NodeRule]) -> list[int]:
    """By how much the nodes of laws that are one of several exceed what `count_nodes` says: panels have many points.

    1 for rules that no law asks for.
    """
    laws = [one for law, _ in lines(loss).revealed_parts for one in law.alternatives]
    sizes = [1 if has_nodes(one) else 2 * abs(rule.cells) + 1
             for one, rule in zip(laws, rules[len(rules) - len(laws):], strict=False)]
    return sizes + [1] * len(rules)


def count_all_nodes(loss: ComposedLoss, rules: Sequence[NodeRule]) -> int:
    """Nodes of all laws."""
    sizes = [len(family) for family in lines(loss).ruled(len(rules))] + _revealed_sizes(loss, rules)
    return sum(count_nodes([rule]) * size for rule, size in zip(rules, sizes, strict=False))  # exact: integers
