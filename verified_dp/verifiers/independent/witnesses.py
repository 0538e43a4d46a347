"""Witnesses from plain data: an object is read into the class of its kind by the types of its fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, get_args, get_origin, get_type_hints

from .atoms import FiniteLoss
from .balls import Ball, Unknown, ball, exp, expm1, larger, log1p, precision, smaller
from .contour import Bounds, Chernoff, Line, RenyiOrder, require
from .deficits import Deficits
from .divergences import Divergences
from .document import Invalid, TooMuch, check_keys, read_number
from .exact import exact_infinity, total_variation
from .grid import Grid
from .halves import Halves, count_lists
from .lattice import Lattice
from .laws import Component
from .losses import ComposedLoss
from .marked import Marked
from .moment import Moment, NodeMoment
from .nodes import Rule
from .outcomes import Outcomes
from .pieces import ClosedForm
from .rays import Rays
from .shifts import MixtureLoss
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


@dataclass(frozen=True)
class SupportEnd:
    """at is at most the largest finite loss, so delta(x) > P(S = inf) for every x < at (T127)."""

    prec: int

    def evaluate(self, loss: ComposedLoss) -> SupportEndValues:
        require(not loss.only_moments)
        return SupportEndValues(loss)


@dataclass(frozen=True)
class SupportEndValues:
    loss: ComposedLoss

    def enclose(self, epsilon: Fraction) -> Bounds:
        end, infinity = self.loss.largest(), self.loss.infinity()
        inside = end is None or (epsilon <= end if isinstance(end, Fraction) else ball(epsilon) <= end)
        if not (inside and infinity < 1):
            raise Unknown("whether there are larger losses")
        return Bounds(larger(infinity.lower(), 0), Ball(1), {}, exact_infinity(self.loss))


@dataclass(frozen=True)
class Endless(SupportEnd):
    """There is no largest finite loss, so delta(x) > P(S = inf) for every x (T127)."""

    def evaluate(self, loss: ComposedLoss) -> SupportEndValues:
        require(loss.largest() is None)
        return super().evaluate(loss)


class AnyWitness:
    """The type of a field that holds a witness of any kind."""


@dataclass(frozen=True)
class Attack:
    """(threshold, false, true) of tests on each kind of shuffled epoch; inner: on those tests' pairs (T144)."""

    attacks: tuple[tuple[tuple[Fraction, Fraction, Fraction], ...], ...]
    inner: AnyWitness

    @property
    def prec(self) -> int:
        prec: int = self.inner.prec  # type: ignore[attr-defined]
        return prec

    def lost(self, loss: ComposedLoss) -> ComposedLoss:
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
        return OneEnd(self.inner.evaluate(self.lost(loss)), above=False)  # type: ignore[attr-defined]


SHORTENED_INNER = frozenset({"line", "marked", "rays", "chernoff", "moment", "node-moment", "support", "exact"})


@dataclass(frozen=True)
class Shortened:
    """kept: of each law's mixtures how many components are kept, 0 for all; inner: on what is left (T166)."""

    kept: tuple[int, ...]
    inner: AnyWitness

    @property
    def prec(self) -> int:
        prec: int = self.inner.prec  # type: ignore[attr-defined]
        return prec

    def left(self, loss: ComposedLoss) -> tuple[ComposedLoss, Ball, Ball]:
        """What is left, and 1 - prod p_i^{k_i}, 1 - prod q_i^{k_i} from above."""
        require(len(self.kept) == len(loss.parts) and any(self.kept))
        require(any(isinstance(self.inner, KINDS[kind][0]) for kind in SHORTENED_INNER))
        parts, above, below = [], Ball(0), Ball(0)
        for kept, (law, count) in zip(self.kept, loss.parts, strict=True):
            if kept:
                require(kept > 1 and type(law) is MixtureLoss)
                (first, p), (second, q) = _kept(law.above[:kept]), _kept(law.below[-kept:])
                law = replace(law, above=first, below=second)
                above, below = (size + log1p(-ball(lost)) * count if lost else size
                                for size, lost in ((above, p), (below, q)))
            parts.append((law, count))
        return replace(loss, parts=tuple(parts)), (-expm1(above)).upper(), (-expm1(below)).upper()

    def evaluate(self, loss: ComposedLoss) -> ShortenedValues:
        with precision(256):
            left, above, below = self.left(loss)
        return ShortenedValues(self.inner.evaluate(left), above, below)  # type: ignore[attr-defined]


def _kept(mixture: tuple[Component, ...]) -> tuple[tuple[Component, ...], Fraction]:
    """Over the sum of the weights; what that lacks comes second."""
    whole = sum((weight for _, weight in mixture), Fraction(0))
    return tuple((mean, weight / whole) for mean, weight in mixture), 1 - whole


@dataclass(frozen=True)
class ShortenedValues:
    values: Any
    above: Ball
    below: Ball

    def enclose(self, epsilon: Fraction) -> Bounds:
        """|delta - delta'| <= above + e^eps below."""
        found = self.values.enclose(epsilon)
        dropped = (self.above + exp(ball(epsilon)) * self.below).upper()
        lower, upper = larger(found.lower - dropped, 0), smaller(found.upper + dropped, 1)
        return Bounds(lower.lower(), upper.upper(), {**found.budget, "dropped": dropped})


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
    require(not isinstance(witness, SupportEnd))
    return OneEnd(witness.evaluate(loss), above=True)


KINDS: dict[str, tuple[type[Any], str]] = {
    "line": (Line, "contour"),
    "rays": (Rays, "contour"),
    "lattice": (Lattice, "lattice"),
    "sparse": (Sparse, "lattice"),
    "chernoff": (Chernoff, "contour"),
    "closed-form": (ClosedForm, "closed-form"),
    "support": (Support, "closed-form"),
    "exact": (Exact, "closed-form"),
    "end": (SupportEnd, "closed-form"),
    "endless": (Endless, "closed-form"),
    "renyi": (RenyiOrder, "renyi"),
    "divergences": (Divergences, "renyi"),
    "moment": (Moment, "renyi"),
    "node-moment": (NodeMoment, "renyi"),
    "outcomes": (Outcomes, "contour"),
    "halves": (Halves, "closed-form"),
    "shortened": (Shortened, "contour"),
    "deficits": (Deficits, "closed-form"),
    "attack": (Attack, "attack"),
    "marked": (Marked, "contour"),
}
"""Kind -> (class, name of the method)."""
EARLIER = {"panels": "0.3.0"}
"""Kinds that only certificates of earlier versions have -> the last version that replays them."""


def read_witness(table: Any, path: str) -> Any:
    kind = table.get("kind") if type(table) is dict else None
    if type(kind) is str and kind in EARLIER:
        raise TooMuch(f"has a witness of kind {kind}, which version {EARLIER[kind]} replays")
    if type(kind) is not str or kind not in KINDS:
        raise Invalid(f"{path}.kind", "must be one of " + ", ".join(KINDS))
    if kind == "line" and "reaches" in table:
        table = _listed(table, path)
        kind = table["kind"]
    if kind == "node-moment":
        if [] in (table.get("nodes"), table.get("families")):
            raise Invalid(path, "must be without empty lists")
        table = {"nodes": [], "families": [], **table}
    witness = _read_fields({key: value for key, value in table.items() if key != "kind"}, KINDS[kind][0], path)
    if not 2 <= witness.prec <= MAX_PRECISION:
        raise Invalid(f"{path}.prec", f"must be from 2 to {MAX_PRECISION}")
    return witness


def _listed(table: Any, path: str) -> Any:
    """A line of atoms that are all listed."""
    if any(table.get(rules) != [] for rules in ("nodes", "tail_nodes")) or table.get("cover") == []:
        raise Invalid(path, "must be a line of listed outcomes alone, without empty lists of cells")
    rest = {key: value for key, value in table.items() if key not in ("nodes", "tail_nodes")}
    return {"cover": [], **rest, "kind": "outcomes"}


@cache
def _types(known: Any) -> dict[str, Any]:
    """The fields of a class in their sequence, with types."""
    hints, names = get_type_hints(known), [field.name for field in fields(known)]
    return dict(zip(names, map(hints.__getitem__, names), strict=True))


def _read_fields(table: Any, known: Any, path: str) -> Any:
    types = _types(known)
    check_keys(table, types, path)
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
    if isinstance(witness, Attack | Shortened):
        return check_size(witness.inner)
    lengths: list[int] = [0]
    cells = 0
    if isinstance(witness, Line):
        lengths += [_nodes(witness.nodes), _nodes(witness.tail_nodes), abs(witness.count)]
        cells = lengths[1] * lengths[3]
    elif isinstance(witness, Marked):
        lengths += [_nodes(witness.nodes + witness.rest_nodes), _nodes(witness.tail_nodes), abs(witness.count)]
        cells = lengths[1] * lengths[3]
    elif isinstance(witness, Rays):
        lengths.append(_nodes(witness.nodes))
        for ray in (witness.low, witness.high):
            lengths.append(abs(ray.points) * sum(abs(level.panels) for level in ray.levels))
            cells += lengths[1] * lengths[-1]
    elif isinstance(witness, Lattice):
        lengths += [abs(high - low) for low, high in witness.windows]
        lengths += [_span(grid) for grid in witness.grids]
        cells = 64 * sum(_cells(grid) for grid in witness.grids) + 16 * sum(lengths)
    elif isinstance(witness, Sparse):
        atoms = sum(_cells(grid) for grid in witness.grids)
        lengths += [atoms, abs(witness.count), sum(abs(cells) for cells, _ in witness.cover)]
        cells = atoms * (lengths[2] + 2 * lengths[3])
    elif isinstance(witness, Outcomes):
        lengths += [abs(reach) for reach in witness.reaches] + [abs(cells) for cells, _ in witness.cover]
        lengths += [abs(witness.count), sum(lengths)]
        cells = 8 * (8 + max(witness.reaches, default=0)) * (lengths[-1] + abs(witness.count))
    elif isinstance(witness, Halves):
        lengths += [count_lists(witness), sum(abs(one.high - one.low) for row in witness.windows for one in row)]
    elif isinstance(witness, Chernoff | RenyiOrder):
        lengths += [_nodes(witness.nodes)]
    elif isinstance(witness, NodeMoment):
        lengths += [_nodes(witness.nodes + witness.families)]
    if max(lengths) > MAX_LENGTH or cells > MAX_CELLS:
        raise TooMuch("takes more work or memory than this checker spends")


def _nodes(rules: Iterable[Rule]) -> int:
    return sum(max(abs(rule.last - rule.first) + 1, abs(rule.cells)) for rule in rules)


def _cells(grid: Grid) -> int:
    return sum(abs(cells) for cells, _ in grid.blocks) + 1


def _span(grid: Grid) -> int:
    return sum(abs(cells * stride) for cells, stride in grid.blocks) + 1

