"""Differential-privacy accounting with proved digits: enclosures in ball arithmetic, and certificates.

    from verified_dp import Gaussian, PoissonSampled, compose, privacy_profile

Names are loaded when they are first used, so that `import verified_dp` costs nothing by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verified_dp import errors
    from verified_dp.dyadic import Dyadic
    from verified_dp.enclosure import Enclosure, Estimate
    from verified_dp.errors import (
        InconsistentEnclosures,
        InexactInput,
        InvalidCertificate,
        InvalidInput,
        Undecided,
        Unsupported,
        VerifiedDPError,
    )
    from verified_dp.mechanisms import (
        Claim,
        Composition,
        Gaussian,
        PoissonSampled,
        Relation,
        Spec,
        WithoutReplacement,
        WithReplacement,
        compose,
    )
    from verified_dp.profile import PrivacyProfile, privacy_profile
    from verified_dp.releases import (
        ZCDP,
        ApproximateDP,
        DiscreteGaussian,
        DiscreteLaplace,
        Exponential,
        Finite,
        FourierAccountantDraws,
        FourierAccountantPair,
        GaussianDP,
        Laplace,
        MixtureOfGaussians,
        RandomizedResponse,
        Renyi,
    )
    from verified_dp.spec import load_spec

__version__ = "0.1.0"

__all__ = [
    "ZCDP",
    "ApproximateDP",
    "Claim",
    "Composition",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Dyadic",
    "Enclosure",
    "Estimate",
    "Exponential",
    "Finite",
    "FourierAccountantDraws",
    "FourierAccountantPair",
    "Gaussian",
    "GaussianDP",
    "InconsistentEnclosures",
    "InexactInput",
    "InvalidCertificate",
    "InvalidInput",
    "Laplace",
    "MixtureOfGaussians",
    "PoissonSampled",
    "PrivacyProfile",
    "RandomizedResponse",
    "Relation",
    "Renyi",
    "Spec",
    "Undecided",
    "Unsupported",
    "VerifiedDPError",
    "WithReplacement",
    "WithoutReplacement",
    "__version__",
    "compose",
    "errors",
    "load_spec",
    "privacy_profile",
]

_ERRORS = ("InconsistentEnclosures", "InexactInput", "InvalidCertificate", "InvalidInput", "Undecided",
           "Unsupported", "VerifiedDPError")
_MECHANISMS = ("Claim", "Composition", "Gaussian", "PoissonSampled", "Relation", "Spec", "WithReplacement",
               "WithoutReplacement", "compose")
_RELEASES = ("ApproximateDP", "DiscreteGaussian", "DiscreteLaplace", "Exponential", "Finite", "FourierAccountantDraws",
             "FourierAccountantPair", "GaussianDP", "Laplace", "MixtureOfGaussians", "RandomizedResponse", "Renyi",
             "ZCDP")
_HOMES = {
    **dict.fromkeys(_ERRORS, "errors"),
    **dict.fromkeys(_MECHANISMS, "mechanisms"),
    **dict.fromkeys(_RELEASES, "releases"),
    "Dyadic": "dyadic",
    "Enclosure": "enclosure",
    "Estimate": "enclosure",
    "PrivacyProfile": "profile",
    "load_spec": "spec",
    "privacy_profile": "profile",
}


def __getattr__(name: str) -> object:
    """Load a public name from its module, once."""
    if name == "errors":
        return import_module("verified_dp.errors")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
