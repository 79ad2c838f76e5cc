"""Change one operator or constant at a time, and see whether the tests notice.

``python tools/mutate.py`` goes through ``TARGETS``: for each source file it draws some
mutants (one operator or constant of a function changed), runs the tests of that file
alone against each, and prints those that all tests let pass. A mutant that cannot
matter is listed with its reason in ``tools/mutants.txt``; the others ask for a test.

Each mutant runs in a fork of a process that has imported everything but skrank, so
that it costs the tests and little else (Linux and macOS). Messages, signatures and
declared constraints are left alone.

``python tools/mutate.py --kernels`` applies the changes of formulas in
``tools/kernel_mutants.txt``, each of which must be noticed; skrank must be installed
editable, and is built again for each. Half an hour.
"""

import argparse
import ast
import copy
import importlib.machinery
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LISTED = ROOT / "tools" / "mutants.txt"
KERNELS = ROOT / "tools" / "kernel_mutants.txt"
LIMIT = 400  # seconds of the tests of one mutant; beyond it, it is noticed

TARGETS = {
    "skrank/_data/grouping.py": ["_data/test_groups.py", "_data/test_other_kinds.py"],
    "skrank/_data/groups.py": ["_data/test_groups.py", "_data/test_other_kinds.py"],
    "skrank/_data/lists.py": ["_data/test_lists.py"],
    "skrank/_data/checks.py": ["_data/test_checks.py", "_data/test_other_kinds.py"],
    "skrank/_data/weights.py": ["_data/test_weights.py"],
    "skrank/_data/ranks.py": ["_data/test_ranks.py"],
    "skrank/_data/cut_lists.py": ["_data/test_cut_lists.py"],
    "skrank/_fit/objective.py": ["_fit/test_objective.py"],
    "skrank/_fit/penalty.py": ["_fit/test_penalty.py"],
    "skrank/_fit/curvature.py": ["_fit/test_curvature.py"],
    "skrank/_fit/lbfgs.py": ["_fit/test_lbfgs.py"],
    "skrank/_fit/features.py": ["_fit/test_features.py"],
    "skrank/_fit/stochastic.py": ["_fit/test_stochastic.py"],
    "skrank/_probability/covariance.py": [
        "_probability/test_covariance.py",
        "_probability/test_summary.py",
    ],
    "skrank/_probability/intervals.py": ["inspection/test_proba.py"],
    "skrank/_probability/nested.py": ["inspection/test_nested_tests.py"],
    "skrank/_probability/nestedness.py": ["inspection/test_nested_tests.py"],
    "skrank/_probability/likelihood.py": ["linear_model/test_likelihood.py"],
    "skrank/_probability/pairs.py": ["linear_model/test_pair_models.py"],
    "skrank/_probability/partitions.py": ["_probability/test_partitions.py"],
    "skrank/_probability/plackett_luce.py": ["_probability/test_plackett_luce.py"],
    "skrank/losses/_gains.py": ["losses/test_listnet.py", "losses/test_ranknet.py"],
    "skrank/losses/_pairs.py": ["losses/test_ranknet.py", "losses/test_ranksvm.py"],
    "skrank/losses/_partition.py": ["losses/test_pmop.py"],
    "skrank/losses/_samplers.py": ["losses/test_samplers.py"],
    "skrank/losses/_ties.py": ["losses/test_tie_losses.py"],
    "skrank/losses/davidsonluce.py": ["losses/test_davidsonluce.py"],
    "skrank/losses/listmle.py": [
        "losses/test_listmle.py",
        "losses/test_stage_weights.py",
    ],
    "skrank/losses/listnet.py": ["losses/test_listnet.py"],
    "skrank/losses/pmop.py": ["losses/test_pmop.py"],
    "skrank/losses/ranknet.py": ["losses/test_ranknet.py"],
    "skrank/losses/rankregression.py": ["losses/test_rankregression.py"],
    "skrank/losses/ranksvm.py": ["losses/test_ranksvm.py"],
    "skrank/metrics/_average.py": ["metrics/test_average.py", "metrics/test_gain.py"],
    "skrank/metrics/_average_precision.py": ["metrics/test_binary.py"],
    "skrank/metrics/_cascade.py": ["metrics/test_cascade.py"],
    "skrank/metrics/_correlation.py": ["metrics/test_correlation.py"],
    "skrank/metrics/_first_hit.py": ["metrics/test_binary.py"],
    "skrank/metrics/_gain.py": ["metrics/test_gain.py"],
    "skrank/metrics/_intervals.py": [
        "metrics/test_clusters.py",
        "metrics/test_significance.py",
    ],
    "skrank/metrics/_paired_tests.py": [
        "metrics/test_clusters.py",
        "metrics/test_significance.py",
    ],
    "skrank/metrics/_pairs.py": ["metrics/test_pairs.py"],
    "skrank/metrics/_precision.py": ["metrics/test_binary.py"],
    "skrank/metrics/_preference.py": ["metrics/test_binary.py"],
    "skrank/metrics/_recall.py": ["metrics/test_binary.py"],
    "skrank/metrics/_relevant.py": ["metrics/test_binary.py"],
    "skrank/preprocessing/_blocks.py": ["preprocessing/test_second_order.py"],
    "skrank/preprocessing/_kept.py": ["preprocessing/test_second_order.py"],
    "skrank/preprocessing/_list_scales.py": [
        "preprocessing/test_query_scaler.py",
        "preprocessing/test_shrinkage.py",
    ],
    "skrank/preprocessing/_products.py": ["preprocessing/test_second_order.py"],
    "skrank/preprocessing/_query_scaler.py": [
        "preprocessing/test_query_scaler.py",
        "preprocessing/test_shrinkage.py",
    ],
    "skrank/preprocessing/_second_order.py": ["preprocessing/test_second_order.py"],
    "skrank/preprocessing/_shrinkage.py": ["preprocessing/test_shrinkage.py"],
}

OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


def name_of(operator):
    return type(operator).__name__


class Mutator(ast.NodeTransformer):
    """Count the places that can be changed, and change the one of a number.

    Parameters
    ----------
    wanted : int
        Number of the place; -1 changes none.
    """

    def __init__(self, wanted=-1):
        self.wanted = wanted
        self.places = []  # line and change of each

    def changes(self, node, what):
        """Note a place, and tell whether it is the one to change."""
        self.places.append((node.lineno, what))
        return len(self.places) - 1 == self.wanted

    def visit_Raise(self, node):
        return node

    def visit_Assign(self, node):
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if names & {"__all__", "_parameter_constraints", "message"}:
            return node
        return self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if node.value is not None and "_constraints" not in ast.unparse(node.target):
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node):
        if node.name in ("__sklearn_tags__", "__repr__"):
            return node
        node.body = [self.visit(part) for part in node.body]
        return node

    def visit_Call(self, node):
        called = ast.unparse(node.func)
        if called in ("warn", "registered") or called.startswith(
            ("logging", "validate_params")
        ):
            return node
        return self.generic_visit(node)

    def visit_JoinedStr(self, node):
        return node

    def visit_BinOp(self, node):
        node = self.generic_visit(node)
        other = OPERATORS.get(type(node.op))
        if other and self.changes(node, f"{name_of(node.op)} to {other.__name__}"):
            node.op = other()
        return node

    visit_AugAssign = visit_BinOp
    visit_BoolOp = visit_BinOp

    def visit_Compare(self, node):
        node = self.generic_visit(node)
        for place, op in enumerate(node.ops):
            other = OPERATORS[type(op)]
            if self.changes(node, f"{name_of(op)} to {other.__name__}"):
                node.ops[place] = other()
        return node

    def visit_UnaryOp(self, node):
        node = self.generic_visit(node)
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert) and self.changes(
            node, f"{name_of(node.op)} dropped"
        ):
            return node.operand
        return node

    def visit_Constant(self, node):
        value = node.value
        if value is None or isinstance(value, str | bytes) or value is Ellipsis:
            return node
        other = value + 1 if isinstance(value, int) else value * 1.5 or 1.0
        if isinstance(value, bool):
            other = not value
        if self.changes(node, f"{value!r} to {other!r}"):
            return ast.copy_location(ast.Constant(other), node)
        return node


def places_of(tree):
    """Return the line and the change of each mutant of a module."""
    counting = Mutator()
    counting.visit(copy.deepcopy(tree))
    return counting.places


def listed():
    """Return the mutants that cannot matter: (file, source line, change)."""
    return {(path, source, change) for path, source, change, _ in table(LISTED)}


def table(path):
    """Return the four columns of each line of a list of mutants."""
    rows = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            first, rest = line.split(" | ", 1)
            columns = [first, *rest.rsplit(" | ", 2)]  # a source may have " | " itself
            rows.append(tuple(map(str.strip, columns)))
    return rows


def import_what_tests_need():
    """Import all that tests need, once for all mutants; forks forget skrank again."""
    import hypothesis
    import pandas
    import polars
    import pytest
    import scipy.optimize
    import scipy.sparse
    import scipy.stats
    import sklearn.linear_model
    import sklearn.model_selection
    import sklearn.pipeline
    import sklearn.utils.estimator_checks
    import statsmodels.api  # noqa: F401

    import skrank.datasets
    import skrank.interop
    import skrank.metrics
    import skrank.model_selection
    import skrank.preprocessing  # noqa: F401

    # An editable install looks for work of the build on the first import, once a
    # process, so that forks need not.
    for finder in sys.meta_path:
        if hasattr(finder, "_rebuild"):
            finder._rebuild()
    return hypothesis, pandas, polars, pytest, scipy, sklearn


def load_as(path, tree):
    """Let an import of a file give this syntax tree."""
    for name in list(sys.modules):
        if name.split(".")[0] == "skrank" and "._kernels" not in name:
            del sys.modules[name]
    loader = importlib.machinery.SourceFileLoader
    get_code = loader.get_code

    def get_mutant(self, name):
        if Path(self.path) == path:
            return compile(tree, str(path), "exec")
        return get_code(self, name)

    loader.get_code = get_mutant


def is_noticed(path, tree, tests):
    """Run tests against a tree in a fork; tell whether they fail."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        status = 1
        try:
            import pytest

            signal.alarm(LIMIT)
            load_as(path, tree)
            status = pytest.main(
                ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", *tests]
            )
        finally:
            os._exit(int(status))
    _, status = os.waitpid(child, 0)
    return status != 0


def mutants_of(target, most, rng):
    """Yield (line, change, tree) of some mutants of a file."""
    path = ROOT / target
    tree = ast.parse(path.read_text())
    places = places_of(tree)
    for number in sorted(rng.sample(range(len(places)), min(most, len(places)))):
        mutant = ast.fix_missing_locations(Mutator(number).visit(copy.deepcopy(tree)))
        yield (*places[number], mutant)


def run(targets, most, seed):
    """Print the mutants of some files that no test notices, and how many do."""
    rng = random.Random(seed)
    excused = listed()
    import_what_tests_need()
    total = noticed = excused_count = 0
    for target, tests in targets.items():
        path = ROOT / target
        lines = path.read_text().splitlines()
        files = [str(ROOT / "tests" / test) for test in tests]
        begun, of_file, missed = time.monotonic(), 0, 0
        if is_noticed(path, ast.parse(path.read_text()), files):
            print(f"{target}: its tests fail without a change", flush=True)
            continue
        for line, change, tree in mutants_of(target, most, rng):
            source = lines[line - 1].strip()
            if (target, source, change) in excused:
                excused_count += 1
                continue
            of_file += 1
            if not is_noticed(path, tree, files):
                missed += 1
                print(f"{target} | {source} | {change} | line {line}", flush=True)
        total, noticed = total + of_file, noticed + of_file - missed
        seconds = time.monotonic() - begun
        print(f"{target}: {of_file - missed} of {of_file}, {seconds:.0f} s", flush=True)
    share = noticed / max(total, 1)
    print(f"{noticed} of {total} noticed ({share:.1%}), {excused_count} cannot matter")
    return total == noticed


def run_kernels():
    """Print the changes of kernels' formulas that no test notices."""
    all_noticed = True
    for file, written, other, tests in table(KERNELS):
        path = ROOT / "skrank" / "_kernels" / file
        source = path.read_text()
        if source.count(written) != 1:
            sys.exit(f"{file}: {written!r} is there {source.count(written)} times")
        path.write_text(source.replace(written, other))
        try:
            done = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "pytest",
                    "-x",
                    "-q",
                    *(str(ROOT / "tests" / test) for test in tests.split()),
                ],
                capture_output=True,
                check=False,
            )
        finally:
            path.write_text(source)
        if done.returncode == 0:
            all_noticed = False
        print(f"{file} | {written} | {other} | {done.returncode}", flush=True)
    return all_noticed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", action="store_true", help="mutants of kernels")
    parser.add_argument("--most", type=int, default=12, help="mutants of each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("only", nargs="*", help="files, of TARGETS")
    options = parser.parse_args()
    if options.kernels:
        sys.exit(not run_kernels())
    targets = {name: TARGETS[name] for name in options.only or TARGETS}
    sys.exit(not run(targets, options.most, options.seed))


if __name__ == "__main__":
    main()
