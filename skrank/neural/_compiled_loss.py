"""Losses of the package as functions that torch differentiates."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skrank._data.lists import Lists
from skrank.losses import Loss


class CompiledLoss(torch.autograd.Function):
    """A loss of ``skrank.losses``: one call gives its values and its gradients.

    Applied to the scores (n_rows,), the loss's own parameters (n_extra,), the loss,
    what it prepared and the lists; returns values (n_lists,). Computed in float64 on
    the CPU, whatever the scores are. Differentiable once.
    """

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, extra: Tensor, loss: Loss, prepared: Any, lists: Lists
    ) -> Tensor:
        """Return the value of each list."""
        own = (_numbers(extra),) if len(extra) else ()
        result = loss.value_and_gradient(_numbers(scores), prepared, lists, *own)
        in_extra = result[2] if own else np.zeros((lists.n_lists, 0))
        ctx.lists = lists
        ctx.save_for_backward(scores.new_tensor(result[1]), extra.new_tensor(in_extra))
        return scores.new_tensor(result[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients in the scores and in the loss's own parameters."""
        in_scores, in_extra = ctx.saved_tensors
        sizes = torch.as_tensor(ctx.lists.sizes, device=outer.device)
        by_row = torch.repeat_interleave(outer, sizes) * in_scores
        return by_row, outer.to(in_extra) @ in_extra, None, None, None


def _numbers(tensor: Tensor) -> Any:
    return np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=np.float64)
