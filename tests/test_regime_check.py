"""Random specifications of hard regimes, second routes and lists: a few of them, and that what is wrong is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from regimes import RELATIONS
from second_routes import enumerated

from verified_dp.core.families.finite.atomic import FiniteLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.profile import privacy_profile
from verified_dp.spec import parse_spec


@pytest.fixture(scope="module")
def tool(load: Callable[..., ModuleType]) -> ModuleType:
    found = load(Path(__file__).with_name("regime_check.py"))
    found.WRITE_SECONDS, found.ROUTE_SECONDS = 60.0, 3.0
    return found


@pytest.fixture(scope="module")
def lists(load: Callable[..., ModuleType]) -> ModuleType:
    return load(Path(__file__).with_name("list_check.py"))


def test_every_family_is_random_and_repeatable(tool: ModuleType) -> None:
    everything = ""
    for family in tool.FAMILIES:
        texts = [tool.specification(family, 1, n) for n in range(40)]
        assert texts[::4] == [tool.specification(family, 1, n) for n in range(0, 40, 4)] and len(set(texts)) > 30
        together = "\n".join(texts)
        assert sum(f'relation = "{one}"' in together for one in RELATIONS) >= 3 and 'epsilon = "0"' in together
        assert 'delta = "1e-300"' in together and ("count = 1\n" in together or family == "marked")
        everything += together
    assert 'probability = "1"' in everything and '"0"' in everything


@pytest.mark.parametrize(("family", "index", "kind"), [
    ("halves", 4, "halves"), ("shortened", 2, "shortened")])
def test_all_routes_meet_and_both_checkers_agree(family: str, index: int, kind: str, tool: ModuleType) -> None:
    row = tool.row(family, 1, index)
    assert kind in row["witnesses"] and row["met"] and not tool.is_wrong(row), row
    assert set(row["results"].values()) == {"valid"}


@pytest.mark.long
def test_a_witness_in_the_place_of_the_certificate_s_is_read(tool: ModuleType) -> None:
    assert tool.row("rays", 1, 17)["placed"]["rays"] == {"trusted": "valid", "independent": "valid"}


@pytest.mark.long
def test_what_the_independent_checker_refused(tool: ModuleType) -> None:
    """Nodes in no order, which the search chose."""
    row = tool.checked(tool._certify(tool.specification("marked", 1, 14), "auto", 3), None)
    assert "marked" in row["witnesses"] and set(row["results"].values()) == {"valid"}


def test_disjoint_enclosures_are_seen(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(loss: ComposedLoss, *given: object) -> list[object]:
        return [replace(one, ends=(Dyadic(1, -1), Dyadic(3, -2))) for one in ask(loss, *given)]

    ask = tool.all_routes
    monkeypatch.setattr(tool, "all_routes", wrong)
    row = tool.row("halves", 1, 1)
    assert row["missed"] and tool.is_wrong(row) and " | 1 | 1 | " in "\n".join(tool.report([row]))


def test_a_sum_over_all_outcomes_is_exact(tool: ModuleType) -> None:
    spec = parse_spec('relation = "remove"\n[[mechanism]]\nkind = "finite"\nP = ["3/4", "1/4"]\nQ = ["1/4", "3/4"]\n'
                      'count = 2\n[claim]\nepsilon = "0"\ndelta = "1e-3"\n')
    loss = privacy_profile(spec).losses[0]
    assert all(isinstance(law, FiniteLoss) for law, _ in loss.parts)
    assert enumerated(loss, spec.claim.epsilon).ends == (Dyadic(1, -1), Dyadic(1, -1))  # type: ignore[union-attr]


def test_lists_meet_single_questions(lists: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    row = lists.row(1, 0)
    assert 20 <= row["met"] <= row["places"] and not row["slow"] and not lists.is_wrong(row)
    monkeypatch.setattr(lists, "SINGLE_DIGITS", 12)
    ask = lists.privacy_profile

    def moved(*given: object) -> object:
        own = ask(*given).delta
        return SimpleNamespace(
            delta=lambda at, digits: own(at if isinstance(at, list) else f"{float(at) + .1}", digits))

    monkeypatch.setattr(lists, "privacy_profile", moved)
    assert lists.is_wrong(found := lists.row(1, 0)) and len(found["missed"]) > 10
