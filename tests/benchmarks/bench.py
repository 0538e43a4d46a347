"""Time this package beside dp_accounting and prv_accountant: same run, one core. `make bench` runs it.

Every accountant answers delta(eps) and eps(delta) for add-or-remove, from its constructor to its answer.
Times are medians of repeated calls in one process after one warm-up call (a call over 5 s is timed once).
Nothing is asserted: a table is printed and build/bench.json written.

dp_accounting: PLDAccountant, ADD_OR_REMOVE_ONE, default discretisation (1e-4, pessimistic: an upper bound).
prv_accountant: eps_error 0.01 and delta_error delta/1000 (at least 1e-12); its law is the remove order alone.
Ours: both orders, 12 certified digits.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

OUTPUT = Path(__file__).resolve().parents[2] / "build" / "bench.json"
DIGITS = 12


@dataclass(frozen=True)
class Case:
    """Poisson-sampled Gaussian steps; `epsilon` and `delta` go together (delta is about delta(epsilon))."""

    group: str
    probability: str
    noise_multiplier: str
    count: int
    epsilon: str
    delta: str
    peers: bool = True

    @property
    def name(self) -> str:
        """As the table shows it."""
        return f"q={self.probability} s={self.noise_multiplier} k={self.count:.4g}"


CASES = [
    Case("main", "0.01", "1.5", 10**4, "1", "0.0496"),
    Case("main", "0.001", "0.8", 2000, "0.8071", "1e-7"),
    Case("main", "0.004", "0.8", 1000, "1.5", "2.575e-6"),
    Case("main", "0.01", "1", 10, "0.5923", "1e-6"),
    Case("main", "0.01", "1", 100, "0.9542", "1e-6"),
    Case("main", "0.01", "1", 1000, "2.1245", "1e-6"),
    Case("main", "0.01", "1", 10**4, "6.907", "1e-6"),
    Case("main", "0.01", "1", 10**5, "27.67", "1e-6"),
    Case("main", "0.01", "2", 5000, "1", "8.168e-4"),
    Case("main", "0.01", "2", 5000, "2", "1.764e-8"),
    Case("main", "0.01", "2", 5000, "4", "2.644e-25"),
    Case("main", "0.01", "2", 5000, "8", "1e-74"),
    Case("main", "0.01", "2", 5000, "16", "4.946e-204"),
    Case("few steps", "0.01", "1", 1, "0.3639", "1e-6"),
    Case("few steps", "0.01", "1", 2, "0.4255", "1e-6"),
    Case("few steps", "0.01", "1", 3, "0.4641", "1e-6"),
    # the same q sqrt(k): the cost must not grow with the number of steps
    Case("many steps", "0.01", "1", 10**3, "1", "1e-3", peers=False),
    Case("many steps", "3.162277660168379e-7", "1", 10**12, "1", "1e-3", peers=False),
]


@dataclass(frozen=True)
class Timing:
    """One accountant's answer, `value` being an estimate or a one-sided bound, and the median seconds."""

    seconds: float
    lower: str | None = None
    value: str | None = None
    upper: str | None = None
    error: str | None = None


Answer = tuple[Any, Any, Any]


def timed(call: Callable[[], Answer], repeats: int) -> Timing:
    """The answer, and the median time of up to `repeats` calls after a warm-up that is not counted."""
    try:
        start = time.perf_counter()
        answer = call()
        times, last = [], time.perf_counter() - start
        for _ in range(repeats if last < 5 else 1):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return Timing(statistics.median(times), *(None if part is None else str(part) for part in answer))
    except Exception as error:  # a peer's failure is a result here, and so is ours
        return Timing(math.nan, error=f"{type(error).__name__}: {error}"[:200])


def ours(case: Case, quantity: str, digits: int = DIGITS) -> Answer:
    """This package: a certified enclosure."""
    from verified_dp import Gaussian, PoissonSampled, compose, privacy_profile

    step = PoissonSampled(Gaussian(case.noise_multiplier), case.probability)
    profile = privacy_profile(compose((step, case.count)), relation="add-or-remove")
    answer = (profile.delta(case.epsilon, digits=digits) if quantity == "delta"
              else profile.epsilon(case.delta, digits=digits))
    return answer.lower_decimal, None, answer.upper_decimal


def dp_accounting(case: Case, quantity: str) -> Answer:
    """dp_accounting's PLD accountant with its defaults: an upper bound."""
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.privacy_accountant import NeighboringRelation

    step = dp_event.GaussianDpEvent(float(case.noise_multiplier))
    accountant = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(dp_event.PoissonSampledDpEvent(float(case.probability), step), case.count)
    value = (accountant.get_delta(float(case.epsilon)) if quantity == "delta"
             else accountant.get_epsilon(float(case.delta)))
    return None, float(value), None


def prv_accountant(case: Case, quantity: str) -> Answer:
    """prv_accountant at eps_error 0.01: its lower end, estimate and upper end."""
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

    law = PoissonSubsampledGaussianMechanism(float(case.probability), float(case.noise_multiplier))
    delta_error = max(float(case.delta) / 1000, 1e-12)  # less takes longer, and doubles have no more to give
    accountant = PRVAccountant(law, eps_error=0.01, delta_error=delta_error, max_self_compositions=case.count)
    if quantity == "delta":
        return accountant.compute_delta(float(case.epsilon), [case.count])
    return accountant.compute_epsilon(float(case.delta), [case.count])


ACCOUNTANTS: dict[str, Callable[[Case, str], Answer]] = {
    "verified_dp": ours, "dp_accounting": dp_accounting, "prv_accountant": prv_accountant}


def measure(cases: list[Case], repeats: int) -> Iterator[dict[str, Any]]:
    """One record for each case, quantity and accountant, as soon as it is measured."""
    for case in cases:
        for quantity in ("delta", "epsilon"):
            timings = {name: asdict(timed(partial(answer, case, quantity), repeats))
                       for name, answer in ACCOUNTANTS.items() if case.peers or answer is ours}
            yield {"case": asdict(case), "name": case.name, "quantity": quantity, "timings": timings}


def shown(peer: dict[str, Any], mine: dict[str, Any]) -> str:
    """A peer's answer to 9 digits with its relative distance from ours, or its error."""
    if peer["value"] is None:
        return str(peer["error"])[:24]
    value = float(peer["value"])
    error = f" ({abs(value / float(mine['upper']) - 1):.0e})" if float(mine["upper"] or 0) else ""
    return f"{value:.9g}{error}"


def line(record: dict[str, Any]) -> str:
    """One row: the case, then answer and milliseconds of each accountant, then each peer's time over ours."""
    timings, at = record["timings"], record["case"]
    asked = f"eps={at['epsilon']}" if record["quantity"] == "delta" else f"delta={at['delta']}"
    mine = timings["verified_dp"]
    cells = [mine["error"] or f"{mine['lower']} .. {mine['upper']}", f"{1000 * mine['seconds']:.1f}"]
    for peer in (timings[name] for name in ACCOUNTANTS if name in timings and timings[name] is not mine):
        seconds = peer["seconds"]
        cells += [shown(peer, mine), f"{1000 * seconds:.1f}", f"{seconds / mine['seconds']:.1f}"]
    return " | ".join([f"{record['name']} {asked}", *cells])


def ratios(records: list[dict[str, Any]], group: str, quantity: str, peer: str) -> list[float]:
    """Peer's seconds / ours over the cases of a group."""
    times = [{name: timing["seconds"] for name, timing in record["timings"].items()} for record in records
             if record["case"]["group"] == group and record["quantity"] == quantity]
    return [seconds[peer] / seconds["verified_dp"] for seconds in times if peer in seconds]


def our_seconds(records: list[dict[str, Any]], quantity: str, group: str) -> list[float]:
    """Our times over a group, in its order."""
    return [record["timings"]["verified_dp"]["seconds"] for record in records
            if record["quantity"] == quantity and record["case"]["group"] == group]


def summary(records: list[dict[str, Any]], repeats: int) -> dict[str, Any]:
    """The few numbers that the table comes down to."""
    found: dict[str, Any] = {}
    for group in ("main", "few steps"):
        for quantity in ("delta", "epsilon"):
            for peer in ("dp_accounting", "prv_accountant"):
                known = [ratio for ratio in ratios(records, group, quantity, peer) if not math.isnan(ratio)]
                name = f"{group}: {quantity}: {peer} / ours, {len(known)} cases"
                found[f"{name}, geometric mean"] = statistics.geometric_mean(known) if known else math.nan
                found[f"{name}, least"] = min(known, default=math.nan)
        pairs = zip(our_seconds(records, "epsilon", group), our_seconds(records, "delta", group), strict=True)
        found[f"{group}: ours, epsilon / delta, largest"] = max((e / d for e, d in pairs), default=math.nan)
    many = our_seconds(records, "delta", "many steps")
    found["ours, 10^12 steps / 10^3 steps"] = many[1] / many[0] if len(many) == 2 else math.nan
    found["ours, 50 digits of the first case, seconds"] = timed(
        partial(ours, CASES[0], "delta", 50), repeats).seconds
    return found


def cold_start(repeats: int) -> dict[str, float]:
    """Median seconds of whole processes: our command line, and the imports that it cannot do without."""
    case = CASES[0]
    specification = (f'relation = "add-or-remove"\n[[mechanism]]\nkind = "gaussian"\ncount = {case.count}\n'
                     f'noise_multiplier = "{case.noise_multiplier}"\n'
                     f'sampling = {{ scheme = "poisson", probability = "{case.probability}" }}\n')
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "spec.toml").write_text(specification, encoding="utf-8")
        program = str(Path(sys.executable).with_name("verified-dp"))
        commands = {
            "python -c 'import numpy, flint'": [sys.executable, "-c", "import numpy, flint"],
            "verified-dp delta": [program, "delta", "spec.toml", "--epsilon", case.epsilon],
        }

        def run(command: list[str]) -> Answer:
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
            return None, None, None

        return {name: timed(partial(run, command), repeats).seconds for name, command in commands.items()}


def versions() -> dict[str, str]:
    """What was compared, on what."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("verified-dp", "python-flint", "numpy", "scipy", "dp-accounting", "prv-accountant"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def without_nan(value: Any) -> Any:
    """The same nested value with null for what was not measured: JSON knows no NaN."""
    if isinstance(value, dict):
        return {key: without_nan(part) for key, part in value.items()}
    if isinstance(value, list):
        return [without_nan(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Time this package beside other accountants, on one core.")
    parser.add_argument("--only", default="", help="only the cases whose name or group contains this")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # numpy is not imported yet
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")  # the peers' overflow warnings
    if options.no_peers:
        del ACCOUNTANTS["dp_accounting"], ACCOUNTANTS["prv_accountant"]
    cases = [case for case in CASES if options.only in f"{case.name} {case.group}"]
    print("case | ours: lower .. upper | ms | dp_accounting | ms | / ours | prv_accountant | ms | / ours")
    records = []
    for record in measure(cases, options.repeats):
        records.append(record)
        print(line(record), flush=True)
    result = {"versions": versions(), "summary": summary(records, options.repeats),
              "cold process": cold_start(options.repeats), "records": records}
    for name, number in {**result["summary"], **result["cold process"]}.items():
        print(f"{name}: {number:.3g}")
    print(result["versions"])
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(without_nan(result), indent=1), encoding="utf-8")
    print(f"written: {OUTPUT}")


if __name__ == "__main__":
    main()
