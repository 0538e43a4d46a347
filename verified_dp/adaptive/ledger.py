"""The ledger: a filter or odometer kept in a file, charge by charge, so that no crash loses or doubles a charge.

    ledger = Ledger.create("budget.ledger", GDPFilter("1/4"))
    receipt = ledger.charge("epoch 1", mu_squared="1/100")     # durable before it returns
    if receipt.continues: ...                                  # and only now run the step

* One charge is one transaction of an SQLite file (BEGIN IMMEDIATE, synchronous EXTRA): after a kill or a power cut the
  file holds it entirely or not at all. Processes that charge at once wait for one another.
* Each charge has a key. Asking again with a key that is in the ledger returns the first receipt and charges nothing:
  who was killed before reading the answer asks again. The same key with another request is an error.
* Charges are only ever added, and each carries the hash of all before it. Opening replays every one of them; a file
  that is damaged, edited or shortened is refused and never repaired. The hash is no signature: who can write the file
  can write another history, or put an old copy back. Keep `head` elsewhere and compare it to see that.
* A refused step (HALT) is not recorded: it costs nothing, and asking again gives the same answer. Individual filters
  refuse no step, only records.

The ledger of an individual filter names records and who dropped out when: keep it as secret as the data. With 10^5
records a charge takes about 4 s and 3 MB, and opening replays them all: for more, see array_filter.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any, Self

from verified_dp.adaptive.filters import (
    ApproximateDPFilter,
    GDPFilter,
    IndividualGDPFilter,
    IndividualRenyiFilter,
    RenyiFilter,
)
from verified_dp.adaptive.odometers import GDPOdometer, IndividualGDPOdometer, IndividualRenyiOdometer, RenyiOdometer
from verified_dp.adaptive.storage import (
    BUSY_SECONDS,
    SELECT,
    InvalidLedger,
    checked_terms,
    connect,
    create_file,
    refuse,
    told,
)
from verified_dp.adaptive.sums import Verdict
from verified_dp.core.kernel.errors import InvalidInput, VerifiedDPError
from verified_dp.core.kernel.exact import exact, fraction_text
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.reading import parse_json

MAX_KEY = 1000
State = Any  # one of KINDS: their `charge` methods take different numbers
KINDS: dict[str, type] = {kind.kind: kind for kind in (
    GDPFilter, GDPOdometer, RenyiFilter, RenyiOdometer, ApproximateDPFilter, IndividualGDPFilter,
    IndividualRenyiFilter, IndividualGDPOdometer, IndividualRenyiOdometer)}


@dataclass(frozen=True)
class Receipt:
    """What the ledger says to a charge.

    verdict: whether the step may run. number: the charge's place in the ledger (None for a refused step). repeated:
    whether an earlier call with this key had charged it. active, halted: of an individual filter, who takes part.
    """

    key: str
    verdict: Verdict
    number: int | None
    repeated: bool = False
    active: frozenset[str] | None = None
    halted: frozenset[str] | None = None

    @property
    def continues(self) -> bool:
        """Whether the step may run."""
        return self.verdict is Verdict.CONTINUE


@dataclass(frozen=True)
class Entry:
    """One charge as it stands in the ledger, all texts."""

    number: int
    key: str
    request: str
    outcome: str
    at: str
    hash: str


class Ledger:
    """A filter or odometer in a file. `open` and `create` make one; it is a context manager that closes the file.

    state: the filter or odometer with all charges that this object has seen; `refresh` reads what others have charged.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, terms: str) -> None:
        self.path, self._connection, self._terms = path, connection, terms
        self.state: State = _opened(terms)
        self.number, self.head, self._process = 0, _digest("", terms), os.getpid()

    @classmethod
    def create(cls, path: str | os.PathLike[str], state: State) -> Self:
        """A new ledger that starts with this state. InvalidInput where the file exists or the state has charges."""
        terms = _terms(state)
        create_file(Path(path), terms, _digest("", terms))
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], busy_seconds: float = BUSY_SECONDS) -> Self:
        """The ledger in a file, checked in full. InvalidLedger where it is none or is damaged; LedgerBusy."""
        file = Path(path)
        with told(file):
            if not file.is_file():
                raise InvalidLedger("ledger", str(file), "a file that `ledger init` made: there is none")
            connection = connect(file, busy_seconds)
            try:
                ledger = cls(file, connection, checked_terms(connection, file))
                ledger.refresh()
            except BaseException:
                connection.close()
                raise
        return ledger

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def kind(self) -> str:
        """The name of the filter or odometer, a key of KINDS."""
        return str(self.state.kind)

    @proved_by("T114-safe-rounding")
    def charge(self, key: str, **request: Any) -> Receipt:
        """Charge a step once, however often it is asked with this key; the arguments are those of the state's charge.

        Raises:
            InvalidInput: for wrong numbers or names, and a key that stands for another request: nothing is charged.
            InvalidLedger: where the file has been damaged. LedgerBusy: nothing is charged.
        """
        if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY or not key.isprintable():
            raise InvalidInput("key", key, f"a printable text of 1 to {MAX_KEY} characters")
        asked = _canonical(request, "request")
        with self._transaction():
            self._read_new()
            known = self._find(key)
            if known is not None:
                if known.request != asked:
                    raise InvalidInput("key", key, f"a new key: charge {known.number} has it, with {known.request}")
                return self._receipt(known, repeated=True)
            decision = _decide(self.state, parse_json(asked, "the request", "request"))
            if not decision.continues:
                return Receipt(key, Verdict.HALT, None)
            entry = self._entry(key, asked, _outcome(decision))
            self._append(entry)
        self.state, self.number, self.head = decision.state, entry.number, entry.hash
        return self._receipt(entry)

    def refresh(self) -> None:
        """Take in what other processes have charged; every new charge is replayed and compared."""
        with self._transaction():
            self._read_new()

    def entries(self) -> Iterator[Entry]:
        """All charges, in order, as they stand in the file."""
        self.refresh()
        with told(self.path):
            rows = self._connection.execute(f"{SELECT} WHERE number <= ? ORDER BY number", (self.number,)).fetchall()
        return (Entry(*row) for row in rows)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """One transaction that excludes other writers; rolled back on every error."""
        if os.getpid() != self._process:
            raise InvalidInput("ledger", str(self.path), "opened after the fork: locks do not survive one")
        with told(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def _read_new(self) -> None:
        """Replay the charges after the last one seen, up to the head. The state changes only if all are right."""
        terms, last, head = self._connection.execute("SELECT terms, number, hash FROM head").fetchone()
        state, number, digest = self.state, self.number, self.head
        for row in self._connection.execute(f"{SELECT} WHERE number > ? ORDER BY number", (self.number,)):
            entry = Entry(*row)
            state = _replayed(state, entry, number + 1, digest, self.path)
            number, digest = entry.number, entry.hash
        if (terms, last, head) != (self._terms, number, digest):
            refuse(self.path, f"its head names charge {last}, its charges end at {number}, or their hashes differ")
        self.state, self.number, self.head = state, number, digest

    def _find(self, key: str) -> Entry | None:
        row = self._connection.execute(f"{SELECT} WHERE key = ?", (key,)).fetchone()
        return None if row is None else Entry(*row)

    def _entry(self, key: str, request: str, outcome: str) -> Entry:
        number, at = self.number + 1, datetime.now(UTC).isoformat(timespec="seconds")
        return Entry(number, key, request, outcome, at, _digest(self.head, [number, key, request, outcome, at]))

    def _append(self, entry: Entry) -> None:
        row = (entry.number, entry.key, entry.request, entry.outcome, entry.at, entry.hash)
        self._connection.execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?)", row)
        self._connection.execute("UPDATE head SET number = ?, hash = ?", (entry.number, entry.hash))

    def _receipt(self, entry: Entry, repeated: bool = False) -> Receipt:
        halted = json.loads(entry.outcome).get("halted")
        if halted is None:
            return Receipt(entry.key, Verdict.CONTINUE, entry.number, repeated)
        active = frozenset(self.state.spent) - frozenset(halted)
        return Receipt(entry.key, Verdict.CONTINUE, entry.number, repeated, active, frozenset(halted))


def _digest(before: str, what: object) -> str:
    return hashlib.sha256(f"{before}\n{json.dumps(what)}".encode()).hexdigest()


def _canonical(value: object, key: str) -> str:
    """JSON text with sorted keys in which every number is a reduced fraction: equal requests have equal texts."""
    return json.dumps(_plain(value, key), sort_keys=True, separators=(",", ":"))


def _plain(value: object, key: str) -> object:
    if isinstance(value, Mapping):
        wrong = next((name for name in value if not isinstance(name, str)), None)
        if wrong is not None:
            raise InvalidInput(key, wrong, "named by texts: a ledger keeps record ids as texts")
        return {name: _plain(item, f"{key}.{name}") for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, key) for item in value]
    return fraction_text(exact(value, key))


def _terms(state: State) -> str:
    """What a state starts with, as text: kind and every field."""
    if type(state) not in KINDS.values():
        raise InvalidInput("state", type(state).__name__, "one of " + ", ".join(KINDS))
    if any(_sums(state)):
        raise InvalidInput("state", "one with charges", "one that has spent nothing")
    values = {item.name: getattr(state, item.name) for item in fields(state) if item.name != "spent"}
    if isinstance(state.spent, Mapping):
        values["spent"] = state.spent
    terms = json.dumps({"kind": state.kind, "fields": json.loads(_canonical(values, "state"))}, sort_keys=True)
    parse_json(terms, "the state", "state")  # or the ledger could not be opened again
    return terms


def _opened(terms: str) -> State:
    """The state a ledger starts with; the hash over the terms is checked against the head later."""
    try:
        found = parse_json(terms, "terms")
        return KINDS[found["kind"]](**found["fields"])
    except (ValueError, KeyError, TypeError, VerifiedDPError):
        raise InvalidLedger("ledger", terms, "an undamaged ledger: its terms are none") from None


def _sums(state: State) -> tuple[Fraction, ...]:
    spent = state.spent
    if isinstance(spent, Mapping):
        return tuple(spent.values())
    return spent if isinstance(spent, tuple) else (spent,)


def _decide(state: State, request: dict[str, Any]) -> Any:
    """The state's decision; InvalidInput where the arguments are not those of its `charge`."""
    asked = signature(state.charge)
    try:
        asked.bind(**request)
    except TypeError:
        wanted = ", ".join(asked.parameters)
        raise InvalidInput("request", sorted(request), f"what a {state.kind} asks: {wanted}") from None
    return state.charge(**request)


def _outcome(decision: Any) -> str:
    """What the ledger keeps of a decision: the sums, or who was halted."""
    halted = getattr(decision, "halted", None)
    if halted is None:
        return _canonical({"spent": list(_sums(decision.state))}, "spent")
    return json.dumps({"halted": sorted(halted)})


def _replayed(state: State, entry: Entry, number: int, before: str, file: Path) -> State:
    """The state after a recorded charge, which must be the one that its request gives."""
    hashed = _digest(before, [entry.number, entry.key, entry.request, entry.outcome, entry.at])
    if entry.number != number or entry.hash != hashed:
        refuse(file, f"charge {number} is missing or has been changed")
    try:
        decision = _decide(state, parse_json(entry.request, "request"))
    except (ValueError, TypeError, VerifiedDPError):
        raise InvalidLedger("ledger", str(file), f"an undamaged ledger: charge {number} is none") from None
    if not decision.continues or _outcome(decision) != entry.outcome:
        refuse(file, f"charge {number} is not what its request gives")
    return decision.state
