"""Dominating pairs of releases other than Gaussians, and of compositions, on Poisson samples."""

from __future__ import annotations

from fractions import Fraction

from verified_dp.core.families.sampling.pair import gaussian_sample
from verified_dp.core.families.sampling.shifts import mixed_pair, random_shift, refuse_sample
from verified_dp.core.families.sampling.steps import Setting
from verified_dp.core.kernel.composition import Composition, Relation
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.exact import square_root
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.mechanisms import Gaussian, Release
from verified_dp.core.kernel.steps import DominatingPair, Step, refuse, step_of
from verified_dp.core.kernel.theorems import proved_by


def any_sample(inner: object, setting: Setting) -> Step:
    """The step of a release, or of a composition, on a Poisson sample."""
    if isinstance(inner, Composition):
        return _composition_sample(inner, setting)
    if isinstance(inner, Release):
        return _release_sample(inner, setting)
    raise Unsupported(f"no dominating pair is proven for samples of {type(inner).__name__}")


@proved_by("T25-composition")
def _release_sample(inner: Release, setting: Setting) -> Step:
    """One record that is there or not is T49; replaced records and groups are random shifts where that is proven."""
    return (release_sample if setting.is_plain else random_shift)(inner, setting)


@proved_by("T49-sampled")
def release_sample(inner: Release, setting: Setting) -> Step:
    """Whatever has a pair: ((1-q) Q0 + q P0, Q0)."""
    base = step_of(inner, "remove", setting.relation)
    return Step(mixed_pair(base.pair, setting, "T49-sampled"), _sample(base.law, setting))


def _sample(law: Law | None, setting: Setting) -> Law | None:
    """q = 0 reveals nothing and q = 1 is no sampling; some laws are known more closely."""
    q, order = setting.probability, setting.order
    if law is None or q == 0:
        return None
    if q == 1:
        return law.in_order(order)
    from verified_dp.core.families.sampling.sampled import SampledLoss  # of all but Gaussians

    return law.on_sample(q, order) or SampledLoss(law, q, order)


@proved_by("T73-sampled-composition", "T49-sampled", "T15-gaussian")
def _composition_sample(inner: Composition, setting: Setting) -> Step:
    """One sample, several releases: T49 with their composition as the step; Gaussians alone are one Gaussian."""
    steps = _steps(inner, "remove")
    shift_squared = sum((count * step.shift_squared for step, count in steps), Fraction(0))
    laws = [(step.law, count) for step, count in steps if step.law is not None]
    theorems = ("T73-sampled-composition", *dict.fromkeys(t for step, _ in steps for t in step.pair.theorems))
    tight = all(step.pair.tight for step, _ in steps)
    if not laws and shift_squared:
        if setting.order == "symmetric" and any(not isinstance(part, Gaussian) for part, _ in inner.parts):
            refuse_sample("a composition with gaussian-dp", setting)
        return gaussian_sample(square_root(1 / shift_squared), setting, *theorems, tight=tight)
    if setting.records == 1 and setting.order == "symmetric":
        refuse("a composition on a Poisson sample", setting.relation,
               "proven where all its releases are Gaussian; use add-or-remove")
    if not setting.is_plain:
        refuse_sample("a composition that is not of Gaussians alone", setting)
    P, Q = (" x ".join(f"({text})^{count}" for text, count in texts) for texts in
            ([(step.pair.P, count) for step, count in steps], [(step.pair.Q, count) for step, count in steps]))
    base = DominatingPair("remove", P, Q, theorems, tight)
    if laws and (shift_squared or any(law.only_moments for law, _ in laws)):
        from verified_dp.core.families.guarantees.sampled import by_moments  # seldom needed

        return by_moments(base, steps, _steps(inner, "add"), setting)
    return Step(mixed_pair(base, setting, "T49-sampled"), _sample(_base_law(laws, setting), setting))


def _steps(inner: Composition, order: str) -> list[tuple[Step, int]]:
    return [(step_of(part, order, Relation(order)), count) for part, count in inner.merged()]


def _base_law(laws: list[tuple[Law, int]], setting: Setting) -> Law | None:
    """The law of all releases of one sample, where its hockey-stick is known in closed form."""
    from verified_dp.core.families.finite.closed_law import enclosed_product  # of finite laws: seldom needed

    if not laws:
        return None
    if len(laws) == 1 and laws[0][1] == 1:
        return laws[0][0]
    product = enclosed_product(laws)
    if product is None:
        refuse("a composition of so many releases, or of this noise, on one sample", setting.relation,
               "its hockey-stick has no closed form that is quick enough; proven for Gaussians, and for a few Laplace, "
               "discrete Laplace, finite, exponential or approximate-dp releases")
    return product
