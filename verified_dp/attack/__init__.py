"""Attacks: statistical lower bounds on the privacy of what was run, beside what is proved of what was stated.

    from verified_dp.attack import counts, one_run, one_run_tradeoff, scores
"""

from verified_dp import lazy

__all__, __getattr__ = lazy(__name__, {
    "verified_dp.attack.trials": "counts",
    "verified_dp.attack.guesses": "one_run",
    "verified_dp.attack.result": "Guarantee StatisticalBound",
    "verified_dp.attack.thresholds": "scores",
    "verified_dp.attack.tradeoff": "one_run_tradeoff",
})
