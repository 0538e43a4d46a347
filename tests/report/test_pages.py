"""Pages in a real browser, offline: nothing but the file is asked for, nothing overlaps, all can be read.

Needs Chromium of the system (Debian: chromium) and playwright; `make pages` runs it. With VERIFIED_DP_SCREENSHOTS set
to a folder, screenshots are kept there to be looked at.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from verified_dp.cli import main

pytestmark = pytest.mark.pages
WIDTHS = (390, 1280)
FOLDER = Path(__file__).parent / "claims"
CLAIMS = sorted(path.stem for path in FOLDER.glob("*.toml"))
MEASURE = (Path(__file__).parent / "measure.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each claim, and their index."""
    folder = tmp_path_factory.mktemp("pages")
    methods = "closed-form,contour,berry-esseen,edgeworth,renyi,saddlepoint"
    options = ["--max-seconds", "4", "--methods", methods]
    assert main(["certify", str(FOLDER), "--html", str(folder / "all.html"), *options]) == 1  # one claim is refuted
    return {path.stem: path for path in (folder / "all.html", *sorted((folder / "all").glob("*.html")))}


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["all", *CLAIMS])
def test_page(name: str, width: int, scheme: str, script: bool, pages: dict[str, Path], browser: Any) -> None:
    address = pages[name].as_uri()
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    tab = context.new_page()
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: None if request.url in (address, "data:,")
                   else complaints.append(request.url))
    if not script:  # the page's own is taken away: the measuring one needs the browser's
        tab.route("**/*", lambda route: route.fulfill(
            body=re.sub(r"<script>.*?</script>", "", pages[name].read_text(encoding="utf-8"), flags=re.DOTALL),
            content_type="text/html; charset=utf-8"))
    tab.goto(address)
    tab.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    found = tab.evaluate(MEASURE)
    if folder := os.environ.get("VERIFIED_DP_SCREENSHOTS"):
        file = f"{name}-{width}-{scheme}{'' if script else '-plain'}.png"
        tab.screenshot(path=Path(folder, file), full_page=True)
    context.close()
    assert complaints == []
    assert found == {"overlaps": [], "wide": [], "faint": [], "unnamed": [], "texts": found["texts"]}
    assert found["texts"] > 15


def test_search_choose_and_sort(pages: dict[str, Path], browser: Any) -> None:
    tab = browser.new_page()
    tab.goto(pages["all"].as_uri())
    rows = tab.locator("tbody tr:visible")
    tab.get_by_label("Search").fill("laplace")
    assert rows.count() == 1
    tab.get_by_label("Search").fill("")
    tab.get_by_label("Verdict").select_option("undecided")
    assert rows.count() == 1 and "Fifty selections" in rows.inner_text()
    tab.get_by_label("Verdict").select_option("")
    excess = tab.get_by_role("button", name="excess")
    for down in (False, True):
        excess.press("Enter")
        texts = tab.locator("tbody tr td:nth-child(5)").all_inner_texts()
        values = [float(text.removesuffix(" %")) for text in texts if text]
        assert values == sorted(values, reverse=down) and len(values) >= 3 and texts[-1] == ""
    assert tab.locator("th[aria-sort=descending]").inner_text().startswith("excess")
    assert len(texts) == len(CLAIMS)
    tab.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_long_index_is_short_at_first(width: int, pages: dict[str, Path], browser: Any) -> None:
    text = pages["all"].read_text(encoding="utf-8")
    head, body, rest = re.split(r"(?<=<tbody>)|(?=</tbody>)", text, maxsplit=2)
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.set_content(head + body * 40 + rest)
    assert tab.evaluate("document.documentElement.scrollHeight") <= 3000
    assert tab.locator("tbody tr:visible").count() == 8
    tab.get_by_role("button", name="Show all 240").click()
    assert tab.locator("tbody tr:visible").count() == 240
    tab.close()


def test_without_scripts_the_index_is_whole(pages: dict[str, Path], browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(pages["all"].as_uri())
    assert tab.locator("tbody tr:visible").count() == len(CLAIMS) and tab.locator("form").count() == 0
    context.close()


def test_keyboard_reaches_the_assumptions(pages: dict[str, Path], browser: Any) -> None:
    tab = browser.new_page()
    tab.goto(pages["sampled"].as_uri())
    for _ in range(4):
        tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    assert tab.locator("input:checked").count() == 1
    tab.close()


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 900)])
@pytest.mark.parametrize("name", CLAIMS)
def test_the_first_screen_holds_the_numbers_and_the_gap(name: str, width: int, height: int, pages: dict[str, Path],
                                                        browser: Any) -> None:
    tab = browser.new_page(viewport={"width": width, "height": height})
    tab.goto(pages[name].as_uri())
    for part in ("h1", ".word", ".large", "svg[aria-labelledby^=gap]"):
        box = tab.locator(part).first.bounding_box()
        assert box and box["y"] + box["height"] <= height, part
    assert tab.locator(".large dd").first.evaluate("one => parseFloat(getComputedStyle(one).fontSize)") >= 16
    if name == "sampled":  # half of what it was: 7032 and 4089
        assert tab.evaluate("document.documentElement.scrollHeight") <= {390: 3516, 1280: 2900}[width]
    tab.close()


def test_prints(pages: dict[str, Path], browser: Any, tmp_path: Path) -> None:
    tab = browser.new_page()
    tab.goto(pages["sampled"].as_uri())
    data = tab.pdf(path=tmp_path / "page.pdf", format="A4", prefer_css_page_size=True)
    if folder := os.environ.get("VERIFIED_DP_SCREENSHOTS"):
        Path(folder, "sampled.pdf").write_bytes(data)
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 6
    tab.close()


def test_measuring_sees_faults(browser: Any) -> None:
    tab = browser.new_page(viewport={"width": 380, "height": 600})
    tab.set_content("""
        <p style="margin:0;height:4px">one line of words</p><p style="margin:0">another line of words</p>
        <div style="width:900px">wide</div><p style="color:#ccc;background:#fff">faint words</p>
        <svg role="img"></svg>""")
    found = tab.evaluate(MEASURE)
    assert all(found[key] for key in ("overlaps", "wide", "faint", "unnamed"))
    tab.close()
