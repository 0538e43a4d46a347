"""HTML: one file per claim with everything in it, and an index of several.

Raises Unsupported where jinja2 is missing.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from verified_dp import __version__
from verified_dp.core.kernel.composition import Spec
from verified_dp.core.kernel.dyadic import decimal_down, decimal_up
from verified_dp.core.kernel.errors import InvalidInput, Undecided, Unsupported
from verified_dp.papers.comparison import ALL, Comparison, compare
from verified_dp.questions.judgement import REASONS, excess_words, least_claim_words, reason
from verified_dp.questions.statement import alone
from verified_dp.reading import optional
from verified_dp.report import plots
from verified_dp.report.curves import Point, delta_curve, step_curve, tradeoff_curve
from verified_dp.report.facts import Judged, as_decimal, round_step, rounded
from verified_dp.report.headline import factor_words, headline
from verified_dp.report.peers import Peer, ask_peers
from verified_dp.report.sources import linked, year
from verified_dp.terminal import escaped
from verified_dp.verifiers.statements import not_proved_here, statements
from verified_dp.verifiers.trust import trusted

if TYPE_CHECKING:
    from jinja2 import Environment

METHODS = ALL[1:]
"""All but `auto`, which chooses among them."""
POINTS, PARTS = 40, 8
SHOWN_RATES = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10))
RATES = (*SHOWN_RATES, *(Fraction(n, 200) for n in (100, 40, 140, 10, 60, 180, 4, 80, 120, 30, 160, 1, 6, 15, 50, 195)))
"""In the order in which they are asked for."""
SECONDS = 6.0
"""For each curve and for each method, where nobody says: points that need longer are wide, or left out."""
_LARGEST = 150_000
"""Bytes of a certificate that is kept inside its page."""


def environment() -> Environment:
    """The templates, escaping all that is put in, and what does not print as on a terminal."""
    jinja2 = optional("jinja2", "jinja2")
    made: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("verified_dp.report"), autoescape=True, undefined=jinja2.StrictUndefined,
        finalize=_shown, trim_blocks=True, lstrip_blocks=True)
    return made


def _shown(value: Any) -> Any:
    """Text without what steers the reader's eye, a line's direction among it; markup of this package as it is."""
    return escaped(value) if type(value) is str else value


def page(judged: Judged, seconds: float = SECONDS, methods: Sequence[str] = METHODS, *, peers: bool = True,
         back: str = "") -> str:
    """The page of one claim.

    Args:
        seconds: for each curve. methods: to be compared. peers: whether other accountants that are installed are asked.
        back: link to an index.
    Raises: InvalidInput for an unknown method, Unsupported without jinja2.
    """
    check_methods(methods)
    template = environment().get_template("page.html")
    found = _compared(judged, methods, min(seconds / 2, 3.0))
    return template.render(version=__version__, back=back, **_summary(judged), **_first(judged), **_used(judged),
                           **_pictures(judged, seconds), **_errors(judged), **_methods(found, judged),
                           peers=list(_peers(judged)) if peers else [], **_certificate(judged))


def check_methods(names: Sequence[str]) -> None:
    """InvalidInput for a method that is none of METHODS."""
    if unknown := [name for name in names if name not in METHODS]:
        raise InvalidInput("methods", unknown[0], "some of " + ", ".join(METHODS))


def index(all_judged: Sequence[tuple[Judged, str]], errors: Mapping[str, str]) -> str:
    """The list of several claims with links to their pages. errors: input -> why it has none."""
    rows = [{**_summary(judged), **_listed(judged), "link": link} for judged, link in all_judged]
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("proved", "refuted", "undecided")}
    return environment().get_template("index.html").render(version=__version__, rows=rows, counts=counts, errors=errors)


def _summary(judged: Judged) -> dict[str, Any]:
    """What page and index say first."""
    certificate, claim = judged.certificate, judged.claim
    ends = {name: _readable(certificate["result"][name]) for name in ("epsilon", "delta")}
    return {"title": judged.title, "name": judged.name, "source": claim.source, "verdict": certificate["verdict"],
            "sentence": _sentence(judged), **_ranged(judged), "epsilon": claim.epsilon_text, "delta": claim.delta_text,
            "ends": ends, "tight": judged.tight,
            "by_rounding": certificate["short_by_rounding"], "relation": certificate["input"]["relation"]}


def _ranged(judged: Judged) -> dict[str, str]:
    """The verdict on all values of the ranges, where the claim has some; numbers are of the end that decides."""
    if not judged.noted:
        return {}
    end, verdicts = judged.noted["end"], judged.noted["verdicts"]
    ranges = "; ".join(f"{one['key']} from {_number(one['from'])} to {_number(one['to'])}"
                       for one in judged.noted["ranges"])
    if end != "both":
        return {"sentence": f"{_sentence(judged)}, whatever the values are: {ranges}. "
                            f"Numbers here are of the {end} ones"}
    return {"verdict": "undecided", "sentence": (
        f"The claim is {verdicts['best']} for the best values and {verdicts['worst']} for the worst: {ranges}. "
        "Numbers here are of the best ones")}


def _listed(judged: Judged) -> dict[str, Any]:
    """What only the index says."""
    stated = judged.certificate["input"]["mechanisms"]
    kinds = dict.fromkeys(f"{one['kind']}, sampled" if one.get("sampling") else str(one["kind"]) for one in stated)
    return {"shown": headline(judged), "kind": "; ".join(kinds), "year": year(judged.claim.title, judged.claim.source),
            "source_links": linked(judged.claim.source)}


def _first(judged: Judged) -> dict[str, Any]:
    """The numbers in large type, and their picture."""
    found, claimed = headline(judged), _short(judged.claim.epsilon_text)
    ends = judged.certificate["result"]["delta"]
    if judged.certificate["verdict"] == "refuted":
        delta = f"at least {rounded(ends['lower'], 4, up=False)}"
    else:
        delta = f"at most {rounded(ends['upper'], 4, up=True)}"
    picture, word = "", found.label.split()[0]
    if found.ends is not None:
        claim = found.ends[judged.certificate["verdict"] == "proved"]
        picture = plots.gap_plot(claimed, f"{word} {found.shown}", found.ends, claim)
    return {"headline": found, "gap_picture": picture, "true_delta": delta, "delta_factor": factor_words(judged)}


def _sentence(judged: Judged) -> str:
    """The verdict in one sentence or two."""
    claim, ends = judged.claim, judged.certificate["result"]["epsilon"]
    claimed = f"({claim.epsilon_text}, {claim.delta_text})"
    if judged.certificate["verdict"] == "proved":
        return f"What was run is {claimed}-differentially private{alone(judged.certificate)}"
    if judged.certificate["verdict"] == "refuted":
        rounding = "The claim is the true ε rounded to nearest, not up. " * judged.certificate["short_by_rounding"]
        return (f"What was run is not {claimed}-differentially private. {rounding}"
                f"{capitalised(excess_words(judged.certificate))}; {least_claim_words(judged.certificate)}")
    proved = ("they prove no ε at this δ" if ends["upper"] == "inf"
              else f"the smallest ε at this δ that they prove is {rounded(ends['upper'], 6, up=True)}")
    return (f"These bounds neither prove nor refute {claimed}: {proved}. "
            f"{capitalised(REASONS[reason(judged.certificate)])}")


def capitalised(text: str) -> str:
    """The text as a sentence begins."""
    return text[:1].upper() + text[1:]


def _readable(ends: Mapping[str, str]) -> dict[str, str]:
    """Two decimals, rounded outward where they are too long to be read."""
    return {side: text if len(text) < 25 else rounded(text, 18, up=side == "upper")
            for side, text in ends.items() if side != "order"}


def _used(judged: Judged) -> dict[str, Any]:
    stated = judged.certificate["input"]
    return {"mechanisms": [_mechanism(one) for one in stated["mechanisms"]], "pairs": judged.certificate["pairs"],
            "group_size": stated.get("group_size", 1),
            "assumptions": [_headed(words) for words in judged.certificate["assumptions"]],
            "methods_used": list(dict.fromkeys(one["method"] for one in judged.certificate["evaluations"])),
            "steps": judged.steps, "source_links": linked(judged.claim.source)}


def _headed(words: str) -> tuple[str, str]:
    """An assumption's word before the colon, and the rest."""
    head, colon, rest = words.partition(": ")
    return (head, rest) if colon and head.count(" ") < 3 else ("", words)


def _mechanism(stated: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each key with its exact number, and the decimal beside it."""
    found: list[tuple[str, str]] = []
    for key, value in stated.items():
        if isinstance(value, dict):
            found += [(f"{key}: {name}" if name != "scheme" else key, _number(part)) for name, part in value.items()]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            found += [(f"{key}[{i}]: {name}", text) for i, one in enumerate(value, 1) for name, text in _mechanism(one)]
        else:
            found.append((key, _number(value)))
    return sorted(found, key=lambda pair: ({"kind": 0, "count": 2}.get(pair[0], 1), pair[0]))


def _number(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_number, value))
    text = str(value)
    if "/" not in text or not text.replace("/", "").lstrip("-").isdecimal():
        return text
    shown = as_decimal(Fraction(text))
    return f"{text}, {shown}" if shown.startswith("about") else f"{text} = {shown}"


def _pictures(judged: Judged, seconds: float) -> dict[str, Any]:
    """All that is asked beyond the certificate."""
    claim, profile = judged.claim, judged.profile.following()
    upper = judged.certificate["result"]["epsilon"]["upper"]
    farthest = max(claim.epsilon, Fraction(0 if upper == "inf" else upper), Fraction(1, 10))
    step = round_step(farthest * Fraction(3, 2) / POINTS)
    curve = delta_curve(profile, [step * i for i in range(int(farthest * Fraction(3, 2) / step) + 2)], seconds)
    trade = tradeoff_curve(profile, RATES, seconds) if len(curve) > 1 else []
    steps = step_curve(profile, claim.delta, PARTS, seconds) if judged.steps > 1 else []
    finite = [point for point in steps if not point.upper.is_infinite]
    line = f"claimed {_short(claim.epsilon_text)}"
    side = "lower" if judged.certificate["verdict"] == "refuted" else "upper"
    at_delta = judged.certificate["result"]["epsilon"][side]
    least = None if at_delta == "inf" else Fraction(at_delta)
    claimed = f"({_short(claim.epsilon_text)}, {_short(claim.delta_text)})"
    return {
        "delta_plot": plots.delta_plot(curve, claim.epsilon, claim.delta, claimed, least) if len(curve) > 1 else "",
        "delta_rows": [_row(point) for point in curve[:: POINTS // 8]],
        "tradeoff_plot": plots.tradeoff_plot(trade) if trade else "",
        "tradeoff_rows": [_row(point, 4) for point in trade if point.at in SHOWN_RATES],
        "advantage": _row(curve[0], 4) if curve and curve[0].at == 0 else None,
        "steps_plot": plots.steps_plot(finite, claim.epsilon, line) if finite else "",
        "steps_rows": [_row(point) for point in steps]}


def _peers(judged: Judged) -> Iterator[Peer]:
    claim, profile = judged.claim, judged.profile
    return ask_peers(Spec(profile.relation, profile.composition, claim), claim)


def _short(text: str) -> str:
    return text if len(text) <= 12 else text[:11] + "…"


def _row(point: Point, significant: int = 5) -> dict[str, str]:
    at = as_decimal(point.at, 4) if point.at.denominator > 1 else str(point.at)
    return {"at": at, "lower": decimal_down(point.lower, significant), "upper": decimal_up(point.upper, significant)}


def _errors(judged: Judged) -> dict[str, Any]:
    """The error budget of delta at the claimed epsilon, of the order that decides."""
    result = judged.certificate["result"]["delta"]
    deltas = [one for one in judged.certificate["evaluations"] if one["quantity"] == "delta"]
    deciding = next((one for one in deltas if one["order"] == result["order"]), deltas[0])
    sizes = dict(sorted(deciding["error_budget"].items()))
    drawn = any(size not in ("0", "inf") for size in sizes.values())
    return {"errors": sizes, "errors_plot": plots.bars_plot(sizes, result["upper"]) if drawn else ""}


def _compared(judged: Judged, methods: Sequence[str], seconds: float) -> Comparison | None:
    try:
        return compare(judged.profile, "delta", judged.claim.epsilon, methods, digits=4, max_seconds=seconds)
    except (Unsupported, Undecided, InvalidInput):
        return None


def _methods(found: Comparison | None, judged: Judged) -> dict[str, Any]:
    """A row per method, and the picture of their intervals."""
    rows, drawn = [], []
    for row in found.rows if found else ():
        if (enclosure := row.enclosure) is not None:
            low, high = decimal_down(enclosure.lower, 6), decimal_up(enclosure.upper, 6)
            rows.append({"method": row.method, "ends": {"lower": low, "upper": high}, "kind": "proved",
                         "width": enclosure.upper - enclosure.lower})
            drawn.append((row.method.split()[0], low, high, True))
        else:
            value = _cut(str(row.estimate))
            kind = "estimate, outside" if row.outside else "estimate"
            rows.append({"method": row.method, "ends": {"lower": value, "upper": value}, "kind": kind})
            drawn.append((row.method if len(row.method) < 20 else row.method.split()[-1], value, value, False))
    rows.sort(key=lambda row: (row["kind"] != "proved", row.get("width", 0)))
    unit = judged.certificate["result"]["delta"]["upper"]
    picture = plots.intervals_plot(drawn, rounded(unit, 4, up=True)) if drawn and unit != "0" else ""
    refused = found.refused if found else {}
    return {"method_rows": rows, "methods_plot": picture,
            "refused": [{"method": name, "reason": reason} for name, reason in refused.items()]}


def _cut(text: str) -> str:
    """An estimate with fewer digits, cut."""
    mantissa, e, power = text.partition("e")
    kept = len(mantissa) - len(mantissa.lstrip("-0.")) + 7
    return mantissa[:kept] + e + power


def _certificate(judged: Judged) -> dict[str, Any]:
    data = judged.data
    link = f"data:application/json;base64,{b64encode(data).decode()}" if len(data) <= _LARGEST else ""
    names = judged.certificate["theorems"]
    return {"sha256": judged.certificate["sha256"], "size": len(data), "certificate_link": link, "code": _code(data),
            "theorems": statements(names), "not_proved_here": not_proved_here(names),
            "versions": judged.certificate["versions"]}


def _code(data: bytes) -> tuple[tuple[str, int], ...]:
    """The files that a check loads, with their lines; none where it needs more time or memory than is allowed."""
    try:
        return trusted(data).files
    except Unsupported:
        return ()
