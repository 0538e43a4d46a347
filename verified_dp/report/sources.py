"""Where a claim was published, with links: as audited claims write it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from urllib.parse import quote

from verified_dp.terminal import escaped


def links(source: str) -> Iterator[tuple[str, str]]:
    """(text, address) of each part, "" where none is known; the texts in a row are the source, shortened.

    Parts are `github:owner/repository@commit path, path`, an address, `github issue owner/repository#1`, or words.

    >>> list(links("github:a/b@12 c.md, d/e.py"))
    [('a/b c.md', 'https://github.com/a/b/blob/12/c.md'), (', ', ''), ('d/e.py', 'https://github.com/a/b/blob/12/d/e.py')]
    >>> list(links("arXiv:1607.00133 (text)"))
    [('arXiv:1607.00133', 'https://arxiv.org/abs/1607.00133'), (' (text)', '')]
    """
    for number, part in enumerate(source.split("; ")):
        if number:
            yield "; ", ""
        yield from _links(part)


def _links(part: str) -> Iterator[tuple[str, str]]:
    if found := re.fullmatch(r"github:([\w.-]+/[\w.-]+)@(\w+) (\S+(?:, \S+)*)", part):
        for number, path in enumerate(found[3].split(", ")):
            if number:
                yield ", ", ""
            yield (path if number else f"{found[1]} {path}"), f"https://github.com/{found[1]}/blob/{found[2]}/{quote(path)}"
        return
    rest = part
    while found := _PLACE.search(rest):
        if found.start():
            yield rest[: found.start()], ""
        if found["issue"]:
            yield f"{found['issue']} issue {found['number']}", (
                f"https://github.com/{found['issue']}/issues/{found['number']}")
        elif found["arxiv"]:
            yield found[0], f"https://arxiv.org/abs/{found['arxiv']}"
        else:
            yield found[0], quote(found[0], safe=":/?#[]@!$&'()*+,;=%~-._")
        rest = rest[found.end():]
    if rest:
        yield rest, ""


_PLACE = re.compile(r"github issue (?P<issue>[\w.-]+/[\w.-]+)#(?P<number>\d+)|arXiv:(?P<arxiv>\d{4}\.\d{4,5})"
                    r"|https://[^\s;]+[^\s;.,)]")


def linked(source: str) -> str:
    """The same as HTML, with what does not print escaped as on a terminal."""
    return "".join(f'<a href="{escape(address)}">{escape(escaped(text))}</a>' if address else escape(escaped(text))
                   for text, address in links(source))


def year(title: str, source: str) -> str:
    """Of the arXiv number, else the first year that the title or the source names; "" where none does.

    >>> year("Abadi et al.", "arXiv:1607.00133 (text)"), year("Gboard 2022", ""), year("batch of 2048", "")
    ('2016', '2022', '')
    """
    if found := re.search(r"arXiv:(\d\d)\d\d\.\d", source):
        return f"20{found[1]}"
    found = re.search(r"(?<![\w.-])20[0-3]\d(?![\w.-])", f"{title} {source}")
    return found[0] if found else ""
