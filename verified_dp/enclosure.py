"""Proved intervals (`Enclosure`) with outward rounded decimals, and `Estimate`, which proves nothing.

An enclosure holds the number asked for; an estimate never stands in its place.
"""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from html import escape
from itertools import takewhile

from flint import ctx

from verified_dp.core.kernel.dyadic import Decimal, Dyadic, decimal_down, decimal_up, outward_decimal
from verified_dp.core.kernel.errors import InconsistentEnclosures, InvalidInput, Undecided
from verified_dp.core.kernel.evaluation import Evaluation
from verified_dp.core.kernel.exact import Number, exact
from verified_dp.core.kernel.locks import alone
from verified_dp.ends import ReadableDyadic, ReadableEnd, ball_of, readable

_QUANTITIES = ("delta", "epsilon", "renyi", "gdp", "beta", "tpr", "advantage", "posterior", "bayes-factor")
_FORMATTED = 60
"""Significant digits of the number that is then formatted."""
_ORDERS = ("remove", "add", "both", "symmetric")


@dataclass(frozen=True, repr=False)
class Enclosure:
    """A proof that lower <= quantity <= upper, and where it comes from.

    Args:
        lower, upper: exact ends, lower <= upper (InvalidInput otherwise), which may be infinite; a Ratio, a Fraction
            that is no dyadic number, where it is known to be the number itself.
        budget: an absolute upper bound, on delta, of each source of error (quadrature, aliasing, ...).
        quantity: "delta", "epsilon", "renyi" (the divergence of one order), or what `TradeOff` derives from delta.
        method, methods: the method of the narrowest enclosure, and all that took part.
        order: "remove", "add", "both" (equal, or not told apart) or "symmetric".
        relation, convention: the neighbours, and in words what the noise is relative to.
        digits: significant digits asked for. seconds: time spent.
        tight: whether data sets of the relation realise the pairs; else the lower end holds for the pairs alone.
        proven: whether the pairs dominate the relation; else nothing is proved of the mechanism.
        certifiable: whether a certificate can hold what proves it; not so of a paper's method.

    >>> Enclosure(readable(Dyadic(4441, -12)), readable(Dyadic(4442, -12)), quantity="epsilon", method="contour",
    ...           order="both", relation="add-or-remove", digits=3)
    Enclosure(epsilon = 1.084[2, 5], certified, contour, add-or-remove)
    """

    lower: ReadableEnd
    upper: ReadableEnd
    budget: Mapping[str, Dyadic] = field(default_factory=dict, kw_only=True, hash=False)
    quantity: str = field(kw_only=True)
    method: str = field(kw_only=True)
    methods: tuple[str, ...] = field(default=(), kw_only=True)
    order: str = field(kw_only=True)
    relation: str = field(kw_only=True)
    convention: str = field(default="", kw_only=True)
    digits: int = field(default=12, kw_only=True)
    seconds: float = field(default=0.0, kw_only=True, compare=False)
    tight: bool = field(default=True, kw_only=True)
    proven: bool = field(default=True, kw_only=True)
    certifiable: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if self.upper < self.lower:
            raise InvalidInput("lower", str(self.lower), f"at most upper ({self.upper})")
        for key, value, known in (("quantity", self.quantity, _QUANTITIES), ("order", self.order, _ORDERS)):
            if value not in known:
                raise InvalidInput(key, value, "one of " + ", ".join(known))
        for key in ("lower", "upper"):
            object.__setattr__(self, key, readable(getattr(self, key)))
        object.__setattr__(self, "budget", {name: readable(size) for name, size in self.budget.items()})
        object.__setattr__(self, "methods", tuple(self.methods) or (self.method,))

    def beside(self, ends: tuple[ReadableEnd, ReadableEnd]) -> Enclosure:
        """The same of another number, between ends that are in order."""
        found = object.__new__(type(self))
        vars(found).update({name: vars(self)[name] for name in self.__dataclass_fields__},
                           lower=ends[0], upper=ends[1])
        return found

    def __str__(self) -> str:
        return self.notation()

    def notation(self, most: int = 60) -> str:
        """The certain digits, then in brackets how each end goes on: "0.0496[1, 3]"; an exact number alone: "0.5".

        Both ends, "[0.9999, 1.001]", where no digit is certain. most: significant digits, rounded outward to them.
        """
        known = sum(c.isdigit() for c in self.certain_digits.partition("e")[0].lstrip("-0."))
        wanted = self.digits if not known and self.status == "certified" else known + 1
        significant = min(max(wanted, 4), most)
        low, high = decimal_down(self.lower, significant), decimal_up(self.upper, significant)
        if low == high:
            return without_zeros(low)
        cut = len(_common(low, high))
        (start, e, exponent), end = low.partition("e"), high.partition("e")[0]
        return f"{low[:cut]}[{start[cut:]}, {end[cut:]}]{e}{exponent}" if cut else f"[{low}, {high}]"

    def __repr__(self) -> str:
        shown = f"{self.quantity} {'=' if self.certain_digits else 'in'} {self.notation()}"
        how = f"{self.standing}, {self.method}" if self.certifiable or not self.proven else self.standing
        return f"Enclosure({shown}, {how}, {self.relation})"

    def _repr_html_(self) -> str:
        return html_table({
            self.quantity: self.notation(), "at least": self.lower_decimal, "at most": self.upper_decimal,
            "status": self.standing, "method": ", ".join(self.methods), "relation": self.relation})

    @property
    def lower_float(self) -> float:
        """The largest double <= lower, -inf where there is none."""
        near = float(self.lower)
        return near if near <= self.lower else math.nextafter(near, -math.inf)

    @property
    def upper_float(self) -> float:
        """The smallest double >= upper, inf where there is none: as safe to state as upper itself."""
        near = float(self.upper)
        return near if near >= self.upper else math.nextafter(near, math.inf)

    @property
    @alone
    def relative_width(self) -> Dyadic | None:
        """An upper bound of (upper - lower) / (size of the end next to 0); None if 0 or inf is within."""
        if self.lower.sign * self.upper.sign <= 0 or self.upper.is_infinite:
            return None
        with ctx.workprec(64):
            low, high = ball_of(self.lower), ball_of(self.upper)
            width = ((high - low) / (low if self.lower.sign > 0 else -high)).upper()
        mantissa, exponent = width.man_exp()
        return ReadableDyadic(int(mantissa), int(exponent))

    @property
    def status(self) -> str:
        """certified: the ends are equal, or their decimals within 10^-digits relatively; else wide.

        estimate: the pairs are not proven to dominate, so the ends are bounds for the pairs alone.
        """
        if not self.proven:
            return "estimate"
        return "certified" if self.lower == self.upper or _narrow(*self._printed, self.digits) else "wide"

    @property
    def standing(self) -> str:
        """The status in words: "certified" is what a certificate can hold, "enclosed by METHODS" proved without one."""
        if self.certifiable or not self.proven:
            return self.status
        return "wide, " * (self.status == "wide") + f"enclosed by {', '.join(self.methods)}"

    @property
    def lower_decimal(self) -> str:
        """A decimal <= lower with at least digits + 4 significant digits."""
        return self._printed[0].text

    @property
    def upper_decimal(self) -> str:
        """A decimal >= upper with at least digits + 4 significant digits."""
        return self._printed[1].text

    @cached_property
    def _printed(self) -> tuple[Decimal, Decimal]:
        """Both ends with the fewest digits that keep the asked width, or with digits + 4 if none does."""
        pairs = (self._rounded(self.digits + extra) for extra in (4, 6, 10, 20))
        return next((pair for pair in pairs if _narrow(*pair, self.digits)), None) or self._rounded(self.digits + 4)

    def _rounded(self, significant: int) -> tuple[Decimal, Decimal]:
        low = outward_decimal(self.lower, significant, up=False)
        return low, outward_decimal(self.upper, significant, up=True)

    @property
    def certain_digits(self) -> str:
        """The digits with which both printed ends begin ("" if none), so the number does too."""
        common = _common(self.lower_decimal, self.upper_decimal)
        _, e, exponent = self.lower_decimal.partition("e")
        return f"{common.rstrip('.')}{e}{exponent}" if common else ""

    def __float__(self) -> float:
        """The upper end rounded up: as safe to state as the enclosure."""
        return self.upper_float

    def __format__(self, spec: str) -> str:
        """The upper end rounded up, as a float is formatted (types e f g % and their precision); else as text.

        >>> found = Enclosure(Dyadic(4441, -12), Dyadic(4442, -12), quantity="epsilon", method="contour", order="both",
        ...                   relation="add-or-remove", digits=3)
        >>> f"{found:.2f} {found:.4e}", float(found) == 4442 / 4096, found < "1.085", found > 1
        ('1.09 1.0845e+00', True, True, True)
        """
        if not spec or spec[-1] not in "eEfFgG%":
            return format(str(self), spec)
        if self.upper.is_infinite:
            return format(math.inf, spec)
        with decimal.localcontext(decimal.Context(rounding=decimal.ROUND_CEILING, Emin=decimal.MIN_EMIN,
                                                  Emax=decimal.MAX_EMAX)):
            text = format(self.upper.to_decimal(_FORMATTED, decimal.ROUND_CEILING), spec)
        return re.sub(r"([eE][-+])(\d)$", r"\g<1>0\2", text)

    def __lt__(self, other: Enclosure | Number) -> bool:
        return self._proved("<", other, equal=False)

    def __le__(self, other: Enclosure | Number) -> bool:
        return self._proved("<=", other, equal=True)

    def __gt__(self, other: Enclosure | Number) -> bool:
        return not self._proved(">", other, equal=True)

    def __ge__(self, other: Enclosure | Number) -> bool:
        return not self._proved(">=", other, equal=False)

    def _proved(self, sign: str, other: Enclosure | Number, *, equal: bool) -> bool:
        """Whether the number is below another (or equal), where that is proved; Undecided where it is not.

        An end says something of the number only where the pairs dominate, the lower one where they are attained too.
        """
        low, high = self._ends()
        if isinstance(other, Enclosure):
            least, most = other._ends()
        else:
            number = Dyadic.infinity() if other == math.inf else exact(other)
            least = most = number
        if high is not None and least is not None and (high <= least if equal else high < least):
            return True
        if low is not None and most is not None and (low > most if equal else low >= most):
            return False
        raise Undecided(f"{self.quantity} {sign} {other} is neither proved nor refuted by {self!r}")

    def _ends(self) -> tuple[Fraction | None, Fraction | None]:
        """The ends that are proved of the number itself."""
        known = self.tight or "attack" in self.methods
        return self.lower if known and self.proven else None, self.upper if self.proven else None

    def contains(self, number: Number) -> bool:
        """Whether lower <= number <= upper, for a Dyadic or anything that `exact` reads."""
        value = number if isinstance(number, Dyadic) else exact(number)
        return self.lower <= value and self.upper >= value

    def overlaps(self, other: Enclosure) -> bool:
        """Whether some number lies in both."""
        return self.lower <= other.upper and other.lower <= self.upper

    def intersect(self, other: Enclosure) -> Enclosure:
        """What two enclosures of the same number prove together; method and budget are the narrower one's.

        Raises InconsistentEnclosures if no number lies in both.
        """
        if self.quantity != other.quantity:
            raise InvalidInput("quantity", other.quantity, f"{self.quantity} in both enclosures")
        if not self.overlaps(other):
            raise InconsistentEnclosures(f"{self.quantity} is in {_traced(self)} and in {_traced(other)}")
        narrow = min(self, other, key=_width_order)
        return replace(
            narrow, lower=max(self.lower, other.lower), upper=min(self.upper, other.upper),
            methods=tuple(dict.fromkeys(self.methods + other.methods)), seconds=self.seconds + other.seconds,
            tight=self.tight and other.tight, proven=self.proven and other.proven,
            certifiable=self.certifiable and other.certifiable)


@dataclass(frozen=True)
class Solution:
    """An enclosure, and what proves it: the evaluations, each with its witness."""

    enclosure: Enclosure
    evaluations: tuple[Evaluation[Dyadic], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """An approximation of unknown error: a decimal to read, never a number to compare or to build on.

    Args:
        value: a decimal. method: what computed it. reason: why no enclosure is given.
    """

    value: str
    method: str
    reason: str

    @property
    def _words(self) -> tuple[str, str, str]:
        return self.value, self.method, self.reason

    def __str__(self) -> str:
        return f"about {self.value} ({self.method}; an estimate, not a bound: {self.reason})"

    def __repr__(self) -> str:
        return f"Estimate(about {self.value}, {self.method})"

    def _repr_html_(self) -> str:
        return html_table({"estimate": f"about {self.value}", "method": self.method, "no bound": self.reason})

    def __hash__(self) -> int:
        return hash(self._words)

    def __eq__(self, other: object) -> bool:
        return self._words == other._words if isinstance(other, Estimate) else self._refuse()

    def _refuse(self, *_: object) -> bool:
        raise TypeError("an Estimate is no bound, no number and no truth value; read its .value")

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def html_table(rows: Mapping[str, str]) -> str:
    """Two columns, for notebooks."""
    cells = (f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in rows.items())
    return f"<table>{''.join(cells)}</table>"


def table_html(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a head, for notebooks."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"


def without_zeros(decimal: str) -> str:
    """An exact decimal without zeros at its end: "0.50" is "0.5"."""
    mantissa, e, power = decimal.partition("e")
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + e + power


def _common(low: str, high: str) -> str:
    """The digits (sign and point included) with which two decimals of equal magnitude begin, "" if none."""
    (start, _, left), (end, _, right) = low.partition("e"), high.partition("e")
    common = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(start, end, strict=False)))
    return common if low == high or (left == right and "." in common) else ""  # the points must be aligned


def _narrow(low: Decimal, high: Decimal, digits: int) -> bool:
    """Whether (high - low) / (the smaller of their sizes) <= 10^-digits, exactly."""
    if low.digits * high.digits <= 0 or abs(low.power - high.power) > 1:
        return False
    unit = min(low.power, high.power)
    start, end = low.digits * 10 ** (low.power - unit), high.digits * 10 ** (high.power - unit)
    return bool((end - start) * 10**digits <= min(abs(start), abs(end)))


def _width_order(enclosure: Enclosure) -> Dyadic:
    width = Dyadic(0) if enclosure.lower == enclosure.upper else enclosure.relative_width
    return Dyadic.infinity() if width is None else width


def _traced(enclosure: Enclosure) -> str:
    return f"[{enclosure.lower_decimal}, {enclosure.upper_decimal}] ({', '.join(enclosure.methods)})"
