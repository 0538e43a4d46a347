"""verified-dp completion: what a shell has to read, on standard output."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from verified_dp.cli.output import ANSWERED, Output
from verified_dp.core.kernel.errors import InvalidInput

EXAMPLES = """\
examples:
  eval "$(verified-dp completion bash)"            # in ~/.bashrc
  eval "$(verified-dp completion zsh)"             # in ~/.zshrc
  verified-dp completion fish > ~/.config/fish/completions/verified-dp.fish"""


def add_completion(command: ArgumentParser, top: ArgumentParser) -> None:
    """The options; top: the parser of all commands."""
    command.set_defaults(run=run_completion, top=top)
    command.add_argument("shell", metavar="SHELL", help="bash, zsh or fish")


def run_completion(args: Namespace, out: Output) -> int:
    """verified-dp completion bash|zsh|fish"""
    from verified_dp.cli.shells import SHELLS, commands

    if args.shell not in SHELLS:
        raise InvalidInput("SHELL", args.shell, "one of " + ", ".join(SHELLS))
    out.write(SHELLS[args.shell](args.top.prog, list(commands(args.top))))
    return ANSWERED
