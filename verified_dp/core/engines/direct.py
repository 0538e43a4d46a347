"""Laws whose transform is known in closed form."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, TypeGuard, runtime_checkable

from flint import acb, arb

from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law


@runtime_checkable
class DirectLaw(Law, Protocol):
    """A law whose transform is known in closed form: the contour needs no nodes for it.

    decays: whether |M| becomes smaller than M on the real axis by a fixed factor far out.
    """

    decays: ClassVar[bool]

    def enclose_transform(self, z: acb) -> acb:
        """Enclose M(z) = E[e^{zL}; L < inf] for Re z > 0; at every z where the finite loss has both ends."""

    def bound_transform_beyond(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(tilt + iw)| for every w >= frequency > 0, tilt > 0; at 0 too where the loss has both ends."""


_OFFERS: dict[tuple[type, Any], bool] = {}


def offers(law: object, protocol: Any) -> bool:
    """isinstance, decided once for each type of law: protocols look at every name they state."""
    key = type(law), protocol
    if key not in _OFFERS:
        _OFFERS[key] = isinstance(law, protocol)
    return _OFFERS[key]


def is_direct(law: Law) -> TypeGuard[DirectLaw]:
    """Whether its transform is known in closed form."""
    return offers(law, DirectLaw)


def direct_parts(loss: ComposedLoss) -> tuple[tuple[DirectLaw, int], ...]:
    """The parts of a loss that are such laws."""
    return loss.once(_direct_parts)


def _direct_parts(loss: ComposedLoss) -> tuple[tuple[DirectLaw, int], ...]:
    return tuple((law, count) for law, count in loss.parts if is_direct(law))
