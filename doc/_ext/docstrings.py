"""Make docstrings whole for reStructuredText before numpydoc reads them."""

import re

# Names such as n_features_in_ in the type of a parameter, which would be links, and the
# line of a parameter: its names, and its type.
TRAILING = re.compile(r"(?<![`\w])(\w+_)(?=[,)])")
PARAMETER = re.compile(r"^(\s*\w[\w, ]* : )(.*)")


def mend(app, what, name, obj, options, lines):
    """Join continued lines of raw docstrings, and quote names that end in _."""
    joined = []
    for line in lines:
        if joined and joined[-1].endswith("\\"):
            joined[-1] = joined[-1].removesuffix("\\").rstrip() + " " + line.lstrip()
        else:
            joined.append(line)
    lines[:] = [PARAMETER.sub(_quote_type, line, count=1) for line in joined]


def _quote_type(match):
    """Return a parameter's line with the names in its type quoted."""
    return match[1] + TRAILING.sub(r"``\1``", match[2])


def unlink_addresses(app, doctree):
    """Turn links such as mailto:ndcg@10 into the text they were."""
    from docutils import nodes  # no package of the tests

    for link in list(doctree.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(link.children)


def setup(app):
    """Run before numpydoc, whose priority is 500."""
    app.connect("autodoc-process-docstring", mend, priority=400)
    app.connect("doctree-read", unlink_addresses)
    return {"parallel_read_safe": True}
