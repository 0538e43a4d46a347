"""The Opacus accountant in real, tiny trainings; needs Opacus."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("opacus", reason="the extra opacus is not installed")
warnings.filterwarnings("ignore", module="opacus|torch")

import torch  # noqa: E402
from opacus import PrivacyEngine  # noqa: E402
from opacus.accountants import create_accountant  # noqa: E402
from opacus.accountants.utils import get_noise_multiplier  # noqa: E402
from opacus.data_loader import DPDataLoader  # noqa: E402
from opacus.utils.batch_memory_manager import BatchMemoryManager  # noqa: E402
from opacus.utils.uniform_sampler import DistributedUniformWithReplacementSampler  # noqa: E402
from torch.utils.data import DataLoader, RandomSampler, Sampler, TensorDataset, WeightedRandomSampler  # noqa: E402

from verified_dp import Gaussian, InvalidInput, Shuffled, Unsupported, compose, privacy_profile  # noqa: E402
from verified_dp.interop import OpacusAccountant, from_opacus  # noqa: E402
from verified_dp.interop.batches import settle  # noqa: E402
from verified_dp.interop.opacus import check_loader  # noqa: E402

torch.set_num_threads(1)  # tiny tensors
RECORDS, BATCH = 60, 15
DATA = TensorDataset(torch.ones(RECORDS, 4), torch.zeros(RECORDS, dtype=torch.long))


def prepared(engine: PrivacyEngine, loader: DataLoader, **arguments: Any) -> Any:
    """(model, optimizer, loader) of a tiny training."""
    model = torch.nn.Linear(4, 2)
    make = engine.make_private_with_epsilon if "target_epsilon" in arguments else engine.make_private
    return make(module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), data_loader=loader,
                max_grad_norm=1.0, **arguments)


def run(model: Any, optimizer: Any, loader: Any, epochs: int = 1, every: int = 1) -> None:
    """Epochs of it; a step after every so many batches."""
    for _ in range(epochs):
        for i, (features, labels) in enumerate(loader, 1):
            torch.nn.functional.cross_entropy(model(features), labels).backward()
            if i % every == 0:
                optimizer.step()
                optimizer.zero_grad()


def trained(loader: DataLoader, noise: float = 1.1, epochs: int = 1, every: int = 1, **arguments: Any) -> PrivacyEngine:
    """An engine after a training."""
    torch.manual_seed(0)
    engine = PrivacyEngine(accountant="verified")
    run(*prepared(engine, loader, noise_multiplier=noise, **arguments), epochs=epochs, every=every)
    return engine


def shuffling(**arguments: Any) -> DataLoader:
    return DataLoader(DATA, batch_size=BATCH, shuffle=True, **arguments)


def test_poisson_batches_are_seen() -> None:
    engine = trained(shuffling(), noise=1.5, epochs=2)
    assert engine.accountant.history == [(1.5, 0.25, 8)]
    spec = from_opacus([(1.5, 0.25, 8)], sampling="poisson")
    assert engine.get_epsilon(1e-5) == privacy_profile(spec).epsilon(Fraction(1e-5)).upper_float
    assert engine.accountant.specification.composition == spec.composition
    first, *others = engine.accountant.assumptions
    assert "Poisson samples" in first and "seen at the data loader: UniformWithReplacementSampler" in first
    assert any("issues 571 and 819" in words for words in others) and any("issue 813" in words for words in others)
    assert engine.accountant.specification.assumptions == engine.accountant.assumptions


def test_shuffled_batches_are_not_answered_as_poisson_samples() -> None:
    """600 records in batches of 30: an attack shows more than twice what Poisson accounting answers."""
    data = TensorDataset(torch.ones(600, 4), torch.zeros(600, dtype=torch.long))
    with pytest.warns(UserWarning, match="get_epsilon will refuse"):
        engine = trained(DataLoader(data, batch_size=30, shuffle=True), poisson_sampling=False)
    for ask in (engine.get_epsilon, engine.accountant.get_delta):
        with pytest.raises(Unsupported, match=r'not Poisson samples .* write accountant.sampling = "shuffled"'):
            ask(1e-5)
    for tell in ("profile", "specification", "assumptions"):
        with pytest.raises(Unsupported):
            getattr(engine.accountant, tell)
    with pytest.raises(InvalidInput, match="shuffled, which the data loader does"):
        engine.accountant.get_epsilon(1e-5, sampling="poisson")
    engine.accountant.sampling = "shuffled"
    truth = privacy_profile(Shuffled(Gaussian(Fraction(1.1)), 20), relation="add-or-remove").epsilon(Fraction(1e-5))
    poisson = privacy_profile(from_opacus(engine.accountant.history, sampling="poisson")).epsilon("1e-5")
    assert poisson.upper < truth.lower and truth.lower > 3
    assert engine.get_epsilon(1e-5) == truth.upper_float
    assert "Epochs were shuffled" in engine.accountant.assumptions[0]


@pytest.mark.parametrize(("loader", "words"), [
    (DataLoader(DATA, batch_size=BATCH), "in a fixed order"),
    (DataLoader(DATA, batch_size=7, shuffle=True, drop_last=True), "remainder is left out"),
    (DataLoader(DATA, batch_size=BATCH, sampler=WeightedRandomSampler(torch.ones(RECORDS), RECORDS)), "with weights"),
    (DataLoader(DATA, batch_size=BATCH, sampler=RandomSampler(DATA, replacement=True)), "with replacement"),
    (DataLoader(DATA, batch_size=BATCH, sampler=RandomSampler(DATA, num_samples=30)), "some of the records"),
])
def test_what_no_theorem_covers_is_refused_whatever_is_stated(loader: DataLoader, words: str) -> None:
    with pytest.warns(UserWarning, match=words):
        engine = trained(loader, poisson_sampling=False)
    for stated in (None, "poisson", "shuffled"):
        engine.accountant.sampling = stated
        with pytest.raises(Unsupported, match=words):
            engine.get_epsilon(1e-5)


class Sequence(Sampler[int]):
    """A sampler of the user's own, of which nothing is known."""

    def __iter__(self) -> Iterator[int]:
        return iter(torch.randperm(RECORDS).tolist())

    def __len__(self) -> int:
        return RECORDS


def test_a_sampler_of_one_s_own_is_stated() -> None:
    with pytest.warns(UserWarning, match="a sampler of class Sequence"):
        engine = trained(DataLoader(DATA, batch_size=BATCH, sampler=Sequence()), poisson_sampling=False, epochs=2)
    with pytest.raises(Unsupported, match=r'neither seen .* nor stated: write accountant.sampling = "poisson"'):
        engine.get_epsilon(1e-5)
    engine.accountant.sampling = "shuffled"
    assert engine.accountant.specification.composition == compose((Shuffled(Gaussian(Fraction(1.1)), 4), 2))
    assert "stated by the caller, not seen" in engine.accountant.assumptions[0]


def test_an_epoch_that_has_begun_counts_whole_from_above_only() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", message="Secure RNG|Full backward")
        engine = trained(shuffling(), poisson_sampling=False, every=4, sampling="shuffled")  # as one batch of all
    assert engine.accountant.specification.composition == compose(Gaussian(Fraction(1.1)))
    engine.accountant.history = [(1.1, 0.25, 5)]
    two = privacy_profile(from_opacus([(1.1, 0.25, 8)], sampling="shuffled")).epsilon(Fraction(1e-5))
    assert engine.get_epsilon(1e-5) == two.upper_float
    with pytest.raises(InvalidInput, match="steps must be a multiple of 4"):
        _ = engine.accountant.specification
    engine.accountant.history = [(1.1, 0.25, 2), (1.0, 0.25, 4)]  # only the last may have begun
    with pytest.raises(InvalidInput, match=r"history\[1\].steps must be a multiple of 4"):
        engine.get_epsilon(1e-5)


def test_the_rate_is_that_of_the_sampler() -> None:
    """A sampler of few draws changes Opacus's rate; a loader of the user's own draws with its own."""
    few = WeightedRandomSampler(torch.ones(RECORDS), num_samples=20)
    engine = trained(DataLoader(DATA, batch_size=10, sampler=few))
    assert engine.accountant.history == [(1.1, 0.5, 2)]
    assert engine.get_epsilon(1e-5) > 0
    own = trained(DPDataLoader(DATA, sample_rate=0.4), poisson_sampling=False)  # Opacus records 1 / 2 batches
    assert own.accountant.history == [(1.1, 0.4, 2)]


def test_accumulated_poisson_samples_are_refused() -> None:
    """A record may be in both samples, with two norms: no Poisson sample of twice the rate."""
    engine = trained(DPDataLoader(DATA, sample_rate=0.25), poisson_sampling=False, every=2)
    assert engine.accountant.history == [(1.1, 0.5, 2)]
    with pytest.raises(Unsupported, match="accumulated into one step"):
        engine.get_epsilon(1e-5)


def test_clipping_that_adapts_to_the_batch_s_size_is_refused() -> None:
    adapting = {"target_unclipped_quantile": 0.5, "clipbound_learning_rate": 0.2, "max_clipbound": 2.0,
                "min_clipbound": 0.1, "unclipped_num_std": 5.0}
    with pytest.warns(UserWarning, match="divides by the batch's own size"):
        engine = trained(shuffling(), clipping="adaptive", **adapting)
    with pytest.raises(Unsupported, match="divides by the batch's own size"):
        engine.accountant.get_epsilon(1e-5, sampling="poisson")


def test_workers_that_leave_out_empty_batches_are_an_assumption() -> None:
    sampler = object.__new__(DistributedUniformWithReplacementSampler)  # to make one takes several processes
    seen = check_loader(SimpleNamespace(batch_sampler=sampler))
    assert seen.scheme == "poisson" and seen.caveat in settle([seen]).assumptions


def test_virtual_batches_are_batches() -> None:
    engine = PrivacyEngine(accountant="verified")
    model, optimizer, loader = prepared(engine, shuffling(), noise_multiplier=1.5)
    with BatchMemoryManager(data_loader=loader, max_physical_batch_size=4, optimizer=optimizer) as small:
        run(model, optimizer, small)
        engine.accountant.watch(optimizer, small)  # a virtual loader shows the sampler beneath
        run(model, optimizer, small)
    assert engine.accountant.history == [(1.5, 0.25, 8)]
    assert engine.get_epsilon(1e-5) == trained(shuffling(), noise=1.5, epochs=2).get_epsilon(1e-5)


def test_noise_is_calibrated_for_the_batches_that_are_drawn() -> None:
    target = {"target_epsilon": 3.0, "target_delta": 1e-5, "epochs": 2}
    engine = PrivacyEngine(accountant="verified")
    model, optimizer, loader = prepared(engine, shuffling(), **target)
    run(model, optimizer, loader, epochs=2)
    assert 2.9 < engine.get_epsilon(1e-5) <= 3
    assert engine.accountant.sampling is None and "seen at the data loader" in engine.accountant.assumptions[0]
    other = PrivacyEngine(accountant="verified")
    with pytest.raises(Unsupported, match=r'write accountant\.sampling = "shuffled"'):
        prepared(other, shuffling(), poisson_sampling=False, **target)
    with pytest.raises(Unsupported, match="in a fixed order"):
        prepared(other, DataLoader(DATA, batch_size=BATCH), poisson_sampling=False, **target)
    model, shuffled, loader = prepared(other, shuffling(), poisson_sampling=False, sampling="shuffled", **target)
    run(model, shuffled, loader, epochs=2)
    assert 2.9 < other.get_epsilon(1e-5) <= 3 and shuffled.noise_multiplier > 2 * optimizer.noise_multiplier


@pytest.mark.parametrize("poisson", [True, False])
def test_a_checkpoint_keeps_what_was_seen(poisson: bool, tmp_path: Path) -> None:
    engine = PrivacyEngine(accountant="verified")
    model, optimizer, loader = prepared(
        engine, shuffling(), noise_multiplier=1.1, poisson_sampling=poisson, sampling=None if poisson else "shuffled")
    run(model, optimizer, loader)
    engine.save_checkpoint(path=tmp_path / "state.pt", module=model, optimizer=optimizer)
    again = PrivacyEngine(accountant="verified")
    model, optimizer, loader = prepared(
        again, shuffling(), noise_multiplier=1.1, poisson_sampling=poisson, sampling=None if poisson else "shuffled")
    again.load_checkpoint(path=tmp_path / "state.pt", module=model, optimizer=optimizer)
    assert again.get_epsilon(1e-5) == engine.get_epsilon(1e-5) > 0
    assert again.accountant.assumptions == engine.accountant.assumptions
    run(model, optimizer, loader)
    assert again.accountant.history == [(1.1, 0.25, 8)] and again.get_epsilon(1e-5) > engine.get_epsilon(1e-5)
    state = json.loads(json.dumps(engine.accountant.state_dict()))
    assert from_opacus(state).composition == engine.accountant.specification.composition
    assert from_opacus(state).assumptions == engine.accountant.assumptions
    with pytest.raises(InvalidInput, match="which the data loader does"):
        from_opacus(state, sampling="shuffled" if poisson else "poisson")


def test_states_of_earlier_versions_and_histories_put_in_by_hand_are_unseen() -> None:
    state = trained(shuffling()).accountant.state_dict()
    accountant = create_accountant("verified")
    accountant.load_state_dict({key: state[key] for key in ("history", "mechanism")})
    with pytest.raises(Unsupported, match="neither seen nor stated"):
        accountant.get_epsilon(1e-5)
    accountant.load_state_dict(state)
    assert accountant.get_epsilon(1e-5) > 0
    accountant.history = [*accountant.history, (1.1, 0.5, 1)]
    with pytest.raises(Unsupported, match="neither seen nor stated"):
        accountant.get_epsilon(1e-5)
    assert accountant.get_epsilon(1e-5, sampling="poisson") > 0
    with pytest.raises(InvalidInput, match="sampling must be the record"):
        accountant.load_state_dict({**state, "sampling": {"seen": [["poisson"]]}})


def test_steps_are_counted_and_restored() -> None:
    engine = PrivacyEngine(accountant="verified")
    for noise in (1.0, 1.0, 1.0, 2.0, 1.0):
        engine.accountant.step(noise_multiplier=noise, sample_rate=0.01)
    with pytest.raises(Unsupported, match="neither seen nor stated"):
        engine.get_epsilon(1e-5)
    engine.accountant.sampling = "poisson"
    assert engine.accountant.history == [(1.0, 0.01, 3), (2.0, 0.01, 1), (1.0, 0.01, 1)]
    other = create_accountant("verified")
    other.load_state_dict(engine.accountant.state_dict())
    assert other.get_epsilon(1e-5) == engine.get_epsilon(1e-5) > 0
    assert isinstance(other, OpacusAccountant) and len(other) == 3
    assert other.specification.composition == from_opacus(other.state_dict()).composition
    with pytest.raises(ValueError, match="rdp"):
        create_accountant("rdp").load_state_dict(other.state_dict())


def test_calibrated_noise_keeps_the_budget() -> None:
    asked = {"target_epsilon": 2.0, "target_delta": 1e-5, "sample_rate": 0.01, "steps": 200, "accountant": "verified"}
    noise = get_noise_multiplier(**asked, epsilon_tolerance=0.001, digits=6, sampling="poisson")
    epsilon = privacy_profile(from_opacus([(noise, 0.01, 200)])).epsilon("1e-5")
    assert 1.99 < epsilon.lower_float <= epsilon.upper_float <= 2.001
    with pytest.raises(Unsupported, match="neither seen nor stated"):
        get_noise_multiplier(**asked)


def test_epsilon_of_no_steps_is_zero() -> None:
    assert create_accountant("verified").get_epsilon(1e-5) == 0
    assert create_accountant("verified").get_delta(0.0) == 0


def test_other_accountants_are_left_alone() -> None:
    engine = PrivacyEngine(accountant="rdp")
    run(*prepared(engine, shuffling(), noise_multiplier=1.1, poisson_sampling=False))
    assert engine.accountant.history == [(1.1, 0.25, 4)] and "sampling" not in engine.accountant.state_dict()
    assert engine.get_epsilon(1e-5) > 0
    prepared(PrivacyEngine(accountant="rdp"), shuffling(), target_epsilon=9.0, target_delta=1e-5, epochs=1)
