"""Files are written whole or not at all: a full disk or a killed process leaves the old file, or none."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from os import PathLike
from pathlib import Path

SUFFIX = ".unfinished"
"""Ends the name of a file that is being written; one that a killed process left may be deleted."""


def write_atomically(path: str | PathLike[str], data: bytes) -> None:
    """Put the data into a file that is then renamed to `path`, and sync both; what is no plain file is written to.

    Ensures: whenever the process stops, `path` holds the old content or the new one. A link stays a link.
    Raises: OSError, with nothing left behind.
    """
    place = Path(path).resolve()
    if place.exists() and not place.is_file():  # a device, a pipe, a folder
        place.write_bytes(data)
        return
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(13, "the file is read-only", str(place))
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:100]}.", suffix=SUFFIX)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(place))
        os.replace(name, place)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(place.parent)


def _mode(place: Path) -> int:
    """The old file's mode, or what a new file gets."""
    if place.exists():
        return place.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """So that the new name outlives a power cut, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
