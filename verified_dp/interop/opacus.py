"""An Opacus accountant whose epsilon is a proved upper bound, and which looks at how batches are drawn; needs Opacus.

Importing this module registers it, `PrivacyEngine(accountant="verified")` and so for `get_noise_multiplier`, and has
`PrivacyEngine.make_private` show such an accountant the data loader that it returns. Other accountants are left alone.
"""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

from opacus import PrivacyEngine
from opacus.accountants import IAccountant, register_accountant
from opacus.optimizers import AdaClipDPOptimizer, DPOptimizer
from opacus.utils.batch_memory_manager import BatchSplittingSampler
from opacus.utils.uniform_sampler import DistributedUniformWithReplacementSampler, UniformWithReplacementSampler
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, WeightedRandomSampler
from torch.utils.data.distributed import DistributedSampler

from verified_dp.core.kernel.errors import Unsupported
from verified_dp.interop.batches import (
    OTHER,
    POISSON,
    SHUFFLED,
    Drawn,
    Seen,
    checked,
    opacus_assumptions,
    read_state,
    settle,
    state_of,
)
from verified_dp.interop.histories import history_parts, opacus_specification
from verified_dp.interop.questions import profile_of, upper_delta, upper_epsilon
from verified_dp.interop.reading import FLOATS, Converted, Reading, relation_of
from verified_dp.profile import PrivacyProfile

NAME = "verified"


def check_loader(loader: Any) -> Seen:
    """What a data loader shows of how it draws batches: Poisson samples, shuffled epochs, another way, or nothing.

    Only samplers whose code is known are looked at; one of another class, a subclass too, has its author state it.
    """
    batches = _batch_sampler(loader)
    name = type(batches).__name__
    if type(batches) is UniformWithReplacementSampler:
        return Seen(POISSON, name)
    if type(batches) is DistributedUniformWithReplacementSampler:
        return Seen(POISSON, name, "No worker's batch was empty: Opacus's distributed sampler leaves such batches out.")
    if type(batches) is not BatchSampler:
        return Seen(words=f"a batch sampler of class {name}" if batches is not None else "no batch sampler")
    records, sampler = len(loader.dataset), batches.sampler
    if (type(sampler) is RandomSampler and not sampler.replacement
            and sampler.num_samples == len(sampler.data_source) == records):
        if batches.drop_last and records % batches.batch_size:
            return _not_covered("from shuffled epochs whose remainder is left out (drop_last=True)")
        return Seen(SHUFFLED, "DataLoader(shuffle=True)")
    if type(sampler) in _UNCOVERED:
        return _not_covered(_UNCOVERED[type(sampler)])
    return Seen(words=f"a sampler of class {type(sampler).__name__}")


def _batch_sampler(loader: Any) -> Any:
    """The sampler of a loader's batches; of virtual ones, that of the batches which they are parts of."""
    batches: Any = getattr(loader, "batch_sampler", None)
    return batches.sampler if type(batches) is BatchSplittingSampler else batches


def _not_covered(how: str) -> Seen:
    return Seen(OTHER, f"batches were drawn {how}, which no theorem here covers: leave poisson_sampling at True, or "
                       "use DataLoader(shuffle=True)")


_UNCOVERED = {
    SequentialSampler: "in a fixed order (a DataLoader without shuffle=True)",
    RandomSampler: "with replacement, or from some of the records (RandomSampler)",
    WeightedRandomSampler: "with weights (WeightedRandomSampler)",
    DistributedSampler: "by torch's DistributedSampler, which repeats or drops records",
}


class OpacusAccountant(IAccountant):
    """Opacus's IAccountant: the history of steps, and a proved upper bound on epsilon(delta) of all of them.

    The relation is add-or-remove. Floats are read as the binary numbers they are; `specification` says so.
    How batches are drawn is seen at the loader that `make_private` returns, or at the one given to `watch`, or stated:

    sampling: None, "poisson" (every record joins every batch by its own coin), or "shuffled" (every epoch is shuffled
    anew and runs to its end). Where neither tells, or no theorem covers it, questions raise Unsupported and say what
    to do.
    """

    def __init__(self, sampling: str | None = None) -> None:
        super().__init__()
        self._reading = Reading(relation_of("add-or-remove"), FLOATS[0])
        self._seen: Counter[Seen] = Counter()
        self.sampling = sampling

    @property
    def sampling(self) -> str | None:
        """What is stated of the batches; see the class."""
        return self._stated

    @sampling.setter
    def sampling(self, stated: str | None) -> None:
        self._stated = checked(stated)

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one optimisation step, whose batch nobody has seen; equal ones in a row are counted."""
        self._record(noise_multiplier, sample_rate, Seen())

    def _record(self, noise_multiplier: float, sample_rate: float, seen: Seen) -> None:
        self._seen[seen] += 1
        if self.history and tuple(self.history[-1][:2]) == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[DPOptimizer], None]:
        """Opacus's hook; what it records is not seen until `watch` is told the loader."""
        return self._hook(sample_rate, Seen())

    def _hook(self, sample_rate: float, seen: Seen) -> Callable[[DPOptimizer], None]:
        def record(optimizer: DPOptimizer) -> None:
            merged = optimizer.accumulated_iterations
            how = _MERGED if merged > 1 and seen.scheme == POISSON else seen
            self._record(optimizer.noise_multiplier, sample_rate * merged, how)

        return record

    def watch(self, optimizer: DPOptimizer, loader: Any) -> Seen:
        """Record the optimizer's steps as made on batches of this loader, whose sampler is looked at now.

        `make_private` does this by itself. A loader that contradicts `sampling` is wrong input; one whose epsilon will
        be refused, unless more is stated, is a warning.
        """
        seen = Seen(OTHER, _ADAPTIVE) if isinstance(optimizer, AdaClipDPOptimizer) else check_loader(loader)
        batches = _batch_sampler(loader)
        rate = batches.sample_rate if seen.scheme == POISSON else 1 / len(loader if batches is None else batches)
        optimizer.attach_step_hook(self._hook(rate, seen))
        try:
            settle([seen], self.sampling)
        except Unsupported as reason:
            warnings.warn(f"get_epsilon will refuse: {reason}", stacklevel=3)
        return seen

    def _drawn(self, sampling: str | None = None) -> Drawn:
        """How all steps' batches were drawn; of no steps nothing needs to be known."""
        return settle(self._looked(), checked(sampling) or self.sampling, assume=not self.history)

    def _looked(self) -> Counter[Seen]:
        """What was seen, with the number of steps; steps of a history that was put in by hand are unseen."""
        unseen = sum(row[2] for row in self.history) - self._seen.total()
        return self._seen + Counter({Seen(): max(unseen, 0)})

    @property
    def profile(self) -> PrivacyProfile:
        """The privacy profile of the steps so far: enclosures instead of floats."""
        return profile_of(history_parts(self.history, self._reading, self._drawn().scheme), self._reading.relation)

    @property
    def specification(self) -> Converted:
        """The steps so far as an exact specification with its assumptions, to certify."""
        return opacus_specification(self.history, self._reading, self._drawn())

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What every answer rests on, in sentences, beside the assumptions that each certificate lists."""
        return opacus_assumptions(self._drawn(), self._reading.relation)

    def get_epsilon(
            self, delta: float, *, digits: int | None = None, sampling: str | None = None, **_: Any) -> float:
        """A double >= epsilon(delta). sampling: stated for this question only, in place of the attribute."""
        return upper_epsilon(self._from_above(sampling), self._reading.number(delta, "delta"), digits)

    def get_delta(self, epsilon: float, *, digits: int | None = None, sampling: str | None = None) -> float:
        """A double >= delta(epsilon); `sampling` as in get_epsilon."""
        return upper_delta(self._from_above(sampling), self._reading.number(epsilon, "epsilon"), digits)

    def _from_above(self, sampling: str | None) -> PrivacyProfile:
        """A profile whose upper ends bound the steps so far: a shuffled epoch that has only begun counts whole."""
        parts = history_parts(self.history, self._reading, self._drawn(sampling).scheme, begun=True)
        return profile_of(parts, self._reading.relation)

    def state_dict(self, destination: Any = None) -> Any:
        """Opacus's state, and under `sampling` what was seen and stated of the batches."""
        state = super().state_dict(destination)
        state["sampling"] = state_of(self._looked(), self.sampling)
        return state

    def load_state_dict(self, state_dict: Any) -> None:
        """Take over a state; of one without `sampling`, written by an earlier version, no step counts as seen."""
        super().load_state_dict(state_dict)
        seen, stated = read_state(state_dict["sampling"]) if "sampling" in state_dict else ({}, None)
        self._seen, self.sampling = Counter(seen), stated or self.sampling

    def __len__(self) -> int:
        return len(self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name it is registered under."""
        return NAME


_MERGED = Seen(OTHER, "gradients of several Poisson samples were accumulated into one step, in which a record may "
                      "count twice: no theorem here covers it, use BatchMemoryManager or one larger batch")
_ADAPTIVE = ("clipping='adaptive' divides by the batch's own size, which no theorem here covers: use flat or per-layer "
             "clipping")


def _watched(engine: type[PrivacyEngine]) -> None:
    """Have engines with a verified accountant show it what `make_private` returns, and calibrate for such batches."""
    private, calibrated = engine.make_private, engine.make_private_with_epsilon

    @functools.wraps(private)
    def make_private(self: PrivacyEngine, **arguments: Any) -> Any:
        if not isinstance(self.accountant, OpacusAccountant):
            return private(self, **arguments)
        self.accountant.sampling = arguments.pop("sampling", None) or self.accountant.sampling
        made = private(self, **arguments)  # (module, optimizer, ..., loader)
        self.accountant.watch(made[1], made[-1])
        return made

    @functools.wraps(calibrated)
    def make_private_with_epsilon(self: PrivacyEngine, **arguments: Any) -> Any:
        if not isinstance(self.accountant, OpacusAccountant):
            return calibrated(self, **arguments)
        stated = self.accountant.sampling = arguments.get("sampling") or self.accountant.sampling
        becomes = arguments.get("poisson_sampling", True)
        loader = Seen(POISSON, "poisson_sampling=True") if becomes else check_loader(arguments["data_loader"])
        drawn = settle([loader], stated)
        try:
            return calibrated(self, **{**arguments, "sampling": drawn.scheme})  # get_epsilon and make_private take it
        finally:
            self.accountant.sampling = stated

    engine.make_private, engine.make_private_with_epsilon = make_private, make_private_with_epsilon


if not hasattr(PrivacyEngine.make_private, "__wrapped__"):
    _watched(PrivacyEngine)
register_accountant(NAME, OpacusAccountant, force=True)
