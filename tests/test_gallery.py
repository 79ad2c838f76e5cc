"""The gallery answers the questions that people ask, with pictures of all displays."""

import re
from pathlib import Path

import skrank.inspection

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("plot_*.py"))


def test_each_display_has_an_example():
    code = "".join(example.read_text("utf-8") for example in EXAMPLES)
    displays = [name for name in skrank.inspection.__all__ if name.endswith("Display")]
    assert len(displays) >= 8
    assert [name for name in displays if f"{name}." not in code] == []
    assert "LearningCurveDisplay(" in code


def test_each_example_has_a_title_as_long_as_its_line_and_words_below():
    for example in EXAMPLES:
        text = example.read_text("utf-8")
        match = re.match(r'"""\n(.+)\n(=+)\n\n(\S.+?)\n"""', text, flags=re.DOTALL)
        assert match, example.name
        assert len(match[1]) == len(match[2]), example.name
        assert "# %%" in text, example.name
