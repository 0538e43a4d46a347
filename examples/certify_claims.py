"""Are the published claims in examples/claims true, and does the package still say what is on record?

Runs `verified-dp certify --json` over every claims/*.toml and compares each verdict with the record,
claims/expected.json, which maps a file's stem to {"verdict": ..., "short_by_rounding": ...}.
Exit code 0 if and only if every claim gets its recorded verdict: an expected refutation is a success.
`make certify` runs this.
"""

import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CLAIMS = Path(__file__).parent / "claims"
DIGITS = 10
ROW = "{:<28}{:>20}{:>22}   {:<28}{:<14}{}"


def verdicts(files: list[Path]) -> Iterator[dict[str, Any]]:
    """Run the command line next to this interpreter; yield its objects, one per file and in their order."""
    program = Path(sys.executable).with_name("verified-dp")
    command = [str(program), "certify", "--json", *map(str, files)]
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


def row(stem: str, result: dict[str, Any], recorded: dict[str, Any] | None) -> str:
    """One line of the table."""
    if "verdict" not in result:
        return f"{stem:<28}{result.get('message', result)}"
    agrees = "as recorded" if recorded and in_words(result) == in_words(recorded) else "NOT AS RECORDED"
    claimed, true = result["claimed"], result["epsilon"]
    shown = certain(true["lower"], true["upper"])
    return ROW.format(stem, claimed["epsilon"], claimed["delta"], in_words(result), shown, agrees)


def main() -> int:
    """Print the table and the count of each verdict; return the exit code."""
    recorded = json.loads((CLAIMS / "expected.json").read_text(encoding="utf-8"))
    files = sorted(CLAIMS.glob("*.toml"))
    print(ROW.format("claim", "epsilon", "delta", "verdict", "true epsilon (certain)", ""))
    found = {}
    for file, result in zip(files, verdicts(files), strict=True):
        found[file.stem] = in_words(result)
        print(row(file.stem, result, recorded.get(file.stem)), flush=True)
    wrong = {stem for stem in recorded.keys() | found.keys()
             if stem not in recorded or found.get(stem) != in_words(recorded[stem])}
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(Counter(found.values()).items()))
    print(f"\n{len(found)} claims: {counts}")
    print(f"not as recorded: {', '.join(sorted(wrong))}" if wrong else "every verdict is the recorded one")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
