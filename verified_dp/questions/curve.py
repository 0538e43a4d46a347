"""A curve of enclosures: delta at many epsilons, or epsilon at many deltas, as table, frame or picture.

    privacy_profile(spec).curve(epsilons=["0", "1", "2"]).to_frame()
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from numbers import Rational, Real
from pathlib import Path
from typing import Any, overload

from flint import arb, ctx

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.dyadic import Dyadic, exact_ball
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.locks import alone
from verified_dp.enclosure import Enclosure, table_html
from verified_dp.reading import optional

MAX_POINTS = 10**5
PICTURES = (".svg", ".pdf", ".png")


class Curve(Sequence[Enclosure]):
    """Enclosures in the order of the points asked for.

    given: what the points are values of, "epsilon" or "delta". points: they, exact.
    """

    def __init__(self, given: str, stated: Sequence[Number], enclosures: Sequence[Enclosure],
                 points: Sequence[Fraction] | None = None) -> None:
        self.given, self._stated, self._enclosures = given, tuple(stated), tuple(enclosures)
        self.points = tuple([exact.exact(one, given) for one in stated] if points is None else points)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The points as they were written."""
        return tuple(text_of(one, value) for one, value in zip(self._stated, self.points, strict=True))

    @overload
    def __getitem__(self, index: int) -> Enclosure: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Enclosure]: ...

    def __getitem__(self, index: int | slice) -> Enclosure | Sequence[Enclosure]:
        return self._enclosures[index]

    def __len__(self) -> int:
        return len(self._enclosures)

    def __repr__(self) -> str:
        return f"Curve({len(self)} enclosures of {self.quantity})"

    def _repr_html_(self) -> str:
        return table_html(self.columns, self.rows())

    @property
    def quantity(self) -> str:
        """What is enclosed."""
        return "delta" if self.given == "epsilon" else "epsilon"

    @property
    def relation(self) -> str:
        """Which data sets are neighbours; "" of no points."""
        return self[0].relation if len(self) else ""

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """(point, lower, upper, status) as text, the ends as decimals rounded outward."""
        for text, one in zip(self.texts, self, strict=True):
            yield text, one.lower_decimal, one.upper_decimal, one.status

    @property
    def columns(self) -> tuple[str, str, str, str]:
        """The names of what `rows` gives."""
        return self.given, f"{self.quantity}_lower", f"{self.quantity}_upper", "status"

    def to_frame(self) -> Any:
        """A pandas DataFrame: `columns` as doubles rounded outward, and log10 of delta, which never underflows."""
        pandas = optional("pandas", "pandas")
        point, lower, upper, status = self.columns
        ends = [log10_ends(one) for one in self._deltas()]
        return pandas.DataFrame({
            point: [float(at) for at in self.points],
            lower: [one.lower_float for one in self], upper: [one.upper_float for one in self],
            "log10_delta_lower": [low for low, _ in ends], "log10_delta_upper": [high for _, high in ends],
            status: [one.status for one in self]})

    def _deltas(self) -> Iterator[tuple[Dyadic | Fraction, Dyadic | Fraction]]:
        """The ends of delta: enclosed, or given."""
        for at, one in zip(self.points, self, strict=True):
            yield (one.lower, one.upper) if self.quantity == "delta" else (at, at)

    def plot(self, ax: Any = None, path: str | Path | None = None, *, title: str = "",
             claim: tuple[Number, Number] | None = None) -> Any:
        """Draw delta over epsilon on a scale of decades, both ends and what lies between, on matplotlib's axes `ax`.

        path: also written there, as .svg, .pdf or .png. claim: (epsilon, delta), drawn as a point.
        Returns the axes, new ones where none are given.
        """
        if path is not None and Path(path).suffix.lower() not in PICTURES:
            raise InvalidInput("plot", str(path), "a file name that ends with " + ", ".join(PICTURES))
        ax = new_axes() if ax is None else ax
        self._draw(ax)
        if claim is not None:
            _draw_claim(ax, *claim)
        _dress(ax, title or f"\u03b4 over \u03b5, {self.relation}")
        if path is not None:
            ax.figure.savefig(path)
        return ax

    def _draw(self, axes: Any) -> None:
        ends = [log10_ends(one) for one in self._deltas()]
        low, high = [one for one, _ in ends], [one for _, one in ends]
        floor = min((y for y in low if y > -math.inf), default=-1.0) - 1
        low, high = ([max(y, floor) for y in side] for side in (low, high))
        between, line = {"color": INK, "alpha": 0.3, "lw": 0}, {"color": INK, "lw": 1.4, "label": "proved bound"}
        if self.quantity == "delta":
            at = [float(point) for point in self.points]
            axes.fill_between(at, low, high, **between)
            axes.plot(at, high, **line)
        else:
            axes.fill_betweenx(high, [one.lower_float for one in self], [one.upper_float for one in self], **between)
            axes.plot([one.upper_float for one in self], high, **line)


INK, CLAIM, SOFT, GRID = "#1d5fa8", "#a3261b", "#555b66", "#e4e6ea"
"""The colours of the report's pictures."""


def _draw_claim(axes: Any, epsilon: Number, delta: Number) -> None:
    """A claim as a point, as it was written; none where delta is 0, which is on no scale of decades."""
    value = exact.exact(delta, "delta")
    if value > 0:
        axes.plot([float(exact.exact(epsilon, "epsilon"))], [log10_ends((value, value))[1]], "o", color=CLAIM,
                  label=f"claim ({written(epsilon)}, {written(delta)})")


def _dress(axes: Any, title: str) -> None:
    """Axes as on a page of a report: named by their symbols, a grid and no frame."""
    axes.set_title(title, fontsize=11)
    axes.set_xlabel("\u03b5")
    axes.set_ylabel("\u03b4", rotation=0)
    axes.yaxis.set_major_formatter(lambda power, _: f"$10^{{{power:g}}}$" if power else "1")
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.grid(color=GRID)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.tick_params(colors=SOFT, length=0)
    axes.legend(frameon=False)


@alone
def log10_ends(ends: tuple[Dyadic | Fraction, Dyadic | Fraction]) -> tuple[float, float]:
    """log10 of both ends as doubles rounded outward, however small the ends are; -inf for 0.

    >>> log10_ends((Dyadic(1, -3322), Dyadic(1, -3321)))
    (-1000.0216455957457, -999.7206156000815)
    """
    with ctx.workprec(128):
        low, high = (_log10(end) for end in ends)
        return math.nextafter(float(low.lower()), -math.inf), math.nextafter(float(high.upper()), math.inf)


def _log10(end: Dyadic | Fraction) -> arb:
    if end == 0:
        return arb("-inf")
    if isinstance(end, Dyadic):
        return exact_ball(end).log() / arb(10).log()
    return (arb(end.numerator).log() - arb(end.denominator).log()) / arb(10).log()


def new_axes() -> Any:
    """Axes on a figure of their own, outside of pyplot's state."""
    figure = optional("matplotlib.figure", "matplotlib").Figure(figsize=(6.4, 4), layout="constrained")
    return figure.subplots()


def read_points(text: str, key: str) -> list[str]:
    """The values that "0:8:81" (from, to, how many) or "1e-5,1e-50" state, as exact text.

    >>> read_points("0:1:5", "epsilon"), read_points("1e-5, 1/3", "delta")
    (['0', '0.25', '0.5', '0.75', '1'], ['1e-5', '1/3'])
    """
    if ":" not in text:
        return [part.strip() for part in text.split(",")]
    start, *rest = text.split(":")
    if len(rest) != 2:
        raise InvalidInput(key, text, "FROM:TO:HOW_MANY, such as 0:8:81, or numbers with commas between them")
    low, high, many = exact.exact(start, key), exact.exact(rest[0], key), exact.count(rest[1], f"{key} (how many)")
    if not 2 <= many <= MAX_POINTS:
        raise InvalidInput(f"{key} (how many)", many, f"an integer from 2 to {MAX_POINTS}")
    return [written(low + (high - low) * i / (many - 1)) for i in range(many)]


def written(number: Number, key: str = "value") -> str:
    """A short decimal where that is exact, else the fraction; text as it stands."""
    return text_of(number, exact.exact(number, key))


def text_of(number: Number, value: Fraction) -> str:
    """The same, where the value was read before."""
    if isinstance(number, str) or (isinstance(number, Real) and not isinstance(number, Rational)):
        return str(number).strip()
    text = f"{float(value):.12g}" if abs(value) < 10**15 and "e" not in f"{float(value):.12g}" else ""
    return text if text and Fraction(text) == value else exact.fraction_text(value)


def middle_first(many: int) -> list[int]:
    """0, ..., many - 1 in an order in which each halves a gap: an evaluation serves both sides of its point.

    >>> middle_first(5)
    [2, 1, 4, 0, 3]
    """
    gaps, found = [(0, many)], list[int]()
    for low, high in gaps:  # grows
        if low < high:
            middle = (low + high) // 2
            found.append(middle)
            gaps += [(low, middle), (middle + 1, high)]
    return found
