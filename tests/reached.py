"""Which functions of core each test enters, and chosen tests in a chosen order: a plugin for tests/mutation.py.

    python -m pytest -p reached --reached build/reached.jsonl tests/core
    python -m pytest -p reached --only names.json tests/core/test_bounds.py

One line of JSON for every test that passed: its name, its seconds, and the functions as "file:qualified name". What an
earlier test left in a cache is entered by that test alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import pytest

ROOM = "verified_dp/core/"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reached", type=Path, help="append what each test enters to this file")
    parser.addoption("--only", type=Path, help="run the tests of this JSON list, in its order")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Names that are no longer there are passed over."""
    if (chosen := config.getoption("--only")) is not None:
        places = {test: place for place, test in enumerate(json.loads(chosen.read_text(encoding="utf-8")))}
        items[:] = sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])


def names(codes: set[CodeType], root: Path) -> list[str]:
    """The functions of core among these, without comprehensions and lambdas, which belong to theirs."""
    found = set()
    for code in codes:
        file = Path(code.co_filename)
        if file.is_relative_to(root) and str(file.relative_to(root)).startswith(ROOM):
            found.add(f"{file.relative_to(root)}:{code.co_qualname.partition('.<locals>.<')[0]}")
    return sorted(name for name in found if not name.endswith(">"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Fixtures belong to the first test that needs them."""
    out: Path | None = item.config.getoption("--reached")
    if out is None:
        return (yield)
    codes: set[CodeType] = set()

    def enter(frame: FrameType, event: str, argument: object) -> None:
        codes.add(frame.f_code)

    failed, start = item.session.testsfailed, time.process_time()
    sys.settrace(enter)
    try:
        done = yield
    finally:
        sys.settrace(None)
    if item.session.testsfailed == failed:
        row = {"test": item.nodeid, "seconds": round(time.process_time() - start, 3),
               "functions": names(codes, item.config.rootpath)}
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    return done
