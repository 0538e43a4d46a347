"""Floating-point choices for steps with few outcomes: windows of their counts, and which half each of them is in."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flint import ctx

from verified_dp.core.engines.closed import has_closed_form, is_quick
from verified_dp.core.engines.pieces import count_pieces
from verified_dp.core.families.finite.atomic import AtomicLaw
from verified_dp.core.families.finite.halves import HalvesWitness, Window, count_items
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.line import dyadic
from verified_dp.search.saddle import Saddle

MOST_ITEMS = 2_000_000
_SECONDS = 2e-6
"""Of one item at few bits."""
_USUAL = 60.0
"""-log of what is left out where nothing is known yet."""
_MOST_OUTCOMES, _MOST_PARTS = 12, 64

Cuts = list[list[tuple[int, int]]]
"""The lowest and the highest count of each outcome of each law."""


@dataclass(frozen=True)
class HalvesPlan:
    """A witness and the seconds that it should take."""

    witness: HalvesWitness
    seconds: float


def has_halves(loss: ComposedLoss) -> bool:
    """Whether all steps have so few outcomes that their counts can be listed, in two halves; fewer than all sums."""
    few = 0 < len(loss.parts) <= _MOST_PARTS and not loss.mean_shift_squared and all(
        isinstance(law, AtomicLaw) and law.outcomes <= _MOST_OUTCOMES for law, _ in loss.parts)
    if not few or is_quick(loss):
        return False
    most = count_pieces(loss) or MOST_ITEMS if has_closed_form(loss) else MOST_ITEMS
    return sum(count_items(_split(_cuts(loss, 0.0, _USUAL)))) <= min(most, MOST_ITEMS)


def plan_halves(model: LatticeModel, epsilon: float, saddle: Saddle, bits: float) -> HalvesPlan | None:
    """A witness for delta(eps) to about 2^-bits; None where there are too many counts."""
    tilt = dyadic(saddle.tilt, 12)
    size = model.cumulants(float(tilt))[0] - float(tilt) * epsilon  # log of M(c) e^{-c eps}
    whole = saddle.log_delta if model.infinity <= 0 else max(saddle.log_delta, math.log(model.infinity))
    lost = bits * math.log(2) + max(size - whole, 0.0)
    windows = _split(_cuts(model.loss, float(tilt), lost + 3))
    items = sum(count_items(windows))
    if items > MOST_ITEMS:
        return None
    prec = math.ceil(lost / math.log(2) + 2 * math.log2(items + 1)) + 10
    return HalvesPlan(HalvesWitness(tilt, windows, prec), items * _SECONDS * (1 + prec / 500))


def _cuts(loss: ComposedLoss, tilt: float, lost: float) -> Cuts:
    """Windows outside of which the tilted probability is e^-lost, for all outcomes of all laws together."""
    found = [(count, _shares(law, tilt)) for law, count in loss.parts]
    depth = lost + math.log(2 * sum(len(shares) for _, shares in found) + 1)
    return [[(count - _reach(count, 1 - share, depth), _reach(count, share, depth)) for share in shares]
            for count, shares in found]


def _shares(law: Law, tilt: float) -> list[float]:
    """The tilted masses of the outcomes, of sum 1."""
    with ctx.workprec(64):
        logs = [float(mass.log()) + tilt * float(loss) for loss, mass in law.enclose_loss_atoms() or []]
    weights = [math.exp(log - max(logs, default=0.0)) for log in logs]
    return [weight / sum(weights) for weight in weights]


def _reach(count: int, share: float, depth: float) -> int:
    """The least number that a binomial one exceeds with probability at most e^-depth, by Chernoff's bound."""
    low, high = min(math.floor(count * share), count), count
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if count * _divergence((middle + 1) / count, share) >= depth else (middle + 1, high)
    return low


def _divergence(x: float, share: float) -> float:
    """x log(x/p) + (1-x) log((1-x)/(1-p)), x above p."""
    if share <= 0 or x >= 1:
        return math.inf if share <= 0 or x > 1 else -math.log(share)
    return x * math.log(x / share) + ((1 - x) * math.log((1 - x) / (1 - share)) if share < 1 else 0.0)


def _split(cuts: Cuts) -> tuple[tuple[Window, ...], ...]:
    """Each law in one half; or one law's outcomes in both, where that makes fewer items."""
    shared = (None, *(n for n, own in enumerate(cuts) if len(own) > 2))
    return min((_halved(cuts, one) for one in shared), key=lambda windows: sum(count_items(windows)))


def _halved(cuts: Cuts, shared: int | None) -> tuple[tuple[Window, ...], ...]:
    """The largest first, each to the half that holds less so far; the first half is the smaller one."""
    sizes = [[high - low + 1 for low, high in own] for own in cuts]
    whole = [(math.prod(sorted(own)[:-1]), [(n, place) for place in range(len(own))])
             for n, own in enumerate(sizes) if n != shared]
    parts = whole + ([] if shared is None else [(size, [(shared, place)]) for place, size in enumerate(sizes[shared])])
    held, sides = [1, 1], dict[tuple[int, int], int]()
    for size, places in sorted(parts, reverse=True):
        side = int(held[0] > held[1])
        held[side] *= size
        sides.update((place, side) for place in places)
    turned = held[0] > held[1]
    return tuple(tuple(Window(sides[n, place] ^ turned, low, high) for place, (low, high) in enumerate(own))
                 for n, own in enumerate(cuts))
