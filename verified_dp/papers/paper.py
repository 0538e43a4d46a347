"""The shape of the methods that published papers describe: one curve of delta per order, rigorous where it can be.

A method is a frozen dataclass whose fields are the paper's own parameters. It is found here by its name, and its
module is loaded when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from importlib import import_module
from typing import Any, ClassVar, Protocol, get_type_hints

from verified_dp.core.families.guarantees.renyi import ONLY_MOMENTS
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.search.deadline import Budget

PAPER_METHODS = {
    "berry-esseen": "saddlepoint.method:BerryEsseenAccountant",
    "buckets": "buckets.method:BucketsAccountant",
    "edgeworth": "edgeworth.method:EdgeworthAccountant",
    "fourier": "fourier.method:FourierAccountant",
    "prv": "prv.method:PRVAccountant",
    "renyi": "renyi.method:RenyiAccountant",
    "saddlepoint": "saddlepoint.method:SaddlePointAccountant",
}
"""Name -> module of `papers` and class."""


@dataclass(frozen=True)
class PaperAnswer:
    """What a method says of delta(eps) in one order.

    bounds: rigorous, with every source of error in its budget; None where the method only estimates.
    estimate: the paper's own approximation, a decimal; None where there is none. reason: why that is no bound.
    parameters: what was used, in words. estimates: further approximations by name. slope: the estimate's derivative
    in eps, a decimal, where the paper finds epsilon(delta) by Newton's iteration.
    """

    bounds: Bounds | None = None
    estimate: str | None = None
    reason: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    estimates: Mapping[str, str] = field(default_factory=dict)
    slope: str | None = None


class Curve(Protocol):
    """delta of one order by one method, the work that does not depend on eps being done."""

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """delta(eps) at any real eps >= 0; cheap, and narrowest near the eps the curve was made for."""


class PaperMethod(Protocol):
    """A paper's method with its parameters."""

    name: ClassVar[str]

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> Curve:
        """The curve of one order, to be used near eps. Raises Unsupported where the method does not apply."""


Readers = Mapping[str, Callable[[Any, str], Any]]


class Method:
    """What methods share: parameters are read as they are stated, and what a method does not apply to is refused."""

    name: ClassVar[str]
    readers: ClassVar[Readers] = {}
    """How a parameter is read that is not None."""
    nothing: ClassVar[str] = "there is no loss"
    """Why it does not apply where nothing depends on the data."""
    by_moments: ClassVar[bool] = False
    """Whether it applies to steps that are known by their moments alone."""

    def __post_init__(self) -> None:
        for key, read in self.readers.items():
            if (value := getattr(self, key)) is not None:
                object.__setattr__(self, key, read(value, f"{self.name}.{key}"))

    def check(self, loss: ComposedLoss) -> None:
        """Raises Unsupported where the method does not apply."""
        if loss.only_moments and not self.by_moments:
            raise Unsupported(ONLY_MOMENTS)
        if not loss.laws:
            raise Unsupported(f"nothing depends on the data: {self.nothing}", "method")


def whole(low: int, high: int, multiple: int = 1) -> Callable[[Any, str], int]:
    """Reads an integer of that range, and a multiple of a number."""
    kind = {1: "an integer", 2: "an even integer"}.get(multiple, f"a multiple of {multiple}")

    def read(value: Any, key: str) -> int:
        if type(value) is not int or not low <= value <= high or value % multiple:
            raise InvalidInput(key, value, f"{kind} from {low} to {high}")
        return value

    return read


def one_of(known: Collection[str]) -> Callable[[Any, str], str]:
    """Reads one of these words."""
    def read(value: Any, key: str) -> str:
        if value not in known:
            raise InvalidInput(key, value, "one of " + ", ".join(known))
        return str(value)

    return read


def paper_method(name: str, parameters: Mapping[str, object] | None = None) -> PaperMethod:
    """The method of that name; its parameters may be given as text.

    Raises: InvalidInput naming the unknown or wrong parameter.
    """
    if name not in PAPER_METHODS:
        raise InvalidInput("method", name, "one of " + ", ".join(PAPER_METHODS))
    module, _, cls = PAPER_METHODS[name].partition(":")
    kind = getattr(import_module(f"verified_dp.papers.{module}"), cls)
    hints = get_type_hints(kind)
    known = [f.name for f in fields(kind)]
    values = {}
    for key, value in (parameters or {}).items():
        if key not in known:
            raise InvalidInput(f"{name}.{key}", value, "one of the parameters " + ", ".join(known))
        values[key] = _read(value, hints[key], f"{name}.{key}")
    method: PaperMethod = kind(**values)
    return method


_SIZES = {"delta_error": (-10_000, 0)}
_USUAL = -12, 12
"""A parameter that is not 0 lies between 10^a and 10^b in size: these go through floating point."""


def check_parameters(method: PaperMethod) -> None:
    """Raises InvalidInput for a parameter that is too large or too small for the method's search."""
    for name, value in vars(method).items():
        low, high = _SIZES.get(name, _USUAL)
        if isinstance(value, Fraction) and value and not Fraction(10) ** low <= abs(value) <= Fraction(10) ** high:
            raise InvalidInput(f"{method.name}.{name}", value, f"0, or from 1e{low} to 1e{high} in size")


def _read(value: object, hint: Any, key: str) -> object:
    """Text as the type of the parameter: a whole number, an exact rational number, a truth value or a word."""
    kinds = set(getattr(hint, "__args__", (hint,)))
    if not isinstance(value, str) or (str in kinds and Fraction not in kinds):
        return value
    if value in ("true", "false") and bool in kinds:
        return value == "true"
    if bool in kinds:
        raise InvalidInput(key, value, "true or false")
    number = exact.exact(value, key)
    if Fraction in kinds:
        return number
    if number.denominator != 1:
        raise InvalidInput(key, value, "a whole number")
    return int(number)
