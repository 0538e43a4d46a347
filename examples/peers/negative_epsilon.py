"""Opacus 1.6.0, accountants "rdp" and "prv": a large delta gives a negative epsilon.

Reason: the conversion of a Renyi divergence may be negative, as may the root of delta(epsilon) = delta. This is not
unsound, but the definition asks for epsilon >= 0, and a budget to which such an answer is added comes out too small.
Suggestion: the maximum with 0.
"""

from __future__ import annotations

from comparison import show

from verified_dp import Enclosure, Spec, privacy_profile
from verified_dp.interop import from_opacus

HISTORY = [(1.0, 0.01, 100)]
RECORDED = "-0.6759658383524919"
CLAIM = ("0", "1/2")


def spec() -> Spec:
    return from_opacus(HISTORY, floats="shortest-decimal")


def truth() -> Enclosure:
    return privacy_profile(spec()).epsilon("1/2")


def reported() -> float:
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    accountant.history = list(HISTORY)
    return accountant.get_epsilon(0.5)


if __name__ == "__main__":
    show("opacus", reported, RECORDED, truth())
