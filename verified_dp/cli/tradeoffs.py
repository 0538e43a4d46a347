"""verified-dp tradeoff: what the best attack on membership can reach, between proved bounds."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verified_dp.cli.inputs import load_spec
from verified_dp.cli.interrupts import best_so_far
from verified_dp.cli.limits import Limits
from verified_dp.cli.output import ANSWERED, Output, Row, for_each, schema
from verified_dp.terminal import Progress

if TYPE_CHECKING:
    from verified_dp.enclosure import Enclosure

EXAMPLES = """\
examples:
  verified-dp tradeoff claim.toml --fpr 0.01
  verified-dp tradeoff claim.toml --fpr 0.001,0.01,0.1 --prior 1/2 --digits 8 --json"""

RATES = ("fnr", "tpr", "bayes_factor")


@dataclass(frozen=True)
class Rates:
    """What is enclosed at one false positive rate, by name."""

    fpr: str
    found: dict[str, Enclosure]


def add(command: ArgumentParser) -> None:
    """The options of tradeoff."""
    command.set_defaults(run=run_tradeoff, set=[])
    command.add_argument("--fpr", required=True, metavar="A,...",
                         help="false positive rates in (0, 1); 0.1:0.9:9 is from 0.1 to 0.9, 9 of them")
    command.add_argument("--prior", metavar="P", help="also the probability that a positive is true, at this share")
    command.add_argument("--digits", metavar="N", help="significant digits to prove (6; fewer on a lattice)")
    command.add_argument("--table", default="text", metavar="FORM", help="text, markdown, latex or csv (text)")


def run_tradeoff(args: Namespace, out: Output) -> int:
    """verified-dp tradeoff SPEC... --fpr 0.01[,...] [--prior P]"""
    from verified_dp.cli.tables import table
    from verified_dp.questions.curve import read_points
    from verified_dp.questions.tradeoff import rate

    texts, limits = read_points(args.fpr, "fpr"), Limits.of(args)
    for text in texts:
        rate(text, "fpr")
    if args.prior is not None:
        rate(args.prior, "prior")
    table([], [], args.table)  # the form is known, before anything is computed

    def work(file: str) -> int:
        rates, advantage = _rates(file, texts, args.prior, limits)
        out.result(_row(rates, advantage, args.prior), lambda: _lines(rates, advantage, args.table, limits))
        return ANSWERED

    return for_each(args.files, work, out)


def _rates(file: str, texts: list[str], prior: str | None, limits: Limits) -> tuple[list[Rates], Enclosure]:
    from verified_dp.profile import privacy_profile
    from verified_dp.questions.tradeoff import DIGITS

    with Progress(file, limits.max_seconds) as progress, best_so_far():
        found = privacy_profile(load_spec(file), progress=progress).tradeoff(max_seconds=limits.max_seconds)
        rates, digits = [], limits.digits or DIGITS
        for text in texts:
            named = dict(zip(RATES, (found.beta(text, digits), found.tpr(text, digits),
                                     found.bayes_factor(text, digits)), strict=True))
            if prior is not None:
                named["posterior"] = found.posterior(text, prior, digits)
            rates.append(Rates(text, named))
        return rates, found.advantage(digits)


def _row(rates: list[Rates], advantage: Enclosure, prior: str | None) -> Row:
    """The object of tradeoff."""
    from verified_dp.cli.answers import ends

    points = [{"fpr": one.fpr, **{name: ends(found) for name, found in one.found.items()},
               "status": one.found["fnr"].status} for one in rates]
    given = {} if prior is None else {"prior": prior}
    return {"schema": schema("tradeoff"), "relation": advantage.relation, "tight": advantage.tight, **given,
            "points": points, "advantage": ends(advantage)}


def _lines(rates: list[Rates], advantage: Enclosure, form: str, limits: Limits) -> list[str]:
    from verified_dp.cli.tables import table
    from verified_dp.cli.text import assumed, field, rounded, standing_lines

    def shown(name: str, found: Enclosure) -> str:
        return str(found) if limits.digits is not None or limits.verbose else rounded(found, up=name != "fnr")

    head = ["fpr", *rates[0].found]
    lines = table(head, ([one.fpr, *(shown(*item) for item in one.found.items())] for one in rates), form)
    if form != "text":
        return lines
    lines += ["", f"advantage (largest tpr - fpr) = {shown('advantage', advantage)}, proved"]
    lines += standing_lines(advantage)
    if not limits.verbose:
        return [*lines, assumed(advantage.convention)]
    return [*lines, *field("relation", advantage.relation), *field("convention", advantage.convention)]
