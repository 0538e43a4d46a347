"""The versions that a certificate names: of this package, of the arithmetic, of Python."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import flint

VERSIONS = ("verified-dp", "python-flint", "FLINT", "python")


@cache
def _package_version() -> str:
    try:
        return version("verified-dp")
    except PackageNotFoundError:
        return "not installed"


def current_versions() -> dict[str, str]:
    """What runs here."""
    found = (_package_version(), flint.__version__, flint.__FLINT_VERSION__, platform.python_version())
    return dict(zip(VERSIONS, found, strict=True))
