"""Which published claims hold, and in which reading? Writes docs/audit.md and .csv from examples/claims.

Computes nothing: verdicts and intervals are those of claims/expected.json, which `make audit` writes anew before. What
such a verdict says of the source is in the file's first comment: `# Contradiction:`, `# Rounded:`, `# Hypothetical:`.
"""

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_DOWN, Context, Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from verified_dp.core.kernel.composition import Claim, Spec
from verified_dp.core.kernel.shown import decimal_text
from verified_dp.report.sources import links, year
from verified_dp.spec import load_spec

CLAIMS = Path(__file__).parent / "claims"
RANGES = Path(__file__).parent / "ranges"
PAGE = Path(__file__).parents[1] / "docs" / "audit.md"
KINDS = ("deployment", "paper", "documentation", "test")
GROUPS = {"Deployments and papers": ("deployment", "paper"),
          "Documentation and unit tests": ("documentation", "test")}
DIGITS = 9

HOLDS, FAILS, SHORT = "proved", "refuted", "refuted, short by rounding"
FLOATING = "refuted, rounding of a double"
CONTRADICTS = "the source contradicts itself"
ROUNDED, ONE_SIDED = "undecided, a stated number is rounded", "undecided, only an upper bound"

FULL_DIGITS = 15
"""A number printed with so many is all of a double: nothing was rounded for print."""
ARITHMETIC = Decimal("1e-13")
"""Relative: some hundred units in the last place of a double, as a short computation loses."""


@dataclass(frozen=True)
class Audited:
    """A claim's file, and what is on record about it."""

    file: Path
    record: dict[str, Any]

    @cached_property
    def spec(self) -> Spec:
        """What the file states."""
        return load_spec(self.file)

    @property
    def claim(self) -> Claim:
        """As published."""
        assert self.spec.claim is not None
        return self.spec.claim

    @property
    def is_current(self) -> bool:
        """Whether the record is of this very file."""
        return hashlib.sha256(self.file.read_bytes()).hexdigest() == self.record.get("sha256")

    @property
    def published(self) -> str:
        """The published claim of which this is a reading: `name--reading.toml` is one of name's."""
        return self.file.stem.split("--")[0]

    def said(self, key: str) -> str:
        """What the comment at the head says after `key:`, the paragraph without its line breaks."""
        if not (found := self.noted(key)):
            raise ValueError(f"{self.file} must say {key} in its first comment")
        return found

    def noted(self, key: str) -> str:
        """The same, or "" where it says nothing."""
        found = re.search(rf"^# {key}: ((?:.|\n# (?!\w+: ))*)", self.file.read_text(encoding="utf-8"), re.MULTILINE)
        return found[1].replace("\n# ", " ") if found else ""

    @property
    def verdict(self) -> str:
        """What the recorded verdict on the file's mechanism says of the published claim."""
        if self.record["verdict"] == "proved":
            return HOLDS
        if self.noted("Contradiction"):
            return CONTRADICTS
        if self.noted("Rounded"):
            return ROUNDED
        if self.record["verdict"] == "undecided":
            return ONE_SIDED
        if _significant(self.claim.epsilon_text) >= FULL_DIGITS and self.missing <= ARITHMETIC:
            return FLOATING
        computed = _significant(self.claim.delta_text) >= FULL_DIGITS  # then epsilon is what delta was computed for
        return SHORT if self.record["short_by_rounding"] and not computed else FAILS

    @property
    def interval(self) -> str:
        """The smallest epsilon at the claimed delta, cut; or the smallest that is proved, rounded up."""
        lower, upper = self.record["epsilon"]
        cut, up = (Context(prec=DIGITS, rounding=way) for way in (ROUND_DOWN, ROUND_CEILING))
        if not self.record["tight"]:
            most = up.create_decimal(upper)
            if self.record["verdict"] == "proved":
                most = min(most, up.divide(self.claim.epsilon.numerator, self.claim.epsilon.denominator))
            return f"at most {plain(most.normalize())}" if most.is_finite() else "none"
        low, high = cut.create_decimal(lower), cut.create_decimal(upper)
        if low != high:
            return f"{plain(low)} to {plain(up.create_decimal(upper))}"
        return plain(low) + "..." if Decimal(lower) != low or Decimal(upper) != low else plain(low.normalize())

    @property
    def missing(self) -> Decimal:
        """By how much of itself the claimed epsilon is too small."""
        claimed = Decimal(self.claim.epsilon.numerator) / self.claim.epsilon.denominator
        return (Decimal(self.record["epsilon"][0]) - claimed) / (claimed or 1)

    @property
    def excess(self) -> str:
        """The same in percent, rounded towards 0; "" where nothing is refuted or proved of the mechanism itself."""
        if not self.record["tight"] or self.record["verdict"] == "undecided" or not self.claim.epsilon:
            return ""
        claimed = Decimal(self.claim.epsilon.numerator) / self.claim.epsilon.denominator
        nearest = Decimal(self.record["epsilon"][self.record["verdict"] == "proved"])
        percent = Context(prec=3, rounding=ROUND_DOWN).create_decimal(100 * (nearest - claimed) / claimed)
        return f"{'+' * (percent > 0)}{plain(percent.normalize() if percent else Decimal(0))} %"

    @property
    def year(self) -> str:
        """As far as it is known: numbers in names of tests are none."""
        return "" if self.said("Kind") == "test" else year(self.claim.title, self.claim.source)

    @property
    def link(self) -> str:
        """The title, as a link to the file."""
        return f"[{self.claim.title}](../examples/claims/{self.file.name})"

    @property
    def claimed(self) -> str:
        """(epsilon, delta) as printed."""
        return f"({self.claim.epsilon_text}, {self.claim.delta_text})"


def _significant(text: str) -> int:
    """How many significant digits are printed; 0 for a ratio, which is exact."""
    return 0 if "/" in text else len(Decimal(text).as_tuple().digits)


def plain(number: Decimal) -> str:
    """All its digits, without an exponent where that is short.

    >>> plain(Decimal("2.500")), plain(Decimal("1E+2")), plain(Decimal("1.2E-9"))
    ('2.500', '100', '1.2e-9')
    """
    return f"{number:f}" if -5 < number.adjusted() < 15 else str(number).replace("E", "e")


def audited() -> list[Audited]:
    """All claims, in the order of their files. Raises KeyError where one has no record."""
    record = json.loads((CLAIMS / "expected.json").read_text(encoding="utf-8"))
    return [Audited(file, record[file.stem]) for file in sorted(CLAIMS.glob("*.toml"))]


def linked(source: str) -> str:
    """A source with links, each named by its repository, or by its file where that has several.

    >>> linked("github:a/b@12 c.md, d/e.py; arXiv:1607.00133 (text)")
    '[a/b](https://github.com/a/b/blob/12/c.md), [e.py](https://github.com/a/b/blob/12/d/e.py); \
[arXiv:1607.00133](https://arxiv.org/abs/1607.00133) (text)'
    """
    return "".join(f"[{_name(text, address)}]({address})" if address else text for text, address in links(source))


def _name(text: str, address: str) -> str:
    if "/blob/" in address:
        repository, _, _ = text.partition(" ")
        return repository if " " in text else text.rpartition("/")[2]
    return text.partition("//")[2].partition("/")[0] if text.startswith("https://") else text


def table(head: str, rows: Iterable[Iterable[str]]) -> list[str]:
    """Lines of a Markdown table."""
    lines = [head, *(" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return [f"| {lines[0]} |", "|" + "---|" * lines[0].count("|") + "---|", *(f"| {line} |" for line in lines[1:])]


def page(claims: list[Audited]) -> str:
    """The whole page."""
    stated, supposed = ([one for one in claims if bool(one.noted("Hypothetical")) == is_so] for is_so in (False, True))
    lines = [*_summary(stated), *_all(stated), *_contradictions(stated)]
    return "\n".join([*lines, *_ranged(), *_supposed(supposed), *_not_stated()]) + "\n"


INTRODUCTION = """\
{published} published claims in {readings} readings, each a file in [examples/claims](../examples/claims/README.md) that
says what its source leaves open. A verdict is about the mechanism in the file: training that shuffles and is accounted
with Poisson sampling is judged "as accounted"; a claim that one reading refutes may hold in another."""
MEANINGS = {
    HOLDS: "at the claimed delta the claimed epsilon suffices",
    FAILS: "it does not: the true epsilon is larger",
    SHORT: "the same; the true epsilon, rounded half up to the claim's digits, is the claim",
    FLOATING: "the same; the claim is a double printed with 15 digits or more, short by at most 1e-13 of itself",
    CONTRADICTS: "what it states of the mechanism does not give the epsilon that it states",
    ROUNDED: "as printed the claim does not hold; for a number that is so printed it does",
    ONE_SIDED: "a guarantee is all that is known of the mechanism, and its bound lies above the claim"}
COLUMNS = """\
`epsilon` is the smallest at the claimed delta: its proved digits, "..." where more follow, "at most" where a guarantee
is all that is known, "none" where none is proved. `excess` is how far it lies above the claim, in percent of that;
below 0 it is slack. "Short by rounding" is not said of tests that compute delta for a given epsilon and print all its
digits."""

SUPPOSED = "What if: readings that no source states, not counted above"


def _of(claims: list[Audited], group: str) -> list[Audited]:
    return [one for one in claims if one.said("Kind") in GROUPS[group]]


def _summary(claims: list[Audited]) -> Iterator[str]:
    groups = [Counter(one.verdict for one in _of(claims, group)) for group in GROUPS]
    yield from ["# Audit of published claims", "", "Written by `make audit`; not to be edited.", ""]
    yield INTRODUCTION.format(published=len({one.published for one in claims}), readings=len(claims))
    yield ""
    rows = [[verdict, *(str(group[verdict]) for group in groups)] for verdict in MEANINGS]
    yield from table(f"verdict | {' | '.join(map(str.lower, GROUPS))}",
                     [*rows, ["readings", *(str(group.total()) for group in groups)]])
    yield from _folded("What verdicts and columns mean", [
        *(f"* {verdict}: {meaning}" for verdict, meaning in MEANINGS.items()), "", COLUMNS])


def _contradictions(claims: list[Audited]) -> Iterator[str]:
    head = "claim | two statements that cannot both be true | claimed | epsilon of what is stated"
    yield from _folded("The source contradicts itself: nothing is refuted", table(
        head, ([one.link, one.said("Contradiction"), one.claimed, one.interval]
               for one in claims if one.verdict == CONTRADICTS)))


def _folded(title: str, lines: list[str]) -> Iterator[str]:
    """A part that is closed at first, on the site and on a forge."""
    yield from ["", '<details markdown="1">', f"<summary>{title}</summary>", "", *lines, "", "</details>"]


def _all(claims: list[Audited]) -> Iterator[str]:
    worst = [FAILS, SHORT, FLOATING, CONTRADICTS, ROUNDED, ONE_SIDED, HOLDS]
    ordered = sorted(claims, key=lambda one: (KINDS.index(one.said("Kind")), worst.index(one.verdict), -one.missing))
    shown = [one for one in ordered if one.verdict != HOLDS or one.said("Kind") == "deployment"]
    yield from ["", "## Deployments, and what is not proved", "",
                f"All {len(ordered)} readings, with {len(ordered) - len(shown)} of papers, documentation and unit "
                "tests that are proved, are in [one file](audit.csv).", ""]
    yield from table("claim | verdict | kind | year | claimed | epsilon | excess | reading",
                     ([f"{one.link}, {linked(one.claim.source)}", *cells(one)] for one in shown))


def cells(one: Audited) -> list[str]:
    """What stands of a reading beside its title and source."""
    return [one.verdict, one.said("Kind"), one.year, one.claimed, one.interval, one.excess, one.said("Reading")]


def rows(claims: list[Audited]) -> str:
    """All readings as CSV."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([
        ["file", "title", "source", "verdict", "kind", "year", "claimed", "epsilon", "excess", "reading"],
        *([one.file.name, one.claim.title, one.claim.source, *cells(one)] for one in claims
          if not one.noted("Hypothetical"))])
    return stream.getvalue()


def _ranged() -> Iterator[str]:
    """Claims of which a number is printed rounded, judged for all values that round to it."""
    record = json.loads((RANGES / "expected.json").read_text(encoding="utf-8"))
    rows = []
    for file in sorted(RANGES.glob("*.toml"), key=lambda file: (record[file.stem]["verdict"], file.stem)):
        one = record[file.stem]
        if one["sha256"] != hashlib.sha256(file.read_bytes()).hexdigest():
            raise ValueError(f"the record is of another file than {file}: run `make audit`")
        claim = load_spec(RANGES.parent / "claims" / file.name).claim
        assert claim is not None
        ends = [f"{key.removeprefix('mechanism[1].')} {_decimal(low)} to {_decimal(high)}"
                for key, low, high in one["ranges"]]
        rows.append([f"[{claim.title}](../examples/ranges/{file.name})", "; ".join(ends),
                     f"({claim.epsilon_text}, {claim.delta_text})",
                     f"{one['verdict']}{REASONS[one['reason']]}", _up_to(one["epsilon"])])
    yield from _folded("Rounded numbers as ranges", [
        RANGED, "", *table("claim | every value of | claimed | verdict | epsilon", rows)])


RANGED = """\
A number that is printed rounded is any that rounds to it. Claims with such numbers, judged for all of these
([T196](../proofs/ranges/T196-ranges.md)): proved of the worst value, refuted of the best, else undecided."""
REASONS = {"": "", "range": ": some values meet it", "one-sided": ": a guarantee alone", "width": ": wide bounds"}


def _decimal(number: str) -> str:
    """An exact ratio as a decimal."""
    return decimal_text(Fraction(number))


def _up_to(ends: list[str]) -> str:
    """An enclosure, six digits, rounded outward."""
    low, high = (text if text in ("0", "inf") else plain(Context(prec=6, rounding=way).create_decimal(text))
                 for text, way in zip(ends, (ROUND_DOWN, ROUND_CEILING), strict=True))
    return "no bound" if high == "inf" else f"at most {high}" if low == "0" else f"{low} to {high}"


def _supposed(claims: list[Audited]) -> Iterator[str]:
    yield from _folded(SUPPOSED, table(
        "claim | what if | claimed | as certified | epsilon",
        ([one.link, one.said("Reading"), one.claimed, one.record["verdict"], one.interval]
         for one in claims)))


def _not_stated() -> Iterator[str]:
    entries = json.loads((CLAIMS / "not-stated.json").read_text(encoding="utf-8"))
    yield from ["", f"[{len(entries)} more](../examples/claims/not-stated.json) were looked at and have no file: "
                "what was run is not stated."]


def main() -> None:
    """Write the page. Raises ValueError for a record of another version of a file."""
    claims = audited()
    if stale := [one.file.stem for one in claims if not one.is_current]:
        raise ValueError(f"the record is of other files than {', '.join(stale)}: run `make audit`")
    PAGE.write_text(page(claims), encoding="utf-8")
    PAGE.with_suffix(".csv").write_text(rows(claims), encoding="utf-8")
    print(f"{PAGE}: {len(claims)} readings")


if __name__ == "__main__":
    main()
