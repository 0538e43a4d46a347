"""What a page is about: a certificate, the specification in it, and its profile to ask more of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Inexact
from fractions import Fraction
from typing import Any

from verified_dp.core.kernel.certificate.document import Document, canonical, parse_json
from verified_dp.core.kernel.certificate.statement import read_claim, read_spec
from verified_dp.core.kernel.composition import Claim
from verified_dp.profile import PrivacyProfile, privacy_profile
from verified_dp.questions.statement import alone


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict. name: of the file it came from, without folder and suffix.

    noted: of a claim whose numbers are ranges, what `certify` tells of them.
    """

    name: str
    certificate: Document
    profile: PrivacyProfile
    noted: Mapping[str, Any] = field(default_factory=dict)

    @property
    def claim(self) -> Claim:
        """As published."""
        return read_claim(self.certificate["claim"])

    @property
    def title(self) -> str:
        """The claim's title, or what is claimed of what; never the name of a file, which may read as a verdict."""
        claim, parts = self.claim, self.certificate["input"]["mechanisms"]
        kinds = ", ".join(dict.fromkeys(str(one["kind"]) for one in parts))
        steps = f"{self.steps} steps of {kinds}" if self.steps > 1 else kinds
        claimed = f"({claim.epsilon_text}, {claim.delta_text})-differential privacy{alone(self.certificate)}"
        return claim.title or f"{claimed} of {steps}"

    @property
    def data(self) -> bytes:
        """The certificate as it is stored."""
        return canonical(self.certificate)

    @property
    def tight(self) -> bool:
        """Whether data sets attain the pairs, so that the numbers are the mechanism's own."""
        return all(pair.is_attained for pair in self.profile.pairs)

    @property
    def steps(self) -> int:
        """How many steps were composed."""
        return sum(count for _, count in self.profile.composition.parts)


def read_certificate(document: Document, name: str) -> Judged:
    """What a certificate states, which the caller has verified or written, and ranges beside it. Raises Unsupported."""
    noted, stated = document.get("range", {}), {key: value for key, value in document.items() if key != "range"}
    spec = read_spec(stated)
    in_order: Document = parse_json(canonical(stated))  # of keys, as in a file
    return Judged(name, in_order, privacy_profile(spec.composition, spec.relation), noted)


def rounded(text: str, significant: int, *, up: bool) -> str:
    """A decimal rounded outward to so many digits; "inf" stays.

    >>> rounded("8.063934e-8", 3, up=True), rounded("0", 3, up=True), rounded("1.99999", 3, up=False)
    ('8.07e-8', '0', '1.99')
    """
    if text == "inf":
        return text
    context = Context(prec=significant, rounding=ROUND_CEILING if up else ROUND_FLOOR, Emin=-10**9, Emax=10**9)
    return _written(context.create_decimal(Decimal(text)).normalize(context))


def _written(number: Decimal) -> str:
    """With an exponent where it is short."""
    return format(number, "f" if not number or -4 <= number.adjusted() < 12 else "e").replace("e+", "e")


def round_step(least: Fraction) -> Fraction:
    """The smallest number of two digits or fewer, such as 0.12 or 5, that is at least so large.

    >>> round_step(Fraction(1, 9)), round_step(Fraction(301, 100))
    (Fraction(3, 25), Fraction(4, 1))
    """
    unit = Fraction(1)
    while unit > least:
        unit /= 10
    while unit * 10 <= least:
        unit *= 10
    return next(unit * Fraction(n, 10) for n in (10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
                if unit * Fraction(n, 10) >= least)


def as_decimal(number: Fraction, significant: int = 6) -> str:
    """A fraction as a decimal of so many digits, with "about" where that is not exact."""
    context = Context(prec=significant, Emin=-10**9, Emax=10**9)
    value = context.divide(Decimal(number.numerator), Decimal(number.denominator)).normalize(context)
    return "about " * context.flags[Inexact] + _written(value)
