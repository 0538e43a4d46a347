"""One page, one axis: epsilon as it is claimed, accounted (proved) and attacked (statistical)."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from math import isfinite

from verified_dp.attack.result import StatisticalBound
from verified_dp.core.kernel.dyadic import decimal_down
from verified_dp.enclosure import Enclosure
from verified_dp.report.svg import linear, picture, rule, words

_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b}
svg{width:100%}.grid{stroke:#ccc}.claimed{stroke:#444;stroke-width:3}.accounted{stroke:#1769aa;stroke-width:8}
.attacked{stroke:#b3261e;stroke-width:3}text{font-size:11px;fill:#333}@media(prefers-color-scheme:dark){
body{background:#161616;color:#e8e8e8}text{fill:#ddd}.grid,.claimed{stroke:#888}}"""
_LEFT, _RIGHT, _ROWS, _BOTTOM = 90, 386, (40, 75, 110), 135


def page(found: StatisticalBound, title: str, claimed: str | None, accounted: Enclosure | None) -> str:
    """The HTML page: a bar from an end that is known to the end of the axis says on which side epsilon may be.

    claimed: the claimed epsilon as it was written. accounted: the enclosure of the stated mechanism's at the delta.
    """
    delta, lower = f"delta = {escape(found.row()['at']['delta'])}", decimal_down(found.epsilon, 5)
    lines = [f"<p><strong>{escape(str(found))}</strong>, {delta}.</p>"]
    if accounted is not None:
        above = found.epsilon > accounted.upper
        lines.append(f"<p>Proved of what was stated: epsilon = {escape(accounted.notation())}. " + (
            "The attack is above the account: what was run is not what was stated, or an assumption below is wrong."
            if above else "The attack is not above the account.") + "</p>")
    lines += ["<p>The attack's bound is statistical: at its confidence, under</p><ul>",
              *(f"<li>{escape(text)}</li>" for text in found.assumptions), "</ul>"]
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
            f"<style>{_STYLE}</style><h1>{escape(title)}</h1>"
            f"{_axis(found, lower, claimed, accounted)}{''.join(lines)}</html>\n")


def _axis(found: StatisticalBound, lower: str, claimed: str | None, accounted: Enclosure | None) -> str:
    ends = [] if accounted is None else [(accounted.lower_float, accounted.upper_float)]
    known = [found.epsilon_float, *([float(claimed)] if claimed is not None else []), *(high for _, high in ends)]
    scale = linear(0.0, 1.25 * max(0.1, *(value for value in known if isfinite(value))), _LEFT, _RIGHT)
    parts = [rule(scale.at(value), 20, scale.at(value), _BOTTOM) + words(scale.at(value), _BOTTOM + 16, label, "middle")
             for value, label in scale.ticks]
    if claimed is not None:
        parts += _row(0, "claimed", (0.0, float(claimed)), f"at most {claimed}", scale.at)
    for low, high in ends:
        parts += _row(1, "accounted", (low, max(high, low + (scale.high - scale.low) / 150)), "proved", scale.at)
    parts += _row(2, "attacked", (found.epsilon_float, scale.high), f"at least {lower}", scale.at)
    described = f"claimed {claimed}; accounted {accounted}; attacked: at least {lower}"
    return picture("attack", "Epsilon: claimed, accounted, attacked", described, "".join(parts), _BOTTOM + 30)


def _row(number: int, name: str, ends: tuple[float, float], text: str,
         at: Callable[[float], float]) -> list[str]:
    y = _ROWS[number]
    return [words(_LEFT - 8, y + 4, name, "end"), rule(at(ends[0]), y, at(ends[1]), y, name),
            words(min(at(ends[0]) + 2, _RIGHT - 90), y - 8, text)]
