"""Point samples of the density of the loss, as the Fourier accountant takes them, with their error proved (T82 to T84).

For sampled Gaussian steps the sums  h sum_j f(x_j) e^{z x_j}  are the transform M(z) up to aliases at the frequencies
w + 2 pi m / h, m != 0, which fall faster than any power of h. One DFT gives them at all frequencies pi r / L.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb, arb_poly, ctx

from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.powers import Column, enclose_products
from verified_dp.core.engines.shared import powers
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import BOUND_BITS, ball, largest, lower_end, normal_tail, plus_minus, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.papers.fourier.doubles import DoubleSamples, fits
from verified_dp.search.deadline import timed


@dataclass(frozen=True)
class Strip:
    """Cells [i width, (i + 1) width], first <= i < last, of a line at that height: they bound transforms far out."""

    height: Fraction
    width: Fraction
    first: int
    last: int


@dataclass(frozen=True)
class SampleWitness:
    """Any values give a correct enclosure; good ones a narrow one.

    half_length: L > 0. points: n, even. tilt: c > 0. ranges: per law the first and the last sample's index. near, far:
    per law a strip for the aliases, and for the transform past the last frequency. right > c > left >= 0: exponents of
    the alias bounds. count: 1 <= m0 < n / 2 frequencies are summed. prec: bits. doubles: whether samples and transforms
    are computed in double precision (T173).
    """

    half_length: Fraction
    points: int
    tilt: Fraction
    ranges: tuple[tuple[int, int], ...]
    near: tuple[Strip, ...]
    far: tuple[Strip, ...]
    right: Fraction
    left: Fraction
    count: int
    prec: int
    doubles: bool = False

    @property
    def step(self) -> Fraction:
        """h = 2 L / n."""
        return 2 * self.half_length / self.points


@proved_by("T84-sampled-enclosure")
def check_samples(witness: SampleWitness, laws: int) -> bool:
    """The side conditions that are plain comparisons of exact numbers."""
    shape = witness.half_length > 0 and witness.points % 2 == 0 and 1 <= witness.count < witness.points // 2
    lengths = {len(witness.ranges), len(witness.near), len(witness.far)} == {laws}
    strips = all(s.height > 0 and s.width > 0 and s.first < s.last for s in (*witness.near, *witness.far))
    ordered = 0 <= witness.left < witness.tilt < witness.right and witness.prec >= 2
    ordered = ordered and (fits(witness.points) or not witness.doubles)
    return shape and lengths and strips and ordered and laws > 0 and all(low <= high for low, high in witness.ranges)


@proved_by("T82-point-sampling")
def bound_far_transforms(law: SampledGaussianLoss, strip: Strip, tilt: arb, frequency: arb, period: arb) -> arb:
    """Bound the sum over m >= 0 of the largest |M(tilt + iw)|, w >= frequency + m period > 0.

    On the line, sum_m e^{-(W + m Omega) v} <= e^{-W v} (1 + 1/(Omega v)) with v = Im of the loss > 0.
    """
    s, width, height = ball(law.noise_multiplier), ball(strip.width), ball(strip.height)
    ends = strip.first * width, strip.last * width
    if not (2 * ends[0] <= -1 and ends[1] >= tilt + 1 and height < law.enclose_strip()):
        return arb.pos_inf()
    cells = [acb((2 * i + 1) * width / 2 + plus_minus(width / 2), law.side * height)
             for i in range(strip.first, strip.last)]
    total = arb(0)
    for base, loss in law.exponents(cells):
        angle = lower_end(loss.imag)
        if not angle > 0:
            return arb.pos_inf()
        total += (base.real + tilt * loss.real - frequency * angle).exp() * (1 + 1 / (period * angle))
    right = law.bound_tails(acb(tilt, frequency), height, -1000 * s - 1, ends[1])
    turn = law.in_order("remove").exponents([acb(ends[1], height)])[0][1].imag
    left = _bound_left(law, tilt, height, ends[0], period)
    return upper_end(total * width + right * (1 + 1 / (period * turn)) + left)


@proved_by("T82-point-sampling")
def _bound_left(law: SampledGaussianLoss, tilt: arb, height: arb, end: arb, period: arb) -> arb:
    """Bound the part left of `end` <= -1/2, where Im of the loss is at least q e^X sin(height / s^2)."""
    q, s = ball(law.sampling_probability), ball(law.noise_multiplier)
    angle, growth = height / (s * s), (height * height / (2 * s * s)).exp()
    cosine = (angle / 2).cos()
    factors = {"remove": arb(1), "add": (cosine * (1 - q)) ** -tilt, "symmetric": cosine**-tilt}
    slow = (1 / (s * s)).exp() * normal_tail(-(end + 1) / s) / (period * q * angle.sin())
    return upper_end(growth * factors[law.order] * (normal_tail(-end / s) + slow))


@proved_by("T83-sample-tails")
def bound_outside(law: SampledGaussianLoss, samples: tuple[arb, arb], window: tuple[int, int], step: arb,
                  exponent: arb) -> arb:
    """Bound h sum f(x_j) e^{l x_j} over the indices outside of the window; samples: f at its first and last index.

    Beyond, f e^{lx} falls at least at a constant rate, which grows with |x|; +inf where that is not certain.
    """
    q, variance = ball(law.sampling_probability), ball(law.noise_multiplier) ** 2
    first, last = window[0] * step, window[1] * step
    rest = (1 - q).log()
    places = {"remove": (None, variance * last + arb(1) / 2), "add": (variance * -first + arb(1) / 2, None),
              "symmetric": (variance * (rest - first) + arb(1) / 2, variance * (rest + last) + arb(1) / 2)}
    left, right = places[law.order]
    half = law.order == "symmetric"
    total = arb(0)
    if right is not None:
        rate = ((right - 2) / 2 if half else right - 1) - exponent
        total += _geometric(samples[1] * (exponent * last).exp(), rate, step, right - 2)
    elif not last >= -rest:
        return arb.pos_inf()
    if left is not None:
        rate = ((left - 1) / 2 if half else left) + exponent
        total += _geometric(samples[0] * (exponent * first).exp(), rate, step, left - 1)
    elif not first <= rest:
        return arb.pos_inf()
    return upper_end(step * total)


def _geometric(value: arb, rate: arb, step: arb, room: arb) -> arb:
    """value times sum_{j >= 1} e^{-rate h j}; +inf unless rate > 0 and room >= 0."""
    return value / (rate * step).expm1() if rate > 0 and room >= 0 else arb.pos_inf()


@dataclass(frozen=True)
class Samples:
    """h f(x_j) for the indices of the window, in order, and the density at both ends."""

    law: SampledGaussianLoss
    window: tuple[int, int]
    step: Fraction
    weights: list[arb]
    ends: tuple[arb, arb]

    def sum_at(self, exponent: arb) -> arb:
        """Enclose h sum f(x_j) e^{l x_j}."""
        rate = exponent * ball(self.step)
        return arb_poly(self.weights)(rate.exp()) * (rate * self.window[0]).exp()

    @proved_by("T82-point-sampling")
    def transform(self, tilt: arb, points: int, count: int) -> tuple[list[acb], arb]:
        """(h sum_j f(x_j) e^{(c + i pi r / L) x_j}, r = 0..count, a bound of its modulus at the other r up to n/2).

        One DFT of the tilted samples, folded mod n.
        """
        rate, table = tilt * ball(self.step), [acb(0)] * points
        for i, weight in enumerate(self.weights, self.window[0]):
            if not weight.is_zero():
                table[i % points] += weight * (rate * i).exp()
        found = [value.conjugate() for value in acb.dft(table)[: points // 2 + 1]]
        with ctx.workprec(BOUND_BITS):
            return found[: count + 1], largest([value.abs_upper() for value in found[count + 1 :]])


def take_samples(law: SampledGaussianLoss, window: tuple[int, int], step: Fraction) -> Samples:
    """Enclose the samples."""
    h, (first, last) = ball(step), window
    values = [law.enclose_density(i * h) for i in timed(range(first, last + 1))]
    return Samples(law, window, step, [h * value for value in values], (values[0], values[-1]))


@proved_by("T82-point-sampling", "T83-sample-tails")
def enclose_real_moment(samples: Samples | DoubleSamples, strip: Strip, step: arb, exponent: arb) -> arb:
    """Enclose M(l) from the samples; [0, inf] where the errors are not bounded."""
    period = 2 * arb.pi() / step
    error = 2 * bound_far_transforms(samples.law, strip, exponent, period, period)
    error += bound_outside(samples.law, samples.ends, samples.window, step, exponent)
    return samples.sum_at(exponent) + plus_minus(error) if error.is_finite() else arb(0).union(arb.pos_inf())


@dataclass(frozen=True)
class SampleValues:
    """What does not depend on eps.

    terms: the composed transform over z(z+1) at z = c + i pi r / L, twice for r >= 1. aliases, outside: what the
    transforms' errors add to their sum. beyond: bound on |M| at the frequencies past m0. right_mass, left_mass:
    C(l) M(l) at both exponents (1 at left = 0).
    """

    witness: SampleWitness
    terms: list[acb]
    aliases: arb
    outside: arb
    beyond: arb
    right_mass: arb
    left_mass: arb


@proved_by("T84-sampled-enclosure")
def evaluate_samples(loss: ComposedLoss, witness: SampleWitness) -> SampleValues:
    """All from samples alone. Raises InvalidInput where the witness breaks a side condition."""
    laws = [law for law, _ in lines(loss).sampled_parts]
    if len(laws) != len(loss.parts) or not check_samples(witness, len(laws)):
        raise InvalidInput("witness", "samples", "a witness that meets its side conditions, for sampled Gaussian steps")
    with ctx.workprec(witness.prec):
        take = DoubleSamples if witness.doubles else take_samples
        samples = [take(law, window, witness.step) for law, window in zip(laws, witness.ranges, strict=True)]
        columns = [one.transform(ball(witness.tilt), witness.points, witness.count) for one in samples]
        sums = _sum_terms(loss, witness, samples, [column for column, _ in columns])
        right = _bound_mass(loss, samples, witness, witness.right)
        left = _bound_mass(loss, samples, witness, witness.left) if witness.left else arb(1)
    with ctx.workprec(BOUND_BITS):
        beyond = _bound_beyond(loss, witness, samples, [rest for _, rest in columns])
        return SampleValues(witness, *sums, beyond, right, left)


@proved_by("T84-sampled-enclosure", "T12-powers")
def _sum_terms(loss: ComposedLoss, witness: SampleWitness, samples: Sequence[Samples | DoubleSamples],
               columns: Sequence[list[acb]]) -> tuple[list[acb], arb, arb]:
    """(terms, what the aliases of the samples and what the samples left out add to their sum)."""
    tilt, step, eta = ball(witness.tilt), ball(witness.step), arb.pi() / ball(witness.half_length)
    period = 2 * arb.pi() / step
    aliases = [bound_far_transforms(one.law, strip, tilt, period, period)
               + bound_far_transforms(one.law, strip, tilt, period - witness.count * eta, period)
               for one, strip in zip(samples, witness.near, strict=True)]
    outside = [bound_outside(one.law, one.ends, one.window, step, tilt) for one in samples]
    terms, from_aliases, from_outside = [], arb(0), arb(0)
    for r in range(witness.count + 1):
        z = acb(tilt, r * eta)
        values = [Column([column[r]], alias, rest, count) for column, alias, rest, (_, count)
                  in zip(columns, aliases, outside, lines(loss).sampled_parts, strict=True)]
        product = enclose_products(values, [loss.enclose_gaussian_exponent(z)])
        sides, kernel = (2 if r else 1), z * (z + 1)
        terms.append(sides * product.values[0] / kernel)
        by_aliases, by_outside = product.bound_errors([sides / kernel.abs_lower()])
        from_aliases, from_outside = from_aliases + by_aliases, from_outside + by_outside
    return terms, upper_end(from_aliases), upper_end(from_outside)


@proved_by("T84-sampled-enclosure", "T03-chernoff")
def _bound_mass(loss: ComposedLoss, samples: Sequence[Samples | DoubleSamples], witness: SampleWitness,
                exponent: Fraction) -> arb:
    """Bound C(l) M(l), l > 0."""
    point = ball(exponent)
    bound = loss.enclose_gaussian_exponent(acb(point)).real.exp() * bound_chernoff_factor(point)
    for one, strip, (_, count) in zip(samples, witness.near, lines(loss).sampled_parts, strict=True):
        bound *= upper_end(enclose_real_moment(one, strip, ball(witness.step), point)) ** count
    return upper_end(bound)


@proved_by("T84-sampled-enclosure")
def _bound_beyond(loss: ComposedLoss, witness: SampleWitness, samples: Sequence[Samples | DoubleSamples],
                  sizes: Sequence[arb]) -> arb:
    """Bound |M| of the composition at the frequencies pi r / L, r > m0: by samples up to n/2, past it by the strip."""
    tilt, step = ball(witness.tilt), ball(witness.step)
    period = 2 * arb.pi() / step
    eta = arb.pi() / ball(witness.half_length)
    bound = loss.enclose_gaussian_exponent(acb(tilt, witness.count * eta)).real.exp()
    for one, strip, size, (_, count) in zip(samples, witness.far, sizes, lines(loss).sampled_parts, strict=True):
        past = bound_far_transforms(one.law, strip, tilt, period / 2, period)
        outside = bound_outside(one.law, one.ends, one.window, step, tilt)
        bound *= (size + 2 * past + outside) ** count
    return upper_end(bound)


@proved_by("T84-sampled-enclosure", "T06-trapezoidal-enclosure", "T05-frequency-truncation")
def enclose_by_samples(values: SampleValues, epsilon: Fraction) -> Bounds:
    """sum - frequency tail - periodisation <= delta(eps) <= sum + frequency tail, the samples' errors added to both."""
    witness = values.witness
    with ctx.workprec(witness.prec):
        eta, tilt = arb.pi() / ball(witness.half_length), ball(witness.tilt)
        phases = powers(acb(0, -eta * ball(epsilon)).exp(), witness.count + 1)
        prefactor = (-tilt * ball(epsilon)).exp() / (2 * ball(witness.half_length))
        total = prefactor * sum((term * phase for term, phase in zip(values.terms, phases, strict=True)), acb(0)).real
        tail = prefactor * 2 * ball(witness.half_length) * values.beyond / (arb.pi() * witness.count * eta)
        errors = {"discretisation": prefactor * values.aliases, "truncation": prefactor * values.outside,
                  "frequency_tail": tail}
        return bounds_from_sum(total, errors, {"periodisation": bound_aliases(values, epsilon)})


@proved_by("T04-alias-bounds")
def bound_aliases(values: SampleValues, epsilon: Fraction) -> arb:
    """Bound sum over m != 0 of e^{2 c L m} D(eps + 2 L m) by two geometric series."""
    witness = values.witness
    eps, period = ball(epsilon), 2 * ball(witness.half_length)
    rates = ball(witness.right - witness.tilt) * period, ball(witness.tilt - witness.left) * period
    from_right = values.right_mass * (-ball(witness.right) * eps).exp() / rates[0].expm1()
    from_left = values.left_mass * (-ball(witness.left) * eps).exp() / rates[1].expm1()
    return upper_end(from_right + from_left)
