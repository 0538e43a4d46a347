"""The dominating pair of a step on a Poisson sample: what families say of their mechanisms, and what is shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.families.sampling.checks import binomial_weights
from verified_dp.core.families.table import for_variants
from verified_dp.core.kernel.composition import Component, Relation
from verified_dp.core.kernel.exact import SquareRoot
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.steps import DominatingPair, Step, pair_in_order, zero_out


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


@for_variants
def sampled_step(inner: object, setting: Setting) -> Step:
    """The step of a mechanism on a Poisson sample: here of a release, or a composition, as of any."""
    from verified_dp.core.families.sampling.releases import any_sample  # of all but Gaussians

    return any_sample(inner, setting)


def mixture_words(mixture: Sequence[Component], s: Fraction | SquareRoot, short: str) -> str:
    """The components by their distance from 0, a weight of 1 left out; `short` in place of more than five."""
    if len(mixture) > _LONGEST_SUM:
        return short
    inner = sorted(mixture, key=lambda component: abs(component[0]))  # exact: fractions
    return " + ".join(f"{shown(weight)} " * (weight != 1) + f"N({shown(mean)}, ({shown(s)})^2)"
                      for mean, weight in inner)


_LONGEST_SUM = 5
