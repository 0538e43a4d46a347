"""`python -m verified_dp` is `verified-dp`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """The command line; Ctrl-C while it is still being loaded is one line, too."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices here are small: threads would only wait
    try:
        from verified_dp.cli import main as command

        return command()
    except KeyboardInterrupt:
        sys.stderr.write("verified-dp: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
