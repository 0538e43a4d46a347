"""From a law to its discrete stand-in: nodes t_j = j h + i a with weights W_j and losses v_j, and one certified error.

    M(z) = sum_j W_j(z) + error,   W_j(z) = h phi_s(t_j) e^{u(t_j) + z v(t_j)}

for every z of a vertical half-line (T08) or, with the error measured on the neighbouring lines, for any z (T19).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb

from verified_dp.kernel.balls import ball, plus_minus, upper_end
from verified_dp.losses.sampled_gaussian import SampledGaussianLoss
from verified_dp.theorems import proved_by


@dataclass(frozen=True)
class NodeRule:
    """Witness: the line |Im t| = height, the half-width of the strip around it, the step, the first and last index."""

    height: Fraction
    half_width: Fraction
    step: Fraction
    first: int
    last: int

    def _is_shaped(self, law: SampledGaussianLoss) -> bool:
        """0 < h <= 2s, 0 < A and b, A + b < pi s^2, at least two nodes."""
        positive = 0 < self.half_width and 0 < self.height and 0 < self.step <= 2 * law.noise_multiplier
        return positive and self.first < self.last and bool(
            ball(self.height + self.half_width) < law.enclose_strip())

    def is_inside(self, law: SampledGaussianLoss) -> bool:
        """The side conditions of T08 and T19: the shape, and b <= A."""
        return self.half_width <= self.height and self._is_shaped(law)

    def is_central(self, law: SampledGaussianLoss) -> bool:
        """The side conditions of T11: the shape, and A and b at most pi s^2 / 2."""
        strip = law.enclose_strip()
        halves = [bool(2 * ball(part) <= strip) for part in (self.height, self.half_width)]
        return all(halves) and self._is_shaped(law)


@dataclass(frozen=True)
class NodeSet:
    """Enclosures of the nodes' (log of h phi_s + u, v) for a law, with the rule they come from."""

    law: SampledGaussianLoss
    rule: NodeRule
    bases: list[acb]
    losses: list[acb]

    def weights(self, z: acb) -> list[acb]:
        """Enclose W_j(z)."""
        return [(base + z * loss).exp() for base, loss in zip(self.bases, self.losses, strict=True)]

    def bound_tails(self, z: acb) -> arb:
        """Bound the sum of |W_j(z)| over the nodes outside the window (T10: decreasing terms against their integral)."""
        rule = self.rule
        return upper_end(self.law.bound_tails(
            z, ball(rule.height), ball(rule.step * rule.first), ball(rule.step * rule.last)))


def enclose_nodes(law: SampledGaussianLoss, rule: NodeRule) -> NodeSet:
    """Enclose the nodes of a rule at the current precision; an inadmissible rule gives infinite error bounds later."""
    imaginary, step, log_step = ball(law.side * rule.height), ball(rule.step), ball(rule.step).log()
    points = [acb(step * j, imaginary) for j in range(rule.first, rule.last + 1)]
    exponents = law.exponents(points)
    return NodeSet(law, rule, [base + log_step for base, _ in exponents], [loss for _, loss in exponents])


def _geometric(rule: NodeRule) -> arb:
    """Enclose e^{2 pi b/h} - 1."""
    return (2 * arb.pi() * ball(rule.half_width / rule.step)).expm1()


@proved_by("T08-shifted-line", "T09-total-mass")
def bound_line_error(nodes: NodeSet, tilt: arb) -> tuple[arb, arb]:
    """Bound |M(tilt+iw) - sum_j W_j| for every w >= 0 by (quadrature, node tails), both upper ends.

    quadrature = 2N / (e^{2 pi b/h} - 1); M(tilt) in N is bounded by (|sum W_j| + tails) / (1 - kappa).
    """
    if not nodes.rule.is_inside(nodes.law):
        return arb.pos_inf(), arb.pos_inf()
    height, half_width = ball(nodes.rule.height), ball(nodes.rule.half_width)
    kappa = 2 * nodes.law.enclose_strip_factor(tilt, height, half_width) / _geometric(nodes.rule)
    tails = nodes.bound_tails(acb(tilt))
    mass = upper_end(sum(nodes.weights(acb(tilt)), acb(0)).abs_upper()) + tails
    if not kappa < 1:
        return arb.pos_inf(), tails
    return upper_end(kappa * mass / (1 - kappa)), tails


@proved_by("T11-tail-for-free")
def bound_transform_beyond(nodes: NodeSet, tilt: arb, frequency: arb) -> arb:
    """Bound |M(tilt+iw)| for every w >= frequency >= 0 by int |integrand| along the nodes' line, which falls in w.

    The integral is at most sum_j |W_j| e^{-w Im v_j} + 2 N' / (e^{2 pi b/h} - 1) + tails,
    N' / M(tilt) = e^{(A^2+b^2)/(2s^2)}, times cos((A+b)/(2s^2))^{-tilt} in the add and symmetric orders.
    """
    rule, law = nodes.rule, nodes.law
    if not rule.is_central(law):
        return arb.pos_inf()
    height, half_width = ball(rule.height), ball(rule.half_width)
    kappa = 2 * law.enclose_modulus_factor(tilt, height, half_width) / _geometric(rule)
    at_rest = _absolute_sum(nodes, acb(tilt)) + nodes.bound_tails(acb(tilt))
    if not kappa < 1:
        return arb.pos_inf()
    quadrature = kappa * at_rest / (1 - kappa)
    return upper_end(_absolute_sum(nodes, acb(tilt, frequency)) + quadrature + nodes.bound_tails(acb(tilt)))


def _absolute_sum(nodes: NodeSet, z: acb) -> arb:
    """Bound sum_j |W_j(z)| = sum_j exp(Re(base_j) + x Re v_j - w Im v_j)."""
    x, w = z.real, z.imag
    return upper_end(sum(
        ((base.real + x * loss.real - w * loss.imag).exp()
         for base, loss in zip(nodes.bases, nodes.losses, strict=True)), arb(0)))


@proved_by("T19-line-integral")
def bound_line_integrals(law: SampledGaussianLoss, rule: NodeRule, height: Fraction, corners: Sequence[acb]) -> list[arb]:
    """Bound int |phi_s e^{u + zv}| along the line |Im t| = height for each z in corners.

    Cells of width h around the rule's nodes: on each, Re(exponent) <= its value at the node + (h/2) sup |Re(derivative)|,
    the derivative enclosed over the whole cell; beyond the cells T10 bounds the integral.
    """
    step, imaginary, half = ball(rule.step), ball(law.side * height), ball(rule.step / 2)
    nodes = range(rule.first, rule.last + 1)
    values = law.exponents([acb(step * j, imaginary) for j in nodes])
    slopes = law.slopes([acb(step * j + plus_minus(half), imaginary) for j in nodes])
    ends = ball(rule.step * rule.first), ball(rule.step * rule.last)

    def bound_cells(z: acb) -> arb:
        return sum(((base + z * loss).real + half * (base_slope + z * loss_slope).real.abs_upper()).exp()
                   for (base, loss), (base_slope, loss_slope) in zip(values, slopes, strict=True))

    return [upper_end(step * bound_cells(z) + law.bound_tails(z, ball(height), *ends)) for z in corners]


@proved_by("T19-line-integral")
def bound_node_errors(law: SampledGaussianLoss, rule: NodeRule, corners: Sequence[acb]) -> list[tuple[arb, arb]]:
    """Bound |M(z) - sum_j W_j(z)| for each z in corners by (quadrature, node tails), z anywhere in the plane."""
    if not rule.is_inside(law):
        return [(arb.pos_inf(), arb.pos_inf()) for _ in corners]
    upper = bound_line_integrals(law, rule, rule.height + rule.half_width, corners)
    lower = bound_line_integrals(law, rule, rule.height - rule.half_width, corners)
    geometric = _geometric(rule)
    ends = ball(rule.height), ball(rule.step * rule.first), ball(rule.step * rule.last)
    return [(upper_end((top + bottom) / geometric), upper_end(law.bound_tails(z, *ends)))
            for top, bottom, z in zip(upper, lower, corners, strict=True)]


@proved_by("T20-panel-enclosure")
def bound_transforms(nodes: NodeSet, errors: Sequence[tuple[arb, arb]], corners: Sequence[acb]) -> list[arb]:
    """Bound |M(z)| at each corner by sum_j |W_j(z)| + quadrature + tails (a log-convex function of (Re z, Im z))."""
    return [upper_end(_absolute_sum(nodes, z) + quadrature + tails)
            for z, (quadrature, tails) in zip(corners, errors, strict=True)]
