"""Place candidates one after the other: the best at each place, or one drawn."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from skrank._data.lists import Indices
from skrank.neural._arranger import Arranger

ROUNDING = torch.finfo(torch.float32).eps


class Decoder:
    r"""Scores of the candidates not yet placed, by one network, place by place.

    A row that is placed is dropped: the last remaining row moves to its slot, so that
    the first n - i slots of a list of n rows hold the rows that remain at place i.
    Products of candidates with weights are computed once, before the first place.

    :math:`v \cdot \tanh(W_h h_d + W_g g)` is computed in float32, with an error of at
    most ``bound``. Only candidates that may be the best by this bound are computed in
    float64, so that the order is that of float64.

    Parameters
    ----------
    arranger : Arranger
        The network, float64.
    h : Tensor of shape (n_lists, longest, H)
        Vectors of the candidates, float64, lists by size, the longest first.
    user : Tensor of shape (n_lists, H)
        User vectors.
    exact : bool, default=False
        Compute all scores in float64.
    """

    def __init__(
        self, arranger: Arranger, h: Tensor, user: Tensor, exact: bool = False
    ) -> None:
        lstm, size = arranger.lstm, user.shape[1]
        self.of_state, self.v = arranger.of_state, arranger.v.weight[0]
        self.n_places = arranger.n_places
        self.hidden_weight = lstm.weight_hh_l0
        # Input of the LSTM's gates from the last row placed, and from the place.
        self.of_last = h @ lstm.weight_ih_l0[:, :size].T
        bias = lstm.bias_ih_l0 + lstm.bias_hh_l0
        self.of_place = lstm.weight_ih_l0[:, size:].T + bias
        self.rows = arranger.of_row(h)
        self.fast = self.rows if exact else self.rows.float()
        self.fast_v = self.v.to(self.fast)
        self.hidden, self.cell = user, torch.zeros_like(user)
        self.last: Tensor | None = None  # no row is placed before the first place
        self.bound = 0.0 if exact else self._bound()

    def _bound(self) -> float:
        """Return how far scores in float32 can be from those in float64.

        Each term v_k tanh(a + b) has the rounding errors of a and b, which are at most
        their sizes times the unit roundoff, since the slope of tanh is at most 1, and a
        few of its own. The sum of P terms rounds once a term. LSTM states lie in
        [-1, 1].
        """
        largest_row = self.rows.abs().amax((0, 1))
        largest_state = self.of_state.weight.abs().sum(1) + self.of_state.bias.abs()
        roundings = largest_row + largest_state + len(self.v) + 8
        return float(ROUNDING * (self.v.abs() @ roundings))

    def scores(self, place: int, n_lists: int, width: int) -> Tensor:
        """Return scores (n_lists, width) of the slots of the first lists."""
        gates = self.of_place[min(place, self.n_places - 1)]
        gates = gates + self.hidden[:n_lists] @ self.hidden_weight.T
        if self.last is not None:
            gates = gates + self.last[:n_lists]
        enter, keep, new, show = gates.chunk(4, -1)
        kept = torch.sigmoid(keep) * self.cell[:n_lists]
        self.cell = kept + torch.sigmoid(enter) * torch.tanh(new)
        self.hidden = torch.sigmoid(show) * torch.tanh(self.cell)
        self.state = self.of_state(self.hidden)
        fast_state = self.state.to(self.fast)
        terms = self.fast[:n_lists, :width] + fast_state[:, None]
        return terms.tanh_() @ self.fast_v

    def exact_scores(self, lists: Tensor, slots: Tensor) -> Tensor:
        """Return the scores of some slots at the last place, in float64."""
        return torch.tanh(self.rows[lists, slots] + self.state[lists]) @ self.v

    def take(self, lists: Tensor, rows: Tensor, slots: Tensor, last: Tensor) -> None:
        """Place a row of each list, and move the last remaining row to its slot."""
        self.last = self.of_last[lists, rows]
        for table in (self.rows, self.fast):
            table[lists, slots] = table[lists, last]


def arrange(
    decoders: Sequence[Decoder],
    sizes: Indices,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Place the best candidate at each place, or one drawn with its probability.

    Parameters
    ----------
    decoders : sequence of Decoder
        One a network; the mean of their scores counts.
    sizes : ndarray of int of shape (n_lists,)
        Number of rows of each list, the largest first.
    generator : torch.Generator, default=None
        Draws, from exact decoders; None takes the best.

    Returns
    -------
    order : int Tensor of shape (n_lists, longest)
        Candidate at each place; behind the rows of a list, padding in its order.
    """
    device = decoders[0].rows.device
    longest = int(sizes[0])
    order = torch.arange(longest, device=device).repeat(len(sizes), 1)
    row_in_slot = order.clone()
    lists = torch.arange(len(sizes), device=device)
    all_sizes = torch.as_tensor(sizes, device=device)
    bound = sum(decoder.bound for decoder in decoders) / len(decoders)
    for place in range(longest):
        n_lists, width = int((sizes > place).sum()), longest - place
        unfinished = lists[:n_lists]
        scores = sum(decoder.scores(place, n_lists, width) for decoder in decoders)
        scores = scores / len(decoders)
        n_left = all_sizes[:n_lists] - place
        if sizes[n_lists - 1] < longest:
            empty = torch.arange(width, device=device) >= n_left[:, None]
            scores = scores.masked_fill(empty, -torch.inf)
        if generator is not None:
            # Scores plus Gumbel noise: the largest is a draw from their softmax.
            noise = torch.empty_like(scores).exponential_(generator=generator)
            slots = (scores - torch.log(noise)).argmax(1)
        else:
            slots = _best(decoders, scores, bound)
        rows = row_in_slot[unfinished, slots]
        order[unfinished, place] = rows
        last = n_left - 1
        row_in_slot[unfinished, slots] = row_in_slot[unfinished, last]
        for decoder in decoders:
            decoder.take(unfinished, rows, slots, last)
    return order


def _best(decoders: Sequence[Decoder], scores: Tensor, bound: float) -> Tensor:
    """Return the slot of the largest score of each list, in float64."""
    if bound == 0.0:
        return scores.argmax(1)
    best, slots = scores.max(1)
    possible = scores >= (best - 2.0 * bound)[:, None]
    if int(possible.sum()) == len(scores):
        return slots
    lists, slots = possible.nonzero(as_tuple=True)
    exact = sum(decoder.exact_scores(lists, slots) for decoder in decoders)
    table = torch.full(
        scores.shape, -torch.inf, dtype=exact.dtype, device=scores.device
    )
    table[lists, slots] = exact
    return table.argmax(1)
