"""The documents as a site, from a disk: nothing is clipped or faint, tables of claims are chosen from, search finds.

Needs build/site, playwright and the system's Chromium: `make pages`. VERIFIED_DP_SCREENSHOTS as for tests/report.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.pages
ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "site"
MEASURE = (ROOT / "tests" / "report" / "measure.js").read_text(encoding="utf-8")
NAMES = sorted(path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md"))


def opened(browser: Any, name: str, width: int = 1280, scheme: str = "light") -> tuple[Any, list[str]]:
    """A page of the site without a network, and what it complains of."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    tab, complaints = context.new_page(), list[str]()
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.goto((SITE / f"{name}.html").as_uri())
    return tab, complaints


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_read(name: str, width: int, scheme: str, browser: Any) -> None:
    tab, complaints = opened(browser, name, width, scheme)
    found = tab.evaluate(MEASURE, ".md-content article")
    red = int(tab.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"))
    assert (red < 100) == (scheme == "dark")
    if folder := os.environ.get("VERIFIED_DP_SCREENSHOTS"):
        tab.screenshot(path=Path(folder, f"site-{name.replace('/', '-')}-{width}-{scheme}.png"), full_page=True)
    tab.context.close()
    assert found == {"overlaps": [], "wide": [], "faint": [], "unnamed": [], "texts": found["texts"]}
    assert found["texts"] >= 10 and complaints == []


@pytest.mark.parametrize("width", [390, 1280])
def test_audit_is_short_at_first_and_can_be_chosen_from(width: int, browser: Any) -> None:
    tab, _ = opened(browser, "audit", width)
    assert tab.evaluate("document.documentElement.scrollHeight") <= 3000
    rows = tab.locator(".claims tbody tr:visible")
    assert "deployment" in rows.first.inner_text()
    tab.get_by_label("Verdict").select_option("refuted")
    tab.get_by_label("Kind").select_option("paper")
    found = rows.all_inner_texts()
    assert 1 <= len(found) < 10 and all("refuted" in text and "paper" in text for text in found)
    tab.context.close()


def test_start_has_three_doors_each_with_its_five_minutes(browser: Any) -> None:
    tab, _ = opened(browser, "index")
    cards = tab.locator(".grid.cards > ul > li")
    links = cards.evaluate_all("cards => cards.map(card => card.querySelector('a').getAttribute('href'))")
    assert links == ["five-audit.html", "five-training.html", "five-tiny.html"]
    tab.context.close()


def test_search_works_from_a_disk(browser: Any) -> None:
    tab, complaints = opened(browser, "index")
    tab.keyboard.press("/")
    tab.keyboard.insert_text("zero-concentrated")  # typed, "zero-" is looked for on the way, which is no query
    tab.wait_for_selector(".md-search-result__item")
    assert "zcdp" in tab.inner_text(".md-search-result__list").lower() and complaints == []
    tab.context.close()
