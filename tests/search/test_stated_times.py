"""A stated time is kept to a tenth and .3 s, in processor time: random specifications of hard regimes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from verified_dp import PrivacyProfile, load_spec
from verified_dp.core.kernel.errors import VerifiedDPError

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from regime_check import FAMILIES, specification

SECONDS = 0.5


def overrun(text: str, path: Path) -> float:
    """Processor seconds past what is allowed that delta and epsilon of a specification take, at most 0 where none."""
    path.write_text(text, encoding="utf-8")
    spec = load_spec(path)
    worst = 0.0
    for ask in (lambda it: it.delta(spec.claim.epsilon, max_seconds=SECONDS),
                lambda it: it.epsilon(spec.claim.delta, max_seconds=SECONDS)):
        profile, start = PrivacyProfile.of(spec), time.process_time()
        try:
            ask(profile)
        except VerifiedDPError:
            continue
        finally:
            worst = max(worst, time.process_time() - start - 1.1 * SECONDS - 0.3)
    return worst


@pytest.mark.long
def test_stated_times_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """300 of them; the clock that searches look at is the processor's."""
    monkeypatch.setattr(time, "perf_counter", time.process_time)
    each = 300 // len(FAMILIES)
    late = {f"{family}.{i}": over for family in FAMILIES for i in range(each)
            if (over := overrun(specification(family, 5, i), tmp_path / "spec.toml")) > 0}
    assert not late
