"""The command line: `verified-dp delta | epsilon | certify | verify`.

Arithmetic is imported inside functions: help and usage errors need none of it, and each command only its own.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

from verified_dp.cli.arguments import UsageError, attached, check_options, parser
from verified_dp.cli.inputs import named_files
from verified_dp.cli.output import INTERRUPTED, PIPE_CLOSED, UNDECIDED, WRONG, Failure, Output, complain
from verified_dp.core.kernel.errors import VerifiedDPError
from verified_dp.search.deadline import forget_stop


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. `argv` holds the arguments after the program's name."""
    arguments = attached(sys.argv[1:] if argv is None else argv)
    forget_stop()
    warnings.simplefilter("ignore", RuntimeWarning)  # of floating point in searches, which says nothing to people
    try:
        _accept_any_text()
        code = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        complain("verified-dp: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return PIPE_CLOSED
    except OSError as error:
        complain(f"verified-dp: cannot write the results: {error}")
        _drop_output()
        return UNDECIDED
    finally:
        forget_stop()
    return code


def _run(arguments: list[str]) -> int:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    out = Output(as_json="--json" in options)
    try:
        top = parser()
        check_options(arguments, top)
        args = top.parse_args(arguments)
        if (suffix := getattr(args, "suffix", None)) is not None:
            args.files = named_files(args.files, suffix)
        return int(args.run(args, out))
    except (UsageError, VerifiedDPError) as error:
        return out.error(error)
    except SystemExit as finished:  # argparse, after --help and --version
        return finished.code if isinstance(finished.code, int) else WRONG
    except OSError:
        raise
    except Exception as error:  # a traceback would exit with 1, which says "refuted"
        return out.error(Failure(error))


def _accept_any_text() -> None:
    """What a stream cannot encode is escaped, so that a title never stops a verdict."""
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Nothing more can be written: keep Python from trying, and complaining, when it exits."""
    with suppress(OSError, ValueError, AttributeError):  # standard output may be no file, or closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
