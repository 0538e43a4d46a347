"""Threads are answered one after the other, with the answers of a single thread; the precision stays as it was."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest
from flint import ctx

from verified_dp.adaptive import gdp_delta, renyi_budget
from verified_dp.certificate import build_certificate
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.composition import Claim, Relation, Spec, compose
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.locks import alone, arithmetic
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.enclosure import Enclosure
from verified_dp.papers.ask import accountant
from verified_dp.papers.comparison import compare
from verified_dp.profile import PrivacyProfile, privacy_profile

CLAIM = Claim("threads", "", Fraction(3), Fraction(1, 10**5), "3", "0.00001")
SPEC = Spec(Relation.ADD_OR_REMOVE, compose((PoissonSampled(Gaussian(2), "1/50"), 40), (Laplace(20, 1), 3)), CLAIM)
WORKERS = 12


def fresh() -> PrivacyProfile:
    return privacy_profile(SPEC)


def ends(found: Enclosure) -> tuple[object, ...]:
    return found.lower, found.upper, found.digits, found.status


def certificate() -> dict[str, Any]:
    profile = fresh()
    return build_certificate(SPEC, *profile.solve_claim(CLAIM, 6))


def tasks() -> dict[str, Callable[[], object]]:
    """Questions of very different precision, to every public entry point."""
    written = certificate()
    asked: dict[str, Callable[[], object]] = {
        f"delta {digits}": lambda digits=digits: ends(fresh().delta("1/2", digits)) for digits in (3, 9, 30, 60)}
    return {
        **asked,
        "epsilon": lambda: ends(fresh().epsilon("1e-5", 10)),
        "papers": lambda: ends(accountant(fresh(), "renyi").delta(1, 5).enclosure),
        "compare": lambda: ends(compare(fresh(), "delta", 1, ("auto", "renyi"), digits=5).proved),
        "certificate": lambda: certificate()["sha256"],
        "verify": lambda: verify(written),
        "gdp": lambda: ends(gdp_delta("1/4", 2, 40)),
        "renyi budget": lambda: renyi_budget("0.8", "1e-5", 27, 20),
    }


def in_threads(todo: list[Callable[[], object]]) -> list[object]:
    """All at once, from a common start."""
    gate = threading.Barrier(WORKERS)

    def run(number: int, task: Callable[[], object]) -> object:
        if number < WORKERS:
            gate.wait(timeout=60)
        return task()

    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(run, range(len(todo)), todo))


def test_threads_get_the_answers_of_one_thread() -> None:
    alone_in_turn = {name: task() for name, task in tasks().items()}
    before, names = ctx.prec, list(alone_in_turn) * 2
    random.Random(1).shuffle(names)
    asked = tasks()
    together = in_threads([asked[name] for name in names])
    assert ctx.prec == before
    assert [(name, answer) for name, answer in zip(names, together, strict=True)] == [
        (name, alone_in_turn[name]) for name in names]


def test_threads_share_a_profile() -> None:
    """Whatever the others ask of it, a thread gets the digits that it asked for."""
    profile, digits = fresh(), [4, 8, 16, 25, 40, 60] * 2
    before = ctx.prec
    found = in_threads([lambda d=d: profile.delta("1/2", d) for d in digits])  # type: ignore[misc]
    assert ctx.prec == before
    assert [(one.digits, one.status) for one in found] == [(d, "certified") for d in digits]  # type: ignore[attr-defined]
    truth = fresh().delta("1/2", 70)
    assert all(one.lower <= truth.lower and truth.upper <= one.upper for one in found)  # type: ignore[attr-defined]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_the_precision_is_restored_after_any_error(error: type[BaseException]) -> None:
    @alone
    def fails() -> None:
        ctx.prec = 777
        raise error

    before = ctx.prec
    with pytest.raises(error):
        fails()
    assert ctx.prec == before


def test_the_precision_is_restored_by_the_facade(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of the arithmetic."""
    def interrupted(*arguments: object) -> None:
        ctx.prec = 12_345
        raise KeyboardInterrupt

    profile, before = fresh(), ctx.prec
    monkeypatch.setattr("verified_dp.search.one_direction.evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        profile.delta(1, 5)
    assert ctx.prec == before
    with pytest.raises(InvalidInput):
        profile.delta("one")
    assert ctx.prec == before


def test_the_lock_may_be_taken_again_by_its_thread() -> None:
    with arithmetic(), arithmetic():
        assert fresh().delta(0, 3).status == "certified"


def test_another_thread_waits() -> None:
    seen: list[str] = []
    with arithmetic():
        other = threading.Thread(target=lambda: seen.append(fresh().delta(0, 3).status), daemon=True)
        other.start()
        other.join(0.2)
        assert not seen
    other.join(60)
    assert seen == ["certified"]
