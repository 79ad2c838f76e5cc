"""The page on other packages: its code runs where the packages are installed."""

import importlib.util
import re
import warnings
from pathlib import Path

import pytest
from sklearn import config_context

PAGE = Path(__file__).resolve().parents[1] / "doc" / "neighbours" / "index.md"
NEEDS = {
    "LightGBM": ["lightgbm"],
    "XGBoost": ["xgboost"],
    "CatBoost": ["catboost"],
    "SHAP": ["shap"],
    "ONNX": ["skl2onnx", "onnxruntime"],
    "skops": ["skops"],
    "ir_measures": ["ir_measures"],
    "PyTerrier": ["pandas"],
    "scikit-learn": [],
}
PRINTED = {
    "SHAP": "True\n",
    "ONNX": "(3, 1)\n",
    "PyTerrier": "['qid', 'docno', 'features', 'score']\n",
    "scikit-learn": "True\n",
}


def sections():
    first, *sections_below = re.split(
        r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE
    )
    named = {part.partition("\n")[0]: part for part in sections_below}
    return first, named


def code_of(text):
    return "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))


def test_every_package_has_its_part():
    named = sections()[1]
    assert set(NEEDS) <= set(named)
    assert all(code_of(named[name]) for name in NEEDS)


@pytest.mark.parametrize("name", NEEDS)
def test_the_code_of_a_package_runs(name, tmp_path, monkeypatch, capsys):
    for package in NEEDS[name]:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    first, named = sections()
    with config_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages' own
        exec(compile(code_of(first) + code_of(named[name]), name, "exec"), {})
    printed = capsys.readouterr().out
    assert printed.endswith(PRINTED.get(name, "\n"))
    if name in ("LightGBM", "XGBoost", "CatBoost"):
        assert 0.7 < float(printed) <= 1.0
    if name == "skops":
        assert printed.startswith("True")
