"""Files made to hang or to fill the checker: each is told from a certificate within the stated time and memory."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verified_dp.cli import main
from verified_dp.core.kernel.certificate.document import MAX_BYTES, sealed
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.verifiers.bounded import MEGABYTES, SECONDS, verify_bounded

if sys.platform == "win32":
    pytest.skip("limits of POSIX", allow_module_level=True)

LAPLACE = '[[mechanism]]\nkind = "laplace"\nscale = "20"\nsensitivity = "1"\n'
GAUSSIAN = '[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\n'


def resealed(document: dict[str, Any], **changed: Any) -> bytes:
    content = {key: value for key, value in {**document, **changed}.items() if key not in ("hashes", "sha256")}
    return json.dumps(sealed(content)).encode()


def with_witness(document: dict[str, Any], **fields: Any) -> bytes:
    """The certificate with these fields in every witness, sealed afresh."""
    entries = [{**entry, "witness": {**entry["witness"], **fields}} for entry in document["evaluations"]]
    return resealed(document, evaluations=entries)


SMALL: dict[str, bytes] = {
    "nothing": b"", "zero bytes": bytes(1000), "no text": b"\xff" * 1000, "a number": b"1" * 100_000,
    "a power": b"1e" + b"9" * 1000, "deep lists": b"[" * 100_000, "deep objects": b'{"a":' * 50_000,
    "one text": b'"' + b"x" * 10**6 + b'"', "a repeated key": b"{" + b'"a":1,' * 20_000 + b'"a":1}',
    "many keys": json.dumps({str(n): n for n in range(20_000)}).encode(),
    "a schema alone": b'{"schema":"verified-dp/certificate/1"}', "not a number": b"NaN", "surrogates": b'"\\ud800"',
}
LARGE: dict[str, Callable[[], bytes]] = {
    "empty objects": lambda: b"[" + b"{}," * (MAX_BYTES // 3 - 1) + b"{}]",
    "empty lists": lambda: b"[" + b"[]," * (MAX_BYTES // 3 - 1) + b"[]]",
    "numbers": lambda: b"[" + b"1," * (MAX_BYTES // 2 - 2) + b"1]",
    "small objects": lambda: b"[" + b'{"a":1},' * (2**20 - 4) + b"1]",
    "nested objects": lambda: b"[" + b'{"a":{"b":{}}},' * (2**19 - 4) + b"1]",
    "nearly too many lists": lambda: b"[" + b"[]," * (2**20 - 4) + b"1]",
    "texts": lambda: b"[" + b'"\\u0041",' * (MAX_BYTES // 9 - 2) + b"1]",
    "a long text": lambda: b'"' + b"\\u00e9" * (MAX_BYTES // 6 - 1) + b'"',
    "zeros": lambda: bytes(MAX_BYTES + 1),
    "distinct keys": lambda: b"{" + b",".join(b'"%d":0' % n for n in range(1_000_000)) + b"}",
}


def refused(data: bytes) -> str:
    """Why a file is no certificate; within the limits, or it would raise."""
    found = verify_bounded(data)
    assert not found.valid and found.verdict is None and found.reason
    return found.reason


def test_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """All in one process each: none needs more than 10 s and 512 MB."""
    assert (SECONDS, MEGABYTES) == (10, 512)
    for data in SMALL.values():
        assert refused(data)


def test_a_file_of_empty_objects() -> None:
    assert "items" in refused(LARGE["empty objects"]())


@pytest.mark.long
@pytest.mark.parametrize("name", LARGE)
def test_large_files(name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    refused(LARGE[name]())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{name}: {used.ru_utime - before.ru_utime:.1f} s, at most {used.ru_maxrss >> 10} MB so far")


def test_many_bits(certify_text: Callable[..., dict[str, Any]]) -> None:
    """As many bits as a witness may have: the time is bounded, whatever the answer is."""
    document = certify_text("add-or-remove", LAPLACE + "count = 400\n", "1/2", "1/10", 3)
    data = with_witness(document, prec=50_000)
    try:
        verify_bounded(data, seconds=1)
    except Unsupported as error:
        assert "1 s of processor time; --max-seconds" in str(error)
    assert verify_bounded(json.dumps(document).encode()).valid


def test_many_frequencies(certify_text: Callable[..., dict[str, Any]]) -> None:
    sampled = GAUSSIAN + 'sampling = { scheme = "poisson", probability = "1/50" }\ncount = 40\n'
    document = certify_text("add-or-remove", sampled, "3", "1e-5", 4)
    assert "count" in document["evaluations"][0]["witness"]
    for count in (10**6, 10**9, 10**14):
        try:
            assert not verify_bounded(with_witness(document, count=count), seconds=2).valid
        except Unsupported as error:
            assert "more than" in str(error)


def test_too_little_memory_and_time_decide_nothing(certify_text: Callable[..., dict[str, Any]]) -> None:
    data = LARGE["small objects"]()
    with pytest.raises(Unsupported, match=r"more than 96 MB; --max-memory"):
        verify_bounded(data, megabytes=96)
    document = certify_text("add-or-remove", LAPLACE, "1/2", "1/10", 3)
    assert verify_bounded(json.dumps(document).encode()).verdict == "proved"


def test_the_limits_are_the_child_s(certify_text: Callable[..., dict[str, Any]]) -> None:
    before = [resource.getrlimit(what) for what in (resource.RLIMIT_AS, resource.RLIMIT_CPU)]
    verify_bounded(b"{}")
    assert before == [resource.getrlimit(what) for what in (resource.RLIMIT_AS, resource.RLIMIT_CPU)]


def test_the_command_line_has_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Undecided, not invalid; files of the working directory are not imported by the checker."""
    monkeypatch.chdir(tmp_path)
    Path("c.json").write_bytes(LARGE["small objects"]())
    Path("flint.py").write_text("raise SystemExit(0)", encoding="utf-8")
    assert main(["verify", "c.json", "--max-memory", "96", "--json"]) == 3
    row = json.loads(capsys.readouterr().out)
    assert row["status"] == "unsupported" and "--max-memory" in row["message"]
    assert main(["verify", "c.json", "--json"]) == 1
    for wrong in ("0", "-1", "1e9", "ten", ""):
        assert main(["verify", "c.json", f"--max-memory={wrong}"]) == 2
