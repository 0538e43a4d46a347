"""What the arguments name: files, folders that stand for the files in them, and "-" for standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from verified_dp.core.errors import InvalidInput, with_file

if TYPE_CHECKING:
    from verified_dp.core.composition import Spec

STDIN = "-"
MAX_SPECIFICATION = 2**24
"""16 MiB of TOML; real ones have some hundred bytes."""


def named_files(names: Sequence[str], suffix: str) -> list[str]:
    """The names, each folder replaced by its files of that suffix in the order of their names.

    A folder without such files stays, for its reader to refuse. Raises InvalidInput for standard input given twice.
    """
    found = [file for name in names for file in _in_folder(name, suffix)]
    if found.count(STDIN) > 1:
        raise InvalidInput("files", STDIN, "standard input once")
    return found


def _in_folder(name: str, suffix: str) -> Iterator[str]:
    found = Path(name).glob(f"*{suffix}") if _is_folder(name) else ()
    yield from sorted(str(path) for path in found if path.is_file()) or [name]


def distinct_names(files: Sequence[str]) -> list[str]:
    """A name for what is written about each file: its own without suffix, NAME-2 for a second of that name, ...

    >>> distinct_names(["a/x.toml", "b/x.toml", "-"])
    ['x', 'x-2', 'stdin']
    """
    names: list[str] = []
    for file in files:
        stem, number = "stdin" if file == STDIN else Path(file).stem, 1
        while (name := stem if number == 1 else f"{stem}-{number}") in names:
            number += 1
        names.append(name)
    return names


def _is_folder(name: str) -> bool:
    try:
        return name != STDIN and Path(name).is_dir()
    except (OSError, ValueError):
        return False


def read_at_most(file: str, limit: int) -> bytes:
    """The file's bytes, or the first limit + 1 of them where it has more: whoever reads on refuses that many.

    Raises OSError, or ValueError for what can be no file's name.
    """
    if file == STDIN:
        if sys.stdin is None:
            raise OSError("standard input is closed")
        return sys.stdin.buffer.read(limit + 1)
    with open(file, "rb") as stream:
        return stream.read(limit + 1)


def read_input(file: str, limit: int, what: str) -> bytes:
    """The same, with InvalidInput for what cannot be read; `what` says what is needed."""
    if _is_folder(file):
        raise InvalidInput("file", file, f"{what}, or a folder that holds some", file)
    try:
        return read_at_most(file, limit)
    except (OSError, ValueError) as error:
        raise InvalidInput("file", file, f"{what} that can be read ({reason(error)})", file) from None


def reason(error: Exception) -> str:
    """Why the system refused, in its own words."""
    return getattr(error, "strerror", None) or str(error)


def load_spec(file: str) -> Spec:
    """The specification in a file or on standard input."""
    from verified_dp.core.vectors import ALL_RELEASES
    from verified_dp.papers.fourier.pairs import PUBLISHED
    from verified_dp.spec import decoded, parse_spec

    data = read_input(file, MAX_SPECIFICATION, "a file")
    if len(data) > MAX_SPECIFICATION:
        raise InvalidInput("file", file, f"at most {MAX_SPECIFICATION} bytes long", file)
    try:
        return parse_spec(decoded(data, file), file=file, releases={**ALL_RELEASES, **PUBLISHED})
    except InvalidInput as error:
        raise with_file(error, file) from None
