"""Gauss-Legendre quadrature: nodes and weights, and how many of them an error needs (T17)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from .balls import Ball, Unknown, bits, exp, log, pi, plus_minus, precision

MAX_POINTS = 2048
_HEIGHTS = 8
_MOST_NODES = 4096


def gauss_rule(points: int) -> list[tuple[Ball, Ball]]:
    """(node, weight) on [-1, 1], enclosed at the working precision."""
    return _gauss_rule(points, bits())


@lru_cache(maxsize=32)
def _gauss_rule(points: int, prec: int) -> list[tuple[Ball, Ball]]:
    """Each root by interval Newton; P'' is at most (n-1) n (n+1) (n+2) / 8 on [-1, 1]; weight 2/((1-x^2) P'(x)^2)."""
    bend, found = (points - 1) * points * (points + 1) * (points + 2) // 8 + 1, []
    with precision(prec + 4 * points.bit_length() + 32):
        places, room = bits(), Ball(1, 0, -prec - 8)
        for i in range((points + 1) // 2):  # the others are their mirror images
            x = round(math.cos(math.pi * (i + 0.75) / (points + 0.5)) * 2.0**53) << places - 53
            for _ in range(places.bit_length()):
                value, slope = _legendre(points, x, places)
                step = value / slope
                x -= step.scaled(places)[0]
                if step.top() < -places // 2:
                    break
            value, slope = _legendre(points, x, places)
            slope = slope + plus_minus(room * bend)
            step = value / slope
            if not step.magnitude() < room:
                raise Unknown("a root of a Legendre polynomial")
            root = Ball(x, 0, -places) - step
            found.append((root, 2 / ((1 - root * root) * slope * slope)))
    right = [(root + 0, weight + 0) for root, weight in found]
    return [*right, *((-root, weight) for root, weight in right[: points // 2][::-1])]


def _legendre(points: int, x: int, places: int) -> tuple[Ball, Ball]:
    """P_n and P_n' at x 2^-places in (-1, 1); P_n is found with an error of at most (n+1)(n+2)/2 units.

    A step rounds by h < 2 units. With R(z) = sum P_k z^k = (1-2xz+z^2)^(-1/2) the errors have the generating function
    R(z) int_0^z R(w) sum (k+1) h_k w^k dw, and |P_k| <= 1: no coefficient exceeds those of 2/(2 (1-z)^3).
    """
    before, value = 1 << places, x
    for k in range(1, points):
        before, value = value, (((2 * k + 1) * x * value >> places) - k * before) // (k + 1)
    at, room = Ball(x, 0, -places), (points + 1) * (points + 2) // 2
    last, found = Ball(before, room, -places), Ball(value, room, -places)
    return found, points * (last - at * found) / (1 - at * at)


def points_for(half: Ball, panels: int, ellipses: Callable[[Ball], tuple[Ball, Ball]]) -> tuple[int, Ball]:
    """(points per panel, error) for an error of about 2^-bits: size rho^-2n with the best of some ellipses."""
    found = []
    for n in range(1, _HEIGHTS + 1):
        rho, size = ellipses(pi() * n / (2 * _HEIGHTS))
        need = (log(size) / log(Ball(2)) + bits() + 4) / (2 * log(rho) / log(Ball(2)))
        wanted = min(max(int(need.scaled(0)[0]) + 1, 2), _MOST_NODES // panels)
        points = 4 * -(-wanted // 4)
        found.append((points, n, (size * exp(log(rho) * (-2 * points))).upper()))
    points, _, error = min(found, key=lambda choice: choice[:2])
    return points, error
