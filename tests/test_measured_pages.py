"""Numbers that pages of the guide show are those that the benchmarks wrote down."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/results"
# A difference in thousandths with its standard error, or with its interval.
CELL = re.compile(r"[+-]\d+\.\d \(\d+\.\d\)|[+-]\d+\.\d \[[+-]\d+, [+-]\d+\]")


def cells_of(*paths):
    return [cell for path in paths for cell in CELL.findall(path.read_text("utf-8"))]


@pytest.mark.parametrize(
    ("page", "results", "at_least"),
    [
        ("features.md", "defaults/features.md", 50),
        ("real_data.md", "real_data/summary.md", 60),
        ("defaults.md", "defaults/*.md", 200),
        ("which_ranker.md", "fusion.md", 20),
    ],
)
def test_every_difference_of_a_page_stands_in_the_results(page, results, at_least):
    shown = cells_of(ROOT / "doc" / page)
    assert len(shown) >= at_least
    known = set(cells_of(*RESULTS.glob(results)))
    assert [cell for cell in shown if cell not in known] == []
