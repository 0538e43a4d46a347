"""verified-dp attack: a statistical lower bound on epsilon from an attack on what was run, beside claim or account."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from verified_dp.cli.inputs import load_spec
from verified_dp.cli.limits import read_claim
from verified_dp.cli.output import ANSWERED, REFUTED, Output, store
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.terminal import Progress

if TYPE_CHECKING:
    from verified_dp.attack.result import StatisticalBound
    from verified_dp.enclosure import Enclosure

EXAMPLES = """\
examples:
  verified-dp attack --true-positives 95 --positives 100 --false-positives 3 --negatives 100 --delta 1e-5 --claim 2,1e-5
  verified-dp attack --held-in in.txt --held-out out.txt --selection bonferroni --delta 1e-5 --confidence 0.99
  verified-dp attack training.toml --one-run --canaries 1000 --guesses 200 --correct 190 --delta 1e-5 --html a.html"""

COUNTS = ("true_positives", "positives", "false_positives", "negatives")
RUN = ("canaries", "guesses", "correct")
SCORES = ("held_in", "held_out")


def add(command: ArgumentParser) -> None:
    """The options of attack."""
    command.set_defaults(run=run_attack)
    command.add_argument("file", nargs="?", metavar="SPEC", help="what was stated to be run: its whole curve is tested")
    for name, text in zip(COUNTS, ("times the test said in, with the record", "trials with the record",
                                   "times it said in, without the record", "trials without it"), strict=True):
        command.add_argument(_option(name), metavar="N", help=text)
    command.add_argument("--held-in", metavar="FILE", help="scores of canaries that were in, one a line")
    command.add_argument("--held-out", metavar="FILE", help="scores of canaries that were not")
    command.add_argument("--column", metavar="NAME", help="the scores' column, where the files are CSV")
    command.add_argument("--threshold", metavar="T", help="stated before the scores were seen: a score >= T says in")
    command.add_argument("--selection", metavar="RULE", help="instead: bonferroni, over all thresholds, or split")
    command.add_argument("--one-run", action="store_true", help="canaries that were in by fair coins, in one run")
    command.add_argument("--fdp", action="store_true", help="with --one-run: by trade-off functions, and bound mu")
    for name, text in zip(RUN, ("canaries in all", "guesses that were made, fixed before", "correct ones"),
                          strict=True):
        command.add_argument(_option(name), metavar="N", help=text)
    command.add_argument("--delta", required=True, metavar="D", help="bound epsilon at this delta, in [0, 1)")
    command.add_argument("--confidence", default="0.95", metavar="C", help="from 1/2 to 1 - 1e-12 (0.95)")
    command.add_argument("--claim", metavar="E,D", help="test this claim")
    command.add_argument("--html", metavar="FILE", help="write a page: claimed, accounted, attacked on one axis")


def run_attack(args: Namespace, out: Output) -> int:
    """verified-dp attack [SPEC] (counts | scores | --one-run ...) --delta D [--confidence C] [--claim E,D]"""
    with Progress("attack"):
        return _run(args, out)


def _run(args: Namespace, out: Output) -> int:
    from verified_dp.attack.result import read_delta
    from verified_dp.profile import privacy_profile

    if args.claim is not None and args.file is not None:
        raise InvalidInput("claim", args.claim, "left out beside a specification, whose curve is tested")
    spec = None if args.file is None else load_spec(args.file)
    profile, at = None if spec is None else privacy_profile(spec), read_delta(args.delta)
    found = _attack(args, profile if profile is not None else read_claim(args.claim))
    accounted = None if profile is None else profile.epsilon(at, 6)
    claimed = args.claim.partition(",")[0].strip() if args.claim else spec.claim.epsilon_text if spec and spec.claim \
        else None
    if args.html is not None:
        from verified_dp.attack.page import page

        title = spec.claim.title if spec and spec.claim and spec.claim.title else "An attack on what was run"
        store(args.html, page(found, title, claimed, accounted).encode(), "html")
    row = found.row() | ({} if accounted is None else {
        "accounted": {"lower": accounted.lower_decimal, "upper": accounted.upper_decimal}})
    out.result(row, lambda: _lines(found, args.delta, accounted))
    return REFUTED if found.claim == "contradicted" else ANSWERED


def _attack(args: Namespace, claim: Any) -> StatisticalBound:
    """What is asked for: exactly one of the three forms, all of its options and none of the others'."""
    from verified_dp import attack

    forms = {"counts": COUNTS, "scores": (*SCORES, "column", "threshold", "selection"), "run": (*RUN, "one_run", "fdp")}
    given = {form: [name for name in names if getattr(args, name) not in (None, False)]
             for form, names in forms.items()}
    chosen = [form for form, names in given.items() if names]
    if len(chosen) != 1:
        raise InvalidInput("arguments", " and ".join(chosen) or None,
                           "counts, scores (--held-in, --held-out) or --one-run")
    for name in {"counts": COUNTS, "scores": SCORES, "run": (*RUN, "one_run")}[chosen[0]]:
        if name not in given[chosen[0]]:
            raise InvalidInput(_option(name)[2:], None, "given")
    told = {"delta": args.delta, "confidence": args.confidence, "claim": claim}
    if chosen == ["counts"]:
        return attack.counts(*(_count(args, name) for name in COUNTS), **told)
    if chosen == ["run"]:
        ask = attack.one_run_tradeoff if args.fdp else attack.one_run
        return ask(*(_count(args, name) for name in RUN), **told)
    from verified_dp.attack.thresholds import read_scores, read_threshold

    held_in, held_out = (read_scores(file, args.column) for file in (args.held_in, args.held_out))
    return attack.scores(held_in, held_out, threshold=read_threshold(args.threshold), selection=args.selection, **told)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _count(args: Namespace, name: str) -> int:
    text = getattr(args, name)
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise InvalidInput(_option(name)[2:], text, "an integer from 0 to 10^9")
    return int(text)


def _lines(found: StatisticalBound, delta: str, accounted: Enclosure | None) -> list[str]:
    """For people: the verdict first."""
    from verified_dp.cli.text import field
    from verified_dp.core.kernel.dyadic import decimal_down

    first = f"epsilon >= {decimal_down(found.epsilon, 5)} at delta = {delta}, at confidence {found.confidence_text}"
    if found.verdict is not None:
        first = f"{found.verdict}: {found.claimed}\n{first}"
    return [*first.splitlines(),
            *([] if accounted is None else
              field("accounted", f"epsilon = {accounted.notation()} (proved, of what was stated)")),
            *([] if found.mu is None else field("gaussian", f"mu >= {decimal_down(found.mu, 5)}")),
            *field("from", ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in found.data.items())
                   + f"; {found.method}, threshold: {found.selection}"),
            *(line for text in found.assumptions for line in field("assumed", text))]
