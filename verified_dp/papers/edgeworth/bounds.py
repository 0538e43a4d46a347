"""delta(eps) by the first-order Edgeworth expansion with its remainder, as published (T105) and tilted (T106).

Y is the sum of the losses under P, X that under Q; F(x) = Phi(z) + l (1 - z^2) phi(z)/6 +- remainder, z = (x - m)/B:

    published   delta(eps) = 1 - F_Y(eps) - e^eps (1 - F_X(eps))
    tilted      delta(eps) = P(S = inf) + M(t) e^{-t eps} E_t[e^{-ty} (1 - e^{-y}); y > 0], y = S - eps

The last expectation differs from that of the expansion by at most 2 C(t) remainder, C(t) = t^t / (1+t)^{1+t}.

The remainder is that of Derumigny, Girard and Guyonvarch (T104): for independent centred X_1, ..., X_n with fourth
moments, B^2 = sum E X_i^2 and S = sum X_i / B it bounds

    sup_z |P(S <= z) - Phi(z) - l (1 - z^2) phi(z) / 6|,     l = sum E X_i^3 / B^3.

The formulas depend on the law through four ratios alone; with the authors' K_3, K_3~, K_4, lambda_3

    skew = |lambda_3| / sqrt n = |l|,           third = K_3 / sqrt n = sum E|X_i|^3 / B^3,
    fourth = K_4 / n = sum E X_i^4 / B^4,       tilde = K_3~ / sqrt n = third + sum E|X_i| E X_i^2 / B^3.

free: the authors' eps, any number in (0, 1/3).
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.balls import ball, lower_end, normal_tail, plus_minus, upper_end
from verified_dp.core.bounds import Bounds, bound_chernoff_factor
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.core.laws.gaussian import GaussianLoss
from verified_dp.core.theorems import proved_by
from verified_dp.papers.edgeworth.bounds_moments import HIGHEST, LossMoments, enclose_loss_moments
from verified_dp.search.deadline import timed

PSI = Fraction(10253, 10000)
"""2 pi |t| |Psi(t)| is at most this, Psi the smoothing kernel of Prawitz."""
CHI = Fraction(991619136, 10**10)
"""sup x^-3 |cos x - 1 + x^2/2| = 0.09916191351..., rounded up."""
MAIN_K3, MAIN_K3_SQUARED, MAIN_K4 = Fraction(1995, 10000), Fraction(31, 1000), Fraction(327, 1000)
MAIN_SKEW_K3, MAIN_SKEW_SQUARED = Fraction(54, 1000), Fraction(37, 1000)
LAST_K3, LAST_SKEW, IID_SKEW = Fraction(141961 + 670415, 10000), Fraction(43394, 10000), Fraction(1306, 1000)
"""The decimals of the article's Theorems A.2 and A.3, exactly."""


@dataclass(frozen=True)
class Ratios:
    """The four ratios of the module. count: n where all X_i have one law, None where they may differ."""

    skew: arb
    third: arb
    tilde: arb
    fourth: arb
    count: int | None


@proved_by("T104-edgeworth-remainder")
def bound_remainder(ratios: Ratios, free: Fraction) -> arb:
    """Bound the remainder from moments alone: Theorem A.2, and Theorem A.3 where the steps have one law."""
    if not 0 < free < Fraction(1, 3):
        return arb.pos_inf()
    general = _bound_independent(ratios, ball(free))
    return general.min(_bound_identical(ratios, ball(free))) if ratios.count else general


@proved_by("T104-edgeworth-remainder")
def _bound_independent(r: Ratios, free: arb) -> arb:
    """0.1995 K~ + ... + r_{1,n} of the general case."""
    growth = _general_growth(free)
    start, end = _window(r, free)
    decay = (1 - 4 * ball(CHI) - r.fourth.sqrt()) / 2
    middle = ball(PSI) * r.third * _gauss_integral(decay, start, end) / (6 * arb.pi())
    rest = _general_integrals(r, free, growth) + r.skew * gamma_between(_three_halves(), start, end)
    return upper_end(_main(r, free, growth) + _last(r) + middle + rest)


@proved_by("T104-edgeworth-remainder")
def _bound_identical(r: Ratios, free: arb) -> arb:
    """The same for one law: e_3 in the place of e_1, e_2 - e_3 in the remainder."""
    final, first = identical_growth(r, free), plain_growth(free)
    start, end = _window(r, free)
    rest = identical_integrals(r, free, final) + ball(IID_SKEW) * (final - first) * r.skew * r.skew / 36
    smooth = identical_third(r, start * start / 8, end * end / 8)
    return upper_end(
        _main(r, free, first) + _last(r) + r.skew * gamma_between(_three_halves(), start, end) + rest + smooth)


def _main(r: Ratios, free: arb, growth: arb) -> arb:
    """The terms that are written out in the statement, growth = e_1 or e_3."""
    skewed = ball(MAIN_SKEW_K3) * r.skew * r.tilde + ball(MAIN_SKEW_SQUARED) * growth * r.skew * r.skew
    return ball(MAIN_K3) * r.tilde + ball(MAIN_K3_SQUARED) * r.tilde * r.tilde + main_fourth(r, free) + skewed


def main_fourth(r: Ratios, free: arb) -> arb:
    return ball(MAIN_K4) * r.fourth * (arb(1) / 12 + 1 / (4 * _squared(1 - 3 * free)))


def _last(r: Ratios) -> arb:
    """81.2376 K~^4 / (2 pi)^4 + 4.3394 |l| K~^3 / (2 pi)^3."""
    x = r.tilde / (2 * arb.pi())
    return ball(LAST_K3) * _squared(_squared(x)) + ball(LAST_SKEW) * r.skew * x * x * x


def _window(r: Ratios, free: arb) -> tuple[arb, arb]:
    """(min(sqrt(2 eps) (K_4/n)^{-1/4}, T), T = 2 / K~): in between, third moments bound the characteristic function."""
    end = 2 / r.tilde
    return ((2 * free).sqrt() / r.fourth.root(4)).min(end), end


def _squared(x: arb) -> arb:
    return x * x


def _three_halves() -> arb:
    return arb(3) / 2


def gamma_between(order: arb, start: arb, end: arb) -> arb:
    """Enclose the integral of v^{order-1} e^{-v} over start <= v <= end."""
    return (incomplete_gamma(order, start) - incomplete_gamma(order, end)).max(arb(0))


@proved_by("T104-edgeworth-remainder")
def incomplete_gamma(order: arb, x: arb) -> arb:
    """Enclose Gamma(order, x), 0 <= order <= 2; between 0 and x^order e^{-x} for x > 1000."""
    if x > 1000:
        return arb(0).union(upper_end((order * x.log() - x).exp()))
    return x.gamma_upper(order)


@proved_by("T104-edgeworth-remainder")
def _gauss_integral(decay: arb, start: arb, end: arb) -> arb:
    """Bound the integral of u^2 e^{-decay u^2} over start <= u <= end, whatever the sign of decay."""
    if decay > 0:
        between = gamma_between(_three_halves(), decay * start * start, decay * end * end)
        return between / (2 * decay * decay.sqrt())
    return (upper_end(-decay) * end * end).exp() * (end * end * end - start * start * start).max(arb(0)) / 3


def plain_growth(free: arb) -> arb:
    """e_3 = exp(eps^2/6 + eps^2 / (2 (1 - 3 eps)^2))."""
    return (free * free * (arb(1) / 6 + 1 / (2 * _squared(1 - 3 * free)))).exp()


def _general_polynomial(free: arb) -> arb:
    """P_1 = (144 + 48 eps + 4 eps^2 + 96 sqrt(2 eps) + 32 eps + 16 sqrt 2 eps^{3/2}) / 576."""
    root = (2 * free).sqrt()
    return (144 + 80 * free + 4 * free * free + 96 * root + 16 * free * root) / 576


def _general_growth(free: arb) -> arb:
    """e_1 = exp(eps^2 (1/6 + 2 P_1 / (1 - 3 eps)^2))."""
    return (free * free * (arb(1) / 6 + 2 * _general_polynomial(free) / _squared(1 - 3 * free))).exp()


def _identical_polynomial(r: Ratios, free: arb) -> arb:
    """P_2, which tends to 0."""
    root, quarter, twice = r.fourth.sqrt(), r.fourth.root(4), (2 * free).sqrt()
    skewed = 96 * twice * r.skew / quarter + 32 * free * r.skew * r.skew / root + 16 * free * twice * quarter * r.skew
    return 48 * free * root + 4 * free * free * r.fourth + skewed


def identical_growth(r: Ratios, free: arb) -> arb:
    """e_2 = e_3 exp(2 eps^2 P_2 / (576 (1 - 3 eps)^2))."""
    more = 2 * free * free * _identical_polynomial(r, free) / (576 * _squared(1 - 3 * free))
    return plain_growth(free) * more.exp()


def _moment(degree: int) -> arb:
    """The integral of t^{degree + 1} e^{-t^2/2} over t > 0: 2^{d/2} Gamma(d/2 + 1)."""
    half = arb(degree) / 2
    return arb(2) ** half * (half + 1).gamma()


@proved_by("T104-edgeworth-remainder")
def _general_integrals(r: Ratios, free: arb, growth: arb) -> arb:
    """R_{1,n} of the general case: the rest of the expansion near 0, by powers t^5, ..., t^8 of the frequency."""
    gap, x, quarter = _squared(1 - 3 * free), r.fourth, r.fourth.root(4)
    inner = arb(1) / 24 + _general_polynomial(free) / (2 * gap)
    half = quarter * quarter
    logarithm = (x * quarter * _moment(5) / 12 + x * half * _moment(6) * (arb(1) / 48 + arb(1) / 72)
                 + x * half * quarter * _moment(7) / 144 + x * x * _moment(8) / 1152) / gap
    exponential = growth * x * inner * _moment(8) * (x * inner / 2 + r.skew / 6)
    return ball(PSI) / arb.pi() * (logarithm + exponential)


@proved_by("T104-edgeworth-remainder")
def identical_integrals(r: Ratios, free: arb, growth: arb) -> arb:
    """R_{1,n} for one law and n steps. Where the authors' program has less, the larger term stands here (T104)."""
    n, gap, x = r.count or 1, _squared(1 - 3 * free), r.fourth
    inner = (n * x / 12 + 1 / (4 * gap) + _identical_polynomial(r, free) / (576 * gap)) / n
    logarithm = (r.skew * _moment(5) / 6 + (x / 24 + r.skew * r.skew / 36) * _moment(6) + x * r.skew * _moment(7) / 72
                 + x * x * _moment(8) / 576) / (2 * gap * n)
    exponential = growth * (inner * inner.max(arb(1) / n) * _moment(8) / 8 + r.skew * inner * _moment(7) / 12)
    return ball(PSI) / arb.pi() * (logarithm + exponential)


@proved_by("T104-edgeworth-remainder")
def identical_third(r: Ratios, start: arb, end: arb) -> arb:
    """1.0253 2^{5/2} K_3 / (3 pi sqrt n) times Gamma(3/2, start) - Gamma(3/2, end)."""
    factor = ball(PSI) * arb(32).sqrt() * r.third / (3 * arb.pi())
    return factor * gamma_between(_three_halves(), start, end)


PRECISION = 192


@dataclass(frozen=True)
class EdgeworthWitness:
    """tilt t >= -1 of the expanded law; free: the remainder's parameter in (0, 1/3). Any values are valid."""

    tilt: Fraction
    free: Fraction


@dataclass(frozen=True)
class SumMoments:
    """The sum S of a composition under its tilt: log M(t), mean, standard deviation B, cumulants[r] / B^r, remainder.

    cumulants: up to r = 6, standardised; the first three entries are 0, 0, 1. ratios: None where the sum is normal.
    remainder: bound of |F - Edgeworth expansion of order 1|.
    """

    log_mass: arb
    mean: arb
    deviation: arb
    cumulants: tuple[arb, ...]
    ratios: Ratios | None
    remainder: arb

    def standardised(self, x: arb) -> arb:
        """(x - m) / B."""
        return (x - self.mean) / self.deviation


@proved_by("T105-edgeworth-interval")
def enclose_sum(loss: ComposedLoss, witness: EdgeworthWitness) -> SumMoments:
    """Enclose the moments of S under P_t in one pass over the different laws. Raises: Unsupported."""
    parts = [(enclose_loss_moments(law, witness.tilt), count, isinstance(law, GaussianLoss))
             for law, count in timed(loss.laws)]
    with ctx.workprec(PRECISION):
        log_mass = sum((count * moments.mass.log() for moments, count, _ in parts), arb(0))
        mean = sum((count * moments.mean for moments, count, _ in parts), arb(0))
        variance = sum((count * moments.central[2] for moments, count, _ in parts), arb(0))
        deviation = variance.sqrt()
        cumulants = _standardised_cumulants(parts, deviation)
        ratios = _ratios(parts, deviation, cumulants[3])
        remainder = arb(0) if ratios is None else bound_remainder(ratios, witness.free)
        return SumMoments(log_mass, mean, deviation, cumulants, ratios, remainder)


Part = tuple[LossMoments, int, bool]
"""One law's moments, how many steps have it, whether it is the Gaussian one."""


@proved_by("T105-edgeworth-interval")
def _standardised_cumulants(parts: Sequence[Part], deviation: arb) -> tuple[arb, ...]:
    """Cumulants of independent steps add up: kappa_4 = mu_4 - 3 mu_2^2, kappa_5 = mu_5 - 10 mu_2 mu_3, kappa_6."""
    totals = [arb(0)] * (HIGHEST + 1)
    for moments, count, _ in parts:
        _, _, m2, m3, m4, m5, m6 = moments.central
        own = (m3, m4 - 3 * m2 * m2, m5 - 10 * m2 * m3, m6 - 15 * m2 * m4 - 10 * m3 * m3 + 30 * m2 * m2 * m2)
        for r, value in enumerate(own, 3):
            totals[r] += count * value
    power, found = deviation * deviation, [arb(0), arb(0), arb(1)]
    for r in range(3, HIGHEST + 1):
        power *= deviation
        found.append(totals[r] / power)
    return tuple(found)


@proved_by("T105-edgeworth-interval")
def _ratios(parts: Sequence[Part], deviation: arb, skew: arb) -> Ratios | None:
    """The remainder's ratios. A Gaussian step counts as infinitely many: it adds to B alone."""
    rough = [(moments, count) for moments, count, is_normal in parts if not is_normal]
    if not rough:
        return None
    cube = deviation * deviation * deviation
    third = sum((count * moments.absolute[3] for moments, count in rough), arb(0)) / cube
    mixed = sum((count * moments.absolute[1] * moments.central[2] for moments, count in rough), arb(0)) / cube
    fourth = sum((count * moments.central[4] for moments, count in rough), arb(0)) / (cube * deviation)
    return Ratios(abs(skew), third, third + mixed, fourth, parts[0][1] if len(parts) == 1 else None)


@proved_by("T105-edgeworth-interval")
def enclose_tail(moments: SumMoments, x: arb) -> arb:
    """Enclose P_t(S > x): the tail of the expansion, plus or minus the remainder, cut to [0, 1]."""
    z = moments.standardised(x)
    body = normal_tail(z) + moments.cumulants[3] / 6 * (z * z - 1) * _density(z)
    return (body + plus_minus(moments.remainder)).max(arb(0)).min(arb(1))


def _density(z: arb) -> arb:
    return (-(z * z) / 2).exp() / (2 * arb.pi()).sqrt()


@proved_by("T105-edgeworth-interval", "T03-chernoff")
def enclose_published(under_p: SumMoments, under_q: SumMoments, tilted: SumMoments, tilt: Fraction,
                      infinity_mass: arb, epsilon: Fraction) -> Bounds:
    """P(S = inf) + p P(Y > eps) - e^eps r P(X > eps), both at most M(t) e^{-t eps}, their difference C(t) times that.

    under_p, under_q: t = 0 and -1; p = P(S < inf), r = Q(S > -inf). tilted: of a tilt t > 0, for Chernoff's bounds.
    """
    with ctx.workprec(PRECISION):
        eps = ball(epsilon)
        chernoff = upper_end((tilted.log_mass - ball(tilt) * eps).exp())
        first = _cut((1 - infinity_mass) * enclose_tail(under_p, eps), chernoff)
        second = _cut((eps + under_q.log_mass).exp() * enclose_tail(under_q, eps), chernoff)
        budget = {"remainder": under_p.remainder, "amplified_remainder": eps.exp() * under_q.remainder}
        return _assembled(first - second, infinity_mass, chernoff * bound_chernoff_factor(ball(tilt)), budget)


def _cut(value: arb, most: arb) -> arb:
    """The part of the ball in [0, most]."""
    return lower_end(value).max(arb(0)).min(most).union(upper_end(value).min(most).max(arb(0)))


@proved_by("T106-tilted-edgeworth", "T03-chernoff")
def enclose_tilted(tilted: SumMoments, tilt: Fraction, infinity_mass: arb, epsilon: Fraction) -> Bounds:
    """P(S = inf) + M(t) e^{-t eps} (I(tB) - I((t+1)B) +- 2 C(t) remainder), t > 0; at most C(t) M(t) e^{-t eps}."""
    with ctx.workprec(PRECISION):
        eps, t = ball(epsilon), ball(tilt)
        scale, peak = (tilted.log_mass - t * eps).exp(), bound_chernoff_factor(t)
        body = scale * enclose_lifted_expansion(tilted, t, eps, [arb(1), arb(0), arb(0), tilted.cumulants[3] / 6])
        error = upper_end(2 * scale * peak * tilted.remainder)
        return _assembled(body + plus_minus(error), infinity_mass, scale * peak, {"remainder": error})


@proved_by("T105-edgeworth-interval", "T106-tilted-edgeworth")
def _assembled(value: arb, infinity_mass: arb, chernoff: arb, budget: dict[str, arb]) -> Bounds:
    """Infinity mass + value, value cut to [0, chernoff], delta to [0, 1]; what the budget does not name is rounding."""
    inner = _cut(value, upper_end(chernoff))
    lower, upper = lower_end(infinity_mass + lower_end(inner)), upper_end(infinity_mass + upper_end(inner))
    named = {name: upper_end(size).min(arb(1)) for name, size in budget.items()}
    rounding = upper_end((value.rad() - sum(named.values(), arb(0))).max(arb(0))).min(arb(1))
    return Bounds(lower.max(arb(0)), upper.min(arb(1)), {**named, "rounding": rounding})


@proved_by("T106-tilted-edgeworth")
def enclose_lifted_expansion(moments: SumMoments, tilt: arb, x: arb, factors: Sequence[arb]) -> arb:
    """Enclose the integral of e^{-ty} (1 - e^{-y}) phi(z) sum_m factors[m] He_m(z) dz, y = m + Bz - x > 0, t > 0."""
    z, deviation = moments.standardised(x), moments.deviation
    near = enclose_lifted(z, tilt * deviation, len(factors))
    far = enclose_lifted(z, (tilt + 1) * deviation, len(factors))
    return sum((factor * (a - b) for factor, a, b in zip(factors, near, far, strict=True)), arb(0))


@proved_by("T106-tilted-edgeworth")
def enclose_lifted(z: arb, rate: arb, count: int) -> list[arb]:
    """Enclose J_m = integral of e^{-a(u-z)} He_m(u) phi(u) over u > z for m < count.

    J_0 = e^{az + a^2/2} P(Z > z + a), J_m = He_{m-1}(z) phi(z) - a J_{m-1}.
    """
    found = [(rate * z + rate * rate / 2).exp() * normal_tail(z + rate)]
    before, hermite, density = arb(0), arb(1), _density(z)
    for m in range(1, count):
        found.append(hermite * density - rate * found[-1])
        before, hermite = hermite, z * hermite - (m - 1) * before
    return found
