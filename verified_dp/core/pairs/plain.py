"""One step's dominating pair in one order: in words with its theorem, and as a law; Unsupported without one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from typing import NoReturn

from verified_dp.core.composition import Relation, WithoutReplacement, WithReplacement
from verified_dp.core.errors import Unsupported
from verified_dp.core.exact import SquareRoot
from verified_dp.core.exact import fraction_text as shown
from verified_dp.core.laws.atomic import DiscreteLaplaceLoss, FiniteLoss, OddsLoss
from verified_dp.core.laws.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.laws.fixed_batch import FixedBatchLoss
from verified_dp.core.laws.laplace import BoundedRangeLoss, LaplaceLoss
from verified_dp.core.laws.law import Law
from verified_dp.core.laws.mixture import MixtureLoss
from verified_dp.core.laws.renyi import RenyiLoss, ZCDPLoss
from verified_dp.core.laws.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.mechanisms import (
    ZCDP,
    ApproximateDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Finite,
    Gaussian,
    GaussianDP,
    Laplace,
    MixtureOfGaussians,
    RandomizedResponse,
    Renyi,
)
from verified_dp.core.mixture_lines import Component
from verified_dp.core.theorems import proved_by


@dataclass(frozen=True)
class DominatingPair:
    """One step's pair in one order, in words, its theorems, and whether data sets of the relation realise it.

    tight: compositions of the pair are attained by data sets of the relation; else the pair only bounds from above.
    """

    order: str
    P: str
    Q: str
    theorems: tuple[str, ...]
    tight: bool


@dataclass(frozen=True)
class Step:
    """One step in one order: its law, or the squared mean shift of a Gaussian, or neither (nothing is revealed).

    copies: how many independent copies of the law the step consists of.
    """

    pair: DominatingPair
    law: Law | None = None
    shift_squared: Fraction = Fraction(0)
    copies: int = 1


def pair_in_order(order: str, P: str, Q: str, *theorems: str, tight: bool = True) -> DominatingPair:
    """P and Q as of the remove order: swapped in the add order."""
    first, second = (Q, P) if order == "add" else (P, Q)
    return DominatingPair(order, first, second, theorems, tight)


def refuse(what: str, relation: Relation, reason: str) -> NoReturn:
    raise Unsupported(f"{what} under {relation}: {reason}", "relation")


@singledispatch
def step_of(mechanism: object, order: str, relation: Relation) -> Step:
    """The step in that order of the relation; Unsupported where no theorem covers it."""
    raise Unsupported(f"no dominating pair is proven for {type(mechanism).__name__}")


@step_of.register
@proved_by("T23-pair-gaussian")
def _gaussian(mechanism: Gaussian, order: str, relation: Relation) -> Step:
    shift = mean_distance(mechanism, relation)
    theorems = ("T23-pair-gaussian", *zero_out(relation))
    return Step(DominatingPair(order, f"N({shown(shift)}, 1)", "N(0, 1)", theorems, True), shift_squared=shift**2)


def mean_distance(mechanism: Gaussian, relation: Relation) -> Fraction:
    """Distance between the two means in units of sigma, before any sampling.

    One norm per record that contributes: 1 / noise_multiplier, under replace 2 / noise_multiplier;
    sensitivity / sigma in the other form, where the sensitivity is already that of the relation.
    """
    if mechanism.noise_multiplier is not None:
        return (2 if relation is Relation.REPLACE else 1) / mechanism.noise_multiplier
    return Fraction(mechanism.sensitivity or 0) / Fraction(mechanism.sigma or 1)  # both are set in this form


def zero_out(relation: Relation) -> tuple[str, ...]:
    """What is needed besides the pair of add or remove."""
    return _no_record() if relation is Relation.ZERO_OUT else ()


@proved_by("T24-pair-zero-out")
def _no_record() -> tuple[str, ...]:
    """A record that contributes zero is no record: the pairs of add or remove dominate zero-out too."""
    return ("T24-pair-zero-out",)


@step_of.register
@proved_by("T52-without-replacement")
def _without(mechanism: WithoutReplacement, order: str, relation: Relation) -> Step:
    """q = 1 uses every record, hence is the plain Gaussian; q = 0 uses none."""
    q, s = mechanism.probability, Fraction(mechanism.mechanism.noise_multiplier or 0)
    if relation not in (Relation.REPLACE, Relation.ZERO_OUT):
        return displaced_step(s, ((0, 1 - q), (1, q)), order, "", tight=q < 1)
    pair = DominatingPair(
        order, f"for alpha >= 1: {shown(1 - q)} N(0, ({shown(s)})^2) + {shown(q)} N(2, ({shown(s)})^2)",
        f"for alpha >= 1: N(0, ({shown(s)})^2); alpha < 1 by reversal", ("T52-without-replacement",), False)
    if q == 1:
        return Step(pair, shift_squared=(2 / s) ** 2)
    return Step(pair, FixedBatchLoss(q, s) if q else None)


@proved_by("T142-displaced-records")
def displaced_step(s: Fraction, draws: Iterable[tuple[int, Fraction]], order: str, short: str, *,
                   tight: bool) -> Step:
    """The record is drawn n times, with these probabilities, each time in another's place: the mean moves by 2 n.

    short: the mixture in words where it is long.
    """
    above = tuple((Fraction(2 * n), weight) for n, weight in draws if weight)
    pair = pair_in_order(order, mixture_words(above, s, short), f"N(0, ({shown(s)})^2)", "T142-displaced-records",
                         tight=tight)
    return mixture_step(pair, s, above)


def mixture_words(mixture: Sequence[Component], s: Fraction | SquareRoot, short: str) -> str:
    """The components by their distance from 0, a weight of 1 left out; `short` in place of more than five."""
    if len(mixture) > _LONGEST_SUM:
        return short
    inner = sorted(mixture, key=lambda component: abs(component[0]))  # exact: fractions
    return " + ".join(f"{shown(weight)} " * (weight != 1) + f"N({shown(mean)}, ({shown(s)})^2)"
                      for mean, weight in inner)


_LONGEST_SUM = 5


@step_of.register
def _with(mechanism: WithReplacement, order: str, relation: Relation) -> Step:
    return with_replacement(mechanism, order, relation)


@proved_by("T53-with-replacement")
def with_replacement(mechanism: WithReplacement, order: str, relation: Relation, group_size: int = 1) -> Step:
    """Each draw of a record that is replaced moves the mean by at most 2."""
    s = Fraction(mechanism.mechanism.noise_multiplier or 0)
    weights = [(n, weight) for n, weight in enumerate(mechanism.multiplicities(group_size)) if weight]
    law = f"n = Bin({mechanism.draws}, {shown(Fraction(group_size, mechanism.population))})"
    moved = f"N(2n, ({shown(s)})^2), {law}"
    if relation not in (Relation.REPLACE, Relation.ZERO_OUT):
        if group_size > 1:
            refuse("a group under sampling with replacement", relation, "no theorem covers a change of their number")
        return displaced_step(s, weights, order, moved, tight=mechanism.population > 1)
    above = tuple((Fraction(2 * n), weight) for n, weight in weights)
    below = tuple((-mean, weight) for mean, weight in reversed(above))
    pair = DominatingPair(order, moved, f"N(-2n, ({shown(s)})^2), {law}", ("T53-with-replacement",), False)
    return Step(pair, MixtureLoss(s, above, below, "symmetric"))


@step_of.register
@proved_by("T42-pair-shift")
def _laplace(mechanism: Laplace, order: str, relation: Relation) -> Step:
    mu = mechanism.ratio
    return Step(pair_in_order(order, f"Laplace({shown(mu)}, 1)", "Laplace(0, 1)", "T42-pair-shift"), LaplaceLoss(mu))


@step_of.register
@proved_by("T42-pair-shift")
def _discrete_laplace(mechanism: DiscreteLaplace, order: str, relation: Relation) -> Step:
    b, shift = mechanism.scale, mechanism.sensitivity
    pair = pair_in_order(order, f"discrete Laplace({shift}, {shown(b)})", f"discrete Laplace(0, {shown(b)})",
                         "T42-pair-shift")
    return Step(pair, DiscreteLaplaceLoss(b, shift))


@step_of.register
@proved_by("T42-pair-shift")
def _discrete_gaussian(mechanism: DiscreteGaussian, order: str, relation: Relation) -> Step:
    s2, shift = mechanism.sigma_squared, mechanism.sensitivity
    pair = pair_in_order(order, f"discrete Gaussian({shift}, {shown(s2)})", f"discrete Gaussian(0, {shown(s2)})",
                         "T42-pair-shift")
    return Step(pair, DiscreteGaussianLoss(s2, shift))


@step_of.register
@proved_by("T54-randomized-response")
def _randomized_response(mechanism: RandomizedResponse, order: str, relation: Relation) -> Step:
    if relation is not Relation.REPLACE:
        refuse("randomised response", relation, "an answer that is missing tells who is missing; use replace")
    k, law = mechanism.categories, _response(mechanism)
    return Step(DominatingPair(order, f"answers of category 1 of {k}", f"answers of category 2 of {k}",
                               ("T54-randomized-response",), True), law)


def _response(mechanism: RandomizedResponse) -> Law | None:
    others = mechanism.categories - 2
    if mechanism.epsilon is not None:
        return OddsLoss(mechanism.epsilon, Fraction(0), others)
    true, false = mechanism.truth, (1 - mechanism.truth) / (mechanism.categories - 1)
    if true == false:
        return None
    neutral = ((others * false, others * false),) if others * false else ()
    return FiniteLoss((*sorted([(true, false), (false, true)]), *neutral), "symmetric")  # exact: fractions


@step_of.register
@proved_by("T55-finite")
def _finite(mechanism: Finite, order: str, relation: Relation) -> Step:
    if order == "symmetric" and not mechanism.is_symmetric():
        refuse("a finite pair that is not its own mirror image", relation,
                "neighbours may come in either direction at every step")
    pair = pair_in_order(order, "the stated P", "the stated Q", "T55-finite")
    law = FiniteLoss(mechanism.masses(), "symmetric" if order == "symmetric" else "remove").in_order(order)
    return Step(pair, law if any(p != q for p, q in law.masses) else None)


@step_of.register
@proved_by("T56-approximate-dp")
def _approximate_dp(mechanism: ApproximateDP, order: str, relation: Relation) -> Step:
    e, d = mechanism.epsilon, mechanism.delta
    odds = f"(1 + e^{shown(e)})"
    pair = pair_in_order(order, f"{shown(d)} at 'surely P', {shown(1 - d)} (e^{shown(e)}, 1)/{odds}",
                         f"{shown(d)} at 'surely Q', {shown(1 - d)} (1, e^{shown(e)})/{odds}",
                         "T56-approximate-dp", tight=False)
    return Step(pair, OddsLoss(e, d, 0) if e or d else None)


@step_of.register
@proved_by("T57-gaussian-dp")
def _gaussian_dp(mechanism: GaussianDP, order: str, relation: Relation) -> Step:
    pair = pair_in_order(order, f"N({shown(mechanism.mu)}, 1)", "N(0, 1)", "T57-gaussian-dp", tight=False)
    return Step(pair, shift_squared=mechanism.mu**2)


@step_of.register
@proved_by("T58-pair-mixture")
def _mixture(mechanism: MixtureOfGaussians, order: str, relation: Relation) -> Step:
    if order == "symmetric":
        refuse("a mixture of Gaussians", relation, "no theorem is implemented; use add-or-remove")
    s, above = mechanism.sigma, tuple(zip(mechanism.sensitivities, mechanism.probabilities, strict=True))
    words = mixture_words(above, s, f"sum over i of p_i N(c_i, ({shown(s)})^2), probabilities p and sensitivities c")
    pair = pair_in_order(order, words, f"N(0, ({shown(s)})^2)", "T58-pair-mixture", *zero_out(relation))
    return mixture_step(pair, s, above)


@proved_by("T58-pair-mixture")
def mixture_step(pair: DominatingPair, sigma: Fraction, above: tuple[Component, ...]) -> Step:
    """The mixture against N(0, sigma^2): one norm is a Gaussian, 0 and one other a sampled Gaussian."""
    if all(norm == 0 for norm, _ in above):
        return Step(pair)
    if len(above) == 1:
        return Step(pair, shift_squared=(above[0][0] / sigma) ** 2)
    if len(above) == 2 and above[0][0] == 0:
        norm, weight = above[1]
        return Step(pair, SampledGaussianLoss(weight, sigma / norm, pair.order))
    return Step(pair, MixtureLoss(sigma, above, ((Fraction(0), Fraction(1)),), "remove").in_order(pair.order))


@step_of.register
@proved_by("T43-bounded-range")
def _exponential(mechanism: Exponential, order: str, relation: Relation) -> Step:
    mu = mechanism.bounded_range
    curve = f"sup over all pairs of range {shown(mu)}"
    return Step(pair_in_order(order, curve, curve, "T43-bounded-range", tight=False), BoundedRangeLoss(mu))


@step_of.register
@proved_by("T65-renyi-composition", "T66-moment-laws")
def _zcdp(mechanism: ZCDP, order: str, relation: Relation) -> Step:
    """No pair is known: bounds on the moments of the loss alone. With rho = 0 it is xi-DP (T66 (e))."""
    rho, xi = mechanism.rho, mechanism.xi or Fraction(0)
    if xi and not rho:
        pure = step_of(ApproximateDP(xi, 0), order, relation)
        return replace(pure, pair=replace(pure.pair, theorems=("T66-moment-laws", *pure.pair.theorems)))
    law = ZCDPLoss(rho, xi=xi) if rho else None
    return Step(_unknown(order, f"D_a <= {f'{shown(xi)} + ' * bool(xi)}{shown(rho)} a for all a > 1"), law)


@step_of.register
@proved_by("T65-renyi-composition", "T66-moment-laws")
def _renyi(mechanism: Renyi, order: str, relation: Relation) -> Step:
    """No pair is known: bounds on the moments of the loss alone. A divergence of 0 means that nothing is revealed."""
    law = RenyiLoss.of_divergences(mechanism.divergences) if all(mechanism.epsilons) else None
    return Step(_unknown(order, ", ".join(f"D_{shown(a)} <= {shown(e)}" for a, e in mechanism.divergences)), law)


def _unknown(order: str, bounds: str) -> DominatingPair:
    return DominatingPair(order, f"any P with {bounds}", "any Q with the same bounds when P and Q are exchanged",
                          ("T65-renyi-composition", "T66-moment-laws"), False)
