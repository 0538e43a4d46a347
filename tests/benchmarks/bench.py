"""Time this package beside other accountants: one run, one core, and how far each answer is from certified values.

    make bench                                      all cases (half an hour): build/bench.*, and docs/benchmark.*
    make bench BENCH_FLAGS='--only "k=100 "'        only the cases whose name or axis contains this; no page
    python tests/benchmarks/bench.py --before FOLDER      beside another version of this package, from its folder

A run that was stopped goes on where it was, as long as the versions are the same (`--again` begins anew). Each case and
accountant has a process of its own, which is pinned to one core; times are the least processor time of a few calls
after the first, from the constructor to the answer, with all our caches cleared (the first alone where it takes five
seconds); memory is the process's peak. A question that takes longer than its limit is an error, and the next is asked.
Nothing is asserted, and losses are listed beside the gains.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryFile
from threading import Thread
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from accountants import ACCOUNTANTS, MODULES, PACKAGES, NotApplicable, forget
from cases import CASES, Case
from curves import NAMES, points_of_a_curve
from tables import page_and_cases, summary, write

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "build"
QUANTITIES = ("delta", "epsilon")
CURVE = "curve"
"""What is asked besides, of some cases: see curves.py."""
REPEATS, LONG, ENOUGH = 5, 5.0, 0.5
"""More calls of one question, while they take less than ENOUGH seconds together; none where the first took LONG."""
ON_REQUEST = ("dp_accounting 1e-05", "prv_accountant 0.01", "opacus prv")
"""What is asked where it is named: finer grids, and prv_accountant's method once more."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def peak_memory() -> int:
    """Bytes that this process ever held at once."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else 1024 * size


def asked(case: Case, accountant: str, quantity: str) -> Iterator[dict[str, Any]]:
    """The answer, the least seconds and the memory, after the first call and after a few more; or the error."""
    ask = ACCOUNTANTS[accountant]
    try:
        start = time.process_time()
        lower, value, upper = ask(case, quantity)
        first = time.process_time() - start
        answer = {key: None if part is None else str(part) for key, part in (
            ("lower", lower), ("value", value), ("upper", upper))}
        yield {**answer, "seconds": first, "first": first, "peak": peak_memory()}
        again = list[float]()
        while first < LONG and len(again) < REPEATS and sum(again) < ENOUGH:
            forget()
            start = time.process_time()
            ask(case, quantity)
            again.append(time.process_time() - start)
        yield {**answer, "seconds": min(again or [first]), "first": first, "peak": peak_memory()}
    except NotApplicable:
        return
    except Exception as error:  # a peer's failure is a result here, and so is ours
        yield {"error": f"{type(error).__name__}: {error}"[:200]}


def run_alone(case: Case, accountant: str, options: argparse.Namespace,
              quantities: Sequence[str] = QUANTITIES) -> dict[str, Any]:
    """The questions in a process of their own; {} where the accountant has no such mechanism."""
    words = [sys.executable, __file__, "--one", json.dumps([case.name, accountant, quantities])]
    before = accountant.startswith("before") and options.before
    place = os.environ | ({"PYTHONPATH": str(before)} if before else {})
    begun, answers, lines, late = list[str](), dict[str, Any](), Queue[str](), False
    with TemporaryFile("w+") as errors, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True,
                                                         env=place) as process:
        Thread(target=lambda: [*map(lines.put, process.stdout or ()), lines.put("")], daemon=True).start()
        since, start, line = 0.0, time.monotonic(), "a first one"
        while line and not late:
            try:
                line = lines.get(timeout=0.2)
            except Empty:
                late = (spent(process.pid) - since > options.seconds + LOADING * (not begun)
                        or time.monotonic() - start > LOADING + CLOCK * options.seconds)
                continue
            if line:
                found = json.loads(line)
                begun.append(found.pop("quantity"))
                answers |= {begun[-1]: found} if found else {}
                since, start = spent(process.pid), time.monotonic()
        if late:
            process.kill()
            answers.setdefault(begun[-1] if begun else quantities[0], {"error": f"more than {options.seconds:.0f} s"})
            left = [one for one in quantities if one not in (begun or quantities)]
            return answers | (run_alone(case, accountant, options, left) if left else {})
        if process.wait():
            errors.seek(0)
            said = errors.read().strip()[-200:] or "no answer"
            answers |= {one: {"error": said} for one in quantities if one not in answers}
    return answers


def spent(process: int) -> float:
    """Processor seconds of a process, from outside: a timer within would make its own clock coarse. 0 if unknown."""
    try:
        words = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


LOADING, CLOCK = 30.0, 10.0
"""Seconds for a process to load what it needs (torch); and how often the processor's limit the clock's is."""


def answer_one(words: str) -> None:
    """In the child: a line when a question is begun, and one for each answer."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # numpy is not imported yet
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")  # the peers' overflow warnings
    name, accountant, quantities = json.loads(words)
    case = next(case for case in CASES if case.name == name)
    if accountant:
        word = accountant.split()[0]
        import_module(MODULES.get(word, word))  # no part of an answer's time
    for quantity in quantities:
        print(json.dumps({"quantity": quantity}), flush=True)
        for answer in [points_of_a_curve(case)] if quantity == CURVE else asked(case, accountant, quantity):
            print(json.dumps({"quantity": quantity, **answer}), flush=True)


def versions() -> dict[str, str]:
    """What was compared, on what."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=ROOT,
                            check=False).stdout.strip()
    found = {"python": platform.python_version(), "machine": platform.machine(), "cores": str(os.cpu_count()),
             "commit": commit or "unknown"}
    for name in ("python-flint", "numpy", "scipy", *PACKAGES.values()):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def kept(path: Path, found: dict[str, str], again: bool) -> dict[str, Any]:
    """What an earlier run of the same versions has measured."""
    if path.exists() and not again:
        earlier: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if all(earlier["versions"].get(name) == number for name, number in found.items()):
            return earlier
        print("other versions than those of", path, "- measured anew")
    return {"versions": found, "load": [], "records": [], "done": [], "curves": {}}


def questions(options: argparse.Namespace, found: dict[str, str]) -> Iterator[tuple[Case, str]]:
    """Each case with each accountant that is installed and asked."""
    words = [word for word in options.accountants.split(",") if word]
    for case in (case for case in CASES if options.only in f"{case.name} {case.axis}"):
        for name in ACCOUNTANTS:
            there = name.startswith("verified_dp") or found[PACKAGES[name.split()[0]]] != "not installed"
            wanted = any(word in name for word in words) if words else name not in ON_REQUEST
            if there and wanted and (options.before or not name.startswith("before")):
                yield case, name


def main() -> None:
    """Measure, print a line for each case and accountant, write four files, and the page where all was asked."""
    parser = argparse.ArgumentParser(description="Time this package beside other accountants, on one core.")
    parser.add_argument("--only", default="", help="only the cases whose name or axis contains this")
    parser.add_argument("--accountants", default="", help="only those whose names contain one of these, with commas")
    parser.add_argument("--before", type=Path, help="the folder of another version of this package, to compare with")
    parser.add_argument("--seconds", type=float, default=30.0, help="of the processor, limit of one question")
    parser.add_argument("--again", action="store_true", help="forget what was measured before")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--page", type=Path, help="write it, and its CSV, where all cases and accountants were asked")
    parser.add_argument("--note", default="", help="for the page: what else ran on the machine")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        answer_one(options.one)
        return
    options.output.mkdir(parents=True, exist_ok=True)
    path, found, begun = options.output / "bench.json", versions(), time.monotonic()
    result = kept(path, found, options.again)

    def keep() -> None:
        result["load"].append(round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else 0.0)
        result["summary"] = summary(result["records"])
        new = path.with_suffix(".new")
        new.write_text(json.dumps(result, indent=1), encoding="utf-8")
        new.replace(path)

    for case, name in questions(options, found):
        if [case.name, name] in result["done"]:
            continue
        for quantity, answer in run_alone(case, name, options).items():
            result["records"].append({"axis": case.axis, "case": case.name, "quantity": quantity, "accountant": name,
                                      "epsilon": case.epsilon, "delta": case.delta, **answer})
            print(f"{time.monotonic() - begun:.0f} s", case.name, quantity, name,
                  answer.get("error") or f"{1000 * answer['seconds']:.1f} ms", sep=" | ", flush=True)
        result["done"].append([case.name, name])
        keep()
    for case in (case for case in CASES if case.name.startswith(NAMES) and options.only in f"{case.name} {case.axis}"):
        if case.name not in result["curves"] and not options.accountants:
            result["curves"][case.name] = run_alone(case, "", options, [CURVE]).get(CURVE, {"error": "no answer"})
            print(f"{time.monotonic() - begun:.0f} s", case.name, "200 points", result["curves"][case.name], sep=" | ",
                  flush=True)
            keep()
    write(options.output, result)
    if options.page and not (options.only or options.accountants):
        page_and_cases(options.page, result, options.note)


if __name__ == "__main__":
    main()
