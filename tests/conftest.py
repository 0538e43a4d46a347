"""What the tests share: independent routes to the numbers that the package encloses, and helpers."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: the runs side by side would wait for each other's

import pytest
from flint import ctx
from hypothesis import HealthCheck, settings

from verified_dp.certificate import build_certificate
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.certificate.check import Check, verify
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Spec
from verified_dp.profile import privacy_profile
from verified_dp.spec import parse_spec
from verified_dp.verifiers import bounded

settings.register_profile(
    "fixed", derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
settings.load_profile("fixed")


def _load(path: Path, name: str | None = None) -> ModuleType:
    """Import a file that belongs to no package (test files cannot import each other), under its own or another name."""
    spec = importlib.util.spec_from_file_location(name or path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _work(function: Callable[[], object]) -> int:
    """How many functions, in Python or C, a call of `function` enters: its cost on any machine, loaded or not."""
    entered = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal entered
        entered += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return entered


def _certify(spec: Spec, digits: int = 8) -> dict[str, Any]:
    """The certificate of a specification's claim."""
    assert spec.claim is not None
    profile = privacy_profile(spec)
    solutions = profile.solve_delta(spec.claim.epsilon, digits), profile.solve_epsilon(spec.claim.delta, digits)
    return build_certificate(spec, *solutions)


LONG = frozenset((Path(__file__).parent / "data/long.txt").read_text(encoding="utf-8").splitlines())
UNKNOWN = pytest.StashKey[frozenset[str]]()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collected tests are never garbage: not to look for it among their million objects saves a tenth of a run."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as `long` what data/long.txt lists: slow cases of tests whose quicker cases stay in every run."""
    for item in items:
        if item.nodeid in LONG:
            item.add_marker(pytest.mark.long)
    if config.args == config.getini("testpaths"):
        config.stash[UNKNOWN] = LONG - {item.nodeid for item in items}


@pytest.fixture(scope="session")
def unknown_long_cases(pytestconfig: pytest.Config) -> frozenset[str] | None:
    """The lines of data/long.txt that name no test; none where only a part of the tests was collected."""
    return pytestconfig.stash.get(UNKNOWN, None)


@pytest.fixture(scope="session")
def load() -> Callable[..., ModuleType]:
    """load(path, name=None): a program that belongs to no package, as a module."""
    return _load


@pytest.fixture(scope="session")
def load_example() -> Callable[[str], ModuleType]:
    """load_example(name): a program of examples/ as a module; nothing runs yet."""
    return lambda name: _load(Path(__file__).resolve().parents[1] / "examples" / f"{name}.py")


@pytest.fixture(scope="session")
def work() -> Callable[[Callable[[], object]], int]:
    """work(function): what a call costs, counted and not timed."""
    return _work


@pytest.fixture(scope="session")
def certify() -> Callable[..., dict[str, Any]]:
    """certify(spec, digits=8): the certificate of the claim."""
    return _certify


@pytest.fixture(scope="session")
def certify_text() -> Callable[..., dict[str, Any]]:
    """certify_text(relation, mechanisms, epsilon, delta, digits=8): that of a claim about mechanisms in TOML."""
    def build(relation: str, mechanisms: str, epsilon: str, delta: str, digits: int = 8) -> dict[str, Any]:
        claim = f'[claim]\ntitle = "\u00dcber"\nsource = "s"\nepsilon = "{epsilon}"\ndelta = "{delta}"\n'
        return _certify(parse_spec(f'relation = "{relation}"\n{mechanisms}{claim}'), digits)

    return build


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """The module oracles.py beside this file: mpmath and numpy only, none of the package's own numerics."""
    return _load(Path(__file__).with_name("oracles.py"))


@pytest.fixture(scope="session")
def mutants() -> ModuleType:
    """The module mutants.py beside this file: witnesses altered at random."""
    return _load(Path(__file__).with_name("mutants.py"))


@pytest.fixture(scope="session")
def composed() -> Callable[..., ComposedLoss]:
    """composed(order, q, s, count, shift_squared): `count` equal sampled steps and a Gaussian one."""
    def build(order: str, q: object, s: object, count: int = 1, shift_squared: object = 0) -> ComposedLoss:
        law = SampledGaussianLoss(Fraction(q), Fraction(s), order)
        return ComposedLoss(order, ((law, count),) if count else (), Fraction(shift_squared))

    return build


@pytest.fixture(autouse=True)
def unchanged_precision() -> Iterator[None]:
    """No test and no call may leave the process-wide precision changed."""
    before = ctx.prec
    yield
    assert ctx.prec == before


@pytest.fixture
def checked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates are checked in this process where the limits are the usual ones: starting one takes longer."""
    usual, apart = {"seconds": bounded.SECONDS, "megabytes": bounded.MEGABYTES}, bounded.verify_bounded

    def check(data: bytes, **limits: Any) -> Check:
        return verify(data) if {**usual, **limits} == usual else apart(data, **limits)

    monkeypatch.setattr(bounded, "verify_bounded", check)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB of its own."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip("this user may not mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


BROWSER_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                 "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium, the system's."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=BROWSER_FLAGS)
        yield browser
        browser.close()
