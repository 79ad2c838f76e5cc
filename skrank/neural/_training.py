"""The training loop of the networks: Adam over batches of whole lists."""

from __future__ import annotations

import copy
import sys
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from skrank._data.lists import Floats, Indices
from skrank.neural._batches import Batch, ListTables, batches_of, drawn_batches

LARGEST_GRADIENT = 20.0  # as in the code of STARank


class Target(Protocol):
    """What a network shall learn of the labels."""

    def redraw(self, rng: np.random.RandomState) -> None:
        """Draw anew what is left to chance, before each epoch."""

    def values(self, network: nn.ModuleDict, batch: Batch, numbers: Indices) -> Tensor:
        """Return the loss of each list of a batch, (n_lists,)."""


@dataclass
class Course:
    """How training is done, and how it went.

    Attributes
    ----------
    max_epochs, batch_size, patience : int
        Passes over the lists, lists in a step, and epochs without a better validation
        loss before an early stop.
    learning_rate, weight_decay : float
        Of Adam.
    verbose : int
        Print every so many epochs; 0 not at all.
    name : str
        Who trains, for what is printed.
    losses, validation_losses : list of float
        Mean loss of the training and of the validation lists, an epoch each.
    """

    max_epochs: int
    batch_size: int
    patience: int
    learning_rate: float
    weight_decay: float
    verbose: int
    name: str
    losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)

    def train(
        self,
        network: nn.ModuleDict,
        tables: ListTables,
        target: Target,
        weights: Floats,
        numbers: Indices,
        validation: Indices | None,
        rng: np.random.RandomState,
    ) -> None:
        """Train on the lists with these numbers.

        With validation lists training stops early, and the network is left as it was
        in the epoch that fitted them best.
        """
        sizes = tables.candidates.sizes
        optimizer = torch.optim.Adam(
            network.parameters(), self.learning_rate, weight_decay=self.weight_decay
        )
        best, best_epoch, kept = np.inf, 0, None
        for epoch in range(self.max_epochs):
            target.redraw(rng)
            network.train()
            total = 0.0
            for part in drawn_batches(numbers, sizes, self.batch_size, rng):
                values = target.values(network, tables.batch(part), part)
                shares = _column(weights[part], values)
                optimizer.zero_grad()
                ((values * shares).sum() / len(part)).backward()
                nn.utils.clip_grad_norm_(network.parameters(), LARGEST_GRADIENT)
                optimizer.step()
                total += float((values.detach() * shares).sum())
            self.losses.append(total / weights[numbers].sum())
            if not np.isfinite(self.losses[-1]):
                raise ValueError(
                    f"{self.name}.fit: the loss is not finite after epoch {epoch + 1}. "
                    "Lower learning_rate, or look for huge values in X."
                )
            if validation is not None:
                value = self.mean(network, tables, target, weights, validation)
                self.validation_losses.append(value)
                if value < best:
                    best, best_epoch = value, epoch
                    kept = copy.deepcopy(network.state_dict())
            self._print(epoch)
            if validation is not None and epoch - best_epoch >= self.patience:
                break
        if kept is not None:
            network.load_state_dict(kept)
        network.eval()

    @torch.no_grad()
    def mean(
        self,
        network: nn.ModuleDict,
        tables: ListTables,
        target: Target,
        weights: Floats,
        numbers: Indices,
    ) -> float:
        """Return the weighted mean loss of some lists, without dropout."""
        network.eval()
        total = 0.0
        for part in batches_of(numbers, self.batch_size):
            values = target.values(network, tables.batch(part), part)
            total += float((values * _column(weights[part], values)).sum())
        return total / weights[numbers].sum()

    def _print(self, epoch: int) -> None:
        if not self.verbose or (epoch + 1) % self.verbose:
            return
        text = f"[{self.name}] epoch {epoch + 1}: loss {self.losses[-1]:.6g}"
        if self.validation_losses:
            text += f", validation {self.validation_losses[-1]:.6g}"
        print(text, file=sys.stdout, flush=True)


def _column(values: Floats, like: Tensor) -> Tensor:
    return torch.as_tensor(values, dtype=like.dtype, device=like.device)
