"""Write the pages of the API reference: every name that a public module exports."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import skrank

# In the order of the reference.
TITLES = {
    "skrank": "Rankers and helpers",
    "skrank.linear_model": "Linear rankers",
    "skrank.losses": "Losses",
    "skrank.metrics": "Metrics, scorers and tests",
    "skrank.model_selection": "Splitters, comparisons and searches",
    "skrank.preprocessing": "Preprocessing",
    "skrank.ensemble": "Fusion and pipelines",
    "skrank.inspection": "Displays, explanations and results",
    "skrank.interop": "Other formats and libraries",
    "skrank.export": "Export",
    "skrank.datasets": "Data",
    "skrank.dask": "Dask",
    "skrank.neural": "Neural rankers",
}
# Named elsewhere: a page each under the first module that exports them.
NEEDS = {"skrank.neural": "torch", "skrank.dask": "dask"}


def public_modules():
    """Return the names of public modules, in the order of the reference."""
    names = {"skrank"}
    for module in pkgutil.iter_modules(skrank.__path__, "skrank."):
        if module.ispkg and not module.name.split(".")[1].startswith("_"):
            names.add(module.name)
    known = [name for name in TITLES if name in names]
    return known + sorted(names - set(known))


def public_objects():
    """Return the names of public classes and functions by module, each once."""
    objects, met = {}, set()
    for name in public_modules():
        if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
            continue
        module = importlib.import_module(name)
        mine = []
        for public in getattr(module, "__all__", ()):
            thing = getattr(module, public)
            if inspect.ismodule(thing) or not callable(thing) or id(thing) in met:
                continue
            met.add(id(thing))
            mine.append(public)
        objects[name] = mine
    return objects


def write_pages(folder):
    """Write one page a module, and the page that lists them."""
    folder.mkdir(exist_ok=True)
    entries = []
    for module, names in public_objects().items():
        if not names:
            continue
        title = TITLES.get(module, module)
        doc = inspect.getdoc(importlib.import_module(module)) or ""
        classes, functions = [], []
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            (classes if inspect.isclass(thing) else functions).append(name)
        lines = [f"{title} (``{module}``)", "=" * (len(title) + len(module) + 7), ""]
        lines += [doc, "", f".. currentmodule:: {module}", ""]
        for head, kind, template in (
            ("Classes", classes, "class.rst"),
            ("Functions", functions, "function.rst"),
        ):
            if kind:
                lines += [head, "-" * len(head), "", ".. autosummary::"]
                lines += ["   :toctree: generated", f"   :template: {template}"]
                # Signatures have spaces that do not break: too wide for a small screen.
                lines += ["   :nosignatures:", ""]
                lines += [f"   {name}" for name in sorted(kind)] + [""]
        page = folder / f"{module}.rst"
        write(page, "\n".join(lines))
        entries.append(module)
    index = [
        "API reference",
        "=============",
        "",
        "Every public object, by module.",
        "",
    ]
    index += [".. toctree::", "   :maxdepth: 1", ""]
    index += [f"   {module}" for module in entries] + [""]
    write(folder / "index.rst", "\n".join(index))


def write(path, text):
    """Write a page if it changed, so that Sphinx does not read it anew."""
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def setup(app):
    """Write the pages before Sphinx looks for them."""
    write_pages(Path(app.srcdir) / "api")
    return {"parallel_read_safe": True}
