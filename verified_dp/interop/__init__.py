"""Other libraries' descriptions of what was run, as exact specifications; and accountants that fit into them.

    from verified_dp.interop import from_dp_event, from_opacus

    privacy_profile(from_opacus([(1.1, 0.004, 10000)])).epsilon("1e-5")

Neither dp_accounting nor Opacus is needed to read their events and histories. `VerifiedAccountant` needs
dp_accounting (extra `dp-accounting`), `OpacusAccountant` Opacus (extra `opacus`); each is imported when it is used.
"""

from __future__ import annotations

from verified_dp import lazy

_HOMES = {
    "verified_dp.interop.dp_accounting": "VerifiedAccountant",
    "verified_dp.interop.events": "event_record from_dp_event",
    "verified_dp.interop.histories": "from_opacus from_tf_privacy",
    "verified_dp.interop.matrices": "balls_in_bins banded_cyclic separated_samples",
    "verified_dp.interop.opacus": "OpacusAccountant",
    "verified_dp.interop.reading": "Converted",
    "verified_dp.interop.writing": "spec_toml",
}
__all__, __getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
