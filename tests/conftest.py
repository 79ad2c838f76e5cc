"""Fixtures that more than one file of tests uses."""

import json
import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def shared():
    """Return the folder of reference data that lies beside the repository."""
    default = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("SKRANK_SHARED", default))
    if not folder.is_dir():
        pytest.skip(f"no reference data at {folder}")
    return folder


@pytest.fixture(scope="session")
def reference():
    """Return the folder of reference data that comes with the tests."""
    return Path(__file__).resolve().parent / "data"


@pytest.fixture(scope="session")
def worked_numbers(reference):
    """Return losses, metrics and fits worked out without skrank."""
    return json.loads((reference / "worked_numbers.json").read_text())


@pytest.fixture(scope="session", params=["pyltr", "others too"])
def published_values(request, reference):
    """Return values of metrics that other projects assert in their tests."""
    if request.param == "pyltr":
        return json.loads((reference / "pyltr_values.json").read_text())
    folder = request.getfixturevalue("shared") / "data/expected_values"
    return json.loads((folder / "metrics.json").read_text())


@pytest.fixture(scope="session")
def lists():
    """Return X, y and groups of 40 lists of 2 to 8 rows, rows of a list together."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(40), rng.integers(2, 9, size=40))
    X = rng.normal(size=(len(groups), 5))
    noise = rng.normal(size=len(groups))
    return X, np.digitize(X[:, 0] - X[:, 1] + noise, [0, 1, 2]), groups


@pytest.fixture
def run(capsys):
    """Run the shell command in this process; returns what it printed."""
    from skrank._cli.main import main

    def run(*arguments):
        assert main(["-q", *map(str, arguments)]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        assert max(map(len, printed.out.splitlines())) <= 88
        return printed.out

    return run
