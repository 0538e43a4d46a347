"""What a certificate rests on: the pairs of its relation, and the theorems behind pairs and evaluations.

The theorems are read off the functions that ran (`__theorems__`), so they cannot be other than the code's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from verified_dp.certificate.document import Document
from verified_dp.dominating import DominatingPair
from verified_dp.kernel import (
    bounds,
    chernoff,
    closed,
    contour,
    evaluate,
    grid,
    lattice,
    nodes,
    panels,
    pieces,
    powers,
    renyi,
    sparse,
    truncated,
)
from verified_dp.kernel.closed_law import AtomicProduct, ClosedFormLaw
from verified_dp.kernel.evaluate import Witness
from verified_dp.losses.composed import ComposedLoss
from verified_dp.losses.gaussian import enclose_gaussian_profile, enclose_gaussian_tails
from verified_dp.losses.sampled_gaussian import SampledGaussianLoss
from verified_dp.mechanisms import Composition, Grouped, PoissonSampled

Functions = Sequence[Callable[..., Any]]

COMPOSITION = "T25-composition"
EPSILON = "T13-epsilon-of-delta"
ENDS = "T07-ends"

_BOUND_MASS: Functions = (contour.bound_mass, contour.bound_chernoff_factor)
_LAW_ON_LINE: Functions = (
    nodes.bound_line_error,
    SampledGaussianLoss.enclose_strip_factor,
    SampledGaussianLoss.bound_tails,
)

_STEP_ON_GRID: Functions = (grid.connect_the_dots, grid.bound_cells, grid.is_below)

ENGINES: Mapping[type[Any], Functions] = {
    contour.LineWitness: (
        contour.evaluate_line,
        contour.enclose_on_line,
        contour.bound_frequency_tail,
        contour.bound_aliases,
        contour.bound_composed_beyond,
        powers.enclose_product,
        bounds.bounds_from_sum,
        *_BOUND_MASS,
    ),
    panels.PanelWitness: (
        panels.evaluate_path,
        panels.enclose_on_path,
        panels.bound_panels,
        panels._evaluate_block,
        panels._bound_products,
        bounds.bounds_from_sum,
        powers.enclose_product,
    ),
    lattice.LatticeWitness: (
        *_STEP_ON_GRID,
        lattice.tilt_masses,
        lattice.Above.cut,
        lattice.Below.cut,
        lattice.compose,
        lattice.enclose_on_lattice,
    ),
    sparse.SparseWitness: (
        *_STEP_ON_GRID,
        contour.bound_chernoff_factor,
        powers.enclose_power,
        sparse.bound_lattice_mass,
        sparse.bound_by_parts,
        sparse.bound_cells,
        sparse.enclose_kernel,
        sparse.bound_kernel,
        sparse.enclose_side,
        bounds.bounds_from_sum,
        sparse._bound_aliases,
        sparse.enclose_on_frequencies,
        lattice.compose_infinity,
    ),
    chernoff.ChernoffWitness: (chernoff.bound_delta, *_BOUND_MASS),
    renyi.RenyiWitness: (
        renyi.bound_on_order,
        renyi.bound_mironov,
        renyi.bound_canonne,
        renyi.bound_asoodeh,
        renyi.enclose_log_moment,
        contour.bound_chernoff_factor,
    ),
    closed.ClosedFormWitness: (),
    evaluate.SupportWitness: (evaluate.enclose_past_support, ComposedLoss.enclose_largest_loss),
}
"""The proved functions that enclose delta with a witness, whatever the laws."""

_LAW_ON_PATH: Functions = (
    nodes.NodeRule.is_inside,
    nodes.bound_node_errors,
    nodes.bound_line_integrals,
    nodes.bound_transforms,
    SampledGaussianLoss.bound_tails,
)

LAWS: Mapping[type[Any], Functions] = {
    contour.LineWitness: (
        *_LAW_ON_LINE,
        nodes.bound_transform_beyond,
        SampledGaussianLoss.enclose_modulus_factor,
    ),
    panels.PanelWitness: _LAW_ON_PATH,
    chernoff.ChernoffWitness: _LAW_ON_LINE,
    renyi.RenyiWitness: (renyi._ends_by_nodes, *_LAW_ON_LINE),
    closed.ClosedFormWitness: (),
    evaluate.SupportWitness: (),
}
"""Those that run besides where sampled Gaussians are composed."""

_ATOMS = ("enclose_atoms", "enclose_losses", "enclose_loss_atoms", "enclose_infinity_mass")
_MOMENT = ("enclose_moment", "enclose_transform", "enclose_rule", *_ATOMS)
_CURVE = ("enclose_hockey_stick", *_ATOMS)
METHODS: Mapping[type[Any], Sequence[str]] = {
    contour.LineWitness: ("bound_transform_beyond", *_MOMENT),
    panels.PanelWitness: (),
    lattice.LatticeWitness: ("enclose_tails", *_CURVE),
    sparse.SparseWitness: ("enclose_tails", *_CURVE),
    chernoff.ChernoffWitness: _MOMENT,
    renyi.RenyiWitness: ("bound_log_moment", *_MOMENT),
    closed.ClosedFormWitness: (),
    evaluate.SupportWitness: ("enclose_largest_loss", "largest_loss", *_ATOMS),
}
"""The methods of the other laws that run."""


def functions_used(loss: ComposedLoss, witness: Witness) -> list[Callable[..., Any]]:
    """The proved functions behind one evaluation."""
    if isinstance(witness, closed.ClosedFormWitness):
        return [bounds.bounds_from_sum, *_closed_functions(loss)]
    if isinstance(witness, lattice.LatticeWitness | sparse.SparseWitness):
        return _lattice_functions(loss, type(witness))
    kind, support = type(witness), isinstance(witness, evaluate.SupportWitness)
    by_moments = support or isinstance(witness, renyi.RenyiWitness)
    nodes = [] if support else [law for law, _ in loss.node_parts]
    laws = [law for law, _ in (loss.parts if by_moments else loss.direct_parts) if law not in nodes]
    used = [*ENGINES[kind], *(LAWS[kind] if loss.node_parts else ()), *_methods(laws, METHODS[kind])]
    if loss.mean_shift_squared and not support:
        used.append(ComposedLoss.enclose_gaussian_exponent)
    if not isinstance(witness, panels.PanelWitness):
        used.append(ComposedLoss.enclose_infinity_mass)
    return used


def _lattice_functions(loss: ComposedLoss, kind: type[Any]) -> list[Callable[..., Any]]:
    gaussian = [enclose_gaussian_profile, enclose_gaussian_tails] if loss.mean_shift_squared else []
    laws = [law for law, _ in loss.parts]
    return [*ENGINES[kind], *gaussian, *_methods(laws, METHODS[kind])]


def _closed_functions(loss: ComposedLoss) -> list[Callable[..., Any]]:
    laws = [law for law, _ in loss.parts]
    if not laws:
        return [enclose_gaussian_profile]
    if closed.is_single(loss):
        return list(_methods(laws, _CURVE))
    if not closed.is_exact(loss):
        return [truncated.enclose_truncated, truncated.bound_rest, pieces.enclose_splines,
                contour.bound_chernoff_factor]
    by_kind = [pieces.enclose_pieces.dispatch(type(law)) for law in laws]
    shared: list[Callable[..., Any]] = [pieces.enclose_exactly, ComposedLoss.enclose_infinity_mass]
    return [*shared, *by_kind, *_methods(laws, ("lattice", "largest_loss", *_ATOMS))]


def _methods(laws: Iterable[Any], names: Sequence[str]) -> Iterator[Callable[..., Any]]:
    """The proved methods of these names, those of a sampled step's own law included."""
    for law in laws:
        found = [getattr(type(law), name, None) for name in names]
        yield from (method for method in found if method is not None and hasattr(method, "__theorems__"))
        if hasattr(law, "base"):
            yield from _methods([law.base], names)
        if isinstance(law, ClosedFormLaw | AtomicProduct):
            yield from _closed_functions(law.loss)


def theorems_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The theorems that a proved function names."""
    names: tuple[str, ...] = function.__theorems__  # type: ignore[attr-defined]
    return names


def theorems_record(
    composition: Composition,
    pairs: Iterable[DominatingPair],
    evaluations: Iterable[tuple[str, ComposedLoss, Witness]],
) -> list[str]:
    """The sorted names of all theorems used. evaluations: (quantity, loss, witness) of each."""
    names = {COMPOSITION, *(name for pair in pairs for name in pair.theorems)}
    steps = [m.mechanism if isinstance(m, Grouped) else m for m, _ in composition.parts]
    if any(isinstance(step, PoissonSampled) and step.probability in (0, 1) for step in steps):
        names.add(ENDS)
    for quantity, loss, witness in evaluations:
        names.update(name for function in functions_used(loss, witness) for name in theorems_of(function))
        if quantity == "epsilon":
            names.add(EPSILON)
    return sorted(names)  # exact: text


def pairs_record(pairs: Iterable[DominatingPair]) -> list[Document]:
    """The dominating pairs as plain data, each with the theorems that prove it."""
    return [
        {
            "order": pair.order,
            "P": pair.P,
            "Q": pair.Q,
            "theorem": ", ".join(pair.theorems),
            "tight": pair.tight,
        }
        for pair in pairs
    ]
