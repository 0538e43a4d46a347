"""Which class each kind of witness is, and its file: loaded when a certificate or a search names the kind."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from verified_dp.core.kernel.errors import Unsupported

if TYPE_CHECKING:
    from verified_dp.core.kernel.witnesses import Earlier, Witness

HOMES = {
    "line": "engines.contour:LineWitness",
    "rays": "engines.rays:RaysWitness",
    "circle": "engines.lattice:LatticeWitness",
    "moment": "engines.moment:MomentWitness",
    "node-moment": "engines.node_moment:NodeMomentWitness",
    "closed-form": "engines.closed:ClosedFormWitness",
    "exact": "engines.exact:ExactWitness",
    "marked": "engines.marked:MarkedWitness",
    "few-steps": "engines.few_steps:FewStepsWitness",
    "halves": "families.finite.halves:HalvesWitness",
    "shortened": "families.gaussian.shortened:ShortenedWitness",
    "attack": "families.batches.attack:AttackWitness",
    "expansion": "engines.expansion:ExpansionWitness",
}
"""kind -> its file below `core`, and its class there. Nothing that a document says is ever imported by its name."""
EARLIER: dict[str, str] = {
    "support": "engines.exact:EarlierSupport",
    "end": "engines.exact:EarlierEnd",
    "endless": "engines.exact:EarlierEndless",
    "outcomes": "engines.outcomes:EarlierOutcomes",
    "chernoff": "engines.node_moment:EarlierChernoff",
    "renyi": "engines.node_moment:EarlierRenyi",
    "divergences": "engines.moment:EarlierDivergences",
    "lattice": "engines.earlier_lattice:EarlierLattice",
    "sparse": "engines.earlier_lattice:EarlierSparse",
    "panels": "0.3.0",
    "deficits": "0.3.0",
}
"""Kinds that only earlier certificates have -> what reads them: a file below `core` and a class there (`Earlier`), or
the version of the package that checks them where no kind of today makes the same statement."""


@cache
def witness_class(kind: str) -> type[Witness]:
    """The class of a kind that is a key of HOMES."""
    found: type[Witness] = _loaded(HOMES[kind])
    return found


def earlier_class(kind: str) -> type[Earlier]:
    """The class that reads a kind that is a key of EARLIER. Raises Unsupported where only another version checks it."""
    home = EARLIER[kind]
    if ":" not in home:
        raise only_in(home, kind)
    found: type[Earlier] = _loaded(home)
    return found


def only_in(version: str, kind: str) -> Unsupported:
    """What is raised for a witness of an earlier certificate that this package does not check."""
    return Unsupported(f"a witness of kind {kind} is checked by version {version} of this package, not by this one: "
                       "use that version, or certify the claim anew", "evaluations")


def _loaded(home: str) -> Any:
    file, name = home.split(":")
    return getattr(import_module(f"verified_dp.core.{file}"), name)
