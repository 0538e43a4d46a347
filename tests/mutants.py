"""Witnesses altered at random: the field's neighbours in value, its opposite, another field's value, shorter lists."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every number and every list of a witness, with its place."""
    if is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name), (*path, field.name))
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
        return
    if value != ():
        yield path, value
    for index, item in enumerate(value if isinstance(value, tuple) else ()):
        yield from leaves(item, (*path, index))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    if is_dataclass(value):
        return replace(value, **{path[0]: put(getattr(value, path[0]), path[1:], new)})  # type: ignore[type-var]
    if isinstance(value, Mapping):
        return {**value, path[0]: put(value[path[0]], path[1:], new)}
    return tuple(put(item, path[1:], new) if index == path[0] else item for index, item in enumerate(value))


def altered(rng: random.Random, value: Any) -> Any:
    if isinstance(value, tuple):
        if len(value) == 2 and isinstance(value[0], Fraction):
            return value[::-1]
        return rng.choice([value[::-1], value[:-1], value + value[-1:]])
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, 0, 1, 2, 3, -value, 2 * value, value // 2, value + rng.randint(-9, 9)])
    if rng.random() < 0.5:
        return value * Fraction(rng.randint(300, 2500), 1000)
    return rng.choice([-value, Fraction(0), value + 1, value - 1, 1000 * value, value / 1000, value * (1 + Fraction(
        rng.choice([-1, 1]), 2 ** rng.randint(1, 80))), 1 + Fraction(1, 2**40), 2 * value, value / 2])


def mutated(rng: random.Random, witness: Any) -> Any:
    """One to three fields altered, or given the value of another."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        found = list(leaves(witness))
        names = sorted({path[-1] for path, _ in found if isinstance(path[-1], str)})
        name = rng.choice(names)
        path, value = rng.choice([leaf for leaf in found if name in leaf[0][-2:]])
        new = altered(rng, value)
        if path[-1] == "prec":
            new = rng.choice([2, 3, 4, 6, 10, 20, 30, 53, 64, 100])
        elif not isinstance(value, tuple) and rng.random() < 0.15:
            new = rng.choice([other for _, other in found if type(other) is type(value)])
        witness = put(witness, path, new)
    return witness
