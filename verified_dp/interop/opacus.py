"""An Opacus accountant whose epsilon is a proved upper bound; needs Opacus.

Importing this module registers it: `PrivacyEngine(accountant="verified")`, and so for `get_noise_multiplier`.
"""

from __future__ import annotations

from typing import Any

from opacus.accountants import IAccountant, register_accountant

from verified_dp.interop.histories import from_opacus, history_parts
from verified_dp.interop.questions import profile_of, upper_delta, upper_epsilon
from verified_dp.interop.reading import FLOATS, Converted, Reading, relation_of
from verified_dp.profile import PrivacyProfile

NAME = "verified"


class OpacusAccountant(IAccountant):
    """Opacus's IAccountant: the history of steps, and a proved upper bound on epsilon(delta) of all of them.

    The relation is add-or-remove, batches are Poisson samples, as for Opacus's own accountants. Floats are read as
    the binary numbers they are; `specification` says so.
    """

    def __init__(self) -> None:
        super().__init__()
        self._reading = Reading(relation_of("add-or-remove"), FLOATS[0])

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one optimisation step; equal ones in a row are counted."""
        if self.history and tuple(self.history[-1][:2]) == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    @property
    def profile(self) -> PrivacyProfile:
        """The privacy profile of the steps so far: enclosures instead of floats."""
        return profile_of(history_parts(self.history, self._reading), self._reading.relation)

    @property
    def specification(self) -> Converted:
        """The steps so far as an exact specification, to certify."""
        return from_opacus(self.history, floats=self._reading.floats)

    def get_epsilon(self, delta: float, *, digits: int | None = None, **_: Any) -> float:
        """A double >= epsilon(delta)."""
        return upper_epsilon(self.profile, self._reading.number(delta, "delta"), digits)

    def get_delta(self, epsilon: float, *, digits: int | None = None) -> float:
        """A double >= delta(epsilon)."""
        return upper_delta(self.profile, self._reading.number(epsilon, "epsilon"), digits)

    def __len__(self) -> int:
        return len(self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name it is registered under."""
        return NAME


register_accountant(NAME, OpacusAccountant, force=True)
