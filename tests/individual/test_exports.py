"""What verified_dp.individual offers by name, and that naming it costs nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from verified_dp import individual


@pytest.mark.parametrize("module", individual._HOMES)
def test_names_are_those_of_their_modules(module: str) -> None:
    home = import_module(f"verified_dp.individual.{module}")
    for name in individual._HOMES[module]:
        assert getattr(individual, name) is getattr(home, name)


def test_the_three_lists_agree() -> None:
    names = sorted(name for home in individual._HOMES.values() for name in home)
    tree = ast.parse(Path(str(individual.__file__)).read_text(encoding="utf-8"))
    typed = {node.module: [alias.name for alias in node.names] for block in tree.body if isinstance(block, ast.If)
             for node in block.body if isinstance(node, ast.ImportFrom)}
    assert typed == {f"verified_dp.individual.{home}": list(found) for home, found in individual._HOMES.items()}
    assert names == sorted(individual.__all__) and set(names) <= set(dir(individual))


def test_other_names_are_no_attributes() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        individual.nothing  # noqa: B018


def test_the_package_loads_no_arrays_before_they_are_used() -> None:
    code = "import sys, verified_dp, verified_dp.individual; print('numpy' in sys.modules, 'duckdb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["False", "False"]
