"""Time and memory of the neural rankers; run by ``bench_neural.py speed``."""

import math
import multiprocessing
import re
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from skrank import Lists
from skrank.losses import ListMLE
from skrank.neural import ListData, MLPRanker, STARanker, _encoders
from skrank.neural._batches import drawn_batches
from skrank.neural._fitting import lists_in_a_step

N_ROWS = 8000  # of the tables of growth
ONE_NETWORK = {
    **{"n_networks": 1, "early_stopping": False},
    **{"dropout": 0.0, "random_state": 0},
}


class HandWritten(nn.Module):
    """The layers of MLPRanker without a user, as one writes them in torch."""

    def __init__(self, n_features, size):
        super().__init__()
        self.message = nn.Linear(n_features, size)
        self.query = nn.Linear(size, size, bias=False)
        self.key = nn.Linear(size, size, bias=False)
        self.output = nn.Linear(n_features + size, size)
        self.hidden = nn.Linear(size, size)
        self.v = nn.Linear(size, 1, bias=False)

    def forward(self, x, valid):
        """Return the scores of padded lists."""
        m = torch.tanh(self.message(x))
        match = self.query(m) @ self.key(m).transpose(1, 2) / math.sqrt(m.shape[-1])
        match = match.masked_fill(~valid[:, None], -torch.inf)
        h = torch.cat((x, torch.softmax(match, -1) @ m), -1)
        return self.v(torch.tanh(self.hidden(torch.relu(self.output(h)))))[..., 0]


def listmle(scores, valid, order):
    """Return the loss of ListMLE of padded lists."""
    ordered = scores.gather(1, order).masked_fill(~valid, -1e30)
    tails = torch.logcumsumexp(ordered.flip(1), 1).flip(1)
    return ((tails - ordered) * valid).sum(1)


def drawn_lists(n_lists, shortest, longest, n_features=46):
    """Return rows, labels without ties, groups and sizes of some lists."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(shortest, longest + 1, size=n_lists)
    groups = np.repeat(np.arange(n_lists), sizes)
    X = rng.standard_normal((len(groups), n_features))
    return X, rng.random(len(groups)), groups, sizes


def hand_written_epoch(X, y, sizes, batch_size=32):
    """Return a function that trains for an epoch, its batches cut beforehand."""
    starts, rows = np.cumsum(sizes) - sizes, torch.tensor(X, dtype=torch.float32)
    model, batches = HandWritten(X.shape[1], 64), []
    steps = torch.optim.Adam(model.parameters(), 1e-3, weight_decay=1e-4)
    numbers, rng = np.arange(len(sizes)), np.random.RandomState(0)
    for batch in drawn_batches(numbers, sizes, batch_size, rng):
        place = np.arange(sizes[batch].max())
        valid = place < sizes[batch][:, None]
        index = np.where(valid, starts[batch][:, None] + place, 0)
        order = np.argsort(np.where(valid, -y[index], np.inf), axis=1, kind="stable")
        batches.append(
            (rows[torch.tensor(index)], torch.tensor(valid), torch.tensor(order))
        )

    def epoch():
        for x, valid, order in batches:
            steps.zero_grad()
            listmle(model(x, valid), valid, order).mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 20.0)
            steps.step()

    return epoch


def seconds(function, *arguments, **named):
    """Return the CPU time of a call."""
    start = time.process_time()
    function(*arguments, **named)
    return time.process_time() - start


def epoch_seconds(ranker, *data, n_epochs=4):
    """Return the CPU time of an epoch, without what a fit does once."""
    ends = [
        seconds(ranker.set_params(max_epochs=number).fit, *data)
        for number in (1, 1 + n_epochs)
    ]
    return (ends[1] - ends[0]) / n_epochs


def beside_hand_written(repeats=5):
    """Print the time of an epoch of MLPRanker over that of a hand-written module."""
    print("\n| lists | MLPRanker's epoch over a hand-written one | at most |")
    print("| --- | --- | --- |")
    for n_lists, shortest, longest in ((400, 10, 30), (40, 100, 160)):
        X, y, groups, sizes = drawn_lists(n_lists, shortest, longest)
        epoch = hand_written_epoch(X, y, sizes)
        epoch()
        ranker = MLPRanker(ListMLE("order"), **ONE_NETWORK, batch_size=32)
        both = [
            (epoch_seconds(ranker, X, y, groups), seconds(epoch))
            for _ in range(repeats)
        ]
        ours, theirs = np.median(both, axis=0)
        print(
            f"| {n_lists} of {shortest} to {longest} rows | {ours / theirs:.2f} | 1.1 |"
        )


def grown(ranker, n_lists, length, out):
    """Send the times of an epoch and a prediction, and the growth of memory in MB."""
    torch.set_num_threads(1)
    X, y, groups, _ = drawn_lists(n_lists, length, length)
    small = drawn_lists(8, 5, 5)[:3]
    ranker.set_params(max_epochs=1).fit(*small).predict(small[0], small[2])
    before = peak()
    spent = [seconds(ranker.fit, X, y, groups)]
    after_fit = peak()
    spent.append(seconds(ranker.predict, X, groups))
    out.put((*spent, after_fit - before, peak() - before))


def decoded(plain, out):
    """Send the time of arranging 8 lists of 1,000 rows, and the growth of memory."""
    torch.set_num_threads(1)
    X, _, groups, _ = drawn_lists(8, 1000, 1000)
    small = drawn_lists(8, 5, 5)[:3]
    ranker = STARanker(**ONE_NETWORK, max_epochs=1).fit(*small)
    arranged = plain_arrangement if plain else type(ranker).arrange
    arranged(ranker, small[0], small[2])
    before = peak()
    out.put((seconds(arranged, ranker, X, groups), peak() - before))


def peak():
    """Return the largest memory of the process so far, in MB; on Linux."""
    # Not ru_maxrss, which a process inherits from the one that started it.
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def in_child(function, *arguments):
    """Return what a function sends from a process of its own."""
    spawning = multiprocessing.get_context("spawn")
    out = spawning.Queue()
    child = spawning.Process(target=function, args=(*arguments, out))
    child.start()
    result = out.get()
    child.join()
    return result


@torch.no_grad()
def plain_arrangement(ranker, X, groups):
    """Arrange lists of one length plainly: all rows in float64 at each place, kept."""
    new = ranker._new_lists(X, groups, None, None, "arrange")
    tables = []
    with ranker._predicting(new) as batches:
        for _, batch, networks in batches:
            arranger, (h, user) = networks[0]["head"], networks[0]["encoder"](batch)
            rows, state = arranger.of_row(h), (user[None], torch.zeros_like(user)[None])
            before, lists = torch.zeros_like(h[:, 0]), torch.arange(len(h))
            placed = ~batch.valid
            for place in range(h.shape[1]):
                one_hot = arranger.one_hot(place, place + 1, h).expand(len(h), -1)
                read = torch.cat((before, one_hot), -1)[:, None]
                out, state = arranger.lstm(read, state)
                scores = arranger.v(torch.tanh(rows + arranger.of_state(out)))[..., 0]
                tables.append(scores.masked_fill(placed, -torch.inf))
                best = tables[-1].argmax(1)
                placed[lists, best], before = True, h[lists, best]
    return torch.stack(tables).argmax(-1)


def growth():
    """Print times and memory by length of lists, for the same number of rows."""
    print(f"\n{N_ROWS:,} rows x 46, one epoch; memory is the growth of the process.\n")
    print("| ranker | lists | rows a list | fit, s | predict, s | fit, MB | both, MB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for ranker in (MLPRanker(**ONE_NETWORK), STARanker(**ONE_NETWORK)):
        shapes = [(N_ROWS // length, length) for length in (10, 100, 1000)]
        for n_lists, length in (*shapes, (32, 2000)):
            ranker.set_params(batch_size=32 if length == 2000 else "auto")
            fit, predict, in_fit, in_both = in_child(grown, ranker, n_lists, length)
            print(
                f"| {type(ranker).__name__} | {n_lists} | {length} | {fit:.2f} | "
                f"{predict:.2f} | {in_fit:.0f} | {in_both:.0f} |",
                flush=True,
            )


def steps(repeats=3):
    """Print the time of an epoch by lists in a step, and what "auto" takes."""
    sizes = (4, 8, 16, 32, 64, 128)
    print("\nSeconds an epoch of 5,120 rows by lists in a step.\n")
    print("| ranker | rows a list | " + " | ".join(map(str, sizes)) + ' | "auto" |')
    print("| --- " * (len(sizes) + 3) + "|")
    for kind in (MLPRanker, STARanker):
        for length in (5, 20, 80):
            X, y, groups, _ = drawn_lists(5120 // length, length, length)
            auto = lists_in_a_step(kind(), Lists(np.bincount(groups)))
            row = []
            for size in sizes:
                ranker = kind(**ONE_NETWORK, batch_size=size)
                spent = [
                    epoch_seconds(ranker, X, y, groups, n_epochs=2)
                    for _ in range(repeats)
                ]
                row.append(f"{np.median(spent):.3f}")
            text = " | ".join(row)
            print(f"| {kind.__name__} | {length} | {text} | {auto} |", flush=True)


def user_by_row(layer, candidates, user):
    """Return what ``with_user`` does, with the user beside each row."""
    if user is None:
        user = candidates.new_zeros(len(candidates), 0)
    beside = user[:, None].expand(-1, candidates.shape[1], -1)
    both = torch.cat((candidates, beside), -1)
    return functional.linear(both, layer.weight[:, : both.shape[-1]], layer.bias)


def user_once(repeats=5):
    """Return the time of an epoch over one that repeats each user's part by row."""
    X, y, groups, _ = drawn_lists(400, 15, 25)
    rng = np.random.default_rng(0)
    history, profile = (
        ListData({label: rng.standard_normal((n, 20)) for label in range(400)})
        for n in (10, 1)
    )
    ranker, own = MLPRanker(ListMLE("order"), **ONE_NETWORK), _encoders.with_user
    spent = []
    for _ in range(repeats):
        pair = []
        for function in (own, user_by_row):
            _encoders.with_user = function
            pair.append(epoch_seconds(ranker, X, y, groups, history, profile))
        _encoders.with_user = own
        spent.append(pair)
    once, by_row = np.median(spent, axis=0)
    return once / by_row


def long_history():
    """Return the time of a fit with one history of 5,000 rows over that without."""
    X, y, groups, _ = drawn_lists(200, 5, 10)
    rng, spent = np.random.default_rng(0), []
    browsed = {label: rng.standard_normal((12, 8)) for label in np.unique(groups)}
    ranker = STARanker(**ONE_NETWORK, max_epochs=3, batch_size=32)
    ranker.fit(X, y, groups, ListData(browsed))
    for longest in (12, 5000):
        browsed[3] = rng.standard_normal((longest, 8))
        spent.append(seconds(ranker.fit, X, y, groups, ListData(browsed)))
    return spent[1] / spent[0]


def draws_at_once(n_samples=200):
    """Return the time of some draws together over that of one after the other."""
    X, y, groups, _ = drawn_lists(20, 10, 20)
    ranker = STARanker(**ONE_NETWORK, max_epochs=1).fit(X, y, groups)
    draw = ranker.sample_arrangements
    together = seconds(draw, X, groups, n_samples=n_samples)
    return together / seconds(lambda: [draw(X, groups) for _ in range(n_samples)])


def padding():
    """Return rows, padding included, over rows of batches by length and as drawn."""
    _, _, _, sizes = drawn_lists(2000, 2, 120)
    rng, numbers = np.random.RandomState(0), np.arange(2000)
    drawn = np.split(rng.permutation(numbers), range(32, 2000, 32))
    return [
        sum(len(batch) * sizes[batch].max() for batch in batches) / sizes.sum()
        for batches in (drawn_batches(numbers, sizes, 32, rng), drawn)
    ]


def ratios():
    """Print what single measures save."""
    print("\n| measurement | |\n| --- | --- |")
    print(f"| the user's part once a list, over once a row | {user_once():.2f} |")
    print(f"| fit with one history of 5,000 rows, over 12 | {long_history():.2f} |")
    by_length, as_drawn = padding()
    print(f"| rows with padding over rows, lists by length | {by_length:.2f} |")
    print(f"| the same, lists as drawn | {as_drawn:.2f} |")
    print(f"| 200 draws together, over one after the other | {draws_at_once():.3f} |")
    for name, plain in (("STARanker.arrange", False), ("a plain decoder", True)):
        spent, memory = in_child(decoded, plain)
        print(f"| 8 lists of 1,000 rows, {name} | {spent:.2f} s, {memory:.0f} MB |")


def speed():
    """Print all that is measured of time and memory."""
    torch.set_num_threads(1)
    beside_hand_written()
    growth()
    steps()
    ratios()
