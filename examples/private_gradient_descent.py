"""How many steps of private gradient descent fit into (0.8, 1e-5)-DP, and what does a filter of Gaussian DP save?

Section 4.1 of "Individual privacy accounting with Gaussian differential privacy": noise sigma = 100 on a sum of
gradients of norm at most 1. Each step costs mu^2 = 1/sigma^2 in a GDP filter, and a / (2 sigma^2) at Renyi order a. The
paper gives 420 steps to Renyi accounting and 495 to Gaussian DP; both reach an epsilon that rounds to 0.8 but is above.
"""

from fractions import Fraction

from verified_dp import Enclosure, Gaussian, compose, privacy_profile
from verified_dp.adaptive.budgets import gdp_epsilon, last_noise, squared_ratio
from verified_dp.adaptive.filters import GDPFilter, RenyiFilter
from verified_dp.papers import accountant

SIGMA, EPSILON, DELTA = 100, "0.8", "1e-5"
ORDERS = range(20, 41)


def renyi_epsilon(steps: int) -> Enclosure:
    """What Renyi accounting proves for this many steps, at the best order; its upper end counts."""
    profile = privacy_profile(compose((Gaussian(SIGMA), steps)), relation="remove")
    return accountant(profile, "renyi", conversion="canonne").epsilon(DELTA, 6).enclosure


def gdp_steps(state: GDPFilter) -> tuple[int, GDPFilter]:
    """Steps until the filter says HALT, and what is left then."""
    steps = 0
    while (decision := state.charge(squared_ratio(1, SIGMA))).continues:
        steps, state = steps + 1, decision.state
    return steps, state


def renyi_steps(order: int) -> int:
    """Steps that a Renyi filter of this order lets run."""
    state, steps = RenyiFilter.for_guarantee(EPSILON, DELTA, order), 0
    while (decision := state.charge(order * squared_ratio(1, SIGMA) / 2)).continues:
        steps, state = steps + 1, decision.state
    return steps


def main() -> None:
    """Print the paper's two numbers of steps with certified epsilons, and what the filters allow at 0.8 itself."""
    print(f"420 steps, Renyi accounting: epsilon <= {renyi_epsilon(420).upper_decimal}")
    for steps in (420, 495):
        print(f"{steps} steps, Gaussian DP:     epsilon = {gdp_epsilon(Fraction(steps, SIGMA**2), DELTA, 6)}")
    steps, state = gdp_steps(GDPFilter.for_guarantee(EPSILON, DELTA))
    print(f"GDP filter for ({EPSILON}, {DELTA})-DP: {steps} steps; delta <= {state.delta(EPSILON, 6).upper_decimal}")
    print(f"  and a last one with noise {float(last_noise(state.remaining, 1, 6)):.2f} uses up the budget")
    most, order = max((renyi_steps(order), -order) for order in ORDERS)
    print(f"Renyi filter, order {-order}: {most} steps")


if __name__ == "__main__":
    main()
