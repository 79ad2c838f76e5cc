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
        extra_arguments = (_numbers(extra),) if len(extra) else ()
        result = loss.value_and_gradient(
            _numbers(scores), prepared, lists, *extra_arguments
        )
        extra_gradient = result[2] if extra_arguments else np.zeros((lists.n_lists, 0))
        ctx.lists = lists
        ctx.save_for_backward(
            scores.new_tensor(result[1]), extra.new_tensor(extra_gradient)
        )
        return scores.new_tensor(result[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients in the scores and in the loss's own parameters."""
        score_gradient, extra_gradient = ctx.saved_tensors
        sizes = torch.as_tensor(ctx.lists.sizes, device=outer.device)
        row_gradient = torch.repeat_interleave(outer, sizes) * score_gradient
        return row_gradient, outer.to(extra_gradient) @ extra_gradient, None, None, None


def _numbers(tensor: Tensor) -> Any:
    return np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=np.float64)
