"""The pictures of a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from verified_dp.core.kernel.dyadic import decimal_down, decimal_up
from verified_dp.core.kernel.ends import End
from verified_dp.report import svg
from verified_dp.report.curves import Point
from verified_dp.report.facts import as_decimal

DIGITS = 12
LOWEST = -400
"""Of the axis of delta: below 1e-400 a curve runs along the floor."""


def _log(number: End, *, up: bool) -> float:
    """log10 rounded outward to twelve digits, LOWEST at 0."""
    text = (decimal_up if up else decimal_down)(number, DIGITS)
    return max(svg.log10_of(text), LOWEST) if number.sign > 0 else LOWEST


def gap_plot(claimed: str, shown: str, ends: tuple[Decimal, Decimal], claim: Decimal) -> str:
    """Claimed and proved epsilon on a line, and the gap between them; the line is cut where that alone shows a gap.

    ends: the smaller and the larger of the two. claim: the one of them that is claimed.
    """
    low, high = map(Fraction, ends)
    gap, cut = high - low, high - low < high / 25
    start, end = (low - 2 * gap, high + 2 * gap) if cut and gap else (Fraction(0), high * Fraction(9, 8) or Fraction(1))

    def at(value: Fraction) -> float:
        return svg.LEFT_GAP + float((value - start) / (end - start)) * (svg.WIDTH - 2 * svg.LEFT_GAP)

    other = low if Fraction(claim) == high else high
    x, y = at(Fraction(claim)), at(other)
    line = 46
    content = (svg.rule(svg.LEFT_GAP, line, svg.WIDTH - svg.LEFT_GAP, line, "axis")
               + svg.box(svg.LEFT_GAP, line - 8, min(x, y) - svg.LEFT_GAP, 16, "bar")
               + svg.box(min(x, y), line - 8, abs(x - y), 16, "gap")
               + svg.rule(x, line - 18, x, line + 12, "claimed whole") + svg.rule(y, line - 12, y, line + 18, "true")
               + _label(x, line - 24, f"claimed {claimed}") + _label(y, line + 32, shown)
               + svg.words(svg.LEFT_GAP, line + 52, "ε; the line is cut" if cut else "ε, from 0", "start", "name big"))
    return svg.picture("gap", "The gap", f"On a line of epsilon: claimed {claimed}; {shown}.", content, 106)


def _label(x: float, y: float, text: str) -> str:
    """Words in the middle below or above a place, within the picture."""
    half = 4.4 * len(text)
    return svg.words(min(max(x, half + 2), svg.WIDTH - half - 2), y, text, "middle", "tag big")


def delta_plot(points: Sequence[Point], epsilon: Fraction, delta: Fraction, claimed: str,
               least: Fraction | None = None) -> str:
    """delta over epsilon on a scale of decades, the proved side shaded, with the gap from the claim to the curve.

    least: the epsilon that is proved at the claimed delta, where one is.
    """
    highs, lows = ([_log(end, up=up) for end in ends] for ends, up in (
        ([p.upper for p in points], True), ([p.lower for p in points], False)))
    claim = svg.log10_of(as_decimal(delta, DIGITS).removeprefix("about ")) if delta else -math.inf
    floor = min((place for place in (claim, *lows) if place > LOWEST), default=-10) - 1
    across = svg.linear(0, max(float(points[-1].at), float(epsilon) * 1.05), svg.LEFT, svg.RIGHT)
    up = svg.decades(max(floor, LOWEST), max(*highs, claim), svg.BOTTOM, svg.TOP)
    lower, upper = ([(across.at(float(p.at)), up.at(y)) for p, y in zip(points, ys, strict=True)]
                    for ys in (lows, highs))
    x, y = across.at(float(epsilon)), up.at(max(claim, LOWEST))
    below = any(p.at >= epsilon and p.upper > delta for p in points)
    above = [(across.at(x), up.at(y)) for x, y in _between([float(p.at) for p in points], highs)]
    shaded = svg.band([*above, (svg.RIGHT, above[-1][1])], [(above[0][0], svg.TOP), (svg.RIGHT, svg.TOP)], "holds")
    gap = "" if least is None else svg.rule(x, y, across.at(float(least)), y, "claimed whole")
    words = svg.words(svg.RIGHT - 6, svg.TOP + 16, "every claim here is proved", "end", "name")
    content = (shaded + svg.frame(across, up, "ε", "δ") + words + svg.band(lower, upper) + svg.line(lower, "curve")
               + svg.line(upper, "curve") + gap + svg.dot(x, y, "dot claim")
               + _tag(x, y, ("claim", claimed), below))
    return svg.picture("delta", "δ over ε", f"The proved curve of delta over epsilon falls from left to right; above "
                       f"it every claim is proved. The claim {claimed} is a point, with a line to the curve.", content)


def _between(epsilons: Sequence[float], highs: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Upper ends (log10) at the points and between them: delta is convex in e^epsilon, so chords are above it."""
    yield epsilons[0], highs[0]
    for at, after, high, low in zip(epsilons, epsilons[1:], highs, highs[1:], strict=False):
        for part in (0.25, 0.5, 0.75, 1.0):
            step = after - at
            share = math.exp((part - 1) * step) * math.expm1(-part * step) / math.expm1(-step)
            fall = (1 - share) + share * 10 ** (low - high)
            yield at + part * step, high + math.log10(fall) if part < 1 and fall > 0 else low


def _tag(x: float, y: float, lines: Sequence[str], below: bool) -> str:
    """Words beside a point: on the side away from a falling curve that passes above it or below it."""
    width = 7.2 * max(map(len, lines))
    if below and x - 10 - width > svg.LEFT:
        place, anchor, first = x - 10, "end", y + 6
    else:
        place, anchor, first = min(x + 10, svg.RIGHT - width), "start", y + 16 if below else y - 20
    first = min(max(first, svg.TOP + 30), svg.BOTTOM - 8 - 15 * (len(lines) - 1))
    return "".join(svg.words(place, first + 15 * i, line, anchor, "tag halo") for i, line in enumerate(lines))


def tradeoff_plot(points: Sequence[Point]) -> str:
    """False negative over false positive rate: no attack reaches below the curve."""
    across = svg.linear(0, 1, svg.LEFT, svg.RIGHT)
    up = svg.linear(0, 1, svg.BOTTOM, svg.TOP)
    lower, upper = ([(across.at(float(p.at)), up.at(float(text)))
                     for p, text in zip(points, texts, strict=True)] for texts in (
        [decimal_down(p.lower, 6) for p in points], [decimal_up(p.upper, 6) for p in points]))
    corner = [(across.at(0), up.at(0)), (across.at(1), up.at(0))]
    content = (svg.frame(across, up, "false positive rate", "false negative rate")
               + svg.rule(across.at(0), up.at(1), across.at(1), up.at(0), "guess")
               + svg.band(lower, corner, "closed") + svg.band(lower, upper)
               + svg.line(lower, "curve") + svg.line(upper, "curve")
               + svg.words(across.at(0.58), up.at(0.56), "guessing", "start", "tag halo"))
    return svg.picture("tradeoff", "Trade-off curve", "The smallest false negative rate of an attack at each false "
                       "positive rate, between its proved ends; guessing is the diagonal.", content)


def steps_plot(points: Sequence[Point], claimed: Fraction, text: str) -> str:
    """epsilon over steps, with the claimed epsilon as a line."""
    finite = [p for p in points if not p.upper.is_infinite]
    across = svg.linear(0, float(points[-1].at), svg.LEFT, svg.RIGHT, 4)
    ends = [(p, float(decimal_down(p.lower, 8)), float(decimal_up(p.upper, 8))) for p in finite]
    up = svg.linear(0, 1.08 * max(float(claimed), *(high for _, _, high in ends)), svg.BOTTOM, svg.TOP)
    marks = "".join(svg.rule(across.at(float(p.at)), up.at(low), across.at(float(p.at)), up.at(high), "bar")
                    + svg.dot(across.at(float(p.at)), up.at((low + high) / 2)) for p, low, high in ends)
    y = up.at(float(claimed))
    origin = [(across.at(0), up.at(0))]
    lower = origin + [(across.at(float(p.at)), up.at(low)) for p, low, _ in ends]
    upper = origin + [(across.at(float(p.at)), up.at(high)) for p, _, high in ends]
    content = (svg.frame(across, up, "steps", "ε") + svg.band(lower, upper) + svg.line(upper, "curve")
               + svg.rule(across.start, y, across.end, y, "claimed") + marks
               + svg.words(across.start + 6, y - 6, text, "start", "tag halo"))
    return svg.picture("steps", "ε over steps", "Epsilon at the claimed delta after a growing number of steps, each "
                       "between proved ends; a line marks the claim.", content)


def bars_plot(sizes: Mapping[str, str], value: str) -> str:
    """Each source of error as a bar on a scale of decades that ends at the value itself."""
    names = [name for name, size in sizes.items() if size not in ("0", "inf")]
    places = [svg.log10_of(sizes[name]) for name in names]
    height, top = 30 * (len(names) + 1) + 62, 6
    high = max([*places, *([svg.log10_of(value)] if value != "0" else [])])
    across = svg.decades(min(places) - 2, high, 120, svg.RIGHT)
    rows = [("δ itself", svg.log10_of(value), "bar whole")] if value != "0" else []
    rows += [(name.replace("_", " "), place, "bar") for name, place in zip(names, places, strict=True)]
    bottom = top + 30 * len(rows)
    parts = [svg.rule(across.at(x), top, across.at(x), bottom) + svg.words(across.at(x), bottom + 16, label, "middle")
             for x, label in across.ticks]
    for i, (name, place, css) in enumerate(rows):
        y = top + 30 * i + 7
        parts.append(f'<rect class="{css}" x="{across.start:.1f}" y="{y:.1f}" height="16" '
                     f'width="{across.at(place) - across.start:.1f}"/>'
                     + svg.words(across.start - 6, y + 12, name, "end"))
    parts.append(svg.words((across.start + across.end) / 2, bottom + 36, "at most, on δ", "middle", "name"))
    return svg.picture("errors", "Error budget", "How much each source of error can move delta, on a scale of decades: "
                       + ", ".join(f"{name.replace('_', ' ')} {sizes[name]}" for name in names) + ".",
                       "".join(parts), min(height, bottom + 48))


def intervals_plot(rows: Sequence[tuple[str, str, str, bool]], unit: str) -> str:
    """Every method's interval (or estimate, lower = upper and not proved) in units of `unit`, an upper end of delta."""
    base = svg.log10_of(unit)
    ends = [(name, _in_units(low, base), _in_units(high, base), proved) for name, low, high, proved in rows]
    top, bottom = 4, 4 + 26 * len(rows)
    most = min(max([2.0, *(high * 1.05 for _, _, high, _ in ends)]), 6.0)
    across = svg.linear(0, most, 138, svg.RIGHT - 12, 4)
    parts = [svg.rule(across.at(x), top, across.at(x), bottom) + svg.words(across.at(x), bottom + 16, label, "middle")
             for x, label in across.ticks]
    for i, (name, low, high, proved) in enumerate(ends):
        y = top + 26 * i + 13
        parts.append(svg.words(across.start - 6, y + 4, name, "end"))
        if not proved:
            parts.append(svg.dot(across.at(low), y, "dot open"))
            continue
        parts.append(svg.rule(across.at(low), y, max(across.at(high), across.at(low) + 3), y, "interval"))
        if high > most:
            parts.append(f'<path class="arrow" d="M{across.end:.1f} {y - 6:.1f} l9 6 l-9 6 z"/>')
    parts.append(svg.words((across.start + across.end) / 2, bottom + 36, f"δ, in units of {unit}", "middle", "name"))
    return svg.picture("methods", "Every method's interval", "Intervals of delta at the claimed epsilon: "
                       + "; ".join(f"{name} {low} to {high}" if proved else f"{name} about {low}"
                                   for name, low, high, proved in rows) + ".", "".join(parts), bottom + 48)


def _in_units(text: str, base: float) -> float:
    """10^(log10 of the decimal - base), 0 for what is not positive, at most 1000."""
    if text == "inf":
        return 1000.0
    return 0.0 if text.startswith("-") or text == "0" else min(10 ** min(svg.log10_of(text) - base, 3.0), 1000.0)
