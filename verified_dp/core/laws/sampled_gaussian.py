"""Privacy loss of one Poisson-sampled Gaussian release, in the three orders in which it is composed.

Write m(t) = 1 - q + q e^{X(t)}, X(t) = (2t - 1)/(2 s^2), l = log m, phi_s the density of N(0, s^2).
Every order has the form

    M(z) = int phi_s(t) e^{u(t) + z v(t)} dt,        u = log dP/dN(0, s^2),  v = the privacy loss,

    remove      P = (1-q) N(0) + q N(1),  Q = N(0)                      u = l,  v = l(t)
    add         P = N(0),                 Q = (1-q) N(0) + q N(1)       u = 0,  v = -l(t)
    symmetric   P = (1-q) N(0) + q N(1),  Q = (1-q) N(0) + q N(-1)      u = l,  v = l(t) - l(-t)

with u and v analytic for |Im t| < pi s^2. On the line Im t = a with 0 < a < pi s^2 (a negative in the add order)
Im v >= 0, so that |e^{iwv}| <= 1 for every frequency w >= 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import acb, arb

from verified_dp.core.balls import ball, normal_tail, plus_minus
from verified_dp.core.exact import SquareRoot
from verified_dp.core.laws.law import Priced
from verified_dp.core.laws.single_step import SINGLE_STEP, StepValue, enclose_sampled_density
from verified_dp.core.theorems import proved_by


@dataclass(frozen=True)
class SampledGaussianLoss(Priced):
    """The law of the loss: 0 < sampling_probability < 1, noise_multiplier > 0, order "remove", "add" or "symmetric"."""

    sampling_probability: Fraction
    noise_multiplier: Fraction | SquareRoot
    order: str

    @property
    def side(self) -> int:
        """Which side of the real axis the integration line lies on so that Im v >= 0."""
        return -1 if self.order == "add" else 1

    def in_order(self, order: str) -> "SampledGaussianLoss":
        """The same step in another order."""
        return replace(self, order=order)

    @proved_by("T14-single-step")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose H_{e^eps}(P || Q) of one step, any real eps."""
        return self._at(epsilon).hockey_stick

    @proved_by("T60-tails")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose P(L > x) and Q(L > x)."""
        value = self._at(x)
        return value.above, value.below

    def _at(self, x: arb) -> StepValue:
        return SINGLE_STEP[self.order](self.sampling_probability, self.noise_multiplier, x)

    @proved_by("T60-tails")
    def enclose_density(self, x: arb) -> arb:
        """Enclose the density of L under P at x."""
        return enclose_sampled_density(self.order, self.sampling_probability, self.noise_multiplier, x)

    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """None of them."""
        return []

    def enclose_infinity_mass(self) -> arb:
        """P(L = inf) = 0."""
        return arb(0)

    @proved_by("T07-ends")
    def enclose_smallest_loss(self) -> arb | None:
        """Enclose the infimum of the loss: log(1-q) in the remove order; None where it is -inf."""
        return (1 - ball(self.sampling_probability)).log() if self.order == "remove" else None

    @proved_by("T09-total-mass")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}], l > 0, between 0 and its bound: 1 - q + q e^{l(l+1)/(2s^2)} in the add and remove orders.

        In the symmetric order (1-q) + q e^{l(l+1) 4/(2s^2)}, by joint convexity with the common part.
        """
        q, s = ball(self.sampling_probability), ball(self.noise_multiplier)
        distance = 2 if self.order == "symmetric" else 1
        return arb(0).union(1 - q + q * (exponent * (exponent + 1) * distance**2 / (2 * s * s)).exp())

    @proved_by("T08-shifted-line")
    def enclose_strip(self) -> arb:
        """Enclose the half-width pi s^2 of the strip in which u and v are analytic."""
        return arb.pi() * ball(self.noise_multiplier) ** 2

    @proved_by("T07-ends")
    def enclose_largest_loss(self) -> arb | None:
        """Enclose the supremum of the loss: -log(1-q) in the add order; None where it is infinite."""
        return -(1 - ball(self.sampling_probability)).log() if self.order == "add" else None

    @proved_by("T08-shifted-line")
    def exponents(self, points: Iterable[acb]) -> list[tuple[acb, acb]]:
        """Enclose (log phi_s(t) + u(t), v(t)) at each point t (a ball may be a whole cell of a line)."""
        q, s = ball(self.sampling_probability), ball(self.noise_multiplier)
        double_variance, log_norm = 2 * s * s, -(s * (2 * arb.pi()).sqrt()).log()
        q_small, scale = q * (-1 / double_variance).exp(), 2 / double_variance

        def log_ratio(t: acb) -> acb:
            return (1 - q + q_small * (t * scale).exp()).log()

        def one(t: acb) -> tuple[acb, acb]:
            gauss, ell = log_norm - t * t / double_variance, log_ratio(t)
            if self.order == "add":
                return gauss, -ell
            return gauss + ell, ell if self.order == "remove" else ell - log_ratio(-t)

        return [one(t) for t in points]

    @proved_by("T19-line-integral")
    def expansions(self, centres: Iterable[acb], radius: arb) -> list[tuple[acb, ...]]:
        """Enclose both `exponents` and their first derivatives at each centre t, their second ones over t +- radius.

        (log phi_s + u, v, first derivatives, second derivatives); with r = (1-q)/m: l' = (1-r)/s^2, l'' = r(1-r)/s^4.
        """
        q, s = ball(self.sampling_probability), ball(self.noise_multiplier)
        variance, rest, log_norm = s * s, 1 - q, -(s * (2 * arb.pi()).sqrt()).log()
        twice, cell = 2 * variance, (plus_minus(radius) / variance).exp()

        def log_ratio(t: acb) -> tuple[acb, acb, acb]:
            part = q * ((2 * t - 1) / twice).exp()
            share, wide = rest / (rest + part), rest / (rest + part * cell)
            return (rest + part).log(), (1 - share) / variance, wide * (1 - wide) / (variance * variance)

        def one(t: acb) -> tuple[acb, ...]:
            gauss, slope, bend = log_norm - t * t / twice, -t / variance, -1 / variance
            ell = log_ratio(t)
            if self.order == "add":
                return gauss, -ell[0], slope, -ell[1], acb(bend), -ell[2]
            base = gauss + ell[0], slope + ell[1], bend + ell[2]
            if self.order == "remove":
                return base[0], ell[0], base[1], ell[1], base[2], ell[2]
            back = log_ratio(-t)
            return base[0], ell[0] - back[0], base[1], ell[1] + back[1], base[2], ell[2] - back[2]

        return [one(t) for t in centres]

    @proved_by("T08-shifted-line")
    def enclose_strip_factor(self, tilt: arb, height: arb, half_width: arb) -> arb:
        """Enclose N / M(tilt): both lines Im t = height +- half_width carry at most N at every frequency w >= 0.

        N / M = e^{(A+b)^2/(2s^2)}, times cos((A+b)/(2s^2))^{-tilt} in the add and symmetric orders.
        """
        reach = height + half_width
        growth = (reach * reach / (2 * ball(self.noise_multiplier) ** 2)).exp()
        return growth if self.order == "remove" else growth * self._cosine(-tilt, reach)

    @proved_by("T11-tail-for-free")
    def enclose_modulus_factor(self, tilt: arb, height: arb, half_width: arb) -> arb:
        """Enclose N' / M(tilt): the modulus of the integrand, continued around its line, carries at most N'.

        N' / M = e^{(A^2+b^2)/(2s^2)}, times cos((A+b)/(2s^2))^{-tilt} in the add and symmetric orders.
        """
        squares = height * height + half_width * half_width
        growth = (squares / (2 * ball(self.noise_multiplier) ** 2)).exp()
        return growth if self.order == "remove" else growth * self._cosine(-tilt, height + half_width)

    @proved_by("T10-node-tails")
    def bound_tails(self, z: acb, height: arb, left: arb, right: arb) -> arb:
        """Bound int |phi_s e^{u + zv}| over Re t < left and Re t > right on the line of the given height.

        Asks 0 <= height < pi s^2. The same number bounds h * (sum over nodes beyond) for every step h <= 2s.
        +inf unless left <= 0 <= right.
        """
        x, w, double_variance = z.real, z.imag, 2 * ball(self.noise_multiplier) ** 2
        turn = self._enclose_angle(height, right) if w > 0 else arb(0)
        both = self._bound_left(x, height, left) + self._bound_right(x, height, right) * (-w * turn).exp()
        angle = 2 * height / double_variance * (2 if self.order == "symmetric" else 1)
        return both * (height * height / double_variance + angle * (-w).max(arb(0))).exp()

    @proved_by("T10-node-tails")
    def _enclose_angle(self, height: arb, right: arb) -> arb:
        """Enclose arg m(right + i height): beyond `right` Im v is at least this, as arg m grows along the line."""
        q, s = ball(self.sampling_probability), ball(self.noise_multiplier)
        return (1 - q + q * (acb(2 * right - 1, 2 * height) / (2 * s * s)).exp()).arg()

    @proved_by("T10-node-tails")
    def _bound_left(self, x: arb, height: arb, left: arb) -> arb:
        if not left <= 0:
            return arb.pos_inf()
        tail = normal_tail(-left / ball(self.noise_multiplier))
        if self.order == "symmetric":
            return tail * self._bound_mirror_left(x, height, left)
        exponent = x + 1 if self.order == "remove" else -x
        if exponent >= 0:
            return tail
        return tail * self._least_modulus(height, left, False) ** exponent if exponent < 0 else arb.pos_inf()

    @proved_by("T10-node-tails")
    def _bound_mirror_left(self, x: arb, height: arb, left: arb) -> arb:
        """Bound |m(t)^{x+1} m(-t)^{-x}|, Re t <= left <= 0 <= x, by cos^-x, and by |m(-t)|^-x since |m(t)| <= 1."""
        if not x >= 0:
            return arb.pos_inf()
        return self._cosine(-x, height).min(self._least_modulus(height, -left, True) ** -x)

    @proved_by("T10-node-tails")
    def _bound_right(self, x: arb, height: arb, right: arb) -> arb:
        exponent = -x if self.order == "add" else x + 1
        if exponent >= 0 and right >= 0:
            bound = self._bound_growing(exponent, right)
        elif exponent < 0 and right >= 0:
            tail = normal_tail(right / ball(self.noise_multiplier))
            bound = self._least_modulus(height, right, True) ** exponent * tail
        else:
            return arb.pos_inf()
        if self.order != "symmetric":
            return bound
        return bound * self._least_modulus(height, -right, False) ** -x if x >= 0 else arb.pos_inf()

    @proved_by("T10-node-tails")
    def _least_modulus(self, height: arb, end: arb, rightwards: bool) -> arb:
        """Bound |m| from below on a line beyond `end`: |m| >= cos(theta/2) m(Re t), |m| >= |1 - q - q e^{Re X}|."""
        q, s = ball(self.sampling_probability), ball(self.noise_multiplier)
        part = q * ((2 * end - 1) / (2 * s * s)).exp()
        cosine = self._cosine(arb(1), height)
        if rightwards:
            return (cosine * (1 - q + part)).max(part - (1 - q))
        return (cosine * (1 - q)).max(1 - q - part)

    @proved_by("T10-node-tails")
    def _bound_growing(self, exponent: arb, right: arb) -> arb:
        """int_right^inf phi_s m^p for p >= 0: m <= q e^X (1 + (1-q)/(q e^{X(right)})), then a Gaussian centred at p.

        Its tail is falling where right >= p; else its whole mass and one more term, h phi_s <= 1, are at most 2.
        """
        q, s = ball(self.sampling_probability), ball(self.noise_multiplier)
        at_right = q * ((2 * right - 1) / (2 * s * s)).exp()
        shift = (exponent * (exponent - 1) / (2 * s * s)).exp()
        tail = normal_tail((right - exponent) / s) if right >= exponent else arb(2)
        return (q * (1 + (1 - q) / at_right)) ** exponent * shift * tail

    @proved_by("T10-node-tails")
    def _cosine(self, exponent: arb, height: arb) -> arb:
        """cos(theta/2)^exponent with theta = height / s^2: the price of a negative exponent off the real line."""
        return (height / (2 * ball(self.noise_multiplier) ** 2)).cos() ** exponent
