"""Nothing proved runs in a check without its theorem being listed in the certificate."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from pkgutil import walk_packages
from types import CodeType, FrameType

import pytest

from verified_dp import core
from verified_dp.certificate import build_certificate
from verified_dp.core.engines.closed import ClosedFormWitness, has_closed_form
from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.exact import ExactWitness
from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.node_moment import EarlierChernoff
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.families.allocation.random_allocation import RandomAllocationLoss
from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import DiscreteLaplaceLoss, FiniteLoss, OddsLoss, SampledAtomicLoss
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.certificate.theorems import theorems_record
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import REGISTRY
from verified_dp.core.kernel.witnesses import Witness, evaluate
from verified_dp.profile import privacy_profile
from verified_dp.spec import parse_spec


def called(run: Callable[[], object]) -> set[CodeType]:
    """The code of every Python function that a call runs."""
    found: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found.add(frame.f_code)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def proved_functions() -> dict[CodeType, tuple[str, ...]]:
    """The code of every proved function of core -> its theorems, whatever wraps it; files that load late are loaded."""
    for module in walk_packages(core.__path__, f"{core.__name__}."):
        import_module(module.name)
    found = {inspect.unwrap(function).__code__: names for function, names in REGISTRY.items()
             if not isinstance(function, type)}
    assert len(found) > 500
    return found


def empty_caches() -> None:
    """All of the package."""
    caches = [value for name, module in list(sys.modules.items()) if name.startswith("verified_dp")
              for value in vars(module).values() if hasattr(value, "cache_clear")]
    assert len(caches) > 10
    for cache in caches:
        cache.cache_clear()


def run_kernel(loss: ComposedLoss, witness: Witness, at: Fraction) -> Callable[[], object]:
    return lambda: evaluate(loss, witness).delta(at)


PAIR = ((Fraction(1, 2), Fraction(1, 5)), (Fraction(2, 5), Fraction(1, 5)), (Fraction(1, 10), Fraction(3, 5)))
OTHER_LAWS: list[Law] = [
    LaplaceLoss(Fraction(1)), BoundedRangeLoss(Fraction(1)), FiniteLoss(PAIR, "remove"),
    OddsLoss(Fraction(1, 2), Fraction(1, 9), 0), DiscreteLaplaceLoss(Fraction(2), 3),
    SampledAtomicLoss(DiscreteLaplaceLoss(Fraction(2), 3), Fraction(1, 3), "remove"),
    DiscreteGaussianLoss(Fraction(4), 2), FixedBatchLoss(Fraction(1, 10), Fraction(2)),
    MixtureLoss(Fraction(2), ((Fraction(0), Fraction(1, 2)), (Fraction(1), Fraction(1, 2))),
                ((Fraction(0), Fraction(1)),), "remove"),
    SampledLoss(LaplaceLoss(Fraction(1)), Fraction(1, 3), "remove"),
    SampledLoss(DiscreteGaussianLoss(Fraction(4), 2), Fraction(1, 3), "add"),
    SampledGaussianLoss(Fraction(1, 10), Fraction(2), "remove"), RandomAllocationLoss(5, Fraction(2), "add")]


def coarse(loss: ComposedLoss) -> Iterator[Witness]:
    """Cheap witnesses of all kinds that apply to two steps of a law."""
    grid = LawGrid(-30, ((5, 4), (30, 1), (5, 4)))
    yield LatticeWitness(Fraction(1, 8), Fraction(1), 40, (grid,), 301, 0, (), Fraction(2), Fraction(1, 2), 80)
    yield LatticeWitness(
        Fraction(1, 8), Fraction(1), 40, (grid,), 301, 50, ((100, 1),), Fraction(2), Fraction(1, 2), 80)
    yield ExactWitness(64)
    if has_closed_form(loss):
        yield ClosedFormWitness(80)
    if lines(loss).has_transform:
        rules = (NodeRule(Fraction(1), Fraction(1), Fraction(1, 4), -60, 90),) * len(lines(loss).node_parts)
        yield LineWitness(Fraction(1), Fraction(1, 3), 20, rules, rules, Fraction(2), Fraction(1, 2), 80)
        yield EarlierChernoff(Fraction(1), rules, 64).now()
    if all(law.lists(40) for law, _ in loss.parts):
        yield LineWitness(Fraction(1, 2), Fraction(1, 8), 60, (), (), Fraction(2), Fraction(1, 9), 80, (40,), ((3, 2),))


@pytest.mark.parametrize("law", OTHER_LAWS, ids=lambda law: type(law).__name__)
def test_theorems_of_other_laws_are_those_of_the_functions_that_ran(law: Law) -> None:
    """Nothing proved runs without its theorem being named; caches are emptied, so that everything runs."""
    proved = proved_functions()
    for count in (1, 2):
        loss = ComposedLoss(law.order, ((law, count),), Fraction(0))
        for witness in coarse(loss):
            empty_caches()
            ran = called(run_kernel(loss, witness, Fraction(1, 2))) & proved.keys()
            needed = {theorem for code in ran for theorem in proved[code]}
            assert needed <= set(theorems_record((), [(loss, witness)])), witness


CLAIMED = """
[claim]
title = "a test"
source = "none"
epsilon = "1"
delta = "1e-5"
"""
POISSON = 'sampling = { scheme = "poisson", probability = "0.1" }'
KINDS_OF_CLAIMS = {
    "gaussian": ("add-or-remove", 'kind = "gaussian"\nnoise_multiplier = "2"\ncount = 3'),
    "sampled gaussian": ("add-or-remove", f'kind = "gaussian"\nnoise_multiplier = "1.1"\ncount = 9\n{POISSON}'),
    "sampled gaussian, replace": ("replace", f'kind = "gaussian"\nnoise_multiplier = "1.1"\ncount = 50\n{POISSON}'),
    "sampled gaussian, zero-out": ("zero-out", f'kind = "gaussian"\nnoise_multiplier = "1.1"\n{POISSON}'),
    "sampled gaussian, q = 1": ("remove", 'kind = "gaussian"\nnoise_multiplier = "3"\n'
                                'sampling = { scheme = "poisson", probability = 1 }'),
    "laplace": ("add", 'kind = "laplace"\nscale = "3"\nsensitivity = 1\ncount = 3'),
    "sampled laplace": ("add-or-remove", f'kind = "laplace"\nscale = 1\nsensitivity = 1\ncount = 9\n{POISSON}'),
    "sampled laplace, replace": ("replace", f'kind = "laplace"\nscale = 3\nsensitivity = 1\ncount = 3\n{POISSON}'),
    "discrete gaussian": ("add-or-remove", 'kind = "discrete-gaussian"\nsigma_squared = 4\nsensitivity = 1\ncount = 3'),
    "sampled discrete gaussian, replace": (
        "replace", f'kind = "discrete-gaussian"\nsigma_squared = 4\nsensitivity = 1\n{POISSON}\ncount = 2'),
    "sampled discrete laplace, replace": (
        "replace", f'kind = "discrete-laplace"\nscale = 3\nsensitivity = 1\ncount = 3\n{POISSON}'),
    "zcdp": ("add-or-remove", 'kind = "zcdp"\nrho = "0.01"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 2'),
    "renyi": ("add-or-remove", 'kind = "renyi"\nrenyi_orders = [2, 8]\nepsilons = ["0.01", "0.05"]\n[[mechanism]]\n'
              f'kind = "gaussian"\nnoise_multiplier = 2\ncount = 10\n{POISSON}'),
    "composition": ("add-or-remove", f'kind = "composition"\ncount = 2\n{POISSON}\n[[mechanism.releases]]\n'
                    'kind = "laplace"\nscale = 2\nsensitivity = 1\ncount = 2'),
    "discrete composition": ("add-or-remove", f'kind = "composition"\ncount = 2\n{POISSON}\n[[mechanism.releases]]\n'
                             'kind = "discrete-laplace"\nscale = 2\nsensitivity = 1\ncount = 2'),
    "group, (eps, delta)": ("add-or-remove", 'kind = "approximate-dp"\nepsilon = "0.1"\ndelta = "1e-9"\ncount = 4'),
    "group, sampled": ("add-or-remove", f'kind = "gaussian"\nnoise_multiplier = 2\ncount = 10\n{POISSON}'),
    "exponential": ("add-or-remove", 'kind = "exponential"\nbounded_range = "0.1"\ncount = 20'),
    "without replacement": ("replace", 'kind = "gaussian"\nnoise_multiplier = 2\ncount = 10\n'
                            'sampling = { scheme = "without-replacement", probability = "0.1" }'),
    "with replacement": ("replace", 'kind = "gaussian"\nnoise_multiplier = 2\ncount = 10\n'
                         'sampling = { scheme = "with-replacement", draws = 5, population = 100 }'),
    "mixture": ("add-or-remove", 'kind = "mixture-of-gaussians"\nsigma = 2\nsensitivities = [0, 1, 2]\n'
                'probabilities = ["0.5", "0.3", "0.2"]\ncount = 5'),
    "random allocation": ("add-or-remove", 'kind = "gaussian"\nnoise_multiplier = 2\n'
                          'sampling = { scheme = "random-allocation", rounds = 10 }'),
    "several epochs": ("add-or-remove", 'kind = "gaussian"\nnoise_multiplier = 2\ncount = 3\n'
                       'sampling = { scheme = "random-allocation", rounds = 10 }'),
    "truncated": ("zero-out", 'kind = "gaussian"\nnoise_multiplier = 2\ncount = 10\nsampling = { '
                  'scheme = "truncated-poisson", probability = "0.1", largest_batch = 20, population = 100 }'),
    "randomized response": ("replace", 'kind = "randomized-response"\ncategories = 3\nnoise_probability = "0.5"'),
    "laplace and sampled gaussian": (
        "add-or-remove", 'kind = "laplace"\nscale = 3\nsensitivity = 1\n[[mechanism]]\nkind = "gaussian"\n'
        f'noise_multiplier = "1.1"\ncount = 100\n{POISSON}'),
    "sampled (eps, delta)": (
        "add-or-remove", f'kind = "approximate-dp"\nepsilon = 1\ndelta = "1e-6"\ncount = 10\n{POISSON}'),
}


@pytest.mark.parametrize("name", KINDS_OF_CLAIMS)
def test_theorems_that_ran_in_the_checker_are_listed(name: str) -> None:
    """Nothing proved runs in a check without its theorem being named; caches are emptied, so that everything runs."""
    relation, mechanism = KINDS_OF_CLAIMS[name]
    group = "group_size = 3\n" if name.startswith("group") else ""
    spec = parse_spec(f'relation = "{relation}"\n{group}[[mechanism]]\n{mechanism}\n{CLAIMED}')
    assert spec.claim is not None
    certificate = build_certificate(spec, *privacy_profile(spec).solve_claim(spec.claim, 2, max_seconds=2))
    proved, checks = proved_functions(), []
    empty_caches()
    ran = called(lambda: checks.append(verify(certificate))) & proved.keys()
    assert checks[0].valid
    assert len(ran) >= 5
    listed = set(certificate["theorems"])
    missing = {f"{code.co_qualname}: {theorem}" for code in ran for theorem in proved[code] if theorem not in listed}
    assert missing == set()
