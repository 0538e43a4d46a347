"""Claims whose numbers were rounded: a verdict for every value of the ranges (T196).

    noise_multiplier = { rounded = "1.1" }            # from 1.05 to 1.15
    sampling = { scheme = "poisson", probability = { from = "0.009", to = "0.011" } }
    count = { from = 3950, to = 4049 }

Every such number moves the privacy profile in one direction, so that one end is the worst of all, the other the best.
Proved if the worst one meets the claim, refuted if the best one does not, else undecided, with both ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from verified_dp.core.families.table import ALL_RELEASES
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composition import SCHEME_KEYS, Claim, Spec
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.shown import decimal_text
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.reading import with_file
from verified_dp.spec import Releases, read_tables, spec_of

if TYPE_CHECKING:
    from verified_dp.certificate import Certificate

WORSE_UP, WORSE_DOWN = 1, -1
BY_KIND = {
    "gaussian": {"noise_multiplier": WORSE_DOWN, "sigma": WORSE_DOWN, "sensitivity": WORSE_UP},
    "laplace": {"scale": WORSE_DOWN, "sensitivity": WORSE_UP},
    "laplace-vector": {"scale": WORSE_DOWN, "sensitivity": WORSE_UP},
    "discrete-laplace": {"scale": WORSE_DOWN},
    "discrete-laplace-vector": {"scale": WORSE_DOWN},
    "tree-aggregation": {"noise_multiplier": WORSE_DOWN},
    "matrix-gaussian": {"noise_multiplier": WORSE_DOWN},
    "mixture-of-gaussians": {"sigma": WORSE_DOWN},
    "randomized-response": {"noise_probability": WORSE_DOWN, "epsilon": WORSE_UP},
    "noisy-max": {"scale": WORSE_DOWN, "sensitivity": WORSE_UP},
    "sparse-vector": {"threshold_scale": WORSE_DOWN, "threshold_sigma": WORSE_DOWN, "query_scale": WORSE_DOWN,
                      "sensitivity": WORSE_UP},
    "partition-selection": {"threshold": WORSE_DOWN},
    "gaussian-dp": {"mu": WORSE_UP},
    "approximate-dp": {"epsilon": WORSE_UP, "delta": WORSE_UP},
    "zcdp": {"rho": WORSE_UP, "xi": WORSE_UP},
    "exponential": {"bounded_range": WORSE_UP},
}
"""Which way each number of a kind makes the profile larger; `count` does it upward for all of them.

Not there: discrete Gaussians (scaled, or with noise of its own added, one is no other), the noise of partitions (less
of it moves counts by more and lets fewer new keys through).
"""
_ROUNDED = re.compile(r"[0-9]+(?:\.(?P<places>[0-9]+))?(?:[eE](?P<power>[+-]?[0-9]{1,4}))?")
_FORMS = 'a number, { rounded = "1.1" } or { from = "1.05", to = "1.15" }'


@dataclass(frozen=True)
class Range:
    """One number of a specification that is known up to an interval. worse: the sign of the direction."""

    key: str
    low: Fraction
    high: Fraction
    worse: int

    @property
    def worst(self) -> Fraction:
        return self.high if self.worse > 0 else self.low

    @property
    def best(self) -> Fraction:
        return self.low if self.worse > 0 else self.high

    def __str__(self) -> str:
        return f"{self.key} from {decimal_text(self.low)} to {decimal_text(self.high)}"


@dataclass(frozen=True)
class Ranged:
    """Both ends of a specification; equal, and no ranges, where every number is one."""

    worst: Spec
    best: Spec
    ranges: tuple[Range, ...]


@proved_by("T196-ranges")
def direction(kind: object, key: str, scheme: object = None) -> int:
    """Which way a number makes the privacy profile larger at every epsilon >= 0, whatever the other numbers are.

    kind: of the mechanism, or "claim" for a claim's own numbers. scheme: of the sampling, for a number of its own.
    Raises: Unsupported where no theorem says so.
    """
    if scheme is not None:
        if scheme == "poisson" and key == "probability":
            return WORSE_UP
        raise Unsupported(f"no theorem says which end of a range of {key} is the worst, of {scheme} samples", key)
    if kind == "claim" and key in ("epsilon", "delta"):
        return WORSE_DOWN
    if key == "count" and kind != "claim":
        return WORSE_UP
    found = BY_KIND.get(str(kind), {}).get(key)
    if found is None:
        raise Unsupported(f"no theorem says which end of a range of {key} is the worst, of {kind}", key)
    return found


@proved_by("T196-ranges")
def joined(worst: str, best: Callable[[], str]) -> str:
    """The verdict on all values from those on the worst and on the best one, which is asked only if it is needed."""
    if worst == "proved":
        return worst
    return "refuted" if best() == "refuted" else "undecided"


@proved_by("T196-ranges")
def spanned(best: Enclosure, worst: Enclosure) -> Enclosure:
    """Enclose delta at an epsilon >= 0, or epsilon, of every value of the ranges, from those of both ends."""
    return replace(worst, lower=min(best.lower, worst.lower), upper=max(best.upper, worst.upper),
                   tight=best.tight and worst.tight, proven=best.proven and worst.proven)


def certify_ranged(ranged: Ranged, **options: Any) -> tuple[str, tuple[Certificate, ...]]:
    """The verdict on every value of the ranges, and the certificates of the ends that were asked: worst, then best.

    options: of `certify`. Of a verdict that is no "undecided" the last one holds the proof.
    """
    from verified_dp.certificate import certify

    found = [certify(ranged.worst, **options)]

    def best() -> str:
        found.append(certify(ranged.best, **options))
        return found[-1].verdict

    return joined(found[0].verdict, best), tuple(found)


def parse_ranged(text: str, *, file: str = "<text>", releases: Releases = ALL_RELEASES) -> Ranged:
    """Read a specification whose numbers may be ranges.

    Raises: InvalidInput; Unsupported for a range whose worst end no theorem names.

    >>> found = parse_ranged('relation = "add"\\n[[mechanism]]\\nkind = "zcdp"\\nrho = {rounded = "1.1"}')
    >>> print(found.ranges[0], found.ranges[0].worst)
    mechanism[1].rho from 1.05 to 1.15 23/20
    """
    try:
        document = read_tables(text, file)
        if not any(True for _ in _places(document)):
            stated = spec_of(document, releases)
            return Ranged(stated, stated, ())
        ends = document, deepcopy(document)
        pairs = [*zip(*map(_places, ends), strict=True)]
        check_allocations(document, [place for place, _ in pairs])
        ranges = [_settled(*places) for places in pairs]
        worst, best = (spec_of(end, releases) for end in ends)
    except (InvalidInput, Unsupported) as error:
        raise with_file(error, file) from None
    return Ranged(_noted(worst, ranges, "worst"), _noted(best, ranges, "best"), tuple(ranges))


@dataclass(frozen=True)
class Place:
    """A number's place in the tables."""

    table: dict[str, Any]
    key: str
    prefix: str
    kind: object
    scheme: object = None


def _places(document: Mapping[str, Any]) -> Iterator[Place]:
    """Where ranges stand: in mechanisms, their samplings, selections and releases, and the claim."""
    tables = document.get("mechanism")
    for n, table in enumerate(tables if isinstance(tables, list) else [], 1):
        yield from _of_mechanism(table, f"mechanism[{n}].")
    if isinstance(claim := document.get("claim"), dict):
        yield from (Place(claim, key, "claim.", "claim") for key, value in claim.items() if isinstance(value, dict))


def _of_mechanism(table: object, prefix: str) -> Iterator[Place]:
    if not isinstance(table, dict):
        return
    for key, value in table.items():
        if key in SCHEME_KEYS and isinstance(value, dict):
            yield from (Place(value, inner, f"{prefix}{key}.", table.get("kind"), value.get("scheme"))
                        for inner, number in value.items() if isinstance(number, dict))
        elif key == "releases" and isinstance(value, list):
            for n, release in enumerate(value, 1):
                yield from _of_mechanism(release, f"{prefix}releases[{n}].")
        elif isinstance(value, dict):
            yield Place(table, key, prefix, table.get("kind"))


@proved_by("T196-ranges")
def check_allocations(document: Mapping[str, Any], places: list[Place]) -> None:
    """Unsupported for a range by which tables of kept allocations may become equal: equal ones share one allocation."""
    fixed = [table for table in document["mechanism"]
             if isinstance(sampling := table.get("sampling"), dict) and sampling.get("fixed")]
    for place in places:
        if len(fixed) > 1 and place.key != "count" and any(table is place.table for table in fixed):
            raise Unsupported("a range by which tables with `fixed` may become equal, which then share their batches",
                              place.prefix + place.key)


def _settled(worst: Place, best: Place) -> Range:
    """The range at a place: its worst end takes it in the first document, its best end in the second."""
    key = worst.prefix + worst.key
    low, high = _ends(worst.table[worst.key], key, whole=worst.key == "count")
    try:
        found = Range(key, low, high, direction(worst.kind, worst.key, worst.scheme))
    except Unsupported as error:
        raise Unsupported(error.reason, key) from None
    for place, value in ((worst, found.worst), (best, found.best)):
        place.table[place.key] = int(value) if place.key == "count" else decimal_text(value)
    return found


def _ends(value: Mapping[str, Any], key: str, whole: bool) -> tuple[Fraction, Fraction]:
    """The interval that a table states, of integers only where the number is one; what rounds to it is not negative.

    No number that may be a range is; probabilities are at most 1.
    """
    if set(value) == {"rounded"}:
        text = str(value["rounded"]).strip()
        form = _ROUNDED.fullmatch(text)
        if form is None or isinstance(value["rounded"], bool):
            raise InvalidInput(f"{key}.rounded", value["rounded"], "a decimal as it is printed, such as 1.1 or 1e-5")
        half = Fraction(10) ** (int(form["power"] or 0) - len(form["places"] or "")) / 2
        low, high = max(exact.exact(text, key) - half, Fraction(0)), exact.exact(text, key) + half
        high = min(high, Fraction(1)) if key.endswith("probability") else high
    elif set(value) == {"from", "to"}:
        low, high = (exact.exact(value[end], f"{key}.{end}") for end in ("from", "to"))
    else:
        raise InvalidInput(key, dict(value), _FORMS)
    if whole:
        low, high = Fraction(ceil(low)), Fraction(floor(high))
    if low > high:
        raise InvalidInput(key, dict(value), "a range whose end is not below its beginning")
    return low, high


def _noted(spec: Spec, ranges: list[Range], end: str) -> Spec:
    """The claim's source says what the numbers of the certificate are the end of."""
    if not ranges or spec.claim is None:
        return spec
    note = f"the {end} values of {'; '.join(map(str, ranges))}"
    claim: Claim = spec.claim
    return replace(spec, claim=replace(claim, source=f"{claim.source} ({note})".strip()))
