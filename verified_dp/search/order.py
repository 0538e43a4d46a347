"""Earlier names of `one_direction` and `deadline`."""

from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import COARSE, OneDirection

SingleOrder = OneDirection

__all__ = ["COARSE", "Budget", "SingleOrder"]
