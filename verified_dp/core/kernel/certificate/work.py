"""What a certificate from outside may cost its checker."""

from __future__ import annotations

from collections.abc import Iterable

from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidCertificate
from verified_dp.core.kernel.witnesses import Witness

MAX_PRECISION = 50_000
"""Bits; 1000 digits, the most the command line gives, need under 10^4."""
MAX_WORK = 4 * 10**9
"""Units for a whole certificate: five to ten minutes, twenty times the largest known one."""
MAX_MEMORY = 2**31
"""Bytes of any one evaluation."""


def check_work(evaluations: Iterable[tuple[ComposedLoss, Witness]], path: str = "evaluations") -> None:
    """InvalidCertificate where a witness asks for too much, or all together do. Nothing is evaluated."""
    total = 0
    for index, (loss, witness) in enumerate(evaluations):
        if not 2 <= witness.prec <= MAX_PRECISION:
            raise InvalidCertificate(f"{path}[{index}].witness.prec", f"must be from 2 to {MAX_PRECISION} bits")
        work = witness.work(loss)
        total += work.units
        if total > MAX_WORK or work.memory > MAX_MEMORY:
            raise InvalidCertificate(f"{path}[{index}].witness", "takes more work or memory than a check may use")
