from verified_dp.attack.guesses import one_run as one_run
from verified_dp.attack.result import Guarantee as Guarantee
from verified_dp.attack.result import StatisticalBound as StatisticalBound
from verified_dp.attack.thresholds import scores as scores
from verified_dp.attack.tradeoff import one_run_tradeoff as one_run_tradeoff
from verified_dp.attack.trials import counts as counts

__all__: list[str]
