"""The versions that a certificate names: of this package, of the arithmetic, of Python."""

from __future__ import annotations

import platform
import sys

import flint

VERSIONS = ("verified-dp", "python-flint", "FLINT", "python")


def current_versions() -> dict[str, str]:
    """What runs here."""
    package = sys.modules["verified_dp"]  # loaded before any of its modules; importing it would point upwards
    found = (package.__version__, flint.__version__, flint.__FLINT_VERSION__, platform.python_version())
    return dict(zip(VERSIONS, found, strict=True))
