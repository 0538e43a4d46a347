"""Where `certify` and `dpsgd` put the pages about their claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from verified_dp.cli.inputs import distinct_names
from verified_dp.cli.limits import Limits
from verified_dp.cli.output import WRONG, Output, complain, store
from verified_dp.core.kernel.errors import InvalidInput, VerifiedDPError
from verified_dp.reading import reason
from verified_dp.terminal import Progress

if TYPE_CHECKING:
    from verified_dp.core.kernel.certificate.document import Document
    from verified_dp.registry.judged import Judged as Entry
    from verified_dp.report.facts import Judged


def pages_or_none(target: str | None, files: Sequence[str], limits: Limits,
                  methods: str | None = None) -> Pages | None:
    """Where the pages of `certify` and `dpsgd` go, if any are asked for. Raises InvalidInput, as `Pages`."""
    if target is None and methods is not None:
        raise InvalidInput("methods", methods, "left out without --html: they are compared on a page")
    return None if target is None else Pages(target, files, limits.max_seconds, methods)


class Pages:
    """Pages of claims: of one claim in the file itself, of several in a folder beside it, which holds their index.

    seconds: for each curve, a few where it is None. methods: to be compared, with commas, and nobody else; where it
    is None all, and other accountants that are installed.
    missing: whether jinja2 is; verdicts are told all the same. Raises InvalidInput, before anything is computed.
    """

    def __init__(self, target: str, files: Sequence[str], seconds: float | None, methods: str | None) -> None:
        from verified_dp.report.pages import METHODS, SECONDS, check_methods, environment

        self.missing = False
        try:
            environment()
        except InvalidInput as error:
            complain(f"verified-dp: no page is written: {error}")
            self.missing = True
        if Path(target).is_dir():
            raise InvalidInput("html", target, "the name of a file (a folder is there)")
        if len(files) > 1 and not Path(target).suffix:
            raise InvalidInput("html", target, "a name that ends with .html: pages of several claims go to a folder of "
                               "the name before that")
        names = tuple(name.strip() for name in methods.split(",")) if methods else METHODS
        check_methods(names)
        self._page: dict[str, Any] = {
            "seconds": SECONDS if seconds is None else seconds, "methods": names, "peers": methods is None}
        self._target, self._names = Path(target), dict(zip(files, distinct_names(files), strict=True))
        self._done, self.errors = list[tuple["Judged", str]](), dict[str, str]()
        self._entries = list[tuple["Entry", str]]()

    @property
    def _folder(self) -> Path:
        return self._target.with_suffix("")

    @contextmanager
    def noting(self, file: str) -> Iterator[None]:
        """What goes wrong with a file stands in the index."""
        try:
            yield
        except VerifiedDPError as error:
            self.errors[file] = str(error)
            raise

    def code(self, code: int) -> int:
        """The exit code of a command that has ended with another."""
        return WRONG if self.missing else code

    def add(self, file: str, document: Document) -> str | None:
        """Write a certificate's page; its place. The caller has verified the certificate, or written it."""
        if self.missing:
            return None
        from verified_dp.report.facts import read_certificate
        from verified_dp.report.pages import page

        with Progress(file) as progress:
            progress("curves, methods and pictures of its page")
            judged, several = read_certificate(document, self._names[file]), len(self._names) > 1
            place = self._folder / f"{judged.name}.html" if several else self._target
            _write(place, page(judged, back=quote(f"../{self._target.name}") if several else "", **self._page))
        self._done.append((judged, quote(f"{self._folder.name}/{judged.name}.html")))
        return str(place)

    def add_entry(self, file: str, judged: Entry) -> str | None:
        """Write the page of a registry's entry; its place."""
        if self.missing:
            return None
        from verified_dp.registry.page import page

        name, several = self._names[file], len(self._names) > 1
        place = self._folder / f"{name}.html" if several else self._target
        _write(place, page(judged, quote(f"../{self._target.name}") if several else ""))
        self._entries.append((judged, quote(f"{self._folder.name}/{name}.html")))
        return str(place)

    def end(self, out: Output) -> None:
        """Write the index where there are several inputs."""
        from verified_dp.report.pages import index

        if len(self._names) > 1 and not self.missing:
            if self._entries:
                from verified_dp.registry.page import index as index_of_entries

                _write(self._target, index_of_entries(self._entries, self.errors))
            else:
                _write(self._target, index(self._done, self.errors))
            if not out.as_json:
                out.write([f"index of {len(self._done) + len(self._entries)}: {self._target}"])


def _write(place: Path, text: str) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput("html", str(place), f"a file that can be written ({reason(error)})") from None
    store(str(place), text.encode("utf-8"), "html")
