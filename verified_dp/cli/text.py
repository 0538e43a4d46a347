"""Answers, verdicts and checks as text: the verdict first, then the digits, then what it rests on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as own_field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from verified_dp.cli.limits import Limits
from verified_dp.core.kernel.composition import Claim
from verified_dp.core.kernel.dyadic import decimal_down, decimal_up, outward_decimal
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.enclosure import Enclosure, without_zeros
from verified_dp.terminal import escaped

if TYPE_CHECKING:
    from verified_dp.verifiers.trust import Trust

Paint = Callable[[str, str], str]
"""(words, verdict) -> the words, in the colour of the verdict on a terminal."""

WIDTH = 100
_REFINED = ("closed-form", "contour", "lattice")
"""Methods that go on refining while there is time."""
_LABEL = 14


@dataclass(frozen=True)
class Judged:
    """What `certify` found about one claim. delta: at the claimed epsilon; epsilon: at the claimed delta.

    certificate: where it is kept. kept: whether an earlier run left it, and it still verifies. document: what it says.
    limited: whether the time to search was. read: what was taken for granted in reading a history.
    """

    file: str
    claim: Claim
    verdict: str
    short_by_rounding: bool
    delta: Enclosure
    epsilon: Enclosure
    assumptions: tuple[str, ...]
    certificate: str | None
    kept: bool = False
    limited: bool = False
    read: tuple[str, ...] = ()
    document: dict[str, Any] = own_field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The claim's title, or its file where it has none."""
        return escaped(self.claim.title) or escaped(self.file)


def clipped(text: str, width: int) -> str:
    """The text, cut to a width with dots."""
    return text if len(text) <= width else text[: width - 3] + "..."


def answer_lines(enclosure: Enclosure, given: str, paint: Paint, limits: Limits, assumptions: Sequence[str],
                 more: Sequence[str] = ()) -> list[str]:
    """The answer to `delta` or `epsilon`: number and standing, then one line of what is assumed, or all that is known.

    given: at which value of the other. more: lines between answer and assumptions.
    """
    head, tail = number_words(enclosure, limits.digits or SHOWN)
    standing = "" if head.startswith("no ") else f", {paint(_standing(enclosure), enclosure.status)}"
    lines = [f"{head} at {given}{standing}" + (f"; {tail}" if tail else "")]
    if limits.verbose or "attack" in enclosure.methods or not enclosure.proven:
        lines += standing_lines(enclosure)
    exact, asked = enclosure.lower == enclosure.upper, limits.verbose or limits.digits is not None
    unseen = enclosure.tight and not enclosure.lower > 0
    if enclosure.status == "wide" and (asked or unseen or limits.max_seconds is not None):
        advice = _advice(enclosure) if limits.max_seconds is not None else ""
        lines += field("wide", f"the bounds are proved, but not as close as the {enclosure.digits} digits asked "
                       f"for{advice}")
    if asked and not exact:
        lines += field("between", f"{enclosure.lower_decimal} and {enclosure.upper_decimal}")
    if not limits.verbose:
        return [*lines, *more, assumed(enclosure.convention)]
    return [*lines, *_how(enclosure, [enclosure]), *_errors(enclosure), *more,
            *_listed("assuming", assumptions)]


SHOWN = 5
"""Significant digits of a number where nobody asks for more."""


def number_words(found: Enclosure, digits: int = SHOWN) -> tuple[str, str]:
    """("epsilon = 2.3817", ""): the upper end rounded up, and where the lower one is not the digit before, it too."""
    quantity, upper = found.quantity, decimal_up(found.upper, digits)
    if found.lower == found.upper:
        return f"{quantity} = {without_zeros(upper)}", ""
    tail = "" if not (found.tight or "attack" in found.methods) else f"at least {decimal_down(found.lower, digits)}"
    if found.upper.is_infinite:
        return f"no finite {quantity} is proved", tail
    if found.tight and is_next(found, digits):
        return f"{quantity} = {upper}", ""
    return f"{quantity} <= {upper}", tail if found.lower > 0 else ""


def is_next(found: Enclosure, digits: int = SHOWN) -> bool:
    """Whether the ends, rounded outward, are equal or differ by one in the last digit."""
    low, high = outward_decimal(found.lower, digits, up=False), outward_decimal(found.upper, digits, up=True)
    if abs(low.power - high.power) > 1 or found.upper.is_infinite:
        return False
    unit = min(low.power, high.power)
    return high.digits * 10 ** (high.power - unit) - low.digits * 10 ** (low.power - unit) <= 1


def rounded(found: Enclosure, *, up: bool = True) -> str:
    """The end on the safe side, of five digits, or both where the other is not the digit before."""
    low, high = decimal_down(found.lower, SHOWN), decimal_up(found.upper, SHOWN)
    if found.lower == found.upper:
        return without_zeros(high)
    return (high if up else low) if is_next(found) else f"{low} to {high}"


def _standing(found: Enclosure) -> str:
    if not found.proven:
        return "an estimate"
    if found.lower == found.upper:
        return "exactly"
    return "proved" if found.certifiable else found.standing.removeprefix("wide, ")


_KIND = re.compile(r"[a-z-]+")
_MULTIPLIER = "noise_multiplier = sigma / largest L2 norm of one record's contribution"


def assumed(convention: str) -> str:
    """One line of what is assumed: who neighbours are, what noise is relative to, how records are sampled.

    >>> assumed("one record is removed; Poisson sampling: records enter each batch independently")
    '  assuming    one record removed; Poisson sampling (all: -v)'
    """
    def short(clause: str) -> str:
        head, _, rest = clause.replace(_MULTIPLIER, "noise / one record's largest L2 norm").partition(":")
        if rest and _KIND.fullmatch(head):
            return head + ":" + rest.partition(",")[0]
        return head.partition(" (")[0].replace(" is ", " ", 1).replace(" are ", " ", 1)

    words = dict.fromkeys(map(short, convention.split("; ")))
    return f"  {'assuming':<{_LABEL - 2}}" + clipped(escaped("; ".join(words)), WIDTH + 8 - _LABEL) + " (all: -v)"


def _advice(enclosure: Enclosure) -> str:
    """What narrows the bounds of a search whose time ended, where it was one that goes on."""
    return "; more --max-seconds narrow them" if enclosure.method in _REFINED and enclosure.status == "wide" else ""


def standing_lines(enclosure: Enclosure) -> list[str]:
    """What the ends do not say of the mechanism itself; nothing where they enclose its own number."""
    if not enclosure.proven:
        return field("estimate", "a pair is not proven to dominate this relation: the ends hold for the pair, and "
                      "prove nothing of the mechanism")
    if "attack" in enclosure.methods:
        return field("bounds", SHUFFLED)
    if not enclosure.tight:
        return field("bound", "an upper bound on the mechanism; the lower end holds for the dominating pair only")
    return []


SHUFFLED = ("shuffled batches: the lower end is what one attack on one pair of data sets sees, the upper end makes no "
            "use of the shuffle; no theorem is known that brings them together")


def _how(enclosure: Enclosure, all_of_them: Sequence[Enclosure]) -> list[str]:
    """Relation and deciding order; methods and time of all enclosures."""
    methods = dict.fromkeys(method for one in all_of_them for method in one.methods)
    seconds = sum(one.seconds for one in all_of_them)
    relation, order = enclosure.relation, enclosure.order
    shown = {relation: "", "both": " (both orders)", "symmetric": ""}.get(order, f" (order {order})")
    return [*field("relation", relation + shown),
            *field("method", f"{', '.join(methods)}; {seconds:.2g} s")]


def _errors(enclosure: Enclosure) -> list[str]:
    budget = sorted(enclosure.budget.items())
    sizes = [f"{key.replace('_', ' ')} {decimal_up(size, 2)}" for key, size in budget]
    return field("errors", "on delta, at most: " + ", ".join(sizes)) if sizes else []


def field(label: str, text: str, *, hanging: int = 0) -> list[str]:
    """`label  text`, wrapped and indented."""
    first, rest = f"  {label:<{_LABEL - 2}}", " " * (_LABEL + hanging)
    return wrap(escaped(text), WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False,
                break_long_words=False)


def verdict_lines(judged: Judged, paint: Paint, limits: Limits) -> list[str]:
    """The verdict and what decides it; all that there is to say about the claim where that is asked for."""
    eps, delta = clipped(judged.claim.epsilon_text, 40), clipped(judged.claim.delta_text, 40)
    first = f"{paint(judged.verdict, judged.verdict)}: {judged.name}"
    kept = " (kept: it verifies)" * judged.kept
    place = field("certificate", judged.certificate + kept) if judged.certificate else []
    if not limits.verbose:
        between = [] if limits.digits is None else field(
            "between", f"{judged.epsilon.lower_decimal} and {judged.epsilon.upper_decimal}")
        found, room = _found(judged, limits.digits or SHOWN), outcome(judged).partition(" with ")[2] or outcome(judged)
        return [first, *field("epsilon", f"{found} at delta = {delta}, claimed {eps}: {room}"), *between,
                *_notes(judged), *_listed("read as", judged.read), assumed(judged.delta.convention), *place]
    epsilon_words = f"claimed {eps}, {_true(judged.epsilon)} at delta = {delta}"
    return [
        first,
        *field("epsilon", f"{epsilon_words}: {outcome(judged)}"),
        *_notes(judged),
        *field("delta", f"claimed {delta}, {_true(judged.delta)} at epsilon = {eps}"),
        *standing_lines(judged.delta),
        *_how(judged.delta, [judged.delta, judged.epsilon]),
        *_listed("assuming", judged.read + judged.assumptions),
        *(field("source", judged.claim.source) if judged.claim.source else []),
        *place,
    ]


def _found(judged: Judged, digits: int) -> str:
    """The number that decides: of a refuted claim from below, else from above, and both ends where that says more."""
    found = judged.epsilon
    if judged.verdict == "refuted" and found.lower != found.upper:
        known = found.lower > judged.claim.epsilon  # else delta at the claimed epsilon decided
        return f"at least {decimal_down(found.lower, digits)}" if known else "above the claimed one"
    head, tail = number_words(found, digits)
    return head.removeprefix("epsilon ").removeprefix("= ").replace("<=", "at most") + (f", {tail}" if tail else "")


def _true(found: Enclosure, most: int = 60) -> str:
    """The true number, or what it is at most: the lower end of a pair that only bounds says nothing of it."""
    if found.tight:
        return f"true {found.quantity} {found.notation(most)}"
    return f"{found.quantity} at most {_rounded_up(found, most)}"


def _rounded_up(found: Enclosure, most: int = 60) -> str:
    return without_zeros(decimal_up(found.upper, min(found.digits, most)))


def outcome(judged: Judged) -> str:
    """The verdict with how much it leaves over, or lacks."""
    room = slack(judged.claim.epsilon, judged.epsilon)
    if judged.verdict == "proved":
        return f"proved with slack {room}" if room and not room.startswith("-") else "proved"
    if judged.verdict == "refuted":
        return f"refuted with epsilon short by {room[1:]}" if room.startswith("-") else "refuted"
    return "undecided"


def _notes(judged: Judged) -> list[str]:
    from verified_dp.questions.judgement import excess_words, least_claim_words

    if judged.verdict == "undecided":
        advice = _advice(judged.delta) if judged.limited else ""
        return field("undecided", _why_undecided(judged) + advice)
    if judged.verdict != "refuted":
        return []
    rounding = ["short by rounding: the claim is the true epsilon rounded to nearest, not up"]
    return [*field("excess", excess_words(judged.document)),
            *field("note", "; ".join(rounding * judged.short_by_rounding + [least_claim_words(judged.document)]))]


def _why_undecided(judged: Judged) -> str:
    """The reason in words, with what is known of it."""
    from verified_dp.questions.judgement import REASONS, reason

    methods, why = judged.epsilon.methods + judged.delta.methods, reason(judged.document)
    if "attack" in methods:
        return ("the claim lies between what an attack on shuffled batches shows and what holds without their shuffle: "
                "nothing is known that decides it")
    if "buckets" in methods:
        return "these bounds are those of schedules of few steps, rounded both ways, which no certificate holds"
    if why == "one-sided" and judged.delta.lower > judged.claim.delta:
        return ("the dominating pair exceeds the claim, but only bounds the mechanism from above: it can prove a claim "
                "and never refute one")
    return REASONS[why]


def _listed(label: str, texts: Sequence[str]) -> list[str]:
    """A list, the label at its first item only."""
    items = [field("" if i else label, f"- {words}", hanging=2) for i, words in enumerate(texts)]
    return [line for item in items for line in item]


_ROW = "{}{:>12} {:>10}  {:<20} {:>10}  {}"
_VERDICT_WIDTH = 10


def table_head() -> str:
    """The first line of the table of claims."""
    verdict = "verdict".ljust(_VERDICT_WIDTH)
    return _ROW.format(verdict, "claimed eps", "delta", "epsilon", "slack", "file: claim -> certificate")


def table_row(judged: Judged, paint: Paint) -> str:
    """One line per claim; a negative slack is what the claim is short by."""
    verdict = paint(judged.verdict.ljust(_VERDICT_WIDTH), judged.verdict)
    name = _row_name(judged) + " [short by rounding]" * judged.short_by_rounding
    claim, room = judged.claim, slack(judged.claim.epsilon, judged.epsilon)
    claimed = clipped(claim.epsilon_text, 12), clipped(claim.delta_text, 10)
    epsilon = judged.epsilon
    shown = rounded(epsilon) if epsilon.tight else f"<= {_rounded_up(epsilon, SHOWN)}"
    return _ROW.format(verdict, *claimed, shown, room, name)


def _row_name(judged: Judged) -> str:
    """The file, the claim's title and where the certificate is, "a.toml: a claim -> out/a.json"."""
    title = f": {escaped(judged.claim.title)}" if judged.claim.title else ""
    place = f" -> {escaped(judged.certificate)}" if judged.certificate else ""
    return escaped(judged.file) + title + place + " (kept)" * judged.kept


TABLE_HEAD = ("verdict", "claimed epsilon", "delta", "epsilon at least", "epsilon at most", "slack", "file", "title")


def table_cells(judged: Judged) -> tuple[str, ...]:
    """The same claim for other forms of table, ends as exact text."""
    claim, verdict = judged.claim, judged.verdict + ", short by rounding" * judged.short_by_rounding
    ends = judged.epsilon.lower_decimal if judged.epsilon.tight else "0", judged.epsilon.upper_decimal
    return verdict, claim.epsilon_text, claim.delta_text, *ends, slack(claim.epsilon, judged.epsilon), judged.file, \
        claim.title


def table_foot(verdicts: Iterable[str], conventions: Iterable[str]) -> list[str]:
    """How many of each verdict, and the conventions that were used."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(Counter(verdicts).items()))
    lines = ["", counts]
    for number, convention in enumerate(dict.fromkeys(conventions)):
        lines += field("convention" if number == 0 else "", convention)
    return lines


def check_line(file: str, verdict: str | None, field: str | None, reason: str, paint: Paint) -> str:
    """One checked certificate; one that is not valid has no verdict."""
    if verdict is not None:
        return f"{paint('valid', 'valid')}: {escaped(file)}: {verdict}; {escaped(reason)}"
    where = f"{escaped(field)}: " if field else ""
    return f"{paint('invalid', 'invalid')}: {escaped(file)}: {where}{escaped(reason)}"


def trust_lines(found: Trust) -> list[str]:
    """What a valid certificate rests on: files, theorems, and what is not proved here."""
    from verified_dp.verifiers.statements import read_whole

    now, before = read_whole(name for name, _, _ in found.theorems)
    return [
        *field("code", f"{found.lines} lines in {len(found.files)} files"),
        *(line for path, lines in found.files for line in field("", f"{lines:5} {path}")),
        *field("theorems", f"{len(found.theorems)}; a second reader has read {now} whole as they stand, {before} more "
                           "before something changed; in brackets the last reading of the proof against the code"),
        *(line for name, text, read in found.theorems for line in field("", f"{name}: {text} [{read}]", hanging=2)),
        *field("not proved", "here:"),
        *(line for text in found.not_proved_here for line in field("", text, hanging=2)),
    ]


def slack(claimed: Fraction, epsilon: Enclosure) -> str:
    """How far the claimed epsilon is above the true one, "0.62", or below it, "-0.0012"; "" if unknown.

    Rounded towards zero, so that neither the slack nor what is missing is overstated.
    """
    try:
        if epsilon.upper <= claimed:
            return _shown(claimed - epsilon.upper.as_fraction(), ROUND_FLOOR)
        if epsilon.lower > claimed:
            return _shown(claimed - epsilon.lower.as_fraction(), ROUND_CEILING)
    except InvalidInput:  # an end too close to 0 to be written as a fraction
        pass
    return ""


def _shown(number: Fraction, rounding: str) -> str:
    """Three significant digits."""
    ratio = Context(prec=3, rounding=rounding).divide(Decimal(number.numerator), Decimal(number.denominator))
    text = f"{ratio:e}" if ratio.adjusted() < -4 else str(ratio)
    return text.lower().replace("e+", "e")
