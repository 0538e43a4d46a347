"""Individual losses at scale: Parquet of records x readings, counts, certified eps_i, and some records one by one.

    python tests/benchmarks/individual.py 100000            records; 100 readings each, each standing for 10 steps
    python tests/benchmarks/individual.py 1000000 --check 1000
    python tests/benchmarks/individual.py 1000000 --plot cost.png      10^4, 3*10^4, ... records; cost per record

DuckDB generates the readings. Norms are multiples of C/32 (or C/GRID), so that the contour engine can compose a
record's exact noise multipliers one by one for the comparison; that runs in two processes.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.individual.input import count_parquet
from verified_dp.individual.losses import IndividualLosses, individual_epsilons
from verified_dp.individual.plots import progress_bar
from verified_dp.individual.training import Training
from verified_dp.questions.curve import new_axes
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import bracket_epsilon

READINGS, REPEATS, DELTA, DIGITS, PROCESSES = 100, 10, "1e-5", 5, 2
TRAINING = Training(1, 1, Fraction(1, 100))
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
ROWS = """SELECT record, step, {repeats} AS repeats, greatest(round({grid} * exp(
    -1.2 + 0.8 * (hash(record) % 1000003 / 1000003.0 - 0.5) * 3
    + 0.6 * (hash(record * 1000 + step) % 1000003 / 1000003.0 - 0.5) - 0.006 * step)), 0) / {grid} AS norm
    FROM range({records}) r(record), range({readings}) s(step)"""
Ends = tuple[Fraction, Fraction | None]
Apply = Callable[[Callable[[list[float]], Ends], list[list[float]]], Iterable[Ends]]


@dataclass(frozen=True)
class Options:
    """How the work is done. width: relative width asked of each eps."""

    parts: int = 64
    grid: int = 32
    memory: str = "4GB"
    width: str = "1/100"


@dataclass(frozen=True)
class Run:
    """What one size took. seconds: by kind of work."""

    path: Path
    losses: IndividualLosses
    seconds: dict[str, float]
    clipped: int


def generate(path: Path, records: int, options: Options) -> None:
    """Write the readings, a part of the records at a time."""
    with duckdb.connect(config={"memory_limit": options.memory, "threads": 2}) as connection:
        rows = ROWS.format(records=records, readings=READINGS, repeats=REPEATS, grid=options.grid)
        connection.execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")


def run(folder: Path, records: int, options: Options) -> Run:
    """Generate, count, enclose."""
    path = folder / f"norms-{records}.parquet"
    generate(path, records, options)
    start = time.perf_counter()
    with progress_bar(f"{records} records") as progress:
        counts = count_parquet(path, TRAINING, "raw", options.parts, options.memory, threads=2, progress=progress)
        counted = time.perf_counter()
        losses = individual_epsilons(counts, DELTA, options.width, progress)
    seconds = {"counting": counted - start, "eps": time.perf_counter() - counted}
    return Run(path, losses, seconds, counts.clipped)


def one_by_one(norms: list[float]) -> Ends:
    """eps of one record from its exact noise multipliers, by the contour engine."""
    ratios = Counter(min(Fraction(x), Fraction(1)) for x in norms if x > 0)
    parts = tuple((SampledGaussianLoss(TRAINING.sampling_probability, TRAINING.noise_multiplier / r, "remove"),
                   count * REPEATS) for r, count in ratios.items())
    if not parts:
        return Fraction(0), Fraction(0)
    order = OneDirection(ComposedLoss("remove", parts, Fraction(0)))
    return bracket_epsilon(order, Fraction(DELTA), DIGITS, "contour", Budget(60)).ends


def check(path: Path, losses: IndividualLosses, count: int, apply: Apply = map) -> list[tuple[int, Ends]]:
    """(place, ends by the contour engine) of so many records, spread over all and with the extreme ones."""
    order = np.argsort(losses.upper, kind="stable")
    places = np.unique(order[np.linspace(0, len(order) - 1, count).astype(int)])
    with duckdb.connect() as connection:
        connection.register("picked", {"record": losses.records[places]})
        rows = connection.execute(f"SELECT record, list(norm) FROM '{path}' SEMI JOIN picked USING (record) "
                                  "GROUP BY record ORDER BY record").fetchall()
    ends = apply(one_by_one, [norms for _, norms in rows])
    return list(zip(np.searchsorted(losses.records, [record for record, _ in rows]).tolist(), ends, strict=True))


def disjoint(losses: IndividualLosses, found: list[tuple[int, Ends]]) -> list[int]:
    """The places whose two enclosures have no number in common: must be none."""
    return [place for place, (low, high) in found
            if low > losses.upper[place] or (high is not None and losses.lower[place] > high)]


def describe(run: Run, options: Options) -> None:
    """Print what a run took and how narrow its intervals are."""
    losses, number = run.losses, len(run.losses.records)
    for name, seconds in run.seconds.items():
        print(f"{number} records, {name}: {seconds:.1f} s, {1e6 * seconds / number:.1f} us each", flush=True)
    width, wide = losses.relative_width[losses.upper > 0], int((~losses.narrow).sum())
    print(f"  {losses.distinct} kinds of records on {losses.lines} lines, {run.clipped} readings clipped")
    print(f"  relative widths: median {np.median(width):.2e}, 99% {np.quantile(width, 0.99):.2e}, largest "
          f"{width.max():.2e}; {wide} wider than asked ({options.width}), {np.isinf(losses.upper).sum()} unbounded")
    print(f"  grids of {', '.join(map(str, np.unique(losses.parts)))} parts {losses.reason}")
    print(f"  largest memory up to now {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB", flush=True)


def draw_costs(records: Sequence[int], seconds: Mapping[str, Sequence[float]], path: str) -> None:
    """Microseconds per record over the number of records, both logarithmic, one line for each kind of work."""
    axes = new_axes()
    for name, times in seconds.items():
        axes.loglog(records, 1e6 * np.array(times) / np.array(records), "o-", label=name)
    axes.set_xlabel("records")
    axes.set_ylabel("microseconds per record")
    axes.grid(which="both", alpha=0.3)
    axes.legend(fontsize="small")
    axes.figure.savefig(path)


def main(arguments: list[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=int)
    parser.add_argument("--check", type=int, default=0, help="so many records one by one")
    parser.add_argument("--plot", help="run all sizes up to RECORDS, and draw the cost per record into this file")
    for name, default in vars(Options()).items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    given = parser.parse_args(arguments)
    options = Options(given.parts, given.grid, given.memory, given.width)
    sizes = [size for size in SIZES if size < given.records] if given.plot else []
    costs: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in (*sizes, given.records):
            last = run(Path(folder), size, options)
            describe(last, options)
            for name, seconds in last.seconds.items():
                costs.setdefault(name, []).append(seconds)
        if given.plot:
            draw_costs([*sizes, given.records], costs, given.plot)
        if given.check:
            start = time.perf_counter()
            with ProcessPoolExecutor(PROCESSES) as pool:
                found = check(last.path, last.losses, given.check, pool.map)
            print(f"{len(found)} records one by one in {time.perf_counter() - start:.0f} s: "
                  f"{len(disjoint(last.losses, found))} disjoint")


if __name__ == "__main__":
    main()
