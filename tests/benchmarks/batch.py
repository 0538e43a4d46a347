"""10,000 specifications of DP-SGD asked at a time: epsilon of each, by one process, by Dask and by Spark.

    python tests/benchmarks/batch.py                      all of them by each: seconds, and whether answers are equal
    python tests/benchmarks/batch.py 1000 process dask    fewer, by some

Steps of the clock and of the processors, with all processes that were started; delta is 10^-5, twelve digits.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from spark import Usage

from verified_dp.batch import SparkExecutor, epsilon_all
from verified_dp.spec import parse_spec

TEXT = """relation = "add-or-remove"
[[mechanism]]
kind = "gaussian"
noise_multiplier = "{noise}"
count = {count}
sampling = {{ scheme = "poisson", probability = "{q}" }}
"""
EPOCHS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200)
BATCHES = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
"""Of one epoch."""
NOISES = 100


def specifications(number: int) -> list[Any]:
    """A grid of sampling probabilities, epochs and noise; spread, where there are fewer than all 10,000."""
    grid = [(batches, epochs, noise) for noise in range(NOISES) for batches in BATCHES for epochs in EPOCHS]
    chosen = grid[:: max(1, len(grid) // number - 1)][:number]
    return [parse_spec(TEXT.format(noise=f"{0.5 + 0.05 * noise:.2f}", q=f"1/{batches}", count=epochs * batches))
            for batches, epochs, noise in chosen]


@contextmanager
def executor(kind: str, workers: int) -> Iterator[Executor]:
    """One of the three."""
    if kind == "process":
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            yield pool
    elif kind == "dask":
        from dask.distributed import Client, LocalCluster

        with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, \
                Client(cluster) as client:
            yield client.get_executor()
    else:
        from pyspark.sql import SparkSession

        session = SparkSession.builder.master(f"local[{workers}]").config("spark.ui.enabled", "false").config(
            "spark.log.level", "ERROR").getOrCreate()
        yield SparkExecutor(session)
        session.stop()


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", type=int, nargs="?", default=10_000)
    parser.add_argument("kinds", nargs="*", default=["process", "dask", "spark"])
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "PYSPARK_PYTHON": sys.executable}
    specs, first, usage = specifications(options.number), list[Any](), Usage()
    for kind in options.kinds:
        with executor(kind, options.workers) as pool:
            begun, before, usage.peak = time.perf_counter(), usage.look(), 0.0
            ends = [(done.result().lower, done.result().upper) for done in epsilon_all(specs, "1e-5", executor=pool)]
            spent, seconds = usage.look() - before, time.perf_counter() - begun
        first = first or ends
        print(f"{kind}: {len(ends)} in {seconds:.1f} s, {spent:.1f} s of the processors, "
              f"{1000 * spent / len(ends):.2f} ms each, {usage.peak:.2f} GB; "
              f"{sum(map(tuple.__eq__, first, ends))} equal to the first", flush=True)


if __name__ == "__main__":
    main()
