"""A paper says (2.75, 1e-5)-DP for its training run. Is that true, and by how much?

    python examples/is_this_published_epsilon_true.py [CLAIM.toml]

The verdict rests on delta at the claimed epsilon, which is enclosed between two exact numbers; epsilon at the
claimed delta tells how much slack there is. `verified-dp certify` does the same and writes a certificate.
"""

import sys
from pathlib import Path

from verified_dp import Claim, Enclosure, load_spec, privacy_profile

CLAIMS = Path(__file__).parent / "claims"


def verdict(claim: Claim, delta: Enclosure) -> str:
    """What the enclosure of delta at the claimed epsilon proves about the claim."""
    if delta.upper <= claim.delta:
        return "proved"
    return "refuted" if delta.lower > claim.delta else "undecided"


def slack(claim: Claim, epsilon: Enclosure) -> str:
    """How far apart the claimed and the true epsilon are."""
    low, high = (float(claim.epsilon - end.as_fraction()) for end in (epsilon.upper, epsilon.lower))
    return f"too large by {low:.3g}" if low >= 0 else f"too small by {-high:.3g}"


def main(file: str | Path = CLAIMS / "koskela23-mimic.toml") -> None:
    """Print what is claimed, the verdict and the slack."""
    spec = load_spec(file)
    claim = spec.claim
    if claim is None:
        raise SystemExit(f"{file} claims nothing: it has no [claim] section")
    profile = privacy_profile(spec)
    delta, epsilon = profile.delta(claim.epsilon), profile.epsilon(claim.delta)
    print(f"{claim.title}: ({claim.epsilon_text}, {claim.delta_text})-DP")
    print(f"  {verdict(claim, delta)}: the true epsilon is {epsilon}")
    print(f"  the claimed one is {slack(claim, epsilon)}")
    print(f"  delta at the claimed epsilon is {delta}")


if __name__ == "__main__":
    main(*sys.argv[1:])
