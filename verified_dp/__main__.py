"""`python -m verified_dp` is `verified-dp`."""

import sys

from verified_dp.cli import main

if __name__ == "__main__":
    sys.exit(main())
