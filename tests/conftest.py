"""What the tests share: `oracle`, independent routes to the numbers that the package encloses."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest
from flint import ctx
from hypothesis import HealthCheck, settings

from verified_dp.losses.composed import ComposedLoss
from verified_dp.losses.sampled_gaussian import SampledGaussianLoss

settings.register_profile(
    "fixed", derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
settings.load_profile("fixed")


def _load(path: Path) -> ModuleType:
    """Import a helper that belongs to no package (test files cannot import each other)."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """The module oracles.py beside this file: mpmath and numpy only, none of the package's own numerics."""
    return _load(Path(__file__).with_name("oracles.py"))


@pytest.fixture(scope="session")
def mutants() -> ModuleType:
    """The module mutants.py beside this file: witnesses altered at random."""
    return _load(Path(__file__).with_name("mutants.py"))


@pytest.fixture(scope="session")
def composed() -> Callable[..., ComposedLoss]:
    """composed(order, q, s, count, shift_squared): `count` equal sampled steps and a Gaussian one."""
    def build(order: str, q: object, s: object, count: int = 1, shift_squared: object = 0) -> ComposedLoss:
        law = SampledGaussianLoss(Fraction(q), Fraction(s), order)
        return ComposedLoss(order, ((law, count),) if count else (), Fraction(shift_squared))

    return build


@pytest.fixture(autouse=True)
def unchanged_precision() -> Iterator[None]:
    """No test and no call may leave the process-wide precision changed."""
    before = ctx.prec
    yield
    assert ctx.prec == before
