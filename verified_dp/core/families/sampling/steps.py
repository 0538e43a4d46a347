"""The dominating pair of a step on a Poisson sample: what families say of their mechanisms, and what is shared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from verified_dp.core.families.sampling.checks import binomial_weights
from verified_dp.core.families.table import for_variants
from verified_dp.core.kernel.composition import Component, Mixture, Relation
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.exact import SquareRoot
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.mechanisms import MAX_OUTCOMES, Release
from verified_dp.core.kernel.steps import DominatingPair, Step, pair_in_order, refuse, zero_out
from verified_dp.core.kernel.theorems import proved_by


@dataclass(frozen=True)
class Setting:
    """Under which conditions a step on a Poisson sample is looked at; `records` change together."""

    probability: Fraction
    order: str
    relation: Relation
    records: int = 1

    @property
    def is_plain(self) -> bool:
        """One record which is there or not: what T49 covers."""
        return self.order != "symmetric" and self.records == 1

    def pair(self, P: str, Q: str, *theorems: str, tight: bool = True) -> DominatingPair:
        """P and Q as of the remove order, with what the relation needs besides."""
        return pair_in_order(self.order, P, Q, *theorems, *zero_out(self.relation), tight=tight)

    def mixtures(self, shift: Fraction | int) -> tuple[tuple[Component, ...], tuple[Component, ...]]:
        """Means and weights of (P, Q) where each sampled record of the group moves the mean by `shift` (T72, T74)."""
        weights = enumerate(binomial_weights(self.records, self.probability))
        present = tuple((Fraction(n * shift), weight) for n, weight in weights if weight)
        if self.order != "symmetric":
            return present, ((Fraction(0), Fraction(1)),)
        return present, tuple((-mean, weight) for mean, weight in reversed(present))


def mixed_pair(base: DominatingPair, setting: Setting, *theorems: str) -> DominatingPair:
    q = setting.probability
    mixed = f"{shown(1 - q)} Q0 + {shown(q)} P0 with P0 = {base.P}, Q0 = {base.Q}"
    return setting.pair(mixed, base.Q, *theorems, *base.theorems, tight=base.tight)


@for_variants
def sampled_step(inner: object, setting: Setting) -> Step:
    """The step of a mechanism on a Poisson sample: here of a release, or a composition, as of any."""
    from verified_dp.core.families.sampling.releases import any_sample  # of all but Gaussians

    return any_sample(inner, setting)


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


def mixture_words(mixture: Sequence[Component], s: Fraction | SquareRoot, short: str) -> str:
    """The components by their distance from 0, a weight of 1 left out; `short` in place of more than five."""
    if len(mixture) > _LONGEST_SUM:
        return short
    inner = sorted(mixture, key=lambda component: abs(component[0]))  # exact: fractions
    return " + ".join(f"{shown(weight)} " * (weight != 1) + f"N({shown(mean)}, ({shown(s)})^2)"
                      for mean, weight in inner)


_LONGEST_SUM = 5
