"""What the scripts of this folder share: the peer's number beside the enclosure of the truth, and its certificate."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from verified_dp import Claim, Enclosure, Spec, privacy_profile
from verified_dp.certificate import build_certificate, certificate_bytes


def show(package: str, reported: Callable[[], float], recorded: str, truth: Enclosure) -> None:
    """Print the number of the installed version, or else the recorded one, and the truth."""
    try:
        print(f"{package} {version(package)} says  {reported()!r}")
    except (PackageNotFoundError, ImportError):
        print(f"{package} is not installed, or has no such event; recorded: {recorded}")
    print(f"the truth ({truth.quantity})  {truth}")


def certificate(spec: Spec, epsilon: str, delta: str, file: str | Path) -> str:
    """Write the certificate of the claim (epsilon, delta) for the specification, and return its verdict."""
    claim = Claim(Path(file).stem, "examples/peers", epsilon, delta, epsilon, delta)  # type: ignore[arg-type]
    claimed = Spec(spec.relation, spec.composition, claim)
    found = build_certificate(claimed, *privacy_profile(claimed).solve_claim(claim))
    Path(file).write_bytes(certificate_bytes(found))
    return str(found["verdict"])
