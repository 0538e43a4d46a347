"""Which planners a loss has, by what its laws offer: a file is loaded where it may apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from verified_dp.core.engines.direct import direct_parts
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.rules import is_atomic, is_on_lines
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.search.planners.plan import Planner

if TYPE_CHECKING:
    from verified_dp.search.estimates import Estimates


def ends(loss: ComposedLoss) -> bool:
    """Whether delta is no longer positive somewhere, never less than a mass at infinity, or a rational number at 0."""
    if loss.only_moments:
        return False
    unbounded = loss.laws and loss.enclose_largest_loss() is None and loss.enclose_infinity_mass().is_zero()
    return not unbounded or all(law.rational_masses() is not None for law, _ in loss.laws)


def _is_sum(loss: ComposedLoss) -> bool:
    """Whether there may be a closed form."""
    alone = len(loss.parts) == 1 and loss.parts[0][1] in (1, 2)
    return not loss.parts or (not loss.mean_shift_squared and (alone or all(
        is_atomic(law) or law.enclose_spline() is not None or law.atom_exponent is not None or law.merged(2)
        for law, _ in loss.parts)))


def has_contour(loss: ComposedLoss) -> bool:
    """Whether every law has a transform that is known beyond lines alone, and their product decays."""
    return lines(loss).has_line and lines(loss).decays and not any(is_on_lines(law) for law, _ in loss.parts)


def _has_nodes(loss: ComposedLoss) -> bool:
    seen = lines(loss)
    return bool(seen.node_parts or seen.revealed_parts) and not direct_parts(loss) and has_contour(loss)


def is_finite(loss: ComposedLoss) -> bool:
    """Whether every step has finitely many outcomes."""
    return bool(loss.parts) and not loss.mean_shift_squared and all(is_atomic(law) for law, _ in loss.parts)


def _is_listed(loss: ComposedLoss) -> bool:
    return bool(loss.parts) and not loss.mean_shift_squared and all(law.lists(10**9) for law, _ in loss.parts)


def _is_allocated(loss: ComposedLoss) -> bool:
    return bool(loss.parts) and all(is_on_lines(law) for law, _ in loss.parts)


def _has_expansion(loss: ComposedLoss) -> bool:
    """By a transform of every step."""
    return bool(loss.laws) and lines(loss).has_transform


def _is_known(loss: ComposedLoss) -> bool:
    return not loss.only_moments


def _has_moments(loss: ComposedLoss) -> bool:
    return loss.only_moments


@dataclass(frozen=True)
class Row:
    """A file of this folder, its class, and which losses may have it.

    method: whose name asks for it; "" for all. rank: of 1 and 2 where those before give few bits, of 3 for an upper
    bound where nothing is known of delta. planning: seconds that a plan takes, for each two laws: it is not made where
    a quicker one promises enough.
    """

    file: str
    name: str
    method: str
    rank: int
    planning: float
    may_apply: Callable[[ComposedLoss], bool]


ROWS = (
    Row("exact", "Exact", "", 0, 0.0, ends),
    Row("epochs", "Epochs", "contour", 0, 0.0, _is_allocated),
    Row("closed", "Closed", "closed-form", 0, 0.0, _is_sum),
    Row("halves", "Halves", "closed-form", 0, 0.0, is_finite),
    Row("few_steps", "FewSteps", "closed-form", 0, 0.0, _is_listed),
    Row("line", "Line", "contour", 0, 0.01, has_contour),
    Row("rays", "Rays", "contour", 0, 0.015, _has_nodes),
    Row("marked", "Marked", "contour", 0, 0.1, _has_nodes),
    Row("outcomes", "Outcomes", "contour", 1, 0.0, _is_listed),
    Row("expansion", "Tilted", "saddlepoint", 0, 0.0, _has_expansion),
    Row("expansion", "Untilted", "edgeworth", 0, 0.0, _has_expansion),
    Row("expansion", "Normal", "berry-esseen", 0, 0.0, _has_expansion),
    Row("lattice", "Lattice", "lattice", 2, 0.0, _is_known),
    Row("moment", "Quick", "contour", 3, 0.0, has_contour),
    Row("moment", "Moment", "renyi", 3, 0.0, _has_moments),
)
"""In the order in which plans are made."""
EXPANSIONS = tuple(row.method for row in ROWS if row.file == "expansion")
"""The methods that are expansions around a normal law: one order's witness says about as much at neighbouring eps."""


class Candidate:
    """A planner that may apply to a loss: loaded when it is asked for, and asked once whether it does."""

    def __init__(self, row: Row, model: Estimates) -> None:
        self.row, self._model = row, model
        self.planning = row.planning * max(1.0, len(model.loss.parts) / 2)

    @cached_property
    def planner(self) -> Planner | None:
        """None where it does not."""
        if not self.row.may_apply(self._model.loss):
            return None
        kind: type[Planner] = getattr(import_module(f"verified_dp.search.planners.{self.row.file}"), self.row.name)
        return kind.of(self._model)
