"""STARank trained for the clicks of a model, judged by those clicks, on real lists.

    python benchmarks/bench_click_targets.py TRAIN... --test TEST [--max-epochs N]

For each click model a table: the clicks that it expects of each ranking over those of
the best order, list by list, and the difference from STARank trained by labels, with
95% bootstrap intervals over test lists. One network each, so that a row takes a third
of the time; the intervals tell of other test lists, not of other networks.
"""

import argparse

import numpy as np

from skrank.datasets import load_letor
from skrank.losses import ListMLE
from skrank.metrics import (
    PositionBased,
    UserBrowsing,
    bootstrap_interval,
    click_score,
    compare_scores,
)
from skrank.neural import MLPRanker, STARanker

MODELS = {"PBM": PositionBased(), "UBM": UserBrowsing()}
RANKERS = {
    "STARanker": STARanker(),
    "+PBM": STARanker(target=PositionBased()),
    "+UBM": STARanker(target=UserBrowsing()),
    "MLPRanker (ListMLE)": MLPRanker(ListMLE(), dropout=0.0),  # as STARanker
}


def main():
    """Train, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--test", required=True)
    parser.add_argument("--max-epochs", type=int, default=20)
    args = parser.parse_args()
    *train, test = load_letor([*args.files, args.test])
    X, y, _ = (np.concatenate(parts) for parts in zip(*train, strict=True))
    # The same id in two files is two lists.
    groups = [f"{i} {g}" for i, part in enumerate(train) for g in part[2].tolist()]
    X_test, y_test, groups_test = test
    grade = float(max(y.max(), y_test.max()))
    scores = {}
    for name, ranker in RANKERS.items():
        settings = {"n_networks": 1, "max_epochs": args.max_epochs, "random_state": 0}
        if isinstance(ranker, STARanker):
            settings["max_grade"] = grade
        ranker.set_params(**settings).fit(X, y, groups)
        scores[name] = ranker.predict(X_test, groups_test)
    for title, model in MODELS.items():
        values = {
            name: click_score(
                y_test, column, groups_test, model=model, max_grade=grade,
                normalize=True, average=None,
            )
            for name, column in scores.items()
        }  # fmt: skip
        print(f"\n| expected clicks, {title} | of the best | less STARanker |")
        print("| --- | --- | --- |")
        for name, column in values.items():
            one = bootstrap_interval(column, random_state=0)
            text = f"{one.mean:.4f} [{one.low:.4f}, {one.high:.4f}]"
            two = compare_scores(column, values["STARanker"], random_state=0)
            less = f"{two.difference:+.4f} [{two.low:+.4f}, {two.high:+.4f}]"
            print(f"| {name} | {text} | {less if name != 'STARanker' else ''} |")


if __name__ == "__main__":
    main()
