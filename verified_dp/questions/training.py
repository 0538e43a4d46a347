"""DP-SGD in a line: noise, batches and epochs as a practitioner states them, turned into a specification.

    Training(noise_multiplier="1.1", sampling="poisson", batch_size=256, dataset_size=60000, epochs=60).toml()
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composition import Claim, Relation, Spec
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number, fraction_text
from verified_dp.core.kernel.shown import decimal_text
from verified_dp.spec import parse_spec


@dataclass(frozen=True)
class Training:
    """A training by DP-SGD: `sampling` names a scheme of SCHEMES, all numbers are exact.

    Either sampling_probability, or batch_size and dataset_size, whose ratio it is; either steps, or epochs, of which a
    training has ceil(epochs / sampling_probability) steps. groups: cyclic-poisson's, of which each step samples one
    (batch_size / dataset_size * groups of it). largest_batch: truncated-poisson's, which needs dataset_size besides.

    >>> Training(noise_multiplier="1.1", sampling="poisson", batch_size=256, dataset_size=60000, epochs=60).count
    14063
    """

    noise_multiplier: Number
    sampling: str
    sampling_probability: Number | None = None
    batch_size: Number | None = None
    dataset_size: Number | None = None
    steps: Number | None = None
    epochs: Number | None = None
    relation: str = Relation.ADD_OR_REMOVE.value
    groups: Number | None = None
    largest_batch: Number | None = None

    def __repr__(self) -> str:
        stated = {field.name: getattr(self, field.name) for field in fields(self)}
        return f"Training({', '.join(f'{key}={value!r}' for key, value in stated.items() if value is not None)})"

    def __post_init__(self) -> None:
        if exact.exact(self.noise_multiplier, "noise-multiplier") == 0:
            reason = "positive: 0 would mean no noise, hence no finite guarantee"
            raise InvalidInput("noise-multiplier", self.noise_multiplier, reason)
        exact.positive(self.noise_multiplier, "noise-multiplier")
        Relation.of(self.relation)
        if self.sampling not in SCHEMES:
            raise InvalidInput("sampling", self.sampling, "one of " + ", ".join(SCHEMES))
        _one_of("sampling-probability", self.sampling_probability, "batch-size", self.batch_size)
        _one_of("steps", self.steps, "epochs", self.epochs)
        _only("groups", self.groups, self.sampling, "cyclic-poisson")
        _only("largest-batch", self.largest_batch, self.sampling, "truncated-poisson")
        self._check_sizes()
        if not 0 < self.probability <= 1:
            raise InvalidInput(*self._probability_as_stated())
        exact.count(self.count, "steps" if self.epochs is None else "epochs")

    def _check_sizes(self) -> None:
        if self.sampling == "truncated-poisson":
            if self.dataset_size is None:
                raise InvalidInput("dataset-size", None, "given: how often batches are truncated depends on it")
        elif (self.batch_size is None) != (self.dataset_size is None):
            raise InvalidInput("dataset-size", self.dataset_size, "given beside batch-size, and only there")
        elif self.sampling == "with-replacement" and self.batch_size is None:
            raise InvalidInput("batch-size", None, "given, with dataset-size, under with-replacement")

    def _probability_as_stated(self) -> tuple[str, object, str]:
        if self.batch_size is None:
            return "sampling-probability", self.sampling_probability, "a rational number in (0, 1]"
        groups = f", divided by groups ({self.groups})" if self.groups is not None else ""
        return "batch-size", self.batch_size, f"at most dataset-size ({self.dataset_size}){groups}"

    @property
    def probability(self) -> Fraction:
        """With which a record enters a batch, of its group where there are some, or the share that a batch is."""
        if self.batch_size is None:
            return exact.probability(self.sampling_probability, "sampling-probability")
        share = Fraction(exact.count(self.batch_size, "batch-size"), exact.count(self.dataset_size, "dataset-size"))
        return share * self._turns

    @property
    def _turns(self) -> int:
        """Every how many steps a record may take part."""
        return 1 if self.groups is None else exact.count(self.groups, "groups")

    @property
    def count(self) -> int:
        """Those stated, or ceil(epochs * batches in an epoch)."""
        if self.epochs is None:
            return exact.count(self.steps, "steps")
        return math.ceil(exact.positive(self.epochs, "epochs") * self.batches)

    @property
    def batches(self) -> Fraction:
        """In an epoch: 1 / probability; where shuffled, rounded up, as the last batch has what is left."""
        exactly = self._turns / self.probability
        return Fraction(math.ceil(exactly)) if self.sampling == "shuffled" else exactly

    def derived(self) -> str:
        """In words where the probability and the number of steps come from."""
        share = fraction_text(self.probability)
        times = f" * {self.groups}" if self.groups is not None else ""
        ratio = f"{self.batch_size}/{self.dataset_size}{times} = " if self.batch_size is not None else ""
        words = f"{self.sampling}, probability {ratio}{share}; {self.count} steps"
        if self.epochs is None:
            return words
        if self.sampling == "shuffled":
            return f"{words} = {self.epochs} epochs of {self.batches} batches"
        quotient = exact.exact(self.epochs) * self.batches
        rounded = "exactly" if quotient == self.count else f"rounded up from {_short(quotient)}"
        return f"{words} = {self.epochs} epochs{times} / probability, {rounded}"

    def stated(self) -> str:
        """Batches and steps as they were given."""
        batches = f"sampling probability {self.sampling_probability}" if self.batch_size is None else (
            f"batches of {self.batch_size} from {self.dataset_size} records")
        more = f" in {self.groups} groups" if self.groups is not None else (
            f", at most {self.largest_batch} of {self.dataset_size} records" if self.largest_batch is not None else "")
        return f"{batches}{more}, " + (f"{self.steps} steps" if self.epochs is None else f"{self.epochs} epochs")

    def toml(self, claim: Claim | None = None) -> str:
        """The specification."""
        stated = ", ".join(f"{key} = {self._number(key)}" for key in SCHEMES[self.sampling])
        noise = self.noise_multiplier
        written = noise.strip() if isinstance(noise, str) else decimal_text(exact.exact(noise))
        lines = [f'relation = "{self.relation}"', "", "[[mechanism]]", 'kind = "gaussian"',
                 f'noise_multiplier = "{written}"', f'sampling = {{ scheme = "{self.sampling}", {stated} }}',
                 f"count = {self._tables()}"]
        return "\n".join([*lines, *(_claim_lines(claim) if claim else [])]) + "\n"

    def _number(self, key: str) -> str:
        """A number of the scheme's table, as it is written."""
        if key == "probability":
            return f'"{fraction_text(self.probability)}"'
        if key == "rounds":
            return str(self.batches if self.sampling in EPOCHS else self.count)
        name = {"draws": "batch-size", "population": "dataset-size"}.get(key, key.replace("_", "-"))
        return str(exact.count(getattr(self, name.replace("-", "_")), name))

    def _tables(self) -> int:
        """The table's count: steps, or epochs. Raises InvalidInput for a part of one."""
        if self.sampling not in EPOCHS:
            return 1 if self.sampling == "cyclic-poisson" else self.count
        if self.batches.denominator != 1:
            raise InvalidInput("sampling-probability", fraction_text(self.probability),
                               f"1 over a whole number of batches under {self.sampling}")
        epochs, rest = divmod(self.count, self.batches)
        if rest:
            raise InvalidInput("steps" if self.epochs is None else "epochs", self.count,
                               f"whole epochs of {self.batches} steps under {self.sampling}")
        return int(epochs)

    def spec(self, claim: Claim | None = None) -> Spec:
        """The same as a value."""
        return parse_spec(self.toml(claim))


EPOCHS = ("random-allocation", "shuffled")
SCHEMES: Mapping[str, tuple[str, ...]] = {
    "poisson": ("probability",), "random-allocation": ("rounds",), "shuffled": ("rounds",),
    "cyclic-poisson": ("groups", "probability", "rounds"),
    "truncated-poisson": ("probability", "population", "largest_batch"), "without-replacement": ("probability",),
    "with-replacement": ("draws", "population")}
"""scheme -> the numbers of its table `sampling`. Of EPOCHS a table is one of them, of `batches` rounds."""


def _one_of(key: str, value: object, other: str, instead: object) -> None:
    if (value is None) == (instead is None):
        raise InvalidInput(key, value, f"given, or {other} instead (one of the two)")


def _only(key: str, value: object, sampling: str, scheme: str) -> None:
    """A number that one scheme needs, and no other takes."""
    if (value is None) == (sampling == scheme):
        raise InvalidInput(key, value, f"given under {scheme}, and only there")


def _short(number: Fraction) -> str:
    """The number if it has few decimals, else as a fraction."""
    text = f"{float(number):.12g}"
    return text if Fraction(text) == number else fraction_text(number)


def _claim_lines(claim: Claim) -> list[str]:
    stated = {"title": claim.title, "source": claim.source, "epsilon": claim.epsilon_text, "delta": claim.delta_text}
    return ["", "[claim]", *(f"{key} = {json.dumps(text)}" for key, text in stated.items() if text)]
