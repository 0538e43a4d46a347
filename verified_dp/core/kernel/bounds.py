"""What every engine of the kernel returns: two-sided bounds on delta with the share of each error source."""

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from verified_dp.core.kernel.balls import ball, lower_dyadic, lower_end, upper_dyadic, upper_end
from verified_dp.core.kernel.ends import End, end_of
from verified_dp.core.kernel.theorems import proved_by


@dataclass(frozen=True)
class Bounds:
    """lower <= delta <= upper (exact balls), and upper bounds of what each source adds to the width.

    exact_lower, exact_upper: ends that are known as rational numbers, which balls next to them need not hold.
    everywhere: whether delta is at least `lower` at every eps, as it is at least the mass at infinity (T44).
    until: delta(x) is larger than `lower` at every x < until (T127); None where that is not known.
    """

    lower: arb
    upper: arb
    budget: dict[str, arb]
    exact_lower: Fraction | None = None
    exact_upper: Fraction | None = None
    everywhere: bool = False
    until: End | None = None

    def ends(self) -> tuple[End, End]:
        """The exact ends, and dyadic numbers of the current precision outside of the others."""
        low = lower_dyadic(self.lower) if self.exact_lower is None else end_of(self.exact_lower)
        return low, upper_dyadic(self.upper) if self.exact_upper is None else end_of(self.exact_upper)


@proved_by("T33-sum-and-errors")
def bounds_from_sum(total: arb, both_sides: dict[str, arb], above_only: dict[str, arb]) -> Bounds:
    """Bounds from |delta - total| <= both_sides, except that total may also exceed delta by above_only.

    The radius of the ball `total` is the rounding error. The result is cut to [0, 1], where delta lies.
    """
    around = sum(both_sides.values(), arb(0))
    above = sum(above_only.values(), arb(0))
    upper = upper_end(total + around).min(arb(1))
    lower = lower_end(total - around - above).max(arb(0))
    budget = {name: upper_end(size) for name, size in {**both_sides, **above_only, "rounding": total.rad()}.items()}
    return Bounds(lower_end(lower), upper_end(upper), budget)


@proved_by("T16-reversal")
def reverse_bounds(swapped: Bounds, epsilon: Fraction) -> Bounds:
    """Bounds on H_a(P || Q), a = e^eps, from bounds on H_{1/a}(Q || P): H_a = 1 - a + a H_{1/a}; with its rounding."""
    rest, scale = -ball(epsilon).expm1(), ball(epsilon).exp()
    lower, upper = rest + scale * swapped.lower, rest + scale * swapped.upper
    budget = {name: upper_end(scale * size) for name, size in swapped.budget.items()}
    budget["rounding"] = upper_end(budget.get("rounding", arb(0)) + lower.rad() + upper.rad())
    return Bounds(lower_end(lower).max(arb(0)), upper_end(upper).min(arb(1)), budget)


@proved_by("T03-chernoff")
def bound_chernoff_factor(exponent: arb) -> arb:
    """Bound sup_x e^{-l x} (1 - e^{-x})_+ = l^l / (1+l)^{1+l} for l > 0."""
    return upper_end((exponent * exponent.log() - (1 + exponent) * (1 + exponent).log()).exp())
