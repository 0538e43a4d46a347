"""The steps that the program extracted from Coq compares with by itself: Gaussian or a guarantee, sampled or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from itertools import accumulate, pairwise
from math import ceil, isqrt, lcm

from flint import arb, ctx

from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian, DiscreteLaplace
from verified_dp.core.families.finite.atomic import DiscreteLaplaceLoss, FiniteLoss, OddsLoss, SampledAtomicLoss
from verified_dp.core.families.finite.mechanism import ApproximateDP, Finite, RandomizedResponse
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.guarantees.orders import RenyiLoss
from verified_dp.core.families.guarantees.renyi import ZCDPLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.mechanism import Exponential, Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball, integer_above, normal_tail
from verified_dp.core.kernel.composition import Relation, Spec
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.mechanisms import Gaussian

DIRECTIONS = ("remove", "add")
HINTED = ("sampled", "replaced", "batch", "guarantee", "laplace", "outputs", "discrete", "zcdp")
"""How rows of steps begin, which have hints at their end."""
MAX_KINDS = 64
"""Of steps in a formal part."""
_SPARE_BITS = 64
"""Beyond those of the masses, in which the program compares."""
_FARTHEST = 2**12
"""Numbers on either side that the program lists of discrete noise; it is not asked where there are more."""


@dataclass(frozen=True)
class GaussianStep:
    """A query that one record changes by a vector of norm at most 1, and normal noise; order: remove or add."""

    order: str
    probability: Fraction
    noise: Fraction
    word = "sampled"

    def is_known(self, side: str, *, by_law: bool) -> bool:
        """Whether the program compares with it on this side: a law, or without one a point of its curve."""
        return True

    def words(self, side: str, low: int, count: int, step: Fraction, bits: int) -> Iterator[int | str]:
        """What the program reads of it, and hints: bits, terms of a series, where the line ends, tests.

        Above, a test at each grid point; below, an event for what is before the grid, and one from each point on.
        """
        places, bits = [index * step for index in range(low, low + count)], _compared_bits((low + count) * step, bits)
        yield from self._header(bits, count if side == "above" else count + 1)
        with ctx.workprec(bits + 64):
            if side == "above":
                yield from (self.best_test(ball(place), bits) for place in places)
            else:
                yield self.best_test(ball(places[0]), bits)
                yield from (self._event(place, place + step, bits) for place in places)

    def event_words(self, epsilon: Fraction, bits: int) -> Iterator[int | str]:
        """The same for one event at epsilon: a divergence at one point, without a grid."""
        bits = _compared_bits(epsilon, bits)
        yield from self._header(bits, 1)
        with ctx.workprec(bits + 64):
            yield self.best_test(ball(epsilon), bits)

    def _header(self, bits: int, tests: int) -> Iterator[int | str]:
        yield self.word
        yield from [*self.probability.as_integer_ratio(), *self.noise.as_integer_ratio()]
        yield from [bits, bits // 2, _end(bits), tests]

    def told(self, epsilon: Fraction) -> str:
        """What the program prints of it, before the hints."""
        q, sigma = self.probability, self.noise
        return f"{self.word}-{self.order} {q.numerator} {q.denominator} {sigma.numerator} {sigma.denominator}"

    def best_test(self, loss: arb, bits: int) -> int:
        """About 2^bits t, where the loss at t is this one; far to the left where there is none. Any t is sound."""
        q, sigma = ball(self.probability), ball(self.noise)
        ratio = ((loss if self.order == "remove" else -loss).expm1() + q) / q
        if not ratio > 0:
            return -_end(bits) << bits
        place = (sigma * ratio.log() + 1 / (2 * sigma)).mid() * arb((1, bits))
        return int(place.floor().unique_fmpz() or 0)

    def _event(self, start: Fraction, end: Fraction, bits: int) -> int:
        """The event whose line is to be above the lower law from start to end: as T27 chooses it."""
        for share in (Fraction(1, 2), 1 - Fraction(1, 2**40)):
            test = self.best_test(ball(start + share * (end - start)), bits)
            if self._gain(arb((test, -bits)), ball(end)) >= 0:
                return test
        return self.best_test(ball(end), bits)

    def _gain(self, place: arb, loss: arb) -> arb:
        """Enclose P - e^loss Q of the event {x > place} (add: {x <= place})."""
        q, shift = ball(self.probability), 1 / ball(self.noise)
        if self.order == "remove":
            return q * normal_tail(place - shift) - (loss.expm1() + q) * normal_tail(place)
        return (1 - loss.exp() * (1 - q)) * normal_tail(-place) - loss.exp() * q * normal_tail(shift - place)


class ReplacedStep(GaussianStep):
    """The same where another record is in the place of one; the order is a word alone."""

    word = "replaced"

    def is_known(self, side: str, *, by_law: bool) -> bool:
        """By a law alone."""
        return by_law

    def best_test(self, loss: arb, bits: int) -> int:
        """As above: the ratio of the mixtures is that of a quadratic in e^(t / noise)."""
        q, shift = ball(self.probability), 1 / ball(self.noise)
        common, rest = q * (-shift * shift / 2).exp(), (q - 1) * loss.expm1()
        root = (rest * rest + 4 * common * common * loss.exp()).sqrt()
        ratio = (root - rest) / (2 * common) if not rest > 0 else 2 * common * loss.exp() / (root + rest)
        place = (ratio.log() / shift).mid() * arb((1, bits))
        return int(place.floor().unique_fmpz() or 0)

    def _gain(self, place: arb, loss: arb) -> arb:
        q, shift = ball(self.probability), 1 / ball(self.noise)
        return (q * (normal_tail(place - shift) - loss.exp() * normal_tail(place + shift))
                + (q - 1) * loss.expm1() * normal_tail(place))


class BatchStep(GaussianStep):
    """A batch of a fixed size, one record replaced: at half of the noise, in the orders remove and add; from above."""

    word = "batch"

    def is_known(self, side: str, *, by_law: bool) -> bool:
        """A law from above."""
        return by_law and side == "above"

    def words(self, side: str, low: int, count: int, step: Fraction, bits: int) -> Iterator[int | str]:
        """What the program reads of it, and the tests of both orders."""
        word, *removed = super().words(side, low, count, step, bits)
        _, *added = GaussianStep("add", self.probability, self.noise).words(side, low, count, step, bits)
        yield word
        yield from [*added[-count - 1:], *removed]


def _end(bits: int) -> int:
    """Beyond it the normal law has less than 2^-bits."""
    return isqrt(2 * bits) + 1


def _compared_bits(largest: Fraction, bits: int) -> int:
    """Bits in which the program compares: more where e^loss, a factor, is large."""
    return bits + _SPARE_BITS + integer_above(ball(largest).max(arb(0)) / arb.const_log2())


@dataclass(frozen=True)
class GuaranteeStep:
    """A step that is (epsilon, delta)-private, on a random batch; order: remove or add.

    source "laplace": Laplace noise on a number that one record changes by at most epsilon scales; delta is 0. source
    "outputs": finitely many, whose weights with the record and without it are stated.
    """

    order: str
    probability: Fraction
    epsilon: Fraction
    delta: Fraction
    source: str = "guarantee"
    weights: tuple[tuple[int, int], ...] = ()

    def is_known(self, side: str, *, by_law: bool) -> bool:
        """Laws from above, those of noise also from below, as are points of outputs and of what is not sampled."""
        if side == "above" or by_law:
            noisy = self.source not in ("guarantee", "outputs")
            return by_law and (side == "above" or (noisy and self.probability == 1))
        return self.source == "outputs" or self.probability == 1

    def words(self, side: str, low: int, count: int, step: Fraction, bits: int) -> Iterator[int | str]:
        """What the program reads of it, and hints: bits, terms of a series."""
        spare = 0 if side == "above" else _SPARE_BITS  # grids end a little before the largest loss
        bits = _compared_bits((low + count) * step, bits + spare)
        yield self.source
        yield from [*self._numbers(), *self._hints(side, [index * step for index in range(low, low + count)], bits)]
        yield from [bits, bits // 2]

    def _hints(self, side: str, places: Sequence[Fraction], bits: int) -> Iterator[int]:
        """Others."""
        return iter(())

    def event_words(self, epsilon: Fraction, bits: int) -> Iterator[int | str]:
        """The same for one point of the curve."""
        return self.words("point", 1, 1, epsilon, bits)

    def told(self, epsilon: Fraction) -> str:
        """What the program prints of it, before the hints."""
        return f"{self.source}-{self.order} {' '.join(map(str, self._numbers()))}"

    def _numbers(self) -> Iterator[int]:
        for number in (self.probability, self.epsilon, self.delta):
            yield from number.as_integer_ratio()
        if self.weights:
            yield from [len(self.weights), *(p for p, _ in self.weights), *(q for _, q in self.weights)]


@dataclass(frozen=True)
class DiscreteStep(GuaranteeStep):
    """Noise of mass ~ e^(-epsilon |k|), or e^(-epsilon k^2), on a whole number that one record changes by `shift`."""

    shift: int = 1

    def _numbers(self) -> Iterator[int]:
        yield from super()._numbers()
        yield self.shift

    def _hints(self, side: str, places: Sequence[Fraction], bits: int) -> Iterator[int]:
        """How far a window goes; below, events up to a number: as for a Gaussian, or one."""
        reach = self.reach(bits)
        tests = self._events(places, reach, bits) if side != "above" else iter(())
        found = [next(tests)] if side == "point" else list(tests)
        yield from [reach, len(found), *found]

    def reach(self, bits: int) -> int:
        """How far a window goes, about 2^-bits outside."""
        far = ceil(Fraction(7 * bits, 10) / self.epsilon)
        return self.shift + 1 + (isqrt(far) if self.source == "discrete-gaussian" else far)

    def _events(self, places: Sequence[Fraction], reach: int, bits: int) -> Iterator[int]:
        """As T27 chooses them."""
        first, square = -reach - self.shift, self.source == "discrete-gaussian"
        with ctx.workprec(bits + 64):
            masses = ((-ball(self.epsilon * (k * k if square else abs(k)))).exp() for k in range(first, reach + 1))
            sums = list(accumulate(masses))

            def last(loss: Fraction) -> int:
                """The largest number whose loss is more."""
                twice = self.shift - loss / (self.epsilon * (self.shift if square else 1))
                found = ceil(twice / 2) - 1
                return reach if found >= (reach if square else self.shift) else max(found, -reach)

            yield last(places[0])
            for place, end in pairwise([*places, 2 * places[-1] - places[-2]]):
                for share in (Fraction(1, 2), 1 - Fraction(1, 2**40)):
                    test = last(place + share * (end - place))
                    if sums[test - first] >= ball(end).exp() * sums[test - self.shift - first]:
                        break
                yield test


@dataclass(frozen=True)
class ZCDPSteps:
    """Steps whose Renyi divergences of every order a > 1 add up to at most xi + rho a; order: remove or add."""

    order: str
    rho: Fraction
    xi: Fraction

    def is_known(self, side: str, *, by_law: bool) -> bool:
        """From above, without a law."""
        return side == "above" and not by_law

    def event_words(self, epsilon: Fraction, bits: int) -> Iterator[int | str]:
        """What the program reads of it, and hints: the moment, bits, terms of a series."""
        yield "zcdp"
        yield from [*self._numbers(epsilon), *self.best_moment(epsilon).as_integer_ratio()]
        yield from [bits + _SPARE_BITS, bits // 2]

    def told(self, epsilon: Fraction) -> str:
        """What the program prints of it, before the hints."""
        return f"zcdp-{self.order} {' '.join(map(str, self._numbers(epsilon)))}"

    def _numbers(self, epsilon: Fraction) -> tuple[int, ...]:
        return (*self.rho.as_integer_ratio(), *self.xi.as_integer_ratio())

    def best_moment(self, epsilon: Fraction) -> Fraction:
        """About the l > 0 that bounds delta(epsilon) best, in sixteenths: (2l+1) rho + log(l/(l+1)) = eps - xi."""
        low, high = 0, 1 << 20
        while high - low > 1:
            middle = (low + high) // 2
            power = ball(Fraction(middle, 16))
            found = (2 * power + 1) * ball(self.rho) + (power / (power + 1)).log() < ball(epsilon - self.xi)
            low, high = (middle, high) if found else (low, middle)
        return Fraction(high, 16)

    def bound(self, epsilon: Fraction) -> arb:
        """Enclose l^l / (1+l)^(1+l) e^(l (xi + rho (l+1)) - l eps) at that l."""
        power = self.best_moment(epsilon)
        return bound_by_moment(power, power * (self.xi + self.rho * (power + 1) - epsilon))


@dataclass(frozen=True)
class RenyiSteps(ZCDPSteps):
    """The same of single orders 1 + l: corners are (l, l times the sum of the divergences); rho and xi are 0."""

    corners: tuple[tuple[Fraction, Fraction], ...] = ()

    def _numbers(self, epsilon: Fraction) -> tuple[int, ...]:
        power = self.best_moment(epsilon)
        return (0, 1, *(dict(self.corners)[power] / power).as_integer_ratio(), *power.as_integer_ratio())

    def event_words(self, epsilon: Fraction, bits: int) -> Iterator[int | str]:
        """As above, but the moment is no hint."""
        yield "zcdp"
        yield from [*self._numbers(epsilon), bits + _SPARE_BITS, bits // 2]

    def best_moment(self, epsilon: Fraction) -> Fraction:
        """The one of the corners that bounds delta(epsilon) best, as far as double precision tells."""
        return min((corner[0] for corner in self.corners), key=lambda power: float(self._at(power, epsilon).log()))

    def bound(self, epsilon: Fraction) -> arb:
        """Enclose l^l / (1+l)^(1+l) e^(f - l eps) at that corner (l, f)."""
        return self._at(self.best_moment(epsilon), epsilon)

    def _at(self, power: Fraction, epsilon: Fraction) -> arb:
        return bound_by_moment(power, dict(self.corners)[power] - power * epsilon)


def bound_by_moment(power: Fraction, exponent: Fraction) -> arb:
    """Enclose l^l / (1+l)^(1+l) e^exponent."""
    one, more = ball(power), ball(power + 1)
    return (ball(exponent) + one * one.log() - more * more.log()).exp()


KnownStep = GaussianStep | GuaranteeStep | ZCDPSteps


@singledispatch
def stepped(law: Law, order: str, side: str, bits: int) -> KnownStep | None:
    """The step with this loss, in an order of a composition; guarantees and outputs are the same in any order."""
    return None


def compared(law: Law, order: str, side: str, bits: int, *, by_law: bool) -> KnownStep | None:
    """The step with this loss where the program knows it: by the law of a kind, or without one."""
    step = stepped(law, order, side, bits)
    return step if step is not None and step.is_known(side, by_law=by_law) else None


@stepped.register
def _sampled_step(law: SampledGaussianLoss, order: str, side: str, bits: int) -> GaussianStep | None:
    if law.order != order or not isinstance(law.noise_multiplier, Fraction):
        return None
    if order in DIRECTIONS:
        return GaussianStep(order, law.sampling_probability, law.noise_multiplier)
    return ReplacedStep(DIRECTIONS[0], law.sampling_probability, law.noise_multiplier)


@stepped.register
def _fixed_batch(law: FixedBatchLoss, order: str, side: str, bits: int) -> GaussianStep | None:
    """From above."""
    return BatchStep(DIRECTIONS[0], law.probability, law.noise_multiplier / 2) if side == "above" else None


@stepped.register
def _plain_step(law: GaussianLoss, order: str, side: str, bits: int) -> GaussianStep | None:
    """All plain steps in one: noise 1/mu, rounded down (below: up) to the comparison's bits; the same in any order."""
    shift, places = law.mean_shift_squared, bits + _SPARE_BITS
    if not shift:
        return None
    root = isqrt((shift.denominator << 2 * places) // shift.numerator) + (side == "below")
    return GaussianStep(order if order in DIRECTIONS else DIRECTIONS[0], Fraction(1), Fraction(root, 1 << places))


@stepped.register
def _guarantee(law: OddsLoss, order: str, side: str, bits: int) -> GuaranteeStep | None:
    known = order if order in DIRECTIONS else DIRECTIONS[0]
    return None if law.others else GuaranteeStep(known, Fraction(1), law.epsilon, law.infinity_mass)


@stepped.register
def _outputs(law: FiniteLoss, order: str, side: str, bits: int) -> GuaranteeStep | None:
    """The masses are those of the order at hand; the ratios fall."""
    whole = lcm(*(mass.denominator for pair in law.masses for mass in pair))
    pairs = law.masses if order != "add" else tuple((p, q) for q, p in law.masses)
    falling = sorted((pair for pair in pairs if any(pair)), key=lambda pair: (pair[0] / sum(pair), pair), reverse=True)
    weights = tuple((int(p * whole), int(q * whole)) for p, q in falling)
    known = order if order in DIRECTIONS else DIRECTIONS[0]
    return GuaranteeStep(known, Fraction(1), Fraction(0), Fraction(0), "outputs", weights)


@stepped.register
def _sampled_outputs(law: SampledAtomicLoss, order: str, side: str, bits: int) -> GuaranteeStep | None:
    """What is sampled, without sampling, at the rate."""
    if order not in DIRECTIONS or law.order != order or not law.probability:
        return None
    step = stepped(law.base.in_order(order), order, side, bits)
    return replace(step, probability=law.probability) if isinstance(step, GuaranteeStep) else None


@stepped.register
def _noise(law: LaplaceLoss | DiscreteLaplaceLoss | DiscreteGaussianLoss, order: str, side: str,
           bits: int) -> GuaranteeStep | None:
    """Discrete noise where it does not go too far."""
    known, one, none = order if order in DIRECTIONS else DIRECTIONS[0], Fraction(1), Fraction(0)
    if isinstance(law, LaplaceLoss):
        return GuaranteeStep(known, one, law.ratio, none, "laplace")
    step = (DiscreteStep(known, one, 1 / law.scale, none, "discrete-laplace", shift=law.sensitivity)
            if isinstance(law, DiscreteLaplaceLoss) else
            DiscreteStep(known, one, 1 / (2 * law.sigma_squared), none, "discrete-gaussian", shift=law.sensitivity))
    return step if step.reach(bits + 2 * _SPARE_BITS) <= _FARTHEST else None


@stepped.register
def _sampled_noise(law: SampledLoss, order: str, side: str, bits: int) -> GuaranteeStep | None:
    """Of these kinds, at the rate."""
    if order not in DIRECTIONS or law.order != order or not law.probability:
        return None
    known = isinstance(law.base, LaplaceLoss | DiscreteGaussianLoss)
    step = stepped(law.base, order, side, bits) if known else None
    return replace(step, probability=law.probability) if isinstance(step, GuaranteeStep) else None


@stepped.register
def _zcdp(law: ZCDPLoss, order: str, side: str, bits: int) -> ZCDPSteps | None:
    """All steps in one."""
    return ZCDPSteps(order if order in DIRECTIONS else DIRECTIONS[0], law.rho, law.xi)


@stepped.register
def _renyi(law: RenyiLoss, order: str, side: str, bits: int) -> ZCDPSteps | None:
    """All steps in one, by their common orders."""
    return RenyiSteps(order if order in DIRECTIONS else DIRECTIONS[0], Fraction(0), Fraction(0), law.corners)


def merged(laws: tuple[tuple[Law, int], ...]) -> tuple[tuple[Law, int], ...]:
    """Steps known by Renyi divergences as one, where there are no others (zcdp_private, renyi_private), else as is."""
    found = [(law, count) for law, count in laws if isinstance(law, ZCDPLoss)]
    listed = [(dict(law.corners), count) for law, count in laws if isinstance(law, RenyiLoss)]
    if not laws or len(found) + len(listed) != len(laws):
        return laws
    rho = sum((count * law.rho for law, count in found), Fraction(0))
    xi = sum((count * law.xi for law, count in found), Fraction(0))
    if not listed:
        return ((ZCDPLoss(rho, found[0][0].order, xi), 1),)
    common = sorted(set.intersection(*(set(corners) for corners, _ in listed)))
    corners = tuple((power, power * (xi + rho * (power + 1)) + sum(count * one[power] for one, count in listed))
                    for power in common)
    return ((RenyiLoss(corners), 1),) if corners else laws


# ---------- what is stated of the steps ----------


def stated_laws(spec: Spec, order: str) -> tuple[tuple[Law, int], ...]:
    """Laws above steps of which mixed_private, guarantees_private and gaussians_replace_private in proofs/coq speak.

    Gaussians, one by one; Laplace or discrete noise on one number; finitely many outputs; mechanisms of which a
    guarantee is stated. Where the claimed delta is 0 only the largest losses matter, and steps with bounded ones count
    as a guarantee. Sampled or Gaussian steps: one record more or less. Gaussians, some sampled, also replaced.
    Gaussians of one kind: none (see T15).
    """
    steps, pure = spec.composition.parts, spec.claim is not None and spec.claim.delta == 0
    found: dict[Law, int] = {}
    for step, count in steps:
        inner, share = (step.mechanism, step.probability) if isinstance(step, PoissonSampled) else (step, Fraction(1))
        law = _stated(inner, share, order, pure=pure)
        if law is None or (order not in DIRECTIONS and isinstance(law, SampledAtomicLoss | SampledLoss)):
            return ()
        found[law] = found.get(law, 0) + count
    kinds, neighbours = {type(law) for law in found}, (Relation.REMOVE, Relation.ADD, Relation.ADD_OR_REMOVE)
    merged = kinds in ({GaussianLoss}, {SampledGaussianLoss})
    replaced = spec.relation is Relation.REPLACE and kinds == {GaussianLoss, SampledGaussianLoss}
    alone = kinds <= {OddsLoss, FiniteLoss, LaplaceLoss, DiscreteLaplaceLoss, DiscreteGaussianLoss}
    known = alone or spec.relation in neighbours or replaced
    return tuple(found.items()) if known and not merged and len(found) <= MAX_KINDS else ()


def _stated(step: object, share: Fraction, order: str, *, pure: bool) -> Law | None:
    """The law of a step as it is stated, where it runs with this probability."""
    if isinstance(step, Gaussian):
        replaced = order not in DIRECTIONS
        if replaced and step.noise_multiplier is None:
            return None
        noise = step.noise_multiplier or Fraction(step.sigma or 0) / Fraction(step.sensitivity or 1)
        if share == 1:
            return GaussianLoss((4 if replaced else 1) / noise**2, order)
        return SampledGaussianLoss(share, noise, order) if share else None
    vectors = isinstance(step, Laplace | DiscreteLaplace) and type(step) not in (Laplace, DiscreteLaplace)
    if isinstance(step, Laplace | DiscreteLaplace | DiscreteGaussian) and not vectors and share and not pure:
        noisy = (LaplaceLoss(step.ratio) if isinstance(step, Laplace) else
                 DiscreteLaplaceLoss(step.scale, step.sensitivity) if isinstance(step, DiscreteLaplace) else
                 DiscreteGaussianLoss(step.sigma_squared, step.sensitivity))
        return noisy if share == 1 else noisy.on_sample(share, order) or SampledLoss(noisy, share, order)
    guarantee = _guaranteed(step, pure=pure)
    if guarantee is None or not share:
        return None
    return guarantee.in_order(order) if share == 1 else SampledAtomicLoss(guarantee, share, order)


def attained_laws(spec: Spec, order: str) -> tuple[tuple[Law, int], ...]:
    """The law of a single step of which outputs_not_private, response_not_private or guarantee_not_private speaks."""
    (step, count), *others = spec.composition.parts
    inner = step.mechanism if isinstance(step, PoissonSampled) else step
    two = not isinstance(inner, RandomizedResponse) or inner.epsilon is None or inner.categories == 2
    known = isinstance(inner, Finite | RandomizedResponse) and two and count == 1 and not others
    return stated_laws(spec, order) if known else ()


def _guaranteed(step: object, *, pure: bool) -> OddsLoss | FiniteLoss | None:
    """private_pair as it is, outputs_exact, response_exact; response_pure and laplace_pure and what else ends so."""
    if isinstance(step, Finite):
        return FiniteLoss(step.masses(), "remove")
    if isinstance(step, RandomizedResponse):
        if step.epsilon is not None:
            return OddsLoss(step.epsilon, Fraction(0), 0)
        false = (1 - step.truth) / (step.categories - 1)
        rest = (step.categories - 2) * false
        return FiniteLoss(((step.truth, false), (false, step.truth), (rest, rest)), "symmetric")
    if isinstance(step, ApproximateDP):
        return OddsLoss(step.epsilon, step.delta, 0)
    if pure and isinstance(step, Laplace):
        return OddsLoss(step.ratio, Fraction(0), 0)
    if pure and type(step) is DiscreteLaplace:
        return OddsLoss(step.sensitivity / step.scale, Fraction(0), 0)
    return OddsLoss(step.bounded_range, Fraction(0), 0) if pure and isinstance(step, Exponential) else None
