"""What the pairs of releases other than Gaussians share on Poisson samples: mixtures, and shifts drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn

from verified_dp.core.families.sampling.steps import Setting
from verified_dp.core.families.table import for_variants
from verified_dp.core.kernel.composition import Mixture
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.mechanisms import MAX_OUTCOMES, Release
from verified_dp.core.kernel.steps import DominatingPair, Step, refuse
from verified_dp.core.kernel.theorems import proved_by


def mixed_pair(base: DominatingPair, setting: Setting, *theorems: str) -> DominatingPair:
    q = setting.probability
    mixed = f"{shown(1 - q)} Q0 + {shown(q)} P0 with P0 = {base.P}, Q0 = {base.Q}"
    return setting.pair(mixed, base.Q, *theorems, *base.theorems, tight=base.tight)


def refuse_sample(kind: str, setting: Setting) -> NoReturn:
    """Unsupported, with the reason."""
    if setting.records > 1:
        raise Unsupported(
            f"{kind} on a Poisson sample with group_size {setting.records} under {setting.relation}: proven for "
            "Gaussian noise, and for one number with Laplace, discrete Laplace or discrete Gaussian noise",
            "group_size")
    refuse(f"{kind} on a Poisson sample", setting.relation,
           "what it states says nothing of a batch without either record; use add-or-remove")


@for_variants
@proved_by("T74-sampled-shifts")
def random_shift(inner: Release, setting: Setting) -> Step:
    """The step of a release on a Poisson sample of replaced records, or of groups."""
    refuse_sample(inner.stated.name, setting)


@proved_by("T74-sampled-shifts", "T42-pair-shift")
def shifted_sample(inner: Release, setting: Setting, distance: Fraction | int,
                   law_of: Callable[[Mixture, Mixture, str], Law]) -> Step:
    """Log-concave noise; each sampled record of the group moves it by `distance` (T74)."""
    if isinstance(distance, int) and setting.records * distance > MAX_OUTCOMES:
        raise Unsupported(f"sums over more than {MAX_OUTCOMES} outcomes take too long", "group_size")
    above, below = setting.mixtures(distance)
    noise = f"n + {inner.stated.name} noise"
    n = f"n = {shown(distance)} Bin({setting.records}, {shown(setting.probability)})"
    other = f"-n + {inner.stated.name} noise, {n}" if setting.order == "symmetric" else f"{inner.stated.name} noise"
    pair = setting.pair(f"{noise}, {n}", other, "T74-sampled-shifts", "T42-pair-shift", tight=False)
    if setting.probability == 0:
        return Step(pair)
    law = law_of(above, below, "symmetric" if setting.order == "symmetric" else "remove")
    return Step(pair, law.in_order(setting.order))
