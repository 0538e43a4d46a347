"""Pictures of individual losses: histogram with the worst case, group means, active records over the steps.

Each function draws on given axes, or on new ones, and returns them; matplotlib is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from verified_dp.errors import InvalidInput, Unsupported
from verified_dp.individual.losses import IndividualLosses

INSTALL = "pictures need matplotlib: pip install 'verified-dp[plot]'"


def plot_histogram(losses: IndividualLosses, worst: float | None = None, bins: int = 60, axes: Any = None) -> Any:
    """Histogram of the upper ends, with a line at the worst case (the loss of a record whose norms are all clipped)."""
    axes = _axes(axes)
    finite = losses.upper[np.isfinite(losses.upper)]
    axes.hist(finite, bins=bins, color="tab:blue", alpha=0.8)
    if worst is not None:
        axes.axvline(worst, color="tab:red", linestyle="--", label=f"worst case {worst:.3g}")
        axes.legend()
    axes.set_xlabel(_label(losses))
    axes.set_ylabel("records")
    return axes


def group_means(losses: IndividualLosses, groups: Sequence[object]) -> Mapping[str, tuple[float, float, int]]:
    """Per group: the means of the lower and of the upper ends, and the number of records."""
    names = np.array([str(group) for group in groups])
    if len(names) != len(losses.records):
        raise InvalidInput("groups", len(names), f"one group for each of {len(losses.records)} records")
    return {str(name): (float(losses.lower[names == name].mean()), float(losses.upper[names == name].mean()),
                        int((names == name).sum())) for name in np.unique(names)}


def plot_group_means(losses: IndividualLosses, groups: Sequence[object], axes: Any = None) -> Any:
    """A bar per group at the mean of the upper ends."""
    axes, means = _axes(axes), group_means(losses, groups)
    axes.bar(list(means), [upper for _, upper, _ in means.values()], color="tab:blue")
    axes.set_ylabel(f"mean {_label(losses)}")
    return axes


def plot_active(active: Sequence[int], axes: Any = None) -> Any:
    """How many records a filter still admits in each step."""
    axes = _axes(axes)
    axes.step(np.arange(len(active)), active, where="post", color="tab:blue")
    axes.set_xlabel("step")
    axes.set_ylabel("active records")
    axes.set_ylim(bottom=0)
    return axes


def _label(losses: IndividualLosses) -> str:
    other = "delta" if losses.quantity == "epsilon" else "epsilon"
    return f"individual {losses.quantity} at {other} = {losses.given}"


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Unsupported(INSTALL) from None
    return Figure(figsize=(6, 4), layout="constrained").subplots()
