"""Differential-privacy accounting with proved digits: enclosures in ball arithmetic, and certificates.

    from verified_dp import Gaussian, PoissonSampled, compose, privacy_profile

`verified_dp.mechanisms` has every kind of mechanism and of sampling, `verified_dp.papers` the papers' methods.
Names are loaded when they are first used, so that `import verified_dp` costs nothing by itself. Their types stand in
`__init__.pyi`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

__version__ = "0.4.0"


def lazy(package: str, homes: Mapping[str, str]) -> tuple[list[str], Callable[[str], object]]:
    """`__all__` and `__getattr__` of a package that loads public names from their modules when they are first used.

    Args:
        homes: module -> its public names, separated by spaces.
    """
    where = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(where[name])
        value: object = getattr(home, name) if hasattr(home, name) else import_module(f"{where[name]}.{name}")
        setattr(import_module(package), name, value)
        return value

    return sorted(where), load


_NAMES, __getattr__ = lazy(__name__, {
    "verified_dp.calibration": "calibrate",
    "verified_dp.certificate": "Certificate certify verify",
    "verified_dp.core.families.allocation.mechanism": "RandomAllocation",
    "verified_dp.core.families.batches.mechanism": "Shuffled TruncatedPoisson WithReplacement WithoutReplacement",
    "verified_dp.core.families.clones.mechanism": "ShuffledLocal",
    "verified_dp.core.families.discrete.mechanism":
        "DiscreteGaussian DiscreteGaussianVector DiscreteLaplace DiscreteLaplaceVector",
    "verified_dp.core.families.finite.mechanism": "ApproximateDP Finite RandomizedResponse",
    "verified_dp.core.families.gaussian.mechanism": "GaussianDP MatrixGaussian MixtureOfGaussians TreeAggregation",
    "verified_dp.core.families.guarantees.mechanism": "Renyi ZCDP",
    "verified_dp.core.families.laplace.mechanism": "Exponential Laplace LaplaceVector",
    "verified_dp.core.families.sampling.mechanism": "CyclicPoisson PoissonSampled",
    "verified_dp.core.families.selection.mechanism":
        "NegativeBinomialRuns NoisyMax PartitionSelection PoissonRuns SparseVector",
    "verified_dp.core.kernel.composition": "Claim Composition Relation Spec compose",
    "verified_dp.core.kernel.errors": "InvalidInput Undecided Unsupported VerifiedDPError",
    "verified_dp.core.kernel.exact": "Number",
    "verified_dp.core.kernel.mechanisms": "Gaussian",
    "verified_dp.enclosure": "Enclosure",
    "verified_dp.profile": "PrivacyProfile privacy_profile",
    "verified_dp.questions.training": "Training",
    "verified_dp.spec": "load_spec",
    "verified_dp.training": "dpsgd",
})
_ELSEWHERE = frozenset((
    "DiscreteGaussianVector", "DiscreteLaplaceVector", "LaplaceVector", "MixtureOfGaussians", "NegativeBinomialRuns",
    "NoisyMax", "Number", "PartitionSelection", "PoissonRuns", "SparseVector", "Training"))
"""Names that load here too, and are listed in `verified_dp.mechanisms` or beside what uses them."""
__all__ = ["__version__", *(name for name in _NAMES if name not in _ELSEWHERE)]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
