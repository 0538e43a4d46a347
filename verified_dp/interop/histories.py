"""Training histories of Opacus, and TensorFlow Privacy's arguments, as exact specifications."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil
from typing import Any

from verified_dp.core import exact
from verified_dp.core.composition import PoissonSampled
from verified_dp.core.errors import InvalidInput
from verified_dp.core.mechanisms import Gaussian
from verified_dp.interop.reading import Converted, Parts, Reading, converted, relation_of, times
from verified_dp.interop.releases import revealed_parts

History = Mapping[str, Any] | Iterable[tuple[object, object, object]]


def from_opacus(history: History, *, floats: str = "exact-binary", relation: object = "add-or-remove") -> Converted:
    """The specification of an Opacus training: Poisson-sampled Gaussian steps.

    Args:
        history: an accountant's `history`, [(noise multiplier, sample rate, steps), ...], or its `state_dict()`.
        floats: "exact-binary" reads a float as the number it is, "shortest-decimal" as the decimal that is printed.
    Left to the caller: batches were Poisson samples (Opacus's `poisson_sampling=True`), as for Opacus's accountants.

    >>> from_opacus([(1.1, 0.5, 20)], floats="shortest-decimal").composition.parts[0][0].mechanism.noise_multiplier
    Fraction(11, 10)
    """
    reading = Reading(relation_of(relation), floats)
    return converted(history_parts(history, reading), reading, "an Opacus history")


def history_parts(history: History, reading: Reading) -> Parts:
    """The steps of a history with their counts."""
    rows = history.get("history") if isinstance(history, Mapping) else history
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise InvalidInput("history", rows, "a list of (noise multiplier, sample rate, steps), or a state_dict with it")
    return tuple(part for i, row in enumerate(rows, 1) for part in _steps(row, f"history[{i}].", reading))


def _steps(row: object, prefix: str, reading: Reading) -> Parts:
    if isinstance(row, str) or not isinstance(row, Iterable) or len(entries := tuple(row)) != 3:
        raise InvalidInput(prefix.rstrip("."), row, "(noise multiplier, sample rate, steps)")
    try:
        noise = reading.non_negative(entries[0], "noise_multiplier")
        q, steps = reading.probability(entries[1], "sample_rate"), reading.whole(entries[2], "steps")
    except InvalidInput as error:
        raise error.within(prefix) from None
    if not q or not steps:
        return ()
    if not noise:  # every record that is sampled is revealed
        return times(revealed_parts(q, reading), steps)
    return ((PoissonSampled(Gaussian(noise), q) if q != 1 else Gaussian(noise), steps),)


_TF_NAMES = {
    "number_of_examples": ("number_of_examples", "n"),
    "batch_size": ("batch_size",),
    "num_epochs": ("num_epochs", "epochs"),
    "noise_multiplier": ("noise_multiplier", "noise"),
}


def from_tf_privacy(arguments: Mapping[str, Any], *, floats: str = "exact-binary") -> Converted:
    """The specification of what TensorFlow Privacy's DP-SGD statements are asked with: Poisson samples of rate B / N.

    Args:
        arguments: number_of_examples (or n), batch_size, num_epochs (or epochs), noise_multiplier.
    steps = ceil(num_epochs * number_of_examples / batch_size), the sampling probability is the exact ratio.

    >>> from_tf_privacy({"n": 60000, "batch_size": 256, "epochs": 60, "noise_multiplier": 1}).composition.parts[0][1]
    14063
    """
    reading = Reading(relation_of("add-or-remove"), floats)
    if arguments.get("max_examples_per_user") not in (None, 1):
        raise InvalidInput("max_examples_per_user", arguments["max_examples_per_user"],
                           "1 or left out: state group_size in the specification instead")
    given = {key: _one_of(arguments, names) for key, names in _TF_NAMES.items()}
    records, batch = (exact.count(given[key], key) for key in ("number_of_examples", "batch_size"))
    if batch > records:
        raise InvalidInput("batch_size", batch, f"at most number_of_examples = {records}")
    steps = ceil(reading.non_negative(given["num_epochs"], "num_epochs") * records / batch)
    parts = _steps((given["noise_multiplier"], Fraction(batch, records), steps), "", reading)
    return converted(parts, reading, "TensorFlow Privacy's arguments")


def _one_of(arguments: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    found = [arguments[name] for name in names if name in arguments]
    if len(found) != 1:
        raise InvalidInput(" or ".join(names), None, "given, once")
    return found[0]
