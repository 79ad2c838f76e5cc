"""The run with bounds checks and sanitizers reaches every kernel."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".ci" / "check_memory"
KERNELS = sorted(path.stem for path in (ROOT / "skrank/_kernels").glob("*.pyx"))


def watched():
    """Return the folders of tests that the script runs when it is given none."""
    (chosen,) = re.findall(r"tests=\(\n(.*?)\n\)", SCRIPT.read_text(), re.DOTALL)
    return [ROOT / path for path in chosen.split()]


def callers(kernel):
    """Return the rooms whose modules import a kernel."""
    imports = re.compile(
        rf"^\s*(from skrank\._kernels\.{kernel} import"
        rf"|from skrank\._kernels import .*\b{kernel}\b"
        rf"|import skrank\._kernels\.{kernel}\b)",
        re.MULTILINE,
    )
    package = ROOT / "skrank"
    return {
        path.relative_to(package).parts[0]
        for path in package.rglob("*.py")
        if imports.search(path.read_text())
    }


def test_the_script_names_folders_of_tests():
    assert ROOT / "tests/_kernels" in watched()  # test_lengths calls every entry
    for folder in watched():
        assert list(folder.rglob("test_*.py")), folder


@pytest.mark.parametrize("kernel", [k for k in KERNELS if not k.startswith("_")])
def test_the_rooms_that_call_a_kernel_are_watched(kernel):
    rooms = callers(kernel)
    assert rooms, f"no module imports {kernel}"
    assert any(ROOT / "tests" / room in watched() for room in rooms)


def test_kernels_called_by_kernels_alone_belong_to_one_that_is_watched():
    sources = (ROOT / "skrank/_kernels").glob("*.pyx")
    texts = {path.stem: path.read_text() for path in sources}
    for kernel in KERNELS:
        if kernel.startswith("_"):
            users = [
                name
                for name, text in texts.items()
                if name != kernel and f"_kernels.{kernel} cimport" in text
            ]
            assert users, f"no kernel uses {kernel}"
