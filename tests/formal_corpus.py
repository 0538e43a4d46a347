"""How many of the example claims have a formal part, of which kind and how far down it is proved; why others have none.

    python tests/formal_corpus.py [--seconds 100] [--again]     writes the table in proofs/coq/README.md

Rows are kept in build/formal-corpus.jsonl, one for each claim, so that a run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import textwrap
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cross_check import processor_time

from verified_dp import privacy_profile
from verified_dp.certificate import build_certificate
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.spec import load_spec
from verified_dp.verifiers import formal
from verified_dp.verifiers.record_formal import with_formal

ROOT = Path(__file__).resolve().parents[1]
PAGE, ROWS = ROOT / "proofs" / "coq" / "README.md", ROOT / "build" / "formal-corpus.jsonl"
BEGIN, END = "<!-- written by tests/formal_corpus.py -->\n", "<!-- end -->\n"
DEPTHS = {formal.TRUST_SAMPLED: "mechanism", formal.TRUST_REFUTED: "mechanism", formal.TRUST_ATTAINED: "mechanism",
          formal.TRUST_LOSSES: "losses", formal.TRUST: "composition"}
NAMES = {"GaussianLoss": "Gaussian", "SampledGaussianLoss": "sampled Gaussian", "OddsLoss": "pure or approximate DP",
         "LaplaceLoss": "Laplace", "ZCDPLoss": "zCDP", "DiscreteLaplaceLoss": "discrete Laplace"}


def row_of(path: Path, seconds: float) -> dict[str, Any]:
    """What verify --formal says of one claim."""
    spec, start = load_spec(path), time.process_time()
    assert spec.claim is not None
    laws = {type(law).__name__ for loss in privacy_losses(spec.composition, spec.relation) for law, _ in loss.laws}
    document = build_certificate(spec, *privacy_profile(spec).solve_claim(spec.claim))
    row = {"claim": path.stem, "steps": ", ".join(sorted(NAMES.get(name, name.removesuffix("Loss")) for name in laws)),
           "verdict": document["verdict"]}
    try:
        with processor_time(seconds):
            reason = str(formal.verify_formal(with_formal(document)).reason)
        row["depth"] = next(depth for trust, depth in DEPTHS.items() if reason.endswith(trust))
    except (Unsupported, TimeoutError) as error:
        row["refused"] = reason_of(str(error), document["verdict"])
    return {**row, "seconds": round(time.process_time() - start, 2)}


def reason_of(error: str, verdict: str) -> str:
    """The refusal in few words."""
    if verdict == "undecided":
        return "the claim is undecided"
    no_grid = "no grid" in error or "readable" in error
    return "no grid of the program decides it" if no_grid else "not within the seconds"


def table(rows: Iterable[dict[str, Any]]) -> str:
    """Counts by the steps' losses, and the reasons of refusals."""
    found = sorted(rows, key=lambda row: (row["steps"], row["claim"]))
    lines = ["| steps | claims | " + " | ".join(f"{verdict}: {depth}" for verdict in ("proved", "refuted")
                                                for depth in ("mechanism", "losses", "composition")) + " | refused |",
             "|---|" + "---|" * 8]
    for steps in [*sorted({row["steps"] for row in found}), "all"]:
        mine = [row for row in found if steps in (row["steps"], "all")]
        counts = Counter((row["verdict"], row.get("depth")) for row in mine)
        cells = [counts[verdict, depth] for verdict in ("proved", "refuted")
                 for depth in ("mechanism", "losses", "composition")]
        lines.append(f"| {steps} | {len(mine)} | " + " | ".join(map(str, cells)) + f" | {len(mine) - sum(cells)} |")
    lines.append("")
    for reason in sorted({row["refused"] for row in found if "refused" in row}):
        names = [row["claim"] for row in found if row.get("refused") == reason]
        lines.append(textwrap.fill(f"* {reason} ({len(names)}): {', '.join(names)}", 110, subsequent_indent="  ",
                                   break_on_hyphens=False))
    return "\n".join(lines) + f"\n\n{sum(row['seconds'] for row in found):.0f} seconds of processor time in all.\n"


def main() -> None:
    """Make the rows that are missing, then the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--again", action="store_true", help="forget earlier rows")
    given = parser.parse_args()
    ROWS.parent.mkdir(exist_ok=True)
    lines = ROWS.read_text(encoding="utf-8").splitlines() if ROWS.exists() and not given.again else []
    rows = {row["claim"]: row for row in map(json.loads, lines)}
    with ROWS.open("a" if lines else "w", encoding="utf-8") as kept:
        for path in sorted((ROOT / "examples" / "claims").rglob("*.toml")):
            if path.stem not in rows:
                rows[path.stem] = row_of(path, given.seconds)
                kept.write(json.dumps(rows[path.stem]) + "\n")
                kept.flush()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + table(rows.values()) + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
