"""The Opacus accountant; needs Opacus."""

from __future__ import annotations

import warnings
from fractions import Fraction

import pytest

pytest.importorskip("opacus", reason="the extra opacus is not installed")
warnings.filterwarnings("ignore", module="opacus|torch")

import torch  # noqa: E402
from opacus import PrivacyEngine  # noqa: E402
from opacus.accountants import create_accountant  # noqa: E402
from opacus.accountants.utils import get_noise_multiplier  # noqa: E402

from verified_dp import privacy_profile  # noqa: E402
from verified_dp.interop import OpacusAccountant, from_opacus  # noqa: E402


def test_steps_are_counted_and_restored() -> None:
    engine = PrivacyEngine(accountant="verified")
    for noise in (1.0, 1.0, 1.0, 2.0, 1.0):
        engine.accountant.step(noise_multiplier=noise, sample_rate=0.01)
    assert engine.accountant.history == [(1.0, 0.01, 3), (2.0, 0.01, 1), (1.0, 0.01, 1)]
    other = create_accountant("verified")
    other.load_state_dict(engine.accountant.state_dict())
    assert other.get_epsilon(1e-5) == engine.get_epsilon(1e-5) > 0
    assert isinstance(other, OpacusAccountant) and len(other) == 3
    assert other.specification.composition == from_opacus(other.state_dict()).composition
    with pytest.raises(ValueError, match="rdp"):
        create_accountant("rdp").load_state_dict(other.state_dict())


def test_calibrated_noise_keeps_the_budget() -> None:
    noise = get_noise_multiplier(target_epsilon=2.0, target_delta=1e-5, sample_rate=0.01, steps=200,
                                 accountant="verified", epsilon_tolerance=0.001, digits=6)
    epsilon = privacy_profile(from_opacus([(noise, 0.01, 200)])).epsilon("1e-5")
    assert 1.99 < epsilon.lower_float <= epsilon.upper_float <= 2.001


def test_epsilon_of_no_steps_is_zero() -> None:
    assert create_accountant("verified").get_epsilon(1e-5) == 0
    assert create_accountant("verified").get_delta(0.0) == 0


def test_a_training_is_accounted_for() -> None:
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
    model = torch.nn.Linear(4, 2)
    engine = PrivacyEngine(accountant="verified")
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(data, batch_size=16), noise_multiplier=1.5, max_grad_norm=1.0)
    for features, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(features), labels).backward()
        optimizer.step()
    assert engine.accountant.history == [(1.5, 0.25, 4)]
    asked = Fraction(1e-5)
    assert engine.get_epsilon(1e-5) == privacy_profile(from_opacus([(1.5, 0.25, 4)])).epsilon(asked).upper_float
