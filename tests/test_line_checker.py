"""The extracted program of the line over finitely many atoms: accepts what is true with room, refuses what is false."""

from __future__ import annotations

import os
import random
import subprocess
from fractions import Fraction
from math import comb
from pathlib import Path

import mpmath
import pytest

CHECKER = Path(__file__).resolve().parents[1] / "proofs/coq/build/line-checker"
UNIT, STEPS = 400, 12
ATOMS = ((Fraction(1, 3), Fraction(7, 10)), (Fraction(-1, 3), Fraction(3, 10)))
EPSILON, LINE, RIGHT, LEFT = Fraction(1, 2), Fraction(1), Fraction(3), Fraction(1, 4)
STEP, COUNT = Fraction(1, 4), 2000
SLACK = 0.004  # the tail is about 0.0032

pytestmark = pytest.mark.skipif(not os.access(CHECKER, os.X_OK), reason="make proofs builds the checker")


def mass(p: Fraction) -> int:
    return int(p * 2**UNIT)


def up(x: mpmath.mpf) -> int:
    return int(mpmath.ceil(x * (1 + mpmath.mpf(2) ** -350) * 2**UNIT)) + 1


def moment(c: Fraction) -> mpmath.mpf:
    return sum((mpmath.mpf(mass(p)) / 2**UNIT * mpmath.exp(mpmath.mpf(c.numerator) / c.denominator * loss.numerator
                / loss.denominator) for loss, p in ATOMS), mpmath.mpf(0))


def delta() -> mpmath.mpf:
    """Of the composition, outcome by outcome."""
    (_, p), (_, q) = ATOMS
    total = mpmath.mpf(0)
    for ups in range(STEPS + 1):
        loss = Fraction(2 * ups - STEPS, 3) - EPSILON
        if loss > 0:
            weight = mpmath.mpf(comb(STEPS, ups) * mass(p)**ups * mass(q)**(STEPS - ups)) / 2**(UNIT * STEPS)
            total += weight * -mpmath.expm1(-mpmath.mpf(loss.numerator) / loss.denominator)
    return total


def problem(above: bool, bound: mpmath.mpf) -> list[str]:
    """The words of one problem."""
    words: list[object] = [UNIT, "above" if above else "below", 45, STEPS]
    for r in (EPSILON, LINE, RIGHT, LEFT, STEP):
        words += [r.numerator, r.denominator]
    words += [COUNT, len(ATOMS)]
    for loss, p in ATOMS:
        words += [loss.numerator, loss.denominator, mass(p)]
    words += [0, up(moment(RIGHT)), up(moment(LEFT)), up(moment(LINE)), int(mpmath.floor(bound * 2**UNIT))]
    return [str(word) for word in words]


def accepted(words: list[str]) -> bool:
    done = subprocess.run([CHECKER], input=" ".join(words), capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.split() == ["accepted"]


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(150):
        yield


def test_true_bounds_are_accepted_and_false_ones_refused():
    true = delta()
    assert accepted(problem(True, true + SLACK)) and accepted(problem(False, true - SLACK))
    assert not accepted(problem(True, true * (1 - mpmath.mpf(10) ** -30)))
    assert not accepted(problem(False, true * (1 + mpmath.mpf(10) ** -30)))


@pytest.mark.parametrize("place", [-2, -3, -4])
def test_a_moment_that_is_too_small_is_refused(place):
    words = problem(True, delta() + SLACK)
    words[place] = str(int(words[place]) * 999 // 1000)
    assert not accepted(words)


def test_altered_bounds_are_never_accepted_where_false():
    draw, true = random.Random(5), delta()
    for _ in range(30):
        shift = true * mpmath.mpf(draw.uniform(1e-12, 0.9))
        assert not accepted(problem(True, true - shift)) and not accepted(problem(False, true + shift))
