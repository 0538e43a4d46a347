"""Budgets spent as you go: filters and odometers for fully adaptive composition, and the ledger that keeps them.

    from verified_dp.adaptive import GDPFilter, IndividualGDPFilter, GDPOdometer, Ledger

Names are loaded when they are first used.
"""

from __future__ import annotations

from verified_dp import lazy

HOMES = {
    "verified_dp.adaptive.budgets":
        "gdp_budget gdp_delta gdp_epsilon last_noise last_norm renyi_budget squared_ratio",
    "verified_dp.adaptive.filters": "ApproximateDPFilter Decision GDPFilter RenyiFilter Verdict",
    "verified_dp.adaptive.ledger": "InvalidLedger Ledger LedgerBusy Receipt",
    "verified_dp.adaptive.odometers": "GDPOdometer RenyiOdometer",
    "verified_dp.adaptive.record_filters": "IndividualDecision IndividualGDPFilter IndividualRenyiFilter",
    "verified_dp.adaptive.record_odometers": "IndividualGDPOdometer IndividualRenyiOdometer",
}
__all__, __getattr__ = lazy(__name__, HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
