"""What did my Opacus training spend, and who can check it? One line differs from an ordinary Opacus script.

Writes the accountant's state, certificate and a page about it to the folder given (build/opacus). Needs the extra
`opacus`. The data are made up; the batches, noise and history are Opacus's own. That batches are Poisson samples is
seen at the data loader, and stands in the certificate's source; what else the answer rests on is printed.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

DELTA = "1e-5"


def train(epochs: int = 3, records: int = 256, batch_size: int = 16) -> dict[str, Any]:
    """The verified accountant's state after a logistic regression on `records` points."""
    import torch
    from opacus import PrivacyEngine

    import verified_dp.interop.opacus  # noqa: F401  registers the accountant

    torch.manual_seed(0)
    features = torch.randn(records, 8)
    labels = (features.sum(dim=1) > 0).long()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(features, labels), batch_size=batch_size)
    model = torch.nn.Linear(8, 2)
    engine = PrivacyEngine(accountant="verified")
    model, optimizer, loader = engine.make_private_with_epsilon(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.5), data_loader=loader, epochs=epochs,
        target_epsilon=4.0, target_delta=float(DELTA), max_grad_norm=1.0)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    accuracy = (model(features).argmax(dim=1) == labels).float().mean().item()
    print(f"accuracy {accuracy:.2f}, Opacus shows epsilon = {engine.get_epsilon(float(DELTA)):.6f}")
    print("if:", *engine.accountant.assumptions, sep="\n  ")
    return dict(engine.accountant.state_dict())


def certify(state: dict[str, Any], folder: Path) -> int:
    """Certify the epsilon of a state, check the certificate, show it; the first exit code that is not 0."""
    import json

    from verified_dp.cli import main as command

    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "training.json"
    file.write_text(json.dumps(state), encoding="utf-8")
    certificates = folder / "certificates"
    certificate = str(certificates / "training.json")
    page = ["--html", str(folder / "training.html"), "--methods", "contour", "--max-seconds", "3"]
    with redirect_stdout(StringIO()) as told:
        code = command(["convert", str(file), "--from", "opacus", "--delta", DELTA])
    file.with_suffix(".toml").write_text(told.getvalue(), encoding="utf-8")
    return (code or command(["certify", str(file.with_suffix(".toml")), "--out", str(certificates), *page])
            or command(["verify", certificate]))


def main(folder: str = "build/opacus") -> int:
    """Train, convert, certify with a page, verify; the exit code of what was not done."""
    warnings.filterwarnings("ignore")
    return certify(train(), Path(folder))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
