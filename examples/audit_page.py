"""Which published claims hold, and in which reading? Writes docs/audit.md, from examples/claims and its record.

Computes nothing: verdicts and intervals are those of claims/expected.json, which `make audit` writes anew before. What
such a verdict says of the source is in the file's first comment: `# Contradiction:`, `# Rounded:`, `# Hypothetical:`.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_DOWN, Context, Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from verified_dp.core.kernel.composition import Claim, Spec
from verified_dp.spec import load_spec

CLAIMS = Path(__file__).parent / "claims"
PAGE = Path(__file__).parents[1] / "docs" / "audit.md"
KINDS = {"deployment": "Deployments", "paper": "Papers and their repositories",
         "documentation": "Documentation, tutorials and issues", "test": "Unit tests and tables of accountants"}
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
            return f"at most {plain(up.create_decimal(upper).normalize())}"
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
        """The same in words."""
        if self.missing >= 1:
            return f"a factor {1 + self.missing:.1f}"
        return f"{self.missing:.2%}" if self.missing > Decimal("1e-4") else f"a factor 1 + {self.missing:.0e}"

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
    """A source with links: `github:owner/repository@commit path, path; URL; github issue owner/repository#1`.

    >>> linked("github:a/b@12 c.md, d/e.py; arXiv:1607.00133 (text)")
    '[a/b c.md](https://github.com/a/b/blob/12/c.md), [d/e.py](https://github.com/a/b/blob/12/d/e.py); \
[arXiv:1607.00133](https://arxiv.org/abs/1607.00133) (text)'
    """
    return "; ".join(_linked(part) for part in source.split("; "))


def _linked(part: str) -> str:
    if found := re.fullmatch(r"github:([\w.-]+/[\w.-]+)@(\w+) (\S+(?:, \S+)*)", part):
        paths = found[3].split(", ")
        names = [f"{found[1]} {paths[0]}", *paths[1:]]
        return ", ".join(f"[{name}](https://github.com/{found[1]}/blob/{found[2]}/{path})"
                         for name, path in zip(names, paths, strict=True))
    part = re.sub(r"^github issue (\S+)#(\d+)", r"[\1 issue \2](https://github.com/\1/issues/\2)", part)
    part = re.sub(r"arXiv:(\d{4}\.\d{5})", r"[arXiv:\1](https://arxiv.org/abs/\1)", part)
    return re.sub(r"^(https://\S+)", r"[\1](\1)", part)


def table(head: str, rows: Iterable[Iterable[str]]) -> list[str]:
    """Lines of a Markdown table."""
    lines = [head, *(" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return [f"| {lines[0]} |", "|" + "---|" * lines[0].count("|") + "---|", *(f"| {line} |" for line in lines[1:])]


def page(claims: list[Audited]) -> str:
    """The whole page."""
    stated, supposed = ([one for one in claims if bool(one.noted("Hypothetical")) == is_so] for is_so in (False, True))
    lines = [*_summary(stated), *_refuted(stated), *_contradictions(stated), *_undecided(stated), *_all(stated)]
    return "\n".join([*lines, *_supposed(supposed), *_not_stated()]) + "\n"


INTRODUCTION = """\
{published} published claims in {readings} readings, each a file in [examples/claims](../examples/claims/README.md) with
its source, what the source leaves open, and the reading that was certified. A verdict is about the mechanism in the
file and its reading, never about what was run otherwise: training that shuffles its data and is accounted with Poisson
sampling is judged "as accounted". A claim that is refuted in one reading may hold in another. Readings that no source
states are [apart](#what-if) and not counted."""
MEANINGS = {
    HOLDS: "at the claimed delta the claimed epsilon suffices",
    FAILS: "it does not: the true epsilon is larger",
    SHORT: "the same; the true epsilon, rounded half up to the claim's digits, is the claim",
    FLOATING: "the same; the claim is a double printed with 15 digits or more, short by at most 1e-13 of itself",
    CONTRADICTS: "what it states of the mechanism does not give the epsilon that it states",
    ROUNDED: "as printed the claim does not hold; for a number that is so printed it does",
    ONE_SIDED: "a guarantee is all that is known of the mechanism, and its bound lies above the claim"}
COLUMNS = """\
"Short by rounding" is not said of unit tests that compute delta for a given epsilon and print all its digits. The last
column of the tables by kind is the smallest epsilon at the claimed delta: its proved digits, "..." where more follow;
"at most" where only a guarantee is known of a part of the mechanism."""

SUPPOSED = """\
Readings that no source states: a verdict on them says nothing of the source. They are not counted above."""


def _of(claims: list[Audited], group: str) -> list[Audited]:
    return [one for one in claims if one.said("Kind") in GROUPS[group]]


def _summary(claims: list[Audited]) -> Iterator[str]:
    groups = [Counter(one.verdict for one in _of(claims, group)) for group in GROUPS]
    yield from ["# Audit of published claims", "", "Written by `make audit`; not to be edited.", ""]
    yield INTRODUCTION.format(published=len({one.published for one in claims}), readings=len(claims))
    yield ""
    rows = [[verdict, *(str(group[verdict]) for group in groups), meaning] for verdict, meaning in MEANINGS.items()]
    yield from table(f"verdict | {' | '.join(map(str.lower, GROUPS))} | meaning",
                     [*rows, ["readings", *(str(group.total()) for group in groups), ""]])
    yield from ["", COLUMNS]


def _refuted(claims: list[Audited]) -> Iterator[str]:
    yield from ["", "## Refuted, and in which reading"]
    for group in GROUPS:
        shown = [one for one in _of(claims, group) if one.verdict in (FAILS, SHORT, FLOATING)]
        yield from ["", f"### {group}", ""]
        yield from table("claim | reading | claimed | true epsilon | larger than claimed by | rounding",
                         ([one.link, one.said("Reading"), one.claimed, one.interval, one.excess,
                           {FAILS: "", SHORT: "of the printed digits", FLOATING: "of a double"}[one.verdict]]
                          for one in sorted(shown, key=lambda one: (-one.missing, one.file))))


def _contradictions(claims: list[Audited]) -> Iterator[str]:
    yield from ["", "## The source contradicts itself", "",
                "Which of the two is true the source does not say, unless noted: nothing is refuted.", ""]
    head = "claim | published at | two statements that cannot both be true | claimed | epsilon of what is stated"
    yield from table(head,
                     ([one.link, linked(one.claim.source), one.said("Contradiction"), one.claimed, one.interval]
                      for one in claims if one.verdict == CONTRADICTS))


def _undecided(claims: list[Audited]) -> Iterator[str]:
    yield from ["", "## Undecided, and why", ""]
    yield from table("claim | reading | claimed | epsilon | why",
                     ([one.link, one.said("Reading"), one.claimed, one.interval,
                       one.noted("Rounded") or "a guarantee is all that is known"]
                      for one in claims if one.verdict in (ROUNDED, ONE_SIDED)))


def _all(claims: list[Audited]) -> Iterator[str]:
    for kind, heading in KINDS.items():
        shown = [one for one in claims if one.said("Kind") == kind]
        published = len({one.published for one in shown})
        yield from ["", f"## {heading}", "", f"{len(shown)} readings of {published} claims.", ""]
        yield from table("claim | published at | reading | relation | claimed | verdict | epsilon",
                         ([one.link, linked(one.claim.source), one.said("Reading"), one.spec.relation.value,
                           one.claimed, one.verdict, one.interval] for one in shown))


def _supposed(claims: list[Audited]) -> Iterator[str]:
    yield from ["", "## What if", "", SUPPOSED, ""]
    yield from table("claim | what if | why nobody says so | claimed | as certified | epsilon",
                     ([one.link, one.said("Reading"), one.said("Hypothetical"), one.claimed, one.record["verdict"],
                       one.interval] for one in claims))


def _not_stated() -> Iterator[str]:
    entries = json.loads((CLAIMS / "not-stated.json").read_text(encoding="utf-8"))
    yield from ["", "## Not stated", "", "Published claims that were looked at and have no file, and why.", ""]
    yield from table("claim | published at | claimed | why there is no file",
                     ([one["title"], linked(one["source"]), one["claimed"], one["reason"]] for one in entries))


def main() -> None:
    """Write the page. Raises ValueError for a record of another version of a file."""
    claims = audited()
    if stale := [one.file.stem for one in claims if not one.is_current]:
        raise ValueError(f"the record is of other files than {', '.join(stale)}: run `make audit`")
    PAGE.write_text(page(claims), encoding="utf-8")
    print(f"{PAGE}: {len(claims)} readings")


if __name__ == "__main__":
    main()
