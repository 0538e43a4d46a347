"""jax-privacy's event builders and calibrations, with the verified accountant in their accountants' place."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("jax_privacy", reason="jax-privacy is not installed")

import dp_accounting as peer
from jax_privacy.accounting import accountants, analysis, calibrate
from jax_privacy.experimental import accounting as builders

from verified_dp import (
    Gaussian,
    PoissonSampled,
    TruncatedPoisson,
    WithoutReplacement,
    WithReplacement,
    privacy_profile,
)
from verified_dp.interop import VerifiedAccountant, from_dp_event, from_opacus

PLAIN = Gaussian("1.1")
FIXED = {"dataset_size": 1000, "batch_size": 10}
BANDS = {"num_bands": 16, "sampling_prob": 0.01}


class VerifiedConfig(accountants.DpAccountantConfig):
    """What takes the place of PldAccountantConfig."""

    def create_accountant(self) -> peer.PrivacyAccountant:
        return VerifiedAccountant(digits=6)


@pytest.mark.parametrize(("event", "relation", "part"), [
    (builders.dpsgd_event(1.1, 100, sampling_prob=0.01), "add-or-remove", (PoissonSampled(PLAIN, "0.01"), 100)),
    (builders.amplified_bandmf_event(1.1, 100, **BANDS), "zero-out", (PoissonSampled(PLAIN, "0.01"), 7)),
    (builders.fixed_dpsgd_event(1.1, 100, **FIXED), "replace", (WithoutReplacement(PLAIN, "0.01"), 100)),
    (builders.fixed_dpsgd_event(1.1, 100, **FIXED, replace=True), "replace", (WithReplacement(PLAIN, 10, 1000), 100)),
    (builders.truncated_dpsgd_event(1.1, 5, sampling_prob=0.5, num_examples=10, truncated_batch_size=11),
     "add-or-remove", (PoissonSampled(PLAIN, "0.5"), 5)),
    (builders.truncated_dpsgd_event(1.1, 100, sampling_prob=0.01, num_examples=1000, truncated_batch_size=16),
     "add-or-remove", (TruncatedPoisson(PLAIN, "0.01", 1000, 16), 100)),
    (builders.truncated_amplified_bandmf_event(1.1, 100, **BANDS, largest_group_size=1000, truncated_batch_size=16),
     "add-or-remove", (TruncatedPoisson(PLAIN, "0.01", 1000, 16), 7)),
])
def test_built_events_mean_what_they_say(event: Any, relation: str, part: Any) -> None:
    assert from_dp_event(event, relation=relation, floats="shortest-decimal").composition.parts == (part,)


def test_an_accountant_says_what_its_events_assert() -> None:
    accountant = VerifiedAccountant()
    assert len(accountant.assumptions) == 1
    accountant.compose(builders.dpsgd_event(1.1, 100, sampling_prob=0.01))
    assert "by its own coin" in accountant.assumptions[-1]
    assert accountant.specification.assumptions == accountant.assumptions


def epsilon(noise: float) -> Any:
    return privacy_profile(from_opacus([(noise, 0.01, 100)])).epsilon("1e-5")


def test_a_calibrated_noise_keeps_the_budget() -> None:
    training = analysis.DpsgdTrainingAccountant(VerifiedConfig())
    noise = calibrate.calibrate_noise_multiplier(
        target_epsilon=2.0, accountant=training, batch_sizes=10, num_updates=100, num_samples=1000,
        target_delta=1e-5, tol=1e-3)
    assert epsilon(noise).upper <= 2 < epsilon(noise - 3e-3).lower


def test_calibrated_updates_keep_the_budget() -> None:
    training = analysis.DpsgdTrainingAccountant(VerifiedConfig())
    updates = calibrate.calibrate_num_updates(
        target_epsilon=1.0, accountant=training, noise_multipliers=1.0, batch_sizes=10, num_samples=1000,
        target_delta=1e-5)
    spent = [privacy_profile(from_opacus([(1.0, 0.01, count)])).epsilon("1e-5") for count in (updates, updates + 1)]
    assert spent[0].upper <= 1 < spent[1].lower


def test_a_builder_in_the_peer_s_own_calibration() -> None:
    noise = peer.calibrate_dp_mechanism(
        lambda: VerifiedAccountant(digits=6), lambda noise: builders.dpsgd_event(noise, 100, sampling_prob=0.01),
        2.0, 1e-5, tol=1e-3)
    assert epsilon(noise).upper <= 2 < epsilon(noise - 3e-3).lower
