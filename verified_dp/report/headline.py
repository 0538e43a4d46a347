"""What a page says in large type: claimed, proved, and the gap between the two, with few digits."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from verified_dp.report.facts import Judged, rounded

DIGITS = 4
"""Significant digits in large type; more where these would not tell proved from claimed."""
_MOST = 40
_UP, _DOWN = (Context(prec=60, rounding=way, Emin=-10**9, Emax=10**9) for way in (ROUND_CEILING, ROUND_FLOOR))


@dataclass(frozen=True)
class Headline:
    """Claimed and proved epsilon at the claimed delta, rounded to the side on which the verdict stays true.

    label: which side that is. gap: between the two, "" where it is not known. ends: the smaller and the larger of the
    two, None where one of them is infinite or not known. share: the signed gap in percent of the claim, rounded towards
    0, "" where there is none.
    """

    label: str
    shown: str
    gap_label: str = ""
    gap: str = ""
    ends: tuple[Decimal, Decimal] | None = None
    share: str = ""


def headline(judged: Judged) -> Headline:
    """The numbers of the first screen."""
    return _VERDICTS[judged.certificate["verdict"]](judged, *_near(judged.claim.epsilon))


def _refuted(judged: Judged, low: Decimal, high: Decimal) -> Headline:
    true = Decimal(_epsilon(judged, "lower"))
    if true <= high:
        return Headline("true ε, more than", judged.claim.epsilon_text)
    if true.is_infinite():
        return Headline("true ε", "∞", "too low by", "∞")
    gap = _DOWN.subtract(true, high)
    return Headline("true ε, rounded down", _apart(true, high, up=False), "too low by at least", _text(gap, up=False),
                    (high, true), _share(gap, judged.claim.epsilon, "+"))


def _proved(judged: Judged, low: Decimal, high: Decimal) -> Headline:
    proved = Decimal(_epsilon(judged, "upper"))
    if proved > low:
        return Headline("proved ε", judged.claim.epsilon_text)
    gap = _DOWN.subtract(low, proved)
    return Headline(_from_above(judged), _apart(proved, low, up=True), "slack", _text(gap, up=False), (proved, low),
                    _share(gap, judged.claim.epsilon, "-"))


def _undecided(judged: Judged, low: Decimal, high: Decimal) -> Headline:
    proved = Decimal(_epsilon(judged, "upper"))
    if proved.is_infinite():
        return Headline("proved ε", "none")
    gap, shown = _UP.subtract(proved, low), _text(proved, up=True)
    if gap <= 0:
        return Headline(_from_above(judged), shown)
    return Headline(_from_above(judged), shown, "above the claim by at most", _text(gap, up=True), (low, proved))


_VERDICTS = {"refuted": _refuted, "proved": _proved, "undecided": _undecided}


def _epsilon(judged: Judged, side: str) -> str:
    return str(judged.certificate["result"]["epsilon"][side])


def _from_above(judged: Judged) -> str:
    return "true ε, rounded up" if judged.tight else "proved ε, rounded up"


def _near(number: Fraction) -> tuple[Decimal, Decimal]:
    """Decimals of sixty digits on both sides of a fraction, equal where it is one."""
    low, high = (way.divide(Decimal(number.numerator), Decimal(number.denominator)) for way in (_DOWN, _UP))
    return low, high


def _apart(number: Decimal, claimed: Decimal, *, up: bool) -> str:
    """The number with few digits, rounded outward, but with as many as leave it on its side of the claim."""
    texts = (rounded(str(number), digits, up=up) for digits in range(DIGITS, _MOST))
    return next((text for text in texts if (Decimal(text) <= claimed if up else Decimal(text) > claimed)),
                rounded(str(number), _MOST, up=up))


def _text(number: Decimal, *, up: bool) -> str:
    return rounded(str(number), DIGITS, up=up)


def _share(gap: Decimal, claimed: Fraction, sign: str) -> str:
    """The gap in percent of the claim, three digits rounded towards 0."""
    if not claimed or not gap:
        return ""
    percent = _DOWN.divide(_DOWN.multiply(gap, 100 * claimed.denominator), Decimal(claimed.numerator))
    return f"{sign}{rounded(str(percent), 3, up=False)} %"


def factor_words(judged: Judged) -> str:
    """How delta at the claimed epsilon lies to the claimed one, rounded to the safe side."""
    ends, claimed = judged.certificate["result"]["delta"], judged.claim.delta
    low, high = _near(claimed)
    least, most = Decimal(ends["lower"]), Decimal(ends["upper"])
    if judged.certificate["verdict"] == "refuted":
        if not claimed or least <= high:
            return ""
        return f"{_text(_DOWN.divide(least, high), up=False)} times the claimed δ"
    if not most or most > low or judged.certificate["verdict"] == "undecided":
        return ""
    return f"{_text(_DOWN.divide(low, most), up=False)} times below the claimed δ"
