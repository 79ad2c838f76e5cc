"""The code of the guide's pages runs as it stands."""

import re
from pathlib import Path

import pytest
from sklearn import config_context

PAGES = sorted((Path(__file__).resolve().parents[1] / "doc").glob("*.md"))


def blocks_of(page):
    return re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, capsys):
    if page.stem == "neural":
        pytest.importorskip("torch", reason="the page is about networks")
    names = {}  # of all blocks, read one after the other
    for block in blocks_of(page):
        with config_context():  # a page may turn routing on
            exec(compile(block, page.name, "exec"), names)
        assert capsys.readouterr().out


def test_there_are_pages_with_code():
    assert sum(map(len, map(blocks_of, PAGES))) >= 2
