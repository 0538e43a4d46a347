"""What is shipped beside the code, and what the extras promise."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import verified_dp

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_citation_names_this_version() -> None:
    stated = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert stated is not None and stated[1] == PROJECT["version"] == verified_dp.__version__


def test_the_source_distribution_holds_what_the_page_and_the_proofs_need() -> None:
    lines = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()
    named = {name for line in lines if line.startswith(("include", "graft")) for name in line.split()[1:]}
    assert named >= {"Makefile", "proofs", "examples", "tests", "docs", "SECURITY.md", "CITATION.cff", "LICENSE"}
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_all_is_every_extra_of_users_but_spark_and_opacus() -> None:
    extras = PROJECT["optional-dependencies"]
    users = set(extras) & {"individual", "plot", "report", "registry", "dp-accounting"}
    assert set(extras["all"]) == {requirement for extra in users for requirement in extras[extra]}


def test_peers_are_pinned() -> None:
    named = PROJECT["optional-dependencies"]["peers"]
    assert all("==" in requirement for requirement in named if not requirement.startswith(("pytest", "hypothesis")))
