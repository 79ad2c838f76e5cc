"""The command as a tool: fit, predict, evaluate, describe, tables and JSON."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import StandardScaler

from skrank import ListMLERanker, RankNetRanker
from skrank._cli import fit
from skrank._cli.commands import COMMANDS
from skrank._cli.main import main
from skrank.datasets import load_letor, make_ranking
from skrank.export import LinearFormula
from skrank.inspection import describe_lists
from skrank.interop import from_run, read_qrels, read_run
from skrank.metrics import (
    average_precision_score,
    bootstrap_interval,
    compare_scores,
    err_score,
    make_ranking_scorer,
    metric_names,
)
from skrank.model_selection import QueryKFold


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the same rows as LETOR text, CSV and parquet."""
    folder = tmp_path_factory.mktemp("rows")
    X, y, groups = make_ranking(30, n_features=3, n_informative=2, random_state=0)
    X = np.round(X, 4)
    dump_svmlight_file(
        X, y, str(folder / "rows.txt"), query_id=groups, zero_based=False
    )
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["query"] = groups
    frame["grade"] = y
    frame["name"] = [f"d{row}" for row in range(len(y))]
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_csv(folder / "rows.tsv.gz", index=False, sep="\t")
    frame.to_parquet(folder / "rows.parquet")
    return folder


COLUMNS = ("--group", "query", "--label", "grade", "--doc", "name")


@pytest.fixture
def trec(tmp_path):
    """Return judgments and two runs, one of which lacks a topic."""
    rng = np.random.default_rng(0)
    qrels, lines = [], {"good": [], "bad": []}
    for topic in range(20):
        for document in range(12):
            grade = int(rng.integers(0, 4))
            qrels.append(f"q{topic} 0 d{document} {grade}\n")
            for name, noise in (("good", 1.0), ("bad", 4.0)):
                score = round(grade + noise * rng.normal(), 1)
                if (name, topic) != ("bad", 7):
                    lines[name].append(f"q{topic} Q0 d{document} 0 {score} {name}\n")
    (tmp_path / "qrels.txt").write_text("".join(qrels))
    for name, text in lines.items():
        (tmp_path / f"{name}.run").write_text("".join(text))
    return tmp_path


def fails(capsys, *arguments):
    """Return the one line that a mistake gives, with status 2."""
    with pytest.raises(SystemExit, match=r"^2$"):
        main([str(one) for one in arguments])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"skrank: error: [^\n]+\n", printed.err)
    return printed.err


@pytest.fixture
def do(capsys):
    """Run a subcommand; return what it printed."""

    def do(*arguments):
        assert main([str(one) for one in arguments]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out

    return do


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_its_help(name, capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        main([name, "--help"])
    assert "usage: skrank" in capsys.readouterr().out


def test_the_first_word_is_a_command_only_if_it_is_the_name_of_one(
    folder, run, do, tmp_path, monkeypatch
):
    def without_times(out):
        return re.sub(r"\d\.\d{3}$", "", out, flags=re.MULTILINE)

    named = do("compare", "--lists", 10, "-q")
    assert without_times(named) == without_times(run("--lists", 10))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fit").write_bytes((folder / "rows.txt").read_bytes())
    out = run("./fit", "--cv", 2)
    assert "Data      ./fit: 30 lists" in out


@pytest.mark.parametrize("end", ["json", "skops"])
@pytest.mark.parametrize("source", ["rows.txt", "rows.csv", "rows.parquet"])
def test_a_model_that_is_fitted_and_read_back_ranks_as_in_python(
    folder, do, tmp_path, end, source
):
    if end == "skops":
        pytest.importorskip("skops")
    model, output = tmp_path / f"model.{end}", tmp_path / "run.txt"
    out = do(
        "fit", folder / source, "-o", model, "--ranker", "ranknet", "--alpha", 0.5,
        *COLUMNS,
    )  # fmt: skip
    assert "RankNetRanker(alpha=0.5, n_jobs=1)" in out
    do("predict", model, folder / source, "-o", output, "--tag", "mine", *COLUMNS)
    X, y, groups = load_letor(folder / "rows.txt")
    scaled = StandardScaler().fit_transform(X)
    scores = RankNetRanker(alpha=0.5).fit(scaled, y, groups).predict(scaled)
    names = [
        str(row + 1) if source == "rows.txt" else f"d{row}" for row in range(len(y))
    ]
    written = read_run(output)
    for row, name in enumerate(names):
        computed = written[str(groups[row])][name]
        expected = scores[row] - scores[groups == groups[row]].mean()
        of_list = [
            written[str(groups[row])][names[i]]
            for i in np.flatnonzero(groups == groups[row])
        ]
        assert computed - np.mean(of_list) == pytest.approx(expected, abs=1e-9)
    assert output.read_text().splitlines()[0].split()[5] == "mine"


def test_parameters_are_set_by_name(folder, do, tmp_path):
    out = do(
        "fit", folder / "rows.txt", "-o", tmp_path / "m.json",
        "--set", "ties=breslow", "--set", "top_k=3", "--no-standardize",
    )  # fmt: skip
    assert "ties='breslow'" in out
    X, y, groups = load_letor(folder / "rows.txt")
    ranker = ListMLERanker("breslow", top_k=3).fit(X, y, groups)
    formula = LinearFormula.from_json((tmp_path / "m.json").read_text())
    np.testing.assert_allclose(formula.weights, ranker.coef_, rtol=1e-12)
    assert list(formula.feature_names) == ["1", "2", "3"]


def test_cross_validation_chooses_the_penalty_by_whole_lists(folder, do, tmp_path):
    out = json.loads(
        do("fit", folder / "rows.txt", "-o", tmp_path / "m.json", "--cv", 3,
           "--metric", "map", "--json")
    )  # fmt: skip
    X, y, groups = load_letor(folder / "rows.txt")
    means = {}
    for alpha in fit.ALPHAS:
        values = []
        cv = QueryKFold(3, shuffle=True, random_state=0)
        for train, test in cv.split(X, y, groups):
            scaler = StandardScaler().fit(X[train])
            ranker = ListMLERanker(alpha=alpha)
            ranker.fit(scaler.transform(X[train]), y[train], groups[train])
            scores = ranker.predict(scaler.transform(X[test]))
            values.append(average_precision_score(y[test], scores, groups[test]))
        means[f"{alpha:g}"] = np.mean(values)
    for alpha, mean in out["average_precision"].items():
        assert mean == pytest.approx(means[alpha], rel=1e-3)
    assert f"{out['alpha']:g}" in {
        a for a, m in means.items() if m > max(means.values()) - 1e-9
    }


def test_models_that_could_run_code_are_not_read(folder, capsys, tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(RankNetRanker()))
    text = fails(
        capsys, "predict", tmp_path / "model.pkl", folder / "rows.txt", "-o", "run"
    )
    assert "Pickle and joblib files are not read" in text
    skops = pytest.importorskip("skops.io")
    skops.dump({"anything": print_and_more}, tmp_path / "model.skops")
    text = fails(
        capsys, "predict", tmp_path / "model.skops", folder / "rows.txt", "-o", "run"
    )
    assert "is not read, since it holds" in text
    assert "print_and_more" in text


def print_and_more():
    """Stand for what nobody wants to run."""


@pytest.mark.parametrize("source", ["rows.csv", "rows.tsv.gz", "rows.parquet"])
def test_tables_are_compared_as_letor_files_are(folder, run, source):
    letor = run(folder / "rows.txt", "--cv", 2)
    table = run(folder / source, "--cv", 2, *COLUMNS)

    def cells(out):
        return [
            re.findall(r"0\.\d{4}", line) for line in out.split("\n\n")[2].splitlines()
        ]

    assert cells(table) == cells(letor)
    assert "30 lists" in table


def test_the_comparison_as_json_has_the_numbers_of_the_table(folder, do):
    arguments = (folder / "rows.txt", "--cv", 2, "-q", "--metric", "p@3")
    printed = json.loads(do(*arguments, "--json"))
    table = do(*arguments, "--intervals")
    one = printed["metrics"]["precision@3"]["RankNetRanker()"]
    mean = one["interval"]["mean"]
    assert f"{mean:.4f}" in re.search(r"^RankNetRanker\(\).*", table, re.MULTILINE)[0]
    reference = "Ridge() on features scaled by list, tuned"
    assert printed["reference"] == reference
    assert printed["metrics"]["precision@3"][reference]["difference"] is None
    assert 0 < one["difference"]["p_holm"] <= 1
    assert len(printed["fits"]["RankNetRanker()"]["seconds"]) == 2
    assert printed["n_lists"] == 30


@pytest.mark.parametrize("name", metric_names())
def test_every_metric_of_the_registry_is_measured_by_name(trec, do, name):
    out = do("evaluate", trec / "qrels.txt", trec / "good.run", "--metric", name)
    assert re.search(r"^good\.run", out, re.MULTILINE)


def test_runs_are_measured_as_by_the_metrics_themselves(trec, do):
    runs = [trec / "good.run", trec / "bad.run"]
    printed = json.loads(
        do("evaluate", trec / "qrels.txt", *runs, "--metric", "map", "--metric",
           "err@5", "--json", "--per-query", "--seed", 3)
    )  # fmt: skip
    qrels = read_qrels(trec / "qrels.txt")
    rows = [from_run(qrels, read_run(path), complete=True) for path in runs]
    by_metric = {
        "average_precision": [
            one.score(average_precision_score, convention="trec_eval", average=None)
            for one in rows
        ],
    }
    for metric, columns in by_metric.items():
        for name, column in zip(("good.run", "bad.run"), columns, strict=True):
            interval = bootstrap_interval(column, random_state=3)
            statistics = printed["metrics"][metric][name]
            assert statistics["interval"]["mean"] == pytest.approx(interval.mean)
            assert statistics["interval"]["low"] == pytest.approx(interval.low)
            values = list(printed["per_query"][name][metric].values())
            np.testing.assert_allclose(values, column)
        comparison = compare_scores(columns[1], columns[0], random_state=3)
        statistics = printed["metrics"][metric]["bad.run"]["difference"]
        assert statistics["p_value"] == comparison.p_value
        assert statistics["difference"] == pytest.approx(comparison.difference)
    # A topic that a run lacks counts as 0, as by trec_eval -c.
    assert printed["per_query"]["bad.run"]["average_precision"]["q7"] == 0
    assert printed["n_topics"] == 20


def test_ir_measures_gives_the_same_means(trec, do):
    ir_measures = pytest.importorskip("ir_measures")
    printed = json.loads(
        do("evaluate", trec / "qrels.txt", trec / "good.run", "--json",
           *[x for m in ("map", "ndcg@10", "p@5", "rr", "rprec", "bpref", "r@5")
             for x in ("--metric", m)])
    )  # fmt: skip
    names = {
        "average_precision": "AP", "ndcg@10": "nDCG@10", "precision@5": "P@5",
        "reciprocal_rank": "RR", "r_precision": "Rprec", "bpref": "Bpref",
        "recall@5": "R@5",
    }  # fmt: skip
    qrels = list(ir_measures.read_trec_qrels(str(trec / "qrels.txt")))
    run = list(ir_measures.read_trec_run(str(trec / "good.run")))
    for ours, theirs in names.items():
        measure = ir_measures.parse_measure(theirs)
        expected = ir_measures.calc_aggregate([measure], qrels, run)[measure]
        mean = printed["metrics"][ours]["good.run"]["interval"]["mean"]
        assert mean == pytest.approx(expected, abs=1e-9)


def test_each_topic_has_a_line_on_request(trec, do):
    out = do(
        "evaluate", trec / "qrels.txt", trec / "good.run", "--metric", "p@3",
        "--per-query",
    )  # fmt: skip
    lines = [line.split("\t") for line in out.splitlines()]
    assert len(lines) == 20
    assert lines[0][:3] == ["good.run", "precision@3", "q0"]
    assert all(0 <= float(line[3]) <= 1 for line in lines)


def test_the_table_shows_runs_best_first_with_differences(trec, do):
    out = do("evaluate", trec / "qrels.txt", trec / "good.run", trec / "bad.run")
    blocks = out.split("\n\n")
    assert [block.split()[0] for block in blocks[:4]] == [
        "AVERAGE_PRECISION", "NDCG@10", "PRECISION@10", "RECIPROCAL_RANK",
    ]  # fmt: skip
    for block in blocks[:4]:
        assert block.splitlines()[2].startswith("good.run")
        assert "reference" in block.splitlines()[2]
    assert "Holm's correction" in " ".join(out.split())


def test_a_description_is_that_of_the_package(folder, do):
    X, y, groups = load_letor(folder / "rows.txt")
    expected = str(describe_lists(X, y, groups))
    assert do("describe", folder / "rows.txt").rstrip("\n") == expected.rstrip("\n")
    printed = json.loads(do("describe", folder / "rows.csv", *COLUMNS, "--json"))
    assert printed["feature_names"] == ["a", "b", "c"]
    assert sum(printed["sizes"]) == len(y)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["fit", "rows.txt"], "arguments are required: -o/--output"),
        (["fit", "rows.txt", "-o", "m.pkl"], "models are written as .skops or .json"),
        (["fit", "no.txt", "-o", "m.json"], "cannot read no.txt: No such file"),
        (["fit", "rows.txt", "-o", "no/m.json"], "cannot write no/m.json: No such"),
        (["fit", "rows.txt", "-o", "m.json", "--set", "tie=x"], "listmle has alpha, "),
        (["fit", "rows.txt", "-o", "m.json", "--set", "ties=x"], "'ties' parameter"),
        (["fit", "rows.txt", "-o", "m.json", "--ranker", "x"], "invalid choice: 'x'"),
        (["fit", "rows.txt", "rows.csv", "-o", "m.json"], "cannot be read together"),
        (["fit", "rows.csv", "-o", "m.json"], "no column 'group', which --group names"),
        (
            ["fit", "rows.csv", "--group", "query", "--label", "grade", "-o", "m.json"],
            "column 'name' holds no numbers; leave it out, or name it by --doc",
        ),
        (["predict", "no.json", "rows.txt", "-o", "run"], "cannot read no.json"),
        (["predict", "rows.txt", "rows.txt", "-o", "run"], "is no model that skrank"),
        (["evaluate", "no.txt", "no.run"], "cannot read no.txt: No such file"),
        (["evaluate", "rows.txt", "no.run"], "rows.txt, line 1"),
        (["evaluate", "q", "r", "--metric", "mapp"], "no metric 'mapp'"),
        (["describe", "no.txt"], "cannot read no.txt"),
    ],
)
def test_mistakes_give_one_line_and_status_2(
    arguments, reason, folder, monkeypatch, capsys
):
    monkeypatch.chdir(folder)
    assert reason in fails(capsys, *arguments)


def test_a_table_without_numbers_or_groups_is_told(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("a,group,label\n1,x,1\n,x,0\n")
    assert "column 'a' has values that are missing or infinite" in fails(
        capsys, "describe", path
    )
    path.write_text("a,group,label\n1,,1\n2,x,0\n")
    assert "column 'group' has rows without a group" in fails(capsys, "describe", path)
    path.write_text("a,group,label\n1,x,\n2,x,0\n")
    assert "column 'label' has rows without a label" in fails(capsys, "describe", path)
    path.write_text("a,group,label\n")
    assert "has no rows" in fails(capsys, "describe", path)


def test_a_scorer_by_name_is_what_fit_looks_at():
    scorer = fit.scorer_of("err@5", 2.0)
    assert scorer.metric is err_score
    assert scorer.kwargs == {"k": 5, "max_grade": 2.0}
    assert fit.scorer_of("map", 2.0).kwargs == make_ranking_scorer("map").kwargs
