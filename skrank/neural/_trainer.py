"""The training loop of the networks: Adam over batches of whole lists."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from skrank._data.lists import Floats, Indices
from skrank.neural._batches import Batch, ListTables, bounded_parts, drawn_batches

LARGEST_GRADIENT = 20.0  # as in the code of STARank


class Target(Protocol):
    """The target of training: the loss of lists, made from their labels."""

    def redraw(self, rng: np.random.RandomState) -> None:
        """Draw random parts of the target again, before each epoch."""

    def values(
        self,
        network: nn.ModuleDict,
        batch: Batch,
        numbers: Indices,
        *,
        validating: bool = False,
    ) -> Tensor:
        """Return the loss of each list of a batch, (n_lists,).

        In validation nothing is random, so that epochs can be compared.
        """


@dataclass
class TrainingRecord:
    """Losses of the training of a network.

    Attributes
    ----------
    losses : list of float
        Mean loss of the training lists, an epoch each.
    validation_values : list of float
        Value of each epoch on the lists set apart; training tries to lower it.
    best_epoch : int
        Number, from 0, of the epoch whose network was kept.
    """

    losses: list[float] = field(default_factory=list)
    validation_values: list[float] = field(default_factory=list)
    best_epoch: int = 0


@dataclass(frozen=True)
class Trainer:
    """Train networks on lists.

    Attributes
    ----------
    max_epochs, batch_size, patience : int
        Passes over the lists, lists in a step, and epochs without a better validation
        value before an early stop.
    learning_rate, weight_decay : float
        Of Adam.
    verbose : int
        Print every so many epochs; 0 not at all.
    name : str
        Name of the ranker, for printed lines.
    """

    max_epochs: int
    batch_size: int
    patience: int
    learning_rate: float
    weight_decay: float
    verbose: int
    name: str

    def train(
        self,
        network: nn.ModuleDict,
        tables: ListTables,
        target: Target,
        weights: Floats,
        numbers: Indices,
        rng: np.random.RandomState,
        validate: Callable[[nn.ModuleDict], float] | None = None,
        after_epoch: Callable[[nn.ModuleDict], bool] | None = None,
    ) -> TrainingRecord:
        """Train on the lists with these numbers.

        Parameters
        ----------
        network : nn.ModuleDict
            Trained in place.
        tables : ListTables
            Candidates, histories and profiles of all lists.
        target : Target
            The loss of lists.
        weights : ndarray of shape (n_lists,)
            Weights of all lists.
        numbers : ndarray of int
            The lists to train on.
        rng : RandomState
            Draws the batches.
        validate : callable, default=None
            Returns a value to minimise; training stops early, and the network gets back
            the weights of the epoch with the smallest value.
        after_epoch : callable, default=None
            Called with the network; returns whether to stop.

        Returns
        -------
        record : TrainingRecord
            The losses.

        Raises
        ------
        ValueError
            If a training loss or a validation value is not finite.
        """
        optimizer = torch.optim.Adam(
            network.parameters(),
            self.learning_rate,
            weight_decay=self.weight_decay,
            fused=True,
        )
        record, kept = TrainingRecord(), None
        for epoch in range(self.max_epochs):
            target.redraw(rng)
            loss = self._train_epoch(
                network, tables, target, weights, numbers, rng, optimizer
            )
            record.losses.append(self._finite(loss, "loss", epoch))
            if validate is not None:
                value = self._finite(validate(network), "validation value", epoch)
                record.validation_values.append(value)
                if value < record.validation_values[record.best_epoch] or epoch == 0:
                    record.best_epoch = epoch
                    kept = copy.deepcopy(network.state_dict())
            self._print(epoch, record)
            if after_epoch is not None and after_epoch(network):
                break
            if kept is not None and epoch - record.best_epoch >= self.patience:
                break
        if kept is not None:
            network.load_state_dict(kept)
        network.eval()
        return record

    def _train_epoch(self, network, tables, target, weights, numbers, rng, optimizer):
        """Go once over the lists; return their mean loss."""
        sizes = tables.candidates.sizes
        network.train()
        total = 0.0
        for step in drawn_batches(numbers, sizes, self.batch_size, rng):
            optimizer.zero_grad()
            for part in bounded_parts(step, sizes):
                values = target.values(network, tables.batch(part), part)
                weighted = (values * _column(weights[part], values)).sum()
                (weighted / len(step)).backward()
                total += weighted.item()
            nn.utils.clip_grad_norm_(network.parameters(), LARGEST_GRADIENT)
            optimizer.step()
        return total / weights[numbers].sum()

    def _finite(self, value: float, quantity: str, epoch: int) -> float:
        """Return a number that is finite, else raise ValueError."""
        if not np.isfinite(value):
            raise ValueError(
                f"{self.name}.fit: the {quantity} is {value} after epoch {epoch + 1}, "
                "not a finite number. Lower learning_rate, or look for huge values in "
                "X or y."
            )
        return float(value)

    def _print(self, epoch: int, record: TrainingRecord) -> None:
        if not self.verbose or (epoch + 1) % self.verbose:
            return
        text = f"[{self.name}] epoch {epoch + 1}: loss {record.losses[-1]:.6g}"
        if record.validation_values:
            text += f", validation {record.validation_values[-1]:.6g}"
        print(text, file=sys.stdout, flush=True)


@torch.no_grad()
def mean_loss(
    network: nn.ModuleDict,
    tables: ListTables,
    target: Target,
    weights: Floats,
    numbers: Indices,
) -> float:
    """Return the weighted mean loss of some lists, without dropout."""
    network.eval()
    total = 0.0
    for part in bounded_parts(numbers, tables.candidates.sizes):
        values = target.values(network, tables.batch(part), part, validating=True)
        total += float((values * _column(weights[part], values)).sum())
    return total / weights[numbers].sum()


def _column(values: Floats, like: Tensor) -> Tensor:
    return torch.as_tensor(values, dtype=like.dtype, device=like.device)
