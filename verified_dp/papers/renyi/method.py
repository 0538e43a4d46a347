"""The Renyi (moments) accountants: delta bounded from one Renyi order, which is found by optimisation.

    accountant = RenyiAccountant(conversion="canonne")
    accountant.curve(loss, Fraction(1), 12, Budget(None)).delta(Fraction(1)).bounds.upper

Conversions, each a theorem (T67 to T69): "mironov" is the original moments accountant, formula (40) of the
saddle-point paper; "canonne" its improvement (43) with the optimal tilt (44), which Canonne, Kamath and Steinke found
independently; "asoodeh" the best that one Renyi order can give (Asoodeh et al. 2020); "variance" the second-moment
form in the place of (46). "best" is the smallest of all. The lower end is the mass at infinity: nothing more is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import ctx

from verified_dp.adaptive.budgets import above_one
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.papers.paper import Method, PaperAnswer, Readers, one_of
from verified_dp.papers.renyi.bounds import (
    add_infinity_mass,
    bound_asoodeh,
    bound_canonne,
    bound_mironov,
    bound_variance,
)
from verified_dp.questions.moments import enclose_all_nodes
from verified_dp.search.deadline import Budget
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.moment_engine import BITS, MomentEngine
from verified_dp.search.renyi import Order, at_order, choose_order, choose_rules, choose_variance_order

CONVERSIONS = ("best", "mironov", "canonne", "asoodeh", "variance")
_BOUNDS = {"mironov": bound_mironov, "canonne": bound_canonne, "asoodeh": bound_asoodeh}


@dataclass(frozen=True)
class RenyiAccountant(Method):
    """Bounds on delta from one Renyi order.

    conversion: one of CONVERSIONS. renyi_order: the order, above 1; chosen by optimisation at each eps where None.
    """

    name: ClassVar[str] = "renyi"
    nothing: ClassVar[str] = "delta(eps) = 0 needs no bound"
    by_moments: ClassVar[bool] = True
    readers: ClassVar[Readers] = {"conversion": one_of(CONVERSIONS), "renyi_order": above_one}
    conversion: str = "best"
    renyi_order: Fraction | None = None

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> RenyiCurve:
        """The curve of one order of a composition. Raises Unsupported where nothing depends on the data."""
        self.check(loss)
        return RenyiCurve(self, MomentEngine(loss))


@dataclass(frozen=True)
class RenyiCurve:
    """delta of one order by one Renyi order at each eps."""

    method: RenyiAccountant
    engine: MomentEngine

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """Bounds on delta(eps); parameters: the conversion and the Renyi order that were used."""
        asked = self.method.conversion
        names = CONVERSIONS[2:] if asked == "best" else (asked,)
        found = [self._by_variance(epsilon) if name == "variance" else self._by_order(name, epsilon) for name in names]
        known = [answer for answer in found if answer is not None]
        if not known:
            raise Unsupported("the variance form needs every moment enclosed from both sides; one step has upper "
                              "bounds only: use another conversion")
        best = known[0]
        for answer in known[1:]:
            if answer.bounds is not None and best.bounds is not None and answer.bounds.upper < best.bounds.upper:
                best = answer
        return best

    def _choice(self, conversion: str, epsilon: float) -> Order:
        fixed = self.method.renyi_order
        if fixed is None:
            return choose_order(self.engine.model, epsilon, conversion)
        if conversion == "asoodeh":
            return at_order(self.engine.model, float(fixed - 1), epsilon)
        return Order(float(fixed - 1), 0.0)

    def _by_order(self, conversion: str, epsilon: Fraction) -> PaperAnswer:
        witness = self.engine.witness(self._choice(conversion, as_float(epsilon)), epsilon, self._exponent)
        values = witness.evaluate(self.engine.loss)
        with ctx.workprec(witness.prec):
            bounds = add_infinity_mass(values.infinity_mass, _BOUNDS[conversion](values, epsilon))
        order = witness.exponent + 1
        return PaperAnswer(bounds, parameters={"conversion": conversion, "renyi_order": f"{float(order):.6g}"})

    @property
    def _exponent(self) -> Fraction | None:
        return None if self.method.renyi_order is None else self.method.renyi_order - 1

    def _by_variance(self, epsilon: Fraction) -> PaperAnswer | None:
        """None where a moment is known from above only."""
        model, loss = self.engine.model, self.engine.loss
        if loss.only_moments:
            return None
        choice, spread = choose_variance_order(model, as_float(epsilon))
        exponent = self._exponent or dyadic(choice)
        mesh = dyadic(min(float(exponent), 1 / spread) * _MESH)
        rules, prec = choose_rules(model, float(exponent), BITS - 2 * math.log2(_MESH))
        with ctx.workprec(prec - 2 * math.ceil(math.log2(_MESH))):
            bound = bound_variance(loss, enclose_all_nodes(loss, rules), exponent, mesh, epsilon)
            if not bound.is_finite():
                return None
            bounds = add_infinity_mass(loss.enclose_infinity_mass(), bound)
        order = f"{float(exponent + 1):.6g}"
        return PaperAnswer(bounds, parameters={"conversion": "variance", "renyi_order": order})


_MESH = 2.0**-20
"""Relative distance of the three exponents of the variance form: it costs a millionth of the bound."""
