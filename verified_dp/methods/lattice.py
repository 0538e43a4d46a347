"""The lattice method for one composed loss: pilot runs choose the grid step, then the kernel encloses delta."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.errors import InvalidInput, Unsupported
from verified_dp.kernel.bounds import Bounds
from verified_dp.kernel.evaluate import enclose_delta, evaluate
from verified_dp.kernel.lattice import LatticeValues, LatticeWitness
from verified_dp.kernel.sparse import SparseValues, SparseWitness
from verified_dp.losses.composed import ComposedLoss
from verified_dp.search.lattice import LatticeModel, LatticePlan, plan_lattice
from verified_dp.search.steps import MAX_CELLS, align

DEFAULT_DIGITS = 4
"""What is asked of the lattice method where nobody says."""
PILOT = 3.0
"""Products that take less than this many seconds need no pilot."""


@dataclass(frozen=True)
class LatticeRun:
    """A witness with its values and bounds at eps, and the relative width reached there."""

    epsilon: Fraction
    witness: LatticeWitness | SparseWitness
    values: LatticeValues | SparseValues
    bounds: Bounds
    width: float


def relative_width(bounds: Bounds) -> float:
    """(upper - lower) / upper in floating point: it steers the search only."""
    if not bounds.upper > 0:
        return 0.0
    return float((bounds.upper - bounds.lower) / bounds.upper)


class LatticeEngine:
    """Enclosures of delta for one composed loss, with the floating-point model and the best run kept."""

    def __init__(self, loss: ComposedLoss) -> None:
        self.loss = loss
        self._model: LatticeModel | None = None
        self._best: LatticeRun | None = None

    @property
    def model(self) -> LatticeModel:
        if self._model is None:
            self._model = LatticeModel(self.loss)
        return self._model

    def solve(self, epsilon: Fraction, width: float, allowed: Callable[[], float],
              say: Callable[[str], None]) -> LatticeRun:
        """Refine the grid until delta(eps) has the relative width, or no more seconds are allowed; the narrowest run.

        Raises Unsupported where not even the coarsest grid fits.
        """
        width = max(width, 1e-12)
        best = self._again(epsilon)
        if best is not None and best.width <= width:
            return best
        plan = self._affordable(plan_lattice(self.model, float(epsilon), width), epsilon, width, allowed())
        if plan.seconds > PILOT and isinstance(plan.witness, LatticeWitness):
            plan = self._after_pilot(plan, epsilon, width, allowed)
        for _ in range(7):
            best = self._narrower(best, self._run(plan, epsilon, width, say))
            if best.width <= width:
                break
            step = float(best.witness.step) * min(math.sqrt(0.7 * width / best.width), 0.6)
            plan = self._affordable(self._plan(epsilon, width, step), epsilon, width, allowed())
            if plan.witness is None or plan.step >= best.witness.step or plan.seconds > allowed():
                say(f"lattice: relative width {best.width:.2g} reached; a finer grid, so more time, would narrow it")
                break
        assert best is not None
        self._best = best
        return best

    def _again(self, epsilon: Fraction) -> LatticeRun | None:
        """The last run at another eps."""
        if self._best is None:
            return None
        bounds = enclose_delta(self._best.values, epsilon)
        return LatticeRun(epsilon, self._best.witness, self._best.values, bounds, relative_width(bounds))

    def _plan(self, epsilon: Fraction, width: float, step: float) -> LatticePlan:
        return plan_lattice(self.model, float(epsilon), width, align(self.model, step))

    def _affordable(self, plan: LatticePlan, epsilon: Fraction, width: float, seconds: float) -> LatticePlan:
        """The plan, or one with a coarser grid that fits memory and time."""
        for _ in range(12):
            if plan.witness is not None and plan.seconds <= max(seconds, 0.2):
                break
            ratio = 1.2 * plan.cells / MAX_CELLS if plan.witness is None else 1.1 * plan.seconds / max(seconds, 0.2)
            plan = self._plan(epsilon, width, float(plan.step) * min(max(ratio, 1.3), 1e3))
        return plan

    def _after_pilot(self, plan: LatticePlan, epsilon: Fraction, width: float,
                     allowed: Callable[[], float]) -> LatticePlan:
        """The step rescaled by the width which a run with an eight times coarser one reaches."""
        pilot = self._run(self._plan(epsilon, width, 8 * float(plan.step)), epsilon, width, lambda text: None)
        if not 0 < pilot.width < 0.3:
            return plan
        factor = min(max(math.sqrt(0.7 * width / pilot.width), 1 / 128), 1.0)
        return self._affordable(self._plan(epsilon, width, 8 * float(plan.step) * factor), epsilon, width, allowed())

    def _run(self, plan: LatticePlan, epsilon: Fraction, width: float, say: Callable[[str], None]) -> LatticeRun:
        if plan.witness is None:
            raise Unsupported("the lattice method needs a grid of too many points here")
        if plan.seconds > 1:
            say(f"lattice: about {plan.seconds:.0f} s for relative width {width:.1g} of delta({float(epsilon):.6g})")
        try:
            values = evaluate(self.loss, plan.witness)
        except (InvalidInput, ValueError) as error:
            raise Unsupported(f"the lattice method found no grid for this loss: {error}") from None
        if not isinstance(values, LatticeValues | SparseValues):
            raise TypeError("a lattice witness gives lattice values")
        bounds = enclose_delta(values, epsilon)
        return LatticeRun(epsilon, plan.witness, values, bounds, relative_width(bounds))

    @staticmethod
    def _narrower(best: LatticeRun | None, run: LatticeRun) -> LatticeRun:
        return run if best is None or run.width <= best.width else best
