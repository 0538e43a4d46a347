"""The lattice method for one composed loss: grids refined until the width or the end of the budget is reached."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.engines.lattice import LatticeValues, LatticeWitness
from verified_dp.core.engines.sparse import SparseValues, SparseWitness
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.search import allocation, clones  # noqa: F401  (they register their models)
from verified_dp.search.deadline import OutOfTime, check_time
from verified_dp.search.lattice import LatticePlan, plan_lattice
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.line import as_float
from verified_dp.search.magnitudes import require_floats
from verified_dp.search.steps import MAX_CELLS, align

DEFAULT_DIGITS = 4
"""What is asked of the lattice method where nobody says."""
INSURANCE = 0.3
"""Where a run should take more than this share of the seconds that are left, a coarser one is made first."""
_MEASURABLE = 0.3
"""Seconds: shorter runs say nothing about the machine's speed, and in less no other is worth a plan."""


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
        self._slowness = 1.0  # seconds taken over seconds predicted

    @property
    def model(self) -> LatticeModel:
        if self._model is None:
            require_floats(self.loss)
            self._model = LatticeModel(self.loss)
        return self._model

    def solve(self, epsilon: Fraction, width: float, allowed: Callable[[], float],
              say: Callable[[str], None]) -> LatticeRun:
        """Refine the grid until delta(eps) has the relative width, or no more seconds are allowed; the narrowest run.

        Raises Unsupported where not even the coarsest grid fits, OutOfTime past a stated deadline without a run.
        """
        width = max(width, 1e-12)
        before = self._again(epsilon)
        if before is not None and before.width <= width:
            return before
        plan = self._affordable(self._plan(epsilon, width, None, allowed()), epsilon, width, allowed())
        best = None
        if self._seconds(plan) > INSURANCE * allowed():
            best = self._coarse(plan, epsilon, width, say)
        for _ in range(7):
            try:
                if best is not None:
                    if best.width <= width or allowed() < _MEASURABLE:
                        break
                    before_it, plan = plan, self._after(best, epsilon, width, allowed())
                    if plan.step >= best.witness.step or plan == before_it or self._seconds(plan) > allowed():
                        break
                best = self._narrower(best, self._run(plan, epsilon, width, say, allowed()))
            except OutOfTime:
                break
        if best is None:
            best = self._coarse(plan, epsilon, width, say)
        self._best = best = self._narrower(before, best)
        if best.width > width:
            say(f"lattice: relative width {best.width:.2g} reached; a finer grid, so more time, would narrow it")
        return best

    def _coarse(self, plan: LatticePlan, epsilon: Fraction, width: float, say: Callable[[str], None]) -> LatticeRun:
        """A run with a grid that is several times coarser, however long it takes unless a deadline is stated."""
        return self._run(self._plan(epsilon, width, 4 * float(plan.step), math.inf), epsilon, width, say, math.inf)

    def _seconds(self, plan: LatticePlan) -> float:
        """What the plan should take, by what earlier ones took; infinite where it is too large."""
        return math.inf if plan.witness is None else self._slowness * plan.seconds

    def _after(self, run: LatticeRun, epsilon: Fraction, width: float, seconds: float) -> LatticePlan:
        """The plan whose grid should reach the width, by what the last run reached, or the finest in the budget."""
        finer = float(run.witness.step) * min(max(math.sqrt(0.7 * width / run.width), 1 / 64), 0.6)
        return self._affordable(self._plan(epsilon, width, finer, seconds), epsilon, width, seconds)

    def _again(self, epsilon: Fraction) -> LatticeRun | None:
        """The last run at another eps."""
        if self._best is None:
            return None
        bounds = self._best.values.delta(epsilon)
        return LatticeRun(epsilon, self._best.witness, self._best.values, bounds, relative_width(bounds))

    def _plan(self, epsilon: Fraction, width: float, step: float | None, seconds: float) -> LatticePlan:
        aligned = None if step is None else align(self.model, step)
        return plan_lattice(self.model, as_float(epsilon), width, aligned, seconds / self._slowness)

    def _affordable(self, plan: LatticePlan, epsilon: Fraction, width: float, seconds: float) -> LatticePlan:
        """The plan, or one with a coarser grid that fits memory and time."""
        seconds = max(seconds, 0.2)
        for _ in range(12):
            if self._seconds(plan) <= seconds:
                break
            ratio = 1.2 * plan.cells / MAX_CELLS if plan.witness is None else 1.1 * self._seconds(plan) / seconds
            plan = self._plan(epsilon, width, float(plan.step) * min(max(ratio, 1.3), 10.0), seconds)
        return plan

    def _run(self, plan: LatticePlan, epsilon: Fraction, width: float, say: Callable[[str], None],
             seconds: float) -> LatticeRun:
        """Run the kernel; OutOfTime between two products after so many seconds, or past the deadline."""
        if plan.witness is None:
            raise Unsupported("the lattice method needs a grid of too many points here")
        if plan.seconds > 1:
            say(f"lattice: about {plan.seconds:.0f} s for relative width {width:.1g} of delta({as_float(epsilon):.6g})")
        start = time.perf_counter()

        def between() -> None:
            check_time()
            if time.perf_counter() > start + seconds:
                raise OutOfTime

        try:
            values = evaluate(self.loss, plan.witness, between)
        except (InvalidInput, ValueError) as error:
            raise Unsupported(f"the lattice method found no grid for this loss: {error}") from None
        if not isinstance(values, LatticeValues | SparseValues):
            raise TypeError("a lattice witness gives lattice values")
        bounds = values.delta(epsilon)
        if plan.seconds > _MEASURABLE:
            self._slowness = min(max((time.perf_counter() - start) / plan.seconds, 0.25), 8.0)
        return LatticeRun(epsilon, plan.witness, values, bounds, relative_width(bounds))

    @staticmethod
    def _narrower(best: LatticeRun | None, run: LatticeRun) -> LatticeRun:
        return run if best is None or run.width <= best.width else best
