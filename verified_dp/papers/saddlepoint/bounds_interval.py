"""Untilted moments of losses on an interval, with atoms: Laplace noise, bounded range, samples of them (T103).

Their density is integrated by Arb; for other laws the moments are sums (T94).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch

from flint import acb, arb

from verified_dp.core.engines.tilted_moments import TiltedMoments
from verified_dp.core.families.finite.atomic import AtomicLaw
from verified_dp.core.families.laplace.laplace import BoundedRangeLoss, LaplaceLoss
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball, lower_end
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by

FINE, ROUGH = 60, 30
"""Bits asked of the integrals in the last pass, and in the first, which finds the centre."""
Point = Callable[[acb, bool], tuple[acb, acb]]
"""(x, must be analytic there) -> (density of P at x, loss at x)."""


def mirrored(moments: TiltedMoments) -> TiltedMoments:
    """Of minus the loss."""
    return TiltedMoments(moments.mass, -moments.centre, [-v if i % 2 else v for i, v in enumerate(moments.values, 1)])


@dataclass(frozen=True)
class LossDensity:
    """The finite loss under P: atoms (loss, mass), and a density along [-reach, reach]; point None: atoms alone."""

    atoms: list[tuple[arb, arb]]
    point: Point | None
    reach: arb


@proved_by("T103-loss-moments")
def enclose_interval_moments(law: Law, order: int) -> TiltedMoments:
    """Enclose P(L < inf) and E (L - c)^i, i = 1..order, given L < inf; the centre is an exact number near the mean.

    Raises Unsupported where the law has no description as atoms and a density on an interval.
    """
    density = describe_loss(law)
    mass, first = _enclose_raw(density, arb(0), 1, ROUGH)
    mean = lower_end(first / mass)
    centre = mean if mean.is_finite() else arb(0)
    mass, *raw = _enclose_raw(density, centre, order, FINE)
    return TiltedMoments(mass, centre, [value / mass for value in raw])


@proved_by("T103-loss-moments")
def _enclose_raw(density: LossDensity, centre: arb, order: int, bits: int) -> list[arb]:
    """Enclose E_P[(L - c)^i; L < inf] for i = 0..order."""
    found = [arb(0)] * (order + 1)
    for loss, mass in density.atoms:
        for i in range(order + 1):
            found[i] += mass
            mass *= loss - centre
    if density.point is None:
        return found
    goal, least = arb(2) ** -bits, arb(2) ** -(bits * (order + 2))
    return [value + acb.integral(_integrand(density.point, centre, i), -density.reach, density.reach, rel_tol=goal,
                                 abs_tol=least).real for i, value in enumerate(found)]


def _integrand(point: Point, centre: arb, power: int) -> Callable[[acb, bool], acb]:
    """x -> density (loss - c)^power."""
    def value(x: acb, analytic: bool) -> acb:
        result, loss = point(x, analytic)
        for _ in range(power):
            result *= loss - centre
        return result

    return value


@singledispatch
def describe_loss(law: Law) -> LossDensity:
    """The finite loss of a law as atoms and a density."""
    raise Unsupported(
        f"no transform of {type(law).__name__} is known, nor its untilted moments: the expansions take Gaussian and "
        "Laplace noise, their Poisson samples, mixtures of Gaussians, bounded range, finite laws; use auto", "method")


@describe_loss.register
def _atomic(law: AtomicLaw) -> LossDensity:
    return LossDensity(law.enclose_loss_atoms(), None, arb(0))


@describe_loss.register(LaplaceLoss)
@describe_loss.register(BoundedRangeLoss)
@proved_by("T103-loss-moments")
def _interval(law: LaplaceLoss | BoundedRangeLoss) -> LossDensity:
    """Along the loss itself: the density is e^{x/2} times its value at 0, on (-mu, mu)."""
    middle = law.enclose_density(arb(0))

    def point(x: acb, analytic: bool) -> tuple[acb, acb]:
        return middle * (x / 2).exp(), x

    return LossDensity(law.enclose_loss_atoms() or [], point, ball(law.largest_loss()))


@describe_loss.register
@proved_by("T103-loss-moments", "T49-sampled")
def _sampled(law: SampledLoss) -> LossDensity:
    """Along the base's loss l: remove ((1-q) e^{-l} + q) P1 with loss log m, m = 1 - q + q e^l; add e^{-l} P1, -log m.

    Asks a base of finite range whose P0 lives where P1 does.
    """
    base, q = law.base.in_order("remove"), ball(law.probability)
    if not isinstance(base, LaplaceLoss | BoundedRangeLoss | AtomicLaw) or not (
            base.in_order("add").enclose_infinity_mass().is_zero()):
        raise Unsupported(f"the expansions have no moments of sampled {type(base).__name__}", "method")
    plain, sign = describe_loss(base), 1 if law.order == "remove" else -1
    inner = plain.point

    def step(mass: acb, loss: acb, analytic: bool) -> tuple[acb, acb]:
        mixed = 1 - q + q * loss.exp()
        without = mass * (-loss).exp()
        return (without * mixed if sign > 0 else without), sign * mixed.log(analytic=analytic)

    def point(x: acb, analytic: bool) -> tuple[acb, acb]:
        return step(*(inner(x, analytic) if inner is not None else (x, x)), analytic)

    atoms = [(loss.real, mass.real) for mass, loss in (step(acb(p), acb(x), False) for x, p in plain.atoms)]
    return LossDensity(atoms, None if inner is None else point, plain.reach)
