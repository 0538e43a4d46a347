"""Products of powers of transforms, and how an error of each transform moves the product (T12)."""

from collections.abc import Sequence
from dataclasses import dataclass

from flint import acb, acb_mat, acb_poly, arb, ctx

from verified_dp.core.balls import BOUND_BITS, disc, powers, upper_end
from verified_dp.core.theorems import proved_by


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


def turn_sums(weights: Sequence[acb], turns: Sequence[acb], count: int) -> list[acb]:
    """Enclose sum_j weight_j turn_j^m for m = 0..count by baby and giant steps: one matrix product."""
    babies = _split(count)
    giants = -(-(count + 1) // babies)
    baby = acb_mat([powers(turn, babies) for turn in turns])
    leaps = [powers(turn**babies, giants) for turn in turns]
    giant = acb_mat([[weight * leap[r] for weight, leap in zip(weights, leaps, strict=True)] for r in range(giants)])
    return [value for row in (giant * baby).tolist() for value in row][: count + 1]


PIECE = 8
"""Terms that are summed by Horner's rule: a turning box grows by less than the root of 2 at each."""


def cut(terms: Sequence[acb]) -> list[acb_poly]:
    """The terms in pieces, as polynomials: what `turned_sum` takes."""
    return [acb_poly(terms[start:start + PIECE]) for start in range(0, len(terms), PIECE)]


def turned_sum(pieces: Sequence[acb_poly], turn: acb) -> acb:
    """Enclose sum_m term_m turn^m, |turn| = 1, where `pieces` are the cut terms."""
    found = [piece(turn) for piece in pieces]
    while len(found) > 1:
        turn = turn**PIECE
        found = [piece(turn) for piece in cut(found)]
    return found[0]


def _split(count: int) -> int:
    """About sqrt(count + 1), at least 2."""
    babies = 2
    while babies * babies < count + 1:
        babies += 1
    return babies
