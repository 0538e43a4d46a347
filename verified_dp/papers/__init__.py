"""The papers' methods, as published and with every error enclosed.

    from verified_dp.papers import accountant, compare

Names are loaded when they are first used; their types stand in `__init__.pyi`.
"""

from __future__ import annotations

from verified_dp import lazy

__all__, __getattr__ = lazy(__name__, {
    "verified_dp.enclosure": "Estimate",
    "verified_dp.papers.ask": "Accountant PaperResult accountant",
    "verified_dp.papers.comparison": "Comparison compare",
    "verified_dp.papers.fourier.pairs": "FourierAccountantDraws FourierAccountantPair load_spec published_profile",
    "verified_dp.papers.paper": "PAPER_METHODS",
    "verified_dp.papers.prv.curves": "LossTail loss_of_curve mechanism_of_guarantees",
})
