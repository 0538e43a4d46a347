"""Golden certificates: a tenth in every run, all with `make golden`."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from golden import differs, ends_of, golden, names_in

from verified_dp import Relation
from verified_dp.core.engines.table import EARLIER, HOMES
from verified_dp.core.families.table import ALL_RELEASES, SCHEMES

SLOW = ("step 11 replace 3",)
"""What takes seconds: only `make golden` checks it."""


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    return golden()


def test_a_tenth_is_as_it_was(lines: list[dict[str, Any]]) -> None:
    chosen = random.Random(29).sample(lines, len(lines) // 10)
    assert {line["name"]: what for line in chosen if line["name"] not in SLOW and (what := differs(line))} == {}


@pytest.mark.long
def test_all_are_as_they_were(lines: list[dict[str, Any]]) -> None:
    assert {line["name"]: what for line in lines if (what := differs(line))} == {}


def test_every_kind_is_among_them(lines: list[dict[str, Any]]) -> None:
    """New mechanisms, witnesses, schemes and relations need a golden certificate; earlier witnesses keep theirs."""
    found = {pair for line in lines for pair in names_in(line["certificate"])}
    kinds = {name for key, name in found if key == "kind"}
    assert kinds >= {"gaussian", "composition", *ALL_RELEASES, *HOMES, *EARLIER}
    assert {name for key, name in found if key == "scheme"} == set(SCHEMES)
    assert {name for key, name in found if key == "relation"} == set(Relation)
    assert ("group_size", "more") in found
    assert {line["certificate"]["verdict"] for line in lines} == {"proved", "refuted", "undecided"}


def test_another_end_is_seen(lines: list[dict[str, Any]]) -> None:
    """One more bit of a witness, a narrower enclosure."""
    line = copy.deepcopy(next(
        line for line in lines if line["certificate"]["evaluations"][0]["witness"]["kind"] == "line"))
    assert differs(line) == ""
    witness = line["certificate"]["evaluations"][0]["witness"]
    witness["prec"] += 1
    assert ends_of(line["certificate"]) != line["ends"]
    witness["prec"] -= 1
    enclosure = line["certificate"]["evaluations"][0]["enclosure"]
    enclosure["upper"], enclosure["upper_decimal"] = enclosure["lower"], enclosure["lower_decimal"]
    assert differs(line).startswith("invalid: evaluations[0]")
