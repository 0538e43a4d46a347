"""What every engine of the kernel returns: two-sided bounds on delta with the share of each error source."""

from dataclasses import dataclass

from flint import arb

from verified_dp.kernel.balls import lower_end, upper_end


@dataclass(frozen=True)
class Bounds:
    """lower <= delta <= upper (exact balls), and upper bounds of what each source adds to the width."""

    lower: arb
    upper: arb
    budget: dict[str, arb]


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
