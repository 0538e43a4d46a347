"""How much privacy, or how many steps, does a Renyi filter waste where a GDP filter fits exactly?

Private gradient descent with noise sigma = 100 on a sum of gradients of norm at most 1, as in section 4.1 and appendix
C.4 of "Individual privacy accounting with Gaussian differential privacy": delta(eps) after 420 steps, eps after so many
steps at delta = 1e-5, and how many steps each filter lets run for a given eps. The GDP numbers are enclosures; those of
Renyi accounting are proved bounds at the best of the orders tried, by the conversion of Canonne, Kamath and Steinke.

    python examples/gdp_and_renyi_filters.py [figure.png]
"""

from __future__ import annotations

import sys
from fractions import Fraction

from verified_dp import Gaussian, compose, privacy_profile
from verified_dp.adaptive.budgets import gdp_budget, gdp_delta, gdp_epsilon, renyi_budget, squared_ratio
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.papers import accountant
from verified_dp.papers.ask import Accountant

SIGMA, DELTA = 100, "1e-5"
COST = squared_ratio(1, SIGMA)
"""mu^2 of one step."""
CURVE = [Fraction(k, 20) for k in range(2, 29)]
STEPS = (50, 100, 200, 420, 495, 1000, 2000, 4000)
EPSILONS = tuple(Fraction(k, 10) for k in (2, 4, 8, 12, 16, 20, 30, 40))
ORDERS = range(3, 201)


def renyi(steps: int) -> Accountant:
    """Renyi accounting of so many steps; its upper ends are what it proves."""
    profile = privacy_profile(compose((Gaussian(SIGMA), steps)), relation="remove")
    return accountant(profile, "renyi", conversion="canonne")


def most_gdp_steps(epsilon: Fraction) -> int:
    """Steps that a GDP filter for (epsilon, DELTA)-DP lets run."""
    return int(gdp_budget(epsilon, DELTA) // COST)


def most_renyi_steps(epsilon: Fraction) -> int:
    """Steps that a Renyi filter for (epsilon, DELTA)-DP lets run, at the best of ORDERS."""
    most = 0
    for order in ORDERS:
        try:
            most = max(most, int(renyi_budget(epsilon, DELTA, order) // (order * COST / 2)))
        except InvalidInput:  # this order cannot give the guarantee, however few the steps
            continue
    return most


def main(figure: str | None = None) -> None:
    """Print two tables, and draw the three comparisons if a file is named."""
    print(f"eps at delta = {DELTA} after so many steps, sigma = {SIGMA}")
    epsilons = {}
    for steps in STEPS:
        gdp, bound = gdp_epsilon(steps * COST, DELTA, 6), renyi(steps).epsilon(DELTA, 6).enclosure
        epsilons[steps] = float(gdp.upper_decimal), float(bound.upper_decimal)
        print(f"  {steps:4} steps: GDP {gdp}, Renyi <= {bound.upper_decimal}")
    print(f"steps allowed for (eps, {DELTA})-DP")
    allowed = {epsilon: (most_gdp_steps(epsilon), most_renyi_steps(epsilon)) for epsilon in EPSILONS}
    for epsilon, (more, fewer) in allowed.items():
        print(f"  eps = {float(epsilon):3}: GDP filter {more:5}, Renyi filter {fewer:5}: {more / fewer - 1:4.0%} more")
    if figure:
        draw(epsilons, allowed, figure)


def draw(epsilons: dict[int, tuple[float, float]], allowed: dict[Fraction, tuple[int, int]], file: str) -> None:
    """Figures 3, 4 and 5 of the paper in kind."""
    from matplotlib.figure import Figure

    picture, accountant = Figure(figsize=(15, 4.5), layout="constrained"), renyi(420)
    curves = ([float(accountant.delta(eps, 6).enclosure.upper_decimal) for eps in CURVE],
              [float(gdp_delta(420 * COST, eps, 6).upper_decimal) for eps in CURVE])
    panels = picture.subplots(1, 3)
    for i, (name, colour) in enumerate((("GDP", "tab:blue"), ("Renyi", "tab:orange"))):
        panels[0].semilogy([float(eps) for eps in CURVE], curves[1 - i], color=colour, label=name)
        panels[1].plot(list(epsilons), [both[i] for both in epsilons.values()], "o-", color=colour, label=name)
        panels[2].plot([float(eps) for eps in allowed], [both[i] for both in allowed.values()], "o-", color=colour,
                       label=f"{name} filter")
    for panel, x, y, title in zip(panels, ("epsilon", "steps", f"epsilon, at delta = {DELTA}"),
                                  ("delta", f"epsilon at delta = {DELTA}", "steps allowed"),
                                  ("after 420 steps", "what so many steps cost", "what a budget allows"), strict=True):
        panel.set(xlabel=x, ylabel=y, title=title)
        panel.grid(alpha=0.3)
        panel.legend()
    picture.savefig(file)


if __name__ == "__main__":
    main(*sys.argv[1:2])
