"""Which class each kind of witness is, and its file: loaded when a certificate or a search names the kind."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verified_dp.core.kernel.witnesses import Witness

HOMES = {
    "line": "engines.contour:LineWitness",
    "panels": "engines.panels:PanelWitness",
    "rays": "engines.rays:RaysWitness",
    "lattice": "engines.lattice:LatticeWitness",
    "sparse": "engines.sparse:SparseWitness",
    "chernoff": "engines.chernoff:ChernoffWitness",
    "closed-form": "engines.closed:ClosedFormWitness",
    "support": "engines.support:SupportWitness",
    "renyi": "engines.renyi:RenyiWitness",
    "divergences": "engines.divergences:DivergencesWitness",
    "exact": "engines.rational:ExactWitness",
    "end": "engines.rational:EndWitness",
    "endless": "engines.rational:EndlessWitness",
    "outcomes": "engines.outcomes:OutcomesWitness",
    "marked": "engines.marked:MarkedWitness",
    "halves": "families.finite.halves:HalvesWitness",
    "shortened": "families.gaussian.shortened:ShortenedWitness",
    "deficits": "engines.deficits:DeficitsWitness",
    "attack": "families.batches.attack:AttackWitness",
}
"""kind -> its file below `core`, and its class there. Nothing that a document says is ever imported by its name."""


@cache
def witness_class(kind: str) -> type[Witness]:
    """The class of a kind that is a key of HOMES."""
    file, name = HOMES[kind].split(":")
    found: type[Witness] = getattr(import_module(f"verified_dp.core.{file}"), name)
    return found


def all_witnesses() -> Iterator[type[Witness]]:
    """The class of every kind; loads them all."""
    return map(witness_class, HOMES)
