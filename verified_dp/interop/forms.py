"""The forms an event may have, how its fields are read, and the table of what converts which class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from verified_dp.core.kernel.composition import Mechanism
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.losses import ORDERS
from verified_dp.core.kernel.steps import step_of
from verified_dp.interop.reading import Parts, Reading


def name_of(event: object) -> str | None:
    """The name of the event's class; None for what is no event."""
    if isinstance(event, Mapping):
        stated = event.get("class_name")
    else:
        stated = getattr(event, "class_name", type(event).__name__)
    text = stated.decode() if isinstance(stated, bytes) else stated
    return text if isinstance(text, str) and text.endswith("Event") else None


def fields_of(event: object) -> tuple[str, ...]:
    """The names of the fields of an event or of its named tuple."""
    named = getattr(event, "_fields", None)
    names = named if named is not None else (field.name for field in getattr(event, "__attrs_attrs__", ()))
    return tuple(name for name in names if name not in ("module_name", "class_name"))


@dataclass(frozen=True)
class View:
    """The fields of an event in any of its forms."""

    event: object

    def __getitem__(self, key: str) -> Any:
        found = self.event.get(key, self) if isinstance(self.event, Mapping) else getattr(self.event, key, self)
        if found is self:
            raise InvalidInput(key, None, "given")
        return found

    def get(self, key: str, default: object) -> Any:
        """The field, or what stands for it in events written before it existed."""
        if isinstance(self.event, Mapping):
            return self.event.get(key, default)
        return getattr(self.event, key, default)


@contextmanager
def inside(place: str) -> Iterator[None]:
    """Put the event's name, or the field it stands in, before the key of an error."""
    try:
        yield
    except InvalidInput as error:
        raise error.within(f"{place}.") from None
    except Unsupported as error:
        outside = f"{place}.{error.key}" if error.key and error.key != "relation" else place
        raise Unsupported(error.reason, outside, error.file) from None


Converter = Callable[[View, Reading], Parts]
CONVERTERS: dict[str, Converter] = {}
"""Class name of an event -> how it is converted."""


def converts(*names: str) -> Callable[[Converter], Converter]:
    def mark(convert: Converter) -> Converter:
        CONVERTERS.update(dict.fromkeys(names, convert))
        return convert

    return mark


def step_parts(mechanism: Mechanism, reading: Reading, copies: int = 1) -> Parts:
    """A mechanism, after a look whether a theorem covers it under the relation; on a sample that is seen later."""
    if not reading.on_sample:
        for order in ORDERS[reading.relation]:
            step_of(mechanism, order, reading.relation)
    return ((mechanism, copies),) if copies else ()


def refuse(reason: str) -> NoReturn:
    raise Unsupported(reason)
