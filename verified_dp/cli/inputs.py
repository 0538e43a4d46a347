"""What the arguments name: files, folders that stand for the files in them, and "-" for standard input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.reading import MAX_SPECIFICATION, STDIN, decoded, read_file, with_file

if TYPE_CHECKING:
    from verified_dp.core.kernel.composition import Spec
    from verified_dp.ranges import Ranged

_Read = TypeVar("_Read")


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


def read_input(file: str, limit: int, what: str) -> bytes:
    """At most a byte more than the limit; InvalidInput for what cannot be read; `what` says what is needed."""
    if _is_folder(file):
        raise InvalidInput("file", file, f"{what}, or a folder that holds some", file)
    return read_file(file, limit, what)


def load_spec(file: str) -> Spec:
    """The specification in a file or on standard input."""
    from verified_dp.spec import parse_spec

    return _parsed(file, parse_spec)


def load_ranged(file: str) -> Ranged:
    """The same where numbers may be ranges."""
    from verified_dp.ranges import parse_ranged

    return _parsed(file, parse_ranged)


def _parsed(file: str, parse: Callable[..., _Read]) -> _Read:
    from verified_dp.core.families.table import ALL_RELEASES

    text, releases = decoded(read_input(file, MAX_SPECIFICATION, "a file"), file), ALL_RELEASES
    if "fourier-accountant" in text:
        from verified_dp.papers.fourier.pairs import PUBLISHED

        releases = {**ALL_RELEASES, **PUBLISHED}
    try:
        return parse(text, file=file, releases=releases)
    except InvalidInput as error:
        raise with_file(error, file) from None
