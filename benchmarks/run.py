"""Run all benchmarks and print the tables of benchmarks/results/speed.md.

``python benchmarks/run.py`` takes some minutes; ``python benchmarks/run.py listwise``
runs one. Every number is a ratio to a yardstick measured in the same process: less is
better, and the last column says how much is asked at most. With ``--check`` the exit
code is 1 if a target is missed by more than noise, which is taken to be 15 % of times
and of memory, and nothing of counts: a machine that others use is no better.
"""

import argparse
import importlib
import sys

YARDSTICKS = {  # by benchmark, in the order of the table
    "listwise": "`X @ w` then `X.T @ r`, 300,000 x 136, one thread",
    "pairwise": "the same",
    "partitions": "the same; geometric and Davidson-Luce: one `np.lexsort` of the rows",
    "sampling": "see each row",
    "metrics": "one `np.lexsort((-scores, groups))` of the rows",
    "second_order": "three products `X.T @ X`",
    "reading": "scikit-learn's `load_svmlight_file`",
    "memory": "64 MB plus 80 bytes a row",
    "memmap": "the anonymous memory allowed; one read of each row",
    "solver": "none: numbers of evaluations, and what each row says",
    "penalties": "none: numbers of evaluations, and what each row says",
}
NOISE = 0.15  # share by which a time may miss its target on a quiet machine
COUNTS = ("evaluations",)  # names of rows end so that have no noise


def main():
    """Print the rows of each benchmark asked for; return whether a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="all where none given")
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 if a target is missed"
    )
    arguments = parser.parse_args()
    names = arguments.names or YARDSTICKS
    missed = False
    for name in names:
        print(f"\n### {name}\n\nYardstick: {YARDSTICKS[name]}.\n")
        print("| measurement | ratio | at most |\n| --- | --- | --- |")
        for what, ratio, target in importlib.import_module(f"bench_{name}").rows():
            asked = "" if target is None else f"{target:.3g}"
            late = target is not None and ratio > target
            print(f"| {what} | {ratio:.3f} | {asked}{' (missed)' if late else ''} |")
            noise = 0.0 if what.endswith(COUNTS) else NOISE
            missed |= late and ratio > target * (1.0 + noise)
        sys.stdout.flush()
    return missed and arguments.check


if __name__ == "__main__":
    sys.exit(main())
