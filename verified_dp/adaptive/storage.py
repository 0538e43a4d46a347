"""The ledger's SQLite file: its tables, how it is opened, and what can go wrong with it, told in one line."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from verified_dp.core.kernel.certificate.document import MAX_BYTES
from verified_dp.core.kernel.errors import InvalidInput

APPLICATION_ID, VERSION = 0x56445031, 1
BUSY_SECONDS = 60.0
SELECT = "SELECT number, key, request, outcome, at, hash FROM charges"
_SCHEMA = (
    "CREATE TABLE charges (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, request TEXT NOT NULL, "
    "outcome TEXT NOT NULL, at TEXT NOT NULL, hash TEXT NOT NULL) STRICT",
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), terms TEXT NOT NULL, number INTEGER NOT NULL, "
    "hash TEXT NOT NULL) STRICT",
    "CREATE TRIGGER charges_stay BEFORE DELETE ON charges BEGIN SELECT RAISE(ABORT, 'charges are only added'); END",
    "CREATE TRIGGER charges_stand BEFORE UPDATE ON charges BEGIN SELECT RAISE(ABORT, 'charges are only added'); END",
)


class InvalidLedger(InvalidInput):
    """A file that is no ledger, a damaged one, or one that cannot be read and written; it was left as it is."""


class LedgerBusy(InvalidInput):
    """Another process held the ledger for too long; nothing was charged."""


def create_file(file: Path, terms: str, digest: str) -> None:
    """A new file with no charges. InvalidInput where there is one, or none can be made: then none is left."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput("ledger", str(file), f"a new file in a folder that exists ({reason})") from None
    try:
        with told(file):
            _write_schema(file, terms, digest)
    except BaseException:
        with suppress(OSError):
            file.unlink()
        raise


def _write_schema(file: Path, terms: str, digest: str) -> None:
    connection = connect(file, BUSY_SECONDS)
    try:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO head VALUES (1, ?, 0, ?)", (terms, digest))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    finally:
        connection.close()


def connect(file: Path, busy_seconds: float) -> sqlite3.Connection:
    """A connection to a file that is there, on a file system that has locks."""
    _check_locks(file)
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", timeout=busy_seconds, isolation_level=None,
                                 uri=True)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 4 * MAX_BYTES)  # of a row: request and outcome
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def checked_terms(connection: sqlite3.Connection, file: Path) -> str:
    """The terms of a file whose type, version, structure and schema are those of a ledger."""
    def pragma(name: str) -> Any:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]

    if pragma("application_id") != APPLICATION_ID:
        refuse(file, "it is an SQLite file of something else, or empty")
    if pragma("user_version") != VERSION:
        refuse(file, f"it has version {pragma('user_version')}, and this program reads version {VERSION}")
    if (state := pragma("integrity_check")) != "ok":
        refuse(file, str(state))
    schema = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY sql").fetchall()
    if [sql for (sql,) in schema] != sorted(_SCHEMA):
        refuse(file, "its tables are not those of a ledger")
    rows = connection.execute("SELECT terms FROM head").fetchall()
    if len(rows) != 1:
        refuse(file, "it has no head")
    return str(rows[0][0])


def refuse(file: Path, reason: str) -> NoReturn:
    """InvalidLedger for a damaged file."""
    raise InvalidLedger("ledger", str(file), f"an undamaged ledger: {reason}")


@contextmanager
def told(file: Path) -> Iterator[None]:
    """Errors of SQLite and of the file system as ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            _check_locks(file)
            raise LedgerBusy("ledger", str(file), "free: another process is using it, nothing was charged, "
                             "try again") from None
        raise InvalidLedger("ledger", str(file), f"a ledger that can be read and written: {error}") from None
    except sqlite3.ProgrammingError as error:
        raise InvalidInput("ledger", str(file), f"open, in the thread that opened it: {error}") from None
    except (sqlite3.Error, UnicodeError) as error:
        refuse(file, str(error))
    except OSError as error:
        raise InvalidLedger("ledger", str(file), f"a ledger that can be read and written: {error.strerror}") from None


def _check_locks(file: Path) -> None:
    """InvalidInput on a file system without locks, which SQLite takes for a busy file.

    It is tried on another file of the folder: closing the ledger's own would give up its locks.
    """
    try:
        import fcntl

        with tempfile.TemporaryFile(dir=file.resolve().parent) as probe:
            fcntl.lockf(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno == errno.ENOLCK:
            raise InvalidInput("ledger", str(file), f"on a file system with locks ({error.strerror}); nothing was "
                               "charged") from None
    except ImportError:  # not a POSIX system
        return
