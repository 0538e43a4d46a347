"""A second checker of certificates, written from proofs/CERTIFICATE.md: it shares no line with the trusted one.

It imports Python's standard library and mpmath, and nothing of the rest of this package:

    document, inputs, words, verdict    the format                     balls    arithmetic
    laws, atoms, shifts, clones, allocation, selected, pieces    the laws of the privacy loss
    pairs, losses    from what was run to laws
    measures, discretise, compose, decide    the verdict, by lattices of its own: no witness is asked
    nodes, contour, moment, exact, witnesses    witnesses that are replayed, for the recorded digits
    check    the whole check
"""

from .balls import OutOfTime
from .check import Check, verify
from .document import TooMuch

__all__ = ["Check", "OutOfTime", "TooMuch", "verify"]
