"""The code of the site's pages runs as it stands, and prints what they show."""

import re
from pathlib import Path

import pytest
from sklearn import config_context

DOC = Path(__file__).resolve().parents[1] / "doc"
PAGES = sorted([*DOC.glob("*.md"), *DOC.glob("start/*.md")])
# A block of Python, and the block of text behind it that shows what it prints.
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", flags=re.DOTALL)


def blocks_of(page):
    return BLOCK.findall(page.read_text("utf-8"))


def lines_of(text):
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs_and_prints_what_is_shown(
    page, capsys, tmp_path, monkeypatch
):
    for stem, package in (("neural", "torch"), ("comparing", "lightgbm")):
        if page.stem == stem:
            pytest.importorskip(package, reason="the page compares with it")
    monkeypatch.chdir(tmp_path)
    names = {}  # of all blocks, read one after the other
    with config_context():  # a page may turn routing on
        for code, shown in blocks_of(page):
            exec(compile(code, page.name, "exec"), names)
            printed = capsys.readouterr().out
            assert printed
            if shown:
                assert lines_of(printed) == lines_of(shown)


def test_there_are_pages_with_code_and_with_what_it_prints():
    blocks = [block for page in PAGES for block in blocks_of(page)]
    assert len(blocks) >= 50
    assert sum(bool(shown) for _, shown in blocks) >= 30
