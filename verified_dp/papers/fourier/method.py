"""The Fourier accountant of Koskela, Jaelkoe and Honkela (2020): Algorithm 1 as published, and with every error proved.

    FourierAccountant(L=Fraction(12), n=50000).curve(loss, Fraction(1), 4, Budget(None)).delta(Fraction(1))

The estimate is Algorithm 1 in floating point: point samples of the density of the loss, FFT, Riemann sum. The bounds
come from a DFT in balls, of samples whose error is proved (T82 to T84: sampled Gaussian steps), or of masses rounded
to both sides (T80, T81: any step, atoms included). The paper's own error estimates (7.3) and (7.4) are no bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from verified_dp.core.engines.exact import enclose_past_support
from verified_dp.core.engines.lines import lines
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.papers.densities import is_smooth
from verified_dp.papers.fourier.bounds import FourierWitness, enclose_by_fourier, evaluate_fourier, narrow_by_monotony
from verified_dp.papers.fourier.bounds_samples import SampleWitness, enclose_by_samples, evaluate_samples
from verified_dp.papers.fourier.choose import (
    MOST_CELLS,
    MOST_POINTS,
    Asked,
    Published,
    choose_masses,
    choose_published,
    choose_samples,
    estimate_mesh,
    estimate_tail,
    predict_samples,
    publish,
    wide_enough,
)
from verified_dp.papers.paper import Method, PaperAnswer, Readers, one_of, whole
from verified_dp.search.answer import width_bits
from verified_dp.search.deadline import Budget
from verified_dp.search.line import as_float, dyadic

MOST_ASKED = 2**26
"""No more points may be asked for: their transform takes an hour."""
DISCRETISATIONS = ("auto", "points", "dots", "cells")
FORMS = PROVED, ESTIMATE = "proved", "estimate"
_SMALL_ENOUGH = 1e-3
"""Predicted relative error at which point samples are preferred to rounded masses."""
_FINER = 16
"""The estimate's mesh is so much finer than the bounds' where atoms have to be moved to its points."""
_WITH_ATOMS = 2**16
"""The estimate's least number of points where the loss has atoms: they lie off its grid."""
_SECONDS = {"samples": 2.5e-5, "doubles": 1.5e-6, "masses": 6e-5}
"""Of one point, on a slow core."""
Proof = tuple[SampleWitness | FourierWitness, Callable[[Fraction], Bounds]]


@dataclass(frozen=True)
class FourierAccountant(Method):
    """Parameters of the paper; each is chosen by the method where it is None.

    L: the window is [-L, L). n: points, even, up to 2^26. tilt: c >= 0 of an exponential tilting; None: none in the
    estimate, as published, and the saddle point in the bounds. discretisation: "points" (of sampled Gaussian steps),
    "dots" (connect-the-dots and a minorant), "cells" (whole cells to the right, to the left), or "auto". bits:
    precision of the DFT in balls. form: proved; or estimate: no bounds, as the paper has none: (5.2) with its error
    estimates (7.3) and (7.4), by which L and n are chosen, and epsilon by Newton's iteration (5.4).
    """

    name: ClassVar[str] = "fourier"
    nothing: ClassVar[str] = "there is no density to sample"
    readers: ClassVar[Readers] = {"L": exact.positive, "n": whole(8, MOST_ASKED, 2), "tilt": exact.non_negative,
               "discretisation": one_of(DISCRETISATIONS), "bits": whole(24, 10_000), "form": one_of(FORMS)}
    L: Fraction | None = None
    n: int | None = None
    tilt: Fraction | None = None
    discretisation: str = "auto"
    bits: int | None = None
    form: str = PROVED

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget
              ) -> FourierCurve | PublishedCurve:
        """The curve of one order. Raises Unsupported where a step is known by its moments alone, or nothing depends."""
        self.check(loss)
        tilt = 0.0 if self.tilt is None else float(self.tilt)
        if self.form == ESTIMATE:
            return PublishedCurve(loss, *choose_published(loss, as_float(epsilon), digits, (self.L, self.n), tilt))
        inside = _inside(loss, epsilon)
        witness, bounds = self._prove(loss, inside, digits * math.log2(10), budget)
        shifts = (0, 1, -1, 16, -16) if inside > 0 else (0,)  # far from there these places help by monotony
        places = [inside * (1 + Fraction(shift, 256)) for shift in shifts]
        known = tuple((place, bounds(place)) for place in places)
        half_length, points = self._published_grid(loss, epsilon, witness)
        return FourierCurve(loss, bounds, known, witness, publish(loss, half_length, points, tilt))

    def _prove(self, loss: ComposedLoss, epsilon: Fraction, bits: float, budget: Budget) -> Proof:
        """A witness and its bounds of a relative width of 2^-bits: L and n for more bits where they are wider."""
        asked, best, reached = bits + 1, None, -math.inf
        for _ in range(4):
            witness = self._choose(loss, as_float(epsilon), asked, budget)
            bounds = _run(loss, witness, budget)
            found = width_bits(bounds(epsilon))
            if best is None or found > reached:
                best, reached = (witness, bounds), found
            fixed = self.n is not None or isinstance(witness, FourierWitness)
            if fixed or reached >= bits or not budget.allows(2 * _seconds(witness)):
                break
            asked += bits - found + 1
        assert best is not None
        return best

    def _choose(self, loss: ComposedLoss, epsilon: float, bits: float,
                budget: Budget) -> SampleWitness | FourierWitness:
        """A witness that fits the budget: samples where they are accurate enough, masses elsewhere."""
        asked = Asked(self.L, self.n, self.tilt, self.bits)
        sampled = bool(loss.parts) and len(lines(loss).sampled_parts) == len(loss.parts) and self.tilt != 0
        if self.discretisation == "points" and not sampled:
            raise Unsupported("point samples have a proven error for sampled Gaussian steps, with a tilt > 0: use dots")
        if sampled and self.discretisation in ("auto", "points"):
            witness = choose_samples(loss, epsilon, bits, asked)
            while self.n is None and not budget.allows(_seconds(witness)) and bits > 8:
                bits *= 0.8
                witness = choose_samples(loss, epsilon, bits, asked)
            fits = self.n is not None or budget.allows(_seconds(witness))
            if self.discretisation == "points" or (fits and predict_samples(loss, witness) < _SMALL_ENOUGH):
                return witness
        rounding = "cells" if self.discretisation == "cells" else "dots"
        most = 2 ** math.floor(math.log2(min(max(budget.left / 4 / _SECONDS["masses"], 256), MOST_POINTS)))
        return choose_masses(loss, epsilon, bits, asked, rounding, most)

    def _published_grid(self, loss: ComposedLoss, epsilon: Fraction,
                        witness: SampleWitness | FourierWitness) -> tuple[Fraction, int]:
        """The grid of the estimate: as asked; else the bounds' mesh on a window that also fits the untilted law."""
        if self.L is not None and self.n is not None:
            return self.L, self.n
        step = witness.step if self.n is None or self.L is not None else None
        half_length = self.L or wide_enough(loss, as_float(epsilon), float(witness.half_length))
        smooth = is_smooth(loss)
        wanted = 2 ** math.ceil(math.log2(2 * half_length / (step or 1) * (1 if smooth else _FINER)))
        points = self.n or (min(wanted, MOST_POINTS // 8) if smooth else min(max(wanted, _WITH_ATOMS), MOST_CELLS))
        return half_length, points


@dataclass(frozen=True)
class FourierCurve:
    """delta of one order; cheap at every eps, and narrowest near the eps it was made for."""

    loss: ComposedLoss
    bounds: Callable[[Fraction], Bounds]
    known: tuple[tuple[Fraction, Bounds], ...]
    witness: SampleWitness | FourierWitness
    published: Published

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """Bounds and the published estimate at eps."""
        return PaperAnswer(self._enclose(epsilon), self.published.delta(epsilon), self.reason, self.parameters)

    def _enclose(self, epsilon: Fraction) -> Bounds:
        past = enclose_past_support(self.loss, epsilon)
        if past.upper < 1:
            return past
        found = self.bounds(epsilon)
        for place, bounds in self.known:
            found = narrow_by_monotony(found, epsilon, bounds, place)
        return found

    @property
    def reason(self) -> str:
        """Why the estimate is no bound."""
        return unproved(estimate_tail(self.loss, self.published.half_length))

    @cached_property
    def parameters(self) -> dict[str, str]:
        """What was used, in words."""
        used, witness = self.published.parameters, self.witness
        kind = witness.rounding if isinstance(witness, FourierWitness) else "points"
        kind += " in doubles" if isinstance(witness, SampleWitness) and witness.doubles else ""
        return used | {"discretisation": kind, "L in balls": f"{float(witness.half_length):.6g}",
                       "n in balls": str(witness.points), "tilt in balls": f"{float(witness.tilt):.6g}",
                       "bits": str(witness.prec)}


@dataclass(frozen=True)
class PublishedCurve:
    """delta of one order as published: no bounds. finer: the same with twice the points."""

    loss: ComposedLoss
    published: Published
    finer: Published

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """(5.2) and its slope at eps, with the estimates (7.3) and (7.4) of its errors."""
        value, tail = self.published.delta(epsilon), estimate_tail(self.loss, self.published.half_length)
        mesh = {"err(L, n) (7.4)": f"{estimate_mesh(value, self.finer.delta(epsilon)):.3g}"}
        shown = self.published.parameters | mesh | ({} if tail is None else {"tail (7.3)": f"{tail:.3g}"})
        return PaperAnswer(None, value, unproved(tail), shown, slope=self.published.slope(epsilon))


def unproved(tail: float | None) -> str:
    """Why the estimate is no bound; tail: (7.3), where it applies."""
    shown = "" if tail is None else f"; the paper estimates the tail past L by {tail:.3g} (7.3)"
    return "point samples, FFT and Riemann sum in floating point, with no proven error" + shown


def _inside(loss: ComposedLoss, epsilon: Fraction) -> Fraction:
    """eps, or where it is past the largest loss, and nothing is left to compute there, a place before that."""
    largest = loss.enclose_largest_loss()
    return epsilon if largest is None or ball(epsilon) < largest else dyadic(0.75 * max(float(largest), 0.0))


def _seconds(witness: SampleWitness | FourierWitness) -> float:
    """About how long it takes."""
    if isinstance(witness, FourierWitness):
        vertices = sum(cells for grid in witness.grids for cells, _ in grid.blocks)
        return _SECONDS["masses"] * (witness.points + 2 * vertices)
    kind = "doubles" if witness.doubles else "samples"
    return _SECONDS[kind] * sum(last - first + witness.points for first, last in witness.ranges)


def _run(loss: ComposedLoss, witness: SampleWitness | FourierWitness, budget: Budget) -> Callable[[Fraction], Bounds]:
    """The kernel's answer at every eps; what takes long is said before it starts."""
    seconds = _seconds(witness)
    if seconds > 1:
        budget.say(f"fourier: about {seconds:.0f} s for a transform of {witness.points} points in balls")
    if isinstance(witness, SampleWitness):
        samples = evaluate_samples(loss, witness)
        return lambda epsilon: enclose_by_samples(samples, epsilon)
    masses = evaluate_fourier(loss, witness)
    return lambda epsilon: enclose_by_fourier(masses, epsilon)
