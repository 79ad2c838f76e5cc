"""Examples in docstrings run, and public names have them."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import skrank

NAMES = ["skrank"] + [
    module.name
    for module in pkgutil.walk_packages(skrank.__path__, "skrank.")
    if not module.name.endswith("__main__")
]
PUBLIC_MODULES = [
    name for name in NAMES if not any(part.startswith("_") for part in name.split("."))
]
SECTION = r"^{}\n-+$"


def load(name):
    """Import a module; skip where it needs PyTorch and that is missing."""
    if name.startswith("skrank.neural"):
        pytest.importorskip("torch", reason="skrank.neural needs PyTorch")
    if name.startswith("skrank.dask"):
        pytest.importorskip("dask", reason="skrank.dask needs dask")
    if name.endswith("_display"):
        pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
    return importlib.import_module(name)


@pytest.mark.parametrize("name", NAMES)
def test_examples_in_docstrings_run(name):
    module = load(name)
    result = doctest.testmod(module)
    assert result.failed == 0, "see the captured output"


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_public_names_have_a_docstring_with_an_example(name):
    module = load(name)
    assert module.__doc__, f"{name} has no docstring"
    for public in getattr(module, "__all__", ()):
        thing = getattr(module, public)  # __all__ names nothing that is not there
        if inspect.isclass(thing) or inspect.isroutine(thing):
            assert has_example(thing), f"{name}.{public} has no section Examples"


def has_example(thing):
    """Return whether a thing's own docstring has an example that runs."""
    text = inspect.cleandoc(thing.__doc__ or "")
    match = re.search(SECTION.format("Examples"), text, flags=re.MULTILINE)
    return match is not None and ">>>" in text[match.end() :]


def parameters_of(docstring):
    """Return the text of each parameter in a numpydoc docstring, without default."""
    text = inspect.cleandoc(docstring)
    sections = re.split(r"^(\w[\w ]*)\n-+$", text, flags=re.MULTILINE)
    if "Parameters" not in sections:
        return {}
    body = sections[sections.index("Parameters") + 1]
    described = {}
    # An unindented line names parameters and their type; what is indented explains.
    for entry in re.split(r"\n(?=\S)", body.strip("\n")):
        header, _, explanation = entry.partition("\n")
        names, _, kind = header.partition(" : ")
        kind = re.sub(r",? *default=.*", "", kind)
        for name in names.split(", "):
            described[name] = (kind, " ".join(explanation.split()))
    return described


def differing(docstrings):
    """Return parameters whose text differs between docstrings, with the owners."""
    texts = {}
    for owner, docstring in docstrings.items():
        for parameter, text in parameters_of(docstring).items():
            texts.setdefault(parameter, {}).setdefault(text, []).append(owner)
    return {name: list(of.values()) for name, of in texts.items() if len(of) > 1}


# Parameters of rankers that mean another thing in another ranker: what is drawn at
# random, what is divided, which items or levels are learned.
OWN_IN_RANKERS = {"random_state"}


def test_parameters_of_one_meaning_in_all_rankers_have_one_text():
    linear_model = importlib.import_module("skrank.linear_model")
    exported = getattr(linear_model, "__all__", ())
    rankers = {
        name: getattr(linear_model, name).__doc__
        for name in exported
        if name.endswith("Ranker")
    }
    assert rankers or not exported, "no ranker among the public names"
    for name, docstring in rankers.items():
        parameters = inspect.signature(getattr(linear_model, name)).parameters
        assert sorted(parameters_of(docstring)) == sorted(parameters), name
    assert set(differing(rankers)) <= OWN_IN_RANKERS


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_fit_to_labels_says_what_to_do_where_1_is_the_best(name):
    module = load(name)
    for public in getattr(module, "__all__", ()):
        fit = getattr(getattr(module, public), "fit", None)
        if fit is None or "groups" not in inspect.signature(fit).parameters:
            continue
        text = parameters_of(fit.__doc__).get("y", "")
        assert "from_ranks" in text or "Labels" not in text, f"{name}.{public}"


@pytest.mark.parametrize("page", ["README.md", "doc/guide.md", "doc/start/races.md"])
def test_pages_say_what_to_do_where_1_is_the_best(page):
    text = (Path(__file__).resolve().parents[1] / page).read_text("utf-8")
    assert "from_ranks" in text


# Parameters whose meaning differs from one metric to the next: which labels there may
# be, what k divides, which tools there are, and whether a list can be undefined.
OWN_IN_METRICS = {"y_true", "k", "average", "convention"}


def test_parameters_of_one_meaning_in_all_metrics_have_one_text():
    metrics = importlib.import_module("skrank.metrics")
    docstrings = {
        name: getattr(metrics, name).__doc__
        for name in metrics.__all__
        if name.endswith("_score") and name != "click_score"  # it samples some ties
    }
    for name, docstring in docstrings.items():
        parameters = inspect.signature(getattr(metrics, name)).parameters
        assert list(parameters_of(docstring)) == list(parameters), name
    assert set(differing(docstrings)) <= OWN_IN_METRICS


ALPHA = """Rank.

    Parameters
    ----------
    alpha, beta : float, default=0.1
        Strength of
        the penalty.
    normalize : {None, "size"}, default=None
        Divide.

    Attributes
    ----------
    coef_ : ndarray
        Weights.
    """


def test_parameters_are_read_from_docstrings():
    assert parameters_of(ALPHA) == {
        "alpha": ("float", "Strength of the penalty."),
        "beta": ("float", "Strength of the penalty."),
        "normalize": ('{None, "size"}', "Divide."),
    }
    assert parameters_of("Rank.") == {}


def test_other_words_or_types_would_be_seen_and_other_defaults_are_none():
    assert differing({"a": ALPHA, "b": ALPHA.replace("=None", '="size"')}) == {}
    other = ALPHA.replace("Divide", "Multiply")
    assert differing({"a": ALPHA, "b": other, "c": ALPHA}) == {
        "normalize": [["a", "c"], ["b"]]
    }
    assert set(differing({"a": ALPHA, "b": ALPHA.replace("float", "int")})) == {
        "alpha",
        "beta",
    }


def test_a_missing_example_would_be_seen():
    def without():
        """Do."""

    def empty():
        """Do.

        Examples
        --------
        None yet.
        """

    assert not has_example(without)
    assert not has_example(empty)
    assert has_example(skrank.with_groups)
