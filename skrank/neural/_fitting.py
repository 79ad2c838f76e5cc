"""Train one network of a neural ranker."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from skrank._data.checks import Integers
from skrank._data.grouping import Grouping
from skrank._data.lists import Floats, Indices, Lists
from skrank.neural._batches import ListTables
from skrank.neural._trainer import Trainer
from skrank.neural._validation import Validation, split_lists

# The work of a list is its rows, and its pairs of candidates times what they cost. With
# batch_size="auto" a step has so much work that what each step costs besides is at most
# about half of it (measured in benchmarks/results/neural/speed.md), in at least and at
# most so many lists; an epoch has so many steps unless they become too small.
WORK_IN_A_STEP = 512
LISTS_IN_A_STEP = 8, 128
STEPS_IN_AN_EPOCH = 10


@dataclass(frozen=True, slots=True)
class LabelledLists:
    """The data of a fit, in the order of the lists.

    Attributes
    ----------
    tables : ListTables
        Standardised candidates, histories and profiles.
    lists : Lists
        The lists.
    y : ndarray of shape (n_rows,)
        Labels.
    weights : ndarray of shape (n_lists,)
        Weights of lists, of mean 1.
    """

    tables: ListTables
    lists: Lists
    y: Floats
    weights: Floats


@dataclass(frozen=True, slots=True)
class NewLists:
    """Lists to predict.

    Attributes
    ----------
    grouping : Grouping
        The rows as lists, sorted by content inside them.
    tables : ListTables
        Standardised candidates, histories and profiles.
    first : ndarray of shape (n_rows,) or None
        The first row that equals each row of a list, see ``by_content``.
    device : torch.device
        Where to predict.
    """

    grouping: Grouping
    tables: ListTables
    first: Indices | None
    device: torch.device

    @property
    def lists(self) -> Lists:
        """The lists."""
        return self.grouping.lists


def train_network(ranker, data, rng, device, start, after_epoch):
    """Return a trained network and its record.

    Parameters
    ----------
    ranker : NeuralRanker
        With the settings, and the layers.
    data : LabelledLists
        What to learn from.
    rng : RandomState
        Draws orders of ties, lists set apart and batches.
    device : torch.device
        Where to train.
    start : nn.ModuleDict or None
        Network to go on from.
    after_epoch : callable or None
        Called with the network after each epoch; returns whether to stop.

    Returns
    -------
    network : nn.ModuleDict
        Trained, on the device.
    record : TrainingRecord
        Its losses, and what was measured on the lists set apart.

    Raises
    ------
    ValueError
        If ``start`` has other layers, or a loss is not finite.
    """
    head = ranker._head(data)
    network = ranker._network(head)
    if start is not None:
        try:
            network.load_state_dict(start.state_dict())
        except RuntimeError as error:
            raise ValueError(
                "warm_start=True: the layers of the last fit were others, as "
                "hidden_size, the encoders, the scorer or the loss were. Use "
                "warm_start=False."
            ) from error
    network.to(device)
    target = ranker._target(data, rng)
    training, apart = split_lists(ranker, data.weights, rng)
    validation = None
    if apart is not None:
        validation = Validation(ranker, data, target, apart)
    trainer = Trainer(
        ranker.max_epochs,
        lists_in_a_step(ranker, data.lists),
        ranker.n_epochs_no_change,
        ranker.learning_rate,
        ranker.weight_decay,
        int(ranker.verbose),
        type(ranker).__name__,
    )
    record = trainer.train(
        network, data.tables, target, data.weights, training, rng,
        validation, after_epoch,
    )  # fmt: skip
    if validation is not None:
        sign = validation.sign
        values = [sign * value for value in record.validation_values]
        record = replace(record, validation_values=values)
    return network, record


def lists_in_a_step(ranker, lists):
    """Return the number of lists in a step."""
    if ranker.batch_size != "auto":
        return ranker.batch_size
    work = lists.sizes + ranker._pair_cost * lists.sizes.astype(float) ** 2
    most = min(WORK_IN_A_STEP / work.mean(), lists.n_lists / STEPS_IN_AN_EPOCH)
    return int(np.clip(np.ceil(most), *LISTS_IN_A_STEP))


def hidden_sizes(hidden_size, most=None):
    """Return ``hidden_size`` as a list: of h, then of what is behind it.

    Raises
    ------
    ValueError
        If these are not positive integers, or more than ``most``.
    """
    is_one = not isinstance(hidden_size, tuple | list)
    sizes = [hidden_size] if is_one else list(hidden_size)
    if not sizes or not all(map(Integers(1).is_satisfied_by, sizes)):
        raise ValueError(
            "hidden_size must be an integer of at least 1, or a tuple of such, got "
            f"{hidden_size!r}."
        )
    if most is not None and len(sizes) > most:
        raise ValueError(
            f"hidden_size must be an integer or at most {most} of them, the sizes of h "
            f"and of v, got {hidden_size!r}."
        )
    return sizes if len(sizes) > 1 else 2 * sizes


def padded_curves(curves):
    """Return curves as rows of a table, with NaN after the end of shorter ones."""
    table = np.full((len(curves), max(map(len, curves))), np.nan)
    for row, curve in zip(table, curves, strict=True):
        row[: len(curve)] = curve
    return table
