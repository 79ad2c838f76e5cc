"""Time of the pairwise kernel and objective over that of two products with X."""

import sys

from yardstick import ratios, report

from skrank.losses import RankNet


def rows(repeats=11):
    """Return (name, ratio to the yardstick, target or None) of each measurement."""
    measured = [
        (RankNet(), 0.4, 1.2, "float64"),
        (RankNet("gain"), None, None, "float64"),
    ]
    return ratios(measured, repeats)


if __name__ == "__main__":
    sys.exit(report(rows()))
