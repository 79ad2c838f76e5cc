"""Imports inside skrank go one way, as doc/architecture.md says."""

import ast
import importlib.util
import pkgutil

import pytest

import skrank

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

OPTIONAL = {"pandas", "polars", "torch", "dask", "matplotlib"}


def python_modules():
    """Return the installed modules as a dictionary from name to parsed source."""
    names = ["skrank"]
    names += [
        module.name for module in pkgutil.walk_packages(skrank.__path__, "skrank.")
    ]
    trees = {}
    for name in names:
        origin = importlib.util.find_spec(name).origin
        if origin.endswith(".py"):
            with open(origin, encoding="utf-8") as source:
                trees[name] = (ast.parse(source.read()), origin.endswith("__init__.py"))
    return trees


MODULES = python_modules()


def unit_of(name):
    """Return the part of a module's name right below skrank."""
    return [*name.split("."), ""][1]


def imported(nodes, name, is_package):
    """Return the full names that some import statements of a module ask for."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parents = name.split(".") + ([""] if is_package else [])
                parents = parents[: -node.level]
                source = ".".join([*parents, source]).rstrip(".")
            if source == "skrank":
                # `from skrank import losses` is about a unit, if there is one.
                found += [
                    f"skrank.{alias.name}" if alias.name in ARROWS else "skrank"
                    for alias in node.names
                ]
            else:
                found.append(source)
    return found


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


def test_the_whole_package_is_looked_at():
    assert {"skrank", "skrank._data.lists", "skrank.losses.base"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_each_module_has_its_place(name):
    assert unit_of(name) in ARROWS, "place the new room in FLOORS"


@pytest.mark.parametrize("name", MODULES)
def test_imports_follow_the_arrows(name):
    assert wrong_arrows(name, *MODULES[name]) == []


@pytest.mark.parametrize("name", MODULES)
def test_optional_packages_are_imported_only_where_they_are_used(name):
    assert wrong_optional(name, *MODULES[name]) == []


@pytest.mark.parametrize("name", MODULES)
def test_one_function_warns_for_all_so_that_users_see_their_own_line(name):
    called = {
        ast.unparse(node.func)
        for node in ast.walk(MODULES[name][0])
        if isinstance(node, ast.Call)
    }
    own = {"skrank._data.warnings": {"warnings.warn"}}
    assert called & {"warnings.warn", "warnings.warn_explicit"} == own.get(name, set())


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
