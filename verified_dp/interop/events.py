"""dp_accounting's events as exact specifications: every class is converted, or refused with its name and the reason.

An event may be the object itself, its named tuple, or a mapping with `class_name` and the fields (JSON).
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from verified_dp.core.errors import InvalidInput
from verified_dp.interop.forms import fields_of, name_of
from verified_dp.interop.reading import Converted, Reading, converted, relation_of
from verified_dp.interop.samples import parts_of
from verified_dp.reading import parse_history


def from_dp_event(event: object, *, relation: object = "add-or-remove", floats: str = "exact-binary") -> Converted:
    """The specification of a dp_accounting event, ready for `privacy_profile` and `certify`.

    Args:
        event: a DpEvent, its named tuple, a mapping with `class_name` and the event's fields, or that as JSON text.
        relation: ours by name, or dp_accounting's NeighboringRelation.
        floats: "exact-binary" reads a float as the number it is, "shortest-decimal" as the decimal that is printed.
    Raises:
        Unsupported: for an event without a theorem here; the message has its name and the reason.
        InvalidInput: for a parameter outside its domain.

    >>> from_dp_event({"class_name": "SelfComposedDpEvent", "count": 3,
    ...                "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1.5}}).composition.parts
    ((Gaussian(noise_multiplier=Fraction(3, 2), sigma=None, sensitivity=None), 3),)
    """
    reading = Reading(relation_of(relation), floats)
    read = parse_history(event, "text", "event") if isinstance(event, str) else event
    try:
        return converted(parts_of(read, reading), reading, f"the dp_accounting event {name_of(read)}")
    except RecursionError:
        raise InvalidInput("event", str(name_of(read)), "nested less deeply") from None


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
