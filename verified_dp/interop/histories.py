"""Training histories of Opacus, and TensorFlow Privacy's arguments, as exact specifications."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil
from typing import Any

from verified_dp.core.families.batches.mechanism import Shuffled
from verified_dp.core.families.finite.mechanism import EVERYTHING
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.interop.batches import POISSON, SHUFFLED, Drawn, checked, opacus_assumptions, read_state, settle
from verified_dp.interop.reading import FLOATS, Converted, Parts, Reading, converted, relation_of, times
from verified_dp.interop.releases import revealed_parts

History = Mapping[str, Any] | Iterable[tuple[object, object, object]]


def from_opacus(history: History, *, floats: str = FLOATS[0], relation: object = "add-or-remove",
                sampling: str | None = None) -> Converted:
    """The specification of an Opacus training, with its assumptions: sampled Gaussian steps, or shuffled epochs.

    Args:
        history: an accountant's `history`, [(noise multiplier, sample rate, steps), ...], or its `state_dict()`.
        floats: "shortest-decimal", the decimal that prints it, or "exact-binary", the number it is.
        sampling: how batches were drawn, which a history does not say: "poisson" (Opacus's `poisson_sampling=True`),
            or "shuffled" (`poisson_sampling=False` over a DataLoader that shuffles) where every epoch ran to its end.
            If left out, what the state of `OpacusAccountant` has seen counts, and otherwise Poisson samples are taken
            for granted, which `assumptions` and `words` then say.

    >>> spec = from_opacus([(1.1, 0.5, 20)], sampling="poisson")
    >>> spec.composition.parts[0][0].mechanism.noise_multiplier
    Fraction(11, 10)
    >>> spec.assumptions[0].endswith("with the recorded rate (stated by the caller, not seen).")
    True
    """
    reading = Reading(relation_of(relation), floats)
    kept = history.get("sampling") if isinstance(history, Mapping) else None
    seen, stated = read_state(kept) if kept is not None else ((), None)
    drawn = settle(seen, checked(sampling) or stated, assume=True)
    return opacus_specification(history, reading, drawn)


def opacus_specification(history: History, reading: Reading, drawn: Drawn) -> Converted:
    """The specification of a history whose batches were drawn so."""
    return converted(history_parts(history, reading, drawn.scheme), reading, f"an Opacus history, {drawn.words}",
                     opacus_assumptions(drawn, reading.relation))


def history_parts(history: History, reading: Reading, scheme: str, *, begun: bool = False) -> Parts:
    """The steps of a history with their counts; `begun`: a last epoch that has only begun counts whole."""
    rows = history.get("history") if isinstance(history, Mapping) else history
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise InvalidInput("history", rows, "a list of (noise multiplier, sample rate, steps), or a state_dict with it")
    listed = list(rows)
    return tuple(part for i, row in enumerate(listed, 1)
                 for part in _steps(row, f"history[{i}].", reading, scheme, begun and i == len(listed)))


def _steps(row: object, prefix: str, reading: Reading, scheme: str = POISSON, begun: bool = False) -> Parts:
    if isinstance(row, str) or not isinstance(row, Iterable) or len(entries := tuple(row)) != 3:
        raise InvalidInput(prefix.rstrip("."), row, "(noise multiplier, sample rate, steps)")
    try:
        noise = reading.non_negative(entries[0], "noise_multiplier")
        q, steps = reading.probability(entries[1], "sample_rate"), reading.whole(entries[2], "steps")
        if not q or not steps:
            return ()
        if scheme == SHUFFLED:
            return _epochs(noise, q, steps, begun)
    except InvalidInput as error:
        raise error.within(prefix) from None
    if not noise:  # every record that is sampled is revealed
        return times(revealed_parts(q, reading), steps)
    return ((PoissonSampled(Gaussian(noise), q) if q != 1 else Gaussian(noise), steps),)


def _epochs(noise: Fraction, q: Fraction, steps: int, begun: bool) -> Parts:
    """Whole epochs of 1/q shuffled batches. The steps of one that has only begun are some of a whole one's outputs."""
    rounds = round(1 / q)  # the rate is a double: nearly 1/rounds
    if abs(rounds * q - 1) > Fraction(1, 10**9):
        raise InvalidInput("sample_rate", q, "one over the whole number of batches of a shuffled epoch")
    epochs, rest = divmod(steps, rounds)
    if rest and not begun:
        raise InvalidInput("steps", steps, f"a multiple of {rounds}, the batches of a shuffled epoch that ran whole")
    whole = epochs + bool(rest)
    if not noise:
        return ((EVERYTHING, whole),)
    return ((Shuffled(Gaussian(noise), rounds) if rounds > 1 else Gaussian(noise), whole),)


_TF_NAMES = {
    "number_of_examples": ("number_of_examples", "n"),
    "batch_size": ("batch_size",),
    "num_epochs": ("num_epochs", "epochs"),
    "noise_multiplier": ("noise_multiplier", "noise"),
}


def from_tf_privacy(arguments: Mapping[str, Any], *, floats: str = FLOATS[0]) -> Converted:
    """The specification of what TensorFlow Privacy's DP-SGD statements are asked with: Poisson samples of rate B / N.

    Args:
        arguments: number_of_examples (or n), batch_size, num_epochs (or epochs), noise_multiplier.
    steps = ceil(num_epochs * number_of_examples / batch_size), the sampling probability is the exact ratio. That
    batches are Poisson samples is taken for granted, as `assumptions` says.

    >>> from_tf_privacy({"n": 60000, "batch_size": 256, "epochs": 60, "noise_multiplier": 1}).composition.parts[0][1]
    14063
    """
    reading = Reading(relation_of("add-or-remove"), floats)
    if not isinstance(arguments, Mapping):
        raise InvalidInput("arguments", arguments, "a table with number_of_examples, batch_size, num_epochs, "
                           "noise_multiplier")
    if arguments.get("max_examples_per_user") not in (None, 1):
        raise InvalidInput("max_examples_per_user", arguments["max_examples_per_user"],
                           "1 or left out: state group_size in the specification instead")
    given = {key: _one_of(arguments, names) for key, names in _TF_NAMES.items()}
    records, batch = (exact.count(given[key], key) for key in ("number_of_examples", "batch_size"))
    if batch > records:
        raise InvalidInput("batch_size", batch, f"at most number_of_examples = {records}")
    steps = ceil(reading.non_negative(given["num_epochs"], "num_epochs") * records / batch)
    parts = _steps((given["noise_multiplier"], Fraction(batch, records), steps), "", reading)
    return converted(parts, reading, "TensorFlow Privacy's arguments", (_TF_ASSUMED,))


_TF_ASSUMED = (
    "Batches were Poisson samples: every record joined every batch by its own coin, with probability batch_size / "
    "number_of_examples, a number fixed beforehand. The arguments do not say so; batches of shuffled data (tf.data's "
    "shuffle and batch) are no Poisson samples, and this bound is then false."
)


def _one_of(arguments: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    found = [arguments[name] for name in names if name in arguments]
    if len(found) != 1:
        raise InvalidInput(" or ".join(names), None, "given, once")
    return found[0]
