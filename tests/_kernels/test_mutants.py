"""The list of changes that tests of kernels notice fits the kernels as they are."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES = [
    line
    for line in (ROOT / "tools" / "kernel_mutants.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize("line", LINES)
def test_what_a_line_changes_is_there_once_and_has_tests(line):
    file, written, other, tests = line.split(" | ")
    source = ROOT / "skrank" / "_kernels" / file
    assert source.read_text("utf-8").count(written) == 1
    assert written != other
    for test in tests.split():
        assert (ROOT / "tests" / test).exists()
