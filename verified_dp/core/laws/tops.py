"""What the loss of one step is next to its largest value: atoms, and analytic densities between them (T161)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch

from flint import acb, arb

from verified_dp.core.balls import ball
from verified_dp.core.laws.atomic import AtomicLaw
from verified_dp.core.laws.laplace import BoundedRangeLoss, LaplaceLoss
from verified_dp.core.laws.law import Law
from verified_dp.core.laws.sampled import SampledLoss
from verified_dp.core.laws.shifts import Interval, LaplaceMixtureLoss, intervals
from verified_dp.core.theorems import proved_by

Density = Callable[[acb], acb]
"""Of a deficit; not finite at a box on which it is not known to be analytic."""


@dataclass(frozen=True)
class Top:
    """The finite loss under P by its deficit, which is `largest` minus the loss.

    places: of deficits, the first exactly 0, rising where there are densities. atoms: the mass at each of them.
    densities: between each place and the next; None where there is none.
    """

    largest: arb
    places: list[arb]
    atoms: list[arb]
    densities: list[Density | None]


@singledispatch
def enclose_top(law: Law) -> Top | None:
    """Of the kinds below; None for other laws."""
    return None


@enclose_top.register
@proved_by("T161-next-to-the-end", "T40-laplace")
def _laplace(law: LaplaceLoss) -> Top:
    """1/2 at 0, e^{-mu}/2 at 2 mu and e^{-d/2}/4 between."""
    mu = ball(law.ratio)
    return Top(mu, [arb(0), 2 * mu], [arb(1) / 2, (-mu).exp() / 2], [lambda d: (-d / 2).exp() / 4])


@enclose_top.register
@proved_by("T161-next-to-the-end", "T43-bounded-range")
def _range(law: BoundedRangeLoss) -> Top:
    """e^{-d/2} / (2 (1 - e^{-mu})) from 0 to 2 mu."""
    mu = ball(law.bounded_range)
    return Top(mu, [arb(0), 2 * mu], [arb(0), arb(0)], [lambda d: (-d / 2).exp() / (-2 * (-mu).expm1())])


@enclose_top.register
@proved_by("T161-next-to-the-end", "T46-atoms")
def _atomic(law: AtomicLaw) -> Top | None:
    """All atoms; those that may have the largest loss are one, at any of their losses."""
    atoms = law.enclose_loss_atoms()
    largest = law.enclose_largest_loss()
    if not atoms or largest is None:
        return None
    first, rest, end = arb(0), list[tuple[arb, arb]](), largest
    for loss, mass in atoms:
        if loss < largest:
            rest.append((loss, mass))
        else:
            first, end = first + mass, end.union(loss)
    places = [arb(0), *((end - loss).max(arb(0)) for loss, _ in rest)]
    return Top(end, places, [first, *(mass for _, mass in rest)], [None] * len(rest))


@enclose_top.register
@proved_by("T161-next-to-the-end", "T49-sampled")
def _sampled(law: SampledLoss) -> Top | None:
    """The base's, moved; never: the mass without the record that it never has with it."""
    swapped = law.base.in_order("add")
    top = enclose_top(law.base if law.order == "remove" else swapped)
    if top is None:
        return None
    move = _present if law.order == "remove" else _absent
    return move(top, ball(law.probability), swapped.enclose_infinity_mass())


@proved_by("T161-next-to-the-end", "T49-sampled")
def _present(top: Top, q: arb, never: arb) -> Top:
    """m = 1-q+q e^l for the base's l: deficit log(m0/m), mass times m e^{-l}, density times m^2/(q e^{2l}).

    never: 1-q of it is at l = -inf, where m = 1-q.
    """
    first = 1 + q * top.largest.expm1()
    end, share = first.log(), q * top.largest.exp() / first

    def moved(density: Density) -> Density:
        def found(d: acb) -> acb:
            base = ((end - d).exp() - (1 - q)) / q
            if not base.real > 0:
                return acb("nan")
            return density(top.largest - base.log()) * (2 * (end - d - base.log())).exp() / q

        return found

    places = [arb(0), *(-(share * (-place).expm1()).log1p() for place in top.places[1:])]
    atoms = [mass * (q + (1 - q) * (place - top.largest).exp())
             for place, mass in zip(top.places, top.atoms, strict=True)]
    densities = [density and moved(density) for density in top.densities]
    if never.is_zero():
        return Top(end, places, atoms, densities)
    return Top(end, [*places, end - (1 - q).log()], [*atoms, (1 - q) * never], [*densities, None])


@proved_by("T161-next-to-the-end", "T49-sampled")
def _absent(top: Top, q: arb, never: arb) -> Top:
    """m = 1-q+q e^{-l} for the base's l: deficit log(m/m0), the same mass, density times m/(q e^{-l}).

    never: the mass at l = inf, where m = 1-q.
    """
    lone = never.is_zero()
    first = 1 + q * (-top.largest).expm1() if lone else 1 - q
    end, share = -first.log(), q * (-top.largest).exp() / first

    def moved(density: Density) -> Density:
        def found(d: acb) -> acb:
            base = ((d - end).exp() - (1 - q)) / q
            if not base.real > 0:
                return acb("nan")
            return density(top.largest + base.log()) * (d - end - base.log()).exp() / q

        return found

    densities = [density and moved(density) for density in top.densities]
    if lone:
        places = [arb(0), *((share * place.expm1()).log1p() for place in top.places[1:])]
        return Top(end, places, top.atoms, densities)
    places = [arb(0), *((share * place.exp()).log1p() for place in top.places)]
    return Top(end, places, [never, *top.atoms], [None, *densities])


@enclose_top.register
@proved_by("T161-next-to-the-end", "T75-random-shifts")
def _shifted(law: LaplaceMixtureLoss) -> Top:
    """Atoms beyond the outermost means; between two means p = alpha q has one solution for each deficit."""
    end, parts = law.enclose_largest_loss(), intervals(law)[::-1]
    ratios = [(part, part.densities(part.left)) for part in parts]
    places = [arb(0), *(end - (p / q).log() for _, (p, q) in ratios)]
    atoms = [parts[0].tails(parts[0].right)[0], *[arb(0)] * (len(parts) - 1),
             1 - parts[-1].tails(parts[-1].left)[0]]
    return Top(end, places, atoms, [_between(part, end) for part in parts])


@proved_by("T161-next-to-the-end", "T75-random-shifts")
def _between(part: Interval, end: arb) -> Density:
    """p^2 q / (2 (B_p A_q - A_p B_q)) where p = alpha q, alpha = e^{end - d}; w = e^{2t}, or e^{-2t} left of 0."""
    (a, b, _), (c, e, _) = part.p, part.q

    def found(d: acb) -> acb:
        alpha = (end - d).exp()
        w = (alpha * c - a) / b if part.is_positive else (b - alpha * e) / (alpha * c)
        if not w.real > 0:
            return acb("nan")
        size = c**3 * (2 * (end - d)).exp() if part.is_positive else b**3 * (d - end).exp()
        return size * (-3 * w.log() / 2).exp() / (2 * b * c)

    return found


def all_tops(laws: Sequence[Law]) -> list[Top] | None:
    """Those of all laws; None where one has none."""
    found = list[Top]()
    for law in laws:
        top = enclose_top(law)
        if top is None:
            return None
        found.append(top)
    return found
