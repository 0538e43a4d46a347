"""One question put to every method that applies, side by side with what is proved.

    compare(privacy_profile(spec), "delta", "1", show=print).rows
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import process_time

from flint import arb, ctx

from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.locks import alone
from verified_dp.enclosure import Enclosure
from verified_dp.ends import ball_of
from verified_dp.papers.ask import accountant
from verified_dp.papers.densities import is_smooth
from verified_dp.papers.paper import PAPER_METHODS
from verified_dp.profile import METHODS, PrivacyProfile
from verified_dp.search.deadline import is_stopped

ALL = ("auto", "closed-form", "fourier", "renyi", "saddlepoint", "berry-esseen", "edgeworth", "prv", "contour",
       "lattice", "buckets")
"""Every method in the order in which they are asked: what estimates are measured by, then the slowest last."""
QUICK = 8.0
"""Seconds of processor time that all methods share where neither methods nor digits nor a time are asked for."""
LEAST = 0.15
"""Seconds that each of them has at least."""
COARSE = 3
"""Digits of the methods whose cost grows with them, where nobody asks for any."""
_COARSE_ALWAYS = ("lattice", "fourier")
_COARSE_PARAMETERS: Mapping[str, Mapping[str, Number]] = {
    "prv": {"points": 2**12}, "buckets": {"buckets": 2**11}, "saddlepoint": {"order": 2}}
"""Of the paper methods that are slow at their own defaults; what is asked for comes first."""


@dataclass(frozen=True)
class Row:
    """One method's answer: either an enclosure, or an estimate (a decimal) with how it lies to what is proved.

    outside: whether the estimate is outside of the proved interval. error: (estimate - truth) / truth as text, which
    is "" where the truth may be 0. note: why an estimate is no bound.
    """

    method: str
    enclosure: Enclosure | None = None
    estimate: str | None = None
    outside: bool | None = None
    error: str = ""
    note: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Comparison:
    """proved: the intersection of all enclosures. refused: method -> why it does not apply. late: methods that were not
    asked, or had nothing to show in their share of the time.
    """

    quantity: str
    proved: Enclosure
    rows: tuple[Row, ...]
    refused: Mapping[str, str]
    late: tuple[str, ...] = ()


@alone
def compare(profile: PrivacyProfile, quantity: str, at: Number, methods: Sequence[str] | None = None,
            parameters: Mapping[str, Mapping[str, Number]] | None = None, digits: int | None = None,
            max_seconds: float | None = None, show: Callable[[Row], None] | None = None) -> Comparison:
    """Ask every method for delta (at = eps) or epsilon (at = delta).

    methods: None: all; where no digits are asked for either, few digits and points of those whose cost grows with them,
    who share QUICK seconds if max_seconds is not given, which is for each method, not for all. parameters: method
    -> its parameters.
    show: called with each row as soon as it is there, an estimate compared with what is proved until then; after Ctrl-C
    no further method is asked, and KeyboardInterrupt raised where nothing is proved yet.
    Raises: InconsistentEnclosures where two enclosures are disjoint; Unsupported where nothing is proved.
    """
    quick = methods is None and digits is None
    limit = QUICK if quick and max_seconds is None else math.inf
    methods, start = ALL if methods is None else methods, process_time()
    if unknown := [name for name in methods if name not in ALL]:
        raise InvalidInput("methods", unknown[0], "some of " + ", ".join(ALL))
    with_parameters = [name for name in methods if name not in METHODS]
    if unused := [name for name in parameters or () if name not in with_parameters]:
        raise InvalidInput("parameters", unused[0], "of a paper's method that is asked: "
                           + (", ".join(with_parameters) or "none is"))
    found = _Rows(show)
    refused, late = dict[str, str](), list[str]()
    ordered = sorted(dict.fromkeys(methods), key=ALL.index)
    for number, name in enumerate(ordered, 1):
        if is_stopped():
            late += ordered[number - 1:]
            break
        share = max((limit - (process_time() - start)) / (len(ordered) - number + 1), LEAST)
        given = {**(_COARSE_PARAMETERS.get(name, {}) if quick else {}), **(parameters or {}).get(name, {})}
        if profile.progress is not None:
            profile.progress(f"{name}, method {number} of {len(methods)}")
        try:
            rows = _ask(profile, quantity, at, name, given, _coarse(profile, name) if quick else digits,
                        share if share < math.inf else max_seconds)
        except Unsupported as error:
            refused[name] = str(error)
            continue
        if all(map(_is_empty, rows)):
            late.append(name)
        else:
            found.add(rows)
    proved = found.proved
    if proved is None and is_stopped():
        raise KeyboardInterrupt
    if proved is None:
        raise Unsupported("no method that applies here proves an interval: ask one of the estimates by its name")
    return Comparison(quantity, proved, tuple(_judged(row, proved) for row in found.rows), refused, tuple(late))


def _is_empty(row: Row) -> bool:
    """Whether a row says nothing: no estimate, and no more than that delta is a probability, epsilon not negative."""
    found = row.enclosure
    return found is not None and found.lower <= 0 and (
        found.upper >= 1 if found.quantity == "delta" else found.upper.is_infinite)


def _coarse(profile: PrivacyProfile, name: str) -> int | None:
    """Digits that cost little: the contour's are cheap where no loss has jumps."""
    slow = name in _COARSE_ALWAYS or (name == "contour" and not all(is_smooth(loss) for loss in profile.losses))
    return COARSE if slow else None


class _Rows:
    """Rows as they come; proved: the intersection of their enclosures, None where there is none yet."""

    def __init__(self, show: Callable[[Row], None] | None) -> None:
        self.rows: list[Row] = []
        self.proved: Enclosure | None = None
        self._show, self._shown = show, 0

    def add(self, rows: Sequence[Row]) -> None:
        """Keep them, and show what can be judged. Raises InconsistentEnclosures."""
        self.rows += rows
        for enclosure in (row.enclosure for row in rows if row.enclosure is not None):
            self.proved = enclosure if self.proved is None else self.proved.intersect(enclosure)
        if self.proved is None or self._show is None:
            return
        for row in self.rows[self._shown:]:
            self._show(_judged(row, self.proved))
        self._shown = len(self.rows)


def _ask(profile: PrivacyProfile, quantity: str, at: Number, name: str, parameters: dict[str, Number],
         digits: int | None, max_seconds: float | None) -> list[Row]:
    """The rows of one method: its enclosure, then each of its estimates."""
    if name not in PAPER_METHODS:
        solve = profile.delta if quantity == "delta" else profile.epsilon
        enclosure = solve(at, digits, name, max_seconds)
        return [Row(name, enclosure, seconds=enclosure.seconds)]
    asked = accountant(profile, name, **parameters)
    result = (asked.delta if quantity == "delta" else asked.epsilon)(at, digits, max_seconds)
    rows = [] if result.enclosure is None else [
        Row(name, result.enclosure, parameters=result.parameters, seconds=result.seconds)]
    named = dict(result.estimates)
    if result.estimate is not None and result.estimate.value not in named.values():
        named = {"": result.estimate.value, **named}
    note = result.estimate.reason if result.estimate is not None else ""
    return rows + [Row(f"{name} {label}".strip(), estimate=value, note=note, parameters=result.parameters,
                       seconds=result.seconds) for label, value in named.items()]


def _judged(row: Row, proved: Enclosure) -> Row:
    """The row with its estimate compared with what is proved."""
    if row.estimate is None:
        return row
    with ctx.workprec(128):
        value = arb(row.estimate).mid()  # of any exponent, where a Fraction would have too many digits
        low, high = ball_of(proved.lower), ball_of(proved.upper)
        error = _relative(value, low, high) if low > 0 and high.is_finite() else ""
        outside = not low <= value <= high
    return replace(row, outside=outside, error=error)


def _relative(value: arb, low: arb, high: arb) -> str:
    """(value - truth) / truth to two digits, or how small it is at most where its sign is not known."""
    one, other = value / high - 1, value / low - 1
    if one > 0 or other < 0:
        return f"{float(((one + other) / 2).mid()):+.2g}"
    return f"below {float(abs(one).max(abs(other)).upper()):.1g}"
