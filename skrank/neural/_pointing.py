"""Scores of pairs of a place and a candidate, without what the loss never reads."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

PLACES_AT_ONCE = 4


class Pointing(torch.autograd.Function):
    r"""Scores :math:`v \cdot \tanh(r_j + g_i)` of places i and candidates j.

    Applied to r (n_lists, n, H), g (n_lists, n, H), v (H,) and whether to leave out
    j < i, which comes out as 0: half of the work, which is most of a training step.
    Returns (n_lists, n, n), by place. Differentiable once.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, states: Tensor, v: Tensor, upper: bool):
        """Return the scores."""
        n = rows.shape[1]
        scores = rows.new_zeros(len(rows), n, n)
        pointed = []
        for first in range(0, n, PLACES_AT_ONCE):
            here, there = _part(first, upper)
            part = (rows[:, None, there] + states[:, here, None]).tanh_()
            scores[:, here, there] = part @ v
            pointed.append(part)
        ctx.upper = upper
        ctx.save_for_backward(v, *pointed)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients in r, g and v."""
        v, *pointed = ctx.saved_tensors
        shape = *outer.shape[:2], len(v)
        in_rows, in_states = outer.new_zeros(shape), outer.new_zeros(shape)
        in_v = torch.zeros_like(v)
        for number, part in enumerate(pointed):
            here, there = _part(number * PLACES_AT_ONCE, ctx.upper)
            slope = outer[:, here, there]
            in_v += slope.reshape(-1) @ part.reshape(-1, len(v))
            inner = torch.addcmul(
                slope[..., None], slope[..., None] * part, part, value=-1
            )
            in_rows[:, there] += inner.sum(1)
            in_states[:, here] = inner.sum(2)
        return in_rows * v, in_states * v, in_v, None


def _part(first: int, upper: bool) -> tuple[slice, slice]:
    """Return some places, and the candidates that they may take."""
    return slice(first, first + PLACES_AT_ONCE), slice(first if upper else 0, None)
