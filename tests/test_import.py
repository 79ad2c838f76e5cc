"""Importing skrank, also in a clone, whose source folder has no compiled kernels."""

import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skrank

INSTALLED = Path(skrank.__file__).parent
RANK = (
    "import skrank; from skrank import ListMLERanker; "
    "ListMLERanker().fit([[0.0], [1.0]], [0, 1], [0, 0]); print(skrank.__file__)"
)


@pytest.fixture
def clone(tmp_path):
    """Return a folder with the sources of skrank and no kernel, compiled or not."""
    for module in INSTALLED.rglob("*.py"):
        copy = tmp_path / "clone" / "skrank" / module.relative_to(INSTALLED)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(module, copy)
    return tmp_path / "clone"


def python(folder, *arguments):
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True
    )


@pytest.mark.parametrize("arguments", [["-m", "skrank"], ["-c", "import skrank"]])
def test_a_clone_without_an_installed_package_says_what_to_do(clone, arguments):
    # Without site (-S) an installed skrank is not found.
    run = python(clone, "-S", *arguments)
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    sources = clone / "skrank"
    assert last.startswith(f"ImportError: skrank is imported from {sources}, where")
    assert "Run `pip install .`" in last


def test_in_a_clone_the_installed_package_is_imported(clone, tmp_path):
    # An installed package, by hand: the sources and links to the compiled kernels.
    site = tmp_path / "site"
    shutil.copytree(clone / "skrank", site / "skrank")
    import skrank._kernels.gemv as gemv

    for kernel in Path(gemv.__file__).parent.glob("*.so"):
        (site / "skrank" / "_kernels" / kernel.name).symlink_to(kernel)
    path = f"import sys; sys.path.insert(1, {str(site)!r}); "
    # The finder of an editable install would come first: the source is found by path.
    finder = "sys.meta_path[:] = [f for f in sys.meta_path if 'Meson' not in repr(f)]"
    run = python(clone, "-c", f"{path}{finder}; {RANK}")
    assert run.stderr == ""
    assert Path(run.stdout.strip()) == site / "skrank" / "__init__.py"


def test_the_version_is_that_of_the_installed_package():
    assert skrank.__version__ == importlib.metadata.version("skrank")


def test_rooms_and_names_load_when_they_are_first_used(tmp_path):
    code = (
        "import sys, skrank; "
        "assert 'numpy' not in sys.modules; "
        "skrank.model_selection.QueryKFold(2); skrank.RankNetRanker(); "
        "assert {'metrics', 'RankNetRanker'} <= set(dir(skrank)); "
        "from skrank import *; with_groups"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_every_public_name_of_the_package_is_where_it_is_said_to_be():
    for name, home in skrank._HOMES.items():
        value = getattr(skrank, name)
        assert getattr(sys.modules[f"skrank.{home}"], name) is value
    linear_model = sys.modules["skrank.linear_model"]
    rankers = {name for name in linear_model.__all__ if name.endswith("Ranker")}
    assert set(skrank.__all__) == rankers | set(skrank._HOMES)
    for name in rankers:
        assert getattr(skrank, name) is getattr(linear_model, name)


def test_type_checkers_see_the_names_that_are_there_at_run_time():
    # Only type checkers read these imports, so nothing else would miss a line.
    source = Path(skrank.__file__).read_text(encoding="utf-8")
    names = re.findall(r"^    from skrank\S* import (\w+) as \1$", source, re.MULTILINE)
    assert sorted(names) == sorted([*skrank.__all__, *skrank._ROOMS])


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'skrank' has no attribute 'Rank'"):
        _ = skrank.Rank
