"""Time of the listwise kernels and objectives over that of two products with X."""

import sys

from yardstick import ratios, report

from skrank.losses import ListMLE, ListNet


def rows(repeats=11):
    """Return (name, ratio to the yardstick, target or None) of each measurement.

    Last the marginal kernel as a multiple of Efron's, not of the yardstick.
    """
    measured = [
        (ListMLE("order"), None, 0.9, "float64"),
        (ListMLE("breslow"), None, 0.9, "float64"),
        (ListMLE("efron"), None, 0.9, "float64"),
        (ListNet(), None, 0.9, "float64"),
        (ListMLE("efron"), None, None, "float32"),
        (ListMLE("order", stage_weights="position"), None, None, "float64"),
        (ListMLE("marginal"), None, None, "float64"),
    ]
    found = ratios(measured, repeats)
    kernels = {name: ratio for name, ratio, _ in found if name.endswith("kernel")}
    efron = kernels[f"{ListMLE('efron')} kernel"]
    of_float32 = found.index(next(row for row in found if "float32" in row[0]))
    # The kernel's share comes on top of what reading float32 saves.
    found[of_float32] = (*found[of_float32][:2], 0.8 + efron)
    marginal = kernels[f"{ListMLE('marginal')} kernel"]
    return [*found, ("marginal kernel over Efron's", marginal / efron, 30.0)]


if __name__ == "__main__":
    sys.exit(report(rows()))
