"""Pages about claims: one self-contained HTML file per certificate, and an index of several.

    from verified_dp.report.facts import judge
    from verified_dp.report.pages import page

    Path("claim.html").write_text(page(judge(load_spec("claim.toml"), "claim")), encoding="utf-8")

Rendering needs jinja2 (extra `report`).
"""
