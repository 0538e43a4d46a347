"""One certificate of every kind of witness, of vectors and of every scheme, in the page of `make verify-page`.

    python tests/browser_check.py [build/verify.html [build/browser-check.jsonl]]

The page is opened as a file in Chromium without a network, with Playwright and Debian's Chromium. Rows hold what both
checkers say there and in how many seconds, beside the seconds of processor time natively.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from cross_check import ROOT, Row, checked, rows_of
from mutant_check import ENGINES, _step, original

from verified_dp.certificate import build_certificate
from verified_dp.core.kernel.certificate.document import canonical
from verified_dp.profile import privacy_profile
from verified_dp.spec import parse_spec

_GAUSSIAN = 'kind = "gaussian"\nnoise_multiplier = "2"\ncount = 2'
STEPS = {
    "without-replacement": ("replace", _step(_GAUSSIAN, 'scheme = "without-replacement", probability = "0.1"')),
    "with-replacement": ("replace", _step(_GAUSSIAN, 'scheme = "with-replacement", draws = 4, population = 100')),
    "random-allocation": ("zero-out", _step(
        'kind = "gaussian"\nnoise_multiplier = "2"', 'scheme = "random-allocation", rounds = 2')),
    "cyclic-poisson": ("remove", _step(
        _GAUSSIAN, 'scheme = "cyclic-poisson", groups = 2, probability = "0.1", rounds = 5')),
    "truncated-poisson": ("add", _step(
        _GAUSSIAN, 'scheme = "truncated-poisson", probability = "0.1", population = 100, largest_batch = 15')),
    "laplace-vector": ("remove", _step('kind = "laplace-vector"\nscale = "3"\nsensitivity = "1"\ncount = 5')),
    "discrete-laplace-vector": ("add", _step('kind = "discrete-laplace-vector"\nscale = "3"\nsensitivity = 2')),
    "discrete-gaussian-vector": ("replace", _step(
        'kind = "discrete-gaussian-vector"\nsigma_squared = "40"\nsensitivity = "3/2"')),
    "tree-aggregation": ("zero-out", _step('kind = "tree-aggregation"\nnoise_multiplier = "6"\nsteps = 100')),
    "matrix-gaussian": ("add-or-remove", _step(
        'kind = "matrix-gaussian"\nnoise_multiplier = "6"\ncolumn = ["1", "1/2", "3/8"]\nrounds = 20\nseparation = 5')),
}


def certificate(name: str) -> bytes:
    """Of a kind of witness, or of a step."""
    if name in ENGINES:
        return canonical(original(name))
    relation, text = STEPS[name]
    spec = parse_spec(f'relation = "{relation}"\n{text}[claim]\nepsilon = "0.5"\ndelta = "1e-3"\n')
    assert spec.claim is not None
    return canonical(build_certificate(spec, *privacy_profile(spec).solve_claim(spec.claim, 3)))


def run(page: Path, out: Path) -> None:
    known, drive = rows_of(out), import_module("playwright.sync_api").sync_playwright
    with drive() as player, out.open("a", encoding="utf-8") as rows:
        browser = player.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        tab = browser.new_context(offline=True).new_page()
        tab.set_default_timeout(1_200_000)
        tab.goto(page.resolve().as_uri())
        tab.wait_for_selector("body[data-ready]")
        for name in (name for name in (*ENGINES, *STEPS) if name not in known):
            data = certificate(name)
            print(json.dumps({"key": name, **checked(data, None), "browser": _shown(tab, name, data)}), file=rows,
                  flush=True)


def _shown(tab: Any, name: str, data: bytes) -> list[list[str]]:
    """(status, seconds) of both checkers."""
    tab.set_input_files("#file", {"name": f"{name}.json", "mimeType": "application/json", "buffer": data})
    tab.wait_for_selector("#result:not([hidden])")
    tab.wait_for_selector("#file:not([disabled])")
    found: list[list[str]] = tab.locator("#answers tr").evaluate_all(
        "rows => rows.map(row => [row.dataset.status, row.lastElementChild.textContent])")
    return found


_SLOW = 4.0
"""Seconds in the browser from which a certificate is named."""


def table(rows: Sequence[Row]) -> Iterator[str]:
    """How many agree, and lines of a table: the slow certificates x checkers, in the browser and natively."""
    agree = sum(all(status == row["results"][name] for name, (status, _) in zip(
        ("trusted", "independent"), row["browser"], strict=True)) for row in rows)
    slow = [row for row in rows if max(float(there.split()[0]) for _, there in row["browser"]) > _SLOW]
    yield f"{agree} of {len(rows)} certificates have the same answers; these take more than {_SLOW:g} s:"
    yield ""
    yield "| certificate | witnesses | trusted: browser / native | independent: browser / native |"
    yield "|---|---|---|---|"
    for row in slow:
        cells = (f"{status}, {there} / {row['results'][name]}, {row['seconds'][name]:.2f} s"
                 for name, (status, there) in zip(("trusted", "independent"), row["browser"], strict=True))
        yield f"| {row['key']} | {', '.join(row['witnesses'])} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    files = [Path(given) for given in sys.argv[1:]]
    defaults = [ROOT / "build" / "verify.html", ROOT / "build" / "browser-check.jsonl"]
    run(*(files + defaults[len(files):]))
