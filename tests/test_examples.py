"""The gallery's examples run as they stand, print numbers and draw a figure."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_runs(example, monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib", reason="examples draw figures")
    if "skrank.neural" in example.read_text("utf-8"):
        pytest.importorskip("torch", reason="the example is about networks")
    if "import LGBMRanker" in example.read_text("utf-8"):
        pytest.importorskip("lightgbm", reason="the example trains its trees")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    try:
        runpy.run_path(str(example), run_name="__main__")
        assert plt.get_fignums()
    finally:
        plt.close("all")
    assert capsys.readouterr().out


def test_there_are_examples():
    assert {example.stem for example in EXAMPLES} >= {
        "plot_paper_experiment",
        "plot_starank",
    }
