"""Differential-privacy accounting with proved digits: enclosures in ball arithmetic, and certificates.

    from verified_dp import Gaussian, PoissonSampled, compose, privacy_profile

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
    "verified_dp.batch": "certify_all compare_all delta_all epsilon_all",
    "verified_dp.calibration": "Calibration calibrate",
    "verified_dp.certificate": "Certificate certify verify",
    "verified_dp.core.families.allocation.mechanism": "RandomAllocation",
    "verified_dp.core.families.batches.mechanism": "Shuffled TruncatedPoisson WithReplacement WithoutReplacement",
    "verified_dp.core.families.clones.mechanism": "ShuffledLocal",
    "verified_dp.core.families.discrete.mechanism":
        "DiscreteGaussian DiscreteGaussianVector DiscreteLaplace DiscreteLaplaceVector",
    "verified_dp.core.families.finite.mechanism": "EVERYTHING ApproximateDP Finite RandomizedResponse",
    "verified_dp.core.families.gaussian.mechanism": "GaussianDP MatrixGaussian MixtureOfGaussians TreeAggregation",
    "verified_dp.core.families.guarantees.mechanism": "Renyi ZCDP",
    "verified_dp.core.families.laplace.mechanism": "Exponential Laplace LaplaceVector",
    "verified_dp.core.families.sampling.mechanism": "CyclicPoisson PoissonSampled",
    "verified_dp.core.families.selection.mechanism":
        "NegativeBinomialRuns NoisyMax PartitionSelection PoissonRuns SparseVector",
    "verified_dp.core.kernel": "errors",
    "verified_dp.core.kernel.composition": "Claim Composition Relation Spec compose",
    "verified_dp.core.kernel.dyadic": "Dyadic",
    "verified_dp.core.kernel.errors":
        "Disagreement InconsistentEnclosures InexactInput InvalidCertificate InvalidInput Undecided Unsupported "
        "VerifiedDPError",
    "verified_dp.core.kernel.exact": "Number",
    "verified_dp.core.kernel.mechanisms": "Gaussian",
    "verified_dp.enclosure": "Enclosure Estimate",
    "verified_dp.papers.fourier.pairs": "FourierAccountantDraws FourierAccountantPair",
    "verified_dp.profile": "PrivacyProfile privacy_profile",
    "verified_dp.questions.curve": "Curve",
    "verified_dp.questions.shuffled": "local_attack shuffled_attack",
    "verified_dp.questions.tradeoff": "TradeOff",
    "verified_dp.questions.training": "Training",
    "verified_dp.spec": "load_spec",
})
__all__ = ["__version__", *_NAMES]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
