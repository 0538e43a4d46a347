"""What a proved function rests on inside the package: helpers, constants and classes; and its hash.

The text of a definition is its syntax tree without docstrings, positions, comments and the names of its theorems. A
definition reaches every name it mentions (annotations and decorators included) that its module defines or imports from
the package: a function, the statements that bind or fill a constant, or a class. Of a class of the kernel count its
head, operators (`__add__`) and fields without a default, and of its other members those whose name something reached
asks for, of whatever object, or gives as a keyword: a new method or fact that nobody asks for changes no hash.
`module.name` is followed; `self.name`, `cls.name` and `super().name` are looked up in the class and its bases.
Reaching is transitive, stops at other proved functions (they have hashes of their own) and stays in `SHARED` (the
trusted room) and in the folder of the proved function.

Not seen: what a family registers for its mechanisms (each such function has a theorem and a hash of its own, so that a
new family changes no hash of another), names imported for types alone, methods called on an argument whose annotated
class is a protocol (the laws of a loss) or that has no annotation, names read with getattr, hooks of a base class in
its subclasses, and code outside the package.

Standard library only; the package is read, not imported.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

PACKAGE = "verified_dp"
SHARED = f"{PACKAGE}.core"
KERNEL = f"{SHARED}.kernel."
WHOLE = (f"{KERNEL}dyadic", f"{KERNEL}gaussian")
"""Modules of the kernel whose classes count whole: numbers, and a law."""
CONSTRUCTORS = ("__init__", "__new__", "__post_init__")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def is_proved(node: ast.AST) -> bool:
    """Whether the definition itself carries @proved_by."""
    return bool(theorems_of(node))


@cache
def theorems_of(node: ast.AST) -> tuple[str, ...]:
    """The names that @proved_by gives the definition; a name that is not a literal string is an error."""
    found: list[str] = []
    for decorator in getattr(node, "decorator_list", []):
        if _is_proof(decorator):
            found += [ast.literal_eval(argument) for argument in decorator.args]
    return tuple(found)


def _is_proof(node: ast.AST) -> bool:
    """Whether this decorator is @proved_by."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "proved_by"


@cache
def text_of(node: ast.AST) -> str:
    """The tree in brackets, the same in every version of Python: no empty fields, no docstrings, no proved members."""
    if isinstance(node, ast.Constant):
        return f"{type(node.value).__name__} {node.value!r}"
    fields = [f"{name}={_text_of_field(value)}" for name, value in ast.iter_fields(node)
              if value is not None and value != [] and name not in ("ctx", "type_comment") and not (
                  name == "decorator_list" and all(map(_is_proof, value)))]
    return f"{type(node).__name__}({' '.join(fields)})"


def _text_of_field(value: object) -> str:
    """Of a field: a tree, a list of trees or a plain value."""
    if isinstance(value, ast.AST):
        return text_of(value)
    return f"[{' '.join(map(_text_of_field, own_parts(value)))}]" if isinstance(value, list) else repr(value)


def own_parts(nodes: list[ast.AST]) -> list[ast.AST]:
    """Without docstrings, names of theorems and definitions that have a proof of their own."""
    return [node for node in nodes if not is_proved(node) and not _is_proof(node) and not (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))]


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """The tree below the node as `text_of` reads it, in some order: proved members are left out."""
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        todo += [child for child in ast.iter_child_nodes(node) if not (
            isinstance(child, Definition) and is_proved(child))]


@cache
def _names_in(node: ast.AST) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    """What `mentions` and `asked_for` say of the tree."""
    names, asked = set[tuple[str, str]](), set[str]()
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            names.add(("", inner.id))
        elif isinstance(inner, ast.Attribute):
            asked.add(inner.attr)
            if owner := _owner(inner.value):
                names.add((owner, inner.attr))
        elif isinstance(inner, ast.keyword) and inner.arg:
            asked.add(inner.arg)
        elif isinstance(inner, ast.MatchClass):
            asked.update(inner.kwd_attrs)
    return frozenset(names - {("", "proved_by")}), frozenset(asked)


def mentions(node: ast.AST) -> frozenset[tuple[str, str]]:
    """("", name) of every name in the tree and (owner, name) of every attribute whose owner is a name or super()."""
    return _names_in(node)[0]


def asked_for(node: ast.AST) -> frozenset[str]:
    """Names of attributes that the tree reads or sets, of whatever object, and of its keywords."""
    return _names_in(node)[1]


@cache
def parts_of(owner: ast.ClassDef) -> tuple[ast.ClassDef, tuple[ast.stmt, ...]]:
    """The class with what always counts, and the members that count where their name is asked for."""
    parts = [node for node in owner.body if not is_proved(node)]
    optional = tuple(node for node in parts if (names := bound_by(node)) and not all(map(_is_special, names)) and not (
        isinstance(node, ast.AnnAssign) and node.value is None))
    head = {name: value for name, value in ast.iter_fields(owner) if name != "body"}
    return ast.ClassDef(**head, body=[node for node in parts if node not in optional]), optional


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _owner(node: ast.expr) -> str:
    """The name of an expression that is one, `self` for self, cls and super(), else nothing."""
    if isinstance(node, ast.Call):
        node = node.func if getattr(node.func, "id", "") == "super" else node
    name = node.id if isinstance(node, ast.Name) else ""
    return "self" if name in ("self", "cls", "super") else name


@cache
def bound_by(statement: ast.stmt) -> frozenset[str]:
    """Names that a statement of a module defines, binds or fills (`T[x] = y`, `T.update(z)`)."""
    if isinstance(statement, Definition):
        return frozenset({statement.name})
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return frozenset(_names(statement.value.func))
    stored = [node for node in ast.walk(statement) if isinstance(getattr(node, "ctx", None), ast.Store)]
    inner = {node.name for node in ast.walk(statement) if isinstance(node, Definition)}
    return frozenset(inner.union(*map(_names, stored)))


def _names(node: ast.AST) -> set[str]:
    """All names in the tree."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def run(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but expressions and those below `if TYPE_CHECKING:`."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, ast.expr) and not (
                isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from run(child)


@dataclass(frozen=True, eq=False)
class Module:
    """The names of one module: statements that make each, and where the imported ones come from."""

    name: str
    tree: ast.Module
    is_package: bool = False

    @cached_property
    def names(self) -> dict[str, list[ast.stmt]]:
        found: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                for name in bound_by(statement):
                    found.setdefault(name, []).append(statement)
        return found

    @cached_property
    def imports(self) -> dict[str, str]:
        """Local name -> dotted name, wherever in the module it is imported but for types."""
        found: dict[str, str] = {}
        for node in run(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.asname: alias.name for alias in node.names if alias.asname}
            elif isinstance(node, ast.ImportFrom):
                keep = len(self.name.split(".")) - node.level + self.is_package
                base = (self.name.split(".")[:keep] if node.level else []) + ([node.module] if node.module else [])
                found |= {alias.asname or alias.name: ".".join([*base, alias.name]) for alias in node.names}
        return found


@dataclass(frozen=True)
class Place:
    """A definition or statement, the module it stands in, and for a method its class."""

    module: str
    node: ast.stmt
    owner: ast.ClassDef | None = None
    optional: bool = False
    """It counts only where its name is asked for."""

    def parts(self) -> Iterator[Place]:
        """The place itself, or a class in parts."""
        if not isinstance(self.node, ast.ClassDef):
            yield self
            return
        head, members = parts_of(self.node)
        yield Place(self.module, head, self.owner)
        optional = self.module.startswith(KERNEL) and self.module not in WHOLE
        yield from (Place(self.module, member, self.node, optional) for member in members)

    @property
    def text(self) -> str:
        """The text of the definition, a member with the name of its class."""
        return (f"{self.owner.name}." if self.owner else "") + text_of(self.node)


@dataclass(frozen=True, eq=False)
class Package:
    """All modules, by dotted name."""

    modules: dict[str, Module] = field(default_factory=dict)

    def find(self, dotted: str, seen: frozenset[str] = frozenset()) -> list[Place]:
        """What a dotted name stands for; imports of imports are followed."""
        home, _, name = dotted.rpartition(".")
        if home not in self.modules or dotted in seen:
            return []
        module = self.modules[home]
        if name in module.imports and name not in module.names:
            return self.find(module.imports[name], seen | {dotted})
        return [Place(home, node) for node in module.names.get(name, [])]

    def mentioned(self, place: Place) -> Iterator[Place]:
        """Everything of the package that the place names directly."""
        module = self.modules[place.module]
        for owner, name in mentions(place.node):
            if owner == "self" and place.owner:
                yield from self.members(Place(place.module, place.owner), {name, *CONSTRUCTORS})
            else:
                yield from self.find(f"{module.imports.get(owner, '') if owner else place.module}.{name}")

    def members(self, owner: Place, wanted: set[str]) -> Iterator[Place]:
        """The wanted members of a class and of its bases in the package."""
        if not isinstance(owner.node, ast.ClassDef):
            return
        yield from (Place(owner.module, node, owner.node) for node in owner.node.body if bound_by(node) & wanted)
        for base in owner.node.bases:
            for place in self.find(f"{owner.module}.{ast.unparse(base).split('[')[0]}"):
                yield from self.members(place, wanted)

    def reached(self, start: Place) -> set[Place]:
        """All that the start rests on, transitively, without itself and without what has its own proof."""
        folder = start.module if self.modules[start.module].is_package else start.module.rpartition(".")[0]
        rooms = (f"{SHARED}.", f"{folder}." if folder != PACKAGE else f"{start.module}.")
        seen, todo, names, waiting = {start}, [start], set[str](), set[Place]()
        while todo:
            place = todo.pop()
            new = {found for found in self._mentioned(place) if f"{found.module}.".startswith(rooms)}
            waiting |= {found for found in new if found.optional}
            names |= asked_for(place.node)
            new = {found for found in new if not found.optional} | {
                found for found in waiting if bound_by(found.node) & names}
            waiting -= new
            todo += new - seen
            seen |= new
        return seen - {start}

    def _mentioned(self, place: Place) -> frozenset[Place]:
        """The same without proved functions, kept."""
        if place not in self._kept:
            self._kept[place] = frozenset(part for found in self.mentioned(place) if not is_proved(found.node)
                                          for part in found.parts())
        return self._kept[place]

    @cached_property
    def _kept(self) -> dict[Place, frozenset[Place]]:
        return {}


def hash_of(text: str, reached: Iterable[str] = ()) -> str:
    """The first 16 hexadecimal digits of the sha256 of the function's text and of the texts reached, sorted."""
    return hashlib.sha256("\n".join([text, *sorted(set(reached))]).encode()).hexdigest()[:16]


@cache
def _module(name: str, source: str, is_package: bool) -> Module:
    """A module read once for each text."""
    return Module(name, ast.parse(source), is_package)


def package_of(sources: dict[str, str], packages: Iterable[str] = ()) -> Package:
    """The package of these sources, by dotted name; `packages` are those that stand for an `__init__`."""
    known = {*packages}
    return Package({name: _module(name, source, name in known) for name, source in sources.items()})


def sources_below(root: Path) -> tuple[dict[str, str], set[str]]:
    """Sources of the package in a folder by dotted name, and which of them are `__init__` files."""
    sources, packages = {}, set()
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        sources[name] = path.read_text(encoding="utf-8")
        packages |= {name} if parts[-1] == "__init__" else set()
    return sources, packages
