"""A second reading of the individual losses (T115 to T119): hard corners, closed truths, altered tables."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from verified_dp.errors import InvalidInput
from verified_dp.individual.counts import Counts
from verified_dp.individual.evaluate import _weighted, evaluate_rows
from verified_dp.individual.input import count_array
from verified_dp.individual.lines import choose_table, lines_at, log_masses
from verified_dp.individual.tables import UNKNOWN, TableWitness, build_table
from verified_dp.individual.training import Training
from verified_dp.losses.sampled_gaussian import SampledGaussianLoss


def one_step(order: str = "remove") -> Counts:
    """One record, one step of norm 1: the truth is a closed form."""
    return count_array(np.array([[1.0]]), Training(1, 1, Fraction(1, 10), order), "raw", 2)


def good_witness(counts: Counts, epsilon: float) -> TableWitness:
    masses = log_masses(counts.training, counts.parts)
    choice = lines_at(masses, counts.weights(), epsilon)
    return choose_table(masses, int(choice.index[0]), counts.weights(), counts.steps.astype(float), choice,
                        counts.buckets, 26.0)


@pytest.mark.theorem("T118-individual-enclosure")
@pytest.mark.parametrize("changed", [
    {"right": Fraction(1, 2)}, {"left": Fraction(5), "right": Fraction(9)}, {"left": Fraction(-1)},
    {"tilt": Fraction(-1, 3), "left": Fraction(-2)}, {"tilt": Fraction(0)}, {"step": Fraction(0)},
    {"step": Fraction(-1, 4)}, {"count": 0}, {"count": -3}])
def test_lines_on_which_the_formulas_fail_are_refused(changed: dict[str, object]) -> None:
    """Alias exponents on the wrong sides give negative bounds, a tilt <= 0 another integral."""
    counts = one_step()
    witness = replace(good_witness(counts, 0.5), **changed)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        build_table(counts.training, counts.parts, witness)


@pytest.mark.theorem("T118-individual-enclosure", "T116-variance-interpolation")
def test_few_bits_cost_width_only() -> None:
    counts, epsilon = one_step(), 0.5
    witness = good_witness(counts, epsilon)
    tables = [build_table(counts.training, counts.parts, replace(witness, prec=prec)) for prec in (2, 5, 90)]
    truth = SampledGaussianLoss(Fraction(1, 10), Fraction(1), "remove").enclose_hockey_stick(arb(epsilon))
    for table in tables:
        assert np.abs(table.kernel / tables[-1].kernel - 1).max() < 2**-50
        lower, upper = evaluate_rows(table, counts).delta(np.array([epsilon]))
        assert arb(lower[0]) <= truth <= arb(upper[0])


@pytest.mark.theorem("T116-variance-interpolation")
def test_a_tail_line_on_the_real_axis_bounds_nothing() -> None:
    """Height 0 is no shifted line; what holds from v = 0 on does not hold from another end on."""
    counts = one_step()
    witness = good_witness(counts, 0.5)
    flat = tuple(replace(rule, height=Fraction(0)) for rule in witness.tail_nodes)
    table = build_table(counts.training, counts.parts, replace(witness, tail_nodes=flat))
    assert table.beyond[0] < 1 and (table.beyond[1:] == UNKNOWN).all()


@pytest.mark.theorem("T118-individual-enclosure")
def test_an_unknown_logarithm_is_not_brought_back_by_a_large_epsilon() -> None:
    """10^6 stands for infinity: e^{10^6 - l eps} is not small where l eps is larger."""
    assert np.isinf(_weighted(1.0, np.array([UNKNOWN, 2 * UNKNOWN + 3]), np.array([UNKNOWN, 2 * UNKNOWN + 90]))).all()
    assert _weighted(1.0, np.array([700.0]), np.array([720.0]))[0] == pytest.approx(np.exp(-20), rel=1e-9)
