"""python build.py OUT [CACHE [FORMAL]]: the page that verifies certificates in a browser, as one file.

The same bytes everywhere: what is embedded are the archives as published, pinned by their hashes, and this package's
own files as text. Archives that CACHE lacks are fetched with npm and pip, once. FORMAL is the formal checker in
JavaScript, which `make proofs` builds where js_of_ocaml is; without it the page has none.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

_HERE = Path(__file__).resolve().parent
_PACKAGE = _HERE.parents[1]
_OWN = ("__init__.py", "core/**/*.py", "questions/__init__.py", "questions/statement.py", "terminal.py",
        "verifiers/__init__.py", "verifiers/statements.py", "verifiers/theorems.json", "verifiers/independent/*.py",
        "verifiers/browser/__init__.py", "verifiers/browser/inside.py", "verifiers/formal.py",
        "verifiers/formal_steps.py")
"""What runs in the page: the closure of inside.py's imports."""
_STYLES = (_PACKAGE / "report" / "templates" / "style.css", _HERE / "page.css")
_BROWSER = ("--only-binary", ":all:", "--implementation", "cp", "--python-version", "3.14", "--abi", "cp314",
            "--platform", "pyemscripten_2026_0_wasm32")


@dataclass(frozen=True)
class Part:
    """A published archive: what it is, its file and hash, whence, its licence and where its source is."""

    name: str
    file: str
    sha256: str
    wanted: str
    licence: str
    source: str


PARTS = (
    Part("Pyodide 314.0.7 with Python 3.14", "pyodide-314.0.7.tgz",
         "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0", "pyodide@314.0.7",
         "MPL-2.0 (Pyodide), Python-2.0.1 (Python)", "https://github.com/pyodide/pyodide"),
    Part("python-flint 0.9.0 with FLINT 3.6.0, MPFR 4.2.2 and GMP 6.3.0",
         "python_flint-0.9.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl",
         "b31f5c00e0e36040ab58d00b3025156e20869b990d776e4bf90f870b1ee11ad3", "python-flint==0.9.0",
         "MIT (python-flint), LGPL-3.0-or-later (FLINT, MPFR, GMP)", "https://github.com/flintlib/python-flint"),
    Part("mpmath 1.3.0", "mpmath-1.3.0-py3-none-any.whl",
         "a0b2b9fe80bbcd81a6647ff13108738cfb482d481d826cc0e02f5b35e5c88d2c", "mpmath==1.3.0",
         "BSD-3-Clause", "https://github.com/mpmath/mpmath"),
)
FORMAL = "formal-checker.js"
_FORMAL_PART = {
    "name": "Formal checker, extracted from Coq, by js_of_ocaml",
    "licence": "Apache-2.0 (the program), LGPL-2.1 with OCaml's exception (OCaml, js_of_ocaml, zarith)",
    "source": "https://github.com/ocsigen/js_of_ocaml",
}
_TEXTS = Part("texts of licences", "spdx-license-list-6.12.0.tgz",
              "54cc8d13086187333ca1457c8edaa06d9a412144f076aa7f7c1b59c4f3b0a1ef", "spdx-license-list@6.12.0",
              "CC0-1.0", "https://github.com/sindresorhus/spdx-license-list")


def fetch(part: Part, cache: Path) -> bytes:
    """The archive, from the cache or from its registry. Raises ValueError where its hash is another."""
    path = cache / part.file
    if not path.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        _download(part, cache)
    data = path.read_bytes()
    if (found := hashlib.sha256(data).hexdigest()) != part.sha256:
        raise ValueError(f"{path} must have the sha256 {part.sha256}, got {found}")
    return data


def _download(part: Part, cache: Path) -> None:
    if part.file.endswith(".whl"):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache), *_BROWSER]
        subprocess.run([*command, part.wanted], check=True)
    elif npm := shutil.which("npm"):
        subprocess.run([npm, "pack", "--silent", part.wanted], cwd=cache, check=True, stdout=subprocess.DEVNULL)
    else:
        name = part.wanted.partition("@")[0]
        with urlopen(f"https://registry.npmjs.org/{name}/-/{part.file}", timeout=60) as stream:
            (cache / part.file).write_bytes(stream.read())


def build(target: Path, cache: Path, formal: Path | None = None) -> str:
    """Write the page; its sha256."""
    archives = {part: fetch(part, cache) for part in PARTS}
    program = _text(formal) if formal is not None and formal.is_file() else ""
    if "</script" in program:
        raise ValueError(f"{formal} must not contain </script")
    shown = [{**_FORMAL_PART, "sha256": hashlib.sha256(program.encode()).hexdigest()}] if program else []
    style, script = _text(*_STYLES), _text(_HERE / "page.js")
    values = {
        "policy": _policy(script, style), "style": style, "script": script, "worker": _text(_HERE / "worker.js"),
        "version": _version(), "manifest": _json({
            "parts": [vars(part) for part in PARTS], "shown": shown,
            "licences": dict(_licences(archives, fetch(_TEXTS, cache)))}),
        "data": "\n".join([*(_block(part.file, "text/plain", base64.b64encode(data).decode())
                             for part, data in archives.items()),
                           _block("sources", "application/json", _json(_sources())),
                           _block(FORMAL, "text/plain", program)])}
    page = re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], _text(_HERE / "page.html")).encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(page)
    return hashlib.sha256(page).hexdigest()


def _text(*paths: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def _policy(script: str, style: str) -> str:
    """Nothing is loaded or sent; the only script is the page's own, and what it makes from the page's parts."""
    ours, looks = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style))
    return (f"default-src 'none'; script-src 'sha256-{ours}' 'wasm-unsafe-eval' blob:; worker-src blob:; "
            f"style-src 'sha256-{looks}'; connect-src 'none'; img-src data:; base-uri 'none'; form-action 'none'")


def _version() -> str:
    return re.findall(r'^__version__ = "(.+)"$', _text(_PACKAGE / "__init__.py"), re.MULTILINE)[0]


def _json(value: object) -> str:
    """JSON that holds no tag."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True).replace("<", "\\u003c")


def _block(name: str, kind: str, text: str) -> str:
    return f'<script type="{kind}" id="{name}">{text}</script>'


def _sources() -> dict[str, str]:
    """Path -> text of every file of this package that runs in the page."""
    files = sorted({path for pattern in _OWN for path in _PACKAGE.glob(pattern)})
    return {path.relative_to(_PACKAGE.parent).as_posix(): _text(path) for path in files}


def _licences(archives: dict[Part, bytes], texts: bytes) -> Iterator[tuple[str, str]]:
    """Name -> text: those that the archives bring, and those that they only name."""
    yield "Apache-2.0 (verified-dp)", _text(_PACKAGE.parent / "LICENSE")
    with tarfile.open(fileobj=io.BytesIO(texts)) as archive:
        for name in ("MPL-2.0", "Python-2.0.1"):
            if (stream := archive.extractfile(f"package/licenses/{name}.json")) is not None:
                yield name, json.load(stream)["licenseText"]
    for part, data in archives.items():
        if part.file.endswith(".whl"):
            with zipfile.ZipFile(io.BytesIO(data)) as wheel:
                for path in wheel.namelist():
                    if re.search(r"dist-info/.*(LICENSE|COPYING)", path):
                        yield path.replace(".dist-info", ""), wheel.read(path).decode("utf-8")


if __name__ == "__main__":
    out, *given = map(Path, sys.argv[1:])
    print(build(out, *(given or [out.parent / "parts"])), out)
