"""Imports inside skrank go one way, as DESIGN.md's layout says."""

import ast
import importlib.util
import pkgutil

import pytest

import skrank

BOTTOM = ("_lists", "_groups", "_kernels", "_checks", "_warnings")
# What each unit may import besides itself. A new unit must be placed here.
ARROWS = {
    "_lists": (),
    "_threads": (),
    "_kernels": (),
    "_warnings": (),
    "_checks": ("_lists",),
    "_groups": ("_lists", "_checks"),
    "_ranks": BOTTOM,
    "_features": BOTTOM,
    "_plackett_luce": BOTTOM,
    "losses": (*BOTTOM, "_features"),
    "metrics": (*BOTTOM, "_features", "_ranks"),
    "datasets": BOTTOM,
    "interop": BOTTOM,
    "preprocessing": BOTTOM,
}
BELOW_OBJECTIVE = (*BOTTOM, "_features", "losses", "metrics")
ARROWS["_objective"] = (*BELOW_OBJECTIVE, "_threads")
ARROWS["_solvers"] = (*BELOW_OBJECTIVE, "_objective")
ARROWS["_stochastic"] = (*ARROWS["_solvers"], "_solvers")
ARROWS["_partitions"] = BOTTOM
ARROWS["_inference"] = (*BELOW_OBJECTIVE, "_objective")
ARROWS["base"] = (*BELOW_OBJECTIVE, "_objective", "_solvers")
MODELS = ("base", "_stochastic", "_inference", "_plackett_luce", "_partitions")
ARROWS["linear_model"] = (*ARROWS["base"], *MODELS)
ARROWS["model_selection"] = (*ARROWS["linear_model"], "linear_model")
ARROWS["inspection"] = (*ARROWS["model_selection"], "model_selection")
EVERYTHING_ELSE = (*ARROWS, "")  # "" is skrank itself
ARROWS["neural"] = EVERYTHING_ELSE
SHELL = (
    "_settings",
    "_table",
    "_folds",
    "_paper",
    "_paper_tables",
    "_options",
    "__main__",
)
ARROWS["_settings"] = ()
ARROWS["_table"] = (*BOTTOM, "model_selection", "preprocessing")
ARROWS["_folds"] = (*BOTTOM, "datasets", "model_selection")
ARROWS["_paper"] = (*ARROWS["_table"], "linear_model", "_settings")
ARROWS["_paper_tables"] = (*ARROWS["_table"], "_settings", "_table", "_paper")
ARROWS["_options"] = (*BOTTOM, "", "model_selection", "_folds", "_paper")
ARROWS["__main__"] = (*EVERYTHING_ELSE, "neural", *SHELL)
# skrank/__init__.py lists public names, so it may import all but the shell command.
ARROWS[""] = tuple(unit for unit in ARROWS if unit not in SHELL)

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
    assert {"skrank", "skrank._lists", "skrank._groups", "skrank.losses.base"} <= set(
        MODULES
    )


@pytest.mark.parametrize("name", MODULES)
def test_each_module_has_its_place(name):
    assert unit_of(name) in ARROWS, "place the new unit in ARROWS, as in DESIGN.md"


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
    own = {"skrank._warnings": {"warnings.warn"}}
    assert called & {"warnings.warn", "warnings.warn_explicit"} == own.get(name, set())


@pytest.mark.parametrize(
    ("name", "code", "units"),
    [
        ("skrank._lists", "from skrank._groups import group_rows", ["_groups"]),
        ("skrank._lists", "import skrank.losses.base", ["losses"]),
        ("skrank.losses.a", "from ..metrics import ndcg_score", ["metrics"]),
        ("skrank.losses.a", "from .base import Loss", []),
        ("skrank.losses.a", "from skrank import Lists", [""]),
        ("skrank.metrics.a", "from skrank import linear_model", ["linear_model"]),
        ("skrank.datasets.a", "def f():\n import skrank._objective", ["_objective"]),
        ("skrank.linear_model.a", "from skrank.base import RankerMixin", []),
        ("skrank.neural.a", "from skrank.__main__ import main", ["__main__"]),
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
