"""Pictures of individual losses and filters, and a progress bar for the long runs.

    with progress_bar("counting") as progress:
        counts = count_parquet("norms.parquet", training, norms="raw", progress=progress)

Each plot function draws on given axes, or on new ones, and returns them; matplotlib is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from verified_dp.core.kernel.errors import InvalidInput

if TYPE_CHECKING:
    from verified_dp.individual.counts import Progress
    from verified_dp.individual.losses import IndividualLosses

COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:purple", "tab:brown")
BAR = 24
"""Characters of a progress bar."""


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """What to hand to `progress=`: on a terminal a bar on standard error after some seconds, elsewhere nothing."""
    from verified_dp.terminal import Progress as Shown

    with Shown(title) as shown:
        yield lambda share, text: shown(bar(share, text))


def bar(share: float, text: str) -> str:
    """The share done, from 0 to 1, as one line.

    >>> bar(0.5, "halfway")
    '[############------------]  50% halfway'
    """
    full = int(min(max(share, 0.0), 1.0) * BAR)
    return f"[{'#' * full}{'-' * (BAR - full)}] {share:4.0%} {text}"


def plot_histogram(losses: IndividualLosses, worst: float | None = None, bins: int = 60, axes: Any = None,
                   others: Mapping[str, np.ndarray] | None = None) -> Any:
    """Histogram of the intervals: upper ends filled, lower ends as an outline; how many are as narrow as asked.

    worst: a line at the worst case (the loss of a record whose norms are all clipped). others: outlines of other values
    for the same records, such as estimates by another accountant.
    """
    axes, others = _axes(axes), others or {}
    finite = np.isfinite(losses.upper)
    shown = [losses.upper[finite], losses.lower, *others.values()]
    ends = np.histogram_bin_edges(np.concatenate(shown), bins)
    axes.hist(losses.upper[finite], ends, color="tab:blue", alpha=0.55, label="upper ends (certified)")
    axes.hist(losses.lower, ends, histtype="step", color="navy", label="lower ends (certified)")
    for (name, values), colour in zip(others.items(), COLOURS[1:] * len(others), strict=False):
        axes.hist(values, ends, histtype="step", color=colour, label=name)
    if worst is not None:
        axes.axvline(worst, color="tab:red", linestyle="--", label=f"worst case {worst:.3g}")
    axes.set_title(f"{losses.narrow.sum()} of {len(finite)} intervals as narrow as asked ({losses.asked:.2g} of eps)"
                   + ("" if finite.all() else f", {np.sum(~finite)} without upper end"), fontsize="medium")
    axes.set_xlabel(_label(losses))
    axes.set_ylabel("records")
    axes.legend(fontsize="small")
    return axes


def group_means(losses: IndividualLosses, groups: Sequence[object]) -> Mapping[str, tuple[float, float, int]]:
    """Per group: the means of the lower and of the upper ends, and the number of records."""
    names = np.array([str(group) for group in groups])
    if len(names) != len(losses.records):
        raise InvalidInput("groups", len(names), f"one group for each of {len(losses.records)} records")
    return {str(name): (float(losses.lower[names == name].mean()), float(losses.upper[names == name].mean()),
                        int((names == name).sum())) for name in np.unique(names)}


def plot_group_means(losses: IndividualLosses, groups: Sequence[object], axes: Any = None) -> Any:
    """A bar per group at the mean of the upper ends, with a whisker down to the mean of the lower ones.

    A group that has a record without an upper end has no such mean: its bar is missing, its name says so.
    """
    axes, means = _axes(axes), group_means(losses, groups)
    names = [f"{name}\n({count} records{'' if np.isfinite(high) else ', unbounded'})"
             for name, (_, high, count) in means.items()]
    upper = np.array([high if np.isfinite(high) else np.nan for _, high, _ in means.values()])
    lower = np.array([low for low, _, _ in means.values()])
    axes.bar(names, upper, color="tab:blue", alpha=0.55)
    axes.errorbar(names, upper, yerr=[upper - lower, np.zeros(len(upper))], fmt="none", ecolor="navy", capsize=6,
                  label="means of the lower and upper ends")
    axes.set_ylabel(f"mean {_label(losses)}")
    axes.legend(fontsize="small")
    return axes


def plot_groups(groups: Sequence[str], series: Mapping[str, Sequence[float]], label: str, axes: Any = None,
                worst: float | None = None) -> Any:
    """Bars side by side: for each group one of each series, such as a mean loss before and after filtering.

    worst: a line at what no record exceeds.
    """
    axes, places, width = _axes(axes), np.arange(len(groups)), 0.8 / max(len(series), 1)
    for i, (name, values) in enumerate(series.items()):
        if len(values) != len(groups):
            raise InvalidInput(f"series {name}", len(values), f"one value for each of {len(groups)} groups")
        axes.bar(places + (i - (len(series) - 1) / 2) * width, values, width, color=COLOURS[i % len(COLOURS)],
                 label=name)
    if worst is not None:
        axes.axhline(worst, color="tab:red", linestyle="--", label=f"worst case {worst:.3g}")
    axes.set_xticks(places, groups)
    axes.set_ylabel(label)
    axes.set_ylim(top=1.25 * axes.get_ylim()[1])
    axes.legend(fontsize="small", loc="upper left", ncols=len(series) + 1)
    return axes


def plot_active(active: Sequence[int] | Mapping[str, Sequence[int]], axes: Any = None,
                starts: int | None = None) -> Any:
    """How many records take part in each step, of one filter or of several by name.

    starts: the step (from 1) in which the first record may drop out, as a line.
    """
    axes = _axes(axes)
    filters = active if isinstance(active, Mapping) else {"active records": active}
    for i, (name, counts) in enumerate(filters.items()):
        axes.step(np.arange(1, len(counts) + 1), counts, where="mid", color=COLOURS[i % len(COLOURS)], label=name)
    if starts is not None:
        axes.axvline(starts, color="tab:red", linestyle="--", label="the worst case has used its budget up")
    axes.set_xlabel("step")
    axes.set_ylabel("active records")
    axes.set_ylim(bottom=0)
    if len(filters) > 1 or starts is not None:
        axes.legend(fontsize="small", loc="lower left", framealpha=1)
    return axes


def plot_curve(epsilons: Sequence[float], lower: Sequence[float], upper: Sequence[float], axes: Any = None,
               others: Mapping[str, Sequence[float]] | None = None) -> Any:
    """One record's delta(eps) on a logarithmic scale, as a band between its certified ends, beside other curves."""
    axes = _axes(axes)
    floor = 1e-3 * min(value for value in upper if value > 0)
    axes.fill_between(epsilons, np.maximum(lower, floor), upper, color="tab:blue", alpha=0.4)
    axes.semilogy(epsilons, upper, color="tab:blue", label="the record's own (certified band)")
    for i, (name, values) in enumerate((others or {}).items(), 1):
        axes.semilogy(epsilons, values, color=COLOURS[i % len(COLOURS)], linestyle="--", label=name)
    axes.set_xlabel("epsilon")
    axes.set_ylabel("delta")
    axes.legend(fontsize="small")
    return axes


def _label(losses: IndividualLosses) -> str:
    other = "delta" if losses.quantity == "epsilon" else "epsilon"
    return f"individual {losses.quantity} at {other} = {losses.given}"


def _axes(axes: Any) -> Any:
    from verified_dp.questions.curve import new_axes

    return new_axes() if axes is None else axes
