"""What is shipped: versions, metadata, workflows, and types seen from outside."""

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VERSION = importlib.metadata.version("skrank")


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dynamic"] == ["version"]
    stands_in = re.search(r"  version: '(.+)',", (ROOT / "meson.build").read_text())
    assert stands_in[1] == VERSION
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {VERSION}\n" in citation


def test_the_changelog_has_this_version():
    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("vendor.github-workflows", ".github/workflows/*.yml"),
        ("vendor.citation-file-format", "CITATION.cff"),
    ],
)
def test_files_for_other_services_are_valid(schema, pattern):
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed (extra lint)")
    files = sorted(map(str, ROOT.glob(pattern)))
    assert files
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    done = subprocess.run([*check, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_optional_packages_of_the_table_are_extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) >= {
        *("plot", "test", "lint", "doc", "neural"),
        *("peers", "test-peers", "onnx", "dask"),
    }
