"""python pack.py OUT: this package as one file that Python runs, the same bytes on every machine.

It needs mpmath and nothing else of this project: python OUT CERT...
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

_ROOT = "independent"
_MAIN = f"import sys\n\nfrom {_ROOT}.__main__ import main\n\nsys.exit(main())\n"
_EARLIEST = (1980, 1, 1, 0, 0, 0)


def pack(target: Path) -> None:
    """Write the archive: a first line for the shell, then every module of this folder, in order of their names."""
    folder = Path(__file__).resolve().parent
    files = {f"{_ROOT}/{path.name}": path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as stream:
        stream.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(stream, "w") as archive:
            for name, text in {"__main__.py": _MAIN, **files}.items():
                entry = zipfile.ZipInfo(name, _EARLIEST)
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, text)
    target.chmod(0o755)


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
