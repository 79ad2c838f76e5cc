"""STARank: arrange a set of candidates instead of scoring them."""

from __future__ import annotations

from numbers import Real

import numpy as np
import torch
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor, nn

from skrank._data.checks import check_choice, check_count, finite_column
from skrank._data.grouping import list_weights
from skrank._data.groups import find_groups, takes_groups
from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank.metrics import PositionBased, UserBrowsing, best_order
from skrank.neural._arranger import Arranger, arrangement_loss
from skrank.neural._base import NeuralRanker, place_rows
from skrank.neural._batches import Batch, padded_index

MOST_PLACES = 64  # that the decoder tells apart
MASKED = {"exact": "placed", "previous": "previous"}


class ArrangementTarget:
    """The best arrangement of each list, equal labels in an order drawn anew.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Labels in the order of the lists.
    ranks : ndarray of shape (n_rows,)
        Rank of each row in a best arrangement, any number that sorts to it.
    lists : Lists
        The lists.
    masked : {"placed", "previous"}
        Reading of the loss.
    redrawn : bool
        Whether equal labels are drawn anew in each epoch, not only once.
    rng : RandomState
        Draws the first order.
    """

    def __init__(
        self,
        y: Floats,
        ranks: Floats,
        lists: Lists,
        masked: str,
        redrawn: bool,
        rng: np.random.RandomState,
    ) -> None:
        self.y, self.lists, self.masked = y, lists, masked
        self.of_list = lists.expand(np.arange(lists.n_lists))
        places = np.empty(len(y))
        places[np.lexsort((ranks, self.of_list))] = np.arange(len(y))
        # The places that the rows of each label have among them, label by label.
        self.places = places[np.lexsort((places, y, self.of_list))]
        self.redrawn = redrawn and bool((Levels(y, lists).sizes > 1).any())
        self._draw(rng)

    def redraw(self, rng: np.random.RandomState) -> None:
        """Share the ranks of equal labels out anew."""
        if self.redrawn:
            self._draw(rng)

    def _draw(self, rng: np.random.RandomState) -> None:
        tie_breaks = rng.random_sample(len(self.y))
        places = np.empty(len(self.y))
        places[np.lexsort((tie_breaks, self.y, self.of_list))] = self.places
        # Which row of its list stands at each place.
        self.order = np.argsort(places) - self.lists.expand(self.lists.starts)

    def values(self, network: nn.ModuleDict, batch: Batch, numbers: Indices) -> Tensor:
        """Return minus the log-probability of each list's arrangement, (n_lists,)."""
        h, user = network["reader"](batch)
        order = padded_order(self.order, self.lists, numbers)
        return order_loss(network["head"], h, user, batch.valid, order, self.masked)


def padded_order(order: Indices, lists: Lists, numbers: Indices) -> Indices:
    """Return the places in their lists of some lists' rows, padding behind them."""
    valid, index = padded_index(lists.starts[numbers], lists.sizes[numbers])
    return np.where(valid, order[index], np.arange(valid.shape[1]))


def order_loss(
    arranger: nn.Module,
    h: Tensor,
    user: Tensor,
    valid: Tensor,
    order: Indices,
    masked: str,
) -> Tensor:
    """Return minus the log-probability of candidates in an order, (n_lists,)."""
    index = torch.as_tensor(order, device=h.device)[..., None].expand_as(h)
    return arrangement_loss(arranger(h.gather(1, index), user, masked), valid, masked)


class STARanker(NeuralRanker):
    r"""Neural ranker that arranges a set: it places one candidate after the other.

    A reader turns what the user browsed into a vector u (an LSTM that starts at the
    profile) and each candidate into a vector h that knows the whole set (attention). An
    arranger, the decoder of a pointer network, then places candidates one by one:

    .. math::

        P(\pi) = \prod_i \frac{\exp s^i_{\pi_i}}{\sum_{d \notin \pi_{<i}} \exp s^i_d},
        \qquad s^i_d = v \cdot \tanh(W_h h_d + W_g g_i)

    with g the state of an LSTM that reads what was placed. Where scores do not depend
    on the place i this is the Plackett-Luce model of :class:`~skrank.ListMLERanker`;
    here what stands above a candidate changes its score. Minimised is the mean over
    lists of :math:`-\log P(\pi^*)`, with the best arrangement of the labels fed to the
    decoder. Prediction takes the best candidate at each place.

    Readings where the paper's text leaves room, see ``doc/neural.md``: the attention
    of the reader, u as the decoder's first state, and the tanh above. Memory of a step
    is proportional to batch_size x longest list squared x hidden_size. The training
    loop is our own rather than skorch's, which cuts data and validation parts by row,
    and has no place for lists, histories and targets drawn in each epoch.

    Parameters
    ----------
    loss : {"exact", "previous"}, default="exact"
        "exact" is the negative log-likelihood above. "previous" takes the paper's
        equation 16 literally, and forbids at each place only what was placed just
        before; predictions place each candidate once all the same.
    target : "ndcg" or click model, default="ndcg"
        What the best arrangement is: "ndcg" sorts by label. ``PositionBased()`` or
        ``UserBrowsing()`` of ``skrank.metrics`` takes the order with the most clicks
        expected, see :func:`~skrank.metrics.best_order`.
    ties : {"redraw", "fixed"}, default="redraw"
        Whether the order of equal labels in the target is drawn anew in each epoch or
        once a fit.
    max_grade : float, default=4
        The best grade there could be, for a click model as target.
    set_encoder : {"attention", "mlp"}, default="attention"
        How candidates are read: with attention to each other, or each alone.
    history_encoder : {"lstm", "mlp"} or None, default="lstm"
        How the rows browsed are read: in their order, as their mean, or not at all.
    hidden_size : int, default=64
        Number of entries of the vectors inside the network.
    dropout : float, default=0.0
        Share of the entries of a candidate's vector that are left out in training.
    learning_rate : float, default=0.001
        Step size of Adam.
    weight_decay : float, default=0.0001
        Strength of the L2 penalty, as Adam adds it to the gradient.
    batch_size : int, default=32
        Number of lists in a step.
    max_epochs : int, default=50
        Largest number of passes over the lists.
    early_stopping : bool, default=False
        Set whole lists apart, stop when their loss no longer falls, and keep the
        network that fitted them best.
    validation_fraction : float, default=0.1
        Share of the lists set apart.
    n_epochs_no_change : int, default=10
        Epochs to wait for a better validation loss.
    n_jobs : int, default=None
        Number of threads on the CPU; None means 1, which small networks run fastest
        with, -1 all cores.
    device : str, default="cpu"
        Where to compute, such as "cuda".
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn. On the CPU the same seed gives the same network.
    verbose : int, default=0
        Print the loss every ``verbose`` epochs.

    Attributes
    ----------
    network_ : torch.nn.ModuleDict
        The "reader" and the "head", on the CPU.
    loss_curve_ : ndarray of shape (n_epochs,)
        Mean training loss of each epoch.
    validation_curve_ : ndarray of shape (n_epochs,) or (0,)
        Mean loss of the lists set apart, with ``early_stopping``.
    n_epochs_ : int
        Number of epochs.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    References
    ----------
    .. [1] J. Jin et al., "Replace scoring with arrangement: a contextual
       set-to-arrangement framework for learning-to-rank" (STARank), CIKM 2023.

    Examples
    --------
    >>> from skrank.neural import STARanker, make_browsing
    >>> data = make_browsing(n_lists=60, random_state=0)
    >>> ranker = STARanker(max_epochs=20, random_state=0)
    >>> ranker = ranker.fit(
    ...     data.X, data.y, data.groups, history=data.history, profile=data.profile
    ... )
    >>> ranks = ranker.arrange(
    ...     data.X, data.groups, history=data.history, profile=data.profile
    ... )
    >>> sorted(ranks[data.groups == 0].tolist())
    [1, 2, 3, 4, 5, 6]
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **NeuralRanker._parameter_constraints,
        "loss": [StrOptions({"exact", "previous"})],
        "target": [StrOptions({"ndcg"}), PositionBased, UserBrowsing],
        "ties": [StrOptions({"redraw", "fixed"})],
        "max_grade": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        loss="exact",
        target="ndcg",
        ties="redraw",
        max_grade=4,
        *,
        set_encoder="attention",
        history_encoder="lstm",
        hidden_size=64,
        dropout=0.0,
        learning_rate=1e-3,
        weight_decay=1e-4,
        batch_size=32,
        max_epochs=50,
        early_stopping=False,
        validation_fraction=0.1,
        n_epochs_no_change=10,
        n_jobs=None,
        device="cpu",
        random_state=None,
        verbose=0,
    ):
        self.loss = loss
        self.target = target
        self.ties = ties
        self.max_grade = max_grade
        self.set_encoder = set_encoder
        self.history_encoder = history_encoder
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_epochs_no_change = n_epochs_no_change
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @takes_groups
    def arrange(
        self, X, groups=None, history=None, profile=None, *, return_scores=False
    ):
        """Return the rank of each row in the arrangement of its list.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of the candidates.
        groups : array-like of shape (n_rows,)
            One group label a row.
        history : ListData, default=None
            Rows browsed, if ``fit`` had them.
        profile : ListData, default=None
            Profiles, if ``fit`` had them.
        return_scores : bool, default=False
            Return the decoder's scores too.

        Returns
        -------
        ranks : ndarray of int of shape (n_rows,)
            1 for what is placed first.
        scores : dict from label to ndarray of shape (n, n)
            For each list of n rows the scores by place and by row, rows in row order;
            -inf for a row placed before. Only with ``return_scores``.

        Raises
        ------
        NotFittedError
            If :meth:`fit` has not run.
        ValueError
            If groups are missing, or the data are not as in ``fit``.
        """
        grouping, tables = self._seen(X, groups, history, profile, "arrange")
        lists = grouping.lists
        ranks = np.empty(lists.n_rows, dtype=np.intp)
        scores = {}
        for numbers, batch, network in self._batches(tables):
            h, user = network["reader"](batch)
            order, given = network["head"].arrange(h, user, batch.valid)
            place_rows(ranks, _ranks(order), batch, lists, numbers)
            for number, table in zip(numbers, given.cpu().numpy(), strict=True):
                size = lists.sizes[number]
                scores[grouping.labels[number]] = table[:size, :size]
        ranks = grouping.scatter(ranks)
        return (ranks, scores) if return_scores else ranks

    @takes_groups
    def sample_arrangements(
        self,
        X,
        groups=None,
        history=None,
        profile=None,
        *,
        n_samples=1,
        random_state=None,
    ):
        """Draw arrangements of each list from the fitted model.

        Exact: at each place one candidate is drawn with its probability.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of the candidates.
        groups : array-like of shape (n_rows,)
            One group label a row.
        history : ListData, default=None
            Rows browsed, if ``fit`` had them.
        profile : ListData, default=None
            Profiles, if ``fit`` had them.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        ranks : ndarray of int of shape (n_samples, n_rows)
            Rank of each row in its list, 1 for the first: one row a draw.

        Raises
        ------
        NotFittedError
            If :meth:`fit` has not run.
        ValueError
            If groups are missing, the data are not as in ``fit``, or ``n_samples`` is
            below 1.
        """
        check_count(n_samples, "n_samples")
        method = "sample_arrangements"
        grouping, tables = self._seen(X, groups, history, profile, method)
        rng = check_random_state(random_state)
        generator = torch.Generator(self.device)
        generator.manual_seed(int(rng.randint(np.iinfo(np.int32).max)))
        ranks = np.empty((n_samples, grouping.lists.n_rows), dtype=np.intp)
        for numbers, batch, network in self._batches(tables):
            h, user = network["reader"](batch)
            for draw in ranks:
                order, _ = network["head"].arrange(h, user, batch.valid, generator)
                place_rows(draw, _ranks(order), batch, grouping.lists, numbers)
        if grouping.rows is None:
            return ranks
        out = np.empty_like(ranks)
        out[:, grouping.rows] = ranks
        return out

    @takes_groups
    def log_likelihood(
        self,
        X,
        y,
        groups=None,
        history=None,
        profile=None,
        *,
        average="sum",
        sample_weight=None,
    ):
        r"""Return the logarithm of the probability of given arrangements.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of the candidates.
        y : array-like of shape (n_rows,)
            Numbers that sort each list, the largest first, into the arrangement: minus
            the ranks. No two rows of a list are equal.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.
        history : ListData, default=None
            Rows browsed, if ``fit`` had them.
        profile : ListData, default=None
            Profiles, if ``fit`` had them.
        average : {"sum", "mean", None}, default="sum"
            Sum or mean over lists; None returns one value a list, in the order of
            ``list_labels(groups)``.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row's list, constant inside a list.

        Returns
        -------
        log_likelihood : float or ndarray of shape (n_lists,)
            0 for a list of one row.

        Raises
        ------
        NotFittedError
            If :meth:`fit` has not run.
        ValueError
            If groups are missing, lengths differ, two rows of a list are equal,
            ``average`` is unknown, or the data are not as in ``fit``.
        """
        check_choice(average, "average", ("sum", "mean", None))
        given = finite_column(y, "y")
        groups = find_groups(y, groups, f"{type(self).__name__}.log_likelihood")
        grouping, tables = self._seen(X, groups, history, profile, "log_likelihood")
        lists = grouping.lists
        if len(given) != lists.n_rows:
            raise ValueError(
                f"y has {len(given)} entries for {lists.n_rows} rows; it needs one "
                "entry per row."
            )
        levels = Levels(grouping.gather(given), lists)
        if levels.sizes.max() > 1:
            raise ValueError(
                "y must arrange each list, but some rows of a list are equal. Break "
                "ties first, as rank_within(y, groups, method='ordinal') does."
            )
        order = levels.order - lists.expand(lists.starts)
        values = np.empty(lists.n_lists)
        for numbers, batch, network in self._batches(tables):
            h, user = network["reader"](batch)
            places = padded_order(order, lists, numbers)
            loss = order_loss(network["head"], h, user, batch.valid, places, "placed")
            values[numbers] = -loss.cpu().numpy()
        weights = list_weights(sample_weight, grouping)
        if average is None:
            by_label = grouping.label_order()
            return values if by_label is None else values[by_label]
        if average == "mean":
            return float(np.average(values, weights=weights))
        return float(values.sum() if weights is None else values @ weights)

    def _model(self, y, lists, rng):
        if self.target == "ndcg":
            ranks = -y
        else:
            of_list = lists.expand(np.arange(lists.n_lists))
            best = best_order(y, of_list, model=self.target, max_grade=self.max_grade)
            ranks = best.ranks.astype(np.float64)
        n_places = min(int(lists.sizes.max()), MOST_PLACES)
        target = ArrangementTarget(
            y, ranks, lists, MASKED[self.loss], self.ties == "redraw", rng
        )
        return Arranger(self.hidden_size, n_places), target

    def _predict(self, network, batch):
        h, user = network["reader"](batch)
        order, _ = network["head"].arrange(h, user, batch.valid)
        return -_ranks(order).to(torch.float64)


def _ranks(order: Tensor) -> Tensor:
    """Return the rank of each candidate, 1 for the first, of orders (..., longest)."""
    return order.argsort(-1) + 1
