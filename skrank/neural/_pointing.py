"""Scores of pairs of a place and a candidate, for the pairs that the loss reads."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

PLACES_AT_ONCE = 4
# Numbers kept for the gradient; if there are more, tanh is computed again.
MOST_KEPT = 2**24


class Pointing(torch.autograd.Function):
    r"""Scores :math:`v \cdot \tanh(r_j + g_i)` of places i and candidates j.

    Applied to r (n_lists, n, P), g (n_lists, n, P), v (P,) and whether to leave out
    j < i, which comes out as 0: half of the work, which is most of a training step.
    Returns (n_lists, n, n), by place. Differentiable once. Memory is that of the
    scores, and of MOST_KEPT numbers where gradients are wanted.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, states: Tensor, v: Tensor, upper: bool):
        """Return the scores."""
        n = rows.shape[1]
        scores = rows.new_zeros(len(rows), n, n)
        kept, room = [], MOST_KEPT if any(ctx.needs_input_grad) else 0
        for first in range(0, n, PLACES_AT_ONCE):
            places, candidates = _part(first, upper)
            part = _tanh(rows, states, places, candidates)
            scores[:, places, candidates] = part @ v
            room -= part.numel()
            if room >= 0:
                kept.append(part)
        ctx.upper, ctx.n_kept = upper, len(kept)
        ctx.save_for_backward(rows, states, v, *kept)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients in r, g and v."""
        rows, states, v, *kept = ctx.saved_tensors
        in_rows, in_states = torch.zeros_like(rows), torch.zeros_like(states)
        in_v = torch.zeros_like(v)
        for number, first in enumerate(range(0, rows.shape[1], PLACES_AT_ONCE)):
            places, candidates = _part(first, ctx.upper)
            if number < ctx.n_kept:
                part = kept[number]
            else:
                part = _tanh(rows, states, places, candidates)
            slope = outer[:, places, candidates]
            in_v += slope.reshape(-1) @ part.reshape(-1, len(v))
            # The derivative of tanh is 1 - tanh^2.
            inner = torch.addcmul(
                slope[..., None], slope[..., None] * part, part, value=-1
            )
            in_rows[:, candidates] += inner.sum(1)
            in_states[:, places] = inner.sum(2)
        return in_rows * v, in_states * v, in_v, None


def _part(first: int, upper: bool) -> tuple[slice, slice]:
    """Return some places, and the candidates that they may take."""
    return slice(first, first + PLACES_AT_ONCE), slice(first if upper else 0, None)


def _tanh(rows: Tensor, states: Tensor, places: slice, candidates: slice) -> Tensor:
    """Return tanh of the sums of each place and candidate."""
    return (rows[:, None, candidates] + states[:, places, None]).tanh_()
