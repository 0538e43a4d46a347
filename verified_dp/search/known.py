"""Whether a law is of a class of a family, without loading the family: where its file is not loaded, no law is."""

from __future__ import annotations

import sys


def is_a(law: object, home: str) -> bool:
    """home: FILE:CLASS, the file below `core.families`."""
    file, name = home.split(":")
    module = sys.modules.get(f"verified_dp.core.families.{file}")
    return module is not None and isinstance(law, getattr(module, name))
