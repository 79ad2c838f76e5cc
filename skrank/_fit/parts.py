"""Lists whose scores fall into parts so far apart that only ranks inside them count.

Between such parts a loss does not curve, though the weights of rows suggest that it
does. Features must then be centred inside parts, not inside lists.
"""

from __future__ import annotations

import numpy as np

from skrank._data.lists import Floats, Indices, Lists
from skrank._fit.blocks import Block
from skrank._fit.gram import Basis, Gram, sampled_blocks, weighted_gram
from skrank._fit.objective import LinearObjective

APART = 50.0  # between two neighbours in the order of scores
NOTHING = 1e-6  # of a product with the Hessian, beside one with random signs


def gram_inside_parts(
    objective: LinearObjective, parameters: Floats, basis: Basis | None
) -> Gram | None:
    """Return sums with features centred inside parts; None where lists have none."""
    if not isinstance(objective, LinearObjective):  # its rows are elsewhere
        return None
    coef, extra = np.split(parameters, [objective.n_features])
    weighty = coef != 0.0
    with np.errstate(over="ignore"):
        reach = np.abs(coef[weighty]) @ objective.sampled_ranges()[weighty]
    if not reach > APART:
        return None
    coef = np.ascontiguousarray(coef)
    blocks = sampled_blocks(objective)
    parts = [parts_of(objective, block, coef, extra) for block in blocks]
    n_lists = sum(block.lists.n_lists for block in blocks)
    if sum(lists.n_lists for _, lists in parts) == n_lists:
        return None
    return weighted_gram(objective, parameters, basis, parts)


def parts_of(
    objective: LinearObjective, block: Block, coef: Floats, extra: Floats
) -> tuple[Indices, Lists]:
    """Return an order of a block's rows, and the parts as lists of rows in that order.

    A list has parts if the loss does not curve as they move against each other: the
    product of the Hessian with one random number for each part is then nearly 0.
    """
    lists, loss = block.lists, objective.loss
    scores = block.scores(block.features(None)[0], coef)
    of_list = lists.expand(np.arange(lists.n_lists))
    order = np.lexsort((scores, of_list))
    far = np.diff(scores[order], prepend=scores[order[0]]) > APART
    first = np.zeros(lists.n_rows, dtype=bool)
    first[lists.starts] = True
    random = np.random.default_rng(lists.n_rows)
    signs = np.where(random.random(lists.n_rows) < 0.5, 1.0, -1.0)
    moved = np.empty(lists.n_rows)
    moved[order] = random.random(lists.n_rows)[np.cumsum(first | far) - 1]
    curved, usual = (
        lists.max(np.abs(loss.hessian_product(scores, block.prepared, lists, v, extra)))
        for v in (moved, signs)
    )
    far &= lists.expand(curved <= NOTHING * usual)
    return order, Lists(np.diff(np.append(np.flatnonzero(first | far), lists.n_rows)))
