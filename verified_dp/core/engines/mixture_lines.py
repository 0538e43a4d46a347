"""Mixtures of Gaussians of one noise: the line integrals that the contour takes of them (T08 to T11).

P = sum_i p_i N(a_i, s^2) and Q = sum_j r_j N(b_j, s^2), every a_i >= b_j; t counts from the largest b_j. With

    F_P(t) = sum_i p_i e^{(a_i t - a_i^2/2)/s^2} = dP/dN(0, s^2),   F_Q alike,   u = log F_P,   v = u - log F_Q

the transform of the loss v is M(z) = int phi_s(t) e^{u(t) + z v(t)} dt. With d the larger of the spreads a_max - a_min
and b_max - b_min, u and v are analytic for |Im t| < pi s^2 / d, and 0 <= Im v <= (a_max - b_min) A / s^2 on the line
Im t = A > 0, so that |e^{iwv}| <= 1 for every frequency w >= 0. In the add order t is mirrored, t -> -t: there the
line is Im t = -A, as with the pair that was swapped.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, NamedTuple

from flint import acb, arb, ctx

from verified_dp.core.engines.shared import powers
from verified_dp.core.kernel.balls import ball, normal_tail
from verified_dp.core.kernel.composition import Mixture
from verified_dp.core.kernel.exact import SquareRoot, square
from verified_dp.core.kernel.theorems import proved_by


class Place(NamedTuple):
    """Of another law's nodes: scale * t + offset for its t, where this law's loss is its loss + shift (T156)."""

    scale: arb
    offset: arb
    shift: arb


def mirrored(mixture: Mixture) -> Mixture:
    """The mixture of the noise's negative; sorted by mean again."""
    return tuple((-mean, weight) for mean, weight in reversed(mixture))


class MeanRatio:
    """F(t) = sum_i w_i e^{(m_i t - m_i^2/2)/s^2}, the means m_i all >= 0 or all <= 0, from the one nearest to 0 on.

    terms: (w_i e^{-m_i^2/(2s^2)}, (m_i - m_0)/s^2).
    """

    def __init__(self, means: list[Fraction], weights: list[arb], noise: arb) -> None:
        self.means, self.weights, self.sigma, self.variance = means, weights, noise, noise * noise
        self.places, self.twice, self.is_one = [ball(mean) for mean in means], 2 * self.variance, not any(means)
        self.squares, self.half_turn = [place * place for place in self.places], abs(
            self.places[-1] - self.places[0]) / self.twice
        factors = [weight * (-square / self.twice).exp() if mean else weight
                   for mean, weight, square in zip(means, weights, self.squares, strict=True)]
        slopes = [(place - self.places[0]) / self.variance for place in self.places]
        self.slope, self.terms = self.places[0] / self.variance, list(zip(factors, slopes, strict=True))

    @proved_by("T08-shifted-line")
    def logs(self, points: list[acb], step: arb | None = None) -> list[acb]:
        """Enclose log F(t), real for real t: what is left of F without e^{m_0 t/s^2} lies in a half-plane (T08).

        step: from each point to the next, where it is the same for all.
        """
        totals = [acb(self.terms[0][0])] * len(points)
        for term in self.terms[1:]:
            totals = [total + part for total, part in zip(totals, _term(*term, points, step), strict=True)]
        if not self.means[0]:
            return [total.log() for total in totals]
        return [total.log() + t * self.slope for total, t in zip(totals, points, strict=True)]

    @proved_by("T08-shifted-line")
    def cosine(self, height: arb) -> arb:
        """cos(d A / (2s^2)), d the spread: on a line |F| is at least this share of the sum of its terms' moduli."""
        return (height * self.half_turn).cos()

    @proved_by("T10-node-tails")
    def bound_power(self, exponent: arb, cosine: arb, end: arb, outwards: bool) -> tuple[arb, int]:
        """K and i with |F(t)|^exponent <= K e^{exponent (m_i x - m_i^2/2)/s^2} for all x = Re t beyond `end`.

        outwards: beyond it towards the side on which the means lie. cosine: cos(spread A / (2s^2)) of the line.
        """
        sizes = [((2 * end * place - square) / self.twice).exp() if mean else arb(1)
                 for mean, place, square in zip(self.means, self.places, self.squares, strict=True)]
        terms = [weight * size for weight, size in zip(self.weights, sizes, strict=True)]
        lead = len(terms) - 1 if outwards else 0
        rest = sum(terms[:-1] if outwards else terms[1:], arb(0))
        if exponent >= 0:
            return (self.weights[lead] * (1 + rest / terms[lead])) ** exponent, lead
        least = (cosine * (rest + terms[lead] if outwards else terms[0])).max(terms[lead] - rest)
        return (least / sizes[0]) ** exponent if exponent < 0 else arb.pos_inf(), 0


@proved_by("T08-shifted-line")
def _term(factor: arb, slope: arb, points: list[acb], step: arb | None) -> list[acb]:
    """Enclose factor e^{slope t} at each point t; by powers of e^{slope step} where they are equally spaced."""
    if step is None or not points:
        return [(t * slope).exp() * factor for t in points]
    start, ratio = factor * (points[0] * slope).exp(), acb((step * slope).exp())
    return [start * power for power in powers(ratio, len(points))]


class MixtureLines:
    """A law whose P and Q are mixtures of one Gaussian noise, no mean of P left of a mean of Q."""

    nodes: ClassVar[bool] = True

    above: Mixture
    below: Mixture
    sigma: Fraction | SquareRoot
    order: str

    loss_share: ClassVar[int] = 0
    """u = loss_share * v where losses are shared."""

    @property
    def side(self) -> int:
        """Which side of the real axis the integration line lies on so that Im v >= 0."""
        return -1 if self.order == "add" else 1

    @cached_property
    def _means(self) -> tuple[list[Fraction], list[Fraction]]:
        """Of P and of Q, counted from the largest of Q, those nearest to it first."""
        origin = self.below[-1][0]
        return [mean - origin for mean, _ in self.above], [mean - origin for mean, _ in reversed(self.below)]

    def _weights(self, mixture: Mixture) -> list[arb]:
        """Enclose the weights of a mixture."""
        return [ball(weight) for _, weight in mixture]

    @cached_property
    def _kept_ratios(self) -> dict[int, tuple[MeanRatio, MeanRatio]]:
        """By precision: what `_ratios` made."""
        return {}

    def _ratios(self) -> tuple[MeanRatio, MeanRatio]:
        """F_P and F_Q at the current precision."""
        if ctx.prec not in self._kept_ratios:
            noise, (above, below) = ball(self.sigma), self._means
            self._kept_ratios[ctx.prec] = (MeanRatio(above, self._weights(self.above), noise),
                                           MeanRatio(below, self._weights(self.below)[::-1], noise))
        return self._kept_ratios[ctx.prec]

    @property
    def components(self) -> int:
        """How many there are, of P and Q together."""
        return len(self.above) + len(self.below)

    @cached_property
    def _spread(self) -> Fraction:
        """d, the larger spread; where each has one mean only, their distance (any number > 0 will do)."""
        above, below = self._means
        return max(above[-1] - above[0], below[0] - below[-1]) or above[-1] - below[-1]  # exact: fractions

    def shares_loss(self, other: MixtureLines) -> bool:
        """Whether one function of a place is the loss of both, up to constants, and one grid suits both."""
        return False

    def place(self, leader: MixtureLines) -> Place:
        """Enclose where the nodes of a law lie whose loss this one shares."""
        raise NotImplementedError

    @cached_property
    def largest_square(self) -> Fraction:
        """4 s^2, of the longest step of nodes."""
        return 4 * square(self.sigma)

    @proved_by("T08-shifted-line")
    def enclose_strip(self) -> arb:
        """Enclose the half-width pi s^2 / d of the strip in which u and v are analytic."""
        return arb.pi() * self._ratios()[0].variance / ball(self._spread)

    @proved_by("T08-shifted-line")
    def exponents(self, points: Iterable[acb], step: arb | None = None) -> list[tuple[acb, acb]]:
        """Enclose (log phi_s(t) + u(t), v(t)) at each point t; step: from each to the next, where it is the same."""
        (above, below), placed = self._ratios(), list(points)
        bend, log_norm = -1 / above.twice, -(above.sigma * (2 * arb.pi()).sqrt()).log()
        gauss = [t * t * bend + log_norm for t in placed]
        turned = placed if self.side > 0 else [-t for t in placed]
        pace = step if step is None else self.side * step
        if above.is_one:
            return [(base, -down) for base, down in zip(gauss, below.logs(turned, pace), strict=True)]
        up = above.logs(turned, pace)
        loss = up if below.is_one else [u - down for u, down in zip(up, below.logs(turned, pace), strict=True)]
        return [(base + u, v) for base, u, v in zip(gauss, up, loss, strict=True)]

    @proved_by("T08-shifted-line")
    def enclose_strip_factor(self, tilt: arb, height: arb, half_width: arb) -> arb:
        """Enclose N / M(tilt): both lines Im t = height +- half_width carry at most N at every frequency w >= 0.

        N / M = e^{(A+b)^2/(2s^2)} cos(d_Q (A+b)/(2s^2))^{-tilt}, d_Q the spread of Q; below tilt = 0 without the
        cosine, below -1 with that of P to the power tilt + 1.
        """
        reach = height + half_width
        return self._growth(reach * reach, tilt, reach)

    @proved_by("T11-tail-for-free")
    def enclose_modulus_factor(self, tilt: arb, height: arb, half_width: arb) -> arb:
        """Enclose N' / M(tilt): the modulus of the integrand, continued around its line, carries at most N'.

        N' / M = e^{(A^2+b^2)/(2s^2)} cos(d_Q (A+b)/(2s^2))^{-tilt}, d_Q the spread of Q.
        """
        return self._growth(height * height + half_width * half_width, tilt, height + half_width)

    @proved_by("T08-shifted-line")
    def _growth(self, squares: arb, tilt: arb, reach: arb) -> arb:
        above, below = self._ratios()
        growth = (squares / above.twice).exp()
        for ratio, power in ((above, -1 - tilt), (below, tilt)):
            if len(ratio.means) > 1 and not power <= 0:
                growth *= ratio.cosine(reach) ** -power.max(arb(0))
        return growth

    @proved_by("T10-node-tails")
    def bound_tails(self, z: acb, height: arb, left: arb, right: arb) -> arb:
        """Bound int |phi_s e^{u + zv}| over Re t < left and Re t > right on the line of the given height.

        Asks 0 <= height < pi s^2 / d. The same number bounds h * (sum over nodes beyond) for every step h <= 2s.
        """
        low, high, scale = self.bound_both_tails(z, height, left, right)
        return (low + high) * scale

    @proved_by("T10-node-tails")
    def bound_both_tails(self, z: acb, height: arb, left: arb, right: arb) -> tuple[arb, arb, arb]:
        """`bound_tails` where losses are low, where they are high, and the factor that both have."""
        if self.side < 0:
            left, right = -right, -left
        x, w, (above, below) = z.real, z.imag, self._ratios()
        low = self._bound_beyond(x, height, left, (above, below), -1) * self._damp(w, below, acb(left, height), -1)
        high = self._bound_beyond(x, height, right, (above, below), 1) * self._damp(w, above, acb(right, height), 1)
        angle = 2 * height * (above.places[-1] - below.places[-1])
        return low, high, ((height * height + angle * (-w).max(arb(0))) / above.twice).exp()

    @proved_by("T10-node-tails")
    def _damp(self, w: arb, ratio: MeanRatio, end: acb, sign: int) -> arb:
        """Bound e^{-w Im v} beyond the end by the one argument that grows there, up to its value at the end; w > 0."""
        return (-w * sign * ratio.logs([end])[0].imag).exp() if w > 0 and not ratio.is_one else arb(1)

    @proved_by("T10-node-tails")
    def _bound_beyond(self, x: arb, height: arb, end: arb, ratios: tuple[MeanRatio, MeanRatio], sign: int) -> arb:
        """int phi_s |F_P|^{x+1} |F_Q|^{-x} beyond `end`, to the right (sign 1) or left: a Gaussian tail centred at rho.

        It is falling where the end lies beyond rho; else its whole mass and one more term, h phi_s <= 1, are at most 2.
        """
        factor, rho, squares = arb(1), arb(0), arb(0)
        for ratio, exponent, outwards in zip(ratios, (x + 1, -x), (sign > 0, sign < 0), strict=True):
            if not ratio.is_one:
                bound, lead = ratio.bound_power(exponent, ratio.cosine(height), end, outwards)
                factor = factor * bound
                rho, squares = rho + exponent * ratio.places[lead], squares + exponent * ratio.squares[lead]
        distance, above = sign * (end - rho), ratios[0]
        tail = normal_tail(distance / above.sigma) if distance >= 0 else arb(2)
        return factor * ((rho * rho - squares) / above.twice).exp() * tail
