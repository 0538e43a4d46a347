"""Every sampling scheme is written to TOML and read back as it was."""

from __future__ import annotations

import pytest

from verified_dp import (
    CyclicPoisson,
    Gaussian,
    NegativeBinomialRuns,
    PoissonRuns,
    PoissonSampled,
    RandomAllocation,
    TruncatedPoisson,
    WithoutReplacement,
    WithReplacement,
    compose,
)
from verified_dp.core.families.batches.mechanism import Shuffled
from verified_dp.core.families.table import SCHEMES
from verified_dp.core.kernel.composition import Relation, Sampled, Spec
from verified_dp.interop import spec_toml
from verified_dp.spec import parse_spec

ONE = Gaussian("1.5")
EVERY: list[Sampled] = [
    PoissonSampled(ONE, "0.1"), WithoutReplacement(ONE, "1/3"), WithReplacement(ONE, 3, 70),
    RandomAllocation(ONE, 12, 5, True), RandomAllocation(ONE, 7), CyclicPoisson(ONE, 3, "2/7", 100),
    TruncatedPoisson(ONE, "2/7", 100, 40), Shuffled(ONE, 12), PoissonRuns(PoissonSampled(ONE, "0.1"), "2.5"),
    NegativeBinomialRuns(compose((PoissonSampled(ONE, "0.1"), 9), Gaussian("7")), 10, 0)]


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda mechanism: type(mechanism).__name__)
def test_schemes_are_written_and_read(mechanism: Sampled) -> None:
    spec = Spec(Relation.ADD, compose((mechanism, 3), Gaussian("4")))
    assert parse_spec(spec_toml(spec)) == spec


def test_every_scheme_is_tried() -> None:
    assert {type(mechanism) for mechanism in EVERY} == set(SCHEMES.values())
