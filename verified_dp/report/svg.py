"""Axes, marks and lines as SVG text: small pictures whose numbers are decimals, rounded to pixels only here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 400, 286
LEFT, RIGHT, TOP, BOTTOM = 54, 386, 30, 242
LEFT_GAP = 6
"""Margin on either side of a picture without names of its axes."""


def log10_of(text: str) -> float:
    """log10 of a positive decimal of any exponent.

    >>> log10_of("1e-300"), log10_of("1000")
    (-300.0, 3.0)
    """
    mantissa, _, power = text.partition("e")
    return math.log10(float(mantissa)) + int(power or 0)


@dataclass(frozen=True)
class Scale:
    """Plotted values from `low` to `high` on pixels from `start` to `end`, with labelled ticks."""

    low: float
    high: float
    start: float
    end: float
    ticks: Sequence[tuple[float, str]]

    def at(self, value: float) -> float:
        """The pixel, within the frame."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * min(max(share, -0.002), 1.002)


def linear(low: float, high: float, start: float, end: float, ticks: int = 5) -> Scale:
    """A linear scale whose ticks are round numbers."""
    raw = (high - low) / ticks
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    values = [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]
    return Scale(low, high, start, end, [(value, _short(value)) for value in values])


def decades(low: float, high: float, start: float, end: float, ticks: int = 6) -> Scale:
    """A scale of log10, with ticks at whole decades."""
    first, last = math.floor(low), math.ceil(high)
    step = max(1, math.ceil((last - first) / ticks))
    places = range(math.ceil(first / step) * step, last + 1, step)
    return Scale(first, last, start, end, [(float(n), f"1e{n}" if n else "1") for n in places])


def _short(value: float) -> str:
    """A tick's label: at most six characters."""
    if value and not 1e-3 <= abs(value) < 1e5:
        mantissa, _, power = f"{value:.1e}".partition("e")
        return f"{mantissa.removesuffix('.0')}e{int(power)}"
    return f"{value:.6g}"


def line(points: Iterable[tuple[float, float]], css: str) -> str:
    """A polyline."""
    return f'<polyline class="{css}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def band(lower: Sequence[tuple[float, float]], upper: Sequence[tuple[float, float]], css: str = "band") -> str:
    """What lies between two curves."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*lower, *reversed(upper)])
    return f'<polygon class="{css}" points="{points}"/>'


def words(x: float, y: float, text: str, anchor: str = "start", css: str = "") -> str:
    """Words at a place."""
    kind = f' class="{css}"' if css else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(text)}</text>'


def rule(x1: float, y1: float, x2: float, y2: float, css: str = "grid") -> str:
    """A straight line."""
    return f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def box(x: float, y: float, width: float, height: float, css: str) -> str:
    """A rectangle."""
    return f'<rect class="{css}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}"/>'


def dot(x: float, y: float, css: str = "dot") -> str:
    """A point."""
    return f'<circle class="{css}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'


def frame(across: Scale, up: Scale, name_across: str, name_up: str) -> str:
    """Grid, tick labels and the axes' names."""
    parts = []
    for value, label in across.ticks:
        x = across.at(value)
        parts += [rule(x, up.end, x, up.start), words(x, up.start + 16, label, "middle")]
    for value, label in up.ticks:
        y = up.at(value)
        parts += [rule(across.start, y, across.end, y), words(across.start - 6, y + 4, label, "end")]
    parts.append(words((across.start + across.end) / 2, up.start + 36, name_across, "middle", "name"))
    parts.append(words(4, up.end - 14, name_up, "start", "name"))
    return "".join(parts)


def picture(identity: str, title: str, description: str, content: str, height: float = HEIGHT) -> str:
    """The whole SVG, named and described for those who do not see it."""
    return (f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-labelledby="{identity}-t {identity}-d">'
            f'<title id="{identity}-t">{escape(title)}</title><desc id="{identity}-d">{escape(description)}</desc>'
            f'{content}</svg>')
