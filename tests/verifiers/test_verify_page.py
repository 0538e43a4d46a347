"""The page that verifies certificates: what it is made of, and what it says in headless Chromium without a network.

The tests in the browser need build/verify.html, playwright and the system's Chromium: `make pages`. With
VERIFIED_DP_SCREENSHOTS set to a folder, screenshots are kept there to be looked at.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from verified_dp import __version__
from verified_dp.core.kernel.certificate.check import Check
from verified_dp.core.kernel.certificate.document import canonical, sealed
from verified_dp.core.kernel.certificate.evaluation import enclosure_record
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.terminal import escaped
from verified_dp.verifiers.browser import build, inside
from verified_dp.verifiers.formal import CHECKER
from verified_dp.verifiers.independent import TooMuch
from verified_dp.verifiers.record_formal import with_formal
from verified_dp.verifiers.trust import trusted

Document = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "build" / "verify.html"
FORMAL = CHECKER.with_suffix(".js")
MEASURE = (ROOT / "tests" / "report" / "measure.js").read_text(encoding="utf-8")
SAMPLED = ('[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\ncount = 1000\n'
           'sampling = { scheme = "poisson", probability = "0.01" }\n')
GAUSSIAN = '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\n'
LAPLACE = '[[mechanism]]\nkind = "laplace"\nscale = "20"\nsensitivity = "1"\ncount = 30\n'


@pytest.fixture(scope="module")
def document(certify_text: Callable[..., Document]) -> Document:
    return certify_text("add-or-remove", SAMPLED, "1", "1e-5", digits=6)


def narrowed(document: Document) -> tuple[bytes, str]:
    """An enclosure behind epsilon without its lower half, all else and the seals to fit; the field that is wrong."""
    changed = copy.deepcopy(document)
    index, entry = next((n, one) for n, one in enumerate(changed["evaluations"]) if one["quantity"] == "epsilon")
    lower, upper = (Dyadic.parse(entry["enclosure"][key]) for key in ("lower", "upper"))
    middle = Dyadic.of_fraction((lower.as_fraction() + upper.as_fraction()) / 2)
    entry["enclosure"] = enclosure_record(middle, upper)
    return canonical(sealed(changed)), f"evaluations[{index}].enclosure.lower"


# what it is made of


def test_answers_are_those_of_the_checkers(document: Document) -> None:
    told: list[tuple[int, int]] = []
    for checker in ("trusted", "independent"):
        found = json.loads(inside.answer(checker, canonical(document), lambda done, of: told.append((done, of))))
        assert (found["status"], found["verdict"]) == ("valid", document["verdict"]), found
        data, field = narrowed(document)
        bad = json.loads(inside.answer(checker, data, lambda done, of: None))
        assert (bad["status"], bad["field"]) == ("invalid", field)
    count = len(document["evaluations"])
    assert told == 2 * [(done, count) for done in range(count + 1)]


@pytest.mark.parametrize("limit", [MemoryError(), RecursionError(), TooMuch("takes more")])
def test_limits_are_no_verdict(limit: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(data: bytes, progress: object) -> Check:
        raise limit

    monkeypatch.setitem(inside._CHECKERS, "trusted", fail)
    assert json.loads(inside.answer("trusted", b"", lambda done, of: None))["status"] == "unchecked"


def test_numbers_too_large_for_a_browser_are_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "cannot be evaluated: Python int too large to convert to C ssize_t"
    monkeypatch.setitem(inside._CHECKERS, "trusted", lambda data, progress: Check(False, None, "evaluations", reason))
    assert json.loads(inside.answer("trusted", b"", lambda done, of: None))["status"] == "unchecked"


def test_another_version_is_told(document: Document) -> None:
    """An old page refuses what it does not know: that is no disagreement of checkers about one version."""
    for written, versions in (("9.9.9", ["9.9.9", __version__]), (__version__, None)):
        changed = {**document, "versions": {**document["versions"], "verified-dp": written}, "verdict": "undecided"}
        found = json.loads(inside.answer("trusted", canonical(sealed(changed)), lambda done, of: None))
        assert (found["status"], found["versions"]) == ("invalid", versions)
    for data in (b"", b"[]", b'{"versions": 3}', b'{"versions": {"verified-dp": 3}}'):
        assert json.loads(inside.answer("trusted", data, lambda done, of: None))["versions"] is None


def test_a_certificate_is_described(document: Document) -> None:
    found = json.loads(inside.describe(canonical(document)))
    assert found["assumptions"] == document["assumptions"] and found["sha256"] == document["sha256"]
    assert "(1, 1e-5)-differential privacy" in found["statement"][0]
    assert len(found["evaluations"]) == len(document["evaluations"])
    assert [name for name, _, _ in found["theorems"]] == document["theorems"]
    assert all(statement and read for _, statement, read in found["theorems"]) and len(found["not_proved_here"]) >= 2


ALONE = """
import sys
from pathlib import Path
from verified_dp.verifiers.browser import inside
assert inside.__file__.startswith(sys.argv[1]), inside.__file__
data = Path(sys.argv[2]).read_bytes()
answers = [inside.answer(checker, data, lambda done, of: None) for checker in ("trusted", "independent")]
assert all('"status": "valid"' in one for one in answers)
inside.describe(data)
print(answers[0])
"""


def test_its_own_files_are_enough(document: Document, tmp_path: Path) -> None:
    for path, text in build._sources().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    (tmp_path / "c.json").write_bytes(canonical(document))
    done = subprocess.run([sys.executable, "-P", "-c", ALONE, str(tmp_path), str(tmp_path / "c.json")],
                          env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = json.loads(done.stdout)["files"]
    assert files == [list(one) for one in sorted(trusted(canonical(document)).files)]  # as `verify --trust` says


def test_a_part_with_another_hash_is_refused(tmp_path: Path) -> None:
    part = build.PARTS[0]
    (tmp_path / part.file).write_bytes(b"other")
    with pytest.raises(ValueError, match=f"must have the sha256 {part.sha256}"):
        build.fetch(part, tmp_path)


def test_text_cannot_end_its_block() -> None:
    assert "<" not in build._json({"a": "</script><script>"})
    for name in ("worker.js", "page.js"):
        assert "</script" not in (Path(build.__file__).parent / name).read_text(encoding="utf-8")


# in the browser

SECONDS = 120_000  # milliseconds: of a loaded machine


DROP = """([text, name]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    for (const kind of ["dragover", "drop"])
        document.body.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));
}"""


class Tab:
    """The page in a tab without network; what it asks for or complains of is kept."""

    def __init__(self, browser: Any, *, wait: bool = True, **options: Any) -> None:
        self.complaints: list[str] = []
        self.context = browser.new_context(offline=True, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(SECONDS)
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)
        self.page.goto(PAGE.as_uri())
        if wait:
            self.page.wait_for_selector("body[data-ready]")

    def _asked(self, request: Any) -> None:
        if request.url != PAGE.as_uri() and not request.url.startswith("blob:null/"):
            self.complaints.append(request.url)

    def give(self, data: bytes, name: str = "claim.json") -> None:
        self.page.set_input_files("#file", {"name": name, "mimeType": "application/json", "buffer": data})

    def drop(self, data: bytes, name: str) -> None:
        self.page.evaluate(DROP, [data.decode(), name])

    def verdict(self, data: bytes) -> str:
        self.give(data)
        return self.shown()

    def shown(self) -> str:
        """The verdict, when the page can take the next file."""
        self.page.wait_for_selector("#result:not([hidden])")
        self.page.wait_for_selector("#file:not([disabled])")
        return str(self.page.inner_text("#verdict"))

    def rows(self) -> list[str]:
        found: list[str] = self.page.locator("#answers tr").evaluate_all("rows => rows.map(row => row.dataset.status)")
        return found


@pytest.fixture(scope="module")
def opened(browser: Any) -> Tab:
    return Tab(browser)


@pytest.fixture
def tab(opened: Tab) -> Iterator[Tab]:
    """The page as it was left, with working checkers; it must not have complained."""
    yield opened
    assert opened.complaints == []


@pytest.fixture
def broken(browser: Any) -> Iterator[Tab]:
    """A page of one's own, in which Python may be changed."""
    tab = Tab(browser)
    yield tab
    tab.context.close()


@pytest.mark.pages
def test_the_page_is_the_one_that_is_built(tmp_path: Path) -> None:
    """The same bytes twice, and from this very source."""
    again = build.build(tmp_path / "again.html", ROOT / "build" / "parts", FORMAL)
    assert again == hashlib.sha256(PAGE.read_bytes()).hexdigest()


@pytest.mark.pages
def test_valid_and_altered_certificates(tab: Tab, document: Document) -> None:
    text = tab.verdict(canonical(document))
    assert text.startswith(f"Claim {document['verdict']}. The certificate checks out. Über: the claim of (1, 1e-5)-"
                           f"differential privacy {VERDICT[document['verdict']]}.")
    assert tab.rows() == ["valid", "valid"]
    assert tab.page.locator("#assumptions li").all_inner_texts() == document["assumptions"]
    assert tab.page.locator("#evaluations li").count() == len(document["evaluations"])
    assert document["sha256"] in tab.page.inner_text("#file-facts") and not tab.page.is_visible("#start")
    assert re.match(r"\d{4,5} lines of code in \d\d files, .*, \d+ theorems", tab.page.inner_text("#trusted"))
    for data, field in (narrowed(document),
                        (canonical(document).replace(b'"1e-5"', b'"1e-6"'), "claim.delta"),
                        (canonical(sealed({**document, "verdict": "undecided"})), "verdict")):
        text = tab.verdict(data)
        assert text.startswith(f"Not valid. {field}: "), text
        assert tab.rows() == ["invalid", "invalid"]
        assert not tab.page.is_visible("#content")


CHECKS = "Claim proved. The certificate checks out."
VERDICT = {"proved": "is proved to hold", "refuted": "is refuted"}
HOSTILE = {
    "nothing": b"", "zeros": bytes(1000), "lists": b"[" * 1000, "a number": b"1" * 100_000, "null": b"null",
    "markup": b'{"schema":"<img src=x onerror=alert(1)>"}', "surrogates": b'"\\ud800"',
    "text": b"<script>alert(1)</script>"}


@pytest.mark.pages
@pytest.mark.skipif(not FORMAL.is_file(), reason="needs the formal checker of `make proofs`, with js_of_ocaml")
def test_a_formal_part(tab: Tab, certify_text: Callable[..., Document]) -> None:
    found = with_formal(certify_text("add-or-remove", GAUSSIAN, "2", "1e-3", digits=6))
    text = tab.verdict(canonical(found))
    assert text.startswith(CHECKS) and "and the formal checker its formal part" in text, text
    assert tab.rows() == ["valid", "valid", "valid"]
    part = found["formal"][0]
    changed = sealed({**found, "formal": [{**part, "bound": str(int(part["bound"]) // 2)}, *found["formal"][1:]]})
    assert tab.verdict(canonical(changed)).startswith("The formal part is not valid. formal[0]: rejected")
    assert tab.rows() == ["valid", "valid", "invalid"]


@pytest.mark.pages
def test_hostile_files(tab: Tab, document: Document) -> None:
    dialogs: list[str] = []
    tab.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    for name, data in HOSTILE.items():
        assert tab.verdict(data).startswith("Not valid."), name
        assert tab.rows() == ["invalid", "invalid"], name
    claim = {**document["claim"], "title": "<img src=x onerror=alert(1)>", "source": "</script><script>alert(1);"}
    assert "<img src=x" in tab.verdict(canonical(sealed({**document, "claim": claim})))
    tab.give(bytes(2**24 + 1))
    tab.page.wait_for_selector("#told:has-text('at most')")
    assert dialogs == [] and tab.page.locator("img").count() == 0
    assert tab.verdict(canonical(document)).startswith(CHECKS)


@pytest.mark.pages
def test_what_one_checker_does_not_cover_is_no_failure(broken: Tab, document: Document) -> None:
    broken.page.workers[0].evaluate("""python.runPython(`
from verified_dp.verifiers import independent
from verified_dp.verifiers.browser import inside
def fail(data, progress): raise independent.TooMuch("not here")
inside._CHECKERS["independent"] = fail`)""")
    text = broken.verdict(canonical(document))
    assert text.startswith(CHECKS) and "does not cover it, which is not a failure" in text
    assert broken.rows() == ["valid", "unchecked"]
    assert broken.complaints == []


CRASHES = {"no memory": "[bytearray(2**30) for _ in range(9)]",
           "a trap": "__import__('ctypes').string_at(2**32 - 16, 15)"}


@pytest.mark.pages
@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_is_no_verdict(name: str, broken: Tab, document: Document) -> None:
    """The other checker is asked all the same, in a new Python where that one is gone; then the next file."""
    broken.page.workers[0].evaluate(f"""python.runPython(`
from verified_dp.verifiers.browser import inside
inside._CHECKERS["trusted"] = lambda data, progress: {CRASHES[name]}`)""")
    text = broken.verdict(canonical(document))
    assert text.startswith("Could not be checked here.") and "independent one confirms" in text, text
    assert broken.rows() == ["unchecked", "valid"]
    if name == "a trap":
        assert broken.verdict(canonical(document)).startswith(CHECKS)


@pytest.mark.pages
def test_cancel_and_start_anew(broken: Tab, document: Document) -> None:
    endless = 'python.runPython(`import verified_dp.verifiers.browser.inside as i\ndef f(data, progress):\n' \
              '    progress(1, 5)\n    while True: pass\ni._CHECKERS["trusted"] = f`)'
    for key in ("click", "Escape"):
        broken.page.workers[0].evaluate(endless)
        broken.give(canonical(document))
        broken.page.wait_for_selector("#doing:has-text('evaluation 2 of 5')")
        broken.page.wait_for_selector("#elapsed:has-text(' s')")
        if key == "click":
            broken.page.click("#cancel")
        else:
            broken.page.keyboard.press(key)
        assert "nothing is known of claim.json" in broken.page.inner_text("#told")
        assert not broken.page.is_visible("#result") and not broken.page.is_visible("#working")
        broken.page.wait_for_selector("#file:not([disabled])")
    assert broken.verdict(canonical(document)).startswith(CHECKS)
    assert broken.complaints == []


@pytest.mark.pages
def test_a_file_is_dropped(tab: Tab, document: Document) -> None:
    tab.drop(canonical(document), "dropped.json")
    assert tab.shown().startswith(CHECKS)
    assert "dropped.json" in tab.page.inner_text("#file-facts")


@pytest.mark.pages
def test_a_file_dropped_before_python_is_ready_waits(browser: Any, document: Document) -> None:
    """It says so, and is checked then; the last of several, and none after Escape."""
    tab = Tab(browser, wait=False)
    tab.drop(b"{}", "first.json")
    assert tab.page.is_visible("#start") and tab.page.inner_text("label[for=start]")  # the stage that it is in
    assert tab.page.inner_text("#told") == "first.json waits: it is checked when Python has started."
    tab.drop(canonical(document), "early.json")
    assert tab.page.inner_text("#told") == "early.json waits: it is checked when Python has started."
    assert tab.page.evaluate("document.body.dataset.ready") is None
    assert tab.shown().startswith(CHECKS)
    assert "early.json" in tab.page.inner_text("#file-facts") and tab.rows() == ["valid", "valid"]
    tab.page.reload()
    tab.drop(canonical(document), "early.json")
    tab.page.keyboard.press("Escape")
    tab.page.wait_for_selector("body[data-ready]")
    assert tab.page.inner_text("#told") == "Ready." and not tab.page.is_visible("#result")
    assert tab.complaints == []
    tab.context.close()


@pytest.mark.pages
def test_two_files_dropped_at_once_are_not_mixed(tab: Tab, document: Document) -> None:
    """The second is not taken while the first is read: its verdict would stand below the other's name."""
    tab.page.evaluate(f"([one, two]) => {{ ({DROP})(one); ({DROP})(two); }}",
                      [[canonical(document).decode(), "good.json"], ["{}", "bad.json"]])
    assert tab.shown().startswith(CHECKS)
    assert "good.json" in tab.page.inner_text("#file-facts")


STEERING = "A\u202etxt.exe\u2066\u0007\nb\u00a0c\U000e0041"
ESCAPED = r"A\u202etxt.exe\u2066\x07\nb\xa0c\U000e0041"


@pytest.mark.pages
def test_what_does_not_print_is_escaped(tab: Tab, document: Document) -> None:
    assert escaped(STEERING) == ESCAPED
    claim = {**document["claim"], "title": STEERING, "source": STEERING}
    tab.drop(canonical(sealed({**document, "claim": claim})), STEERING.replace("\n", ""))
    assert tab.shown().startswith(f"{CHECKS} {ESCAPED}: the claim of")
    assert f"Source of the claim: {ESCAPED}." in tab.page.inner_text("#statement")
    assert ESCAPED.replace(r"\n", "") in tab.page.inner_text("#file-facts")
    assert tab.verdict(canonical({**document, STEERING: 1})).startswith(f"Not valid. {ESCAPED}: is not a key")
    assert not re.search("[\u202e\u2066\x07]", tab.page.inner_text("body"))


@pytest.mark.pages
def test_keyboard(tab: Tab, document: Document) -> None:
    """The file is the second stop; the verdict is where the keyboard goes on when it is there."""
    tab.page.evaluate("document.activeElement.blur()")
    tab.page.focus(".skip")
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.id") == "file"
    tab.verdict(canonical(document))
    assert tab.page.evaluate("document.activeElement.id") == "verdict"
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Space")
    assert tab.page.locator("input:checked").count() == 1


@pytest.mark.pages
def test_it_can_be_read(tab: Tab, document: Document, certify_text: Callable[..., Document]) -> None:
    """At both widths, light and dark: after a proof, a refutation and a refusal."""
    proved = certify_text("add-or-remove", LAPLACE, "1", "1e-3", digits=6)
    refuted = certify_text("add-or-remove", SAMPLED, "0.1", "1e-5", digits=6)
    for name, data, word in (("proved", canonical(proved), "Claim proved. "), ("altered", narrowed(document)[0], "Not"),
                             ("refuted", canonical(refuted), "Claim refuted. The certificate checks out. ")):
        assert tab.verdict(data).startswith(word)
        for width, scheme in itertools.product((390, 1280), ("light", "dark")):
            tab.page.set_viewport_size({"width": width, "height": 900})
            tab.page.emulate_media(color_scheme=scheme)
            _open(tab, True)
            found = tab.page.evaluate(MEASURE)
            _open(tab, False)
            if folder := os.environ.get("VERIFIED_DP_SCREENSHOTS"):
                tab.page.screenshot(path=Path(folder, f"verify-{name}-{width}-{scheme}.png"), full_page=True)
            assert found == {"overlaps": [], "wide": [], "faint": [], "unnamed": [], "texts": found["texts"]}, name


def _open(tab: Tab, yes: bool) -> None:
    tab.page.evaluate("yes => document.querySelectorAll('section > details').forEach(one => { one.open = yes; })", yes)


@pytest.mark.pages
def test_the_network_is_closed_to_it(tab: Tab) -> None:
    """By its own policy: not only because this test is offline."""
    policy = re.findall(r'content="(default-src[^"]+)"', PAGE.read_text(encoding="utf-8")[:2000])[0]
    assert "connect-src 'none'" in policy and "unsafe-inline" not in policy and "unsafe-eval" not in policy.replace(
        "wasm-unsafe-eval", "")
    refused = tab.page.evaluate("fetch('https://example.org').then(() => 'sent', error => error.name)")
    assert refused == "TypeError"
    tab.complaints = [text for text in tab.complaints if "Content Security Policy" not in text]
