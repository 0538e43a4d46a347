"""put(K) = E (K - S)_+, S the sum of t lognormal ratios, and its derivatives, on a hyperbola (T132).

    (1/2 pi i) int phi(z)^t e^{zK} z^{-n} dz,   z(v) = c (1 + sin a) + c sin(iv - a):   n = 2 put, n = 1 P(S < K),
    n = 0 the density of S.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from flint import acb, acb_mat, arb, arb_poly, ctx

from verified_dp.core.balls import (
    BOUND_BITS,
    ball,
    disc,
    integer_above,
    integer_below,
    kept,
    largest,
    lower_dyadic,
    lower_end,
    normal_tail,
    plus_minus,
    upper_end,
)
from verified_dp.core.engines.powers import enclose_power
from verified_dp.core.exact import SquareRoot
from verified_dp.core.laws.lognormal import (
    Hats,
    Line,
    Majorant,
    Nodes,
    choose_majorant,
    enclose_hats,
    enclose_line,
    enclose_nodes,
    refined,
)
from verified_dp.core.theorems import proved_by

CELL = Fraction(1, 2)
"""Width of the parts of an arm, in v."""


@dataclass(frozen=True)
class Piece:
    """A part of an arm: |phi^t e^{Kz}| <= the largest e^{log_bound + K right}, int |dz| <= length, |z| >= nearest."""

    corners: list[tuple[arb, arb]]
    length: arb
    nearest: arb

    def bound_size(self, strike: arb, power: int) -> arb:
        """Bound |phi^t e^{Kz} z^{-n}| on the part."""
        return largest([log_bound + strike * right for log_bound, right in self.corners]).exp() / self.nearest**power

    @proved_by("T132-hyperbola")
    def bound(self, strike: arb, power: int) -> arb:
        """Bound int |phi^t e^{Kz} z^{-n}| |dz|, K > 0, over the part."""
        return upper_end(self.bound_size(strike, power) * self.length)

    @proved_by("T132-hyperbola")
    def bound_sum(self, strike: arb, power: int, share: arb) -> arb:
        """Bound the trapezoidal sum over the nodes of the part, their step being `share` of its width."""
        return upper_end(self.bound(strike, power) * (1 + share))


@dataclass(frozen=True)
class Rest(Piece):
    """All of an arm beyond v: int |phi^t e^{Kz} z^{-n}| |dz| <= length / K times the size at v.

    falling: |Re z'(v)|.
    """

    falling: arb

    @proved_by("T132-hyperbola")
    def bound(self, strike: arb, power: int) -> arb:
        """Bound int |phi^t e^{Kz} z^{-n}| |dz|, K > 0, over the rest."""
        return upper_end(self.bound_size(strike, power) * self.length / strike)

    @proved_by("T132-hyperbola")
    def bound_sum(self, strike: arb, power: int, share: arb) -> arb:
        """Bound the trapezoidal sum over the nodes beyond v, at steps of `share` cells, where its terms fall."""
        if not strike * self.falling >= 1:
            return arb.pos_inf()
        return upper_end(self.bound(strike, power) * (1 + share * ball(CELL) * strike * self.falling))


@dataclass(frozen=True)
class Arm:
    """The upper half of a hyperbola z = centre + scale sin(iv - angle), 0 < angle < pi/2, centre > scale sin angle."""

    centre: arb
    scale: arb
    angle: arb
    rounds: int
    hats: Hats

    def point(self, v: arb) -> acb:
        """z(v)."""
        return self.centre + self.scale * acb(-self.angle, v).sin()

    def speed(self, v: arb) -> acb:
        """z'(v)."""
        return acb(0, self.scale) * acb(-self.angle, v).cos()

    @proved_by("T132-hyperbola")
    def cell(self, start: arb, end: arb) -> Piece:
        """The part between two v: it lies in the triangle of its ends and of where their tangents meet."""
        first, last = self.point(start), self.point(end)
        middle, half = (start + end) / 2, (end - start) / 2
        tip = self.centre + self.scale * acb(-self.angle, middle).sin() / half.cosh()
        corners = [first, tip, last]
        majorant = self.choose(corners)
        bounds = [(upper_end(self.rounds * majorant.log_bound(z)), upper_end(z.real)) for z in corners]
        hull = acb(first.real.union(last.real), first.imag.union(last.imag))
        length = (end - start) * self.scale * (self.angle.cos() ** 2 + end.sinh() ** 2).sqrt()
        return Piece(bounds, upper_end(length), lower_end(hull.abs_lower()))

    def log_height(self, v: arb, strike: arb) -> arb:
        """About the log of |phi^t e^{Kz} / z| at v."""
        z = self.point(v)
        return self.rounds * self.choose([z]).log_bound(z) + strike * z.real - abs(z).log()

    def choose(self, corners: list[acb]) -> Majorant:
        """The best of two turns at the middle: where the bound is about least, and the arm's angle."""
        place, square = corners[len(corners) // 2], self.hats.spread**2
        guess = (square * place.imag / (1 + square * place.imag)).min(self.angle)
        rate = (place.real * guess.cos() + place.imag * guess.sin()).max(arb(0))
        best = (square * place.imag * self.hats.mean(rate)).min(self.angle)
        turns = [lower_end(best).max(arb(0)), self.angle]
        found = [choose_majorant(self.hats, self.angle, turn, corners) for turn in turns]
        return found[0] if found[0].log_bound(place) < found[1].log_bound(place) else found[1]

    @proved_by("T132-hyperbola")
    def rest(self, start: arb) -> Rest:
        """All beyond v > 0: |phi| <= e^{A^2/2} E e^{-rate X}, sA = turn >= angle.

        rate = Re(z e^{-i turn}) rises in v; int |dz| e^{K Re z} <= coth v e^{K Re z(v)} / (K sin angle).
        """
        bound, first = arb.pos_inf(), self.point(start)
        for extra in range(4):
            turn = (self.angle + arb(extra) / 5).min(arb(3) / 2)
            rate = first.real * turn.cos() + first.imag * turn.sin()
            if turn >= self.angle and rate >= 0:
                bound = bound.min((turn / self.hats.spread) ** 2 / 2 + self.hats.bound(rate).log())
        return Rest([(upper_end(self.rounds * bound), upper_end(first.real))],
                    upper_end(1 / (start.tanh() * self.angle.sin())), lower_end(first.imag),
                    self.scale * self.angle.sin() * start.sinh())


class Term(NamedTuple):
    """z, h z' phi^t / pi there without the errors of phi's rule, and how much those can add to it."""

    z: acb
    weight: acb
    blur: arb


@dataclass(frozen=True)
class PutValues:
    """What a hyperbola yields before K is known: the sum's terms, and what is left out, by arms.

    aliases: parts of both arms of the strip's edges; damping: 1 / (e^{2 pi b/h} - 1); dropped: parts of the
    path; share: h over a part's width.
    """

    terms: list[Term]
    aliases: list[Piece]
    damping: arb
    dropped: list[Piece]
    share: arb

    @proved_by("T132-hyperbola")
    def itemise(self, strike: arb, power: int) -> tuple[arb, dict[str, arb]]:
        """The sum for (1/2 pi i) int phi^t e^{Kz} z^{-n} dz, K > 0 in the ball, and bounds of each kind of error."""
        total, quadrature = acb(0), arb(0)
        for z, weight, blur in self.terms:
            factor = (strike * z).exp() / z**power
            total += weight * factor
            quadrature += blur * factor.abs_upper()
        return total.imag, {"quadrature": upper_end(quadrature), **self.bound_errors(strike, power)}

    def enclose(self, strike: arb, power: int) -> arb:
        """Enclose that integral for every K > 0 of the ball."""
        total, errors = self.itemise(strike, power)
        return total + plus_minus(sum(errors.values(), arb(0)))

    @proved_by("T132-hyperbola")
    def bound_errors(self, strike: arb, power: int) -> dict[str, arb]:
        """Bound aliases and what is dropped, for every K > 0 of the ball."""
        with ctx.workprec(BOUND_BITS):
            aliases = sum((piece.bound(strike, power) for piece in self.aliases), arb(0))
            dropped = sum((piece.bound_sum(strike, power, self.share) for piece in self.dropped), arb(0))
            return {"aliasing": upper_end(aliases * self.damping / arb.pi()),
                    "frequency_tail": upper_end(dropped / arb.pi())}


@dataclass(frozen=True)
class PutSeries:
    """Taylor polynomials of put, put' and put'' (power 2, 1, 0) about a strike, and their errors within a reach of it.

    sharp: whether cutting the polynomials off adds little to the errors that there are anyway.
    """

    middle: arb
    reach: arb
    polynomials: dict[int, arb_poly]
    errors: dict[int, arb]
    sharp: bool

    @proved_by("T132-hyperbola")
    def enclose(self, strike: arb, power: int) -> arb | None:
        """Enclose the function at every K of the ball; None where they are not within reach."""
        away = strike - self.middle
        if not abs(away) <= self.reach:
            return None
        return self.polynomials[power](away) + plus_minus(self.errors[power])


def power_table(values: PutValues, length: int) -> acb_mat:
    """Rows z^{n-2} / n!, n = 0..length+1, with a column for each term."""
    rows, row = [], [1 / (z * z) for z, _, _ in values.terms]
    for n in range(length + 2):
        rows.append(row)
        row = [power * z / (n + 1) for power, (z, _, _) in zip(row, values.terms, strict=True)]
    return acb_mat(rows)


@proved_by("T132-hyperbola")
def expand(values: PutValues, table: acb_mat, middle: arb, reach: arb) -> PutSeries:
    """The polynomials of N terms: e^{zd} is its own up to |zd|^N e^{|z| |d|} / N!, |d| <= reach < middle."""
    length = table.nrows() - 2
    shifted = [((weight + disc(blur)) * (middle * z).exp(), z) for z, weight, blur in values.terms]
    coefficients = [total.imag for total in (table * acb_mat([[weight] for weight, _ in shifted])).entries()]
    polynomials, errors, sharp = {}, {}, True
    for power in (2, 1, 0):
        polynomials[power] = arb_poly(coefficients[:length])
        coefficients = [n * coefficients[n] for n in range(1, len(coefficients))]
        with ctx.workprec(BOUND_BITS):
            lost = sum((weight.abs_upper() * ((z.abs_upper() * reach).exp() * (z.abs_upper() * reach) ** length
                                              / z.abs_lower() ** power) for weight, z in shifted), arb(0))
            own, near = (sum(values.bound_errors(strike, power).values(), arb(0))
                         for strike in ((middle - reach).union(middle + reach), middle))
            lost /= arb(length).fac()
            errors[power], sharp = upper_end(own + lost), sharp and bool(lost <= 8 * near)
    return PutSeries(middle, reach, polynomials, errors, sharp)


_MOST_CELLS = 64


def cells_until(arm: Arm, strike: arb, small: arb, start: arb) -> list[Piece]:
    """Parts of the arm from v = start on, and the rest: once that is at most `small`, or there are many parts."""
    parts, rest = list[Piece](), None
    while rest is None or (len(parts) < _MOST_CELLS and not rest.bound(strike, 2) <= small):
        for _ in range(2):
            end = start + ball(CELL)
            parts.append(arm.cell(start, end))
            start = end
        rest = arm.rest(end)
    return [*parts, rest]


@dataclass(frozen=True)
class Plan:
    """A hyperbola for a strike: its upper arm, about how large put is, and bounds of the strip's edges.

    log_size: log of e^{cK} E[e^{-cX}]^t / c. wasted: by how much the edges exceed it. Nothing here has to be right.
    """

    path: Arm
    strike: arb
    log_size: arb
    aliases: list[Piece]
    wasted: arb

    def goal(self, bits: int) -> arb:
        """log of 2^-bits of put."""
        return self.log_size - bits * arb.const_log2()

    def is_small(self, v: arb, bits: int) -> bool:
        """Whether the path's integrand seems to be 2^-bits of put at v."""
        return bool(self.path.log_height(v, self.strike) <= self.goal(bits))


def choose_end(chosen: Plan, bits: int) -> arb:
    """About the v beyond which the path cannot matter, in notches."""
    high, low = 1, 0
    while not chosen.is_small(high * ball(_NOTCH), bits) and high < _MOST_NOTCHES:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chosen.is_small(middle * ball(_NOTCH), bits) else (middle, high)
    return high * ball(_NOTCH)


_NOTCH = Fraction(1, 8)
_MOST_NOTCHES = 256


def choose_scale(rounds: int, hats: Hats, strike: arb) -> arb:
    """About the c > 0 where e^{cK} E[e^{-cX}]^t / c^2 is least."""
    def falls(c: arb) -> bool:
        return bool(strike - rounds * hats.mean(c) - 2 / c < 0)

    low = lower_end(1 / strike)
    while falls(2 * low):
        low = 2 * low
    ratio = arb(2)
    for _ in range(5):
        ratio = lower_end(ratio.sqrt())
        low = lower_end(low * ratio) if falls(low * ratio) else low
    return low


_EDGES = (1, 7)
"""The strip's edges, in fourths of the angle."""


@dataclass(frozen=True)
class Start:
    """Where hyperbolas for a strike meet the axis, and about how large put is, as in a plan."""

    rounds: int
    hats: Hats
    strike: arb
    scale: arb
    log_size: arb

    def arms(self, angle: Fraction) -> list[Arm]:
        """The path and the strip's edges, which reach from a/4 to 7a/4."""
        centre = lower_end(self.scale * (1 + ball(angle).sin()))
        return [Arm(centre, self.scale, ball(angle * n / 4), self.rounds, self.hats) for n in (4, *_EDGES)]

    def plan(self, angle: Fraction) -> Plan:
        """Bounds for one angle."""
        path, *edges = self.arms(angle)
        size = upper_end(self.log_size.exp())
        aliases = [part for arm in edges for part in cells_until(arm, self.strike, size, arb(0))]
        wasted = sum((part.bound(self.strike, 2) for part in aliases), arb(0)).log() - self.log_size
        return Plan(path, self.strike, self.log_size, aliases, upper_end(wasted).max(arb(0)))

    def wastes(self, angle: Fraction, nats: arb) -> bool:
        """Whether the outer edge seems to exceed put by more than that somewhere at |z| < 1 + 1/s^2."""
        outer, v = self.arms(angle)[-1], arb(1)
        while abs(outer.point(v)) < 1 + 1 / self.hats.spread**2:
            if outer.log_height(v, self.strike) > self.log_size + nats:
                return True
            v += 1
        return False


def start_of(rounds: int, hats: Hats, strike: arb) -> Start:
    """Where e^{cK} E[e^{-cX}]^t / c^2 is about least."""
    scale = choose_scale(rounds, hats, strike)
    return Start(rounds, hats, strike, scale, scale * strike + rounds * hats.bound(scale).log() - scale.log())


_ANGLES = tuple(Fraction(n, 64) for n in (48, 40, 24, 16, 8, 4, 2))
_WIDEST = 11
"""Angles up to so many times s: beyond, transforms near the arms' ends are sums of very large terms."""


def choose_plan(rounds: int, hats: Hats, strike: arb, bits: int) -> Plan:
    """The plan for the widest angle that wastes little, else the one that takes the fewest points."""
    nats, plans, start = bits * arb.const_log2(), list[Plan](), start_of(rounds, hats, strike)
    for angle in _ANGLES:
        last = angle == _ANGLES[-1] and not plans
        if not last and (ball(angle) > _WIDEST * hats.spread or (not plans and start.wastes(angle, nats / 4))):
            continue
        plans.append(start.plan(angle))
        if plans[-1].wasted < nats / 4:
            break
    best = plans[0]
    for other in plans[1:]:
        best = other if (nats + other.wasted) / other.path.angle < (nats + best.wasted) / best.path.angle else best
    return best


_SPARE = 32
"""Bits for squarings in a row and for long sums."""
_BLOCKS = 3
_OCTAVES = 3
_SHARP = 56
"""Bits of put where tails and densities are asked for."""


def _whole(bits: int) -> int:
    """The next multiple of 8: few precisions, so that rules are shared."""
    return -(-bits // 8) * 8


def wanted_bits(rounds: int, spread: arb, strike: arb, own: int, prec: int) -> int:
    """Bits of put: its own and those that put + t - K cancels, up to all that are in use.

    That is about E (X - K)_+, one large term, or a normal tail, whichever is more.
    """
    if not strike > rounds:
        return own
    place = (strike.log() + spread**2 / 2) / spread
    deviation = ((spread**2).expm1() * rounds).sqrt()
    far = ((strike - rounds) / deviation) ** 2
    together = (deviation * (-far / 2).exp() / (3 + 3 * far)).min(arb(rounds))
    size = (normal_tail(place - spread) - strike * normal_tail(place)).max(together)
    return min(prec, own + _bits_of(strike / size)) if size > 0 else prec  # exact: integers


_DEEPEST = 100


def _bits_of(x: arb) -> int:
    """About log2 x, at least 0."""
    return integer_above((x.log() / arb.const_log2()).max(arb(0)))


@kept(512)
def evaluate_put(rounds: int, noise: Fraction | SquareRoot, strike: Fraction, own: int) -> PutValues:
    """The values of a hyperbola chosen for K = strike, good to so many bits of put and to those that cancel."""
    prec = ctx.prec
    with ctx.workprec(BOUND_BITS):
        spread, aim = 1 / ball(noise), lower_end(ball(strike))
        bits = _whole(wanted_bits(rounds, spread, aim, own, prec))
        reach = integer_above((1 / spread**2 + 2 * arb(rounds).log() + 80).sqrt())
        depth = integer_above(((aim / rounds).log() / -spread - spread / 2).max(arb(2)).min(arb(_DEEPEST))) + 6
        hats = sharp_hats(rounds, _hats(noise, depth, reach), aim)
        chosen = choose_plan(rounds, hats, aim, bits)
        step = 2 * arb.pi() * _margin(chosen.path) / (bits * arb.const_log2() + 2 + chosen.wasted)
        end = choose_end(chosen, bits)
    return put_values(chosen, noise, lower_end(step), end, bits)


def sharp_hats(rounds: int, hats: Hats, strike: arb) -> Hats:
    """The hats, finer where bounds of phi^t near the path would be far too large."""
    for _ in range(2):
        scale = choose_scale(rounds, hats, strike)
        hats = refined(hats, [scale * arb((1, n)) for n in _NEAR], arb((1, -3)) / rounds)
    return hats


_NEAR = (-2, 0, 2, 4)
"""Octaves around the scale of a hyperbola."""


@kept(8)
def _hats(noise: Fraction | SquareRoot, depth: int, reach: int) -> Hats:
    return enclose_hats(1 / ball(noise), depth, reach)


def _margin(path: Arm) -> arb:
    """b, half the strip's width."""
    return path.angle * (_EDGES[1] - _EDGES[0]) / 8


@proved_by("T132-hyperbola")
def put_values(chosen: Plan, noise: Fraction | SquareRoot, step: arb, end: arb, bits: int) -> PutValues:
    """The sum over the path up to v = end, in steps of any exact size; transforms to about 2^-bits."""
    path = chosen.path
    with ctx.workprec(BOUND_BITS):
        dropped = cells_until(path, chosen.strike, upper_end(chosen.goal(bits).exp()), end)
        damping = upper_end(1 / (2 * arb.pi() * _margin(path) / step).expm1())
        count = integer_above(end / step)
        deeper = _whole(_bits_of(path.rounds / path.hats.bound(path.scale)) + 4)
        rules = Rules(noise, lower_dyadic(path.angle).as_fraction(), bits + deeper)
        spare = _whole(integer_above(rules.growth / arb.const_log2()) + deeper + _SPARE)
        share = upper_end(step / ball(CELL))
    with ctx.workprec(bits + spare):
        terms = sum_terms(path, rules, step, count)
    return PutValues(terms, chosen.aliases, damping, dropped, share)


@dataclass(frozen=True)
class Rules:
    """Rules for phi from the real axis to the argument pi/2 + angle, each for a sector and two octaves of |z|."""

    noise: Fraction | SquareRoot
    angle: Fraction
    bits: int

    @property
    def sectors(self) -> list[tuple[arb, arb]]:
        """(centre, half) of each; where little noise leaves room, the line is turned no further than its strip asks."""
        return _sectors(self)

    @property
    def growth(self) -> arb:
        """A^2/2 of the line that is turned the farthest: the log of its weights' sum."""
        return (self.sectors[-1][0] * ball(self.noise)) ** 2 / 2

    def at(self, z: acb) -> Nodes:
        """The rule for z, whose argument is not negative."""
        turn, sectors = z.arg(), self.sectors
        index = next((i for i, (centre, half) in enumerate(sectors) if turn <= centre + half), len(sectors) - 1)
        return _rule(self, index, integer_below(abs(z).log() / (_OCTAVES * arb.const_log2())))


@kept(8)
def _sectors(rules: Rules) -> list[tuple[arb, arb]]:
    with ctx.workprec(BOUND_BITS):
        spread, widest, found = 1 / ball(rules.noise), arb.pi() / 2 + ball(rules.angle), list[tuple[arb, arb]]()
        half = widest / (2 * _BLOCKS) + arb((1, -30))
        for i in range(_BLOCKS):
            middle = widest * (2 * i + 1) / (2 * _BLOCKS)
            least = middle + half - arb.pi() / 2 + arb(2 * rules.bits).sqrt() * spread
            centre = lower_end(middle.min(least.max(arb(0))))
            found.append((centre, upper_end(half + middle - centre)))
    return found


@kept(8)
def _line(rules: Rules, index: int) -> Line:
    return enclose_line(1 / ball(rules.noise), *rules.sectors[index], rules.bits)


@kept(256)
def _rule(rules: Rules, index: int, band: int) -> Nodes:
    far = arb((1, _OCTAVES * (band + 1))) * (1 + arb((1, -20)))
    return enclose_nodes(_line(rules, index), arb((1, _OCTAVES * band)), far, rules.bits)


@proved_by("T132-hyperbola")
def sum_terms(path: Arm, rules: Rules, step: arb, count: int) -> list[Term]:
    """The terms at z(jh), half of that at j = 0, j = 0..count; blur: |(M + e)^t - M^t| <= t e (|M| + e)^{t-1}."""
    terms, t = [], path.rounds
    for j in range(count + 1):
        z = path.point(j * step)
        share = step * path.speed(j * step) / arb.pi() / (1 if j else 2)
        value, error = rules.at(z).at(z)
        with ctx.workprec(BOUND_BITS):
            size = value.abs_upper() + error
            blur = upper_end(share.abs_upper() * t * error * size ** (t - 1))
        terms.append(Term(z, share * enclose_power(value, t), blur))
    return terms


_TERMS = 48
_WORD = 64


@kept(2048)
def expanded_put(rounds: int, noise: Fraction | SquareRoot, band: Band) -> PutSeries:
    """The polynomials about a strike, from the values for one near it."""
    values = _sharp_values(rounds, noise, band.near)
    return expand(values, _powers(rounds, noise, band.near), ball(band.middle), ball(band.reach))


@kept(32)
def _powers(rounds: int, noise: Fraction | SquareRoot, near: Fraction) -> acb_mat:
    return power_table(_sharp_values(rounds, noise, near), _TERMS + ctx.prec // 4)


def _sharp_values(rounds: int, noise: Fraction | SquareRoot, near: Fraction) -> PutValues:
    """Half of the bits in use, or 56."""
    return evaluate_put(rounds, noise, near, min(ctx.prec, max(_SHARP, ctx.prec // 2 - 8)))  # exact: integers


@dataclass(frozen=True)
class Band:
    """Strikes that share values, those of a hyperbola for K = near, and those among them within reach of the middle.

    reach 0: so few that polynomials would not pay.
    """

    near: Fraction
    middle: Fraction
    reach: Fraction


@proved_by("T132-hyperbola")
def enclose_put(rounds: int, noise: Fraction | SquareRoot, strike: arb, power: int, band: Band) -> arb:
    """Enclose E (K - S)_+ (power 2), P(S < K) (1) or the density of S at K (0), K > 0, by what the band shares."""
    with ctx.workprec(-(-ctx.prec // _WORD) * _WORD):  # few precisions, so that values are shared
        series = expanded_put(rounds, noise, band) if band.reach else None
        found = series.enclose(strike, power) if series and series.sharp else None
        return _sharp_values(rounds, noise, band.near).enclose(strike, power) if found is None else found


@proved_by("T132-hyperbola")
def itemise_put(rounds: int, noise: Fraction | SquareRoot, strike: arb, near: Fraction) -> tuple[arb, dict[str, arb]]:
    """E (K - S)_+ and its errors, by the values for a strike near K: as many bits as delta has, of 2 bits + 40."""
    return evaluate_put(rounds, noise, near, own_bits(ctx.prec)).itemise(strike, 2)


def own_bits(prec: int) -> int:
    """The bits of delta that a precision stands for, and a few more."""
    return max(_FEWEST, prec // 2 - 12)  # exact: integers


_FEWEST = 24
