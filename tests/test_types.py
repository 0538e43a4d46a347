"""What a type checker says of a user's script: numbers are accepted, floats too, results have types."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ACCEPTED = '''
from decimal import Decimal
from fractions import Fraction

from verified_dp import (ApproximateDP, Claim, Enclosure, Finite, Gaussian, Laplace, MixtureOfGaussians, Number,
                         PoissonSampled, PrivacyProfile, RandomizedResponse, Renyi, compose, dpsgd,
                         privacy_profile)
from verified_dp.adaptive import (ApproximateDPFilter, GDPFilter, GDPOdometer, IndividualGDPFilter,
                                  IndividualRenyiFilter, RenyiFilter, RenyiOdometer, gdp_budget)
from verified_dp.individual.training import Training
from verified_dp.papers import accountant

steps = compose((PoissonSampled(Gaussian("1.5"), "0.01"), 10_000))
releases = compose(Laplace("20", 1), (Gaussian(sigma=2, sensitivity="1"), "3"), ApproximateDP(Decimal(1), "1e-5"))
others = compose(Finite(["1/3", "2/3"], [Fraction(1), 0]), MixtureOfGaussians(1, [1, "2"], ["1/2", "1/2"]),
                 RandomizedResponse(3, "1/2"), RandomizedResponse(3, epsilon=1), Renyi([2, "8"], ["0.1", 1]))
scale: Fraction = Laplace("20", 1).scale
profile: PrivacyProfile = privacy_profile(Gaussian("1.1"), relation="add-or-remove", group_size=2)


def ask(at: Number) -> Enclosure:
    return profile.delta(at, digits=4)


answer: Enclosure = profile.epsilon("1e-5")
answers = [ask(1), ask("1/3"), ask(Fraction(1, 3)), ask(Decimal("0.5")), ask(Fraction(answer.upper))]
total: Fraction = answer.upper + 1
ends: tuple[float, float] = answer.lower_float, answer.upper_float
assert answer.upper < Decimal(9) and answer.contains(answer.lower)
claim = Claim("", "", "1.5", Decimal("1e-5"), "1.5", "1e-5")
spent: Fraction = GDPFilter("1/4").charge("1/8").state.spent
filters = [GDPFilter(1, spent="1/2").delta("0.5"), GDPOdometer("1/100").epsilon("1e-5", stops=3)]
orders = RenyiFilter(["2", 8], budgets=["0.1", Fraction(2, 5)]).charge(["0.1", 0]).state.remaining
odometer = RenyiOdometer("1/10", renyi_order=8).charge(Decimal("0.1")).state.profile(3)
costs = {"a": "1/8", "b": "1/9"}
decision = IndividualGDPFilter.open(gdp_budget("0.8", "1e-5"), costs).charge({"a": 0, "b": "1"})
decision.state.charge(costs).state.epsilon("1e-5")
IndividualRenyiFilter("1", {"a": 0}, renyi_order="8").charge({"a": "1/2"})
ApproximateDPFilter(epsilon=1, slack="1e-6").charge("0.1", "1e-9")
training = Training("1", 0.5, Fraction(1, 100))
floats = compose(Laplace(20.0, 1), (PoissonSampled(Gaussian(1.1), 0.01), 2), Finite([0.5, "1/2"], ["1/2", "1/2"]))
found = dpsgd(noise_multiplier=1.1, sampling_probability=0.01, steps=1000, delta=1e-5)
small: bool = float(found) < 2.0 and found < 2 and found <= 1.6 and found > answer or found >= 3
solved = dpsgd(target_epsilon=1.0, batch_size=256, dataset_size=50000, epochs=30, delta=1e-5).value
paper = accountant(profile, "renyi").delta("1", max_seconds=2.5)
print(f"{answer.upper:.3e}", answer.upper.to_decimal(5), answer.notation(), *answers)
'''
REFUSED = """
from verified_dp import Claim, Gaussian, PoissonSampled, dpsgd, privacy_profile
Gaussian(b"1")
Gaussian(sigma=[1], sensitivity=1)
PoissonSampled(Gaussian(1), 1j)
privacy_profile(Gaussian(1), "add").epsilon(None)
privacy_profile(Gaussian(1), "add").delta(1).contains(b"1")
Claim("", "", None, "1e-5", "1.5", "1e-5")
dpsgd(noise_multiplier=[1], sampling_probability=0.01, steps=1000, delta=1e-5)
"""


@pytest.fixture
def complaints(tmp_path: Path) -> list[str]:
    """What mypy prints of both scripts, outside of this folder and its configuration."""
    (tmp_path / "accepted.py").write_text(ACCEPTED, encoding="utf-8")
    (tmp_path / "refused.py").write_text(REFUSED, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "accepted.py", "refused.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1, done.stderr
    return [line for line in done.stdout.splitlines() if "error:" in line]


@pytest.mark.long
def test_what_is_no_number_is_refused_and_nothing_else(complaints: list[str]) -> None:
    lines = [match[1] for line in complaints if (match := re.match(r"refused\.py:(\d+): ", line))]
    assert len(lines) == len(complaints), complaints
    assert lines == [str(number) for number in range(3, len(REFUSED.splitlines()) + 1)]


def test_what_is_accepted_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "accepted.py").write_text(ACCEPTED, encoding="utf-8")
    runpy.run_path(str(tmp_path / "accepted.py"))
    assert re.match(r"\d\.\d{3}e[+-]\d\d \d\.\d{4} \d\.\d+\[", capsys.readouterr().out)
