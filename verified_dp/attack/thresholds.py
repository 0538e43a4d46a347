"""Attacks by scores of canaries that were in (held in) and of others that were not (held out); large is "in" (T193).

    scores(held_in, held_out, delta="1e-5", threshold=2.5)
    scores(held_in, held_out, delta="1e-5", selection="bonferroni")

A stated threshold makes counts. "bonferroni" bounds the rates of all thresholds at once, at the levels
(1 - confidence) / (2 n) for n held-in and for n held-out scores. "split" finds a threshold on one half, drawn at
random, and counts on the other.
"""

from __future__ import annotations

import csv
import math
import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import ctx

from verified_dp.attack.binomial import PREC
from verified_dp.attack.result import Asked, StatisticalBound
from verified_dp.attack.trials import TRIALS, Rates, bound_of
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.reading import decoded, read_file

MAX_SCORES = 10**6
SELECTIONS = ("bonferroni", "split")
SAMPLES = ("scores of held-in canaries are independent draws of one law, those of held-out canaries of another, and "
           "the two laws are those of neighbours",)
_TRIED = 12
"""Thresholds whose bounds are computed, of those that look best in floating point."""


@dataclass(frozen=True)
class Sorted:
    """Scores in increasing order."""

    held_in: list[float]
    held_out: list[float]

    def positives(self, threshold: float) -> tuple[int, int]:
        """How many scores are at least the threshold."""
        return (len(self.held_in) - bisect_left(self.held_in, threshold),
                len(self.held_out) - bisect_left(self.held_out, threshold))


@alone
def scores(held_in: Sequence[float], held_out: Sequence[float], *, delta: Number, confidence: Number = "0.95",
           threshold: float | None = None, selection: str | None = None, claim: Any = None,
           seed: int = 0) -> StatisticalBound:
    """A lower bound on epsilon from scores; a positive is a score >= the threshold.

    Args:
        threshold: stated before the scores were seen. selection: "bonferroni" (if neither is given) or "split".
        seed: of the random halves. delta, confidence, claim: as of `counts`.
    Raises: InvalidInput; Unsupported for a claim under a relation of one order.

    >>> print(scores(range(5, 105), range(100), delta="1e-5", threshold=50))
    epsilon >= 0 at confidence 0.95
    """
    if threshold is not None and selection is not None:
        raise InvalidInput("selection", selection, "left out where a threshold is stated")
    chosen = "stated" if threshold is not None else selection or "bonferroni"
    if threshold is None and chosen not in SELECTIONS:
        raise InvalidInput("selection", selection, "one of " + ", ".join(SELECTIONS))
    found = Sorted(_sorted(held_in, "held_in"), _sorted(held_out, "held_out"))
    asked = Asked.of(delta, confidence, claim)
    with ctx.workprec(PREC):
        if chosen == "bonferroni":
            return _best(found, asked)
        if threshold is None:
            halves = _halves(held_in, seed), _halves(held_out, seed + 1)
            first, found = (Sorted(sorted(halves[0][n]), sorted(halves[1][n])) for n in (0, 1))
            threshold = _candidates(first, asked)[0]
        level = (1 - asked.confidence) / 2
        return _at(found, float(threshold), asked, (level, level), chosen)


@proved_by("T193-counts")
def _best(found: Sorted, asked: Asked) -> StatisticalBound:
    """The largest bound of all thresholds tried: each holds at once at these levels."""
    rest = 1 - asked.confidence
    levels = rest / (2 * len(found.held_in)), rest / (2 * len(found.held_out))
    all_of_them = [_at(found, threshold, asked, levels, "bonferroni") for threshold in _candidates(found, asked)]
    return max(all_of_them, key=lambda one: (one.claim == "contradicted", one.epsilon))


def _at(found: Sorted, threshold: float, asked: Asked, levels: tuple[Fraction, Fraction],
        selection: str) -> StatisticalBound:
    """What the rates at one threshold show."""
    (true, false), sizes = found.positives(threshold), (len(found.held_in), len(found.held_out))
    rates = Rates.of(true, sizes[0], false, sizes[1], levels)
    data: dict[str, int | str] = {"true_positives": true, "positives": sizes[0], "false_positives": false,
                                  "negatives": sizes[1], "threshold": repr(threshold)}
    return bound_of(rates, asked, data, selection, TRIALS + SAMPLES)


def _candidates(found: Sorted, asked: Asked) -> list[float]:
    """Choose thresholds whose epsilon looks best, in floating point: rates moved by what the level allows."""
    import numpy as np

    held_in, held_out = np.array(found.held_in), np.array(found.held_out)
    thresholds = np.unique(np.concatenate([held_in, held_out]))
    many = np.log(2 * max(len(held_in), len(held_out)) / float(1 - asked.confidence))
    high = []
    for values, up in ((held_in, False), (held_out, True)):
        count = len(values) - np.searchsorted(values, thresholds)
        high.append(_moved(count if up else len(values) - count, len(values), many))
    fnr, fpr = high
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = [np.log(np.maximum(1 - one - float(asked.delta), 1e-300) / other)
                 for one, other in ((fnr, fpr), (fpr, fnr))]
    order = np.argsort(-np.maximum(*gains), kind="stable")[:_TRIED]
    return [float(threshold) for threshold in thresholds[order]]


def _moved(count: Any, trials: int, many: float) -> Any:
    """Near the rate p above count / trials with trials KL(count / trials, p) = many."""
    import numpy as np

    rate = count / trials
    low, high = rate.copy(), np.ones_like(rate)
    for _ in range(40):
        p = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = (np.where(rate > 0, rate * np.log(rate / p), 0)
                   + np.where(rate < 1, (1 - rate) * np.log((1 - rate) / (1 - p)), 0))
        low, high = np.where(gap < many / trials, p, low), np.where(gap < many / trials, high, p)
    return np.minimum(high, 1.0)


def _halves(values: Sequence[float], seed: int) -> tuple[list[float], list[float]]:
    """Two halves drawn at random, whatever the order of the scores."""
    mixed = [float(value) for value in values]
    random.Random(seed).shuffle(mixed)
    if len(mixed) < 2:
        raise InvalidInput("selection", "split", "another one: it needs two scores of each sort")
    return mixed[: len(mixed) // 2], mixed[len(mixed) // 2:]


def _sorted(values: Sequence[float], key: str) -> list[float]:
    found = sorted(float(value) for value in values)
    if not 1 <= len(found) <= MAX_SCORES:
        raise InvalidInput(key, f"{len(found)} scores", f"from 1 to {MAX_SCORES} scores")
    if any(math.isnan(value) for value in found):
        raise InvalidInput(key, "nan", "numbers")
    return found


def read_scores(file: str, column: str | None = None) -> list[float]:
    """One number a line, or a column of a CSV file with a head. Raises InvalidInput, with the line."""
    text = decoded(read_file(file, 2**26, "scores"), file, 2**26)
    if column is None:
        cells = [line.strip() for line in text.splitlines() if line.strip()]
    else:
        rows = list(csv.reader(text.splitlines()))
        if not rows or column not in rows[0]:
            raise InvalidInput("column", column, f"a column of {file}: " + ", ".join(rows[0] if rows else []), file)
        place = rows[0].index(column)
        cells = [row[place] if place < len(row) else "" for row in rows[1:] if row]
    return [_number(cell, number, file) for number, cell in enumerate(cells, 1 if column is None else 2)]


def _number(text: str, line: int, file: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if math.isnan(found):
        raise InvalidInput(f"scores[{line}]", text, "a number (for CSV, name its column)", file)
    return found


def read_threshold(text: str | None) -> float | None:
    """A number, None where there is none. Raises InvalidInput."""
    try:
        found = None if text is None else float(text)
    except ValueError:
        found = math.nan
    if found is not None and math.isnan(found):
        raise InvalidInput("threshold", text, "a number")
    return found
