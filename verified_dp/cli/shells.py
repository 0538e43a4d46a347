"""verified-dp completion: what a shell has to read to complete commands, options and the values that are known."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from verified_dp.cli.output import ANSWERED, Output
from verified_dp.core.kernel.errors import InvalidInput

EXAMPLES = """\
examples:
  eval "$(verified-dp completion bash)"            # in ~/.bashrc
  eval "$(verified-dp completion zsh)"             # in ~/.zshrc
  verified-dp completion fish > ~/.config/fish/completions/verified-dp.fish"""


@dataclass(frozen=True)
class Option:
    """An option with what it says of itself; values: the words it takes, None where it takes none, () for others."""

    name: str
    help: str
    values: tuple[str, ...] | None


@dataclass(frozen=True)
class Command:
    """A command, "delta" or "ledger init"; leaves: the words that may follow it."""

    name: str
    help: str
    options: tuple[Option, ...]
    leaves: tuple[str, ...]


def commands(parser: ArgumentParser, name: str = "", words: str = "") -> Iterator[Command]:
    """The parser's command and those below it, the program itself first, with the name ""."""
    known, below = known_values(), [one for one in parser._actions if isinstance(one, _SubParsersAction)]
    options = tuple(Option(flag, one.help or "", None if one.nargs == 0 else
                           tuple(one.choices or known.get(one.dest, ())))
                    for one in parser._actions for flag in one.option_strings if flag.startswith("--"))
    leaves = [word for one in below for word in one.choices]
    leaves += [word for one in parser._actions if one.dest == "shell" for word in SHELLS]
    yield Command(name, words, options, tuple(leaves))
    for one in below:
        summaries = {choice.dest: choice.help or "" for choice in one._choices_actions}
        for word, inner in one.choices.items():
            yield from commands(inner, f"{name} {word}".strip(), summaries.get(word, ""))


def known_values() -> Mapping[str, tuple[str, ...]]:
    """dest of an option -> its values."""
    from verified_dp.calibration import PARAMETERS
    from verified_dp.cli.ledger import KINDS
    from verified_dp.cli.tables import FORMS
    from verified_dp.core.kernel.composition import Relation
    from verified_dp.papers.paper import PAPER_METHODS
    from verified_dp.profile import METHODS
    from verified_dp.questions.statement import FORMATS
    from verified_dp.questions.training import SCHEMES

    return {"method": (*METHODS, *PAPER_METHODS), "methods": (*METHODS, *PAPER_METHODS), "table": tuple(FORMS),
            "format": FORMATS, "relation": tuple(Relation), "sampling": tuple(SCHEMES), "solve": tuple(PARAMETERS),
            "kind": KINDS}


def bash(program: str, known: list[Command]) -> list[str]:
    """A function for `complete`; where it has nothing to say, the shell completes names of files."""
    taking = [(f"{one.name} {option.name}".strip(), option.values)
              for one in known for option in one.options if option.values]
    function = "_" + program.replace("-", "_")
    return [
        f"{function}() {{",
        '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" command="" options leaves',
        '  if [ "$COMP_CWORD" -gt 1 ]; then command="${COMP_WORDS[1]}"; fi',
        '  if [ "$command" = ledger ] && [ "$COMP_CWORD" -gt 2 ]; then command="ledger ${COMP_WORDS[2]}"; fi',
        "  COMPREPLY=()",
        '  case "$command $previous" in',
        *(f'    "{words}") COMPREPLY=($(compgen -W "{" ".join(values)}" -- "$current")); return;;'
          for words, values in taking),
        "  esac",
        '  case "$command" in',
        *(f'    "{one.name}") options="{" ".join(option.name for option in one.options)}" '
          f'leaves="{" ".join(one.leaves)}";;' for one in known),
        "  esac",
        '  case "$current" in',
        '    -*) COMPREPLY=($(compgen -W "$options" -- "$current"));;',
        '    *) COMPREPLY=($(compgen -W "$leaves" -- "$current"));;',
        "  esac",
        "}",
        f"complete -o default -F {function} {program}"]


def zsh(program: str, known: list[Command]) -> list[str]:
    """The same function: zsh understands bash's completions."""
    return ["autoload -U +X compinit && compinit -i", "autoload -U +X bashcompinit && bashcompinit",
            *bash(program, known)]


def fish(program: str, known: list[Command]) -> list[str]:
    """One line for each command and option."""
    found = []
    for one in known:
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in one.name.split())
        here = f'complete -c {program} -n "{seen or "__fish_use_subcommand"}"'
        below = {other.name: other.help for other in known}
        for leaf in one.leaves:
            words = below.get(f"{one.name} {leaf}".strip(), "")
            found.append(f"{here} -f -a {leaf} -d {_quoted(words)}")
        for option in one.options:
            words = f' -x -a "{" ".join(option.values)}"' if option.values else " -r"
            takes = "" if option.values is None else words
            found.append(f"{here} -l {option.name.removeprefix('--')}{takes} -d {_quoted(option.help)}")
    return found


def _quoted(words: str) -> str:
    return "'" + words.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: Mapping[str, Callable[[str, list[Command]], list[str]]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""shell -> what it has to read."""


def add(command: ArgumentParser) -> None:
    """The options; `top`, the parser of all commands, is set beside them."""
    command.set_defaults(run=run_completion)
    command.add_argument("shell", metavar="SHELL", help="bash, zsh or fish")


def run_completion(args: Namespace, out: Output) -> int:
    """verified-dp completion bash|zsh|fish"""
    if args.shell not in SHELLS:
        raise InvalidInput("SHELL", args.shell, "one of " + ", ".join(SHELLS))
    out.write(SHELLS[args.shell](args.top.prog, list(commands(args.top))))
    return ANSWERED
