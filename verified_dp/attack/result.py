"""What attacks show: statistical lower bounds, of a type of their own, and the guarantees that they are held against.

An enclosure is a proof about what was stated to be run. A `StatisticalBound` is about what was run, and wrong with a
probability of at most 1 - confidence: neither has the other's methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import Any

from flint import arb, ctx

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import ball, lower_end
from verified_dp.core.kernel.composition import Claim, Spec
from verified_dp.core.kernel.dyadic import Dyadic, decimal_down
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.shown import decimal_text
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.profile import PrivacyProfile, privacy_profile

DIGITS = 12
_POINTS, _FARTHEST = 48, Fraction(1, 10**10)
"""Of an accountant's curve: how many, and the delta of the last one."""
_BOTH = ("add-or-remove", "zero-out", "replace")


@dataclass(frozen=True)
class Guarantee:
    """P(E) <= e^eps Q(E) + delta for each of the points (eps, delta), for neighbours in both roles.

    words: what it is. claimed: the one point of a claim, if it is one.
    """

    points: tuple[tuple[Fraction, Fraction], ...]
    words: str

    @classmethod
    def of(cls, what: Guarantee | Claim | Spec | PrivacyProfile | tuple[exact.Number, exact.Number]) -> Guarantee:
        """A pair (epsilon, delta), a claim, or the accountant's curve of a specification or a profile."""
        if isinstance(what, Guarantee):
            return what
        if isinstance(what, Claim):
            return cls(((what.epsilon, what.delta),), f"({what.epsilon_text}, {what.delta_text})")
        if isinstance(what, tuple):
            epsilon = exact.non_negative(what[0], "claim.epsilon")
            delta = exact.claimed_delta(what[1], "claim.delta")
            return cls(((epsilon, delta),), f"({what[0]}, {what[1]})")
        return cls.of_profile(what if isinstance(what, PrivacyProfile) else privacy_profile(what))

    @classmethod
    def of_profile(cls, profile: PrivacyProfile) -> Guarantee:
        """Proved upper ends of an accountant's curve, from epsilon 0 to where delta is 1e-10.

        Raises: Unsupported for a relation of one order, which says nothing of the other.
        """
        if str(profile.relation) not in _BOTH:
            raise Unsupported(f"attacks test both orders of neighbours; the relation is {profile.relation}", "relation")
        if not profile.proven:
            raise Unsupported("no guarantee follows from this pair", "claim")
        last = profile.epsilon(_FARTHEST, 2).upper
        if last.is_infinite:
            raise Unsupported("the accountant knows no finite epsilon at delta = 1e-10", "claim")
        most = max(last.as_fraction(), Fraction(1, 100)) if isinstance(last, Dyadic) else Fraction(last)
        step = Fraction(-(-most.numerator * 1024 // (most.denominator * _POINTS)), 1024)
        epsilons = [step * n for n in range(_POINTS + 1)]
        curve = profile.delta(epsilons, 4)
        return cls(tuple((at, _fraction(one.upper)) for at, one in zip(epsilons, curve, strict=True)),
                   "the accountant's curve")

    @proved_by("T193-counts")
    def excludes(self, tpr: Fraction, fpr: Fraction) -> bool:
        """Whether a test cannot have a true positive rate >= tpr and a false positive rate <= fpr."""
        rates = (ball(tpr), ball(fpr)), (ball(1 - fpr), ball(1 - tpr))
        return any(bool(most - delta > factor * least) for factor, delta in self._lines() for most, least in rates)

    @proved_by("T195-one-run-tradeoff")
    def least_argument(self, x: arb) -> arb:
        """A lower bound of the y for which x <= 1 - f(y), f the trade-off curve of all points."""
        least = arb(0)
        for factor, delta in self._lines():
            least = least.max(lower_end((x - delta) / factor)).max(lower_end(1 - delta - factor * (1 - x)))
        return least

    def _lines(self) -> list[tuple[arb, arb]]:
        """e^eps and delta of each point, at this precision."""
        key = ctx.prec
        if key not in self._kept:
            self._kept[key] = [(ball(epsilon).exp(), ball(delta)) for epsilon, delta in self.points]
        return self._kept[key]

    _kept: dict[int, list[tuple[arb, arb]]] = field(default_factory=dict, init=False, compare=False, repr=False)


def _fraction(end: Any) -> Fraction:
    """An upper end of delta as a fraction, at most 1."""
    return Fraction(1) if end >= 1 else end.as_fraction() if isinstance(end, Dyadic) else Fraction(end)


@dataclass(frozen=True)
class StatisticalBound:
    """At the confidence: what was run is (epsilon', delta)-private for no epsilon' below `epsilon`.

    Args:
        method: "clopper-pearson", "one-run" or "one-run-fdp". confidence: that this is not wrong.
        epsilon: the lower bound, at `delta`. mu: of Gaussian privacy, where the method bounds it.
        gaussian_epsilon: that of mu-Gaussian privacy at delta, mu the bound; no bound on epsilon, but for comparison.
        claim: "contradicted" or "consistent"; None where nothing was claimed. claimed: the claim in words.
        selection: how the threshold was found: "stated", "bonferroni" or "split". data: what was counted.
        assumptions: what the reader has to know to be true of the experiment.
    """

    method: str
    confidence: Fraction
    delta: Fraction
    epsilon: Dyadic
    mu: Dyadic | None
    data: Mapping[str, int | str]
    assumptions: tuple[str, ...]
    gaussian_epsilon: Dyadic | None = None
    selection: str = "stated"
    claim: str | None = None
    claimed: str | None = None

    def __str__(self) -> str:
        verdict = "" if self.claim is None else f"; {self.claimed} is {self.verdict}"
        return f"epsilon >= {decimal_down(self.epsilon, 5)} at confidence {self.confidence_text}{verdict}"

    def __repr__(self) -> str:
        return f"StatisticalBound({self}, {self.method})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))} ({escape(self.method)})</p>"

    @property
    def confidence_text(self) -> str:
        """The confidence as it is written: "0.95"."""
        return decimal_text(self.confidence)

    @property
    def verdict(self) -> str | None:
        """The claim's verdict in words: statistical, so none of proved and refuted."""
        if self.claim is None:
            return None
        return f"{self.claim} at confidence {self.confidence_text}"

    @property
    def epsilon_float(self) -> float:
        """A double that is at most the bound."""
        return float(decimal_down(self.epsilon, 15))

    def row(self) -> dict[str, Any]:
        """The object of `verified-dp attack --json`."""
        row: dict[str, Any] = {
            "schema": "verified-dp/attack/1",
            "method": self.method,
            "confidence": self.confidence_text,
            "scores" if "threshold" in self.data else "counts": dict(self.data),
            "epsilon": _end(self.epsilon),
            "mu": None if self.mu is None else _end(self.mu),
            "at": {"delta": decimal_text(self.delta)},
            "claim": self.claim,
            "claimed": self.claimed,
            "selection": self.selection,
            "assumptions": list(self.assumptions),
        }
        if self.gaussian_epsilon is not None:
            row["gaussian_epsilon"] = _end(self.gaussian_epsilon)
        return row


def _end(bound: Dyadic) -> dict[str, str]:
    return {"lower": decimal_down(bound, DIGITS + 3)}


@dataclass(frozen=True)
class Asked:
    """The delta at which epsilon is bounded, the confidence, and the guarantee that is tested, if any."""

    delta: Fraction
    confidence: Fraction
    guarantee: Guarantee | None

    @classmethod
    def of(cls, delta: exact.Number, confidence: exact.Number, claim: Any) -> Asked:
        """Raises InvalidInput; Unsupported for a claim under a relation of one order."""
        return cls(read_delta(delta), read_confidence(confidence), None if claim is None else Guarantee.of(claim))

    def bound(self, method: str, epsilon: Dyadic, mu: Dyadic | None, data: Mapping[str, int | str],
              assumptions: tuple[str, ...], contradicts: Callable[[Guarantee], bool], **more: Any) -> StatisticalBound:
        """What an attack shows; contradicts: whether the guarantee is excluded."""
        claim = None if self.guarantee is None else "contradicted" if contradicts(self.guarantee) else "consistent"
        return StatisticalBound(method, self.confidence, self.delta, epsilon, mu, data, assumptions, claim=claim,
                                claimed=self.guarantee.words if self.guarantee else None, **more)


def read_confidence(confidence: exact.Number) -> Fraction:
    """A confidence in [1/2, 1 - 1e-12]. Raises InvalidInput."""
    found = exact.exact(confidence, "confidence", expected="a rational number from 1/2 to 1 - 1e-12")
    if not Fraction(1, 2) <= found <= 1 - Fraction(1, 10**12):
        raise InvalidInput("confidence", confidence, "a rational number from 1/2 to 1 - 1e-12")
    return found


def read_delta(delta: exact.Number) -> Fraction:
    """A delta in [0, 1). Raises InvalidInput."""
    return exact.claimed_delta(delta)
