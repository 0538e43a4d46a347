"""An accountant with dp_accounting's interface whose answers are proved upper bounds; needs dp_accounting."""

from __future__ import annotations

import math
from typing import Any

import dp_accounting as peer
import numpy as np

from verified_dp.core.kernel.composition import Composition
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.interop.events import event_assumptions
from verified_dp.interop.questions import (
    profile_of,
    read_rates,
    upper_delta,
    upper_epsilon,
    upper_true_positive_rates,
)
from verified_dp.interop.reading import FLOATS, Converted, Parts, Reading, converted, relation_of, times
from verified_dp.interop.samples import parts_of
from verified_dp.profile import PrivacyProfile

_ADD_OR_REMOVE = peer.NeighboringRelation.ADD_OR_REMOVE_ONE


class VerifiedAccountant(peer.PrivacyAccountant):
    """dp_accounting's PrivacyAccountant whose epsilon and delta are proved upper bounds, rounded up to doubles.

    Args:
        neighboring_relation: dp_accounting's.
        floats: how the floats of events and questions are read, see `from_dp_event`.
        digits: relative precision 10^-digits of each answer; the profile's own default if not given.
        max_seconds: about how long an answer may take; past it, it is an upper bound that is less sharp.
    Nothing that `supports` accepts is refused later; what it refuses, `compose` names with the reason.
    """

    def __init__(self, neighboring_relation: peer.NeighboringRelation = _ADD_OR_REMOVE, *, floats: str = FLOATS[0],
                 digits: int | None = None, max_seconds: float | None = None) -> None:
        super().__init__(neighboring_relation)
        self._reading = Reading(relation_of(neighboring_relation), floats)
        self._precision = digits, max_seconds
        self._parts: Parts = ()
        self._known: PrivacyProfile | None = None

    def _maybe_compose(self, event: peer.DpEvent, count: int, do_compose: bool) -> Any:
        """None where the event joins what was composed; else dp_accounting's record of what is refused and why."""
        try:
            once = parts_of(event, self._reading)
            counted = times(once, self._reading.whole(count if do_compose else max(count, 1), "count"))
            joined = Composition(self._parts + counted).merged()
            profile_of(once, self._reading.relation)  # what is composed before has been looked at then
        except (InvalidInput, Unsupported) as error:
            return peer.PrivacyAccountant.CompositionErrorDetails(event, str(error))
        if do_compose:
            self._parts, self._known = joined, None
        return None

    @property
    def profile(self) -> PrivacyProfile:
        """The privacy profile of all that was composed: enclosures instead of floats."""
        if self._known is None:
            self._known = profile_of(self._parts, self._reading.relation)
        return self._known

    @property
    def specification(self) -> Converted:
        """All that was composed as an exact specification, to certify."""
        return converted(self._parts, self._reading, "dp_accounting events", self.assumptions)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What every answer rests on, in sentences, beside the assumptions that each certificate lists."""
        return event_assumptions(self._parts)

    def get_epsilon(self, target_delta: float) -> float:
        """A double >= epsilon(target_delta)."""
        return upper_epsilon(self.profile, self._reading.number(target_delta, "target_delta"), *self._precision)

    def get_delta(self, target_epsilon: float) -> float:
        """A double >= delta(target_epsilon); of an infinite epsilon, what holds from 256 on."""
        asked = 256.0 if target_epsilon == math.inf else target_epsilon
        return upper_delta(self.profile, self._reading.number(asked, "target_epsilon"), *self._precision)

    def get_true_positive_rates(self, false_positive_rates: Any) -> Any:
        """Doubles >= the true positive rate of every attack at the given false positive rates; a float for a float."""
        rates = np.asarray(false_positive_rates, dtype=float)
        found = upper_true_positive_rates(self.profile, read_rates(rates.ravel().tolist(), self._reading))
        return np.array(found).reshape(rates.shape) if rates.shape else found[0]
