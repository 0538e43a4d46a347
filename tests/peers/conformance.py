"""How the truth lies to the numbers of other libraries' test suites; run as a program, the page that says so.

    python tests/peers/conformance.py          writes docs/conformance.md from tests/peers/cases.jsonl
    python tests/peers/conformance.py PEER     judges the cases of that library again first

A case is an event of dp_accounting (or mechanisms as TOML), a relation, what is asked, and rows
[at, stated, within, outcome]; the number that is stated is meant to be the truth up to `within`. A row that is larger
has the digits of the lower end too, a case that is refused the reason. Where the pairs of an event are known to
dominate and not to be attained, `attained` names mechanisms that it covers.

* contained: the truth is within `within` of it (and of 1e-9 of it, for the roundings of doubles),
* tighter: it is an upper bound, and the truth is below it by more,
* larger: the truth is above it by more, which an enclosure's lower end certifies,
* refused: no theorem covers the event here,
* wider: the stated number lies inside of an enclosure that is wider than `within`: only an upper bound is proved, or
  the digits cost too much.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from verified_dp import ZCDP, Enclosure, Finite, InvalidInput, PrivacyProfile, Unsupported, privacy_profile
from verified_dp.core.kernel.composition import Spec
from verified_dp.interop import from_dp_event
from verified_dp.interop.reading import relation_of
from verified_dp.spec import parse_spec

Case = dict[str, Any]
WHY = {
    "test_zero_sampling_probs_ignored": "asked at the integer 1 (`integer_epsilon.py`)",
    "gdp": "a limit theorem is no bound (`gdp_calibration.py`)",
    "RdpAccountant REPLACE_ONE": "half the distance (`replaced_record_gaussian.py`, `sampling_without_replacement.py`)",
    "RdpAccountant (head), count": "the count is left out (`exponential_count.py`)",
    "PLDAccountant REPLACE_ONE, count": "the count is left out (`randomized_response_count.py`)",
    "PLDAccountant": "rounding of the FFT (`many_sampled_steps.py`, `many_laplace_releases.py`)",
    "zCDP advantage": "a root that is found to nine digits",
    "get_delta_S": "its grid of losses ends at 20, near the losses that decide",
    "get_epsilon_": "its grid of losses ends at 20, near the losses that decide",
}
"""Part of a test's name -> why the number that it states is below the truth; the scripts are in examples/peers."""
PAGE_TEXT = """# The numbers of other libraries' tests

Written by `python tests/peers/conformance.py` from `tests/peers/cases.jsonl`. `make peers` asks the pinned versions
again (dp-accounting 0.6.0, Opacus 1.6.0, prv-accountant 0.2.0, autodp 0.2.3.1, riskcal 1.5.1, OpenDP 0.16.0), runs the
suites that dp-accounting and Opacus ship, and fails where a question is missing from the table or its outcome changes.
The other numbers are those of dp_accounting's head (b5b0286), TensorFlow Privacy (03035d5), fourier-accountant and
saddlepoint_accountant. Questions are those of privacy; of dp-accounting's 1220 tests in those files 372 put one, of
Opacus's 15 ten. The others test grids, errors, tails of one implementation's distributions.

{counts}

* **contained**: the truth is within the test's tolerance of the number, and 1e-9 of it for the roundings of doubles,
* **tighter**: the number is an upper bound, and the truth is below it by more,
* **larger**: the truth is above the number, which the lower end of an enclosure certifies,
* **refused**: no theorem covers the question here,
* **wider**: the number lies inside of an enclosure that is wider than its tolerance: only an upper bound is proved, or
  the digits cost too much.

A number that a test compares with nothing is taken as it is, without tolerance.

## Numbers below the truth

Each is a finding with its reason, reported in the scripts of `examples/peers`. A row has all numbers of a kind, and the
one farthest below.

| library | numbers | farthest in the test | of | asked | stated | the truth is at least | why |
|---|---|---|---|---|---|---|---|
{larger}

## Refused

| library | questions | reason |
|---|---|---|
{refused}

## Where others prove more

| library | of | asked | stated | proved here |
|---|---|---|---|---|
{wider}
"""
HERE = Path(__file__).resolve().parent
TABLE, PAGE = HERE / "cases.jsonl", HERE.parents[1] / "docs" / "conformance.md"
OUTCOMES = ("contained", "tighter", "larger", "refused", "wider")
SECONDS, DIGITS, GDP_DIGITS = 60.0, (2, 9, 18), 4
"""Of one answer: mixtures of several means take longer for many digits."""
ROUNDINGS = Fraction(1, 10**9)
LESS_IS_SAFER = ("noise_parameter", "epsilon")
"""Fields whose largest safe value is looked for; of others the smallest."""


def cases() -> list[Case]:
    return [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]


def outcomes(case: Case) -> Iterator[str]:
    """The outcome of each row."""
    for at, stated, within, *_ in case["rows"]:
        try:
            yield judged(case, at, number(stated), number(within))
        except (Unsupported, InvalidInput) as reason:
            print(f"refused: {reason}", file=sys.stderr)
            yield "refused"


def judged(case: Case, at: Any, stated: Fraction | float, within: Fraction | float) -> str:
    """With more and more digits until it is decided; by the upper end where no more are had."""
    if case["ask"] == "parameter":
        found = (parameter(case, at, stated, within, digits) for digits in DIGITS)
        return next((outcome for outcome in found if outcome != "undecided"), "undecided")
    room = within + ROUNDINGS * abs(stated) if stated != math.inf else 0
    for digits in DIGITS:
        lower, upper, sharp = ends(case, at, digits)
        outcome = compared(lower, upper, stated, room)
        if outcome == "larger" and not attained(case, at, digits) > stated + room:
            return "wider"
        if outcome != "undecided" or not sharp:
            break
    return outcome if outcome != "undecided" else "contained" if upper <= stated + room else "wider"


def attained(case: Case, at: Any, digits: int) -> Fraction | float:
    """The lower end for what data attain: the profile's own pairs, or mechanisms that `attained` names; else -inf."""
    if "PermuteAndFlip" in json.dumps(case):  # known to be epsilon-DP, and no more
        return -math.inf
    if "attained" in case:
        return ends({"relation": "add-or-remove", "ask": case["ask"], "toml": case["attained"]}, at, digits)[0]
    profile = profile_of(json.dumps(case.get("event", case.get("toml"))), case["relation"])
    known = all(isinstance(step, ZCDP) and count == 1 for step, count in profile.composition.parts)
    return ends(case, at, digits)[0] if known or all(pair.tight for pair in profile.pairs) else -math.inf


def compared(lower: Fraction | float, upper: Fraction | float, stated: Fraction | float, room: Fraction | float) -> str:
    if math.inf in (lower, stated):
        return "contained" if lower == stated else "larger" if lower > stated else "tighter"
    if stated - room <= lower and upper <= stated + room:
        return "contained"
    return "tighter" if upper < stated - room else "larger" if lower > stated + room else "undecided"


def ends(case: Case, at: Any, digits: int) -> tuple[Fraction | float, Fraction | float, bool]:
    """The ends of the enclosure of what is asked, and whether it has the digits; rates are 1 - false negative ones."""
    profile = profile_of(json.dumps(case.get("event", case.get("toml"))), case["relation"])
    if case["ask"] == "mu":
        found = profile.gdp(digits=min(digits, GDP_DIGITS))
        return *ends_of(found), found.status == "certified"
    if case["ask"] == "tpr":
        found = profile.tradeoff().beta(number(at), digits)
        return 1 - Fraction(found.upper), 1 - Fraction(found.lower), found.status == "certified"
    asked = {"delta": profile.delta, "epsilon": profile.epsilon, "renyi": profile.renyi}[case["ask"]]
    where = min(number(at), Fraction(256)) if case["ask"] == "delta" else number(at)  # delta falls: at infinity less
    found = asked(where, digits) if case["ask"] == "renyi" else asked(where, digits, max_seconds=SECONDS)
    return *ends_of(found), found.status == "certified" or case["ask"] == "renyi"


def ends_of(found: Enclosure) -> tuple[Fraction | float, Fraction | float]:
    lower, upper = (math.inf if end.is_infinite else Fraction(end) for end in (found.lower, found.upper))
    return lower, upper


def parameter(case: Case, at: Any, stated: Fraction | float, within: Fraction | float, digits: int) -> str:
    """Of a calibration: whether the budget (epsilon, delta) is kept `within` on both sides of the stated value."""
    text = json.dumps(case["event"])
    sign = -1 if any(f'"{name}": "?"' in text for name in LESS_IS_SAFER) else 1
    epsilon, delta = map(number, at)

    def kept(value: Fraction) -> bool | None:
        if value < 0:
            return sign < 0
        profile = profile_of(text.replace('"?"', f'"{value}"'), case["relation"])
        found = profile.delta(epsilon, digits)
        return True if found.upper <= delta else False if found.lower > delta else None

    if epsilon == math.inf:  # which every noise keeps
        return "contained" if stated == 0 else "tighter"
    if stated == math.inf:  # that there is none
        return "tighter" if kept(Fraction(10**9 if sign > 0 else 0)) else "contained"
    room = within + ROUNDINGS * stated
    safe, short = kept(stated + sign * room), kept(stated - sign * room)
    if safe is None or short is None:
        return "undecided"
    return "larger" if not safe else "tighter" if short else "contained"


def number(value: Any) -> Fraction | float:
    """A float is the number it is, a string the ratio or decimal that it says; null is infinity."""
    return math.inf if value in (None, math.inf) else Fraction(value)


@lru_cache(64)
def profile_of(text: str, relation: str) -> PrivacyProfile:
    return privacy_profile(specification(json.loads(text), relation))


def specification(what: Any, relation: str) -> Spec:
    """Of an event, whose norms divide its noise first, or of mechanisms as TOML."""
    if isinstance(what, str):
        return parse_spec(f'relation = "{relation_of(relation)}"\n{what}')
    if truncated := find(what, "TruncatedDiscreteGaussianDpEvent"):
        return Spec(relation_of(relation), privacy_profile(truncated_noise(truncated, what), relation).composition)
    return from_dp_event(in_norms(what), relation=relation)


def find(what: Any, name: str) -> Case | None:
    """The event of this name, itself or inside."""
    return what if what["class_name"] == name else find(what["event"], name) if "event" in what else None


def in_norms(what: Any) -> Any:
    if isinstance(what, list):
        return [in_norms(each) for each in what]
    if not isinstance(what, dict):
        return what
    fields = {key: in_norms(value) for key, value in what.items() if key != "norm"}
    if "norm" in what:
        fields["noise_multiplier"] = str(number(what["noise_multiplier"]) / number(what["norm"]))
    return fields


def truncated_noise(noise: Case, outer: Case) -> Finite:
    """The discrete Gaussian on [-b, b], renormalised, against its shift, both sampled; weights to 36 digits."""
    bound, shift, s = noise["truncation_bound"], int(noise["sensitivity"]), Fraction(noise["sigma"])
    q = Fraction(outer.get("sampling_probability", 1))
    weights = {n: exponential(Fraction(-n * n) / (2 * s * s)) for n in range(-bound, bound + 1)}
    total, places = sum(weights.values()), range(-bound, bound + shift + 1)
    plain, moved = ([weights.get(n - d, Fraction(0)) / total for n in places] for d in (0, shift))
    return Finite([(1 - q) * a + q * b for a, b in zip(plain, moved, strict=True)], plain)


def exponential(x: Fraction) -> Fraction:
    """e^x to 36 digits, by its series."""
    term = total = Fraction(1)
    for n in range(1, 400):
        term *= x / n
        total += term
    return Fraction(round(total * 10**36), 10**36)


# The page


def page(table: list[Case]) -> str:
    """docs/conformance.md: counts of each library, every number below the truth, and the reasons of refusals."""
    return PAGE_TEXT.format(counts="\n".join(counted(table)), larger="\n".join(too_small(table)),
                            refused="\n".join(refusals(table)), wider="\n".join(looser(table)))


def counted(table: list[Case]) -> Iterator[str]:
    yield "| library | questions | " + " | ".join(OUTCOMES) + " |"
    yield "|---" * (len(OUTCOMES) + 2) + "|"
    counts = {peer: Counter(row[3] for case in table if case["peer"] == peer for row in case["rows"])
              for peer in dict.fromkeys(case["peer"] for case in table)}
    for peer, found in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        yield f"| {peer} | {found.total()} | " + " | ".join(str(found[outcome]) for outcome in OUTCOMES) + " |"


def too_small(table: list[Case]) -> Iterator[str]:
    """Of each library, reason and kind of question the number farthest below the truth, and how many there are."""
    found: dict[tuple[str, ...], list[tuple[float, str]]] = {}
    for case in table:
        why = next((why for start, why in WHY.items() if start.lower() in case["test"].lower()), "")
        for at, stated, _, outcome, *truth in case["rows"]:
            if outcome == "larger":
                of, relation = subject(case), case["relation"].lower().replace("_", "-")
                short = 1 - float(stated) / float(truth[0]) if truth[0] != "more noise" else 0.0
                text = (f"{case['test'].rsplit('.', 1)[-1]} | {of}, {relation} | {case['ask']} at {shown(at)} "
                        f"| {shown(stated)} | {truth[0]} | {why} |")
                found.setdefault((case["peer"], why, of.partition("(")[0], case["ask"]), []).append((short, text))
    for (peer, *_), rows in found.items():
        yield f"| {peer} | {len(rows)} | {max(rows)[1]}"


def refusals(table: list[Case]) -> Iterator[str]:
    reasons = Counter((case["peer"], case["reason"]) for case in table for row in case["rows"] if row[3] == "refused")
    yield from (f"| {peer} | {count} | {reason} |" for (peer, reason), count in sorted(reasons.items()))


def looser(table: list[Case]) -> Iterator[str]:
    for case in table:
        for at, stated, _, outcome, *upper in case["rows"]:
            if outcome == "wider":
                yield (f"| {case['peer']} | {subject(case)} | {case['ask']} at {shown(at)} "
                       f"| {shown(stated)} | {upper[0]} |")


def subject(case: Case) -> str:
    return brief(case.get("event", case.get("toml")))


def shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return "infinity" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)


def brief(what: Any) -> str:
    """An event in a few words: 100 x PoissonSampled(0.01, Gaussian(1.0))."""
    if not isinstance(what, dict):
        return shown(what) if not isinstance(what, str) else " ".join(what.split())
    name, fields = what["class_name"].removesuffix("Event").removesuffix("Dp"), {**what}
    fields.pop("class_name")
    if name == "SelfComposed":
        return f"{what['count']} x {brief(what['event'])}"
    if name == "Composed":
        return " + ".join(brief(each) for each in what["events"]) if len(what["events"]) < 4 else (
            f"{brief(what['events'][0])} + .. + {brief(what['events'][-1])}")
    return f"{name}({', '.join(brief(value) for value in fields.values())})"


def again(case: Case) -> Case:
    """The case with the outcomes of today, and of what is larger or wider the digits of that end."""
    rows = [[*row[:3], outcome, *proof(case, row[0], outcome)]
            for row, outcome in zip(case["rows"], outcomes(case), strict=True)]
    return {**case, "rows": rows}


def proof(case: Case, at: Any, outcome: str) -> list[str]:
    if outcome not in ("larger", "wider") or case["ask"] == "parameter":
        return ["more noise"] if outcome == "larger" else []
    lower, upper = attained(case, at, DIGITS[1]), ends(case, at, DIGITS[1])[1]
    return [shown(float(lower) * (1 - 1e-12) if outcome == "larger" else float(upper) * (1 + 1e-12))]


def main(peer: str = "") -> None:
    table = [again(case) if case["peer"] == peer and "slow" not in case else case for case in cases()]
    TABLE.write_text("".join(json.dumps(case, separators=(",", ":")) + "\n" for case in table), encoding="utf-8")
    PAGE.write_text(page(table), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
