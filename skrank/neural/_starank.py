"""STARank: arrange a set of candidates instead of scoring them."""

from __future__ import annotations

from numbers import Real

import numpy as np
import torch
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from skrank._data.checks import check_choice, check_count, finite_column
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.weights import list_weights
from skrank.metrics import PositionBased, UserBrowsing
from skrank.neural._arrangements import (
    decoders_of,
    order_losses,
    place_best,
    place_drawn,
    ranks_of,
    scores_by_place,
    strict_order,
)
from skrank.neural._arranger import Arranger
from skrank.neural._base import NeuralRanker
from skrank.neural._batches import MOST_PAIRS, MOST_ROWS
from skrank.neural._copies import share_ranks
from skrank.neural._decoding import arrange
from skrank.neural._fitting import hidden_sizes
from skrank.neural._targets import ArrangementTarget, best_ranks

MOST_PLACES = 64  # that the decoder tells apart
MASKED = {"exact": "placed", "previous": "previous"}


class STARanker(NeuralRanker):
    r"""Neural ranker that arranges a set: it places one candidate after the other.

    Encoders turn what the user browsed into a vector u (an LSTM that starts at the
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

    The paper's text leaves room in some places. Readings of it are the attention of the
    encoder, u as the decoder's first state, and the tanh above (the guide's page on
    neural networks has them all). Memory of a step grows with the square of the longest
    list.

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
        Whether one of all best arrangements is drawn in each epoch, or once for a fit.
    max_grade : float, default=4
        The best grade there could be, of a click model as target.
    standardize : {"all", "list"}, default="all"
        How features of candidates are scaled: to mean 0 and variance 1 over all rows,
        or inside each list, short lists being held near the variance over all lists.
        Histories and profiles are always scaled over all rows.
    set_encoder : {"attention", "mlp"}, default="attention"
        How candidates are read: with attention to each other, or each alone.
    history_encoder : {"lstm", "mlp"} or None, default="lstm"
        How the rows browsed are read: in their order, as their mean, or not at all.
    hidden_size : int or tuple of int, default=64
        Number of entries of the vectors inside the network. Of a tuple such as
        (64, 32) the first is that of h and g, the second that of v; 64 is short for
        (64, 64).
    dropout : float, default=0.0
        Share of the entries of a candidate's vector that are left out in training.
    learning_rate : float, default=0.001
        Step size of Adam.
    weight_decay : float, default=0.0001
        Strength of the L2 penalty, as Adam adds it to the gradient.
    batch_size : int or "auto", default="auto"
        Number of lists in a step; "auto" takes 8 to 128 lists of some 512 rows, 64
        pairs of candidates counting as a row. Large steps are computed in parts.
    max_epochs : int, default=50
        Largest number of passes over the lists.
    early_stopping : bool or "auto", default="auto"
        Set whole lists apart, stop when the value on them no longer gets better, and
        keep the network of the best epoch. Each network has lists of its own. "auto"
        does so if there are at least ten lists.
    validation_fraction : float, default=0.2
        Share of the lists set apart.
    validation_metric : str, callable or RankingScorer, default=None
        What is measured on the lists set apart: None is the loss, with equal labels
        in one order. A name (:func:`~skrank.metrics.metric_names`) such as "ndcg@10",
        a function ``metric(y, scores, groups)`` or a scorer is a metric to be large.
    n_epochs_no_change : int, default=10
        Epochs to wait for a better value.
    n_networks : int, default=3
        Number of networks, each from other first weights; their mean scores arrange.
    warm_start : bool, default=False
        Go on from the networks of the last fit, and keep its means and deviations.
    n_jobs : int, default=None
        Number of threads on the CPU; None means 1, which small networks run fastest
        with, -1 all cores.
    device : str or torch.device, default="cpu"
        Where to compute, such as "cuda"; "auto" takes an accelerator if there is one.
        Devices without float64 train alone, and the CPU predicts.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn. On the CPU the same seed gives the same network.
    verbose : int, default=0
        Print the loss every ``verbose`` epochs.

    Attributes
    ----------
    networks_ : list of torch.nn.ModuleDict
        The "encoder" and the "head" of each network, on the CPU.
    network_ : torch.nn.ModuleDict
        The first of them.
    loss_curves_ : ndarray of shape (n_networks, n_epochs)
        Mean training loss of each epoch; NaN behind the end of training.
    validation_curves_ : ndarray of shape (n_networks, n_epochs) or (n_networks, 0)
        Loss or metric of the lists set apart, with ``early_stopping``.
    loss_curve_, validation_curve_ : ndarray of shape (n_epochs,) or (0,)
        Their means over the networks still in training.
    n_epochs_ : int
        Largest number of epochs of a network.
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

    _pair_cost = 1 / 64  # measured in benchmarks/results/neural/speed.md
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
        standardize="all",
        set_encoder="attention",
        history_encoder="lstm",
        hidden_size=64,
        dropout=0.0,
        learning_rate=1e-3,
        weight_decay=1e-4,
        batch_size="auto",
        max_epochs=50,
        early_stopping="auto",
        validation_fraction=0.2,
        validation_metric=None,
        n_epochs_no_change=10,
        n_networks=3,
        warm_start=False,
        n_jobs=None,
        device="cpu",
        random_state=None,
        verbose=0,
    ):
        self.loss = loss
        self.target = target
        self.ties = ties
        self.max_grade = max_grade
        self.standardize = standardize
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
        self.validation_metric = validation_metric
        self.n_epochs_no_change = n_epochs_no_change
        self.n_networks = n_networks
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @suggests_groups
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
        new = self._new_lists(X, groups, history, profile, "arrange")
        ranks = np.empty(new.lists.n_rows, dtype=np.intp)
        with self._predicting(new) as batches:
            place_best(ranks, new.lists, batches)
        ranks = share_ranks(ranks, new.first)
        by_row = new.grouping.scatter(ranks)
        if not return_scores:
            return by_row
        with self._predicting(new, most_rows=1) as batches:  # list by list
            return by_row, dict(scores_by_place(new, ranks, batches))

    @suggests_groups
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

        At each place one candidate is drawn with its probability.

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
        new = self._new_lists(X, groups, history, profile, "sample_arrangements")
        rng = check_random_state(random_state)
        generator = torch.Generator(new.device)
        generator.manual_seed(int(rng.randint(np.iinfo(np.int32).max)))
        ranks = np.empty((n_samples, new.lists.n_rows), dtype=np.intp)
        most = max(MOST_ROWS // n_samples, 1)
        with self._predicting(new, most_rows=most) as batches:
            place_drawn(ranks, new.lists, batches, generator)
        return new.grouping.scatter(ranks.T).T

    @suggests_groups
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
            Minus the ranks of the arrangement: no two rows of a list are equal.
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
        y_column = finite_column(y, "y")
        groups = find_groups(y, groups, f"{type(self).__name__}.log_likelihood", "y")
        new = self._new_lists(X, groups, history, profile, "log_likelihood")
        order = strict_order(y_column, new.grouping)
        values = np.empty(new.lists.n_lists)
        with self._predicting(new, most_pairs=MOST_PAIRS) as batches:
            for numbers, loss in order_losses(order, new.lists, batches):
                values[numbers] = -loss
        weights = list_weights(sample_weight, new.grouping)
        if average is None:
            by_label = new.grouping.label_order()
            return values if by_label is None else values[by_label]
        if average == "mean":
            return float(np.average(values, weights=weights))
        return float(values.sum() if weights is None else values @ weights)

    def _head(self, data):
        n_places = min(int(data.lists.sizes.max()), MOST_PLACES)
        if self.warm_start and hasattr(self, "networks_"):
            n_places = self.network_["head"].n_places
        return Arranger(*hidden_sizes(self.hidden_size, most=2), n_places)

    def _target(self, data, rng):
        lists, masked, redrawn = data.lists, MASKED[self.loss], self.ties == "redraw"
        ranks, rows, places = best_ranks(self.target, self.max_grade, data.y, lists)
        return ArrangementTarget(rows, ranks, lists, masked, redrawn, rng, places)

    def _predict(self, networks, batch):
        return -ranks_of(arrange(decoders_of(networks, batch), batch.sizes))

    def _finish(self, scores, first):
        return -share_ranks(-scores, first)
