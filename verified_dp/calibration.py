"""How much noise, how many steps: the last value of one parameter that is proved to meet (epsilon, delta).

    calibrate(load_spec("claim.toml"), solve="noise_multiplier", epsilon=3, delta="1e-5")

The answer has so many significant digits; the next such value in the wrong direction is proved not to meet the target.
Where a stated time is over before that, the values proved so far on either side are the answer, and its status is wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composition import Claim, Composition, Sampled, Spec
from verified_dp.core.kernel.ends import End, end_of
from verified_dp.core.kernel.errors import InvalidInput, Undecided, Unsupported
from verified_dp.core.kernel.exact import MAX_COUNT, MAX_DIGITS, Number
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.ends import readable
from verified_dp.profile import privacy_profile
from verified_dp.questions.curve import log10_ends
from verified_dp.search.deadline import Budget, OutOfTime, ending_at, is_stopped

FEW = 5
"""Digits of the deltas that steer the search."""
MOST_DIGITS = 30
FARTHEST = 400
"""Values beyond 10^(+-FARTHEST) are not tried."""
SEARCH_SHARE, VALUE_SHARE = 0.7, 0.25
"""Of a stated time what the search may take, the rest being for epsilon at its ends; of what is left, one value."""


@dataclass(frozen=True)
class Parameter:
    """A number of a specification that can be solved for. owner: the types whose field it is; None of any."""

    field: str
    more_is_private: bool
    owner: type | Any = object
    largest: Fraction | None = None


PARAMETERS = {
    "noise_multiplier": Parameter("noise_multiplier", True),
    "sigma": Parameter("sigma", True),
    "scale": Parameter("scale", True),
    "sampling_probability": Parameter("probability", False, Sampled, Fraction(1)),
    "count": Parameter("count", False, None, Fraction(MAX_COUNT)),
}
"""What `solve` may name."""


@dataclass(frozen=True)
class Calibration:
    """The value, proved to meet the target, and its neighbour, proved not to.

    at_value, at_neighbour: epsilon at the target's delta, so at_value.upper <= epsilon < at_neighbour.lower.
    status: "wide" where the time was over first: the best value proved to meet the target until then, the nearest one
    proved to miss it (None where there is none), and epsilon <= at_neighbour.lower.
    """

    solve: str
    value: Fraction
    neighbour: Fraction | None
    target: Claim
    at_value: Enclosure
    at_neighbour: Enclosure | None
    met: Spec
    missed: Spec | None
    status: str = "certified"

    def __repr__(self) -> str:
        other = "" if self.neighbour is None else f"; {plain(self.neighbour)}: epsilon = {self.at_neighbour}"
        return f"Calibration({self.solve} = {plain(self.value)}: epsilon = {self.at_value}{other}, {self.status})"


def calibrate(spec: Spec, *, solve: str, epsilon: Number, delta: Number, digits: int = 4,
              progress: Callable[[str], None] | None = None, max_seconds: float | None = None) -> Calibration:
    """The least (of a count or sampling probability, the largest) value with `digits` digits proved to meet a target.

    The search starts at the value that the specification states. max_seconds: past it, the best value so far.
    Raises: InvalidInput where exactly one mechanism must have the parameter, or every value or none meets the target;
        Undecided where no 1000 digits tell, or no value is proved to meet it in time; Unsupported.
    """
    if solve not in PARAMETERS:
        raise InvalidInput("solve", solve, "one of " + ", ".join(PARAMETERS))
    target = Claim("", "", exact.non_negative(epsilon, "epsilon"), exact.open_unit(delta, "delta"), str(epsilon),
                   str(delta))
    budget, grid = Budget(max_seconds), _Grid(_digits(digits), solve == "count")
    search = _Search(spec, PARAMETERS[solve], solve, target, grid, progress, max_seconds)
    with ending_at(budget.end, budget.last):
        met, missed = search.ends()
        return search.result(met, missed, budget)


def _digits(digits: int) -> int:
    if exact.digits(digits) > MOST_DIGITS:
        raise InvalidInput("digits", digits, f"an integer from 1 to {MOST_DIGITS}")
    return digits


def plain(value: Fraction) -> str:
    """The short exact decimal of a value of a grid."""
    context = Context(prec=4 * FARTHEST)
    number = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    return format(number, "f" if number.adjusted() >= -4 else "e")


@dataclass(frozen=True)
class _Grid:
    """The numbers with so many significant digits, in order, numbered by integers; whole: integers among them alone."""

    digits: int
    whole: bool

    @property
    def _decade(self) -> int:
        return 9 * 10 ** (self.digits - 1)

    def value(self, place: int) -> Fraction:
        """The number at a place: 1 is at 0; of integers, 1, 2, ... are at theirs as long as they have few digits."""
        lead = 10 ** (self.digits - 1)
        if self.whole and place < lead:
            return Fraction(place)
        power, rest = divmod(place - lead if self.whole else place, self._decade)
        return (lead + rest) * Fraction(10) ** (power if self.whole else power - self.digits + 1)

    def place(self, logarithm: float) -> int:
        """About where 10^logarithm is."""
        power, lead = math.floor(logarithm), 10 ** (self.digits - 1)
        if self.whole and power < self.digits - 1:
            return max(1, round(10**logarithm))
        rest = round((10 ** (logarithm - power) - 1) * lead)
        return (power - self.digits + 1) * self._decade + rest + lead if self.whole else power * self._decade + rest

    def log(self, place: int) -> float:
        """log10 of the number at a place."""
        value = self.value(place)
        return math.log10(value.numerator) - math.log10(value.denominator)


def _level(delta: End | Fraction) -> float:
    """log10(-log10 delta): next to linear in the logarithm of the noise, or of the number of steps."""
    return math.log10(max(-log10_ends((delta, delta))[1], 1e-12))


class _Search:
    """Places of a grid, whether they meet the target, and how far the level of delta is from the target's."""

    def __init__(self, spec: Spec, parameter: Parameter, name: str, target: Claim, grid: _Grid,
                 progress: Callable[[str], None] | None, seconds: float | None) -> None:
        self.spec, self.parameter, self.name, self.target, self.grid = spec, parameter, name, target, grid
        self.progress, self._stated = progress, seconds is not None
        self._budget = Budget(None if seconds is None else SEARCH_SHARE * seconds)
        self._gaps, self._goal = dict[int, float](), _level(target.delta)
        self._open: set[int] = set()  # places that were neither proved to meet nor to miss the target in time

    def at(self, value: Fraction) -> Spec:
        """The specification with this value."""
        composition = with_value(self.spec.composition, self.name, value)
        return Spec(self.spec.relation, composition, replace(self.target, title=f"{self.name} = {plain(value)}"))

    @property
    def _hurried(self) -> bool:
        return self._stated or is_stopped()

    def gap(self, place: int) -> float:
        """The target's level - that of delta; its sign is proved: > 0 where the target is missed, or the place is open.

        Raises OutOfTime where the time is over, but for the first place.
        """
        if place not in self._gaps:
            if self._gaps and self._hurried and self._budget.spent:
                raise OutOfTime
            self._gaps[place] = self._compute_gap(place)
        return self._gaps[place]

    def _compute_gap(self, place: int) -> float:
        value = self.grid.value(place)
        if self.progress is not None:
            self.progress(f"{self.name} = {plain(value)}")
        profile, digits = privacy_profile(self.at(value)), FEW
        while True:
            seconds = VALUE_SHARE * self._budget.left if self._stated else None
            found = profile.delta(self.target.epsilon, digits, max_seconds=seconds)
            if found.upper <= self.target.delta or found.lower > self.target.delta:
                break
            if digits >= MAX_DIGITS or found.status == "wide":
                if not self._hurried:
                    raise Undecided(f"{self.name} = {plain(value)} is neither proved to meet the target nor to miss it")
                self._open.add(place)
                break
            digits = min(4 * digits, MAX_DIGITS)
        size = min(abs(_level(found.upper) - self._goal) + 1e-12, 1e6)
        return -size if found.upper <= self.target.delta else size

    def ends(self) -> tuple[int, int | None]:
        """Neighbouring places: one that meets the target, one that misses it; where the time is over, the nearest."""
        with suppress(OutOfTime):
            met, missed = self._neighbours()
            if missed not in self._open:
                return met, missed
        return self._nearest()

    def _nearest(self) -> tuple[int, int | None]:
        """Of the places tried the last proved to meet the target, and the last proved to miss it, if any."""
        with suppress(Unsupported):
            self._leap()
        towards = sorted(self._gaps, reverse=self.parameter.more_is_private)
        met = [place for place in towards if self._gaps[place] < 0]
        missed = [place for place in reversed(towards) if self._gaps[place] > 0 and place not in self._open]
        if not met:
            raise Undecided(f"no {self.name} is proved to meet the target in the time; more of it may find one")
        return met[-1], missed[-1] if missed else None

    def _leap(self) -> None:
        """Where nothing is proved to meet the target yet: ever further steps, each at what a cheap bound costs."""
        private = self.parameter.more_is_private
        here, step = max(self._gaps) if private else min(self._gaps), 0.3 if private else -0.3
        while all(gap > 0 for gap in self._gaps.values()) and (there := self._moved(here, step)) != here:
            self._gaps[there] = self._compute_gap(there)
            here, step = there, 2 * step

    def _neighbours(self) -> tuple[int, int]:
        met, missed = self._bracket()
        for attempt in range(1000):
            if abs(met - missed) == 1:
                break
            middle = (met + missed) // 2 if attempt % 6 == 5 else self._across(met, missed)
            met, missed = (met, middle) if self.gap(middle) > 0 else (middle, missed)
        return met, missed

    def _bracket(self) -> tuple[int, int]:
        """From the stated value, with growing steps, until the target is met on one side and missed on the other."""
        here, step = self._start(), 0.15
        wanted = self.gap(here) > 0
        direction = 1 if wanted == self.parameter.more_is_private else -1
        while True:
            there = self._moved(here, direction * step)
            if there == here and here in self._open:
                raise OutOfTime
            if there == here:
                some, even = ("meets", "misses") if wanted else ("misses", "meets")
                raise InvalidInput("epsilon", self.target.epsilon_text, f"a target that some {self.name} {some}: "
                                   f"even {plain(self.grid.value(here))} {even} it")
            if (self.gap(there) > 0) != wanted:
                return (there, here) if wanted else (here, there)
            gained = (self.gap(here) - self.gap(there)) / self.gap(here)  # of the way, in one step
            here, step = there, step * min(max(1.2 * (1 / gained - 1) if gained > 0 else 2.0, 0.5), 8.0)

    def _start(self) -> int:
        value = read_value(self.spec.composition, self.name)
        return self._inside(self.grid.place(math.log10(value.numerator) - math.log10(value.denominator)))

    def _moved(self, place: int, step: float) -> int:
        return self._inside(self.grid.place(self.grid.log(place) + step))

    def _inside(self, place: int) -> int:
        low = 1 if self.grid.whole else self.grid.place(-FARTHEST)
        largest = self.parameter.largest
        high = self.grid.place(FARTHEST if largest is None else round(math.log10(largest)))
        return min(max(place, low), high)

    def _across(self, met: int, missed: int) -> int:
        """Just beyond where the secant through the last two places crosses 0, seen from the last one."""
        before, last = list(self._gaps)[-2:]
        toward = met if self.gap(last) > 0 else missed
        share = self.gap(last) / (self.gap(last) - self.gap(before) or 1e-9)
        start = self.grid.log(last)
        root = self.grid.place(start + min(max(share, -9.0), 9.0) * (self.grid.log(before) - start))
        beyond = root + (1 if toward > last else -1)
        return min(max(beyond, min(met, missed) + 1), max(met, missed) - 1)

    def result(self, met: int, missed: int | None, budget: Budget) -> Calibration:
        """epsilon at both, with as many digits as show which side of the target it is on, if there is time."""
        below = self._epsilon(met, True, budget.left if missed is None else budget.left / 2)
        value, spec = self.grid.value(met), self.at(self.grid.value(met))
        if missed is None:
            return Calibration(self.name, value, None, self.target, below, None, spec, None, "wide")
        above, other = self._epsilon(missed, False, budget.left), self.grid.value(missed)
        sharp = abs(met - missed) == 1 and self._is_shown(below, True) and self._is_shown(above, False)
        return Calibration(self.name, value, other, self.target, below, above, spec, self.at(other),
                           "certified" if sharp else "wide")

    def _epsilon(self, place: int, met: bool, seconds: float) -> Enclosure:
        profile, budget = privacy_profile(self.at(self.grid.value(place))), Budget(seconds)
        digits = self.grid.digits + 2
        while True:
            found = profile.epsilon(self.target.delta, digits, max_seconds=budget.left if self._stated else None)
            if self._is_shown(found, met):
                return found
            if self._hurried and (budget.spent or found.status == "wide"):
                return self._on_its_side(found, met)
            if digits >= MAX_DIGITS or found.status == "wide":
                raise Undecided(f"epsilon = {found} is not told apart from the target")
            digits = min(2 * digits, MAX_DIGITS)

    def _is_shown(self, found: Enclosure, met: bool) -> bool:
        return found.upper <= self.target.epsilon if met else found.lower > self.target.epsilon

    @proved_by("T13-epsilon-of-delta")
    def _on_its_side(self, found: Enclosure, met: bool) -> Enclosure:
        """Cut at the target's epsilon: at most that where delta there is at most the target's, else at least that."""
        goal = readable(end_of(self.target.epsilon))
        return replace(found, upper=min(found.upper, goal)) if met else replace(found, lower=max(found.lower, goal))


def with_value(composition: Composition, name: str, value: Fraction) -> Composition:
    """The composition with another value of a parameter that exactly one mechanism has.

    Raises: InvalidInput where none has it, or several have.
    """
    parts = composition.parts
    owners = [i for i, (mechanism, _) in enumerate(parts) if name == "count" or _found(mechanism, name)]
    if len(owners) != 1:
        raise InvalidInput("solve", name, f"a number of exactly one mechanism ({len(owners)} have it)")
    own, (mechanism, count) = owners[0], parts[owners[0]]
    new = (mechanism, int(value)) if name == "count" else (_changed(mechanism, name, value), count)
    return Composition((*parts[:own], new, *parts[own + 1:]))


def read_value(composition: Composition, name: str) -> Fraction:
    """The value that is stated. Raises InvalidInput as `with_value`."""
    with_value(composition, name, Fraction(1))
    if name == "count":
        return Fraction(composition.parts[0][1])
    return next(values[0] for mechanism, _ in composition.parts if (values := _found(mechanism, name)))


def _own(value: object, name: str) -> bool:
    parameter = PARAMETERS[name]
    return isinstance(value, parameter.owner) and getattr(value, parameter.field, None) is not None


def _found(value: Any, name: str) -> list[Fraction]:
    """The values of a parameter in a mechanism and in what it is made of, those that are stated."""
    own = [getattr(value, PARAMETERS[name].field)] if _own(value, name) else []
    return own + [one for _, inner in _inner(value) for one in _found(inner, name)]


def _changed(value: Any, name: str, number: Fraction) -> Any:
    changed = {key: _changed(inner, name, number) for key, inner in _inner(value)}
    if _own(value, name):
        changed[PARAMETERS[name].field] = number
    return replace(value, **changed) if changed else value


def _inner(value: Any) -> list[tuple[str, Any]]:
    """The mechanisms that a mechanism is made of, one of each, by field."""
    if not is_dataclass(value) or isinstance(value, Composition):
        return []
    found = ((field.name, getattr(value, field.name)) for field in fields(value))
    return [(key, inner) for key, inner in found if is_dataclass(inner)]
