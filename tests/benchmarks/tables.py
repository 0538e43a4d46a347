"""From measured records to certified errors, ratios, the cases where we lose, and files to read.

    python tests/benchmarks/tables.py build/bench.json docs/benchmark.md --note "an idle machine"
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import statistics
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

Record = dict[str, Any]
PAGE_TEXT = """# Beside other accountants

Written by one run of `make bench`: {versions}. {note}

Each case and accountant has a process of its own, pinned to one core. Times are processor time, the least of a few
calls, from the constructor to the answer, with all caches of this package cleared. Ours is asked for certified
enclosures of 6, 12 and 50 digits, both orders of add-or-remove; the others for what they give with the setting that is
named. [Case by case](benchmark.csv), least first: the other's time over ours at 6 and at 12 digits (0: none of ours),
milliseconds, and *certified error*, how far, relative to the truth, the other's answer lies outside of the
narrowest certified interval; below the truth is negative.

## In sum

The other's time over ours: above 1 we are faster.

{summary}

## Few steps

Milliseconds.

{few}

## 200 points of a curve

Of delta, at six digits; dp_accounting composes once and is asked for all.

{curves}

## Where we are slower at 6 digits

{slower}

## Memory

The largest and the median peak of a process, in MB.

{memory}

## Answers on the wrong side

Upper bounds below the truth, and intervals that miss it.

{wrong}

## What failed

{failed}
"""
OURS = ("verified_dp 6", "verified_dp 12", "verified_dp 50")


def truths(records: list[Record]) -> dict[tuple[str, str], tuple[float, float]]:
    """(case, quantity) -> the narrowest certified ends."""
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for name in OURS:
        for record in records:
            if record["accountant"] == name and record.get("upper") not in (None, "inf"):
                found[record["case"], record["quantity"]] = float(record["lower"]), float(record["upper"])
    return found


def certified_error(record: Record, truth: tuple[float, float] | None) -> float | None:
    """The relative distance from the certified interval to the answer, with its sign; 0 inside. Of ours: the width."""
    if truth is None or not truth[1]:
        return None
    low, high = truth
    if record["accountant"] in OURS:
        lower, upper = Fraction(record["lower"]), Fraction(record["upper"]) if record["upper"] != "inf" else None
        return float(upper / lower - 1) if lower and upper is not None else None
    value = float(record["value"])
    return 0.0 if low <= value <= high else (value - (high if value > high else low)) / high


def with_errors(records: list[Record]) -> list[Record]:
    """Each record with its certified error; of two-sided answers also whether the truth is inside."""
    known = truths(records)
    rows = []
    for record in records:
        truth = known.get((record["case"], record["quantity"]))
        row = {**record, "certified_error": None, "holds": None}
        if "seconds" in record:
            row["certified_error"] = certified_error(record, truth)
            if truth is not None and record["accountant"] not in OURS and record.get("upper") is not None:
                row["holds"] = float(record["lower"]) <= truth[1] and truth[0] <= float(record["upper"])
        rows.append(row)
    return rows


def ratios(records: Iterable[Record], mine: str, peer: str, quantity: str) -> list[tuple[float, str]]:
    """(the peer's seconds over ours, the case) of every case that both answered, in order."""
    seconds: dict[tuple[str, str], float] = {}
    for record in records:
        if record["quantity"] == quantity and "seconds" in record:
            seconds[record["accountant"], record["case"]] = record["seconds"]
    cases = [case for name, case in seconds if name == peer and (mine, case) in seconds]
    return sorted((seconds[peer, case] / seconds[mine, case], case) for case in cases)


def summary(records: list[Record]) -> list[Record]:
    """For each of our digits and each peer: geometric mean, the worst case by name, all where the peer is faster."""
    peers = list(dict.fromkeys(record["accountant"] for record in records if record["accountant"] not in OURS))
    rows = []
    for quantity in ("delta", "epsilon"):
        for mine in OURS:
            for peer in peers:
                found = ratios(records, mine, peer, quantity)
                if found:
                    rows.append({
                        "quantity": quantity, "ours": mine, "peer": peer, "cases": len(found),
                        "geometric_mean": statistics.geometric_mean([ratio for ratio, _ in found]),
                        "worst": found[0][0], "worst_case": found[0][1],
                        "we_lose": [f"{case} ({ratio:.2g})" for ratio, case in found if ratio < 1]})
    return rows


def markdown(result: Record) -> str:
    """Both tables, versions, and what fails."""
    lines = ["# Bench", "", ", ".join(f"{name} {number}" for name, number in result["versions"].items()), "",
             "| asked | ours | other | cases | its time / ours, geometric mean | worst | where we lose |",
             "|---|---|---|---|---|---|---|"]
    for row in result["summary"]:
        lose = "; ".join(row["we_lose"]) or "nowhere"
        lines.append(f"| {row['quantity']} | {row['ours']} | {row['peer']} | {row['cases']} | "
                     f"{row['geometric_mean']:.3g} | {row['worst']:.3g}: {row['worst_case']} | {lose} |")
    lines += ["", "| case | asked | accountant | answer | certified error | ms | MB |", "|---|---|---|---|---|---|---|"]
    for row in with_errors(result["records"]):
        if "seconds" not in row:
            lines.append(f"| {row['case']} | {row['quantity']} | {row['accountant']} | {row['error']} | | | |")
            continue
        answer = f"{row['lower']} .. {row['upper']}" if row["accountant"] in OURS else f"{float(row['value']):.9g}"
        error = "" if row["certified_error"] is None else f"{row['certified_error']:.1e}"
        note = " (its interval misses the truth)" if row["holds"] is False else ""
        lines.append(f"| {row['case']} | {row['quantity']} | {row['accountant']} | {answer}{note} | {error} | "
                     f"{1000 * row['seconds']:.1f} | {row['peak'] / 2**20:.0f} |")
    return "\n".join(lines) + "\n"


def page(result: Record, note: str) -> str:
    """docs/benchmark.md."""
    rows = of_others(with_errors(result["records"]))
    load = ", ".join(f"{kind} {pick(result['load']):.2g}" for kind, pick in (
        ("median", statistics.median), ("largest", max))) if result.get("load") else "unknown"
    cases = len({row["case"] for row in rows})
    return PAGE_TEXT.format(
        versions=", ".join(f"{name} {number}" for name, number in result["versions"].items()),
        note=f"{cases} cases; load of the machine: {load}. {note}".strip(), curves="\n".join(_curve_lines(result)),
        summary="\n".join(_summary_lines(of_others(result["summary"], "peer"))), few="\n".join(_few_lines(rows)),
        slower="\n".join(_slower_lines(rows)) or "Nowhere.", memory="\n".join(_memory_lines(rows)),
        wrong="\n".join(_wrong_lines(rows)) or "None.",
        failed="\n".join(_failed_lines(rows)) or "Nothing.")


def page_and_cases(path: Path, result: Record, note: str) -> None:
    """Write the page, and all cases beside it."""
    path.write_text(page(result, note), encoding="utf-8")
    path.with_suffix(".csv").write_text(cases(with_errors(result["records"])), encoding="utf-8")


def _curve_lines(result: Record) -> Iterable[str]:
    yield "| case | one question, ms | 200 points, ms | dp_accounting's 200, ms | its time over ours |"
    yield "|---|--:|--:|--:|--:|"
    for case, found in result.get("curves", {}).items():
        numbers = ([found[name] for name in ("one", "many", "theirs")] + [found["theirs"] / found["many"]]
                   if "many" in found else [])
        yield f"| {case} | " + (" | ".join(f"{number:.3g}" for number in numbers) or f"{found['error']} | | |") + " |"


def _few_lines(rows: list[Record]) -> Iterable[str]:
    """Sampled Gaussian steps of the first axis, at most ten: milliseconds of every accountant."""
    names = list(dict.fromkeys(row["accountant"] for row in rows if row["axis"] == "k"))
    yield "| case | asked | " + " | ".join(names) + " |"
    yield "|---|---|" + "--:|" * len(names)
    for case in dict.fromkeys(row["case"] for row in rows if row["axis"] == "k"):
        if int(float(case.partition("k=")[2].split()[0])) <= FEW:
            for quantity in ("delta", "epsilon"):
                found = {row["accountant"]: f"{1000 * row['seconds']:.3g}" if "seconds" in row else "-"
                         for row in rows if (row["case"], row["quantity"]) == (case, quantity)}
                yield f"| {case} | {quantity} | " + " | ".join(found.get(name, "") for name in names) + " |"


FEW = 10


def of_others(rows: Iterable[Record], key: str = "accountant") -> list[Record]:
    """Without another version of this package, which is of no interest to others."""
    return [row for row in rows if not row[key].startswith("before")]


def _summary_lines(summary: list[Record]) -> Iterable[str]:
    yield "| asked | ours | other | cases | geometric mean | where we lose |"
    yield "|---|---|---|---|---|---|"
    for row in summary:
        lose = "; ".join(row["we_lose"][:_NAMED]) or "nowhere"
        more = f"; {len(row['we_lose']) - _NAMED} more" if len(row["we_lose"]) > _NAMED else ""
        yield (f"| {row['quantity']} | {row['ours'].split()[-1]} digits | {row['peer']} | {row['cases']} | "
               f"{row['geometric_mean']:.3g} | {lose}{more} |")


_LAST_BITS = 1e-14
"""Of a double: what an upper bound may lie below the truth by its last rounding alone."""
_NAMED = 1
"""Cases that are named where we lose, the worst first."""


def compared(rows: list[Record]) -> list[list[str]]:
    """Each question and other accountant: its time over ours at 6 and 12 digits (0: no answer), ms, its error."""
    seconds = {(row["quantity"], row["case"], row["accountant"]): row["seconds"] for row in rows if "seconds" in row}
    found = []
    for row in rows:
        question = row["quantity"], row["case"]
        own = [seconds.get((*question, mine)) for mine in OURS]
        if row["accountant"] not in OURS and "seconds" in row:
            error = row["certified_error"]
            found.append((row["seconds"] / own[0] if own[0] else 0.0, [
                *question, row["accountant"], *(f"{row['seconds'] / one:.2g}" if one else "0" for one in own[:2]),
                *(f"{1000 * one:.3g}" if one else "" for one in (*own, row["seconds"])),
                "" if error is None else f"{error:.0e}"]))
    return [line for _, line in sorted(found, key=lambda one: one[0])]


def cases(rows: list[Record]) -> str:
    """Case by case, as CSV."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([
        ["asked", "case", "other", "ratio_6", "ratio_12", "ms_6", "ms_12", "ms_50", "ms_other", "certified_error"],
        *compared(of_others(rows))])
    return stream.getvalue()


def _slower_lines(rows: list[Record]) -> Iterable[str]:
    for quantity, case, other, ratio, *_ in compared(rows):
        if float(ratio) < 1:
            yield f"* {case}: {quantity}, {other} ({ratio})"


def _memory_lines(rows: list[Record]) -> Iterable[str]:
    yield "| accountant | largest | median |"
    yield "|---|---|---|"
    for name in dict.fromkeys(row["accountant"] for row in rows):
        sizes = [row["peak"] / 2**20 for row in rows if row["accountant"] == name and "peak" in row]
        if sizes:
            yield f"| {name} | {max(sizes):.0f} | {statistics.median(sizes):.0f} |"


def _wrong_lines(rows: list[Record]) -> Iterable[str]:
    """dp_accounting's pessimistic numbers and Opacus's RDP are upper bounds; prv_accountant states an interval."""
    for row in rows:
        upper, error = row["accountant"].startswith(("dp_accounting", "opacus rdp")), row["certified_error"]
        if row["holds"] is False or (upper and error is not None and error < -_LAST_BITS):
            yield (f"* {row['accountant']}, {row['case']}: {row['quantity']} {float(row['value']):.9g}, "
                   f"certified error {row['certified_error']:.1e}")


def _failed_lines(rows: list[Record]) -> Iterable[str]:
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if "error" in row:
            found.setdefault((row["accountant"], row["error"]), []).append(f"{row['case']} ({row['quantity']})")
    for (name, error), cases in found.items():
        yield f"* {name}: {error}: {len(cases)} of the questions"


def draw(path: Path, records: list[Record]) -> None:
    """Milliseconds of every accountant over the cases of each axis, delta above and epsilon below."""
    try:
        from matplotlib import pyplot
    except ImportError:
        print("no picture: matplotlib is not installed")
        return
    axes = list(dict.fromkeys(record["axis"] for record in records))
    if not axes:
        return
    figure, cells = pyplot.subplots(2, len(axes), figsize=(5 * len(axes), 9), squeeze=False, layout="constrained")
    for row, quantity in zip(cells, ("delta", "epsilon"), strict=True):
        for cell, axis in zip(row, axes, strict=True):
            chosen = [r for r in records if r["axis"] == axis and r["quantity"] == quantity]
            cases = list(dict.fromkeys(record["case"] for record in chosen))
            for name in dict.fromkeys(record["accountant"] for record in chosen):
                seconds = {r["case"]: r["seconds"] for r in chosen if r["accountant"] == name and "seconds" in r}
                cell.plot(range(len(cases)), [1000 * seconds.get(case, math.nan) for case in cases], "o-", label=name)
            cell.set(title=f"{quantity}, by {axis}", yscale="log", ylabel="ms")
            cell.set_xticks(range(len(cases)), cases, rotation=60, ha="right", fontsize=7)
    cells[0][0].legend(fontsize=7)
    figure.savefig(path)


def write(folder: Path, result: Record) -> None:
    """bench.json, bench.csv, bench.md, bench.svg."""
    (folder / "bench.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    rows = with_errors(result["records"])
    keys = list(dict.fromkeys(key for row in rows for key in row))
    with (folder / "bench.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, keys)
        writer.writeheader()
        writer.writerows(rows)
    (folder / "bench.md").write_text(markdown(result), encoding="utf-8")
    draw(folder / "bench.svg", result["records"])
    print("written:", *(str(folder / f"bench.{kind}") for kind in ("json", "csv", "md", "svg")))


def main() -> None:
    """The page from a run's file."""
    parser = argparse.ArgumentParser(description="Write the documentation's page from a run of the benchmark.")
    parser.add_argument("results", type=Path, nargs="+", help="bench.json of a run, or of its parts")
    parser.add_argument("page", type=Path)
    parser.add_argument("--note", default="", help="what else ran on the machine")
    options = parser.parse_args()
    result, *more = (json.loads(path.read_text(encoding="utf-8")) for path in options.results)
    for other in more:  # parts of one run
        result["records"] += other["records"]
    result["summary"] = summary(result["records"])
    page_and_cases(options.page, result, options.note)


if __name__ == "__main__":
    main()
