"""dp_accounting's events as exact specifications: every class is converted, or refused with its name and the reason.

An event may be the object itself, its named tuple, or a mapping with `class_name` and the fields (JSON).
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.composition import Composition
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.interop.forms import fields_of, name_of
from verified_dp.interop.reading import FLOATS, Converted, Parts, Reading, converted, relation_of
from verified_dp.interop.samples import parts_of
from verified_dp.reading import parse_history


def from_dp_event(event: object, *, relation: object = "add-or-remove", floats: str = FLOATS[0]) -> Converted:
    """The specification of a dp_accounting event with its assumptions, ready for `privacy_profile` and `certify`.

    Args:
        event: a DpEvent, its named tuple, a mapping with `class_name` and the event's fields, or that as JSON text.
        relation: ours by name, or dp_accounting's NeighboringRelation.
        floats: "shortest-decimal", the decimal that prints it, or "exact-binary", the number it is.
    Raises:
        Unsupported: for an event without a theorem here; the message has its name and the reason.
        InvalidInput: for a parameter outside its domain.

    >>> from_dp_event({"class_name": "SelfComposedDpEvent", "count": 3,
    ...                "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1.5}}).composition.parts
    ((Gaussian('1.5'), 3),)
    """
    reading = Reading(relation_of(relation), floats)
    read = parse_history(event, "text", "event") if isinstance(event, str) else event
    try:
        parts = parts_of(read, reading)
    except RecursionError:
        raise InvalidInput("event", str(name_of(read)), "nested less deeply") from None
    return converted(parts, reading, f"the dp_accounting event {name_of(read)}", event_assumptions(parts))


def event_assumptions(parts: Parts) -> tuple[str, ...]:
    """What an answer about events rests on, beside what every certificate lists."""
    sampled = bool(Composition(parts).schemes()) if parts else False
    poisson = any(isinstance(mechanism, PoissonSampled) for mechanism, _ in parts)
    return (_ASSERTED, *((_SAMPLED,) if sampled else ()), *((_POISSON,) if poisson else ()))


_ASSERTED = ("What the events assert is taken as it stands: they are numbers that a caller gave to dp_accounting, or "
             "to a builder or an analysis of jax_privacy, and nothing here has seen what ran.")
_SAMPLED = ("Batches were drawn as the sampling events say, with their probabilities and sizes; these are fixed "
            "beforehand, the same for neighbouring data sets, and no sum is divided by a number that differs between "
            "them.")
_POISSON = ("PoissonSampledDpEvent asserts that every record, or every one whose turn it is in a cycle, joined the "
            "batch by its own coin. jax_privacy's analyses build it by default, and with half the noise for batches of "
            "a fixed size. Shuffled data are no Poisson samples, no event describes them, and the bound is then false.")


def event_record(event: object) -> Any:
    """An event as plain data that JSON can hold: its class name and its fields, nested ones alike."""
    if isinstance(event, Mapping):
        return {key: event_record(value) for key, value in event.items()}
    if name := name_of(event):
        return {"class_name": name, **{key: event_record(getattr(event, key)) for key in fields_of(event)}}
    if isinstance(event, str | bool | int) or event is None:
        return event
    if isinstance(event, Real):
        return float(event)
    return [event_record(each) for each in event]  # type: ignore[attr-defined]
