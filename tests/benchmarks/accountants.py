"""Every accountant: (case, "delta" or "epsilon") -> (lower, number, upper), what it does not state being None.

NotApplicable where an accountant has no such mechanism. Libraries are imported when they are asked.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from cases import Case, Step

Answer = tuple[Any, Any, Any]


class NotApplicable(Exception):
    """The accountant has no such mechanism, composition or question."""


def forget() -> None:
    """Clear what this package kept of the last call, tables included: no answer is quick because it was just given."""
    for name, module in list(sys.modules.items()):
        if name.startswith("verified_dp"):
            for part in list(vars(module).values()):
                if hasattr(part, "cache_clear"):
                    part.cache_clear()


def ours(case: Case, quantity: str, digits: int) -> Answer:
    """This package: a certified enclosure of both orders."""
    profile = our_profile(case)
    found = (profile.delta(case.epsilon, digits=digits) if quantity == "delta"
             else profile.epsilon(case.delta, digits=digits))
    return found.lower_decimal, f"{found.method}, {found.status}", found.upper_decimal


def our_profile(case: Case) -> Any:
    """The privacy profile of a case."""
    from verified_dp import compose, privacy_profile

    return privacy_profile(compose(*((_our_step(step), step.count) for step in case.steps)), "add-or-remove")


def before(case: Case, quantity: str, digits: int) -> Answer:
    """Another version of this package, which the caller put before this one on the path: its upper end."""
    lower, _, upper = ours(case, quantity, digits)
    return lower, upper, upper


def _our_step(step: Step) -> Any:
    import verified_dp.mechanisms as v

    build: dict[str, Callable[..., Any]] = {
        "gaussian": v.Gaussian,
        "sampled-gaussian": lambda q, s: v.PoissonSampled(v.Gaussian(s), q),
        "laplace": lambda scale: v.Laplace(scale, "1"),
        "sampled-laplace": lambda q, scale: v.PoissonSampled(v.Laplace(scale, "1"), q),
        "sampled-discrete-gaussian": lambda q, variance: v.PoissonSampled(v.DiscreteGaussian(variance, 1), q),
        "discrete-laplace": lambda scale: v.DiscreteLaplace(scale, 1),
        "discrete-gaussian": lambda variance: v.DiscreteGaussian(variance, 1),
        "approximate-dp": v.ApproximateDP,
        "mixture-of-gaussians": lambda sigma, norms, weights: v.MixtureOfGaussians(
            sigma, norms.split(), weights.split()),
        "random-allocation": lambda s, rounds: v.RandomAllocation(v.Gaussian(s), int(rounds)),
    }
    return build[step.kind](*step.numbers)


def dp_accounting(case: Case, quantity: str, interval: float) -> Answer:
    """dp_accounting's privacy loss distributions, pessimistic: an upper bound, up to rounding."""
    composed = dp_accounting_law(case, interval)
    value = (composed.get_delta_for_epsilon(float(case.epsilon)) if quantity == "delta"
             else composed.get_epsilon_for_delta(float(case.delta)))
    return None, float(value), None


def dp_accounting_law(case: Case, interval: float) -> Any:
    """Its privacy loss distribution of a case on a grid. Raises NotApplicable."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    build: dict[str, Callable[..., Any]] = {
        "sampled-gaussian": lambda q, s: partial(pld.from_gaussian_mechanism, float(s), sampling_prob=float(q)),
        "gaussian": lambda s: partial(pld.from_gaussian_mechanism, float(s)),
        "laplace": lambda scale: partial(pld.from_laplace_mechanism, float(scale)),
        "sampled-laplace": lambda q, scale: partial(pld.from_laplace_mechanism, float(scale), sampling_prob=float(q)),
        "sampled-discrete-gaussian": lambda q, variance: partial(
            pld.from_discrete_gaussian_mechanism, math.sqrt(float(variance)), sampling_prob=float(q)),
        "discrete-laplace": lambda scale: partial(pld.from_discrete_laplace_mechanism, 1 / float(scale)),
        "discrete-gaussian": lambda variance: partial(pld.from_discrete_gaussian_mechanism, math.sqrt(float(variance))),
        "approximate-dp": lambda epsilon, delta: partial(_from_privacy_parameters, float(epsilon), float(delta)),
        "mixture-of-gaussians": lambda sigma, norms, weights: partial(
            pld.from_mixture_gaussian_mechanism, float(sigma), _floats(norms), _floats(weights)),
    }
    composed: Any = None
    for step in case.steps:
        if step.kind not in build:
            raise NotApplicable(step.kind)
        one = build[step.kind](*step.numbers)(value_discretization_interval=interval)
        many = one.self_compose(step.count)
        composed = many if composed is None else composed.compose(many)
    return composed


def _from_privacy_parameters(epsilon: float, delta: float, value_discretization_interval: float) -> Any:
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, delta),
                                       value_discretization_interval=value_discretization_interval)


def _floats(words: str) -> list[float]:
    return [float(word) for word in words.split()]


def _gaussians(case: Case, most: int = 10**9) -> list[tuple[float, float, int]]:
    """(q, s, count) of sampled Gaussian steps, at most so many different ones."""
    if any(step.kind != "sampled-gaussian" for step in case.steps) or len(case.steps) > most:
        raise NotApplicable("sampled Gaussian steps only")
    return [(float(step.numbers[0]), float(step.numbers[1]), step.count) for step in case.steps]


def prv_accountant(case: Case, quantity: str, eps_error: float) -> Answer:
    """prv_accountant: lower end, estimate, upper end, of the remove order alone."""
    from prv_accountant import LaplaceMechanism, PoissonSubsampledGaussianMechanism, PRVAccountant

    if case.steps[0].kind == "laplace":
        laws = [LaplaceMechanism(mu=1 / float(case.steps[0].numbers[0]))]
    else:
        laws = [PoissonSubsampledGaussianMechanism(q, s) for q, s, _ in _gaussians(case)]
    counts = [step.count for step in case.steps]
    error = max(float(case.delta) / 1000, 1e-12)  # less takes longer, and doubles have no more to give
    accountant = PRVAccountant(laws, eps_error=eps_error, delta_error=error, max_self_compositions=counts)
    return (accountant.compute_delta(float(case.epsilon), counts) if quantity == "delta"
            else accountant.compute_epsilon(float(case.delta), counts))


def fourier_accountant(case: Case, quantity: str) -> Answer:
    """fourier-accountant at its defaults (10^6 points on [-20, 20]): an estimate."""
    import numpy as np
    from fourier_accountant import get_delta_R, get_epsilon_R

    q, s, k = (np.array(column) for column in zip(*_gaussians(case), strict=True))
    found = (get_delta_R(float(case.epsilon), s, q, k) if quantity == "delta"
             else get_epsilon_R(float(case.delta), s, q, k))
    return None, float(found), None


def opacus(case: Case, quantity: str, accountant: str) -> Answer:
    """Opacus: epsilon alone."""
    if quantity == "delta":
        raise NotApplicable("epsilon only")
    from opacus.accountants import PRVAccountant, RDPAccountant

    found: Any = {"prv": PRVAccountant, "rdp": RDPAccountant}[accountant]()
    found.history = [(s, q, k) for q, s, k in _gaussians(case)]
    return None, float(found.get_epsilon(float(case.delta))), None


def pld_accounting(case: Case, quantity: str) -> Answer:
    """PLD_accounting: random allocation, at its defaults."""
    if [step.kind for step in case.steps] != ["random-allocation"]:
        raise NotApplicable("random allocation only")
    import PLD_accounting as package

    s, rounds = case.steps[0].numbers
    asked = {"epsilon": float(case.epsilon)} if quantity == "delta" else {"delta": float(case.delta)}
    params = package.PrivacyParams(sigma=float(s), num_steps=int(rounds), num_epochs=case.steps[0].count, **asked)
    ask = (package.gaussian_allocation_delta_configurable if quantity == "delta"
           else package.gaussian_allocation_epsilon_configurable)
    return None, float(ask(params=params, config=package.AllocationSchemeConfig())), None


ACCOUNTANTS: dict[str, Callable[[Case, str], Answer]] = {
    **{f"verified_dp {digits}": partial(ours, digits=digits) for digits in (6, 12, 50)},
    **{f"before {digits}": partial(before, digits=digits) for digits in (6, 12, 50)},
    **{f"dp_accounting {interval:.0e}": partial(dp_accounting, interval=interval) for interval in (1e-4, 1e-5)},
    **{f"prv_accountant {error}": partial(prv_accountant, eps_error=error) for error in (0.1, 0.01)},
    "fourier-accountant": fourier_accountant,
    **{f"opacus {name}": partial(opacus, accountant=name) for name in ("prv", "rdp")},
    "PLD_accounting": pld_accounting,
}
PACKAGES = {"verified_dp": "verified-dp", "before": "verified-dp", "dp_accounting": "dp-accounting",
            "prv_accountant": "prv-accountant", "fourier-accountant": "fourier-accountant", "opacus": "opacus",
            "PLD_accounting": "PLD_accounting"}
"""First word of an accountant -> its distribution."""
MODULES = {"before": "verified_dp", "dp_accounting": "dp_accounting.pld.privacy_loss_distribution",
           "fourier-accountant": "fourier_accountant", "opacus": "opacus.accountants"}
"""And what is imported of it, where it is not that word."""
