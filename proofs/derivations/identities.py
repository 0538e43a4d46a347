"""Check symbolic identities, and see each check fail on a nearby false one.

A derivation script names the theorems it serves (`THEOREMS`); its `claims()` yields (label, left, right).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import sympy as sp

Claim = tuple[str, sp.Expr, sp.Expr]
Claims = Iterator[Claim]


def vanishes(expression: sp.Expr) -> bool:
    """Whether sympy proves the expression to be identically zero."""
    attempts: tuple[Callable[[sp.Expr], sp.Expr], ...] = (
        sp.expand,
        sp.simplify,
        lambda e: sp.simplify(sp.expand(e.rewrite(sp.exp))),
        lambda e: sp.simplify(sp.expand(sp.powsimp(sp.expand_log(e, force=False)))),
    )
    return any(attempt(expression) == 0 for attempt in attempts)


def check(claims: Iterable[Claim]) -> int:
    """Check that left = right in every claim, and that left = right + a thousandth is seen to be false.

    Returns: how many claims were checked. Raises: AssertionError naming the claim.
    """
    count = 0
    for label, left, right in claims:
        if not vanishes(left - right):
            raise AssertionError(f"not an identity: {label}: {sp.simplify(left - right)}")
        if vanishes(left - right * sp.Rational(1001, 1000) - int(right == 0)):
            raise AssertionError(f"the check cannot fail: {label}")
        count += 1
    if not count:
        raise AssertionError("no claims")
    return count


def normal_density(t: sp.Expr, mean: sp.Expr, s: sp.Expr) -> sp.Expr:
    """The density of N(mean, s^2)."""
    return sp.exp(-((t - mean) ** 2) / (2 * s**2)) / (s * sp.sqrt(2 * sp.pi))


def normal_cdf(x: sp.Expr) -> sp.Expr:
    """Phi(x)."""
    return sp.erfc(-x / sp.sqrt(2)) / 2
