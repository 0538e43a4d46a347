"""Which of many published claims are true? A folder of specifications, judged by the workers of a Dask cluster.

    python examples/dask_batch.py [FOLDER [WORKERS]]        needs dask.distributed: pip install "verified-dp[dask]"

Here the cluster is this machine; with the address of a scheduler the same lines use that one's workers. Any other
`concurrent.futures.Executor` stands in its place: Ray's, MPI's, or none for processes of this machine.
"""

import sys
from pathlib import Path

from verified_dp.batch import certify_all

CLAIMS = Path(__file__).resolve().parent / "claims"


def main(folder: str | Path = CLAIMS, workers: int = 2) -> None:
    """Print each claim's verdict, in the order of the files."""
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        for done in certify_all(folder, executor=client.get_executor(), max_seconds=10):
            print(f"{Path(done.name).name}: {done.error if done.answer is None else done.answer.verdict}")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
