"""Individual losses at scale: Parquet of records x readings, counts, certified eps_i, and some records one by one.

    python tests/benchmarks/individual.py 100000            records; 100 readings each, each standing for 10 steps
    python tests/benchmarks/individual.py 1000000 --check 1000

DuckDB generates the readings. Norms are multiples of C/32, so that the contour engine can compose a record's exact
noise multipliers one by one for the comparison.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from verified_dp.individual.input import count_parquet
from verified_dp.individual.losses import individual_epsilons
from verified_dp.individual.training import Training
from verified_dp.losses.composed import ComposedLoss
from verified_dp.losses.sampled_gaussian import SampledGaussianLoss
from verified_dp.methods.roots import bracket_epsilon
from verified_dp.methods.single import Budget, SingleOrder

READINGS, REPEATS = 100, 10
TRAINING = Training(1, 1, Fraction(1, 100))
ROWS = """SELECT record, step, {repeats} AS repeats, greatest(round(32 * exp(
    -1.2 + 0.8 * (hash(record) % 1000003 / 1000003.0 - 0.5) * 3
    + 0.6 * (hash(record * 1000 + step) % 1000003 / 1000003.0 - 0.5) - 0.006 * step)), 0) / 32 AS norm
    FROM range({records}) r(record), range({readings}) s(step)"""


def generate(path: Path, records: int, memory: str) -> None:
    """Write the readings, a part of the records at a time."""
    with duckdb.connect(config={"memory_limit": memory, "threads": 2}) as connection:
        rows = ROWS.format(records=records, readings=READINGS, repeats=REPEATS)
        connection.execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")


def one_by_one(norms: np.ndarray) -> tuple[Fraction, Fraction | None]:
    """eps of one record from its exact noise multipliers, by the contour engine."""
    ratios = Counter(min(Fraction(float(x)), Fraction(1)) for x in norms if x > 0)
    parts = tuple((SampledGaussianLoss(TRAINING.sampling_probability, TRAINING.noise_multiplier / r, "remove"),
                   count * REPEATS) for r, count in ratios.items())
    return bracket_epsilon(SingleOrder(ComposedLoss("remove", parts, Fraction(0))), Fraction(1, 10**5), 5, "contour",
                           Budget(60)).ends


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=int)
    parser.add_argument("--check", type=int, default=0, help="so many records one by one")
    parser.add_argument("--parts", type=int, default=64)
    parser.add_argument("--memory", default="4GB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "norms.parquet"
        start = time.perf_counter()
        generate(path, options.records, options.memory)
        print(f"generated {options.records * READINGS} rows in {time.perf_counter() - start:.1f} s, "
              f"{path.stat().st_size / 1e6:.0f} MB", flush=True)
        start = time.perf_counter()
        counts = count_parquet(path, TRAINING, "raw", options.parts, options.memory, threads=2)
        print(f"counted in {time.perf_counter() - start:.1f} s ({counts.clipped} clipped)", flush=True)
        result = individual_epsilons(counts, "1e-5")
        width = result.relative_width[result.upper > 0]
        print(f"eps of {len(result.records)} records ({result.distinct} kinds) in {result.seconds:.1f} s on "
              f"{result.lines} lines: {1e6 * result.seconds / options.records:.1f} us each")
        print(f"relative widths: median {np.median(width):.2e}, 99% {np.quantile(width, 0.99):.2e}, "
              f"largest {width.max():.2e}; unbounded {np.isinf(result.upper).sum()}")
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"largest memory {memory:.1f} GB", flush=True)
        if options.check:
            start = time.perf_counter()
            picked = np.linspace(0, options.records - 1, options.check).astype(int)
            missed = 0
            for record in picked:
                norms = duckdb.sql(f"SELECT norm FROM '{path}' WHERE record = {record}").fetchnumpy()["norm"]
                low, high = one_by_one(norms)
                missed += not (high is not None and result.lower[record] <= high and low <= result.upper[record])
            seconds = time.perf_counter() - start
            print(f"{len(picked)} records one by one in {seconds:.0f} s: {missed} disjoint")


if __name__ == "__main__":
    main()
