"""The tie between code and proofs: `@proved_by("T07-ends")` says which proof file makes a function right."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import Any, TypeVar

_Proved = TypeVar("_Proved", bound=Callable[..., Any])
_NAME = re.compile(r"T\d\d\d?-[a-z0-9]+(-[a-z0-9]+)*")

REGISTRY: dict[Callable[..., Any], tuple[str, ...]] = {}
"""Each proved function -> names of the theorems (files `proofs/*/NAME.md`) it rests on."""


def is_theorem(name: str) -> bool:
    """Whether a text has the form of a theorem's name: T07-ends."""
    return len(name) <= 100 and _NAME.fullmatch(name) is not None


def proved_by(*names: str) -> Callable[[_Proved], _Proved]:
    """Mark a function (or class) as resting on the named theorems, and return it itself, unwrapped.

    Raises ValueError where the decorator is written if there is no name or a name is not like "T07-ends".
    """
    if not names or not all(map(is_theorem, names)):
        raise ValueError(f"theorem names must be like 'T07-ends', got {names!r}")

    def mark(proved: _Proved) -> _Proved:
        REGISTRY[proved] = names
        return proved

    return mark


def theorems_in(modules: Container[str]) -> set[str]:
    """All theorems that functions of these modules rest on."""
    return {name for proved, names in REGISTRY.items() if proved.__module__ in modules for name in names}
