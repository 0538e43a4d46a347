"""Write the formal part of a certificate: choose grid, bits and windows, compose in integers, note the hints.

Not trusted: the extracted checker does the same arithmetic again. Everything is exact in integers; the operations
are those of proofs/coq/Checker.v, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, gcd, isqrt, lcm

from flint import arb, ctx, fmpz_poly

from verified_dp.core.engines.exact import has_rational_end
from verified_dp.core.engines.grid import LawGrid, enclose_step
from verified_dp.core.engines.lattice import Above, Below
from verified_dp.core.families.finite.atomic import FiniteLoss
from verified_dp.core.kernel.balls import ball, integer_above
from verified_dp.core.kernel.certificate.document import Document, sealed
from verified_dp.core.kernel.certificate.statement import read_spec
from verified_dp.core.kernel.composition import Claim
from verified_dp.core.kernel.errors import InvalidCertificate, Unsupported
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.verifiers.formal import FormalPart, Kind, Product, infinity_above, part_record, read_parts
from verified_dp.verifiers.formal_steps import ZCDPSteps, attained_laws, compared, merged, stated_laws

_SHARE_BITS, _FINE_SHARE_BITS, _FINE = 16, 30, Fraction(1, 1 << 10)
"""What is cut of a product costs about 2^-16 of the claimed delta; on grids finer than the last number 2^-30."""
_FINEST, _COARSEST = 20, 4
"""Grid steps from 2^-4 on, halved until two of them tell how small one must be, to 2^-20."""
_EVENT_BITS = 128
"""Of a bound by one event, beside those of the claimed delta."""
_MAX_WINDOW = 2**18
_MAX_ENDS = 2**14
"""Grid points up to the largest loss of a step."""
_FEW = 16
"""Steps before which a grid stays as it is."""
_SPARE = Fraction(5, 4)
"""How much less than there is room for a grid is to cost."""
_TAYLOR = {"above": 39, "below": 40}


@dataclass(frozen=True)
class Composed:
    """An integer law: masses from index low on, and the mass at infinity, in units of 2^-bits.

    scale: of how many steps its grid is.
    """

    low: int
    masses: list[int]
    infinity: int
    scale: int = 1


@dataclass(frozen=True)
class Arithmetic:
    """Side, bits, and what each product may cut on either side, in units of 2^-2bits per step that it holds.

    step: of a grid that may become coarser until all steps are composed, which costs a fourth as much again.
    """

    side: str
    bits: int
    share: int
    step: Fraction | None = None
    count: int = 0

    def shift(self, number: int) -> int:
        """Number 2^-bits, rounded to the safe side."""
        return -(-number >> self.bits) if self.side == "above" else number >> self.bits

    def multiply(self, a: Composed, b: Composed, steps: int) -> tuple[Composed, Product]:
        """The product cut to a window, of so many steps, and the hint for it."""
        scale = max(a.scale, b.scale)
        a, b = self.coarsen(a, scale // a.scale), self.coarsen(b, scale // b.scale)
        full = [int(c) for c in (fmpz_poly(a.masses) * fmpz_poly(b.masses)).coeffs()]
        start, end = self._window(full, self.share * steps)
        infinity = a.infinity * (b.infinity + sum(b.masses)) + sum(a.masses) * b.infinity
        lost = sum(full[:start]) + sum(full[end:]) if self.side == "above" else 0
        low = a.low + b.low + start
        product = Composed(low, [self.shift(c) for c in full[start:end]], self.shift(infinity + lost), scale)
        goes_on = self.step and _FEW <= steps < self.count
        coarser = max(1, (1 << isqrt(steps // _FEW).bit_length() - 1) // scale) if goes_on else 1
        hint = Product(low, low + end - start - 1, sum(product.masses), product.infinity, coarser)
        return self.coarsen(product, coarser), hint

    def coarsen(self, law: Composed, factor: int) -> Composed:
        """Each mass to the two points around it of a grid so many times coarser."""
        if factor == 1:
            return law
        assert self.step is not None
        fine, other, unit = law.scale * self.step, replace(self, side="below"), 1 << self.bits
        end = other.exponential(fine * factor)
        shares = [unit, *(max(0, unit * (self.exponential(fine * place) - end) // (unit - end))
                          for place in range(1, factor))]
        first, place = divmod(law.low, factor)
        masses = [0] * ((place + len(law.masses) - 1) // factor + 2)
        for index, mass in enumerate(law.masses, place):
            cell, start = index // factor, mass * shares[index % factor] >> self.bits
            masses[cell] += start
            masses[cell + 1] += mass - start
        return Composed(first, masses, law.infinity, law.scale * factor)

    def _window(self, full: list[int], room: int) -> tuple[int, int]:
        """Cut at most `room` at each end, and all that is 0 after the shift."""
        def first_kept(masses: Iterator[int]) -> int:
            cut = 0
            for index, mass in enumerate(masses):
                cut += mass
                if cut > room and self.shift(mass):
                    return index
            raise Unsupported("nothing is left of the composition at this precision", "formal")

        return first_kept(iter(full)), len(full) - first_kept(reversed(full))

    def power(self, law: Composed, count: int) -> tuple[Composed, list[Product]]:
        """The count-fold composition by binary powering, with the hints."""
        power, held, hints = law, 1, []
        for digit in bin(count)[3:]:
            held *= 2
            power, hint = self.multiply(power, power, held)
            hints.append(hint)
            if digit == "1":
                held += 1
                power, hint = self.multiply(power, law, held)
                hints.append(hint)
            if len(power.masses) > _MAX_WINDOW:
                raise Unsupported("the formal checker would need more than 2^18 points", "formal")
        return power, hints

    def series(self, kinds: Sequence[tuple[Composed, int]]) -> tuple[Composed, list[Product]]:
        """All kinds: the first one's power, then all of the others, then their product, with the hints."""
        (law, count), *others = kinds
        power, hints = self.power(law, count)
        if not others:
            return power, hints
        rest, more = self.series(others)
        product, last = self.multiply(power, rest, sum(count for _, count in kinds))
        return product, [*hints, *more, last]

    def exponential(self, exponent: Fraction) -> int:
        """2^bits e^-exponent, below for an upper bound of delta and above for a lower one."""
        term, total = Fraction(1), Fraction(1)
        for n in range(1, _TAYLOR[self.side] + 1):
            term *= -exponent / n
            total += term
        scaled = total * (1 << self.bits)
        return max(0, scaled.__floor__()) if self.side == "above" else scaled.__ceil__()

    def delta(self, law: Composed, epsilon: Fraction, step: Fraction) -> int:
        """The bound of delta(epsilon) in units of 2^-bits."""
        step *= law.scale
        index, opposite = (epsilon / step).__floor__() + 1, replace(self, side=_opposite(self.side))
        decay, factor = self.exponential(step), self.exponential(index * step - epsilon)
        total, one = 0, 1 << self.bits
        for mass in [*[0] * (law.low - index), *law.masses[max(0, index - law.low):]]:
            total += mass * max(0, one - factor)
            factor = opposite.shift(factor * decay)
        return law.infinity + self.shift(total)


def _opposite(side: str) -> str:
    return "below" if side == "above" else "above"


Kinds = Sequence[tuple[Law, int]]
"""The laws of a composition with their counts."""


def propose(laws: Kinds, order: str, side: str, epsilon: Fraction, target: Fraction,
            enough: Callable[[FormalPart], bool]) -> FormalPart:
    """The coarsest grid's part that is enough. target: about the size of delta that matters.

    Raises Unsupported where no grid is fine enough.
    """
    part = event_part(laws, order, side, epsilon, target)
    if part is not None and enough(part):
        return part
    for step in _special_steps(laws, side, epsilon, target):
        try:
            part = build_part(laws, order, side, epsilon, target, step)
        except Unsupported:
            continue
        if enough(part):
            return part
    points, shown = 1 << _COARSEST, []
    while points <= 1 << _FINEST:
        try:
            part = build_part(laws, order, side, epsilon, target, Fraction(1, points), fine=True)
        except Unsupported:
            break
        if enough(part):
            return part
        shown.append((points, part.delta))
        points = _next_points(shown, target)
    reached = f"; the finest one shows {float(shown[-1][1]):.6g}" if shown else ""
    raise Unsupported(f"no grid of the formal checker decides this claim{reached}", "formal")


def _next_points(shown: Sequence[tuple[int, Fraction]], target: Fraction) -> int:
    """How fine the next grid must be, in points of a unit: what a grid costs falls with the square of that."""
    (few, before), (points, now) = shown[-2:] if len(shown) > 1 else [shown[0]] * 2
    if not 0 < abs(before - now) < target / 4:
        return 2 * points
    cost = (before - now) / (Fraction(points, few)**2 - 1)
    room = target - (now - cost)
    return max(2 * points, isqrt(ceil(points**2 * _SPARE * cost / room))) if cost / room > 0 else 2 * points


def event_part(laws: Kinds, order: str, side: str, epsilon: Fraction, target: Fraction) -> FormalPart | None:
    """The part without a grid, for plain Gaussian steps alone, for zCDP steps, or for one step with outputs."""
    (law, count), *others = laws
    step = compared(law, order, side, _EVENT_BITS, by_law=False)
    if step is None or others or count > 1:
        return None
    bits = _EVENT_BITS + target.denominator.bit_length()
    with ctx.workprec(2 * bits + 64):
        found = step.bound(epsilon) if isinstance(step, ZCDPSteps) else law.enclose_hockey_stick(ball(epsilon))
        found *= arb((1, bits))
        bound = int((found.upper() + 2).ceil().unique_fmpz() or 0) if side == "above" else max(
            0, int((found.lower() - 2).floor().unique_fmpz() or 0))
    return FormalPart(order, side, epsilon, Fraction(1), bits, 2 * bits + 64, (), (), bound)


def _special_steps(laws: Kinds, side: str, epsilon: Fraction, target: Fraction) -> list[Fraction]:
    """Above one step, such that epsilon is on the grid: the bound is its curve there. Else the sum's end, where known.

    Where delta is to be 0 the same for each of several steps: it is where their largest losses are at most its share.

    Of these steps all largest losses are multiples; below, of a little less: a law's line is 0 at its end, and balls
    cannot tell that from less than 0.
    """
    counts = [count for _, count in laws]
    if side == "above" and epsilon > 0 and (counts == [1] or (len(counts) == 1 and not target)):
        return [epsilon / (counts[0] << power) for power in range(_COARSEST)]
    ends = [law.largest_loss() if has_rational_end(law) else Fraction(0) for law, _ in laws]
    if not all(ends):
        return []
    whole = lcm(*(end.denominator for end in ends))
    step = Fraction(gcd(*(int(end * whole) for end in ends)), whole)
    share = 1 if side == "above" else 1 - Fraction(1, 1 << _EVENT_BITS)
    few = max(ends) / step < _MAX_ENDS  # exact: fractions
    return [share * step / (1 << power) for power in range(_COARSEST)] if few else []


def build_part(laws: Kinds, order: str, side: str, epsilon: Fraction, target: Fraction,
               step: Fraction, grid: LawGrid | None = None, *, fine: bool = False) -> FormalPart:
    """The part with this grid step, and a grid for each kind that is wide enough unless one is given for all.

    fine: less is cut where steps are small, and above, grids may become coarser.
    """
    share_bits = _FINE_SHARE_BITS if fine and step < _FINE else _SHARE_BITS
    size, count = target.denominator.bit_length() - target.numerator.bit_length() + share_bits, sum(k for _, k in laws)
    bits = size + count.bit_length() + 40
    prec = 2 * bits + 64
    arithmetic = Arithmetic(side, bits, (1 << 2 * bits - size) // count if target else 0,
                            step if fine and side == "above" else None, count)
    with ctx.workprec(prec):
        steps = [one_step(law, side, bits, step, grid or choose_grid(law, step, arb((1, -size)) / count))
                 for law, _ in laws]
    composed, products = arithmetic.series([(one, k) for one, (_, k) in zip(steps, laws, strict=True)])
    kinds = (Kind(k, one.low, one.infinity, tuple(one.masses)) for one, (_, k) in zip(steps, laws, strict=True))
    return FormalPart(order, side, epsilon, step, bits, prec, tuple(kinds), tuple(products),
                      arithmetic.delta(composed, epsilon, step))


def one_step(law: Law, side: str, bits: int, step: Fraction, grid: LawGrid) -> Composed:
    """The integer law of one step."""
    found = enclose_step(law, grid, step, bits)
    rounded, scale = (Above if side == "above" else Below).integer, arb((1, bits))
    masses = [rounded(scale * mass) for mass in (found.above if side == "above" else found.below)]
    mass = infinity_above(law, grid, step, found) if side == "above" else found.infinity
    return Composed(grid.first, masses, rounded(scale * mass))


def choose_grid(law: Law, step: Fraction, loss: arb) -> LawGrid:
    """Uniform, and so wide that what lies outside of it costs about `loss` per step."""
    def left_is_small(index: int) -> bool:
        x = ball(-index * step)
        return bool(law.enclose_hockey_stick(x) + x.exp() - 1 <= loss)

    def right_is_small(index: int) -> bool:
        return bool(law.enclose_hockey_stick(ball(index * step)) - law.enclose_infinity_mass() <= loss)

    first, last = -_least(left_is_small), _least(right_is_small)
    if has_rational_end(law) and (end := law.largest_loss() / step).denominator == 1 and end > 0:
        last = int(end)
    elif isinstance(law, FiniteLoss) and (largest := law.enclose_largest_loss()) is not None:
        last = integer_above(largest / ball(step)) if 0 < largest < _MAX_ENDS * ball(step) else last
    return LawGrid(first, ((last - first, 1),))


def _least(is_enough: Callable[[int], bool]) -> int:
    """The least positive index that is enough, if larger ones are too."""
    high = 1
    while not is_enough(high):
        high *= 2
        if high > _MAX_WINDOW:
            raise Unsupported("the formal checker would need more than 2^18 points", "formal")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


@alone
def with_formal(certificate: Document) -> Document:
    """The certificate with a formal part that shows its verdict. Raises Unsupported where none can be made."""
    spec = read_spec(certificate)
    claim, verdict = spec.claim, certificate["verdict"]
    if claim is None or verdict == "undecided":
        raise Unsupported("the claim is undecided: there is nothing for a formal part to prove", "formal")
    losses = privacy_losses(spec.composition, spec.relation)
    if not all(loss.laws for loss in losses):
        raise Unsupported("nothing is revealed: there is no step for a formal part", "formal")
    if verdict == "proved":
        parts = [_proof((stated_laws(spec, loss.order), merged(loss.laws)), loss.order, claim) for loss in losses]
    else:
        order = _refuting_order(certificate)
        parts = [propose(attained_laws(spec, order) or loss.laws, order, "below", claim.epsilon, claim.delta,
                         lambda part: part.delta > claim.delta) for loss in losses if loss.order == order]
    records = [part_record(part) for part in parts]
    try:
        read_parts(records)
    except InvalidCertificate as error:
        raise Unsupported(f"the formal part would not be readable: {error}", "formal") from None
    return sealed({**certificate, "formal": records})


def _proof(choices: Sequence[Kinds], order: str, claim: Claim) -> FormalPart:
    """By the first of these laws that show it; the merged ones may be fewer, and less rounded."""
    first, *others = [laws for laws in choices if laws]
    try:
        return propose(first, order, "above", claim.epsilon, claim.delta, lambda part: part.delta <= claim.delta)
    except Unsupported:
        if not others or others[0] == first:
            raise
        return _proof(others, order, claim)


def _refuting_order(certificate: Document) -> str:
    """The order with the largest recorded lower end of delta."""
    from verified_dp.core.kernel.dyadic import Dyadic

    found = [entry for entry in certificate["evaluations"] if entry["quantity"] == "delta"]
    return str(max(found, key=lambda entry: Dyadic.parse(entry["enclosure"]["lower"]).as_fraction())["order"])
