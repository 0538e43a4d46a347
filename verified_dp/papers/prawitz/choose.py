"""Choose the witness of Prawitz smoothing: tilt, smoothing T, the segment that is integrated, panels, node rules."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from fractions import Fraction

from flint import acb

from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.papers.prawitz.bounds import PrawitzWitness
from verified_dp.search.direct import DirectModel
from verified_dp.search.line import choose_cutoff, choose_nodes, choose_tail_nodes, dyadic
from verified_dp.search.models import FloatLoss
from verified_dp.search.saddle import choose_saddle, saddle_at
from verified_dp.search.transforms import FloatLaw

ELLIPSE = 4
_REACH = (ELLIPSE - 1 / ELLIPSE) / 2
"""Half-lengths by which such an ellipse extends across its panel."""

MOST_POINTS = 8000
MOST_NODES = 20_000


def choose_prawitz(model: FloatLoss, epsilon: float, bits: float, tilt: float | None = None,
                   top: float | None = None, seconds: float = 10.0) -> PrawitzWitness:
    """Choose a witness for a relative width of about 2^-bits, or the one with the largest T that the time allows.

    tilt: None for the saddle point. top: None for T so large that the smoothing does not show where M decays.
    """
    c = choose_saddle(model, epsilon).tilt if tilt is None else tilt
    saddle = saddle_at(model, epsilon, c)
    goal = bits + 4
    nodes = tuple(choose_nodes(law, c, goal + math.log2(count) + 6) for law, count in model.parts)
    cut = choose_cutoff(model, epsilon, c, saddle.log_delta - goal * math.log(2))
    if sum(rule.last - rule.first for rule in nodes) > MOST_NODES:
        raise Unsupported("the saddle point is so far out that its transform has too many nodes: use the contour")
    half = _reach(model, epsilon, c) / _REACH
    points = math.ceil(goal / 4) + 4
    most = max(8, math.floor(min(seconds / _point_seconds(model, c, nodes), MOST_POINTS) / points))
    longest = 2 * half * most
    whole = cut if top is None else min(cut, top)
    panels = max(8, math.ceil(min(whole, longest) / (2 * half)))
    end = dyadic(min(whole, longest))
    smooth = end if whole > longest else dyadic(end * 2.0 ** min(goal, 900.0) if top is None else top)
    tails = tuple(choose_tail_nodes(law, c, float(end), count) for law, count in model.parts)
    laws: list[tuple[FloatLaw | DirectModel, float]] = [*model.parts, *model.direct]
    size = max((math.log2(1 + count * abs(law.cumulants(c)[0])) for law, count in laws), default=0.0)
    growth = max((1.5 * law.strip_growth(c, float(rule.height)) / math.log(2)
                  for (law, _), rule in zip(model.parts, nodes, strict=True)), default=0.0)
    prec = math.ceil(goal + size + growth + math.log2(1 + c * abs(epsilon)) + 40)
    return PrawitzWitness(dyadic(c), max(smooth, end), end, panels, points, Fraction(ELLIPSE), nodes, tails, prec)


def _reach(model: FloatLoss, epsilon: float, c: float) -> float:
    """How far ellipses may extend to both sides of the tilt: M e^{-x eps} grows at most by e^8 there."""
    rest, _, variance = model.cumulants(c)
    reach = min(2 / math.sqrt(max(variance, 1e-300)), c / 2)
    for _ in range(60):
        growth = max(model.cumulants(c + sign * reach)[0] - sign * reach * epsilon - rest for sign in (-1, 1))
        if growth < 8:
            break
        reach *= 0.8
    return reach


def _point_seconds(model: FloatLoss, c: float, nodes: Sequence[NodeRule]) -> float:
    """The time of one point: by the number of nodes, and by trying the laws whose transform is direct."""
    start = time.perf_counter()
    for law, _ in model.direct:
        law.law.enclose_transform(acb(c, 1))
    return time.perf_counter() - start + 3e-5 + 3e-6 * sum(rule.last - rule.first for rule in nodes)
