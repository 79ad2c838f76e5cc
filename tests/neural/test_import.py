"""PyTorch is an extra: nothing but skrank.neural loads it."""

import subprocess
import sys

ALL_BUT_NEURAL = """
import importlib, pkgutil, sys
import importlib.util
import skrank
left_out = {"skrank.neural", "skrank.__main__"}
if importlib.util.find_spec("dask") is None:
    left_out.add("skrank.dask")
for module in pkgutil.iter_modules(skrank.__path__, "skrank."):
    if module.name not in left_out:
        importlib.import_module(module.name)
assert "torch" not in sys.modules
"""
WITHOUT_TORCH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, NoTorch())
for name in ["skrank.neural", "skrank.neural._arranger"]:
    try:
        __import__(name)
    except ImportError as error:
        print(error)
"""


def run(code, folder):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True
    )


def test_the_rest_of_the_package_never_loads_torch(tmp_path):
    done = run(ALL_BUT_NEURAL, tmp_path)
    assert done.returncode == 0, done.stderr


def test_without_torch_the_import_says_what_to_install(tmp_path):
    done = run(WITHOUT_TORCH, tmp_path)
    assert done.returncode == 0, done.stderr
    messages = done.stdout.splitlines()
    assert len(messages) == 2
    for message in messages:
        assert message.startswith("skrank.neural needs PyTorch")
        assert "pip install 'skrank[neural]'" in message
