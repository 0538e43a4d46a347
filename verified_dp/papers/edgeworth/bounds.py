"""delta(eps) by the first-order Edgeworth expansion with its remainder, as published (T105) and tilted (T106).

Y is the sum of the losses under P, X that under Q; F(x) = Phi(z) + l (1 - z^2) phi(z)/6 +- remainder, z = (x - m)/B:

    published   delta(eps) = 1 - F_Y(eps) - e^eps (1 - F_X(eps))
    tilted      delta(eps) = P(S = inf) + M(t) e^{-t eps} E_t[e^{-ty} (1 - e^{-y}); y > 0], y = S - eps

The last expectation differs from that of the expansion by at most 2 C(t) remainder, C(t) = t^t / (1+t)^{1+t}.
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
from verified_dp.papers.edgeworth.bounds_remainder import Ratios, bound_remainder

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
             for law, count in loss.laws]
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


@proved_by("T107-edgeworth-inversion")
def bound_search_range(tilted: SumMoments, tilt: Fraction, infinity_mass: arb, target: Fraction) -> arb:
    """Bound eps beyond which the upper curve is at most target: (log M(t) + log C(t) - log(target - P(S = inf))) / t.

    At least 0; +inf where target is not above the infinity mass. t > 0.
    """
    with ctx.workprec(PRECISION):
        room = ball(target) - infinity_mass
        if not room > 0:
            return arb.pos_inf()
        level = tilted.log_mass + bound_chernoff_factor(ball(tilt)).log() - room.log()
        return upper_end(level / ball(tilt)).max(arb(0))


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
