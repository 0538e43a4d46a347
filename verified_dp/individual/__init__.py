"""The losses of every record of a training; the names of `verified_dp.adaptive` too.

    from verified_dp.individual import Training, count_parquet, individual_epsilons

Names are loaded when they are first used: what computes with arrays costs nothing until then.
"""

from __future__ import annotations

from verified_dp import adaptive, lazy

__all__, __getattr__ = lazy(__name__, {
    **adaptive.HOMES,
    "verified_dp.individual.array_filter": "ArrayDecision ArrayGDPFilter",
    "verified_dp.individual.input": "Recorder count_array count_parquet count_steps count_table",
    "verified_dp.individual.losses": "IndividualLosses individual_deltas individual_epsilons",
    "verified_dp.individual.shared": "SharedTables shared_deltas shared_epsilons",
    "verified_dp.individual.spark": "count_spark enclose_spark",
    "verified_dp.individual.training": "Training",
    "verified_dp.papers.individual.pld_filter": "ApproximatePLDFilter EpsilonRange blackwell_mu",
})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
