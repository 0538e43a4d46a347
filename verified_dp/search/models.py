"""The floating-point model of a composition: each law, or a few in the place of all that share one loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from verified_dp.core.engines.direct import direct_parts
from verified_dp.core.engines.lines import RevealedLines, lines
from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.search.direct import DirectModel
from verified_dp.search.transforms import FloatLaw, Floats, float_law

if TYPE_CHECKING:
    from verified_dp.search.half_line import FloatHalfLine

Made = TypeVar("Made")
_FEW = 6
"""So many laws of a family are all kept."""
_CELLS = 4
"""Of more, sorted by noise, and of each of these sorted by probability."""


class FloatFamily:
    """Laws that share one loss and one rule (T156), or one law: a few stand for many.

    parts: laws with counts whose sums are nearly those of all. ends: laws that ask as much of the rule as any of them.
    """

    def __init__(self, parts: list[tuple[FloatLaw, float]]) -> None:
        self.leader, self.laws, self.count = parts[0][0], len(parts), sum(count for _, count in parts)
        self.parts, self.ends = (parts, parts) if len(parts) <= _FEW else (_few(parts), _corners(parts))

    @classmethod
    def alone(cls, law: FloatLaw, count: float) -> FloatFamily:
        """Of one law."""
        return cls([(law, count)])

    def place(self, law: FloatLaw) -> tuple[float, float]:
        """(r, o): where the rule has t, the law has r t + o."""
        if law is self.leader:
            return 1.0, 0.0
        ratio = law.variance / self.leader.variance
        odds = self.leader.log_q - self.leader.log_rest - law.log_q + law.log_rest
        return ratio, (1 - ratio) / 2 + law.variance * odds


def _few(parts: list[tuple[FloatLaw, float]]) -> list[tuple[FloatLaw, float]]:
    """Mean laws of cells in the plane of noise and probability."""
    rows = _cut(sorted(parts, key=lambda part: part[0].variance))
    cells = [cell for row in rows for cell in _cut(sorted(row, key=lambda part: part[0].q))]
    return [(_mean([law for law, _ in cell], np.array([count for _, count in cell])), sum(count for _, count in cell))
            for cell in cells]


def _cut(parts: list[tuple[FloatLaw, float]]) -> list[list[tuple[FloatLaw, float]]]:
    """_CELLS stretches of about as many laws, or as few as differ."""
    size = -(-len(parts) // _CELLS)
    return [parts[i:i + size] for i in range(0, len(parts), size)]


def _mean(laws: Sequence[FloatLaw], counts: np.ndarray) -> FloatLaw:
    """A law with the mean variance and the mean probability."""
    variance, q = np.average([(law.variance, law.q) for law in laws], axis=0, weights=counts).tolist()
    return FloatLaw(SampledGaussianLoss(Fraction(q), Fraction(math.sqrt(variance)), laws[0].order))


def _corners(parts: list[tuple[FloatLaw, float]]) -> list[tuple[FloatLaw, float]]:
    """The extreme laws of a rectangle around all."""
    noises, chances = {min(law.s for law, _ in parts), max(law.s for law, _ in parts)}, {
        min(law.q for law, _ in parts), max(law.q for law, _ in parts)}
    count, order = sum(count for _, count in parts), parts[0][0].order
    return [(FloatLaw(SampledGaussianLoss(Fraction(q), Fraction(s), order)), count) for s in noises for q in chances]


class FloatAlternatives:
    """A law that is one of several (T166), with its count: log M is that of an average."""

    def __init__(self, law: RevealedLines, count: float) -> None:
        from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
        from verified_dp.search.half_line import FloatHalfLine

        self.families = [FloatFamily.alone(float_law(one), count) for one in law.alternatives
                         if isinstance(one, MixtureLines)]
        rest = [FloatHalfLine(one) for one in law.alternatives if isinstance(one, FixedBatchLoss)]
        self.rest, self.count = rest[0] if rest else None, count
        self.log_shares = np.array([float(share.log()) if share > 0 else -math.inf for share in law.enclose_shares()])

    def average(self, logs: Sequence[Floats]) -> np.ndarray:
        """log of the average of numbers with these logarithms."""
        return np.asarray(np.logaddexp.reduce(np.broadcast_arrays(*(share + log for share, log in zip(
            self.log_shares.tolist(), logs, strict=True))), axis=0))

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """(K, K', K'') at c."""
        rows = np.array([*(family.leader.cumulants(c) for family in self.families),
                         *(rest.cumulants(c) for rest in self._rests)])
        k0 = float(self.average(rows[:, 0].tolist()))
        weights = np.exp(self.log_shares + rows[:, 0] - k0)
        k1 = float(weights @ rows[:, 1])
        return k0, k1, float(weights @ (rows[:, 2] + (rows[:, 1] - k1) ** 2))

    def log_masses(self, xs: np.ndarray, below: bool = False) -> np.ndarray:
        """K at each of xs, or at -1 - x."""
        laws = [family.leader.reverse if below else family.leader for family in self.families]
        return self.average([*(law.log_masses(xs) for law in laws), *(rest.log_masses(xs) for rest in self._rests)])

    @property
    def _rests(self) -> tuple[FloatHalfLine, ...]:
        return () if self.rest is None else (self.rest,)

    def far_out(self, logs: Sequence[Floats], c: float) -> np.ndarray:
        """log of the average of bounds with these logarithms, that of the half-line being its M(c)."""
        return self.average([*logs, *(rest.cumulants(c)[0] for rest in self._rests)])


@dataclass(frozen=True)
class FloatLoss:
    """The composition in floating point: laws with nodes, laws with a transform in closed form, the Gaussian part.

    revealed: laws that are one of several with nodes.
    """

    families: list[FloatFamily]
    mean_shift_squared: float
    largest: float
    direct: list[tuple[DirectModel, float]] = field(default_factory=list)
    revealed: list[FloatAlternatives] = field(default_factory=list)
    _cache: dict[float, tuple[float, float, float]] = field(default_factory=dict)
    _last: dict[str, tuple[float, Any]] = field(default_factory=dict)

    @property
    def parts(self) -> list[tuple[FloatLaw, float]]:
        """The laws with nodes, or those that stand for them."""
        return [part for family in self.families for part in family.parts]

    @property
    def ruled(self) -> list[FloatFamily]:
        """What takes a rule each."""
        return self.families + [family for one in self.revealed for family in one.families]

    @property
    def laws(self) -> list[tuple[FloatLaw, float]]:
        """All laws that nodes are of."""
        return [part for family in self.ruled for part in family.parts]

    @property
    def count(self) -> float:
        """How many steps take nodes."""
        return sum(count for _, count in self.parts) + sum(one.count for one in self.revealed)

    def rules(self, own: Sequence[NodeRule], rest: Callable[[FloatHalfLine], NodeRule]) -> tuple[NodeRule, ...]:
        """Those of `ruled` with those of the half-lines, which come after the others of their law."""
        found, others = list(own[:len(self.families)]), iter(own[len(self.families):])
        for one in self.revealed:
            found += [*(next(others) for _ in one.families), *([] if one.rest is None else [rest(one.rest)])]
        return tuple(found)

    def joined(self, logs: Sequence[np.ndarray], c: float) -> np.ndarray:
        """log of the product of all laws' transforms, from what each of `ruled` has of it with its count."""
        rest, total = iter(logs[len(self.families):]), sum(logs[:len(self.families)], np.array(0.0))
        for one in self.revealed:
            total = total + one.count * one.far_out([next(rest) / one.count for _ in one.families], c)
        return np.asarray(total)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """(K, K', K'') of the composition at c."""
        if c not in self._cache:
            laws: list[tuple[FloatLaw | DirectModel | FloatAlternatives, float]] = [
                *self.parts, *self.direct, *((one, one.count) for one in self.revealed)]
            rows = [(count * k0, count * k1, count * k2) for law, count in laws for k0, k1, k2 in [law.cumulants(c)]]
            half = self.mean_shift_squared / 2
            rows.append((half * c * (c + 1), half * (2 * c + 1), 2 * half))
            self._cache[c] = (sum(r[0] for r in rows), sum(r[1] for r in rows), sum(r[2] for r in rows))
        return self._cache[c]

    def kept(self, name: str, c: float, make: Callable[[], Made]) -> Made:
        """What was made last under this name, if that was for this c."""
        if self._last.get(name, (None,))[0] != c:
            self._last[name] = c, make()
        return cast(Made, self._last[name][1])

    def log_masses(self, xs: np.ndarray) -> np.ndarray:
        """K of the composition at each of xs, increasing and > 0."""
        gaussian = self.mean_shift_squared / 2 * xs * (xs + 1)
        direct = sum((count * law.log_masses(xs) for law, count in self.direct), gaussian)
        revealed = sum((one.count * one.log_masses(xs) for one in self.revealed), direct)
        return sum((count * law.log_masses(xs) for law, count in self.parts), revealed)

    def log_masses_below(self, xs: np.ndarray) -> np.ndarray:
        """K at -1 - x for each of xs, increasing and > 0, of a composition whose laws all have nodes."""
        gaussian = self.mean_shift_squared / 2 * xs * (xs + 1)
        revealed = sum((one.count * one.log_masses(xs, below=True) for one in self.revealed), gaussian)
        return sum((count * law.reverse.log_masses(xs) for law, count in self.parts), revealed)

    def logs_beyond(self, c: float, omegas: np.ndarray) -> np.ndarray:
        """log of the bound on the factors other than the laws with nodes at c + iw, w >= omega, for each omega."""
        gaussian = self.mean_shift_squared / 2 * (c * (c + 1) - omegas * omegas)
        return sum((count * np.array([law.log_beyond(c, omega) for omega in omegas.tolist()])
                    for law, count in self.direct), gaussian)


def float_loss(loss: ComposedLoss, shared: bool = False) -> FloatLoss:
    """The model of a composition in which every law has a transform; shared: a few laws stand for families."""
    families = [FloatFamily([(float_law(law), float(count)) for law, count in family])
                for family in (lines(loss).families if shared else ((part,) for part in lines(loss).node_parts))]
    end = loss.enclose_largest_loss()
    return FloatLoss(families, float(loss.mean_shift_squared), math.inf if end is None else float(end),
                     [(DirectModel(law), float(count)) for law, count in direct_parts(loss)],
                     [FloatAlternatives(law, float(count)) for law, count in lines(loss).revealed_parts])
