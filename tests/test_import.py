"""Importing skrank where its kernels are not compiled."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skrank


@pytest.mark.parametrize("arguments", [["-m", "skrank"], ["-c", "import skrank"]])
def test_the_source_folder_says_that_it_is_one_and_what_to_do(tmp_path, arguments):
    sources = tmp_path / "skrank"
    # No kernel, neither compiled nor to compile.
    for module in Path(skrank.__file__).parent.rglob("*.py"):
        copy = sources / module.relative_to(Path(skrank.__file__).parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(module, copy)
    # Without site (-S) an installed skrank is not found first.
    run = subprocess.run(
        [sys.executable, "-S", *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: skrank is imported from {sources}, where")
    assert "use the command skrank, or change to another folder" in last
