"""Check that links between built pages lead to pages and sections that exist."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r'\b(?:href|src)="([^"]+)"')
NAME = re.compile(r'\b(?:id|name)="([^"]+)"')
OUTSIDE = re.compile(r"(?:https?|mailto|data|javascript):|//")


def broken_links(folder):
    """Return (page, link) of the links whose file or section is missing."""
    pages = {
        path.resolve(): path.read_text("utf-8")
        for path in Path(folder).rglob("*.html")
        if "_static" not in path.parts
    }
    names = {path: set(NAME.findall(text)) for path, text in pages.items()}
    broken = []
    for page, text in pages.items():
        for link in sorted(set(map(unescape, LINK.findall(text)))):
            if OUTSIDE.match(link):
                continue
            address, _, section = link.partition("#")
            target = (page.parent / unquote(address.partition("?")[0])).resolve()
            if not address:
                target = page
            known = names.get(target)
            lost = section and known is not None and unquote(section) not in known
            if lost or not target.exists():
                broken.append((page.relative_to(Path(folder).resolve()), link))
    return broken


def warn(app, error):
    """Warn of broken links once all pages are written."""
    from sphinx.util.logging import getLogger  # no package of the tests

    if error is None and app.builder.format == "html":
        for page, link in broken_links(app.outdir):
            getLogger(__name__).warning("%s links to %s, which is missing", page, link)


def setup(app):
    """Run after the build; conf.py has copied what pages need by then."""
    app.connect("build-finished", warn, priority=900)
    return {"parallel_read_safe": True}
