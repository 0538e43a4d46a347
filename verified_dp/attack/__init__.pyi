from verified_dp.attack.counts import counts as counts
from verified_dp.attack.one_run import one_run as one_run
from verified_dp.attack.result import Guarantee as Guarantee
from verified_dp.attack.result import StatisticalBound as StatisticalBound
from verified_dp.attack.scores import scores as scores
from verified_dp.attack.tradeoff import one_run_tradeoff as one_run_tradeoff

__all__: list[str]
