"""Random laws and compositions against oracles on the output space: sums over outcomes, tails at the crossing.

Hard corners are drawn on purpose: probabilities next to 0 and 1, impossible outcomes, eps at an atom, at 0, below 0 and
beyond the support, balls over a kink, few bits. Fractions where the masses are rational.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from math import comb

import mpmath
import pytest
from flint import arb, ctx
from mpmath import mpf

from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import DiscreteLaplaceLoss, FiniteLoss, OddsLoss, SampledAtomicLoss
from verified_dp.core.families.finite.mechanism import Finite, RandomizedResponse
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composition import Composition, compose
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.core.kernel.law import Law
from verified_dp.profile import privacy_profile

F = Fraction
Pairs = list[tuple[Fraction, Fraction]]
Curve = Callable[[mpf], mpf]
Tail = Callable[[mpf], tuple[mpf, mpf]]
"""t -> (P, Q) of the half-line right of t."""


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def exact_end(x: arb) -> mpf:
    if not x.is_finite():
        return mpf("inf") if x > 0 else mpf("-inf")
    mantissa, exponent = x.man_exp()
    return mpmath.ldexp(int(mantissa), int(exponent))


def atoms_curve(atoms: list[tuple[mpf, mpf]]) -> Curve:
    def curve(e: mpf) -> mpf:
        alpha = mpmath.exp(e)
        return mpmath.fsum(p - alpha * q for p, q in atoms if p > alpha * q)

    return curve


def crossing_curve(loss: Curve, tail: Tail) -> Curve:
    """P - e^eps Q of the half-line where an increasing loss exceeds eps, by bisection."""
    def curve(e: mpf) -> mpf:
        low, high = mpf(-1), mpf(1)
        while loss(low) >= e and low > -(2**40):
            low *= 2
        while loss(high) <= e and high < 2**40:
            high *= 2
        for _ in range(160):
            middle = (low + high) / 2
            low, high = (middle, high) if loss(middle) <= e else (low, middle)
        p, q = tail(low)
        return p - mpmath.exp(e) * q

    return curve


def normal_mixture(law: MixtureLoss) -> Curve:
    s = real(law.sigma)
    above, below = ([(real(m), real(w)) for m, w in side] for side in (law.above, law.below))

    def log_density(side: list[tuple[mpf, mpf]], t: mpf) -> mpf:
        sizes = [mpmath.log(w) + m * (2 * t - m) / (2 * s * s) for m, w in side]
        return max(sizes) + mpmath.log(mpmath.fsum(mpmath.exp(x - max(sizes)) for x in sizes))

    def tail(side: list[tuple[mpf, mpf]], t: mpf) -> mpf:
        return mpmath.fsum(w * mpmath.erfc((t - m) / (s * mpmath.sqrt(2))) / 2 for m, w in side)

    return crossing_curve(lambda t: log_density(above, t) - log_density(below, t),
                          lambda t: (tail(above, t), tail(below, t)))


def laplace_curve(mu: Fraction, q: Fraction, order: str) -> Curve:
    """P1 = Lap(0, 1), P0 = Lap(mu, 1), mixed = (1-q) P0 + q P1, cut where mixed / P0 passes e^eps, 0 <= t <= mu."""
    m, share = real(mu), real(q)

    def left(t: mpf) -> mpf:
        return mpmath.exp(t) / 2 if t < 0 else 1 - mpmath.exp(-t) / 2

    def curve(e: mpf) -> mpf:
        alpha = mpmath.exp(e)
        least, most = (1 - share + share * mpmath.exp(x) for x in (-m, m))
        ratio = alpha if order == "remove" else 1 / alpha
        if ratio >= most:
            return mpf(0) if order == "remove" else 1 - alpha
        if ratio < least or (ratio == least and order == "remove"):
            return 1 - alpha if order == "remove" else mpf(0)
        cut = (m - mpmath.log((ratio - 1 + share) / share)) / 2
        with_it, without = left(cut), left(cut - m)
        mixed = (1 - share) * without + share * with_it
        return mixed - alpha * without if order == "remove" else (1 - without) - alpha * (1 - mixed)

    return curve


def range_curve(mu: Fraction) -> Curve:
    """int (1 - e^{eps - l})_+ e^{l/2} / (4 sinh(mu/2)) dl over [-mu, mu]."""
    m = real(mu)

    def curve(e: mpf) -> mpf:
        low = max(e, -m)
        if e >= m:
            return mpf(0)
        rise = 2 * (mpmath.exp(m / 2) - mpmath.exp(low / 2)) + 2 * mpmath.exp(e) * (
            mpmath.exp(-m / 2) - mpmath.exp(-low / 2))
        return rise / (4 * mpmath.sinh(m / 2))

    return curve


def reversed_below(curve: Curve) -> Curve:
    return lambda e: curve(e) if e >= 0 else 1 - mpmath.exp(e) + mpmath.exp(e) * curve(-e)


def shifted(mass: Curve, shift: int, reach: int) -> list[tuple[mpf, mpf]]:
    sizes = {x: mass(mpf(x)) for x in range(-2 * reach, 2 * reach)}
    total = mpmath.fsum(sizes.values())
    return [(sizes[x] / total, sizes[x - shift] / total) for x in range(-reach, reach)]


def positive(rng: random.Random) -> Fraction:
    plain = F(rng.randint(1, 400), rng.randint(1, 99))
    return rng.choice([F(1, 10 ** rng.randint(1, 4)), F(rng.randint(1, 60)), plain])


def share(rng: random.Random) -> Fraction:
    tiny = F(1, 10 ** rng.randint(1, 15))
    return rng.choice([tiny, 1 - tiny, F(rng.randint(1, 98), 99)])


def distribution(rng: random.Random, size: int) -> list[Fraction]:
    weights = [rng.choice([0, 1, 1, rng.randint(0, 9), rng.randint(0, 10**6)]) for _ in range(size)]
    weights[rng.randrange(size)] += 1
    return [F(weight, sum(weights)) for weight in weights]


def finite(rng: random.Random, size: int) -> Pairs:
    return list(zip(distribution(rng, size), distribution(rng, size), strict=True))


def sampled(atoms: list[tuple[mpf, mpf]], q: Fraction, order: str) -> list[tuple[mpf, mpf]]:
    mixed = [((1 - real(q)) * b + real(q) * a, b) for a, b in atoms]
    return mixed if order == "remove" else [(b, a) for a, b in mixed]


def random_law(rng: random.Random, kind: str) -> tuple[Law, Curve]:
    mu, q, order = positive(rng), share(rng), rng.choice(["remove", "add"])
    if kind == "laplace":
        return LaplaceLoss(mu), laplace_curve(mu, F(1), "remove")
    if kind == "sampled laplace":
        return SampledLoss(LaplaceLoss(mu), q, order), laplace_curve(mu, q, order)
    if kind == "range":
        return BoundedRangeLoss(mu), range_curve(mu)
    if kind == "gaussian":
        s = positive(rng)
        alike = MixtureLoss(s, ((F(1), F(1)),), ((F(0), F(1)),), "remove")
        return GaussianLoss(1 / s**2), normal_mixture(alike)
    if kind == "odds":
        d, large = rng.choice([F(0), q]), mpmath.exp(real(mu))
        unit = (1 - real(d)) / (1 + large)
        return OddsLoss(mu, d, 0), atoms_curve([(real(d), mpf(0)), (unit * large, unit), (unit, unit * large)])
    if kind == "response":
        others, large = rng.choice([0, 1, 8, 10**6]), mpmath.exp(real(mu))
        unit = 1 / (large + 1 + others)
        atoms = [(unit * large, unit), (unit, unit * large), (others * unit, others * unit)]
        return OddsLoss(mu, F(0), others), atoms_curve(atoms)
    if kind == "mixture":
        means = sorted({F(rng.randint(0, 6), rng.randint(1, 3)) for _ in range(3)} | {F(rng.randint(1, 5))})
        weights = [F(rng.choice([1, 1, 3, 10**6])) for _ in means]
        above = tuple((m, w / sum(weights)) for m, w in zip(means, weights, strict=True))
        law = MixtureLoss(F(rng.randint(2, 40), rng.randint(2, 9)), above, ((F(0), F(1)),), "remove").in_order(order)
        return law, normal_mixture(law)
    if kind == "draws":
        m, n = rng.randint(1, 4), rng.choice([1, 2, 10, 1000])
        odds = [F(comb(m, j) * (n - 1) ** (m - j), n**m) for j in range(m + 1)]
        above = tuple((F(2 * j), w) for j, w in enumerate(odds) if w)
        law = MixtureLoss(F(rng.randint(2, 40), rng.randint(2, 9)), above, tuple((-x, w) for x, w in above[::-1]),
                          "symmetric")
        return law, normal_mixture(law)
    if kind == "batch":
        s = F(rng.randint(4, 60), rng.randint(1, 9))
        base = MixtureLoss(s, ((F(0), 1 - q), (F(2), q)), ((F(0), F(1)),), "remove")
        return FixedBatchLoss(q, s), reversed_below(normal_mixture(base))
    base_law, atoms = discrete_base(rng, kind.removeprefix("sampled "))
    if kind.startswith("sampled "):
        curve = atoms_curve(sampled(atoms, q, order))
        wrap = rng.choice([SampledLoss, SampledAtomicLoss]) if isinstance(base_law, FiniteLoss) else SampledLoss
        return wrap(base_law, q, order), curve  # type: ignore[arg-type]
    return base_law, atoms_curve(atoms)


def discrete_base(rng: random.Random, kind: str) -> tuple[Law, list[tuple[mpf, mpf]]]:
    shift = rng.randint(1, 6)
    if kind == "finite":
        masses = finite(rng, rng.randint(1, 6))
        return FiniteLoss(tuple(masses), "remove"), [(real(p), real(q)) for p, q in masses]
    if kind == "discrete laplace":
        b = F(rng.randint(1, 30), rng.randint(10, 40))
        return DiscreteLaplaceLoss(b, shift), shifted(lambda x: mpmath.exp(-abs(x) / real(b)), shift, int(100 * b) + 20)
    s2 = F(rng.randint(1, 200), rng.randint(5, 40))
    reach = int(16 * mpmath.sqrt(real(s2))) + 20
    return DiscreteGaussianLoss(s2, shift), shifted(lambda x: mpmath.exp(-x * x / (2 * real(s2))), shift, reach)


KINDS = ["laplace", "sampled laplace", "range", "gaussian", "odds", "response", "mixture", "draws", "batch", "finite",
         "sampled finite", "discrete laplace", "sampled discrete laplace", "discrete gaussian",
         "sampled discrete gaussian"]


def hard_epsilons(rng: random.Random, law: Law) -> list[Fraction]:
    """0, small, large, and at, next to and beyond the ends of the loss."""
    found = [F(0), F(rng.randint(-400, 400), rng.randint(20, 200)), F(rng.randint(-30, 30))]
    found.append(F(rng.randint(-9, 9), 10**9))
    with ctx.workprec(120):
        for end in (law.enclose_largest_loss(), law.enclose_smallest_loss()):
            if end is not None and end.is_finite() and abs(end) < 300:
                mantissa, exponent = end.mid().man_exp()
                x = F(int(mantissa)) * F(2) ** int(exponent)
                found += [x, x + F(1, 10**6), x - F(1, 10**6), 2 * x]
    return [*found, law.largest_loss()] if hasattr(law, "largest_loss") else found


def holds(law: Law, epsilon: arb, values: list[mpf], prec: int, margin: mpf) -> None:
    """Nothing known (not a number) is no lie, but is for few bits alone."""
    enclosed = law.enclose_hockey_stick(epsilon)
    if enclosed.is_nan():
        assert prec < 20, (law, epsilon)
        return
    low, high = exact_end(enclosed.lower()), exact_end(enclosed.upper())
    assert all(low - margin <= value <= high + margin for value in values), (law, epsilon, prec, values, low, high)


def check_law(rng: random.Random, kind: str) -> None:
    law, curve = random_law(rng, kind)
    for epsilon in hard_epsilons(rng, law):
        margin = mpf(10) ** -30 * (1 + mpmath.exp(real(epsilon)))
        for prec in (rng.choice([4, 10, 24, 53]), 130):
            with ctx.workprec(prec):
                holds(law, ball(epsilon), [curve(real(epsilon))], prec, margin)
        radius = F(1, rng.choice([3, 40, 10**5, 10**9]))
        inside = [epsilon + radius * F(rng.randint(-99, 99), 100) for _ in range(2)] + [epsilon - radius]
        with ctx.workprec(64):
            wide = ball(epsilon - radius).union(ball(epsilon + radius))
            holds(law, wide, [curve(real(e)) for e in inside], 64, 2 * margin)


@pytest.mark.theorem(
    "T40-laplace", "T43-bounded-range", "T46-atoms", "T48-discrete-laplace", "T49-sampled", "T50-discrete-gaussian",
    "T51-mixtures", "T52-without-replacement", "T54-randomized-response", "T56-approximate-dp")
@pytest.mark.parametrize("kind", KINDS)
def test_random_laws_are_those_of_the_output_space(kind: str) -> None:
    rng = random.Random(kind)
    with mpmath.workdps(45):
        for _ in range(3):
            check_law(rng, kind)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_laws(kind: str) -> None:
    rng = random.Random(kind + " many")
    with mpmath.workdps(45):
        for _ in range(40):
            check_law(rng, kind)


def merged(masses: Pairs) -> Pairs:
    """Outcomes of equal ratio as one."""
    found: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
    for p, q in masses:
        a, b = found.get(p / q if q else None, (F(0), F(0)))
        found[p / q if q else None] = a + p, b + q
    return list(found.values())


def product(first: Pairs, second: Pairs) -> Pairs:
    return merged([(a * p, b * q) for a, b in first for p, q in second])


def power(masses: Pairs, count: int) -> Pairs:
    found = [(F(1), F(1))]
    for _ in range(count):
        found = product(found, merged(masses))
    return found


def exact_delta(masses: Pairs, epsilon: Fraction) -> mpf:
    alpha = mpmath.exp(real(epsilon))
    return mpmath.fsum(real(p) - alpha * real(q) for p, q in masses if real(p) > alpha * real(q))


def at_atoms(rng: random.Random, masses: Pairs) -> list[Fraction]:
    """eps at two finite losses, to 60 bits or, for the ratio 1, exactly."""
    ratios = [p / q for p, q in masses if p and q]
    return [F(int(mpmath.floor(mpmath.log(real(r)) * 2**60)), 2**60) for r in rng.sample(ratios, min(2, len(ratios)))]


def check_composition(what: Composition, relation: str, orders: list[Pairs], epsilons: list[Fraction]) -> None:
    profile = privacy_profile(what, relation)
    for epsilon in epsilons:
        truth = max(exact_delta(masses, epsilon) for masses in orders)
        answer = profile.delta(epsilon, digits=8, max_seconds=10)
        low, high = (real(end.as_fraction()) for end in (answer.lower, answer.upper))
        assert low - mpf(10) ** -30 <= truth <= high + mpf(10) ** -30, (what, epsilon)
        assert high - low <= mpf(10) ** -7 * max(truth, mpf(10) ** -60), (what, epsilon)


def check_finite(rng: random.Random, count: int) -> None:
    masses = finite(rng, rng.randint(2, 3))
    mechanism = Finite(tuple(p for p, _ in masses), tuple(q for _, q in masses))
    one: Finite | PoissonSampled = mechanism
    if rng.random() < 0.5:
        q = share(rng)
        one, masses = PoissonSampled(mechanism, q), [((1 - q) * b + q * a, b) for a, b in masses]
    if rng.random() < 0.3:
        other = finite(rng, 2)
        what = compose((one, count), Finite(tuple(p for p, _ in other), tuple(q for _, q in other)))
        total = product(power(masses, count), merged(other))
    else:
        what, total = compose((one, count)), power(masses, count)
    epsilons = [F(0), F(rng.randint(-300, 300), 100), F(40), *at_atoms(rng, total)]
    check_composition(what, "add-or-remove", [total, [(q, p) for p, q in total]], epsilons)


@pytest.mark.theorem("T16-reversal", "T25-composition", "T46-atoms", "T47-enumeration", "T49-sampled", "T55-finite")
@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_random_finite_compositions_are_exact_sums(count: int) -> None:
    rng = random.Random(count)
    with mpmath.workdps(60):
        for _ in range(6):
            check_finite(rng, count)


@pytest.mark.theorem("T47-enumeration", "T54-randomized-response")
@pytest.mark.parametrize(("categories", "noise", "count"), [
    (2, "1/2", 10), (3, "9/10", 3), (5, "1/3", 2), (2, "99/100", 1)])
def test_responses_are_exact_sums(categories: int, noise: str, count: int) -> None:
    p, rng = F(noise), random.Random(noise)
    true, false = 1 - p + p / categories, p / categories
    total = power([(true, false), (false, true), *[(false, false)] * (categories - 2)], count)
    with mpmath.workdps(60):
        check_composition(compose((RandomizedResponse(categories, noise_probability=noise), count)), "replace", [total],
                          [F(0), F(1, 3), F(-2), F(50), *at_atoms(rng, total)])


@pytest.mark.theorem("T47-enumeration", "T54-randomized-response")
@pytest.mark.parametrize(("epsilon0", "epsilon"), [("1/10", "5"), ("1/100", "1"), ("1/10", "100"), ("1/10", "-3")])
def test_ten_thousand_responses_are_a_binomial_sum(epsilon0: str, epsilon: str) -> None:
    count, total = 10**4, mpf(0)
    with mpmath.workdps(60):
        e0, alpha = real(F(epsilon0)), mpmath.exp(real(F(epsilon)))
        true = mpmath.exp(e0) / (1 + mpmath.exp(e0))
        p = (1 - true) ** count  # j = 0 true answers
        for j in range(count + 1):
            q = p * mpmath.exp((count - 2 * j) * e0)
            total += max(p - alpha * q, 0)
            p *= mpf(count - j) / (j + 1) * mpmath.exp(e0)
        answer = privacy_profile(compose((RandomizedResponse(2, epsilon=epsilon0), count)), "replace").delta(epsilon)
        low, high = (real(end.as_fraction()) for end in (answer.lower, answer.upper))
        assert low * (1 - mpf(10) ** -40) <= total <= high * (1 + mpf(10) ** -40) and answer.status == "certified"
