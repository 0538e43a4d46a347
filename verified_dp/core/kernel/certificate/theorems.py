"""What a certificate rests on: the pairs of its relation, and the theorems of the files that ran.

No table says which function calls which: a file stands for all theorems that its functions name, and brings in the
engines, or laws of families, that it imports from. So the list may be longer than what a case needs, never shorter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from verified_dp.core.engines.table import witness_class
from verified_dp.core.kernel import bounds, composed, evaluation
from verified_dp.core.kernel import losses as dominating
from verified_dp.core.kernel.certificate import verdict
from verified_dp.core.kernel.certificate.document import Document, check_equal
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidCertificate
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.steps import DominatingPair
from verified_dp.core.kernel.theorems import is_theorem, theorems_in
from verified_dp.core.kernel.witnesses import Witness

STANDING = frozenset(module.__name__ for module in (dominating, verdict, evaluation, bounds, composed))
"""The files that run for every verdict."""


def theorems_record(pairs: Iterable[DominatingPair], evaluations: Iterable[tuple[ComposedLoss, Witness]]) -> list[str]:
    """The sorted names of all theorems used."""
    files = {file for loss, witness in evaluations for file in files_of(loss, witness)}
    return sorted(theorems_in(files | STANDING).union(*(pair.theorems for pair in pairs)))  # exact: text


def other_theorems(found: Any, here: list[str]) -> list[str]:
    """How the recorded names differ from those that the verdict rests on here, in words.

    Raises: InvalidCertificate where they are no sorted list of different names.
    """
    if type(found) is not list or not all(type(name) is str and is_theorem(name) for name in found):
        raise InvalidCertificate("theorems", "must be a list of names such as T07-ends")
    check_equal(found, sorted(set(found)), "theorems", "names must be in order, each once")  # exact: text
    differ = (("only here", set(here) - set(found)), ("only there", set(found) - set(here)))
    return [f"theorems named {where}: {_short(names)}" for where, names in differ if names]


def _short(names: set[str]) -> str:
    """At most six of them."""
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(sorted(names)[:6]) + more  # exact: text


def files_of(loss: ComposedLoss, witness: Witness) -> set[str]:
    """The modules that run when a witness is evaluated on a loss: its engine's, and those of the laws."""
    offered: Any = witness
    if hasattr(witness, "inner") and witness.applies(loss):
        return _with_imports(type(witness).__module__) | files_of(offered.reduced(loss), offered.inner)
    engine = offered.file_of(loss) if hasattr(witness, "file_of") else type(witness).__module__
    more: Any = getattr(sys.modules[engine], "more_files", lambda _: ())  # what it imports where it needs it
    return _with_imports(engine).union(*map(_with_imports, more(witness)),
                                       *(_files_of_law(law, engine) for law, _ in loss.laws))


def _files_of_law(law: Law, engine: str) -> set[str]:
    """A law's own files, and those of what it is made of: another law, or a composition in closed form."""
    inner: Any = getattr(law, "base", None)
    whole: Any = getattr(law, "loss", None)
    later = (import_module(name).__name__ for name in law.later_files(engine))
    files = _with_imports(type(law).__module__).union(*map(_with_imports, later))
    files |= _files_of_law(inner, engine) if inner is not None else set()
    return files | (files_of(whole, _closed_form()) if whole is not None else set())


def _with_imports(module: str) -> set[str]:
    """The module and all that it imports functions or classes from in engines, or in families, directly or not."""
    room, found, todo = ".".join(module.split(".")[:3]), set[str](), [module]
    while todo:
        name = todo.pop()
        if name not in found | STANDING:
            found.add(name)
            todo += [other for other in _imported(sys.modules[name])
                     if other.startswith(f"{room}.") and room != _KERNEL]
    return found


def _closed_form() -> Witness:
    """Of any number of bits."""
    kind: Any = witness_class("closed-form")
    found: Witness = kind(2)
    return found


_KERNEL = "verified_dp.core.kernel"
"""What it shares is under every theorem that uses it."""


def _imported(module: ModuleType) -> Iterator[str]:
    for value in vars(module).values():
        home = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", None)
        if isinstance(home, str):
            yield home


def pairs_record(pairs: Iterable[DominatingPair]) -> list[Document]:
    """The dominating pairs as plain data, each with the theorems that prove it."""
    return [{"order": pair.order, "P": pair.P, "Q": pair.Q, "theorem": ", ".join(pair.theorems), "tight": pair.tight}
            for pair in pairs]
