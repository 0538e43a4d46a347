"""The outcome of a check, by whichever checker."""

from __future__ import annotations

from dataclasses import dataclass

from verified_dp.core.errors import InvalidCertificate


@dataclass(frozen=True)
class Check:
    """The verdict that a valid certificate proves, or the path of the first bad field of another.

    reason: why it is invalid; for a valid one what was checked, in words.
    """

    valid: bool
    verdict: str | None
    field: str | None
    reason: str


def refused(error: InvalidCertificate) -> Check:
    """The check of a certificate that is invalid for this reason."""
    return Check(False, None, error.field or None, error.reason)
