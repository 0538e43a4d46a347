"""Pages about claims: one self-contained HTML file per certificate, and an index of several.

    from verified_dp.report import judge, page

Names are loaded when they are first used; rendering needs jinja2 (extra `report`).
"""

from __future__ import annotations

from verified_dp import lazy

__all__, __getattr__ = lazy(__name__, {
    "verified_dp.report.facts": "Judged judge read_certificate",
    "verified_dp.report.pages": "index page",
})
