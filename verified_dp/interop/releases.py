"""Events that release something of all records: their mechanisms, each with its theorem or refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from numbers import Number

from verified_dp.core.families.discrete.mechanism import DiscreteGaussian, DiscreteLaplace
from verified_dp.core.families.finite.mechanism import EVERYTHING, ApproximateDP, Finite, RandomizedResponse
from verified_dp.core.families.gaussian.mechanism import MixtureOfGaussians
from verified_dp.core.families.guarantees.mechanism import ZCDP
from verified_dp.core.families.laplace.mechanism import Exponential, Laplace
from verified_dp.core.kernel.composition import Mechanism, Relation
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import count
from verified_dp.core.kernel.mechanisms import MAX_OUTCOMES, Gaussian
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.interop.forms import View, converts, refuse, step_parts
from verified_dp.interop.reading import Parts, Reading


@converts("NoOpDpEvent")
def _no_op(event: View, reading: Reading) -> Parts:
    return ()


@converts("NonPrivateDpEvent")
def _non_private(event: View, reading: Reading) -> Parts:
    if reading.on_sample and reading.relation is Relation.ZERO_OUT:
        refuse("on a sample under zero-out: whether the special record shows is not stated")
    return ((EVERYTHING, 1),)


@converts("UnsupportedDpEvent")
def _unsupported(event: View, reading: Reading) -> Parts:
    refuse("says of itself that nothing is known of it")


@converts("GaussianDpEvent")
def gaussian_parts(event: View, reading: Reading) -> Parts:
    noise = reading.non_negative(event["noise_multiplier"], "noise_multiplier")
    return step_parts(Gaussian(noise) if noise else EVERYTHING, reading)


@converts("LaplaceDpEvent")
@proved_by("T150-shifts-by-norm")
def _laplace(event: View, reading: Reading) -> Parts:
    """A vector of which each record contributes L1 norm 1: replaced records move it by 2."""
    scale = reading.non_negative(event["noise_multiplier"], "noise_multiplier")
    return _shift(partial(Laplace, scale) if scale else _everything, 1, reading)


@converts("DiscreteLaplaceDpEvent")
@proved_by("T150-shifts-by-norm")
def _discrete_laplace(event: View, reading: Reading) -> Parts:
    """Integers of which each record contributes L1 norm `sensitivity`; the noise's scale is 1 / noise_parameter."""
    inverse = reading.non_negative(event["noise_parameter"], "noise_parameter")
    if not inverse:
        refuse("noise_parameter 0 is no distribution: its noise would be infinitely wide")
    norm = reading.whole(event["sensitivity"], "sensitivity")
    return _shift(partial(DiscreteLaplace, 1 / inverse), norm, reading)


def _everything(_: object) -> Mechanism:
    return EVERYTHING


def _shift(make: Callable[[int], Mechanism], norm: int, reading: Reading) -> Parts:
    """Noise of the given law on a vector to which each record contributes at most `norm`."""
    replaced = reading.relation is Relation.REPLACE
    if replaced and reading.on_sample:
        refuse("on a sample under replace: no theorem covers a vector; use add-or-remove")
    return step_parts(make(2 * norm if replaced else norm), reading) if norm else ()


@converts("DiscreteGaussianDpEvent")
@proved_by("T151-discrete-gaussian-vectors")
def _discrete_gaussian(event: View, reading: Reading) -> Parts:
    """One integer: its law; a vector, or nobody says: what its Renyi divergences are at most, rho = D^2 / (2 sigma^2).

    `sensitivity` is that of the query under the relation; an integer changes by at most its integer part.
    """
    sigma = reading.non_negative(event["sigma"], "sigma")
    norm = reading.non_negative(event.get("sensitivity", 1), "sensitivity")
    if reading.on_sample and reading.relation is Relation.REPLACE:
        refuse("on a sample under replace: sensitivity is not that of one record's contribution")
    if norm < 1:  # integers that change by less do not change
        return ()
    if not sigma:
        return step_parts(EVERYTHING, reading)
    if event.get("dimension", None) == 1 and norm < MAX_OUTCOMES + 1:
        return step_parts(DiscreteGaussian(sigma**2, int(norm)), reading)
    return step_parts(ZCDP(norm**2 / (2 * sigma**2)), reading)


@converts("EpsilonDeltaDpEvent")
def _epsilon_delta(event: View, reading: Reading) -> Parts:
    _check_black_box(reading)
    delta = reading.probability(event["delta"], "delta")
    if delta == 1 or _is_infinite(event["epsilon"]):
        return step_parts(EVERYTHING, reading)
    epsilon = reading.non_negative(event["epsilon"], "epsilon")
    return step_parts(ApproximateDP(epsilon, delta), reading) if epsilon or delta else ()


@converts("ExponentialMechanismDpEvent")
def _exponential(event: View, reading: Reading) -> Parts:
    """The exponential mechanism of parameter epsilon has bounded range epsilon."""
    _check_black_box(reading)
    epsilon = reading.non_negative(event["epsilon"], "epsilon")
    return step_parts(Exponential(epsilon), reading) if epsilon else ()


@converts("PermuteAndFlipDpEvent")
def _permute_and_flip(event: View, reading: Reading) -> Parts:
    """Pure epsilon-DP, which is proved; not the Laplace mechanism's law, which is not."""
    _check_black_box(reading)
    epsilon = reading.non_negative(event["epsilon"], "epsilon")
    return step_parts(ApproximateDP(epsilon, 0), reading) if epsilon else ()


@converts("ZCDpEvent")
def _zcdp(event: View, reading: Reading) -> Parts:
    """Renyi divergences at most xi + rho a. rho = 0: the divergence of order infinity, a pure epsilon, is xi."""
    _check_black_box(reading)
    if _is_infinite(event["rho"]):
        return step_parts(EVERYTHING, reading)
    rho, xi = reading.non_negative(event["rho"], "rho"), reading.non_negative(event.get("xi", 0), "xi")
    if not rho:
        return step_parts(ApproximateDP(xi, 0), reading) if xi else ()
    return step_parts(ZCDP(rho, xi), reading)


def _check_black_box(reading: Reading) -> None:
    """What a guarantee between neighbours says of samples: nothing where the missing record is still drawn."""
    if reading.on_sample and reading.relation is not Relation.ADD_OR_REMOVE:
        refuse(f"on a sample under {reading.relation}: its guarantee says nothing of a sample without the record")


def _is_infinite(value: object) -> bool:
    return isinstance(value, float) and math.isinf(value) and value > 0


@converts("RandomizedResponseDpEvent")
@proved_by("T152-response-to-zero-out")
def _randomized_response(event: View, reading: Reading) -> Parts:
    """Zero-out: the special record answers uniformly; the answers that are not the true one are put together."""
    if reading.on_sample:
        refuse("on a sample: an answer that is missing shows who was not asked; leave sampling out")
    noise = reading.probability(event["noise_parameter"], "noise_parameter")
    k = count(reading.whole(event["num_buckets"], "num_buckets"), "num_buckets")
    if k == 1:
        return ()
    if reading.relation is not Relation.ZERO_OUT:
        return step_parts(RandomizedResponse(k, noise_probability=noise) if noise else EVERYTHING, reading)
    truth, even = 1 - noise + noise / Fraction(k), Fraction(1, k)
    return step_parts(Finite([truth, 1 - truth], [even, 1 - even]), reading)


@converts("MixtureOfGaussiansDpEvent")
def _mixture(event: View, reading: Reading) -> Parts:
    """Weights whose floats sum to 1 but for rounding are divided by their sum."""
    if reading.relation is Relation.REPLACE:
        refuse("a mixture of Gaussians under replace: no theorem is implemented; use add-or-remove")
    sigma = reading.non_negative(event["standard_deviation"], "standard_deviation")
    norms = [reading.non_negative(norm, "sensitivities") for norm in event["sensitivities"]]
    weights = [reading.probability(weight, "sampling_probs") for weight in event["sampling_probs"]]
    total = sum(weights, Fraction(0))
    if abs(total - 1) > Fraction(1, 10**9):
        raise InvalidInput("sampling_probs", total, "a list of numbers whose sum is 1, within 1e-9")
    if sigma:
        return step_parts(MixtureOfGaussians(sigma, norms, [weight / total for weight in weights]), reading)
    seen = sum((weight for norm, weight in zip(norms, weights, strict=True) if norm), Fraction(0)) / total
    return revealed_parts(seen, reading)


@converts("SingleEpochTreeAggregationDpEvent")
@proved_by("T153-tree-aggregation")
def _trees(event: View, reading: Reading) -> Parts:
    """One leaf, hence at most `depth` noisy nodes, hold the record: as many Gaussian steps."""
    if reading.relation is not Relation.ZERO_OUT or reading.on_sample:
        refuse("trees are covered under zero-out (REPLACE_SPECIAL), without sampling")
    noise = reading.non_negative(event["noise_multiplier"], "noise_multiplier")
    stated = event["step_counts"]
    counts = [reading.whole(each, "step_counts") for each in ([stated] if isinstance(stated, Number) else stated)]
    if not counts:
        raise InvalidInput("step_counts", stated, "an integer or a list of one or more")
    depth = max(counts).bit_length()  # ceil(log2(steps + 1))
    return step_parts(Gaussian(noise) if noise else EVERYTHING, reading, depth)


@proved_by("T154-revealed-samples")
def revealed_parts(q: Fraction, reading: Reading) -> Parts:
    """The record is seen with probability q: (1-q, q) against (1, 0), replaced (1-q, q, 0) against (1-q, 0, q)."""
    if q == 0:
        return ()
    if q == 1 or reading.on_sample:
        return ((EVERYTHING, 1),) if q == 1 else refuse("reveals its records on a sample of a sample")
    if reading.relation is Relation.REPLACE:
        return step_parts(Finite([1 - q, q, 0], [1 - q, 0, q]), reading)
    return step_parts(Finite([1 - q, q], [1, 0]), reading)
