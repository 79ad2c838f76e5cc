"""Time of pairwise kernels and objectives over that of two products with X."""

import sys

from yardstick import ratios, report

from skrank.losses import Davidson, RankNet, RankRegression, RankSVM, RaoKupper

MEASURED = [  # kernel and objective over the yardstick; growth with length
    (RankNet(), 0.4, 1.2, 2.3),
    (RankNet("gain"), None, None, 2.3),
    (RankSVM(), None, 1.2, 1.2),
    (RankSVM("linear"), None, 1.2, 1.2),
    (RankRegression(), None, 0.9, 1.2),
    (RankRegression("labels"), None, 0.9, 1.2),
    (RaoKupper(), None, 1.6, 2.3),
    (Davidson(), None, 1.6, 2.3),
]


def rows(repeats=11):
    """Return (name, ratio, target or None) of each measurement."""
    return ratios(MEASURED, repeats)


if __name__ == "__main__":
    sys.exit(report(rows()))
