"""One power, and the sum of a series, of a complex number."""

from collections.abc import Sequence

from flint import acb, acb_mat

from verified_dp.core.engines.shared import powers
from verified_dp.core.kernel.balls import disc
from verified_dp.core.kernel.theorems import proved_by

FEW = 16
"""Powers up to this one are products: four squarings at most, and boxes wrap little."""


@proved_by("T12-powers")
def enclose_power(x: acb, count: int) -> acb:
    """Enclose x^count: few factors multiplied; else exp(count log x), the branch cut turned away, or a disc about 0."""
    if count <= FEW:
        return x**count
    if x.rel_accuracy_bits() <= count.bit_length() + 1 or x.is_zero():
        return disc(x.abs_upper() ** count)
    if x.real < 0:
        power = ((-x).log() * count).exp()
        return -power if count % 2 else power
    return (x.log() * count).exp()


def cut(terms: Sequence[acb]) -> acb_mat:
    """The terms in rows of about as many as there are rows, filled up with zeros: what `turned_sum` takes."""
    babies = split(len(terms) - 1, 1)
    giants = -(-len(terms) // babies)
    return acb_mat(giants, babies, [*terms, *[acb(0)] * (giants * babies - len(terms))])


def turned_sum(rows: acb_mat, turn: acb) -> acb:
    """Enclose sum_m term_m turn^m, |turn| = 1, where `rows` are the cut terms, by baby and giant steps."""
    babies = powers(turn, rows.ncols())
    giants = powers(babies[-1] * turn, rows.nrows())
    return (acb_mat([giants]) * (rows * acb_mat([[baby] for baby in babies])))[0, 0]


def split(count: int, rows: int) -> int:
    """About sqrt((count + 1) rows), at least 2, at most count + 1."""
    babies = 2
    while babies * babies < (count + 1) * rows and babies < count + 1:
        babies += 1
    return babies
