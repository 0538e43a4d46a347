"""Files of somebody else: JSON is measured before it is parsed, and no reader of files ends in a stack trace."""

from __future__ import annotations

import io
import json
import random
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_dp.adaptive.filters import GDPFilter
from verified_dp.adaptive.ledger import Ledger, _digest
from verified_dp.adaptive.storage import InvalidLedger
from verified_dp.batch import epsilon_all
from verified_dp.cli import main
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.certificate.document import MAX_BYTES
from verified_dp.core.kernel.certificate.document import parse_json as parse_certificate
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput, VerifiedDPError
from verified_dp.interop import from_dp_event
from verified_dp.reading import MAX_JSON_DEPTH, parse_history, parse_json
from verified_dp.spec import parse_spec
from verified_dp.verifiers.independent import verify as verify_independently

EVENT: dict[str, Any] = {"class_name": "GaussianDpEvent", "noise_multiplier": 1.5}
BAD: dict[str, bytes] = {
    "lists": b"[" * 100_000, "objects": b'{"a":' * 100_000, "an integer": b"[" + b"1" * 10**6 + b"]",
    "quotes": b'\\"' * 2**20, "a text without an end": b'"' + b"\\" * (2**20 + 1),
    "items": b"[" + b"1," * 2**21 + b"1]",
    "bytes": b" " * (MAX_BYTES + 1), "no text": b"\xff\xfe", "zeros": bytes(100), "nothing": b"",
    "closing brackets": b"]" * 2**20, "not a number": b"NaN", "surrogates": b'"\\ud800"', "two": b"{}{}",
}
GOOD: dict[str, tuple[str, object]] = {
    "a mark of byte order": ("\ufeff[1]", [1]), "brackets in a text": ('"' + "[" * 10**6 + '"', "[" * 10**6),
    "an escaped quote": ('["\\"' + "[" * 99 + '\\\\"]', ['"' + "[" * 99 + "\\"]),
    "many small lists": ("[" + "[]," * 10**5 + "0]", [*([[]] * 10**5), 0]),
    "deep": ("[" * MAX_JSON_DEPTH + "]" * MAX_JSON_DEPTH, json.loads("[" * MAX_JSON_DEPTH + "]" * MAX_JSON_DEPTH)),
    "lines": ('{"a":\r\n1}', {"a": 1}),
}


@pytest.mark.parametrize("name", GOOD)
def test_json_is_read_as_it_stands(name: str) -> None:
    text, value = GOOD[name]
    assert parse_json(text.encode(), "x") == value


@pytest.mark.parametrize("name", [name for name in BAD if name not in ("not a number", "surrogates")])
def test_json_is_refused_before_it_is_parsed(name: str) -> None:
    before = time.process_time()
    for read in (parse_json, parse_history):
        with pytest.raises(InvalidInput) as error:
            read(BAD[name], "x")
        assert len(str(error.value).splitlines()) == 1 and len(str(error.value)) < 200
    assert not verify(BAD[name]).valid and not verify_independently(BAD[name]).valid
    assert time.process_time() - before < 4


@pytest.mark.parametrize("name", ["lists", "objects", "items"])
def test_no_parser_sees_what_nests_or_holds_too_much(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("json.loads", lambda *_, **__: pytest.fail("was parsed"))
    with pytest.raises(InvalidInput, match=r"nested too deeply|more than 2097152 items"):
        parse_json(BAD[name], "x")
    with pytest.raises(InvalidCertificate, match=r"nested too deeply|more than 2097152 items"):
        parse_certificate(BAD[name])
    found = verify_independently(BAD[name])
    assert not found.valid and ("nested" in found.reason or "items" in found.reason)


@given(st.text(alphabet='[]{}",:\\a1 ', max_size=40))
@settings(max_examples=150, deadline=None)
def test_the_measure_refuses_nothing_that_json_reads(text: str) -> None:
    """Small and shallow texts: whatever the parser reads passes, and nothing else is read."""
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(InvalidInput):
            parse_json(text, "x")
    else:
        assert parse_json(text, "x") == expected


def nested(levels: int) -> dict[str, Any]:
    event = EVENT
    for _ in range(levels):
        event = {"class_name": "SelfComposedDpEvent", "count": 1, "event": event}
    return event


def test_nested_events() -> None:
    assert from_dp_event(json.dumps(nested(50))) == from_dp_event(nested(50))
    with pytest.raises(InvalidInput, match="nested too deeply"):
        from_dp_event(json.dumps(nested(100)))
    with pytest.raises(InvalidInput, match="event must be nested less deeply, got 'SelfComposedDpEvent'"):
        from_dp_event(nested(5000))


def test_many_events_take_time_with_their_number_alone() -> None:
    events = [{**EVENT, "noise_multiplier": f"{n}/100"} for n in range(100, 4_100)]
    found = from_dp_event(json.dumps({"class_name": "ComposedDpEvent", "events": events}))
    assert len(found.composition.parts) == 4_000
    with pytest.raises(InvalidInput, match="more than 262144 items"):
        from_dp_event(json.dumps({"class_name": "ComposedDpEvent", "events": events * 25}))


def test_short_numbers_of_very_many_digits() -> None:
    events = [{**EVENT, "noise_multiplier": f"1e-9{n:04}"} for n in range(100)]
    with pytest.raises(InvalidInput, match="decimal exponents that come to at most 2000000 together"):
        from_dp_event(json.dumps({"class_name": "ComposedDpEvent", "events": events}))
    assert from_dp_event(json.dumps({**EVENT, "noise_multiplier": "1e99999"})).composition.parts


# on the command line


WORDS: dict[str, tuple[tuple[str, ...], int]] = {
    "convert": (("convert", "FILE", "--from", "dp-accounting"), 2), "opacus": (("convert", "FILE"), 2),
    "tf-privacy": (("convert", "FILE", "--from", "tf-privacy"), 2),
    "history": (("convert", "FILE", "--from", "opacus", "--delta", "1e-5"), 2),
    "verify": (("verify", "FILE"), 1), "statement": (("statement", "FILE"), 1),
    "page": (("certify", "FILE", "--html", "page.html"), 1), "independent": (("verify", "--independent", "FILE"), 1),
    "records": (("ledger", "init", "x", "--kind", "individual-gdp", "--set", "budget=1", "--records", "FILE"), 2),
    "delta": (("delta", "FILE", "--epsilon", "1"), 2),
    "compare": (("compare", "FILE", "--epsilon", "1"), 2),
}


@pytest.mark.parametrize("command", WORDS)
def test_every_reader_refuses_in_one_line(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    words, code = WORDS[command]
    for name in ("lists", "objects", "items", "no text", "zeros"):
        Path("x.json").write_bytes(BAD[name])
        assert main([word.replace("FILE", "x.json") for word in words]) == code, name
        told = capsys.readouterr()
        lines = (told.out + told.err).splitlines()
        assert lines and all(len(line) < 400 for line in lines) and "internal error" not in told.err, name
        assert not Path("x").exists()


def test_a_specification_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    """From a file, from standard input and in a batch."""
    dots = b"a" + b".a" * 50_000 + b" = 1\n"
    (tmp_path / "a.toml").write_bytes(dots)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(dots)))
    for file in (str(tmp_path / "a.toml"), "-"):
        assert main(["delta", file, "--epsilon", "1"]) == 2
        assert capsys.readouterr().err == (
            f"{file}: file must be TOML (keys of at most 8 parts), got '{file}'\n")
    (done,) = epsilon_all([tmp_path / "a.toml"], "1e-5")
    assert "keys of at most 8 parts" in str(done.error)


def test_a_ledger_s_requests_are_measured_too(tmp_path: Path) -> None:
    place = tmp_path / "x"
    with Ledger.create(place, GDPFilter("1")) as ledger:
        row = [1, "a", '{"mu_squared":' + "[" * 100_000, "{}", "2026-01-01"]
        digest = _digest(ledger.head, row)
    with sqlite3.connect(place) as connection:
        connection.execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?)", [*row, digest])
        connection.execute("UPDATE head SET number = 1, hash = ?", (digest,))
    with pytest.raises(InvalidLedger, match="charge 1 is none"):
        Ledger.open(place)


# whatever bytes there are

SEEDS = (
    b'relation = "add-or-remove"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "1.1"\ncount = 3\n'
    b'sampling = { scheme = "poisson", probability = "1/100" }\n[claim]\ntitle = """a\nb"""\nepsilon = 1\n'
    b"delta = 0.1\n",
    json.dumps({"class_name": "ComposedDpEvent", "events": [nested(2), EVENT]}).encode(),
    b'[[1.1, 0.004, 10], [1.5, 1e-3, 2]]',
)
PIECES = (b"\x00", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\xff", b"[", b"]", b"{", b"}", b'"', b"'", b"'''", b'"""', b"\\",
          b".", b",", b"=", b"#", b"\n", b"1e99999", b"9" * 5000, b"-", b"inf", b"nan", b"\xe2\x80\xae", b"_", b"0x",
          b"[[mechanism]]\n", b"[" * 50, b"a." * 20, b"true", b"null", b"1979-05-27", b"\\ud800", b"\\u0000")


def altered(rng: random.Random) -> bytes:
    data = rng.choice(SEEDS) if rng.random() < 0.9 else rng.randbytes(rng.randrange(200))
    for _ in range(rng.randrange(1, 5)):
        start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        end = min(end, start + rng.choice((0, 1, 5, 50)))
        data = data[:start] + rng.choice(PIECES) * rng.choice((1, 1, 2, 30)) + data[end:]
    return data


def _read_history(data: bytes) -> object:
    found = parse_history(data, "x")
    return from_dp_event(found)


READERS: tuple[Callable[[bytes], object], ...] = (
    lambda data: parse_spec(data.decode("utf-8-sig", "replace")), _read_history, parse_certificate,
    verify_independently)


def test_random_bytes_end_in_an_answer_or_in_one_line() -> None:
    rng = random.Random(28)
    for _ in range(500):
        data = altered(rng)
        for read in READERS:
            before = time.process_time()
            try:
                read(data)
            except VerifiedDPError as error:
                assert len(str(error).splitlines()) == 1, data
            assert time.process_time() - before < 2, data
