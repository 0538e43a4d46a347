"""Privacy buckets of Meiser and Mohammadi (2018), the baseline of the Fourier paper's Figure 4, with proved ends.

    BucketsAccountant(buckets=4096).curve(loss, Fraction(1), 4, Budget(None)).delta(Fraction(1))

Their squaring is here: where the losses outgrow the buckets, two become one. Their error terms, by which a bucket knows
how far its losses were moved on average, are not: both ends are those of losses moved by up to a whole width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from flint import ctx

from verified_dp.core.engines.exact import enclose_past_support
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.papers.buckets.bounds import Buckets, compose, enclose_by_buckets, fill, widen
from verified_dp.papers.paper import Method, PaperAnswer, Readers, whole
from verified_dp.papers.prv.choose import choose_reach
from verified_dp.search.deadline import Budget, check_time
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.line import as_float, dyadic

FEWEST, MOST = 16, 2**20
LOST = 2.0**-12
"""The share of delta that may go to infinity in one composition before buckets are widened, and in all steps."""
BITS = 80


@dataclass(frozen=True)
class BucketsAccountant(Method):
    """buckets: how many, half of them for losses below 0. width: of each at first; None: as one step needs."""

    name: ClassVar[str] = "buckets"
    nothing: ClassVar[str] = "there is no loss to put into buckets"
    readers: ClassVar[Readers] = {"buckets": whole(FEWEST, MOST, 4), "width": exact.positive}
    buckets: int = 2**13
    width: Fraction | None = None

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> BucketsCurve:
        """The curve of one order. Raises Unsupported where a step is known by its moments alone, or nothing depends."""
        self.check(loss)
        return BucketsCurve(self, loss, epsilon)

    def compose(self, loss: ComposedLoss, epsilon: Fraction) -> Buckets:
        """All steps of a loss, one law after the other."""
        model = LatticeModel(loss)
        log_delta = model.saddle(min(as_float(epsilon), model.largest - 1e-3 * abs(model.largest))).log_delta
        lost = dyadic(LOST * math.exp(max(log_delta, -600.0)))
        width = self.width or self._width(loss, lost / sum(int(count) for _, count in loss.laws))
        found: Buckets | None = None
        for law, count in loss.laws:
            one = repeat(fill(law, width, self.buckets // 2), int(count), lost)
            found = one if found is None else add(found, one, lost)
        assert found is not None
        return found

    def _width(self, loss: ComposedLoss, lost: Fraction) -> Fraction:
        """The least width that holds one step of every law."""
        reach = max(x for law, _ in loss.laws for x in choose_reach(law, lost))
        return dyadic(2 * float(reach) / self.buckets * 1.001, 12)


def repeat(one: Buckets, count: int, lost: Fraction) -> Buckets:
    """`count` times the same step, by squaring."""
    found: Buckets | None = None
    while True:
        if count & 1:
            found = one if found is None else add(found, one, lost)
        count >>= 1
        if not count:
            assert found is not None
            return found
        one = add(one, one, lost)


def add(one: Buckets, other: Buckets, lost: Fraction) -> Buckets:
    """The composition in the wider of both widths, or a wider one where too much would go to infinity."""
    while one.width != other.width:
        one, other = (widen(one), other) if one.width < other.width else (one, widen(other))
    while True:
        check_time()
        found = compose(one, other)
        if float(found.infinity - one.infinity - other.infinity) <= lost:
            return found
        one, other = widen(one), widen(other)


@dataclass(frozen=True)
class BucketsCurve:
    """delta of one order; cheap after the first time."""

    method: BucketsAccountant
    loss: ComposedLoss
    epsilon: Fraction

    @cached_property
    def composed(self) -> Buckets:
        """The work, done when it is first needed."""
        with ctx.workprec(BITS):
            return self.method.compose(self.loss, self.epsilon)

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """Both ends at eps; past the largest loss what is known without buckets."""
        past = enclose_past_support(self.loss, epsilon)
        if past.upper < 1:
            return PaperAnswer(past)
        used = {"buckets": str(self.method.buckets), "width at last": f"{float(self.composed.width):.6g}"}
        with ctx.workprec(BITS):
            return PaperAnswer(enclose_by_buckets(self.composed, epsilon, self.loss.enclose_infinity_mass()),
                               parameters=used)
