"""Witnesses from plain data: an object is read into the class of its kind by the types of its fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from .balls import Ball, ball, larger, smaller
from .contour import Bounds, Chernoff, Line, Path, RenyiOrder
from .document import Invalid, TooMuch, check_keys, read_number
from .grid import Grid
from .lattice import Lattice
from .losses import ComposedLoss
from .nodes import Rule
from .pieces import ClosedForm
from .sparse import Sparse

MAX_PRECISION = 50_000
MAX_CELLS = 2**31
"""Nodes times frequencies, or atoms times frequencies."""
MAX_LENGTH = 2**22
"""Of any list that is made: nodes, frequencies, weights of a measure."""


@dataclass(frozen=True)
class Support:
    """delta is the infinity mass from the largest loss on (T07)."""

    prec: int

    def evaluate(self, loss: ComposedLoss) -> SupportValues:
        return SupportValues(loss)


@dataclass(frozen=True)
class SupportValues:
    loss: ComposedLoss

    def enclose(self, epsilon: Fraction) -> Bounds:
        """An exact comparison where the largest loss is a known rational number."""
        end, infinity = self.loss.largest(), self.loss.infinity()
        past = end is not None and (epsilon >= end if isinstance(end, Fraction) else ball(epsilon) >= end)
        upper = smaller(infinity.upper(), 1) if past else Ball(1)
        return Bounds(larger(infinity.lower(), 0), upper, {})


KINDS: dict[str, tuple[type[Any], str]] = {
    "line": (Line, "contour"),
    "panels": (Path, "contour"),
    "lattice": (Lattice, "lattice"),
    "sparse": (Sparse, "lattice"),
    "chernoff": (Chernoff, "contour"),
    "closed-form": (ClosedForm, "closed-form"),
    "support": (Support, "closed-form"),
    "renyi": (RenyiOrder, "renyi"),
}
"""Kind -> (class, name of the method)."""


def read_witness(table: Any, path: str) -> Any:
    kind = table.get("kind") if type(table) is dict else None
    if type(kind) is not str or kind not in KINDS:
        raise Invalid(f"{path}.kind", "must be one of " + ", ".join(KINDS))
    witness = _read_fields({key: value for key, value in table.items() if key != "kind"}, KINDS[kind][0], path)
    if not 2 <= witness.prec <= MAX_PRECISION:
        raise Invalid(f"{path}.prec", f"must be from 2 to {MAX_PRECISION}")
    return witness


@cache
def _types(known: Any) -> dict[str, Any]:
    hints = get_type_hints(known)
    return {field.name: hints[field.name] for field in fields(known)}


def _read_fields(table: Any, known: Any, path: str) -> Any:
    check_keys(table, _types(known), path)
    return known(**{name: _read(table[name], kind, f"{path}.{name}") for name, kind in _types(known).items()})


def _read(value: Any, kind: Any, path: str) -> Any:
    if get_origin(kind) is tuple:
        kinds = get_args(kind)
        if type(value) is not list:
            raise Invalid(path, "must be a list")
        expected = (kinds[0],) * len(value) if kinds[-1] is Ellipsis else kinds
        if len(value) != len(expected):
            raise Invalid(path, f"must have {len(expected)} entries")
        pairs = enumerate(zip(value, expected, strict=True))
        return tuple(_read(item, one, f"{path}[{i}]") for i, (item, one) in pairs)
    if kind is Fraction:
        return read_number(value, path)
    if kind is int:
        if type(value) is not int:
            raise Invalid(path, "must be an integer")
        return value
    return _read_fields(value, kind, path)


# ---------- limits ----------


def check_size(witness: Any) -> None:
    """TooMuch where lists or products would be longer than this checker makes them."""
    lengths: list[int] = [0]
    cells = 0
    if isinstance(witness, Line):
        lengths += [_nodes(witness.nodes), _nodes(witness.tail_nodes), abs(witness.count)]
        cells = lengths[1] * lengths[3]
    elif isinstance(witness, Path):
        for block in witness.blocks:
            sizes = [_nodes(block.nodes), _nodes(block.bound_nodes), abs(block.panels * block.points)]
            cells, lengths = cells + sizes[0] * sizes[2], [*lengths, *sizes]
        lengths.append(_nodes(witness.ray_nodes))
    elif isinstance(witness, Lattice):
        lengths += [abs(high - low) for low, high in witness.windows]
        lengths += [_span(grid) for grid in witness.grids]
        cells = 64 * sum(_cells(grid) for grid in witness.grids) + 16 * sum(lengths)
    elif isinstance(witness, Sparse):
        atoms = sum(_cells(grid) for grid in witness.grids)
        lengths += [atoms, abs(witness.count), sum(abs(cells) for cells, _ in witness.cover)]
        cells = atoms * (lengths[2] + 2 * lengths[3])
    elif isinstance(witness, Chernoff | RenyiOrder):
        lengths += [_nodes(witness.nodes)]
    if max(lengths) > MAX_LENGTH or cells > MAX_CELLS:
        raise TooMuch("takes more work or memory than this checker spends")


def _nodes(rules: Iterable[Rule]) -> int:
    return sum(max(abs(rule.last - rule.first) + 1, abs(rule.cells)) for rule in rules)


def _cells(grid: Grid) -> int:
    return sum(abs(cells) for cells, _ in grid.blocks) + 1


def _span(grid: Grid) -> int:
    return sum(abs(cells * stride) for cells, stride in grid.blocks) + 1

