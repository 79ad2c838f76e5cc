"""What an evaluation on Dask costs beside its computation, and what processes gain.

Run by hand: ``python benchmarks/bench_dask.py [--rows 2000000]``. Prints a table.
"""

import argparse
import time

import numpy as np

import skrank.dask
from skrank import ListMLERanker
from skrank.dask._fit import columns_of, distributed_objective, loaded, merged
from skrank.dask._sources import sources

N_FEATURES, LIST_SIZE = 136, 40


def part(number, n_lists):
    """Return one part: float32 features, labels, groups."""
    rng = np.random.default_rng(number)
    n_rows = n_lists * LIST_SIZE
    X = rng.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    y = np.clip(X[:, :4].sum(axis=1) + rng.normal(size=n_rows), 0, 4).round()
    groups = number * n_lists + np.repeat(np.arange(n_lists), LIST_SIZE)
    return X, y, groups


def median_seconds(call, n=7):
    """Return the median wall-clock time of a call."""
    call()
    times = []
    for _ in range(n):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def measure(n_workers, n_rows, n_parts):
    """Return seconds of an evaluation, of empty tasks, and of a fit."""
    from dask import delayed
    from distributed import Client, LocalCluster

    n_lists = n_rows // LIST_SIZE // n_parts
    parts = [delayed(part)(number, n_lists) for number in range(n_parts)]
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        columns = columns_of(parts, None, None, None, None)
        futures, facts = loaded(sources(parts, columns, client, False), client)
        ranker = ListMLERanker()
        objective = distributed_objective(
            client, futures, facts, merged(facts), ranker._loss(), None
        )
        weights = 0.01 * np.ones(N_FEATURES)
        evaluation = median_seconds(lambda: objective(weights))
        empty = median_seconds(lambda: objective.on_shards(_nothing, weights))
        start = time.perf_counter()
        fitted = skrank.dask.fit(ranker, parts, client=client)
        return evaluation, empty, time.perf_counter() - start, fitted.n_iter_


def _nothing(shard, weights):
    return 0.0, weights


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--parts", type=int, default=8)
    args = parser.parse_args()
    print(f"{args.rows} x {N_FEATURES} float32, {args.parts} parts, ListMLE")
    print("workers  evaluation  empty tasks  fit     iterations")
    seconds = {}
    for n_workers in (1, 2):
        evaluation, empty, fit, n_iter = measure(n_workers, args.rows, args.parts)
        seconds[n_workers] = evaluation
        print(
            f"{n_workers:7d}  {evaluation:8.3f} s  {1000 * empty:8.1f} ms"
            f"  {fit:5.1f} s  {n_iter:6d}"
        )
    print(f"one worker over two: {seconds[1] / seconds[2]:.2f} (at least 1.6)")


if __name__ == "__main__":
    main()
