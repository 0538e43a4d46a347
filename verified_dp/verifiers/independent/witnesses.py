"""Witnesses from plain data: an object is read into the class of its kind by the types of its fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, get_args, get_origin, get_type_hints

from .atoms import FiniteLoss
from .balls import Ball, ball, larger, precision, smaller
from .contour import Bounds, Line, not_covered, require
from .document import Invalid, TooMuch, read_number
from .exact import exact_infinity, total_variation
from .losses import ComposedLoss
from .moment import EarlierChernoff, EarlierRenyi, Moment, NodeMoment
from .nodes import Rule
from .pieces import ClosedForm

MAX_PRECISION = 50_000
MAX_CELLS = 2**31
"""Nodes times frequencies, or atoms times frequencies."""
MAX_LENGTH = 2**22
"""Of any list that is made: nodes, frequencies, weights of a measure."""


@dataclass(frozen=True)
class Exact:
    """P(S = inf) <= delta <= 1; as a rational number past the support, or at 0 where all masses are rational (T126)."""

    prec: int

    def evaluate(self, loss: ComposedLoss) -> ExactValues:
        return ExactValues(loss)


@dataclass(frozen=True)
class ExactValues:
    loss: ComposedLoss

    def enclose(self, epsilon: Fraction) -> Bounds:
        end, bare = self.loss.largest(), self.loss.only_moments
        past = end is not None and (epsilon >= end if isinstance(end, Fraction) else ball(epsilon) >= end)
        mass = None if bare else exact_infinity(self.loss)
        value = mass if past else None
        if value is None and epsilon == 0 and not bare:
            value = total_variation(self.loss)
        if value is not None and value != mass:
            return Bounds(ball(value), ball(value), {}, value, value)
        infinity = self.loss.infinity() if mass is None else ball(mass)
        upper = smaller(infinity.upper(), 1) if past or value is not None else Ball(1)
        return Bounds(larger(infinity.lower(), 0), upper, {}, mass, value)

    def says(self, epsilon: Fraction) -> tuple[bool, bool, bool]:
        """Whether its lower end holds at every x, delta is larger at every x < eps, and is at every x (T44, T127)."""
        if self.loss.epochs:
            return False, False, False
        if self.loss.only_moments:
            return True, False, False
        found, mass, end = self.enclose(epsilon), exact_infinity(self.loss), self.loss.largest()
        if found.exact_lower != mass:
            return False, False, False
        inside = end is None or (epsilon <= end if isinstance(end, Fraction) else ball(epsilon) <= end)
        falls = inside and (self.loss.infinity() < 1 if mass is None else mass < 1)
        return True, falls, falls and end is None


class AnyWitness:
    """The type of a field that holds a witness of any kind; None where this checker does not replay it."""


@dataclass(frozen=True)
class Attack:
    """(threshold, false, true) of tests on each kind of shuffled epoch; inner: on those tests' pairs (T144)."""

    attacks: tuple[tuple[tuple[Fraction, Fraction, Fraction], ...], ...]
    inner: AnyWitness

    @property
    def prec(self) -> int:
        prec: int = getattr(self.inner, "prec", 64)
        return prec

    def seen(self, loss: ComposedLoss) -> ComposedLoss:
        """The loss with the tests' pairs, after the other laws, in place of the Gaussians of shuffled epochs."""
        require(0 < len(loss.epochs) == len(self.attacks) and not isinstance(self.inner, Attack))
        with precision(192):
            require(all(epoch.allows(*test) for (epoch, _, _), tests in zip(loss.epochs, self.attacks, strict=True)
                        for test in tests))
        laws, shift = dict(loss.parts), loss.mean_shift_squared
        for (_, count, part), tests in zip(loss.epochs, self.attacks, strict=True):
            law = FiniteLoss(_between(tests), "remove").in_order("add" if loss.order == "add" else "remove")
            laws[law] = laws.get(law, 0) + count
            shift -= part
        return ComposedLoss(loss.order, tuple(laws.items()), shift)

    def evaluate(self, loss: ComposedLoss) -> OneEnd:
        seen = self.seen(loss)
        not_covered(self.inner is None)
        return OneEnd(self.inner.evaluate(seen), above=False)  # type: ignore[attr-defined]


def _between(tests: Iterable[tuple[Fraction, Fraction, Fraction]]) -> tuple[tuple[Fraction, Fraction], ...]:
    """(true, false) from each test to the next, from nothing to all; they must fall in true/false. Rising ratios."""
    steps, (x, y) = [], (Fraction(0), Fraction(0))
    for false, true in [*(test[1:] for test in tests), (Fraction(1), Fraction(1))]:
        require(false > x and true >= y)
        steps.append((true - y, false - x))
        x, y = false, true
    require(all(a[0] / a[1] > b[0] / b[1] for a, b in pairwise(steps)))
    return tuple(steps[::-1])


@dataclass(frozen=True)
class OneEnd:
    """Values that hold at one end: from above of the pair that dominates shuffled epochs, from below of an attack."""

    values: Any
    above: bool

    def enclose(self, epsilon: Fraction) -> Bounds:
        found = self.values.enclose(epsilon)
        if self.above:
            return Bounds(Ball(0), found.upper, found.budget, None, found.exact_upper)
        return Bounds(found.lower, Ball(1), found.budget, found.exact_lower, None)


def values_of(witness: Any, loss: ComposedLoss) -> Any:
    """What a witness gives on a loss; of shuffled epochs nothing but an attack holds from below."""
    if not loss.epochs or isinstance(witness, Attack):
        return witness.evaluate(loss)
    return OneEnd(witness.evaluate(loss), above=True)


KINDS: dict[str, tuple[type[Any], str]] = {
    "line": (Line, "contour"),
    "chernoff": (EarlierChernoff, "contour"),
    "closed-form": (ClosedForm, "closed-form"),
    "support": (Exact, "closed-form"),
    "exact": (Exact, "closed-form"),
    "end": (Exact, "closed-form"),
    "endless": (Exact, "closed-form"),
    "renyi": (EarlierRenyi, "renyi"),
    "divergences": (Moment, "renyi"),
    "moment": (Moment, "renyi"),
    "node-moment": (NodeMoment, "renyi"),
    "attack": (Attack, "attack"),
}
"""Kind -> (class, name of the method)."""


class OtherForm(Exception):
    """Keys that are not those of this kind here: another version of it, which is not replayed."""


def read_witness(table: Any, path: str) -> Any:
    """None: of a kind, or with keys, that this checker does not know."""
    kind = table.get("kind") if type(table) is dict else None
    if type(kind) is not str:
        raise Invalid(f"{path}.kind", "must be text")
    if kind not in KINDS:
        return None
    if kind == "node-moment":
        if [] in (table.get("nodes"), table.get("families")):
            raise Invalid(path, "must be without empty lists")
        table = {"nodes": [], "families": [], **table}
    try:
        witness = _read_fields({key: value for key, value in table.items() if key != "kind"}, KINDS[kind][0], path)
    except OtherForm:
        return None
    if not 2 <= witness.prec <= MAX_PRECISION:
        raise Invalid(f"{path}.prec", f"must be from 2 to {MAX_PRECISION}")
    return witness


@cache
def _types(known: Any) -> dict[str, Any]:
    """The fields of a class in their sequence, with types."""
    hints, names = get_type_hints(known), [field.name for field in fields(known)]
    return dict(zip(names, map(hints.__getitem__, names), strict=True))


def _read_fields(table: Any, known: Any, path: str) -> Any:
    types = _types(known)
    if type(table) is not dict or set(table) != set(types):
        raise OtherForm
    values = (_read(table[name], types[name], f"{path}.{name}") for name in types)
    return known(*values)


def _read(value: Any, kind: Any, path: str) -> Any:
    if get_origin(kind) is tuple:
        return _read_list(value, get_args(kind), path)
    if kind is Fraction:
        return read_number(value, path)
    if kind is AnyWitness:
        return read_witness(value, path)
    if kind is int:
        if type(value) is not int:
            raise Invalid(path, "must be an integer")
        return value
    return _read_fields(value, kind, path)


def _read_list(value: Any, kinds: tuple[Any, ...], path: str) -> tuple[Any, ...]:
    """(kind, ...) is a list of any length, other types are those of each entry."""
    if not isinstance(value, list):
        raise Invalid(path, "must be a list")
    if kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(value)
    if len(kinds) != len(value):
        raise Invalid(path, f"must have {len(kinds)} entries")
    return tuple(_read(value[n], one, f"{path}[{n}]") for n, one in enumerate(kinds))


# ---------- limits ----------


def check_size(witness: Any) -> None:
    """TooMuch where lists or products would be longer than this checker makes them."""
    if isinstance(witness, Attack):
        return check_size(witness.inner)
    lengths: list[int] = [0]
    cells = 0
    if isinstance(witness, Line):
        lengths += [_nodes(witness.nodes), _nodes(witness.tail_nodes), abs(witness.count)]
        cells = lengths[1] * lengths[3]
    else:
        lengths += [_nodes(getattr(witness, name, ())) for name in ("nodes", "families")]
    if max(lengths) > MAX_LENGTH or cells > MAX_CELLS:
        raise TooMuch("takes more work or memory than this checker spends")


def _nodes(rules: Iterable[Rule]) -> int:
    return sum(max(abs(rule.last - rule.first) + 1, abs(rule.cells)) for rule in rules)
