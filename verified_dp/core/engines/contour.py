"""The contour method on a vertical line: a trapezoidal sum with every error bounded (T01 to T06, T192).

    D(eps) = (1/2pi) int M(c+iw) e^{-(c+iw) eps} / ((c+iw)(c+1+iw)) dw
           = (eta/2pi) sum_{|m| <= m0} G(m eta)  -  aliases (>= 0)  +- frequency tail  +- transform errors +- rounding.

M is the product of what stands for the steps' transforms: sums over nodes (T08 to T12), closed forms and rules (T41,
T61, T168), or sums over listed atoms, where what is not listed is an infinite loss or none. `LineWitness.evaluate`
does all the work that does not depend on eps; `LineValues.delta` is then cheap at every eps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from flint import acb, acb_mat, arb, ctx

from verified_dp.core.engines.direct import DirectLaw, direct_parts
from verified_dp.core.engines.lines import EitherOrder, lines
from verified_dp.core.engines.nodes import (
    AnyNodes,
    NodeRule,
    NodeSet,
    bound_mass,
    count_all_nodes,
    enclose_families,
    work_of_nodes,
)
from verified_dp.core.engines.powers import Column, enclose_products, turn_sums
from verified_dp.core.engines.rules import RuleLaw
from verified_dp.core.engines.shared import cut, turned_sum
from verified_dp.core.kernel.balls import BOUND_BITS, ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import SWAPPED, Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, paced, root_above, words

if TYPE_CHECKING:
    from verified_dp.core.engines.listed import Outcomes, Tilted


@proved_by("T06-trapezoidal-enclosure")
def enclose_transforms_on_line(nodes: NodeSet, tilt: arb, step: arb, count: int,
                               between: Callable[[], None] = nothing) -> list[acb]:
    """Enclose sum_j W_j e^{i m eta v_j} for m = 0..count."""
    return _enclose_family_on_line([(nodes, 1)], tilt, step, count, between)[0]


@proved_by("T06-trapezoidal-enclosure", "T156-one-loss")
def _enclose_family_on_line(family: Sequence[tuple[AnyNodes, int]], tilt: arb, step: arb, count: int,
                            between: Callable[[], None] = nothing) -> list[list[acb]]:
    """The same for each law of a family, without the turns e^{i m eta shift} of those whose losses are moved."""
    turns = [(loss * acb(0, step)).exp() for loss in family[0][0].losses]
    return turn_sums([nodes.weights(acb(tilt)) for nodes, _ in family], turns, count, between)


@proved_by("T06-trapezoidal-enclosure")
def _enclose_direct_on_line(law: DirectLaw, tilt: arb, step: arb, count: int,
                            between: Callable[[], None] = nothing) -> tuple[list[acb], arb]:
    """Enclose M(tilt + i m step) for m = 0..count up to an error: one by one, or all by the law's rule."""
    if not isinstance(law, RuleLaw):
        return [law.enclose_transform(acb(tilt, m * step)) for m in paced(range(count + 1), between)], arb(0)
    rule = law.enclose_rule(tilt, count * step, between)
    weights = [acb(weight) for weight in rule.weights]
    turns = [acb(0, loss * step).exp() for loss in rule.losses]
    return turn_sums([weights], turns, count, between)[0], rule.error


@proved_by("T12-powers", "T156-one-loss")
def _enclose_exponents(loss: ComposedLoss, node_sets: Sequence[tuple[AnyNodes, int]],
                       points: list[acb]) -> list[acb]:
    """Enclose what the Gaussian steps and the moved losses add to log M at each point; none where that is 0."""
    if loss.parts and not loss.mean_shift_squared and all(nodes.place is None for nodes, _ in node_sets):
        return []
    shift = sum((count * nodes.shift for nodes, count in node_sets), arb(0))
    return [loss.enclose_gaussian_exponent(z) + acb(0, z.imag * shift) for z in points]


@proved_by("T11-tail-for-free")
def bound_composed_beyond(loss: ComposedLoss, rules: Sequence[NodeRule], tilt: arb, frequency: arb,
                          between: Callable[[], None] = nothing) -> arb:
    """Bound |M(tilt + iw)| of the composition for every w >= frequency; rules: one for each law with nodes."""
    log_bound = loss.enclose_gaussian_exponent(acb(tilt, frequency)).real
    for direct, count in paced(direct_parts(loss), between):
        log_bound += count * direct.bound_transform_beyond(tilt, frequency).log()
    for nodes, count in paced(chain(*enclose_families(loss, rules, between)), between):
        log_bound += count * nodes.beyond(tilt, frequency).log()
    return upper_end(log_bound.exp())


@proved_by("T05-frequency-truncation")
def enclose_tail_factor(values: LineValues) -> arb:
    """Enclose B / (pi Omega), Omega the last frequency."""
    with ctx.workprec(BOUND_BITS):
        return values.beyond / (arb.pi() * ball(values.witness.step * values.witness.count))


@proved_by("T05-frequency-truncation")
def bound_frequency_tail(values: LineValues, epsilon: Fraction) -> arb:
    """Bound (eta/2pi) sum_{|m| > m0} |G(m eta)| by e^{-c eps} B / (pi Omega)."""
    return upper_end((-ball(values.witness.tilt * epsilon)).exp() * values.tail_factor)


@proved_by("T04-alias-bounds", "T157-known-aliases")
def enclose_alias_factors(values: LineValues) -> tuple[arb, arb]:
    """Enclose C M(l) r / (1 - r) for both exponents l, r = e^{-|l - c| X}, X = 2 pi / eta, C by `bound_mass`."""
    witness = values.witness
    with ctx.workprec(BOUND_BITS):
        period, tilt = 2 * arb.pi() / ball(witness.step), ball(witness.tilt)
        right, left = ball(witness.right), ball(witness.left)
        return (values.right_mass * _geometric_tail((right - tilt) * period),
                values.left_mass * _geometric_tail((tilt - left) * period))


@proved_by("T04-alias-bounds", "T157-known-aliases")
def bound_aliases(values: LineValues, epsilon: Fraction) -> arb:
    """Bound sum over n != 0 of e^{c n X} D(eps + n X) less what is known of it: two geometric series."""
    (right, left), at = values.alias_factors, ball(epsilon)
    from_right = right * (-ball(values.witness.right) * at).exp()
    from_left = left * (-ball(values.witness.left) * at).exp()
    return upper_end(from_right + from_left)


@proved_by("T157-known-aliases")
def enclose_known_aliases(values: LineValues, epsilon: Fraction) -> arb:
    """Enclose sum over n < 0 of e^{c n X} (1 - e^{eps + n X}) where left < -1; else nothing is known."""
    if values.witness.left >= 0:
        return arb(0)
    one, power = values.known_factors
    return one - power * ball(epsilon).exp()


@proved_by("T04-alias-bounds")
def _geometric_tail(rate: arb) -> arb:
    """Enclose r / (1 - r), r = e^{-rate}."""
    return 1 / rate.expm1()


@dataclass(frozen=True)
class LineWitness(EitherOrder):
    """Any values give a correct enclosure; good ones a narrow one.

    tilt: c > 0. step: eta > 0. count: m0 >= 1 frequencies. nodes, tail_nodes: one rule per law, for the sum and
    for the bound beyond m0 eta. right > tilt > left: exponents of the alias bounds (left = 0: D <= 1 is used;
    left < -1: D(y) - 1 + e^y is bounded, which takes laws with nodes alone). prec: bits.
    tilt < -1: the line of the swapped pair at -1 - tilt, read at -eps (T16); left and right are meant there.
    reaches: none, or one per law, of its atoms that are listed; -1 for a law with another transform. cover: blocks
    (cells, stride) of frequencies past m0, bounded cell by cell. windows: none, or the least and the largest loss that
    cells look at, for each law that is listed; all others add their weights there.
    """

    tilt: Fraction
    step: Fraction
    count: int
    nodes: tuple[NodeRule, ...]
    tail_nodes: tuple[NodeRule, ...]
    right: Fraction
    left: Fraction
    prec: int
    reaches: tuple[int, ...] = ()
    cover: tuple[tuple[int, int], ...] = ()
    windows: tuple[tuple[Fraction, Fraction], ...] = ()

    kind: ClassVar[str] = "line"
    method: ClassVar[str] = "contour"

    @proved_by("T06-trapezoidal-enclosure", "T157-known-aliases", "T192-line")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions of T02, T04, T06 and T157 that are plain comparisons of exact numbers."""
        if self.tilt < -1:
            return self._twin.applies(loss.in_order(SWAPPED[loss.order]))
        listed, rest = self._split(loss)
        ordered = self.left < self.tilt < self.right and self.tilt > 0 and self.step > 0 and self.count >= 1
        ordered = ordered and (self.left >= 0 or (self.left < -1 and not direct_parts(rest) and not listed))
        covered = all(cells > 0 and stride > 0 for cells, stride in self.cover) and bool(
            listed or not self.cover or (not self.reaches and direct_parts(rest)))
        known = all(law.lists(reach) for law, _, reach in listed) and len(self.reaches) in (0, len(loss.parts))
        known = known and len(self.windows) in (0, len(listed))
        seen = lines(rest)
        return seen.has_line and ordered and covered and known and all(
            seen.suits(len(rules)) for rules in (self.nodes, self.tail_nodes))

    def _split(self, loss: ComposedLoss) -> tuple[list[tuple[Law, int, int]], ComposedLoss]:
        """The laws whose atoms are listed, with counts and reaches, and the loss of all others."""
        if not self.reaches:
            return [], loss
        marked = [(law, count, reach) for (law, count), reach in zip(loss.parts, self.reaches, strict=False)]
        return [one for one in marked if one[2] >= 0], replace(
            loss, parts=tuple((law, count) for law, count, reach in marked if reach < 0))

    @proved_by("T12-powers", "T192-line")
    def _evaluate(self, loss: ComposedLoss, between: Callable[[], None]) -> LineValues:
        """Enclose the composed transform on the line, and bound everything else that does not depend on eps."""
        reached, rest = self._split(loss)
        celled = [count for _, count, _ in reached] or [count for _, count in direct_parts(rest) if self.cover]
        bits = BOUND_BITS + (2 * sum(celled).bit_length() if celled else 0)
        with ctx.workprec(self.prec):
            tilt, step = ball(self.tilt), ball(self.step)
            families = enclose_families(rest, self.nodes, between, self.step * self.count)
            node_sets = list(chain(*families))
            columns = [column for family in paced(families, between)
                       for column in _enclose_family_on_line(family, tilt, step, self.count, between)]
            direct = [_enclose_direct_on_line(law, tilt, step, self.count, between) for law, _ in direct_parts(rest)]
            with ctx.workprec(BOUND_BITS):
                errors = [nodes.line_error(tilt, upper_end(column[0].abs_upper()))
                          for (nodes, _), column in paced(zip(node_sets, columns, strict=True), between)]
            by_nodes = [Column(column, *error, count)
                        for column, error, (_, count) in zip(columns, errors, node_sets, strict=True)]
            by_rule = [Column(column, error, arb(0), count)
                       for (column, error), (_, count) in zip(direct, direct_parts(rest), strict=True)]
            listed = _outcomes(reached, between)
            tilted = listed.tilted(tilt) if listed else []
            by_list = [Column(one.enclose_on_line(step, self.count, between), arb(0), arb(0), count)
                       for one, count in tilted]
            points = [acb(tilt, m * step) for m in range(self.count + 1)]
            products = enclose_products([*by_nodes, *by_rule, *by_list], _enclose_exponents(loss, node_sets, points),
                                        between)
            kernels, sides = [z * (z + 1) for z in paced(points, between)], [1] + [2] * self.count
            terms = [side * product / kernel
                     for side, product, kernel in zip(sides, products.values, kernels, strict=True)]
        with ctx.workprec(BOUND_BITS):
            quadrature, node_tail = products.bound_errors([
                side / kernel.abs_lower() for side, kernel in zip(sides, kernels, strict=True)])
        with ctx.workprec(bits):
            right, left = (bound_mass(rest, node_sets, exponent, between) if exponent else arb(1)
                           for exponent in (self.right, self.left))
            if listed:
                right, left = (mass * listed.bound_moment(ball(exponent))
                               for mass, exponent in ((right, self.right), (left, self.left)))
            beyond = self._bound_beyond(rest, tilted, products.sizes, between)
        with ctx.workprec(self.prec):
            infinity = loss.enclose_infinity_mass()
            lost = listed.bound_lost_mass(rest) if listed else arb(0)
        return LineValues(self, terms, quadrature, node_tail, beyond, right, left, infinity, lost)

    @proved_by("T192-line", "T188-band", "T11-tail-for-free", "T220-cells-of-transforms")
    def _bound_beyond(self, rest: ComposedLoss, tilted: Sequence[tuple[Tilted, int]], sizes: Sequence[arb],
                      between: Callable[[], None]) -> arb:
        """Bound B in e^{-c eps} B / (pi m0 eta), the frequency tail: m0 (sum over cells of s B/m^2 + rest).

        A cell holds m + 1, ..., m + s, B bounds |M| there, or its mean. The rest, past the last one, m': B'/m', B' a
        bound of |M| there, or by T188, of which nothing there is known: (eta^2/2) (sum of |M| up to m')
        bound_band(c, (m' + 1) eta).
        sizes: bounds of |M| at 0, ..., m0.
        """
        tilt, step, place, total = ball(self.tilt), ball(self.step), self.count, arb(0)
        if not (tilted or self.cover):
            return bound_composed_beyond(rest, self.tail_nodes, tilt, place * step, between)
        from verified_dp.core.engines.listed import bound_band, bound_product, bound_products, split_cells  # cells

        near = [(one.within(ball(low), ball(high)), count) for (one, count), (low, high) in zip(
            tilted, self.windows, strict=True)] if self.windows else tilted
        whole, (celled, rest) = rest, (near, rest) if self.reaches else split_cells(rest, tilt)
        inside = 2 * sum(sizes, arb(0)) - sizes[0]
        for cells, stride in paced(self.cover, between):
            height = bound_composed_beyond(rest, self.tail_nodes, tilt, place * step, between)
            for product in bound_products(celled, step, place, stride, cells):
                size = height * stride * product
                total, inside = upper_end(total + size / (ball(place) * place)), upper_end(inside + 2 * size)
                place += stride
        last = bound_composed_beyond(whole, self.tail_nodes, tilt, place * step, between)
        last = last * bound_product(tilted) / place
        band = step * step / 2 * inside * bound_band(tilt, (place + 1) * step)
        return upper_end(self.count * (total + last.min(band)))

    def work(self, loss: ComposedLoss) -> Work:
        """Of all nodes at all frequencies; a law without nodes is one sum over its atoms or integers at each."""
        listed, rest = self._split(loss)
        nodes, frequencies = count_all_nodes(rest, self.nodes), abs(self.count) + 1
        made, tails = (work_of_nodes(rest, rules) for rules in (self.nodes, self.tail_nodes))
        products = nodes * frequencies + EXPONENTIAL * (made + frequencies * (len(lines(rest).node_parts) + 1))
        bounds = 8 * EXPONENTIAL * ((1 + len(self.cover)) * tails + made)
        cells = 0 if self.reaches else sum(abs(cells) for cells, _ in self.cover)
        direct = sum((1 + len(self.cover)) * law.rule_work(self.prec)
                     + (frequencies + cells) * law.transform_work(self.prec) for law, _ in direct_parts(rest))
        entries = 2 * nodes * root_above(frequencies) + 4 * frequencies
        found = Work(products * words(self.prec) + bounds + direct, entries * entry_bytes(self.prec))
        if not listed:
            return found
        from verified_dp.core.engines.listed import work_of_atoms  # where atoms are listed

        return Work(*map(sum, zip(found, work_of_atoms(listed, self.count, self.cover, self.prec), strict=True)))


def _outcomes(reached: Sequence[tuple[Law, int, int]], between: Callable[[], None]) -> Outcomes | None:
    """The listed outcomes, where there are any."""
    if not reached:
        return None
    from verified_dp.core.engines.listed import Outcomes  # where atoms are listed

    return Outcomes.of(reached, between)


def more_files(witness: LineWitness) -> tuple[str, ...]:
    """What runs besides this module: the sums over listed atoms and the bounds on cells, where there are some."""
    if not (witness.reaches or witness.cover):
        return ()
    from verified_dp.core.engines import listed

    return (listed.__name__,)


@dataclass(frozen=True)
class LineValues:
    """What a line yields before eps is known.

    terms: the composed transform over z(z+1) at z = tilt + i m step, twice for m >= 1. quadrature, node_tail: what the
    transforms' errors add to their sum. beyond: bound on |M| past the last frequency. right_mass, left_mass: C M(l).
    infinity_mass: P(S = inf), which delta adds to D. lost_mass: P mass of what is finite and not listed.
    """

    witness: LineWitness
    terms: list[acb]
    quadrature: arb
    node_tail: arb
    beyond: arb
    right_mass: arb
    left_mass: arb
    infinity_mass: arb
    lost_mass: arb = field(default_factory=arb)

    @cached_property
    def tail_factor(self) -> arb:
        """What e^{-c eps} multiplies in the frequency tail."""
        return enclose_tail_factor(self)

    @cached_property
    def alias_factors(self) -> tuple[arb, arb]:
        """What e^{-l eps} multiplies in the aliases, right and left."""
        return enclose_alias_factors(self)

    @cached_property
    @proved_by("T157-known-aliases")
    def known_factors(self) -> tuple[arb, arb]:
        """Enclose 1 / (e^{cX} - 1) and 1 / (e^{(c+1)X} - 1), X = 2 pi / eta."""
        with ctx.workprec(self.witness.prec):
            tilt, step, _ = self.scales
            period = 2 * arb.pi() / step
            return _geometric_tail(tilt * period), _geometric_tail((tilt + 1) * period)

    @cached_property
    def scales(self) -> tuple[arb, arb, arb]:
        """Enclose tilt, step, and step / 2 pi."""
        with ctx.workprec(self.witness.prec):
            step = ball(self.witness.step)
            return ball(self.witness.tilt), step, step / (2 * arb.pi())

    @cached_property
    def pieces(self) -> acb_mat:
        """The terms, for `turned_sum`."""
        return cut(self.terms)

    @proved_by("T01-inversion", "T02-aliasing", "T06-trapezoidal-enclosure", "T157-known-aliases", "T192-line")
    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose delta(eps) = P(S = inf) + D(eps): (sum) - (tail) - (aliases) <= D <= (sum) + (tail).

        The sum is without the known aliases. The transforms' errors widen both sides; what is not listed may be all
        infinite, or have losses of at most eps.
        """
        errors = self.bound_errors(epsilon)
        above_only = {name: errors.pop(name) for name in ("aliasing", "truncation") if name in errors}
        with ctx.workprec(self.witness.prec):
            tilt, step, scale = self.scales
            at = ball(epsilon)
            turn, prefactor = acb(0, -(step * at)).exp(), (-(tilt * at)).exp() * scale
            total = prefactor * turned_sum(self.pieces, turn).real - enclose_known_aliases(self, epsilon)
            found = bounds_from_sum(total + self.infinity_mass + self.lost_mass, errors,
                                    above_only)  # type: ignore[arg-type]
            return replace(found, lower=found.lower.max(lower_end(self.infinity_mass)))

    @proved_by("T04-alias-bounds", "T05-frequency-truncation", "T06-trapezoidal-enclosure")
    def bound_errors(self, epsilon: Fraction) -> dict[str, arb]:
        """Bound by source how far D(eps) may be from the sum; "aliasing" lies below it only, "truncation" above it."""
        with ctx.workprec(self.witness.prec):
            tilt, _, scale = self.scales
            prefactor = (-(tilt * ball(epsilon))).exp() * scale
            by_nodes = {"quadrature": self.quadrature, "node_tail": self.node_tail}
            errors = {name: prefactor * size for name, size in by_nodes.items()
                      if not (self.witness.reaches and size.is_zero())}
            if self.witness.reaches:
                errors["truncation"] = self.lost_mass
        with ctx.workprec(BOUND_BITS):
            return {**errors, "frequency_tail": bound_frequency_tail(self, epsilon),
                    "aliasing": bound_aliases(self, epsilon)}
