"""A page for an entry of the registry, and an index of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from verified_dp import __version__
from verified_dp.registry.entry import COMMIT, FIELDS
from verified_dp.registry.judged import Judged
from verified_dp.report.pages import environment


def page(judged: Judged, back: str = "") -> str:
    """The HTML page of one entry; back: link to an index. Raises InvalidInput without jinja2."""
    stated = [(path, FIELDS[path].words, text) for path, text in judged.entry.fields.items()]
    return environment().get_template("entry.html").render(
        version=__version__, commit=COMMIT[:7], back=back, judged=judged, entry=judged.entry, stated=stated, rows=())


def index(all_judged: Sequence[tuple[Judged, str]], errors: Mapping[str, str]) -> str:
    """The list of several entries with links to their pages. errors: input -> why it has none."""
    counts = Counter(judged.verdict for judged, _ in all_judged)
    return environment().get_template("entry.html").render(
        version=__version__, commit=COMMIT[:7], back="", rows=all_judged, counts=counts, errors=errors)
