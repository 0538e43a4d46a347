"""Products of powers of transforms, and how an error of each transform moves the product (T12)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import acb, acb_mat, arb, ctx

from verified_dp.core.balls import BOUND_BITS, disc, powers, upper_end
from verified_dp.core.theorems import proved_by
from verified_dp.core.work import nothing, paced, words


@dataclass(frozen=True)
class Transform:
    """One law's transform at one point: a ball for the node sum, its two error bounds, and the law's count."""

    value: acb
    quadrature: arb
    node_tail: arb
    count: int


@proved_by("T12-powers")
def enclose_power(x: acb, count: int) -> acb:
    """Enclose x^count as exp(count log x), the branch cut turned away; a disc where x is not clearly away from 0."""
    largest, smallest = x.abs_upper(), x.abs_lower()
    if not count * (largest - smallest) < largest:
        return disc(largest**count)
    if x.real < 0:
        power = ((-x).log() * count).exp()
        return -power if count % 2 else power
    return (x.log() * count).exp()


@proved_by("T12-powers")
def enclose_product(transforms: Sequence[Transform], gaussian_exponent: acb) -> tuple[acb, arb, arb]:
    """Enclose prod value_i^{k_i} e^{gaussian} and bound what the transforms' errors e_i can add to it, by source.

    |prod (M_i + d_i)^{k_i} - prod M_i^{k_i}| <= sum_i k_i e_i / (|M_i| + e_i) * prod_j (|M_j| + e_j)^{k_j}.
    """
    product = gaussian_exponent.exp()
    for transform in transforms:
        product *= enclose_power(transform.value, transform.count)
    with ctx.workprec(BOUND_BITS):
        quadrature, node_tail, log_size = arb(0), arb(0), gaussian_exponent.real
        for transform in transforms:
            reach = transform.value.abs_upper() + transform.quadrature + transform.node_tail
            log_size += transform.count * reach.log()
            quadrature += transform.count * transform.quadrature / reach
            node_tail += transform.count * transform.node_tail / reach
        size = log_size.exp()
        return product, upper_end(quadrature * size), upper_end(node_tail * size)


def turn_sums(weights: Sequence[acb], turns: Sequence[acb], count: int,
              between: Callable[[], None] = nothing) -> list[acb]:
    """Enclose sum_j weight_j turn_j^m for m = 0..count by baby and giant steps: a matrix product, a long one in parts.

    between: called now and then during a long one.
    """
    babies = _split(count)
    giants = -(-(count + 1) // babies)
    row = len(turns) * babies * words(ctx.prec)
    pause, part = (between, 1 + _LONG // (8 * row)) if row * giants >= _LONG else (nothing, giants)
    baby = acb_mat([powers(turn, babies) for turn in paced(turns, pause)])
    leaps = [powers(turn**babies, giants) for turn in paced(turns, pause)]
    giant = [[weight * leap[r] for weight, leap in zip(weights, leaps, strict=True)]
             for r in paced(range(giants), pause)]
    products = ((acb_mat(giant[r:r + part]) * baby).tolist() for r in paced(range(0, giants, part), pause))
    return [value for rows in products for values in rows for value in values][: count + 1]


_LONG = 2 * 10**7
"""Units of work of a product, about two seconds, from which on it is made in parts of an eighth of that."""


def _split(count: int) -> int:
    """About sqrt(count + 1), at least 2."""
    babies = 2
    while babies * babies < count + 1:
        babies += 1
    return babies
