"""I train with batches of rate q = 0.01 for 1000 steps. How much noise do I need for (1, 1e-5)-DP?

Finds the smallest noise multiplier with three decimals and proves it on both sides: with it the budget holds,
with 0.001 less it does not. Calibration tools stop near the answer, on either side of it.
"""

from fractions import Fraction

from verified_dp import Enclosure, Gaussian, PoissonSampled, compose, privacy_profile

PROBABILITY, STEPS = "0.01", 1000
EPSILON, DELTA = "1", Fraction(1, 10**5)
UNIT = Fraction(1, 1000)


def delta_with(noise: Fraction, digits: int = 6) -> Enclosure:
    """Enclose delta at EPSILON for this noise multiplier."""
    steps = compose((PoissonSampled(Gaussian(noise), PROBABILITY), STEPS))
    return privacy_profile(steps, relation="add-or-remove").delta(EPSILON, digits=digits)


def holds(noise: Fraction) -> bool:
    """Whether the budget holds: proved or disproved, never guessed."""
    for digits in (3, 6, 12, 24, 48):
        delta = delta_with(noise, digits)
        if delta.upper <= DELTA:
            return True
        if delta.lower > DELTA:
            return False
    raise ArithmeticError(f"48 digits do not tell delta from {DELTA}")


def smallest_noise() -> Fraction:
    """The smallest multiple of UNIT that holds; more noise never costs privacy, so halving finds it."""
    fails, enough = 500, 1000
    while holds(fails * UNIT):
        fails, enough = fails // 2, fails
    while not holds(enough * UNIT):
        fails, enough = enough, 2 * enough
    while enough - fails > 1:
        middle = (fails + enough) // 2
        fails, enough = (fails, middle) if holds(middle * UNIT) else (middle, enough)
    return enough * UNIT


def main() -> None:
    """Print the answer and its two proofs."""
    noise = smallest_noise()
    print(f"noise multiplier {float(noise):.3f} is the smallest for epsilon {EPSILON} at delta {float(DELTA)}")
    print(f"  with {float(noise):.3f}: delta <= {delta_with(noise).upper_decimal}")
    print(f"  with {float(noise - UNIT):.3f}: delta >= {delta_with(noise - UNIT).lower_decimal}")


if __name__ == "__main__":
    main()
