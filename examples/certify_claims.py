"""Are the published claims in examples/claims true, and does the package still say what is on record?

Runs `verified-dp certify --json` over every claims/*.toml and compares each verdict and the enclosure of epsilon with
the record, claims/expected.json. Exit code 0 if and only if every claim gets its recorded verdict and no two
enclosures of one number are apart: an expected refutation is a success. `make certify` runs this.

With --record the record is written anew, certificates stay in build/audit/certificates, and claims that have a valid
one there are not computed again; `make audit` runs this, then audit_page.py. The record maps a file's stem to
{"verdict": ..., "short_by_rounding": ..., "epsilon": [lower, upper], "tight": ..., "sha256": of the file}; that of
examples/ranges, whose numbers are ranges, has "reason" and "ranges" too, and is written anew with it.
"""

import hashlib
import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

CLAIMS = Path(__file__).parent / "claims"
RANGES = Path(__file__).parent / "ranges"
CERTIFICATES = Path(__file__).parents[1] / "build" / "audit" / "certificates"
DIGITS = 10
ROW = "{:<34}{:>20}{:>22}   {:<28}{:<24}{}"


def verdicts(files: list[Path], *options: str) -> Iterator[dict[str, Any]]:
    """Run the command line next to this interpreter; yield its objects, one per file and in their order."""
    program = Path(sys.executable).with_name("verified-dp")
    command = [str(program), "certify", "--json", "--jobs", str(os.cpu_count() or 1), *options, *map(str, files)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)


def certain(lower: str, upper: str) -> str:
    """The leading digits that both ends of an enclosure share, cut (not rounded) to DIGITS characters.

    >>> certain("2.4531090381", "2.4531090417")
    '2.45310903'
    """
    (low, *low_power), (high, *high_power) = lower.split("e"), upper.split("e")
    same_place = low_power == high_power and low.find(".") == high.find(".")
    shared = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(low[:DIGITS], high, strict=False))
    digits = "".join(digit for digit, _ in shared).rstrip(".") if same_place else ""
    return "e".join([digits, *low_power]) if digits else f"{lower} to {upper}"


def in_words(result: dict[str, Any]) -> str:
    """A verdict as the table shows it."""
    rounding = ", short by rounding" if result.get("short_by_rounding") else ""
    return f"{result.get('verdict', 'error')}{rounding}"


def agrees(result: dict[str, Any], recorded: dict[str, Any] | None) -> bool:
    """Whether a result has the recorded verdict, and an enclosure that meets the recorded one."""
    if recorded is None or in_words(result) != in_words(recorded) or "epsilon" not in result:
        return False
    (lower, upper), found = map(Decimal, recorded["epsilon"]), result["epsilon"]
    return Decimal(found["lower"]) <= upper and lower <= Decimal(found["upper"])


def row(stem: str, result: dict[str, Any], recorded: dict[str, Any] | None) -> str:
    """One line of the table."""
    if "verdict" not in result:
        return f"{stem:<34}{result.get('message', result)}"
    claimed, true = result["claimed"], result["epsilon"]
    shown = certain(true["lower"], true["upper"])
    as_recorded = "as recorded" if agrees(result, recorded) else "NOT AS RECORDED"
    return ROW.format(stem, claimed["epsilon"][:19], claimed["delta"][:21], in_words(result), shown, as_recorded)


def entry(file: Path, result: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a result. tight: data sets attain the pairs, so that epsilon is the mechanism's own."""
    certificate = json.loads(Path(result["certificate"]).read_text(encoding="utf-8"))
    epsilon = certificate["result"]["epsilon"]
    return {
        "verdict": result["verdict"],
        "short_by_rounding": result["short_by_rounding"],
        "epsilon": [epsilon["lower"], epsilon["upper"]],
        "tight": all(pair["tight"] for pair in certificate["pairs"]),
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
    }


def write_record(files: list[Path], results: dict[str, dict[str, Any]]) -> None:
    """One line per claim; certificates of claims that are no more are removed."""
    lines = [f"{json.dumps(file.stem)}: {json.dumps(entry(file, results[file.stem]))}" for file in files]
    for gone in {path.stem for path in CERTIFICATES.glob("*.json")} - results.keys():
        (CERTIFICATES / f"{gone}.json").unlink()
    (CLAIMS / "expected.json").write_text("{\n  " + ",\n  ".join(lines) + "\n}\n", encoding="utf-8")


def write_ranges() -> None:
    """The record of claims whose numbers are ranges."""
    files, lines = sorted(RANGES.glob("*.toml")), []
    for file, found in zip(files, verdicts(files, "--max-seconds", "30"), strict=True):
        kept = {"verdict": found["verdict"], "reason": found.get("reason", ""),
                "epsilon": [found["epsilon"]["lower"], found["epsilon"]["upper"]],
                "ranges": [[one["key"], one["from"], one["to"]] for one in found["range"]["ranges"]],
                "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        lines.append(f"{json.dumps(file.stem)}: {json.dumps(kept)}")
    (RANGES / "expected.json").write_text("{\n  " + ",\n  ".join(lines) + "\n}\n", encoding="utf-8")


def main(*, record: bool = False) -> int:
    """Print the table and the count of each verdict; return the exit code."""
    recorded = json.loads((CLAIMS / "expected.json").read_text(encoding="utf-8"))
    files = sorted(CLAIMS.glob("*.toml"))
    print(ROW.format("claim", "epsilon", "delta", "verdict", "true epsilon (certain)", ""))
    results = {}
    for file, result in zip(files, verdicts(files, *(["--out", str(CERTIFICATES)] if record else [])), strict=True):
        results[file.stem] = result
        print(row(file.stem, result, recorded.get(file.stem)), flush=True)
    counts = ", ".join(f"{n} {verdict}" for verdict, n in sorted(Counter(map(in_words, results.values())).items()))
    print(f"\n{len(results)} claims: {counts}")
    stems = recorded.keys() | results.keys()
    differ = sorted(stem for stem in stems if not agrees(results.get(stem, {}), recorded.get(stem)))
    if record and results and all("verdict" in result for result in results.values()):
        write_record(files, results)
        write_ranges()
        print(f"new, gone or changed: {', '.join(differ) or 'none'}")
        return 0
    print(f"not as recorded: {', '.join(differ)}" if differ else "every verdict is the recorded one")
    return 1 if differ or not results else 0


if __name__ == "__main__":
    sys.exit(main(record="--record" in sys.argv[1:]))
