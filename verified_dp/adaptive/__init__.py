"""Budgets spent as you go: filters and odometers for fully adaptive composition, and the ledger that keeps them.

    from verified_dp.adaptive import GDPFilter, IndividualGDPFilter, GDPOdometer, Ledger

Names are loaded when they are first used.
"""

from __future__ import annotations

from verified_dp import lazy

HOMES = {
    "verified_dp.adaptive.budgets":
        "gdp_budget gdp_delta gdp_epsilon last_noise last_norm renyi_budget squared_ratio",
    "verified_dp.adaptive.filters":
        "ApproximateDPFilter GDPFilter IndividualGDPFilter IndividualRenyiFilter RenyiFilter",
    "verified_dp.adaptive.ledger": "Ledger Receipt",
    "verified_dp.adaptive.odometers": "GDPOdometer IndividualGDPOdometer IndividualRenyiOdometer RenyiOdometer",
    "verified_dp.adaptive.storage": "InvalidLedger LedgerBusy",
    "verified_dp.adaptive.sums": "Decision IndividualDecision Verdict",
}
__all__, __getattr__ = lazy(__name__, HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
