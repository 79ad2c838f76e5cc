"""Make docstrings whole for reStructuredText before numpydoc reads them."""

import re

# Names such as n_features_in_ in the type of a parameter, which would be links.
TRAILING = re.compile(r"(?<![`\w])(\w+_)(?=[,)])")


def mend(app, what, name, obj, options, lines):
    """Join continued lines of raw docstrings, and quote names that end in _."""
    joined = []
    for line in lines:
        if joined and joined[-1].endswith("\\"):
            joined[-1] = joined[-1].removesuffix("\\").rstrip() + " " + line.lstrip()
        else:
            joined.append(line)
    lines[:] = [
        TRAILING.sub(r"``\1``", line) if re.match(r"\s*\w[\w, ]* : ", line) else line
        for line in joined
    ]


def setup(app):
    """Run before numpydoc, whose priority is 500."""
    app.connect("autodoc-process-docstring", mend, priority=400)
    return {"parallel_read_safe": True}
