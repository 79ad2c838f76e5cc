"""Run each test that asks for a ``case`` once for every loss of cases.py."""

from pathlib import Path
from runpy import run_path

import pytest

CASES = run_path(str(Path(__file__).with_name("cases.py")))["CASES"]


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", CASES, ids=[case.name for case in CASES])


@pytest.fixture
def all_cases():
    """Return the list of losses."""
    return CASES
