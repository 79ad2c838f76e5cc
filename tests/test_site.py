"""The site's reference has every public object, and each names its neighbours."""

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path

import pytest

EXTENSIONS = Path(__file__).resolve().parents[1] / "doc" / "_ext"


@pytest.fixture
def extensions(monkeypatch):
    """Return the modules that the site is built with."""
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    names = ("public_api", "see_also", "docstrings", "internal_links")
    yield {name: importlib.import_module(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)


def exported():
    """Return what public modules export, of those whose packages are installed."""
    import skrank

    needs = {"neural": "torch", "dask": "dask"}
    for path in Path(skrank.__file__).parent.glob("*/__init__.py"):
        name = path.parent.name
        missing = name in needs and importlib.util.find_spec(needs[name]) is None
        if not name.startswith("_") and not missing:
            module = importlib.import_module(f"skrank.{name}")
            yield from (getattr(module, public) for public in module.__all__)


def test_every_public_object_has_one_page(extensions):
    objects = extensions["public_api"].public_objects()
    shown = [
        getattr(importlib.import_module(module), name)
        for module, names in objects.items()
        for name in names
    ]
    assert len({id(thing) for thing in shown}) == len(shown)
    missing = [thing for thing in exported() if callable(thing) and thing not in shown]
    assert missing == []


def test_pages_are_written_with_all_names(extensions, tmp_path):
    extensions["public_api"].write_pages(tmp_path)
    text = "".join(page.read_text("utf-8") for page in tmp_path.glob("skrank*.rst"))
    for names in extensions["public_api"].public_objects().values():
        for name in names:
            assert f"   {name}\n" in text


def test_every_public_object_names_its_neighbours(extensions):
    see_also = extensions["see_also"]
    known = see_also.places()
    lonely = [
        f"{module}.{name}"
        for name, module in known.items()
        if not see_also.related(name, known)
        and "See Also\n"
        not in inspect.getdoc(getattr(importlib.import_module(module), name))
    ]
    assert lonely == []


def test_raw_docstrings_are_joined_and_names_with_an_underscore_quoted(extensions):
    lines = [
        'ties : {"efron", \\',
        '        "order"}, default="efron"',
        "names : ndarray of shape (n_features_in_,)",
        "mean_, scale_ : ndarray of shape (n_features_in_,)",
        "    Kept as it is: n_features_in_, all the same.",
    ]
    extensions["docstrings"].mend(None, "class", "A", None, None, lines)
    assert lines == [
        'ties : {"efron", "order"}, default="efron"',
        "names : ndarray of shape (``n_features_in_``,)",
        "mean_, scale_ : ndarray of shape (``n_features_in_``,)",
        "    Kept as it is: n_features_in_, all the same.",
    ]


def test_cutoffs_of_metrics_are_no_addresses(extensions):
    nodes = pytest.importorskip("docutils.nodes", reason="the extra doc has docutils")
    from docutils.core import publish_doctree

    doctree = publish_doctree("Take ndcg@10 or https://example.org here.")
    assert len(list(doctree.findall(nodes.reference))) == 2
    extensions["docstrings"].unlink_addresses(None, doctree)
    (link,) = doctree.findall(nodes.reference)
    assert link["refuri"] == "https://example.org"
    assert doctree.astext() == "Take ndcg@10 or https://example.org here."


def test_cards_link_to_pages_that_are_there():
    doc = EXTENSIONS.parent
    written = {"api/index", "auto_examples/index"}  # when the site is built
    n_links = 0
    for page in doc.rglob("*.md"):
        for line in page.read_text("utf-8").splitlines():
            if line.startswith(":link: "):
                link = line.removeprefix(":link: ")
                n_links += 1
                assert link in written or (page.parent / f"{link}.md").is_file(), line
    assert n_links >= 8


def test_broken_links_of_built_pages_are_found(extensions, tmp_path):
    (tmp_path / "api").mkdir()
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="#top"></a><a href="api/b.html#low"></a>'
        '<a href="https://example.org/x"></a><a href="mailto:x"></a><img src="no.png"/>'
        '<a href="guide:link-type:doc Choose"></a><a href="api/c.html"></a>'
    )
    (tmp_path / "api" / "b.html").write_text(
        '<h2 id="high"></h2><a href="../a.html?q=1&amp;r=2#top"></a>'
    )
    broken = extensions["internal_links"].broken_links(tmp_path)
    assert [(str(page), link) for page, link in broken] == [
        ("a.html", "api/b.html#low"),
        ("a.html", "api/c.html"),
        ("a.html", "guide:link-type:doc Choose"),
        ("a.html", "no.png"),
    ]
