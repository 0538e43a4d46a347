"""What may be typed: commands, options, their checks and their help."""

from __future__ import annotations

from argparse import Action, ArgumentError, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any, NoReturn

from verified_dp import __version__
from verified_dp.cli import attacking, calibrating, curves, ledger, shells, stating, tradeoffs, training
from verified_dp.cli.commands import run_answer, run_certify, run_verify
from verified_dp.cli.comparing import run_compare
from verified_dp.cli.converting import REGISTRY, SOURCES, run_convert

PROGRAM = "verified-dp"

_MORE = """\
more commands: ledger (a privacy filter or odometer in a file), completion (for a shell)."""
_EXIT_CODES = """\
exit codes:
  0  answered, proved, or valid; 1  refuted, or an invalid certificate;
  2  wrong input; 3  undecided or unsupported.
  Of several inputs: 2 if any is wrong, else 1, else 3, else 0."""

_EXAMPLES = {
    "delta": """\
examples:
  verified-dp delta claim.toml --epsilon 3.01
  verified-dp delta claim.toml --epsilon -1/2 --digits 30 --json""",
    "epsilon": """\
examples:
  verified-dp epsilon claim.toml --delta 1e-5
  verified-dp epsilon claim.toml --delta 1/60000 --digits 30 --json""",
    "compare": """\
examples:
  verified-dp compare claim.toml --epsilon 1
  verified-dp compare claim.toml --delta 1e-5 --methods auto,prv,fourier --set fourier.n=50000 --json""",
    "certify": """\
examples:
  verified-dp certify claim.toml
  verified-dp certify claims/*.toml --out certificates --json
  verified-dp certify certificates/*.json --html audit.html""",
    "verify": """\
examples:
  verified-dp verify certificates/claim.json
  verified-dp verify --independent certificates/*.json""",
    "convert": """\
examples:
  verified-dp convert history.json --from opacus > training.toml
  verified-dp convert history.json --from opacus --delta 1e-5 | verified-dp certify - --out certificates
  verified-dp convert event.json --from dp-accounting --relation replace
  verified-dp convert entry.yaml --from registry > claim.toml
  verified-dp convert claim.toml --to registry > entry.yaml""",
}
"""Of the commands whose options stand here."""


class UsageError(Exception):
    """Arguments that are no call of the program; `key` is the option concerned."""

    def __init__(self, message: str, program: str) -> None:
        super().__init__(message, program)
        option = next((word for word in message.split() if word.startswith("-")), "arguments")
        self.key = option.lstrip("-").partition("=")[0].rstrip(":,")

    def __str__(self) -> str:
        message, program = self.args
        return f"{message} (see {program} --help)"


class _Once(Action):
    """Stores a value, or that the option is there, and refuses an option given twice: which one was meant?"""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        given: frozenset[str] = getattr(namespace, "given", frozenset())
        if option is not None and self.dest in given:
            raise ArgumentError(self, "given twice")
        namespace.given = given | {self.dest}
        setattr(namespace, self.dest, True if self.nargs == 0 else values)


def _flag(*args: Any, **kwargs: Any) -> _Once:
    return _Once(*args, **{"default": False, "nargs": 0, **kwargs})


class _Parser(ArgumentParser):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, action in ((None, _Once), ("store", _Once), ("store_true", _flag)):
            self.register("action", name, action)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self.prog)


OTHER_NAMES = {
    "--noise-multiplier": "--noise --noise-scale --noise-level --sigma --std --nm",
    "--sampling-probability": "--sample-rate --sampling-rate --sample-probability --rate --q",
    "--batch-size": "--batch --lot-size --lot --bs --batchsize",
    "--dataset-size": "--n --num-examples --number-of-examples --records --num-records --train-size --size",
    "--steps": "--iterations --num-steps --step --compositions --count",
    "--epochs": "--num-epochs --epoch", "--epsilon": "--eps --target-eps", "--delta": "--target-delta",
    "--target-epsilon": "--target-eps --target",
    "--relation": "--adjacency --neighbours --neighbors --neighboring-relation",
    "--sampling": "--sampler --scheme --sampling-scheme", "--max-seconds": "--timeout --time --seconds",
    "--out": "--output --output-dir --certificates", "--html": "--page --report", "--claim": "--claimed",
}
"""An option -> what other programs call it."""


def check_options(arguments: list[str], top: ArgumentParser) -> None:
    """UsageError for an option that the command does not have, with the one that was meant."""
    from difflib import get_close_matches

    commands = next(one.choices for one in top._actions if isinstance(one.choices, dict))
    command = commands.get(arguments[0]) if arguments else None
    if arguments[:1] == ["report"]:
        raise UsageError("report is a part of certify: write certify FILE... --html PAGE", PROGRAM)
    if command is None or arguments[0] == "ledger":
        return
    known = command._option_string_actions
    for word in (arguments[: arguments.index("--")] if "--" in arguments else arguments)[1:]:
        name = word.partition("=")[0]
        if not name.startswith("--") or name in known:
            continue
        meant = [option for option, names in OTHER_NAMES.items() if option in known and name in names.split()]
        near = meant or [f"--{one}" for one in get_close_matches(name[2:], [option[2:] for option in known], 1)]
        advice = f": write {near[0]}" if near else ""
        if command.prog.endswith(" certify") and name in ("--epsilon", "--delta"):
            advice = ": write a [claim] table with epsilon and delta into the file"
        raise UsageError(f"unrecognized option {name}{advice}", command.prog)


_VALUED = ("--epsilon", "--delta", "--digits", "--method", "--max-seconds", "--set", "--claim", "--fpr", "--prior",
           "--noise-multiplier", "--sampling-probability", "--batch-size", "--dataset-size", "--steps", "--epochs",
           "--target-epsilon", "--threshold")


def attached(arguments: Iterable[str]) -> list[str]:
    """The arguments with negative numbers attached to their option: argparse takes "-1/2" for an option.

    >>> attached(["delta", "spec.toml", "--epsilon", "-1/2", "--json"])
    ['delta', 'spec.toml', '--epsilon=-1/2', '--json']
    """
    found: list[str] = []
    for word in arguments:
        if found and found[-1] in _VALUED and word.startswith("-") and not word.startswith("--"):
            found[-1] += f"={word}"
        else:
            found.append(word)
    return found


def parser() -> ArgumentParser:
    """The parser of all commands; the namespace it returns has the command's function as `run`."""
    top = _Parser(prog=PROGRAM, allow_abbrev=False, formatter_class=RawDescriptionHelpFormatter,
                  description="Differential-privacy accounting with proved digits.",
                  epilog=f"{_MORE}\n\n{_EXIT_CODES}")
    top.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, summary: str, *options: Callable[[ArgumentParser], None] | ModuleType) -> ArgumentParser:
        """options: what adds some, in this order; a module has examples, too."""
        listed: dict[str, Any] = {} if name == "completion" else {"help": summary}
        examples = next((one.EXAMPLES for one in options if isinstance(one, ModuleType)), _EXAMPLES.get(name))
        made = commands.add_parser(
            name, **listed, description=f"{summary[0].upper()}{summary[1:]}.", allow_abbrev=False,
            formatter_class=RawDescriptionHelpFormatter, epilog=f"{examples}\n\n{_EXIT_CODES}")
        for one in options:
            (one.add if isinstance(one, ModuleType) else one)(made)
        return made

    command("dpsgd", "answer for a training by DP-SGD, stated in one line", training, _limits, _verbose)
    command("delta", "enclose delta at a given epsilon", _files, _delta, _numeric, _verbose)
    command("epsilon", "enclose the smallest epsilon at a given delta", _files, _epsilon, _numeric, _verbose)
    command("curve", "enclose delta at many epsilons, or epsilon at many deltas", _files, curves, _limits)
    command("tradeoff", "enclose false negative rates of every test that tells neighbours apart", _files, tradeoffs,
            partial(_limits, text="for each file: past it the rates are as wide as what is proved until then"),
            _verbose)
    command("calibrate", "find the parameter that just meets a target", _files, calibrating, partial(
        _limits, text="for each file: past it the best value proved until then, and the nearest that misses"),
        _verbose)
    command("compare", "put one question to every method that applies", _files, _compare)
    command("certify", "prove or refute claims, and write certificates", _certify, _numeric, _verbose)
    command("verify", "check certificates", _verify, _json)
    command("attack", "bound epsilon from below by an attack on what was run", attacking, _json)
    command("convert", "write another library's history, or a registry's entry, as a specification", _convert, _json)
    command("statement", "write the paragraph that a certificate supports", stating, _json)
    ledger.add_ledger(commands.add_parser(
        "ledger", allow_abbrev=False, description="Keep a privacy filter or odometer in a file.",
        formatter_class=RawDescriptionHelpFormatter, epilog=ledger.EXAMPLES))
    command("completion", "write what a shell needs to complete this program's words", shells).set_defaults(top=top)
    return top


def _files(command: ArgumentParser) -> None:
    command.set_defaults(suffix=".toml")
    command.add_argument("files", nargs="+", metavar="SPEC", help="specification (TOML), a folder of them, or - for "
                         "standard input")


def _delta(command: ArgumentParser) -> None:
    command.set_defaults(run=run_answer)
    command.add_argument("--epsilon", required=True, metavar="E",
                         help="any rational number, taken exactly: 1.5, 1/3, -1e-3")


def _epsilon(command: ArgumentParser) -> None:
    command.set_defaults(run=run_answer)
    command.add_argument("--delta", required=True, metavar="D",
                         help="a rational number between 0 and 1, taken exactly: 1e-5, 1/60000")


def _compare(command: ArgumentParser) -> None:
    command.set_defaults(run=run_compare)
    at = command.add_mutually_exclusive_group(required=True)
    at.add_argument("--epsilon", metavar="E", help="compare delta at this epsilon, any rational number")
    at.add_argument("--delta", metavar="D", help="compare epsilon at this delta, between 0 and 1")
    command.add_argument("--methods", metavar="M,...", help="only these, with commas between them (all that apply)")
    command.add_argument("--digits", metavar="N", help="significant digits to prove (12; 4 of a paper's method)")
    _settings(command, "METHOD.KEY=VALUE", "a parameter of one method, for example fourier.n=50000; may be repeated")
    _limits(command, "of each method: its row comes after about S seconds, with what it has proved until then")


def _certify(command: ArgumentParser) -> None:
    command.set_defaults(run=run_certify, suffix=".toml")
    command.add_argument("files", nargs="+", metavar="CLAIM", help="specification with a [claim] (TOML), a folder of "
                         "them, or -; a certificate (.json), which is checked and told again; or entries of the "
                         "registry of deployments (.yaml)")
    command.add_argument("--out", metavar="DIR", help="write the certificate of NAME.toml to DIR/NAME.json")
    command.add_argument("--html", metavar="FILE", help="write a page there; of several claims an index, and "
                         "their pages in a folder beside it")
    command.add_argument("--methods", metavar="M,...", help="on the page, compare these only, with commas between "
                         "them (all, and other accountants that are installed)")
    command.add_argument("--formal", action="store_true",
                         help="add a part that a checker extracted from Coq can check (verify --formal)")
    command.add_argument("--table", metavar="FORM", help="one table of all claims: text, markdown, latex or csv")
    command.add_argument("--jobs", metavar="N", help="processes to judge with (1)")


def _verify(command: ArgumentParser) -> None:
    command.set_defaults(run=run_verify, suffix=".json")
    command.add_argument("files", nargs="+", metavar="CERT", help="certificate (JSON), a folder of them, or -")
    command.add_argument("--independent", action="store_true",
                         help="check once more, with code and arithmetic of its own")
    command.add_argument("--formal", action="store_true",
                         help="check the formal part too, with the checker extracted from Coq (make proofs)")
    command.add_argument("--formal-checker", metavar="PROGRAM",
                         help="run this program for --formal, instead of the one that make proofs built")
    command.add_argument("--trust", action="store_true",
                         help="say what the verdict rests on: files and their lines, theorems, what is not proved here")
    command.add_argument("--max-seconds", metavar="S", help="processor time for each certificate (10)")
    command.add_argument("--max-memory", metavar="MB", help="megabytes for each certificate (512)")


def _convert(command: ArgumentParser) -> None:
    command.set_defaults(run=run_convert)
    command.add_argument("file", metavar="FILE", help="history, event or arguments (JSON), an entry of the registry of "
                         "deployments (YAML); with --to a specification (TOML)")
    ways = command.add_mutually_exclusive_group(required=True)
    ways.add_argument("--to", dest="target", choices=(REGISTRY,), help="write a specification as an entry instead")
    ways.add_argument("--from", dest="source", choices=(*SOURCES, REGISTRY), help="the library whose file it is")
    command.add_argument("--relation", default="add-or-remove", metavar="R", help="of the neighbours (add-or-remove)")
    command.add_argument("--sampling", choices=("poisson", "shuffled"), help="how an Opacus training drew its batches, "
                         "which its history does not say (Poisson samples are taken for granted)")
    command.add_argument("--delta", metavar="D", help="claim the epsilon that is proved at this delta, rounded up")


def _numeric(command: ArgumentParser) -> None:
    command.add_argument("--digits", metavar="N",
                         help="significant digits to prove (12; 4 where only the lattice or a paper's method applies)")
    command.add_argument("--method", default="auto", metavar="M",
                         help="auto, closed-form, contour, lattice, or a paper's: fourier, prv, saddlepoint, "
                              "berry-esseen, edgeworth, renyi, buckets (auto)")
    _settings(command, "KEY=VALUE", "a parameter of the paper's method, for example n=50000; may be repeated")
    _limits(command)


def _settings(command: ArgumentParser, form: str, text: str) -> None:
    command.add_argument("--set", action="append", default=[], metavar=form, help=text)


def _limits(command: ArgumentParser,
            text: str = "stop refining after about S seconds; what is proved until then is the answer") -> None:
    command.add_argument("--max-seconds", metavar="S", help=text)
    _json(command)


def _verbose(command: ArgumentParser) -> None:
    command.add_argument("-v", "--verbose", action="store_true",
                         help="print both ends, the method, sources of error and all assumptions")


def _json(command: ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object per line")
