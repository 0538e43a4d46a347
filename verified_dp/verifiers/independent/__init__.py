"""A second checker of certificates, written from proofs/CERTIFICATE.md: it shares no line with the trusted one.

It imports Python's standard library and mpmath, and nothing of the rest of this package:

    balls       arithmetic             document, inputs, words, verdict    the format
    laws, atoms, shifts, pieces        the laws of the privacy loss        pairs, losses    from what was run to laws
    nodes, quadrature, contour         lines, bent paths, Chernoff, one Renyi order
    divergences                        several powers, in both directions
    grid, lattice, sparse              lattices
    outcomes                           atoms on no grid
    deficits                           next to the largest loss            witnesses, check the whole check
"""

from .balls import OutOfTime
from .check import Check, verify
from .document import TooMuch

__all__ = ["Check", "OutOfTime", "TooMuch", "verify"]
