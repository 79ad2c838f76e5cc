"""The comparison from a shell: what it prints, and how it fails."""

import gzip
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from skrank import linear_model, ranking_pipeline
from skrank._cli.main import main
from skrank._cli.rankers import COMPARED, compared
from skrank._cli.tables import RANDOM_ORDER
from skrank._cli.yardsticks import (
    BOOSTED,
    PIPELINE,
    POINTWISE,
    REFERENCES,
    SCALED,
    reference_of,
    yardsticks,
)
from skrank.datasets import load_letor, make_ranking
from skrank.linear_model import LinearRanker, RankNetRanker
from skrank.metrics import (
    bootstrap_interval,
    compare_scores,
    err_score,
    ndcg_score,
    pairwise_accuracy_score,
)
from skrank.model_selection import QueryKFold, RankerResult
from skrank.preprocessing import QueryScaler


def write_letor(path, X, y, groups):
    lines = [
        f"{label:g} qid:{group} "
        + " ".join(f"{i}:{value!r}" for i, value in enumerate(row.tolist(), start=1))
        for row, label, group in zip(X, y, groups, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def files(tmp_path):
    """Two files, 60 lists to learn from and 40 to rank, not standardised."""
    X, y, groups = make_ranking(
        100, list_size=(2, 12), n_features=5, n_informative=3, random_state=1
    )
    X = 3 * np.round(X, 3) + 1
    part = groups < 60
    train = write_letor(tmp_path / "train.txt", X[part], y[part], groups[part])
    test = write_letor(tmp_path / "test.txt", X[~part], y[~part], groups[~part])
    return train, test


def table_lines(printed):
    """Return the lines of the table, below its head, one for each ranker."""
    head, rule, *lines = printed.split("\n\n")[2].splitlines()
    assert head.startswith("ranker")
    assert set(rule) == {"-"}
    # A long name goes on in a second line, indented, after a comma or inside a word.
    text = "\n".join(lines).replace(",\n  ", ", ").replace("\n  ", "")
    return text.splitlines()


def table(printed):
    """Return the cells without marks, by the name of the ranker, in order."""
    rows = {}
    for line in table_lines(printed):
        name, cells = re.fullmatch(r"(.+?)((?: +[\d.]+[*~]?| +-)+)", line).groups()
        rows[re.sub(r" ?\[\d+\]", "", name).rstrip()] = re.sub(
            "[*~]", "", cells
        ).split()
    return rows


def declared():
    return [
        (name, settings)
        for name in linear_model.__all__
        for settings in compared(name, getattr(linear_model, name))
    ]


def command(*arguments, cwd, start=("-m", "skrank")):
    return subprocess.Popen(
        [sys.executable, *start, *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_without_arguments_every_declared_setting_has_a_row_of_numbers(tmp_path):
    process = command(cwd=tmp_path)
    out, err = process.communicate()
    assert process.returncode == 0
    rows = table(out)
    others = yardsticks(sparse=False, n_lists=50, n_jobs=1, seed=0)
    assert len(rows) == len(declared()) + len(others)
    assert all("-" not in rows[name] for name in others if name != RANDOM_ORDER)
    assert 'ListMLERanker(ties="order", stage_weights="position")' in rows  # p-ListMLE
    for name, settings in declared():
        values = [
            f'"{value}"' if isinstance(value, str) else str(value)
            for value in settings.values()
        ]
        pairs = [f"{key}={value}" for key, value in zip(settings, values, strict=True)]
        assert "-" not in rows[f"{name}({', '.join(pairs)})"]
    assert "-" not in rows["Ridge() pointwise"]
    # Progress only: a warning would have come with its class and file.
    assert all(line.startswith("fitting ") for line in err.splitlines())
    assert len(err.splitlines()) == len(rows)


def test_learned_rankings_beat_a_random_order(run):
    rows = table(run("--lists", 60))
    floor = [float(cell) for cell in rows.pop("(random order)")[:4]]
    for name, cells in rows.items():
        assert (np.array(cells[:4], dtype=float) > floor).all(), name


def test_random_order_is_the_mean_over_all_orders(run, tmp_path):
    # One row of two is relevant: ERR (1 + 1/2)/2 * p, NDCG@1 1/2.
    path = write_letor(
        tmp_path / "two.txt", np.array([[1.0], [2.0]]), np.array([0, 1]), [7, 7]
    )
    row = table(run(path, "--test", path))["(random order)"]
    assert row[:2] == [f"{0.5 * 0.75:.4f}", "0.5000"]


def test_rows_are_sorted_by_the_metric_best_first(run, files):
    for metric, column in (("ndcg@10", 3), ("err", 0), ("err@3", 4)):
        rows = table(run(*files[:1], "--test", files[1], "--metric", metric))
        values = [float(cells[column]) for cells in rows.values()]
        assert values == sorted(values, reverse=True)
        assert len(set(values)) > 1


def test_the_best_of_each_column_is_marked(run, files):
    out = run(files[0], "--test", files[1])
    marked = [re.findall(r"(0\.\d{4})([*~ ])", line)[:4] for line in table_lines(out)]
    for column in range(4):
        values = [float(cells[column][0]) for cells in marked]
        starred = [float(c[column][0]) for c in marked if c[column][1] == "*"]
        assert set(starred) == {max(values)}


@pytest.mark.parametrize("standardize", [True, False])
def test_numbers_equal_a_hand_written_loop_over_two_files(run, files, standardize):
    (X, y, g), (X_test, y_test, g_test) = load_letor(list(files))
    with config_context(enable_metadata_routing=True):  # which takes them as they are
        pipeline = ranking_pipeline().fit(X, y, groups=g)
        piped = pipeline.predict(X_test, groups=g_test)
    if standardize:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    options = () if standardize else ("--no-standardize",)
    rows = table(
        run(files[0], "--test", files[1], "--metric", "pairwise_accuracy", *options)
    )
    largest = max(y.max(), y_test.max())
    by_list = QueryScaler()
    Z = by_list.fit_transform(X, groups=g)
    Z_test = by_list.transform(X_test, groups=g_test)
    for name, scores in (
        ("RankNetRanker()", RankNetRanker().fit(X, y, g).predict(X_test)),
        ("Ridge() pointwise", Ridge().fit(X, y).predict(X_test)),
        (SCALED, Ridge().fit(Z, y).predict(Z_test)),
        (PIPELINE, piped),
    ):
        expected = [
            err_score(y_test, scores, g_test, max_grade=largest),
            *(ndcg_score(y_test, scores, g_test, k=k) for k in (1, 5, 10)),
            pairwise_accuracy_score(y_test, scores, g_test),
        ]
        assert rows[name][:5] == [f"{value:.4f}" for value in expected]


@pytest.mark.parametrize("n_folds", [None, 3])
def test_cross_validation_averages_over_lists_each_ranked_once(run, files, n_folds):
    X, y, groups = load_letor(files[0])
    values = []
    splitter = QueryKFold(n_folds or 5, shuffle=True, random_state=4)
    for train, test in splitter.split(X, y, groups):
        scaler = StandardScaler().fit(X[train])
        ranker = RankNetRanker(alpha=2.0)
        ranker.fit(scaler.transform(X[train]), y[train], groups[train])
        scores = ranker.predict(scaler.transform(X[test]))
        values.append(ndcg_score(y[test], scores, groups[test], k=5, average=None))
    options = () if n_folds is None else ("--cv", n_folds)
    out = run(files[0], "--alpha", 2, "--seed", 4, *options)
    assert table(out)["RankNetRanker()"][2] == (
        f"{np.nanmean(np.concatenate(values)):.4f}"
    )
    assert f"{n_folds or 5} folds of whole lists" in out
    assert ("by default, since neither" in out) == (n_folds is None)


def test_sparse_features_give_the_same_rankings(run, files):
    dense = table(run(files[0], "--test", files[1]))
    sparse = table(run(files[0], "--test", files[1], "--sparse"))
    # Within 1e-4 of a linear hinge's optimum few test lists change a rank or two.
    linear = 'RankSVMRanker(hinge="linear")'
    ours, theirs = (np.array(cells.pop(linear)[:4], float) for cells in (sparse, dense))
    np.testing.assert_allclose(ours, theirs, atol=0.03)
    # Scaling by list would fill zeros.
    assert dense.keys() - sparse.keys() == {SCALED, f"{SCALED}, tuned", PIPELINE}
    for name in sparse.keys() - {BOOSTED}:  # whose bins depend on centring
        assert sparse[name][:4] == dense[name][:4]


def test_gzip_and_string_queries_are_read(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a short name, so that no line is wrapped
    path = Path("a.gz")
    text = "".join(f"{i % 2} qid:q{i // 3} 1:{i * i % 7}\n" for i in range(30))
    path.write_bytes(gzip.compress(text.encode()))
    assert "10 lists, 30 rows, 1 feature\n" in run(path, "--cv", 2)


def test_threads_change_nothing(run, files):
    runs = (run(files[0], "--budget", "inf", "--n-jobs", n) for n in (1, 2))
    one, two = map(table, runs)
    assert {k: v[:4] for k, v in one.items()} == {k: v[:4] for k, v in two.items()}


def test_a_new_ranker_appears_by_itself(run, monkeypatch):
    class NewRanker(RankNetRanker):
        pass

    settings = ({"tol": 0.5}, {"normalize": "terms"})
    monkeypatch.setitem(COMPARED, "NewRanker", settings)
    monkeypatch.setattr(linear_model, "NewRanker", NewRanker, raising=False)
    monkeypatch.setattr(linear_model, "__all__", [*linear_model.__all__, "NewRanker"])
    rows = table(run("--lists", 10))
    assert {"NewRanker(tol=0.5)", 'NewRanker(normalize="terms")'} <= set(rows)
    assert not any(name.startswith("LinearRanker") for name in rows)


def test_a_long_name_takes_a_line_of_its_own(run, monkeypatch):
    settings = {"normalize": "terms", "max_iter": 123456, "tol": 0.123456789}
    monkeypatch.setitem(COMPARED, "RankNetRanker", (settings,))
    assert "tol=0.123456789" in run("--lists", 10)


def test_a_ranker_that_fails_shows_why_and_the_rest_go_on(run, monkeypatch):
    class Broken(LinearRanker):
        def fit(self, X, y, groups=None):
            raise RuntimeError("no\nluck")

    monkeypatch.setattr(linear_model, "LinearRanker", Broken)
    monkeypatch.setitem(COMPARED, "LinearRanker", ({},))
    out = run("--lists", 10)
    rows = table(out)
    assert rows["LinearRanker()"] == ["-"] * 5
    assert "-" not in rows["RankNetRanker()"]
    mark = re.search(r"LinearRanker\(\) \[(\d)\]", out).group(1)
    assert f"[{mark}] failed: no luck\n" in out


def test_warnings_become_numbered_notes(run):
    out = run("--lists", 10)
    mark = re.search(r'ListMLERanker\(ties="order"\) \[(\d)\]', out).group(1)
    assert re.search(rf"^\[{mark}\] .*order of rows", out, flags=re.MULTILINE)


def test_metrics_that_do_not_apply_are_dashes_with_a_reason(run, tmp_path):
    X, y, groups = make_ranking(20, n_features=3, n_informative=2, random_state=0)
    path = write_letor(tmp_path / "negative.txt", X, y - 1, groups)
    out = run(path, "--metric", "pairwise_accuracy")
    rows = table(out)
    assert rows["RankNetRanker()"][:4] == ["-"] * 4
    assert float(rows["RankNetRanker()"][4]) > 0.5
    assert rows['ListNetRanker(target="gain")'] == ["-"] * 6
    flat = " ".join(out.split())
    assert "NDCG@1, NDCG@5, NDCG@10 not shown: ndcg_score needs labels" in flat
    assert "ERR not shown: err_score" in flat


@pytest.mark.parametrize(
    ("label", "reason"), [(0, "all labels are 0"), (-1, "no label is above 0")]
)
def test_labels_without_a_grade_are_told(run, tmp_path, label, reason):
    X, _, groups = make_ranking(4, n_features=2, n_informative=2, random_state=0)
    path = write_letor(tmp_path / "flat.txt", X, np.full(len(X), label), groups)
    out = run(path, "--cv", 2)
    assert f"ERR not shown: {reason}" in out
    assert f"Labels    {label} to {label}\n" in out


def test_max_grade_is_the_largest_label_unless_given(run, files):
    (_, y, _), (_, y_test, _) = load_letor(list(files))
    largest = max(y.max(), y_test.max())
    out = run(files[0], "--test", files[1])
    assert f"highest grade {largest:g} (the largest label)" in out
    higher = run(files[0], "--test", files[1], "--max-grade", 9)
    assert "highest grade 9 (--max-grade)" in higher
    row = "RankNetRanker()"
    assert table(higher)[row][0] < table(out)[row][0]
    assert table(higher)[row][1:4] == table(out)[row][1:4]
    lower = run(files[0], "--test", files[1], "--max-grade", 1)
    assert {cells[0] for cells in table(lower).values()} == {"-"}
    assert "ERR not shown: err_score got a label" in lower


def test_lists_without_a_relevant_row_are_counted_below_the_table(run, tmp_path):
    X, y, groups = make_ranking(20, n_features=3, n_informative=2, random_state=0)
    y[np.isin(groups, [3, 8])] = 0
    path = write_letor(tmp_path / "empty.txt", X, y, groups)
    empty = sum(not y[groups == group].any() for group in range(20))
    flat = " ".join(run(path, "--metric", "pairwise_accuracy").split())
    assert f"{empty} of 20 test lists have no row with a label above 0: NDCG" in flat
    alike = sum(len(set(y[groups == group])) == 1 for group in range(20))
    assert f"{alike} of 20 test lists have no two labels that differ" in flat


def test_lists_without_a_relevant_row_count_as_zero_on_request(run, tmp_path):
    X, y, groups = make_ranking(20, n_features=3, n_informative=2, random_state=0)
    y[np.isin(groups, [3, 8])] = 0
    path = write_letor(tmp_path / "empty.txt", X, y, groups)
    out = run(path, "--test", path, "--empty-as-zero", "--no-standardize")
    X, y, groups = load_letor(path)
    scores = RankNetRanker().fit(X, y, groups).predict(X)
    expected = [ndcg_score(y, scores, groups, k=k, empty=0.0) for k in (1, 5, 10)]
    assert table(out)["RankNetRanker()"][1:4] == [f"{value:.4f}" for value in expected]
    assert "NDCG: lists without a relevant row are 0" in " ".join(out.split())
    assert "NDCG leaves them out" not in " ".join(out.split())
    left_out = run(path, "--test", path, "--no-standardize")
    assert table(left_out)["RankNetRanker()"][1] > f"{expected[0]:.4f}"


def tuned_by_hand(X, y, groups):
    """Return ridge regression whose alpha ranks left-out lists best."""
    folds = list(QueryKFold(5, shuffle=True, random_state=0).split(X, y, groups))

    def value(alpha):
        values = []
        for train, test in folds:
            scores = Ridge(alpha=alpha).fit(X[train], y[train]).predict(X[test])
            values.append(ndcg_score(y[test], scores, groups[test], k=10))
        return np.mean(values)

    return Ridge(alpha=max([1.0, 10.0, 100.0, 1e3, 1e4], key=value)).fit(X, y)


def test_intervals_and_paired_differences_stand_below_on_request(run, files):
    arguments = (files[0], "--test", files[1], "--seed", 3, "--metric", "err@5")
    out = run(*arguments, "--intervals")
    assert out.startswith(run(*arguments).split("fit (s)\n")[0])
    (X, y, g), (X_test, y_test, g_test) = load_letor(list(files))
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    Z, Z_test = (
        QueryScaler().fit_transform(table, groups=groups)
        for table, groups in ((X, g), (X_test, g_test))
    )
    values = [
        err_score(
            y_test,
            scores,
            g_test,
            k=5,
            max_grade=max(y.max(), y_test.max()),
            average=None,
        )
        for scores in (
            RankNetRanker().fit(X, y, g).predict(X_test),
            tuned_by_hand(Z, y, g).predict(Z_test),
        )
    ]
    interval = bootstrap_interval(values[0], random_state=3)
    comparison = compare_scores(*values, random_state=3)
    block = out.split("\nERR@5 ")[1]
    (line,) = re.findall(r"^RankNetRanker\(\) .*", block, flags=re.MULTILINE)
    assert line.split()[:6] == [
        "RankNetRanker()",
        f"{interval.mean:.4f}",
        f"[{interval.low:.3f},",
        f"{interval.high:.3f}]",
        f"{comparison.difference:+.4f}",
        f"[{comparison.low:.3f},",
    ]
    assert "(random order)" not in block
    flat = " ".join(block.split())
    assert re.search(
        r"Ridge\(\) on features scaled by list, tuned \S+ \S+ \S+ ref", flat
    )
    assert "conditional on the trained models" in flat
    assert "from Ridge() on features scaled by list, tuned, list by list" in flat


def test_differences_are_from_the_best_ridge_regression_that_there_is(run, files):
    sparse = " ".join(run(files[0], "--intervals", "--sparse").split())
    assert "from Ridge() pointwise, tuned, list by list" in sparse
    few = " ".join(run("--lists", 8, "--intervals").split())
    assert "from Ridge() on features scaled by list, list by list" in few
    values = RankerResult({"ndcg@10": [0.5]})
    skipped = RankerResult(problem="over the budget")
    rows = dict.fromkeys(REFERENCES, skipped)
    assert reference_of(rows) == POINTWISE
    assert reference_of(rows | {POINTWISE: values, SCALED: values}) == SCALED


def test_intervals_need_a_measure_that_applies(run, tmp_path):
    X, y, groups = make_ranking(20, n_features=3, n_informative=2, random_state=0)
    path = write_letor(tmp_path / "negative.txt", X, y - 1, groups)
    assert "conditional" not in run(path, "--intervals")


def test_lists_of_the_test_that_were_learned_from_are_counted(run, files):
    assert "60 of these lists have ids that are in TRAIN" in " ".join(
        run(files[0], "--test", files[0]).split()
    )
    assert "ids that are in TRAIN" not in run(files[0], "--test", files[1])


def test_without_budget_nothing_is_fitted(run):
    out = run("--lists", 20, "--budget", 0)
    assert {tuple(cells) for cells in table(out).values()} == {("-",) * 5}
    assert "skipped: a fit to 1 of 10 lists took" in out
    assert "over the budget of 0 s" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere.txt"], "cannot read nowhere.txt: No such file or directory"),
        (["good.txt", "--test", "nowhere.txt"], "cannot read nowhere.txt"),
        (["."], "cannot read .: Is a directory"),
        (["broken.txt"], "broken.txt, line 2"),
        (["empty.txt"], "empty.txt"),
        (["cut.gz"], "cut.gz"),
        (["good.txt", "--cv", "3"], "good.txt has 2 lists, too few for 3 folds"),
        (["good.txt", "--cv", "1"], "--cv: '1' is not an integer of at least 2"),
        (["good.txt", "--cv", "2", "--test", "good.txt"], "not allowed with"),
        (["good.txt", "--lists", "9"], "--lists is for built-in data"),
        (["--cv", "3"], "--cv needs TRAIN"),
        (["--test", "good.txt"], "--test needs TRAIN"),
        (["--sparse"], "--sparse needs TRAIN"),
        (["--metric", "mapp"], "no metric 'mapp'; known are average_precision, bpref"),
        (["--metric", "ndcg@0"], "no metric 'ndcg@0'"),
        (["--metric", "pairwise@3"], "'pairwise_accuracy' takes no cut-off"),
        (["--budget", "nan"], "--budget: 'nan' is not a number of at least 0"),
        (["--alpha", "-1"], "--alpha: '-1' is not a finite number of at least 0"),
        (["--alpha", "inf"], "--alpha: 'inf' is not a finite number"),
        (["--max-grade", "x"], "--max-grade: 'x' is not a finite number"),
        (["--max-grade", "inf"], "--max-grade: 'inf' is not a finite number"),
        (["--max-grade", "0"], "--max-grade: '0' is not above 0"),
        (["huge.txt"], "huge.txt: feature 2 reaches 1e+300: beyond 1e+145"),
        (["good.txt", "--test", "huge.txt"], "huge.txt: feature 2 reaches 1e+300"),
        (["huge.txt", "--sparse"], "huge.txt: feature 2 reaches 1e+300"),
        (["huge.txt", "--no-standardize"], "huge.txt: feature 2 reaches 1e+300"),
        (["bare.txt", "--cv", "2"], "bare.txt: no row has a feature"),
        (["one.txt"], "one.txt has 1 list, too few for 5 folds"),
        (["--seed", "-1"], "--seed: '-1' is not an integer of at least 0"),
        (["--seed", "4294967296"], "at most 4294967295"),
        (["--n-jobs", "0"], "--n-jobs must be positive"),
        (["good.txt", "--cv", "files"], "--cv files needs two or more files TRAIN"),
        (["--cv", "files"], "--cv needs TRAIN"),
        (["good.txt", "nowhere.txt"], "cannot read nowhere.txt"),
        (["--second-order", "1"], "'1' is not a number of at least 0 and below 1"),
        (["--second-order", "good.txt"], "files stand before it"),
        (["one.txt", "--test", "good.txt", "--second-order"], "at least two rows"),
        (["--paper"], "unrecognized arguments: --paper"),
        (["--frobnicate"], "unrecognized arguments: --frobnicate"),
    ],
)
def test_mistakes_give_one_line_and_status_2(
    arguments, reason, tmp_path, monkeypatch, capsys
):
    good = "1 qid:1 1:1\n0 qid:1 1:0\n1 qid:2 1:1\n"
    (tmp_path / "good.txt").write_text(good)
    (tmp_path / "huge.txt").write_text(good + "0 qid:2 1:1 2:-1e300\n")
    (tmp_path / "broken.txt").write_text("1 qid:1 1:1\n0 qid:1 1:x\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "bare.txt").write_text("1 qid:1\n0 qid:1\n1 qid:2\n")
    (tmp_path / "one.txt").write_text("1 qid:1 1:1\n")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(good.encode())[:-9])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"^2$"):
        main(arguments)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"skrank: error: [^\n]+\n", printed.err)
    assert reason in printed.err


def test_a_missing_file_gives_one_line_from_the_shell(tmp_path):
    process = command("nowhere.txt", cwd=tmp_path)
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert err == (
        "skrank: error: cannot read nowhere.txt: No such file or directory\n"
    )


def test_help_names_every_option_and_exits_0(capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--help"])
    printed = capsys.readouterr()
    assert printed.err == ""
    for option in (
        "TRAIN --test --cv --sparse --no-standardize --lists --metric --max-grade "
        "--alpha --budget --n-jobs --seed --quiet --version examples: seconds "
        "--second-order --json --group --label"
    ).split():
        assert option in printed.out


def test_progress_tells_the_fold_and_the_ranker(files, capsys):
    assert main([files[0], "--cv", "2"]) == 0
    lines = capsys.readouterr().err.splitlines()
    n_rows = len(declared()) + len(yardsticks(False, 60, 1, 0))
    assert len(lines) == 2 * n_rows
    assert lines[0].startswith(f"fitting 1/{n_rows} of fold 1/2: ")
    assert lines[-1] == f"fitting {n_rows}/{n_rows} of fold 2/2: (random order)"


def test_nothing_is_said_where_nobody_reads(tmp_path):
    process = command("--quiet", "--lists", "10", cwd=tmp_path)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 141
    process.stderr.close()


def test_a_closed_output_is_told_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["--quiet", "--lists", "10"]) == 1
    assert capsys.readouterr().err == (
        "skrank: error: cannot write: output is closed\n"
    )


def test_a_closed_standard_error_stops_nothing(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["--lists", "10"]) == 0
    sys.stderr.close()
    assert "RankNetRanker()" in capsys.readouterr().out


def test_ctrl_c_ends_with_status_130(tmp_path):
    # A shell starts what runs in the background deaf to SIGINT; so listen again.
    code = (
        "import signal, sys; from skrank._cli.main import main; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        "sys.exit(main(['--lists', '6000']))"
    )
    process = command(cwd=tmp_path, start=("-c", code))
    assert process.stderr.readline().startswith("fitting 1/")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err.endswith("\nskrank: stopped\n")
    assert "Traceback" not in err


def test_more_lists_than_memory_holds_are_one_line(capsys, monkeypatch):
    def too_many(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("skrank._cli.data.make_ranking", too_many)
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["--lists", "20000000"])
    assert capsys.readouterr().err == (
        "skrank: error: --lists 20000000: memory does not suffice for so many\n"
    )


def test_memory_that_runs_out_elsewhere_is_one_line(capsys, monkeypatch):
    def too_large(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("skrank._cli.compare.compare", too_large)
    assert main(["--lists", "10"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "skrank: error: memory does not suffice; use less data or --sparse"


def test_huge_feature_numbers_name_the_option_of_the_command(tmp_path, capsys):
    path = tmp_path / "wide.txt"
    path.write_text("1 qid:1 1:1\n0 qid:1 2000000000:1\n")
    with pytest.raises(SystemExit, match=r"^2$"):
        main([str(path)])
    printed = capsys.readouterr().err
    assert "sparse=True" not in printed
    assert "--sparse" in printed


needs_full = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="there is no disk that is always full"
)


@needs_full
def test_a_progress_line_that_cannot_be_written_ends_nothing(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "skrank", "--lists", "10"],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=full, text=True,
        )  # fmt: skip
    assert done.returncode == 0
    assert "RankNetRanker()" in done.stdout


@needs_full
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["fit", "--help"]])
def test_help_that_cannot_be_written_is_an_error(tmp_path, arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "skrank", *arguments],
            cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "skrank: error: cannot write: No space left on device\n"


def test_ctrl_c_during_the_imports_is_understood(tmp_path):
    # The imports are those of main(), which an import of NumPy in skrank would precede.
    code = (
        "import sys; from skrank._cli.main import main; "
        "assert 'numpy' not in sys.modules and 'sklearn' not in sys.modules; "
        "import skrank._cli\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'sklearn': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt()); sys.exit(main(['--lists', '10']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "\nskrank: stopped\n"
