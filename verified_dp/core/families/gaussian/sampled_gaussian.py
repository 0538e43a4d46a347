"""Privacy loss of one Poisson-sampled Gaussian release, in the three orders: a mixture with a closed form of one step.

    remove      P = (1-q) N(0, s^2) + q N(1, s^2),  Q = N(0, s^2)
    add         P = N(0, s^2),                      Q = (1-q) N(0, s^2) + q N(1, s^2), mirrored
    symmetric   P = (1-q) N(0, s^2) + q N(1, s^2),  Q = (1-q) N(0, s^2) + q N(-1, s^2)
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from verified_dp.core.engines.mixture_lines import MixtureLines, Place, mirrored
from verified_dp.core.kernel.balls import ball, upper_end
from verified_dp.core.kernel.composition import Mixture
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import SquareRoot, square
from verified_dp.core.kernel.law import PlainLaw
from verified_dp.core.kernel.theorems import proved_by

if TYPE_CHECKING:
    from verified_dp.core.engines.two_steps import Ramp
    from verified_dp.core.families.gaussian.single_step import StepValue

_NOTHING: Mixture = ((Fraction(0), Fraction(1)),)
_ONE, _UP, _DOWN = [Fraction(0)], [Fraction(0), Fraction(1)], [Fraction(0), Fraction(-1)]
_BY_NODES = frozenset(f"verified_dp.core.engines.{name}" for name in ("contour", "rays", "marked", "node_moment"))


@dataclass(frozen=True)
class SampledGaussianLoss(MixtureLines, PlainLaw):
    """The law of the loss: 0 < sampling_probability < 1, noise_multiplier > 0, order "remove", "add" or "symmetric"."""

    moment_nodes: ClassVar[bool] = True
    sampling_probability: Fraction
    noise_multiplier: Fraction | SquareRoot
    order: str

    @property
    def sigma(self) -> Fraction | SquareRoot:  # type: ignore[override]
        """Of the mixtures."""
        return self.noise_multiplier

    @cached_property
    def above(self) -> Mixture:  # type: ignore[override]
        """P."""
        return _NOTHING if self.order == "add" else self._taken

    @cached_property
    def below(self) -> Mixture:  # type: ignore[override]
        """Q."""
        return _NOTHING if self.order == "remove" else mirrored(self._taken)

    @property
    def _taken(self) -> Mixture:
        q = self.sampling_probability
        return (Fraction(0), 1 - q), (Fraction(1), q)

    @proved_by("T08-shifted-line", "T10-node-tails", "T11-tail-for-free")
    def _weights(self, mixture: Mixture) -> list[arb]:
        """Enclose 1 and q, 1 - q: what the line integrals are taken of."""
        q = ball(self.sampling_probability)
        return [arb(1)] if mixture == _NOTHING else [q if mean else 1 - q for mean, _ in mixture]

    @property
    def _means(self) -> tuple[list[Fraction], list[Fraction]]:
        """0 and 1, 0 and -1, or 0 alone."""
        return _ONE if self.order == "add" else _UP, _ONE if self.order == "remove" else _DOWN

    @property
    def loss_share(self) -> int:  # type: ignore[override]
        """In the remove order u is v, in the add order 0."""
        return 1 if self.order == "remove" else 0

    @proved_by("T156-one-loss")
    def shares_loss(self, other: MixtureLines) -> bool:
        """All sampled Gaussians do in the remove order, and in the add order; on one grid if the noise is similar."""
        if not isinstance(other, SampledGaussianLoss) or {self.order, other.order} not in ({"remove"}, {"add"}):
            return False
        here, there = square(self.noise_multiplier), square(other.noise_multiplier)
        return here <= 4 * there and there <= 4 * here

    @proved_by("T156-one-loss")
    def place(self, leader: MixtureLines) -> Place:
        """With r = s^2/s_1^2: (r, (1-r)/2 + s^2 log((q_1/(1-q_1)) / (q/(1-q))), +-log((1-q)/(1-q_1)))."""
        if not isinstance(leader, SampledGaussianLoss):
            raise InvalidInput("leader", type(leader).__name__, "a sampled Gaussian")
        variance = square(self.noise_multiplier)
        ratio = variance / square(leader.sigma)
        q, other = self.sampling_probability, leader.sampling_probability
        odds = shift = arb(0)
        if q != other:
            shift = ball((1 - q) / (1 - other)).log()
            odds = ball(other / q).log() + shift
        return Place(ball(ratio), ball((1 - ratio) / 2) + ball(variance) * odds,
                     shift if self.order == "remove" else -shift)

    def later_files(self, engine: str) -> tuple[str, ...]:
        """Its curve and whole moments, which engines do not ask for that have its nodes."""
        return () if engine in _BY_NODES else ("verified_dp.core.families.gaussian.single_step",)

    @property
    @proved_by("T227-two-steps")
    def ramps(self) -> "tuple[Ramp, ...]":
        """Its loss, for two steps."""
        from verified_dp.core.engines.two_steps import Ramp

        return (Ramp(self.sampling_probability, self.noise_multiplier, self.order),)

    @proved_by("T14-single-step")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose H_{e^eps}(P || Q) of one step, any real eps."""
        return self._at(epsilon).hockey_stick

    @proved_by("T60-tails")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose P(L > x) and Q(L > x)."""
        value = self._at(x)
        return value.above, value.below

    def _at(self, x: arb) -> "StepValue":
        from verified_dp.core.families.gaussian.single_step import SINGLE_STEP  # where its curve is asked for

        return SINGLE_STEP[self.order](self.sampling_probability, self.noise_multiplier, x)

    @proved_by("T60-tails")
    def enclose_density(self, x: arb) -> arb:
        """Enclose the density of L under P at x."""
        from verified_dp.core.families.gaussian.single_step import enclose_sampled_density

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

    @proved_by("T214-sampled-moments")
    def bound_log_moment(self, exponent: arb) -> arb:
        """Bound log E[e^{l L}], l > 0: by chords of its values at integers up to 256; add: by -l log(1-q) too.

        In the symmetric order, beyond, and where l is near an integer but not known to be one: by `enclose_moment`.
        """
        q = self.sampling_probability
        end = -exponent * (1 - ball(q)).log() if self.order == "add" else arb.pos_inf()
        plain = PlainLaw.bound_log_moment(self, exponent).min(end)
        if self.order == "symmetric":
            return plain
        from verified_dp.core.families.gaussian.single_step import bound_by_integers

        bound = bound_by_integers(q, self.noise_multiplier, exponent)
        return plain if bound is None else upper_end(plain.min(bound))

    @proved_by("T07-ends")
    def enclose_largest_loss(self) -> arb | None:
        """Enclose the supremum of the loss: -log(1-q) in the add order; None where it is infinite."""
        return -(1 - ball(self.sampling_probability)).log() if self.order == "add" else None
