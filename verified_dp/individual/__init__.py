"""Fully adaptive and individual accounting: filters, odometers, the ledger that keeps them, per-record losses.

    from verified_dp.individual import GDPFilter, IndividualGDPFilter, ArrayGDPFilter, GDPOdometer, Ledger
    from verified_dp.individual import Training, count_parquet, individual_epsilons

Names are loaded when they are first used: what computes with arrays costs nothing until then.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verified_dp.individual.array_filter import ArrayDecision, ArrayGDPFilter
    from verified_dp.individual.budgets import (
        gdp_budget,
        gdp_delta,
        gdp_epsilon,
        last_noise,
        last_norm,
        renyi_budget,
        squared_ratio,
    )
    from verified_dp.individual.filters import ApproximateDPFilter, Decision, GDPFilter, RenyiFilter, Verdict
    from verified_dp.individual.input import Recorder, count_array, count_parquet, count_steps
    from verified_dp.individual.ledger import InvalidLedger, Ledger, LedgerBusy, Receipt
    from verified_dp.individual.losses import IndividualLosses, individual_deltas, individual_epsilons
    from verified_dp.individual.odometers import GDPOdometer, RenyiOdometer
    from verified_dp.individual.plancherel import PlancherelLosses, plancherel_deltas
    from verified_dp.individual.pld_filter import ApproximatePLDFilter, EpsilonRange, blackwell_mu
    from verified_dp.individual.record_filters import IndividualDecision, IndividualGDPFilter, IndividualRenyiFilter
    from verified_dp.individual.record_odometers import IndividualGDPOdometer, IndividualRenyiOdometer
    from verified_dp.individual.spark import count_spark
    from verified_dp.individual.training import Training

__all__ = [
    "ApproximateDPFilter",
    "ApproximatePLDFilter",
    "ArrayDecision",
    "ArrayGDPFilter",
    "Decision",
    "EpsilonRange",
    "GDPFilter",
    "GDPOdometer",
    "IndividualDecision",
    "IndividualGDPFilter",
    "IndividualGDPOdometer",
    "IndividualLosses",
    "IndividualRenyiFilter",
    "IndividualRenyiOdometer",
    "InvalidLedger",
    "Ledger",
    "LedgerBusy",
    "PlancherelLosses",
    "Receipt",
    "Recorder",
    "RenyiFilter",
    "RenyiOdometer",
    "Training",
    "Verdict",
    "blackwell_mu",
    "count_array",
    "count_parquet",
    "count_spark",
    "count_steps",
    "gdp_budget",
    "gdp_delta",
    "gdp_epsilon",
    "individual_deltas",
    "individual_epsilons",
    "last_noise",
    "last_norm",
    "plancherel_deltas",
    "renyi_budget",
    "squared_ratio",
]

_HOMES = {
    "array_filter": ("ArrayDecision", "ArrayGDPFilter"),
    "budgets": ("gdp_budget", "gdp_delta", "gdp_epsilon", "last_noise", "last_norm", "renyi_budget", "squared_ratio"),
    "filters": ("ApproximateDPFilter", "Decision", "GDPFilter", "RenyiFilter", "Verdict"),
    "input": ("Recorder", "count_array", "count_parquet", "count_steps"),
    "ledger": ("InvalidLedger", "Ledger", "LedgerBusy", "Receipt"),
    "losses": ("IndividualLosses", "individual_deltas", "individual_epsilons"),
    "odometers": ("GDPOdometer", "RenyiOdometer"),
    "plancherel": ("PlancherelLosses", "plancherel_deltas"),
    "pld_filter": ("ApproximatePLDFilter", "EpsilonRange", "blackwell_mu"),
    "record_filters": ("IndividualDecision", "IndividualGDPFilter", "IndividualRenyiFilter"),
    "record_odometers": ("IndividualGDPOdometer", "IndividualRenyiOdometer"),
    "spark": ("count_spark",),
    "training": ("Training",),
}


def __getattr__(name: str) -> object:
    """Load a public name from its module, once."""
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
