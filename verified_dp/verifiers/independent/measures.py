"""Measures of losses on a grid, in integers, and their convolutions: what is left out is counted, never forgotten.

*The order of measures.* For a >= 0 let f_a(x) = (1 - a e^-x)_+. A measure m (of outcomes by their loss, with their
mass under P) is at most n, m <= n, where the integral of f_a by m is at most that by n for every a >= 0. As f_a(x +
y) = f_b(x) with b = a e^-y, integrating first over x and then over y shows that m <= n and m' <= n' give m * m' <= n
* n'; and delta(eps) - P(S = inf) is the integral of f_a, a = e^eps, by the convolution of all steps' measures. So a
measure above for every step gives a number above, and one below a number below. Three moves suffice. f_a does not
fall in x and is >= 0: *moving mass to a smaller loss, and dropping it, is a step down.* An outcome of masses (p, q)
counts (p - a q)_+, which is convex and homogeneous: *two outcomes seen as one are a step down*, and an outcome split
into several of the same sums of p and of q is *a step up*.

*What is kept.* Index i stands for the loss x_i = offset + i step. Kept is the mass weight_i 2^exponent e^{-c x_i}
there, weights in integers; c >= 0 is the tilt. `whole` is at least the integral of e^{cx} by the whole measure, in
units of 2^exponent: what is not kept is some measure, nobody knows where, of at most `whole - sum(weights)` of these.
It adds to the integral of f_a at most C(c) e^{-c eps} times that, C(c) = max (1-u) u^c, as f_a(x) = (1-u) with u =
e^{eps - x}. Integrals of e^{cx} multiply under convolution. So rounding down, cutting a window out of a product, and
leaving a tail away need one line: multiply `whole`, and keep less.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from mpmath.libmp import BACKEND, MPZ

from .balls import Ball, Unknown, ball, bits, exp, log, tick


@dataclass(frozen=True)
class Measure:
    """What is known of a measure above, or below (where `whole` has no meaning)."""

    weights: list[int]
    low: int
    offset: Fraction
    step: Fraction
    exponent: int
    whole: int

    def lost(self) -> int:
        return self.whole - sum(self.weights)


def multiply(a: Measure, b: Measure, room: int, wanted: int) -> Measure:
    """The convolution, of which at most about a 2^-room-th is left out at either end, in about `wanted` bits."""
    weights, exponent = convolved(a.weights, b.weights), a.exponent + b.exponent
    whole = a.whole * b.whole
    return trimmed(weights, a.low + b.low, a.offset + b.offset, a.step, exponent, whole, room, wanted)


def trimmed(weights: list[int], low: int, offset: Fraction, step: Fraction, exponent: int, whole: int, room: int,
            wanted: int) -> Measure:
    """Both ends cut, all rounded down to a common unit."""
    total = sum(weights)
    if not total:
        return Measure([0], low, offset, step, exponent, whole)
    first, last = _end(weights, total >> room), _end(weights[::-1], total >> room)
    weights = weights[first:len(weights) - last]
    shift = max(total.bit_length() - wanted, 0)
    return Measure([w >> shift for w in weights], low + first, offset, step, exponent + shift, -(-whole >> shift))


def _end(weights: Sequence[int], allowed: int) -> int:
    """How many of the first ones come to at most so much."""
    found = 0
    for n, weight in enumerate(weights[:-1]):
        found += weight
        if found > allowed:
            return n
    return max(len(weights) - 1, 0)


def convolved(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """The coefficients of the product of two polynomials with natural coefficients, as one product of two numbers."""
    tick()
    most = max(a) * max(b) * min(len(a), len(b))
    if not most:
        return [0] * (len(a) + len(b) - 1)
    if BACKEND == "gmpy":  # mpmath found gmpy2, which multiplies long integers fast
        return _by_bytes(a, b, most.bit_length() // 8 + 1, len(a) + len(b) - 1)
    return _by_digits(a, b, most.bit_length() * 30103 // 100_000 + 1, len(a) + len(b) - 1)


def _by_bytes(a: Sequence[int], b: Sequence[int], width: int, count: int) -> list[int]:
    first, second = (MPZ(int.from_bytes(b"".join(w.to_bytes(width, "little") for w in one), "little"))
                     for one in (a, b))
    data = int(first * second).to_bytes(width * count + 1, "little")
    return [int.from_bytes(data[i:i + width], "little") for i in range(0, width * count, width)]


class TooLong(Unknown):
    """Numbers are too long for this checker's products; that says nothing of a certificate."""


_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[
    decimal.Inexact, decimal.InvalidOperation, decimal.Overflow])


def _by_digits(a: Sequence[int], b: Sequence[int], width: int, count: int) -> list[int]:
    """In decimal digits: Python's `decimal` multiplies long numbers by number-theoretic transforms, exactly."""
    if width > 4000:
        raise TooLong("weights of more digits than Python reads at once")
    first = _joined(a, width)
    second = first if a is b else _joined(b, width)
    text = str(_EXACT.multiply(first, second)).zfill(width * count)
    return [int(text[i:i + width]) for i in range(len(text) - width, -1, -width)]


def _joined(weights: Sequence[int], width: int) -> decimal.Decimal:
    return decimal.Decimal("".join([f"{w:0{width}d}" for w in reversed(weights)]))


# ---------- a coarser grid ----------


def coarsened(measure: Measure, tilt: Fraction, *, up: bool) -> Measure:
    """On every second place, those among which the largest weight is: above, or below."""
    largest = measure.low + measure.weights.index(max(measure.weights))
    parity, before = largest % 2, (measure.low - largest) % 2
    low = measure.low - before
    weights = [0] * before + measure.weights
    weights += [0] * (1 - len(weights) % 2)  # kept places first and last
    found, grown = (_spread if up else _merged)(weights, measure.step, tilt)
    return Measure(found, (low - parity) // 2 - (0 if up else 1), measure.offset + parity * measure.step,
                   2 * measure.step, measure.exponent, measure.whole + grown)


def _ends(value: Ball, places: int) -> tuple[int, int]:
    """Of a number that is >= 0: tiny ones are not below it, so no weight is."""
    near, room = value.scaled(places)
    return max(near - room, 0), near + room


def _spread(weights: list[int], step: Fraction, tilt: Fraction) -> tuple[list[int], int]:
    """The mass at an odd place split between its neighbours, with the same sums under P and under Q: a step up.

    p = p1 + p2 and p e^0 = p1 e^h + p2 e^-h: p1 = p/(1+e^h), p2 = p/(1+e^-h), tilted by e^{-ch}, e^{ch}. Second: by how
    much at most the integral of e^{cx} grows.
    """
    places = bits()
    left = exp(ball(-tilt * step)) / (1 + exp(ball(step)))
    right = exp(ball(tilt * step)) / (1 + exp(ball(-step)))
    (down, _), (up, _), (_, both) = (_ends(part, places) for part in (left, right, left + right))
    odd = weights[1::2]
    found = list(weights[::2])
    for n, weight in enumerate(odd):
        found[n] += weight * down >> places
        found[n + 1] += weight * up >> places
    grown = sum(odd) * (both - (1 << places))
    return found, max(-(-grown >> places), 0)


_SHARE_BITS = 24


def _merged(weights: list[int], step: Fraction, tilt: Fraction) -> tuple[list[int], int]:
    """What lies at odd places merged at even ones, or moved down: steps down. One place more on the left.

    A part A of the mass below x, at x - h, and B of that above, at x + h: with A' e^h of it A' <= A seen as one
    outcome is at x exactly if A'(e^h - 1) = A'e^h (1 - e^-h), which holds; A' e^h <= B. The rest of B moves down to
    x, the rest of A to x - 2h. In tilted weights: A' <= B e^{-(2c+1)h}, moving by h up (down) is a factor e^{ch}
    (e^{-ch}). How an odd place's mass is shared among both sides is free: such that A' = A where neighbours fall by a
    constant factor.
    """
    places = bits()
    (match, _), (fall, _), (rise, _) = (_ends(exp(ball(power * step)), places)
                                        for power in (-(2 * tilt + 1), -tilt, tilt))
    ratio = match / (1 << places)
    odd = weights[1::2]
    found = [0, *weights[::2]]
    above_left = 0  # A for the next even place
    for n in range(len(odd) + 1):
        here = odd[n] if n < len(odd) else 0
        share = 0
        if here:
            before, after = odd[n - 1] if n else 0, odd[n + 1] if n + 1 < len(odd) else 0
            if before and after:
                growth = (after / before) ** 0.5 if after < before << 1000 and before < after << 1000 else 1.0
            elif before:
                growth = min(here / before, 1e100) if here < before << 300 else 1e100
            elif after:
                growth = min(after / here, 1e100) if after < here << 300 else 1e100
            else:
                growth = 1.0
            share = int((1 << _SHARE_BITS) / (1 + ratio * growth))
        below = here * share >> _SHARE_BITS  # B at this even place
        taken = min(above_left, below * match >> places)
        found[n + 1] += (taken * rise >> places) + (below * fall >> places)
        found[n] += (above_left - taken) * fall >> places
        above_left = here - below
    return found, 0


def value_at(measure: Measure, epsilon: Fraction, tilt: Fraction) -> Ball:
    """The sum over x_i > eps of the mass there times 1 - e^{eps - x_i}: Horner's scheme, once rounded down, once up."""
    h = measure.step
    start = max((epsilon - measure.offset) // h + 1, measure.low)
    weights = measure.weights[start - measure.low:]
    first = measure.offset + start * h
    scale = exp(-ball(tilt * first)).shifted(measure.exponent)
    return scale * (_horner(weights, tilt * h) - exp(ball(epsilon - first)) * _horner(weights, (tilt + 1) * h))


def _horner(weights: Sequence[int], rate: Fraction) -> Ball:
    """sum_n weights[n] e^{-rate n}."""
    places = bits() + 8
    small, large = _ends(exp(-ball(rate)), places)
    large = min(large, 1 << places)
    low = high = 0
    for weight in reversed(weights):
        low = (low * small >> places) + (weight << places)
        high = -(-high * large >> places) + (weight << places)
    return Ball(low + high, high - low + 1, -places - 1)


def left_out(measure: Measure, epsilon: Fraction, tilt: Fraction) -> Ball:
    """An upper bound of what the measure that is not kept adds: C(c) e^{-c eps} of its tilted mass."""
    lost = Ball(max(measure.lost(), 0)).shifted(measure.exponent)
    return lost * peak(tilt) * exp(-ball(tilt * epsilon))


def peak(tilt: Fraction) -> Ball:
    """max over u of (1-u) u^c: at u = c/(1+c)."""
    if not tilt:
        return Ball(1)
    return exp(log(ball(tilt / (1 + tilt))) * tilt) / (1 + tilt)
