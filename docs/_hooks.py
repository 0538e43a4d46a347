"""The site's pages beside docs/: proofs, examples and the rest of what pages link to, at the same places.

A link such as `../proofs/README.md` leaves docs/; on the site these files lie below its root.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
BESIDE = ("proofs/**/*.md", "proofs/coq/*.txt", "examples/*.py", "examples/claims/*.md", "examples/claims/*.toml",
          "examples/claims/not-stated.json",
          "examples/notebooks/*.ipynb")
OWN = ("mechanisms",)
"""Folders below docs/; other pages lie beside it."""


def on_files(files: Any, config: Any) -> Any:
    """Add what lies beside docs/, and the script of the tables of claims."""
    files.append(File("table.js", str(ROOT / "verified_dp" / "report" / "templates"), config.site_dir,
                      config.use_directory_urls))
    for pattern in BESIDE:
        for path in sorted(ROOT.glob(pattern)):
            place = path.relative_to(ROOT).as_posix()
            files.append(File(place, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(text: str, page: Any, config: Any, files: Any) -> str:
    """Links from docs/ to what lies beside it; a link to a file that is not on the site becomes its name."""
    folder = Path(page.file.src_uri).parent
    if not folder.parts or folder.parts[0] in OWN:
        up = "../" * len(folder.parts)
        text = text.replace(f"]({up}../", f"]({up}")

    def known(place: str) -> bool:
        parts: list[str] = []
        for part in (folder / place).as_posix().split("/"):
            parts = parts[:-1] if part == ".." else parts + [part] * (part != ".")
        return files.get_file_from_path("/".join(parts)) is not None

    return re.sub(r"\[([^\]]*)\]\((?!https?:|#)([^)\s#]+)(#[^)]*)?\)",
                  lambda link: link[0] if known(link[2]) else link[1], text)
