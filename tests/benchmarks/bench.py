"""Time this package beside other accountants: one run, one core, and how far each answer is from certified values.

    make bench                                      all cases (an hour or more): build/bench.json .csv .md .svg
    python tests/benchmarks/bench.py --only "k=100 "      only the cases whose name or axis contains this
    python tests/benchmarks/bench.py --before FOLDER      beside another version of this package, from its folder

Each case and accountant has a process of its own, which is pinned to one core and warmed up by one call; times are the
least processor time of a few calls, from the constructor to the answer, with all our caches cleared (one call where it
takes over 2 s); memory is the process's peak. Nothing is asserted, and losses are listed beside the gains.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from accountants import ACCOUNTANTS, PACKAGES, NotApplicable
from cases import CASES, Case
from tables import summary, write

OUTPUT = Path(__file__).resolve().parents[2] / "build"
QUANTITIES = ("delta", "epsilon")
REPEATS, LONG = 5, 2.0
"""Calls of one question, and the seconds above which one is enough."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def peak_memory() -> int:
    """Bytes that this process ever held at once."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else 1024 * size


def forget() -> None:
    """Clear what this package kept of the last call, tables included: no answer is quick because it was just given."""
    for name, module in list(sys.modules.items()):
        if name.startswith("verified_dp"):
            for part in list(vars(module).values()):
                if hasattr(part, "cache_clear"):
                    part.cache_clear()


def asked(case: Case, accountant: str, quantity: str) -> dict[str, Any]:
    """The answer, the least seconds and the memory; or the error."""
    ask = ACCOUNTANTS[accountant]
    try:
        start = time.process_time()
        lower, value, upper = ask(case, quantity)
        times = [math.inf]
        first = time.process_time() - start
        for _ in range(REPEATS if first < LONG else 1):
            forget()
            start = time.process_time()
            ask(case, quantity)
            times.append(time.process_time() - start)
    except NotApplicable:
        return {}
    except Exception as error:  # a peer's failure is a result here, and so is ours
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    answer = {key: None if part is None else str(part) for key, part in (
        ("lower", lower), ("value", value), ("upper", upper))}
    return {**answer, "seconds": min(times), "first": first, "peak": peak_memory()}


def run_alone(case: Case, accountant: str, limit: float, before: Path | None) -> dict[str, Any]:
    """Both questions in a process of their own; {} where the accountant has no such mechanism."""
    words = [sys.executable, __file__, "--one", json.dumps([case.name, accountant])]
    place = os.environ | ({"PYTHONPATH": str(before)} if before and accountant.startswith("before") else {})
    try:
        found = subprocess.run(words, capture_output=True, text=True, timeout=limit, check=False, env=place)
    except subprocess.TimeoutExpired:
        return {quantity: {"error": f"more than {limit:.0f} s"} for quantity in QUANTITIES}
    try:
        answers: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {quantity: {"error": found.stderr.strip()[-200:] or "no answer"} for quantity in QUANTITIES}
    return answers


def answer_one(words: str) -> None:
    """In the child: both questions of one case."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # numpy is not imported yet
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")  # the peers' overflow warnings
    name, accountant = json.loads(words)
    case = next(case for case in CASES if case.name == name)
    answers = {quantity: asked(case, accountant, quantity) for quantity in QUANTITIES}
    print(json.dumps(answers))


def versions() -> dict[str, str]:
    """What was compared, on what."""
    found = {"python": platform.python_version(), "machine": platform.machine(), "cores": str(os.cpu_count())}
    for name in ("python-flint", "numpy", "scipy", *PACKAGES.values()):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def main() -> None:
    """Measure, print a line for each case and accountant, write four files."""
    parser = argparse.ArgumentParser(description="Time this package beside other accountants, on one core.")
    parser.add_argument("--only", default="", help="only the cases whose name or axis contains this")
    parser.add_argument("--accountants", default="", help="only those whose names contain one of these, with commas")
    parser.add_argument("--before", type=Path, help="the folder of another version of this package, to compare with")
    parser.add_argument("--seconds", type=float, default=600.0, help="limit of one case and accountant")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        answer_one(options.one)
        return
    found = versions()
    load = os.getloadavg() if hasattr(os, "getloadavg") else ()
    words = [word for word in options.accountants.split(",") if word]
    names = [name for name in ACCOUNTANTS if found[PACKAGES[name.split()[0]]] != "not installed"
             or name.startswith("verified_dp")]
    names = [name for name in names if options.before or not name.startswith("before")]
    names = [name for name in names if not words or any(word in name for word in (*words, "never"))]
    records: list[dict[str, Any]] = []
    options.output.mkdir(parents=True, exist_ok=True)
    for case in (case for case in CASES if options.only in f"{case.name} {case.axis}"):
        for name in names:
            for quantity, answer in run_alone(case, name, options.seconds, options.before).items():
                if answer:
                    records.append({"axis": case.axis, "case": case.name, "quantity": quantity, "accountant": name,
                                    "epsilon": case.epsilon, "delta": case.delta, **answer})
                    print(case.name, quantity, name, answer.get("error") or f"{1000 * answer['seconds']:.1f} ms",
                          sep=" | ", flush=True)
        kept = {"versions": found, "summary": summary(records), "records": records}
        (options.output / "bench.json").write_text(json.dumps(kept, indent=1), encoding="utf-8")  # of what is done
    if load:
        found["load before and after"] = " and ".join(f"{at[0]:.1f}" for at in (load, os.getloadavg()))
    write(options.output, {"versions": found, "summary": summary(records), "records": records})


if __name__ == "__main__":
    main()
