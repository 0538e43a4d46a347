"""Every mechanism, and every way to draw the records of a step; the common ones are in `verified_dp` too."""

from verified_dp.core.families.allocation.mechanism import RandomAllocation
from verified_dp.core.families.batches.mechanism import Shuffled, TruncatedPoisson, WithoutReplacement, WithReplacement
from verified_dp.core.families.clones.mechanism import ShuffledLocal
from verified_dp.core.families.discrete.mechanism import (
    DiscreteGaussian,
    DiscreteGaussianVector,
    DiscreteLaplace,
    DiscreteLaplaceVector,
)
from verified_dp.core.families.finite.mechanism import ApproximateDP, Finite, RandomizedResponse
from verified_dp.core.families.gaussian.mechanism import GaussianDP, MatrixGaussian, MixtureOfGaussians, TreeAggregation
from verified_dp.core.families.guarantees.mechanism import ZCDP, Renyi
from verified_dp.core.families.laplace.mechanism import Exponential, Laplace, LaplaceVector
from verified_dp.core.families.sampling.mechanism import CyclicPoisson, PoissonSampled
from verified_dp.core.families.selection.mechanism import (
    NegativeBinomialRuns,
    NoisyMax,
    PartitionSelection,
    PoissonRuns,
    SparseVector,
)
from verified_dp.core.families.votes.mechanism import GNMax, GNMaxVotes
from verified_dp.core.kernel.mechanisms import Gaussian

__all__ = [
    "ZCDP",
    "ApproximateDP",
    "CyclicPoisson",
    "DiscreteGaussian",
    "DiscreteGaussianVector",
    "DiscreteLaplace",
    "DiscreteLaplaceVector",
    "Exponential",
    "Finite",
    "GNMax",
    "GNMaxVotes",
    "Gaussian",
    "GaussianDP",
    "Laplace",
    "LaplaceVector",
    "MatrixGaussian",
    "MixtureOfGaussians",
    "NegativeBinomialRuns",
    "NoisyMax",
    "PartitionSelection",
    "PoissonRuns",
    "PoissonSampled",
    "RandomAllocation",
    "RandomizedResponse",
    "Renyi",
    "Shuffled",
    "ShuffledLocal",
    "SparseVector",
    "TreeAggregation",
    "TruncatedPoisson",
    "WithReplacement",
    "WithoutReplacement",
]
