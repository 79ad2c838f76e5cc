"""Fixtures that more than one folder of tests uses."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared():
    """Return the folder of reference data that lies beside the repository."""
    default = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("SKRANK_SHARED", default))
    if not folder.is_dir():
        pytest.skip(f"no reference data at {folder}")
    return folder
