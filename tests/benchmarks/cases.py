"""What is asked of every accountant: steps in words of no library, and one axis along which each case lies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """`count` releases of one kind; numbers as text: (q, s), scale, variance, (sigma, norms, weights), (s, rounds)."""

    kind: str
    numbers: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class Case:
    """add-or-remove. `epsilon` and `delta` go together: delta is about delta(epsilon)."""

    axis: str
    name: str
    steps: tuple[Step, ...]
    epsilon: str
    delta: str


def sampled(axis: str, q: str, s: str, count: int, epsilon: str, delta: str) -> Case:
    """Poisson-sampled Gaussian steps."""
    return Case(axis, f"q={q} s={s} k={count:.4g} eps={epsilon}", (Step("sampled-gaussian", (q, s), count),),
                epsilon, delta)


def distinct(number: int, epsilon: str, delta: str) -> Case:
    """Noise that falls from step to step: 1.5 * .999^i, q = .01."""
    steps = tuple(Step("sampled-gaussian", ("0.01", f"{1.5 * 0.999**i:.6f}"), 1000 // number) for i in range(number))
    return Case("distinct steps", f"{number} distinct", steps, epsilon, delta)


def other(kind: str, numbers: tuple[str, ...], count: int, epsilon: str, delta: str) -> Case:
    """One mechanism besides the sampled Gaussian."""
    return Case("mechanisms", f"{kind}({', '.join(numbers)}) k={count} eps={epsilon}", (Step(kind, numbers, count),),
                epsilon, delta)


CASES = [
    *(sampled("k", "0.01", "1", k, epsilon, "1e-6") for k, epsilon in (
        (1, "0.3639"), (2, "0.4255"), (3, "0.4641"), (10, "0.5923"), (100, "0.9542"), (1000, "2.1245"),
        (10**4, "6.907"), (10**5, "27.67"))),
    *(sampled("delta", "0.01", "2", 5000, epsilon, delta) for epsilon, delta in (
        ("1", "8.168e-4"), ("2", "1.764e-8"), ("4", "2.644e-25"), ("8", "1e-74"), ("16", "4.946e-204"))),
    *(sampled("q", q, "1.5", k, epsilon, delta) for q, k, epsilon, delta in (
        ("0.0001", 10**6, "0.5", "1.7e-8"), ("0.001", 10**5, "1", "5e-4"), ("0.01", 10**4, "1", "0.0496"),
        ("0.1", 100, "1", "0.07"), ("0.5", 10, "1", "0.25"))),
    *(sampled("sigma", "0.001", s, 2000, epsilon, delta) for s, epsilon, delta in (
        ("0.5", "3", "1e-4"), ("0.8", "0.8071", "1e-7"), ("1", "0.4", "1e-6"), ("2", "0.1", "1e-6"),
        ("10", "0.02", "1e-7"))),
    distinct(2, "1", "1e-4"), distinct(10, "1", "1e-4"), distinct(100, "1", "1e-4"),
    *(other(kind, numbers, count, epsilon, delta) for kind, numbers, count, epsilon, delta in (
        ("laplace", ("1",), 3, "2", "0.1471"), ("laplace", ("1",), 10, "4", "0.3309"),
        ("laplace", ("20",), 1000, "4", "0.01528"), ("laplace", ("200",), 20000, "5", "8.04e-13"),
        ("sampled-laplace", ("0.1", "2"), 3, "0.1", "0.004715"),
        ("sampled-laplace", ("0.1", "2"), 100, "0.5", "0.04427"),
        ("sampled-laplace", ("0.1", "2"), 10**4, "6", "0.7977"),
        ("sampled-laplace", ("0.01", "1"), 1000, "0.5", "0.00694"),
        ("discrete-laplace", ("5",), 3, "0.4", "0.03013"), ("discrete-laplace", ("5",), 100, "5", "0.03135"),
        ("discrete-laplace", ("50",), 1000, "2", "1.2e-3"),
        ("discrete-gaussian", ("9",), 3, "1", "0.01572"), ("discrete-gaussian", ("9",), 10, "3", "0.002706"),
        ("discrete-gaussian", ("100",), 100, "2", "0.02092"), ("discrete-gaussian", ("10000",), 10**4, "2", "0.02092"),
        ("sampled-discrete-gaussian", ("0.01", "100"), 3, "0.002", "0.0001191"),
        ("sampled-discrete-gaussian", ("0.01", "100"), 1000, "0.1", "7.764e-06"),
        ("sampled-discrete-gaussian", ("0.01", "100"), 10**5, "0.5", "0.009898"),
        ("gaussian", ("2",), 3, "2", "0.007768"), ("gaussian", ("20",), 1000, "4", "0.01646"),
        ("approximate-dp", ("0.1", "1e-6"), 3, "0.2", "0.01377"),
        ("approximate-dp", ("0.01", "1e-7"), 10**5, "12", "0.0171"),
        ("mixture-of-gaussians", ("2", "0 1 2", "0.5 0.3 0.2"), 3, "1", "0.04005"),
        ("mixture-of-gaussians", ("2", "0 1 2", "0.5 0.3 0.2"), 50, "3", "0.4044"),
        ("mixture-of-gaussians", ("4", "0 1 3", "0.98 0.01 0.01"), 1000, "1", "5.005e-4"),
        ("random-allocation", ("2", "100"), 1, "0.2049", "1e-6"),
        ("random-allocation", ("1", "100"), 10, "1", "0.002001"))),
]
