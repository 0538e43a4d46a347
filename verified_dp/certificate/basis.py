"""What a certificate rests on: the pairs of its relation, and the theorems behind pairs and evaluations.

The theorems are read off the functions that ran (`__theorems__`), so they cannot be other than the code's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from verified_dp.certificate.document import Document
from verified_dp.dominating import DominatingPair
from verified_dp.kernel import chernoff, closed, contour, evaluate, nodes, panels, powers
from verified_dp.kernel.evaluate import Witness
from verified_dp.losses.composed import ComposedLoss
from verified_dp.losses.gaussian import enclose_gaussian_profile
from verified_dp.losses.sampled_gaussian import SampledGaussianLoss
from verified_dp.losses.single_step import SINGLE_STEP
from verified_dp.mechanisms import Composition, PoissonSampled

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

ENGINES: Mapping[type[Any], Functions] = {
    contour.LineWitness: (
        contour.evaluate_line,
        contour.enclose_on_line,
        contour.bound_frequency_tail,
        contour.bound_aliases,
        contour._bound_beyond,
        powers.enclose_product,
        *_BOUND_MASS,
    ),
    panels.PanelWitness: (
        panels.evaluate_path,
        panels.enclose_on_path,
        panels.bound_panels,
        panels._evaluate_block,
        panels._bound_products,
        powers.enclose_product,
    ),
    chernoff.ChernoffWitness: (chernoff.bound_delta, *_BOUND_MASS),
    closed.ClosedFormWitness: (),
    evaluate.SupportWitness: (evaluate.enclose_past_support, ComposedLoss.enclose_largest_loss),
}
"""The proved functions that enclose delta with a witness, whatever the laws."""

_LAW_ON_PATH: Functions = (
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
    closed.ClosedFormWitness: (),
    evaluate.SupportWitness: (SampledGaussianLoss.enclose_largest_loss,),
}
"""Those that run besides where sampled steps are composed."""



def functions_used(loss: ComposedLoss, witness: Witness) -> list[Callable[..., Any]]:
    """The proved functions behind one evaluation."""
    used = [*ENGINES[type(witness)], *(LAWS[type(witness)] if loss.parts else ())]
    if isinstance(witness, closed.ClosedFormWitness):
        return [SINGLE_STEP[loss.order] if loss.parts else enclose_gaussian_profile]
    if loss.mean_shift_squared and not isinstance(witness, evaluate.SupportWitness):
        used.append(ComposedLoss.enclose_gaussian_exponent)
    return used


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
    if any(isinstance(m, PoissonSampled) and m.probability in (0, 1) for m, _ in composition.parts):
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
