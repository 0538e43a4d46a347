"""What the lazy packages offer by name, that types and names agree, and that naming them costs nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import verified_dp
from verified_dp import adaptive, individual


def typed(package: ModuleType) -> dict[str, str]:
    """Name -> module, as the package's stub says."""
    tree = ast.parse(Path(str(package.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
    return {alias.name: str(node.module) for node in imports for alias in node.names}


@pytest.mark.parametrize("package", [verified_dp, adaptive, individual], ids=lambda package: package.__name__)
def test_names_are_those_of_the_stub_and_of_their_modules(package: ModuleType) -> None:
    homes, elsewhere = typed(package), getattr(package, "_ELSEWHERE", frozenset())
    assert len(homes) > 10 and set(homes) - elsewhere == set(package.__all__) - {"__version__"} <= set(dir(package))
    for name, home in homes.items():
        module = import_module(home)
        assert getattr(package, name) is getattr(module, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        package.nothing  # noqa: B018


def test_every_kind_has_one_place() -> None:
    """Mechanisms and schemes of the tables, and no name at the top level that is only a paper's."""
    from verified_dp import mechanisms
    from verified_dp.core.families.table import ALL_RELEASES, SCHEMES

    kinds = {kind.__name__ for kind in (*ALL_RELEASES.values(), *SCHEMES.values())} - {"Composition"}
    assert kinds <= set(mechanisms.__all__) and len(verified_dp.__all__) <= 40


def test_the_packages_load_no_arrays_before_they_are_used() -> None:
    code = "import sys, verified_dp, verified_dp.individual; print('numpy' in sys.modules, 'duckdb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["False", "False"]
