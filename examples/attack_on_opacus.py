"""Does my Opacus training add its noise? A step without it has the same history, and one run of an attack catches it.

Needs the extra `opacus`. Logistic regression by Opacus on made-up records and canaries, each of which is in by a fair
coin and has a feature of its own. In the wrong training the optimizer's `add_noise` was overridden by one that clips,
sums and adds nothing, as a try to make steps quicker may leave it: history and epsilon are those of the right one. The
attack sees the final weights alone: it says "in" of the canaries with the largest weights, "out" of the smallest.
"""

from __future__ import annotations

import warnings
from typing import Any

from verified_dp import privacy_profile
from verified_dp.attack import StatisticalBound, one_run
from verified_dp.interop import from_opacus

CANARIES, GUESSES, RECORDS, FEATURES, BATCHES, EPOCHS = 400, 100, 2000, 20, 10, 6
NOISE, DELTA = 2.0, "1e-5"


def train(noisy: bool, coins: Any, seed: int) -> tuple[Any, list[Any]]:
    """The weights on the canaries' features, and the history that Opacus kept."""
    import torch
    from opacus import PrivacyEngine

    torch.manual_seed(seed)
    known = torch.randn(RECORDS, FEATURES)
    present = int(coins.sum())
    features = torch.zeros(RECORDS + present, FEATURES + CANARIES)
    features[:RECORDS, :FEATURES] = known
    features[RECORDS:, FEATURES:] = 8 * torch.eye(CANARIES)[coins]
    labels = torch.cat([(known @ torch.randn(FEATURES) > 0).float(), torch.ones(present)])
    data = torch.utils.data.TensorDataset(features, labels)
    loader = torch.utils.data.DataLoader(data, batch_size=-(-len(data) // BATCHES))
    model = torch.nn.Linear(FEATURES + CANARIES, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    engine = PrivacyEngine(accountant="prv")
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0), data_loader=loader,
        noise_multiplier=NOISE, max_grad_norm=1.0)
    if not noisy:
        def forgets() -> None:
            for parameter in optimizer.params:
                parameter.grad = parameter.summed_grad.view_as(parameter)

        optimizer.add_noise = forgets
    for _ in range(EPOCHS):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.binary_cross_entropy_with_logits(model(x)[:, 0], y).backward()
            optimizer.step()
    return model._module.weight.detach()[0, FEATURES:], engine.accountant.history


def audit(noisy: bool, seed: int = 1) -> tuple[StatisticalBound, str, int]:
    """One run, held against the epsilon of the training's own history; that epsilon, and how many guesses are right."""
    import torch

    coins = torch.rand(CANARIES, generator=torch.Generator().manual_seed(seed)) < 0.5
    weights, history = train(noisy, coins, seed)
    order = weights.argsort()
    right = int(coins[order[-GUESSES // 2:]].sum() + (~coins[order[: GUESSES // 2]]).sum())
    spec = from_opacus(history, floats="shortest-decimal", sampling="poisson")
    stated = privacy_profile(spec.composition, spec.relation).epsilon(DELTA)
    claim = stated.upper.as_fraction(), DELTA
    return one_run(CANARIES, GUESSES, right, delta=DELTA, confidence="0.99", claim=claim), stated.notation(), right


def main() -> None:
    """Both trainings."""
    warnings.filterwarnings("ignore")
    for noisy, name in ((True, "with noise"), (False, "noise left out")):
        found, stated, right = audit(noisy)
        print(f"{name}: Opacus' history says epsilon = {stated} at delta = {DELTA}; {right} of {GUESSES} right, "
              f"epsilon >= {found.epsilon_float:.3f}: {found.verdict}")


if __name__ == "__main__":
    main()
