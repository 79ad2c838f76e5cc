"""Every row of the command on real lists: the tables of doc/real_data.md.

``python benchmarks/real_tables.py`` runs ``skrank FILES --cv 5 --intervals
--empty-as-zero --json`` on each set and writes what it says to results/real_data: one
page a set with all measures, and ``summary.md``, NDCG@10 of all sets side by side. Name
sets to run these alone; the summary is of all pages there are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from real_data import SHARED

MSLR = "mslr_web10k_fold1_train5k/train.5k.txt.gz"
LIGHTGBM = [f"lightgbm_lambdarank/{part}.txt.gz" for part in ("train", "test")]
RUNS = {
    "MQ2008": [f"mq2008/S{i}.txt.gz" for i in range(1, 6)],
    "LightGBM": LIGHTGBM,
    "LightGBM, sparse": [*LIGHTGBM, "--sparse"],
    "MSLR": [MSLR],
    "MSLR, raw scales": [MSLR, "--no-standardize"],
    "TREC News": [f"trec_news_2018/{part}.txt" for part in ("train", "test")],
}
OPTIONS = ["--cv", "5", "--intervals", "--empty-as-zero", "--metric", "ndcg@10"]
METRICS = {"err": "ERR", "ndcg@1": "NDCG@1", "ndcg@5": "NDCG@5", "ndcg@10": "NDCG@10"}
OTHER_FORMS = ("LightGBM, sparse", "MSLR, raw scales")  # of sets that are there
RESULTS = Path(__file__).parent / "results/real_data"
FOUND = Path(__file__).parents[1] / "build/real_data"  # what pages are made from


def arguments_of(name, budget):
    """Return the arguments of the command."""
    return [*RUNS[name], *OPTIONS, "--budget", f"{budget:g}"]


def found_by_command(arguments):
    """Return what the command says, run where the sets lie."""
    python = [sys.executable, "-W", "ignore", "-m"]
    command = [*python, "skrank", *arguments, "--json", "--quiet"]
    begun = time.monotonic()
    done = subprocess.run(
        command, cwd=SHARED / "data", check=True, stdout=subprocess.PIPE, text=True
    )
    print(f"{time.monotonic() - begun:.0f} s for {arguments[0]}", flush=True)
    return json.loads(done.stdout)


def by_mean(results, metric="ndcg@10"):
    """Return names of rankers, best first."""
    rows = results["metrics"][metric]
    return sorted(rows, key=lambda name: -rows[name]["interval"]["mean"])


def difference_of(results, name, low_high="[{:+.0f}, {:+.0f}]"):
    """Return the paired difference of NDCG@10 from the reference, in thousandths."""
    one = results["metrics"]["ndcg@10"].get(name)
    if one is None:
        return "-"
    if one["difference"] is None:
        return "reference"
    gap = one["difference"]
    bounds = low_high.format(1e3 * gap["low"], 1e3 * gap["high"])
    return f"{1e3 * gap['difference']:+.1f} {bounds}"


def page(name, arguments, results):
    """Return the page of one set."""
    lines = [
        f"# {name}",
        "",
        f"`skrank {' '.join(arguments)}`",
        "",
        *(f"- {head}: {text}" for head, text in results["data"].items()),
        "",
        f"Differences of NDCG@10 in thousandths from {results['reference']}, list by "
        "list, with 95 % bootstrap intervals; p by a randomization test and Holm's "
        "method. Seconds of fitting on two shared cores, all folds together.",
        "",
        f"| ranker | {' | '.join(METRICS.values())} | difference | p | fit (s) |",
        "| --- |" + " --- |" * (len(METRICS) + 3),
    ]
    for ranker in by_mean(results):
        means = [results["metrics"][m][ranker]["interval"]["mean"] for m in METRICS]
        cells = [f"{mean:.4f}" for mean in means]
        gap = results["metrics"]["ndcg@10"][ranker]["difference"]
        p = "" if gap is None else f"{gap['p_holm']:.4f}"
        seconds = sum(results["fits"][ranker]["seconds"])
        cells += [difference_of(results, ranker), p, f"{seconds:.2f}"]
        lines.append(f"| `{ranker}` | {' | '.join(cells)} |")
    notes: dict[str, list[str]] = {}
    for ranker, fit in results["fits"].items():
        for text in [*fit["warnings"], *filter(None, [fit["problem"]])]:
            notes.setdefault(text, []).append(f"`{ranker}`")
    lines += ["", *(f"- {text} ({', '.join(of)})" for text, of in notes.items())]
    return "\n".join(lines).rstrip() + "\n"


def summary(sets):
    """Return NDCG@10 of all sets side by side, by the mean over what all sets have."""
    names = list(dict.fromkeys(row for one in sets.values() for row in by_mean(one)))

    def mean(ranker):
        rows = [results["metrics"]["ndcg@10"].get(ranker) for results in sets.values()]
        gaps = [row["difference"] for row in rows if row]
        known = [gap["difference"] if gap else 0.0 for gap in gaps]
        return sum(known) / len(known), len(known) == len(sets)

    names.sort(key=lambda ranker: -mean(ranker)[0])
    lines = [
        "| ranker | " + " | ".join(sets) + " | mean |",
        "| --- |" + " --- |" * (len(sets) + 1),
    ]
    for name in names:
        cells = [difference_of(results, name) for results in sets.values()]
        gap, complete = mean(name)
        cells.append(f"{1e3 * gap:+.1f}" if complete else "-")
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    references = {
        name: results["metrics"]["ndcg@10"][results["reference"]]["interval"]["mean"]
        for name, results in sets.items()
    }
    (reference,) = {results["reference"] for results in sets.values()}
    return "\n".join(
        [
            "# All rankers on real lists",
            "",
            "`python benchmarks/real_tables.py`; thousandths of NDCG@10 (lists without "
            f"a relevant row are 0) less those of {reference}, list by list, with "
            "95 % bootstrap intervals; five folds of whole lists, defaults.",
            "",
            "| set | " + " | ".join(references) + " |",
            "| --- |" + " --- |" * len(sets),
            "| reference | "
            + " | ".join(f"{mean:.4f}" for mean in references.values())
            + " |",
            "| lists | "
            + " | ".join(str(results["n_lists"]) for results in sets.values())
            + " |",
            "",
            *lines,
            "",
        ]
    )


def file_of(folder, name, ending):
    """Return where a page, or what it was made from, is kept."""
    return folder / f"{name.lower().replace(', ', '_').replace(' ', '_')}.{ending}"


def main():
    """Run the command and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(RUNS))
    parser.add_argument("--budget", type=float, default=200.0)
    chosen = parser.parse_args()
    for folder in (RESULTS, FOUND):
        folder.mkdir(parents=True, exist_ok=True)
    for name in chosen.sets:
        arguments = arguments_of(name, chosen.budget)
        results = found_by_command(arguments)
        file_of(FOUND, name, "json").write_text(json.dumps(results, indent=1) + "\n")
        file_of(RESULTS, name, "md").write_text(page(name, arguments, results))
    sets = {
        name: json.loads(file_of(FOUND, name, "json").read_text())
        for name in RUNS
        if file_of(FOUND, name, "json").exists() and name not in OTHER_FORMS
    }
    (RESULTS / "summary.md").write_text(summary(sets))


if __name__ == "__main__":
    main()
