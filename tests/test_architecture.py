"""The plan of the package: which room may import which, and how long parts may be.

doc/architecture.md says why. Sources are read once, from the tree beside the tests.
"""

import ast
import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "skrank"

# The rooms of skrank, floor by floor: a room imports from floors below its own. A new
# room must be placed here.
FLOORS = (
    {"_kernels", "_data"},
    {"losses", "metrics", "preprocessing", "datasets"},
    {"_fit"},
    {"_probability"},
    {"base", "linear_model"},
    {"interop"},
    {"model_selection", "ensemble", "export", "inspection", "dask"},
    {"neural"},
    {""},  # skrank itself, which lists public names
    {"_cli"},
    {"__main__"},
)
# Neighbours on one floor that may use each other, in this direction alone.
NEIGHBOURS = {
    "_data": {"_kernels"},
    "linear_model": {"base"},
    "inspection": {"model_selection", "ensemble"},
    "export": {"ensemble"},
}
ROOMS = [room for floor in FLOORS for room in floor]
ARROWS = {
    room: set().union(*FLOORS[:number]) | NEIGHBOURS.get(room, set())
    for number, floor in enumerate(FLOORS)
    for room in floor
}

# Rooms to which anyone may add a file of the kind that CONTRIBUTING.md describes.
OF_ONE_KIND = {"losses", "metrics", "linear_model", "_kernels"}

OPTIONAL = {"pandas", "polars", "torch", "dask", "matplotlib"}

# Lines of a file, and lines of code (without docstring, comments and blanks) of a
# function, by the suffix of the file.
LONGEST_FILE = {".py": 400, ".pyx": 600, ".pxd": 600}
LONGEST_FUNCTION = {".py": 60, ".pyx": 100, ".pxd": 100}
# What is longer still, and how long exactly; to be mended, never to be added to, and to
# be taken off the list with the same change.
LONG_FILES = {}
LONG_FUNCTIONS = {}


def name_of(path):
    """Return the dotted name of a module from its file."""
    parts = path.relative_to(SOURCES.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = sorted(path for path in SOURCES.rglob("*") if path.suffix in LONGEST_FILE)
TEXTS = {path: path.read_text(encoding="utf-8") for path in PATHS}
MODULES = {
    name_of(path): (ast.parse(text), path.name == "__init__.py")
    for path, text in TEXTS.items()
    if path.suffix == ".py"
}


def unit_of(name):
    """Return the part of a module's name right below skrank."""
    return [*name.split("."), ""][1]


def imported(nodes, name, is_package):
    """Return the full names that some import statements of a module ask for."""
    targets = []
    for node in nodes:
        if isinstance(node, ast.Import):
            targets += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parents = name.split(".") + ([""] if is_package else [])
                parents = parents[: -node.level]
                source = ".".join([*parents, source]).rstrip(".")
            # `from skrank import losses` is about the module losses, if there is one.
            modules = [f"{source}.{alias.name}" for alias in node.names]
            targets += [module if module in MODULES else source for module in modules]
    return targets


def at_top_level(tree):
    """Yield what runs when a module is imported: all but bodies of functions."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)


def wrong_arrows(name, tree, is_package):
    """Return the units that a module imports against the arrows."""
    own = unit_of(name)
    targets = {
        unit_of(target)
        for target in imported(ast.walk(tree), name, is_package)
        if target.split(".")[0] == "skrank"
    }
    return sorted(targets - {own} - set(ARROWS[own]))


def wrong_optional(name, tree, is_package):
    """Return the optional packages that importing a module needs."""
    targets = imported(at_top_level(tree), name, is_package)
    # skrank.neural is PyTorch, and says what to install where that is missing.
    own = {"torch"} if unit_of(name) == "neural" else set()
    return sorted({target.split(".")[0] for target in targets} & (OPTIONAL - own))


def is_code(line):
    return line.strip() != "" and not line.lstrip().startswith("#")


def functions_of(path):
    """Yield the name and the lines of code of each function of a file."""
    lines = TEXTS[path].splitlines()
    if path.suffix == ".py":
        tree, _ = MODULES[name_of(path)]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                own = lines[node.lineno - 1 : node.end_lineno]
                if ast.get_docstring(node) is not None:
                    text = node.body[0]
                    del own[
                        text.lineno - node.lineno : text.end_lineno + 1 - node.lineno
                    ]
                yield node.name, sum(map(is_code, own))
    else:
        yield from cython_functions(lines)


DEFINITION = re.compile(r"( *)(?:def |cp?def (?!class )[^=(]*?)\b(\w+)\(")


def cython_functions(lines):
    """Yield the name and the lines of code of each function of Cython source."""
    for first, line in enumerate(lines):
        begun = DEFINITION.match(line)
        if begun is None:
            continue
        stop = first + 1
        while lines[first:stop] and not is_whole("\n".join(lines[first:stop])):
            stop += 1
        if not lines[stop - 1].rstrip().endswith(":"):
            continue  # only declared, or all on one line
        while stop < len(lines) and (
            not is_code(lines[stop]) or lines[stop].startswith(begun[1] + " ")
        ):
            stop += 1
        text = "\n".join(lines[first:stop])
        text = re.sub(r'"""[\s\S]*?"""', "", text, count=1)
        yield begun[2], sum(map(is_code, text.splitlines()))


def is_whole(signature):
    return signature.count("(") == signature.count(")")


def test_the_whole_package_is_looked_at():
    assert {"skrank", "skrank._data.lists", "skrank.losses.base"} <= set(MODULES)
    assert any(path.suffix == ".pyx" for path in PATHS)


def test_each_module_has_its_place():
    assert {unit_of(name) for name in MODULES} <= set(ARROWS), "place it in FLOORS"


def test_the_page_of_architecture_names_each_file_in_its_room():
    page = (SOURCES.parent / "doc" / "architecture.md").read_text(encoding="utf-8")
    listed = {}
    for item in re.split(r"\n- ", page.partition("\n## Files\n")[2])[1:]:
        title, _, text = item.partition(":")
        for room in re.findall(r"\*\*`(\w+)`\*\*", title):
            listed[room] = set(re.findall(r"`(\w+)`", text))
    files = {}
    for path in PATHS:
        room, *_ = path.relative_to(SOURCES).with_suffix("").parts
        # A new loss, metric, ranker, kernel or display is one file and one line.
        is_member = room in OF_ONE_KIND or path.stem.endswith("_display")
        if path.stem != "__init__" and not is_member:
            files.setdefault(room, set()).add(path.stem)
    missing = {room: names - listed.get(room, set()) for room, names in files.items()}
    assert {room: names for room, names in missing.items() if names} == {}


def test_imports_follow_the_arrows():
    wrong = {name: wrong_arrows(name, *module) for name, module in MODULES.items()}
    assert {name: units for name, units in wrong.items() if units} == {}


def circle_of(arrows):
    """Return modules that import each other in a circle, or an empty list."""
    finished = set()

    def visit(name, path):
        if name in path:
            return path[path.index(name) :]
        if name in finished:
            return []
        for target in sorted(arrows.get(name, ())):
            circle = visit(target, [*path, name])
            if circle:
                return circle
        finished.add(name)
        return []

    return next(filter(None, (visit(name, []) for name in sorted(arrows))), [])


def test_no_modules_import_each_other_in_a_circle():
    arrows = {
        name: set(imported(ast.walk(tree), name, is_package)) & set(MODULES) - {name}
        for name, (tree, is_package) in MODULES.items()
    }
    assert circle_of(arrows) == []


def test_a_circle_of_imports_would_be_seen():
    assert circle_of({"a": {"b", "d"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert circle_of({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_optional_packages_are_imported_only_where_they_are_used():
    wrong = {name: wrong_optional(name, *module) for name, module in MODULES.items()}
    assert {name: packages for name, packages in wrong.items() if packages} == {}


def test_one_function_warns_for_all_so_that_users_see_their_own_line():
    warning = set()
    for name, (tree, _) in MODULES.items():
        called = {
            ast.unparse(node.func)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
        }
        if called & {"warnings.warn", "warnings.warn_explicit"}:
            warning.add(name)
    assert warning == {"skrank._data.warnings"}


def test_what_is_listed_as_long_must_go_once_it_is_mended():
    assert differs_from_listed({}, {"mended.py": 471}) == {"mended.py": 0}
    assert differs_from_listed({"a.py": 450}, {"a.py": 471}) == {"a.py": 450}
    assert differs_from_listed({"a.py": 471}, {"a.py": 471}) == {}
    assert differs_from_listed({"new.py": 401}, {}) == {"new.py": 401}


def differs_from_listed(long, listed):
    """Return the sizes that differ from those listed; 0 is short enough now."""
    return {
        name: long.get(name, 0)
        for name in sorted({*long, *listed})
        if long.get(name) != listed.get(name)
    }


def test_files_are_short():
    long = {}
    for path, text in TEXTS.items():
        n_lines = len(text.splitlines())
        if n_lines > LONGEST_FILE[path.suffix]:
            long[str(path.relative_to(SOURCES))] = n_lines
    assert differs_from_listed(long, LONG_FILES) == {}


def test_functions_are_short():
    long = {}
    for path in PATHS:
        for name, n_lines in functions_of(path):
            if n_lines > LONGEST_FUNCTION[path.suffix]:
                long[f"{path.relative_to(SOURCES)}: {name}"] = n_lines
    assert differs_from_listed(long, LONG_FUNCTIONS) == {}


def headers():
    """Yield each compiled kernel with the docstring at its head."""
    for path in PATHS:
        if path.suffix == ".pyx":
            header = re.match(r'r?"""([\s\S]*?)"""', TEXTS[path])
            yield path.name, "" if header is None else header[1]


def test_kernels_begin_with_a_recurrence():
    formula = re.compile("\n    .*(=|<-|sum_)")
    without = [name for name, text in headers() if formula.search(text) is None]
    assert without == []


def test_kernels_name_sections_of_doc_math_that_exist():
    sections = {}
    for page in (SOURCES.parent / "doc" / "math").glob("*.md"):
        titles = re.findall("^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        sections[f"doc/math/{page.name}"] = set(titles)
    for name, text in headers():
        text = " ".join(text.split())
        named = re.search(r"See (doc/math/\w+\.md), sections? (.*)\.$", text)
        assert named is not None, f"{name} must name its section of doc/math at its end"
        titles = re.findall('"(.+?)"', named[2])
        assert titles, f"{name} must name a section in quotes"
        assert set(titles) <= sections[named[1]], name


def test_lines_of_functions_in_cython_are_counted():
    source = '''
cdef inline double one(double a, double* b) noexcept nogil:
    """Say.

    More.
    """
    # Why.
    cdef double c = a

    return c


def two(
    const double[::1] a,
    int b=(1 + 2),
):
    cdef int i
    for i in range(3):
        pass
    return a
cdef double[:, ::1] three(): return None
x = one(1)
'''
    counted = dict(cython_functions(source.splitlines()))
    assert counted["one"] == 3
    assert counted["two"] == 8


@pytest.mark.parametrize(
    ("name", "code", "units"),
    [
        ("skrank._data.lists", "import skrank.losses.base", ["losses"]),
        ("skrank._data.lists", "from skrank._data.grouping import group_rows", []),
        ("skrank.losses.a", "from ..metrics import ndcg_score", ["metrics"]),
        ("skrank.losses.a", "from .base import Loss", []),
        ("skrank.losses.a", "from skrank import Lists", [""]),
        ("skrank.metrics.a", "from skrank import linear_model", ["linear_model"]),
        ("skrank.datasets.a", "def f():\n import skrank._fit.objective", ["_fit"]),
        ("skrank.linear_model.a", "from skrank.base import RankerMixin", []),
        ("skrank.base", "from skrank.linear_model import A", ["linear_model"]),
        ("skrank.neural.a", "from skrank._cli.main import main", ["_cli"]),
    ],
)
def test_an_arrow_the_wrong_way_would_be_seen(name, code, units):
    assert wrong_arrows(name, ast.parse(code), False) == units


@pytest.mark.parametrize(
    ("code", "packages"),
    [
        ("import pandas as pd", ["pandas"]),
        ("try:\n from torch import nn\nexcept ImportError:\n pass", ["torch"]),
        ("class A:\n import matplotlib.pyplot", ["matplotlib"]),
        ("def f():\n import pandas", []),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n import polars", []),
    ],
)
def test_an_optional_package_at_the_top_would_be_seen(code, packages):
    assert wrong_optional("skrank.a", ast.parse(code), False) == packages


def test_torch_alone_is_free_to_the_neural_rankers():
    tree = ast.parse("import torch, pandas")
    assert wrong_optional("skrank.neural.a", tree, False) == ["pandas"]
    assert wrong_optional("skrank.losses.a", tree, False) == ["pandas", "torch"]
