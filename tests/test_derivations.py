"""The algebra of the proofs, redone by sympy; every claim is also seen to fail when changed."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

PROOFS = Path(__file__).resolve().parents[1] / "proofs"
SCRIPTS = sorted(path for path in (PROOFS / "derivations").glob("*.py") if path.stem != "identities")


@pytest.fixture
def identities(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The helper of the scripts, and their folder on the path."""
    monkeypatch.syspath_prepend(str(PROOFS / "derivations"))
    return runpy.run_path(str(PROOFS / "derivations" / "identities.py"))


SLOW = {"bromwich_kernel", "pairs_and_transforms", "saddle_series", "shifted_line", "single_step"}


@pytest.mark.parametrize("script", [pytest.param(path, marks=[pytest.mark.long] if path.stem in SLOW else [],
                                                 id=path.stem) for path in SCRIPTS])
def test_identities_hold(script: Path, identities: dict[str, Any]) -> None:
    module = runpy.run_path(str(script))
    assert identities["check"](module["claims"]()) >= 3
    assert all(len([*PROOFS.glob(f"*/{name}.md")]) == 1 for name in module["THEOREMS"])


def test_a_false_identity_is_refused(identities: dict[str, Any]) -> None:
    import sympy

    x = sympy.symbols("x", positive=True)
    with pytest.raises(AssertionError, match="not an identity: sign"):
        identities["check"]([("sign", sympy.sin(x) ** 2, sympy.cos(x) ** 2 - 1)])
    with pytest.raises(AssertionError, match="no claims"):
        identities["check"]([])
