"""Individual losses on Spark, end to end: readings, sample, tables, every record; and the same doubles on one machine.

    python tests/benchmarks/spark.py 1000000 /tmp/spark                    local[2], 20 readings of 10 steps per record
    python tests/benchmarks/spark.py 1000000 /tmp/spark --compare 1000000  so many records also here, without Spark

Each stage is printed with its seconds of the clock and of the processor, and with the largest memory, all of Spark's
processes included. DuckDB generates the readings, as for individual.py.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import duckdb
import individual
import numpy as np

from verified_dp.individual.input import count_parquet
from verified_dp.individual.losses import individual_epsilons
from verified_dp.individual.shared import SharedTables, shared_epsilons
from verified_dp.individual.spark import count_spark, enclose_spark

READINGS, PARTS, SAMPLE, AT_ONCE = 20, 256, 2000, 100_000
TICK, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


class Usage(threading.Thread):
    """Processor seconds and the largest memory of this process and all that it started, looked at twice a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self._seen = 0.0, dict[int, float]()
        self.start()

    def run(self) -> None:
        while True:
            self.look()
            time.sleep(0.5)

    def look(self) -> float:
        """Processor seconds up to now; the memory of this moment is kept if it is the largest."""
        parents, pages = dict[int, int](), dict[int, int]()
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
                shared = int(Path(f"/proc/{name}/statm").read_text().split()[2])
            except OSError:
                continue
            parents[int(name)], pages[int(name)] = int(words[1]), int(words[21]) - shared
            self._seen[int(name)] = (int(words[11]) + int(words[12])) / TICK
        ours = {os.getpid()}
        while more := {child for child, parent in parents.items() if parent in ours} - ours:
            ours |= more
        self._ours = getattr(self, "_ours", set()) | ours
        self.peak = max(self.peak, sum(pages[one] for one in ours if one in pages) * PAGE / 2**30)
        return sum(self._seen[one] for one in self._ours if one in self._seen)


@contextmanager
def stage(name: str, usage: Usage) -> Iterator[None]:
    """Print what a stage took."""
    start, before, usage.peak = time.perf_counter(), usage.look(), 0.0
    yield
    spent = usage.look() - before
    print(f"{name}: {time.perf_counter() - start:.1f} s, {spent:.1f} s of the processor, {usage.peak:.2f} GB",
          flush=True)


def session_of(options: argparse.Namespace) -> Any:
    """A session on this machine."""
    from pyspark.sql import SparkSession

    build = SparkSession.builder.master(options.master).appName("individual losses")
    for key, value in {"spark.ui.enabled": "false", "spark.driver.memory": options.memory,
                       "spark.sql.shuffle.partitions": str(options.partitions),
                       "spark.local.dir": str(options.folder), "spark.log.level": "ERROR"}.items():
        build = build.config(key, value)
    return build.getOrCreate()


def generate(folder: Path, records: int) -> Path:
    """The readings in files of AT_ONCE records; those of an earlier call are kept."""
    place = folder / f"norms-{records}"
    place.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(config={"memory_limit": "2GB", "threads": 2}) as connection:
        for start in range(0, records, AT_ONCE):
            path, stop = place / f"{start}.parquet", min(start + AT_ONCE, records)
            if not path.exists():
                rows = individual.ROWS.format(records=f"{start}, {stop}", readings=READINGS, grid=32,
                                              repeats=individual.REPEATS)
                connection.execute(f"COPY ({rows}) TO '{path}.part' (FORMAT parquet)")
                Path(f"{path}.part").rename(path)
    return place


def compare(place: Path, written: Path, tables: SharedTables, records: int) -> None:
    """The doubles of so many records beside those found here, and beside the intervals of `individual_epsilons`."""
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT record, lower, upper FROM '{written}/*.parquet' WHERE record < {records} "
                                  "ORDER BY record").fetchnumpy()
    equal, lower, upper = 0, list[np.ndarray](), list[np.ndarray]()
    for start in range(0, records, AT_ONCE):
        counts = count_parquet(place / f"{start}.parquet", individual.TRAINING, "raw", PARTS)
        ends = tables.enclose(counts)
        here = slice(start, start + len(counts.records))
        equal += int(((rows["lower"][here] == ends[0]) & (rows["upper"][here] == ends[1])
                      & (rows["record"][here] == counts.records)).sum())
        found = individual_epsilons(counts, individual.DELTA, "1/100", alone=0)
        lower.append(found.lower)
        upper.append(found.upper)
    apart = (np.concatenate(lower) > rows["upper"]) | (np.concatenate(upper) < rows["lower"])
    print(f"{equal} of {records} equal to the bit, {int(apart.sum())} apart from what individual_epsilons finds here",
          flush=True)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--partitions", type=int, default=32)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--memory", default="2g", help="of the driver")
    parser.add_argument("--compare", type=int, default=0, help="so many records, a multiple of 10^5 or all, also here")
    options = parser.parse_args()
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "PYSPARK_PYTHON": sys.executable}  # of the workers
    usage = Usage()
    place = generate(options.folder, options.records)
    with stage("session", usage):
        session = session_of(options)
    session.read.parquet(str(place)).createOrReplaceTempView("readings")
    with stage("checked, sample counted", usage):
        sample = count_spark(session, individual.TRAINING, "raw", PARTS, sample=SAMPLE)
    with stage(f"tables from {len(sample.records)} records", usage):
        tables = shared_epsilons(sample, individual.DELTA)
    written = options.folder / f"losses-{options.records}"
    with stage("checked, counted, enclosed, written", usage):
        enclose_spark(session, tables, "raw").write.mode("overwrite").parquet(str(written))
    with stage("read back", usage):
        total, narrow, infinite = session.sql(
            f"SELECT COUNT(*), COUNT_IF(narrow), COUNT_IF(upper = DOUBLE('Infinity')) FROM parquet.`{written}`").first()
    print(f"{total} records, {narrow / total:.1%} narrow, {infinite} unbounded, {len(tables.tables)} tables of "
          f"{sum(table.witness.count for _, table in tables.tables)} frequencies, {options.partitions} partitions")
    session.stop()
    if options.compare:
        with stage("the same here", usage):
            compare(place, written, tables, options.compare)


if __name__ == "__main__":
    main()
