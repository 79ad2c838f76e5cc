"""A listwise scorer with STARank's encoders and any loss of the package."""

from __future__ import annotations

import numpy as np
from torch import nn

from skrank.losses import Loss, RankNet
from skrank.neural._base import NeuralRanker
from skrank.neural._fitting import hidden_sizes
from skrank.neural._scorers import OwnScorer, Scorer, batch_scores
from skrank.neural._targets import LossTarget

LARGEST_GRADE = 30  # of labels whose gains 2**y - 1 weigh pairs by default


class MLPRanker(NeuralRanker):
    r"""Neural ranker that scores candidates, trained by any loss of the package.

    Minimises the mean over lists of a loss :math:`\ell(s, y)` of

    .. math:: s_d = v \cdot \tanh(W h_d)

    where h is made by the encoders of :class:`STARanker` from the candidates, the
    history and the profile. So it differs from that one by the arranger alone, and
    shows what arranging gains. Losses run compiled, in float64 on the CPU, and their
    own parameters (the weight of ties) are learned too. Memory of a step is
    proportional to batch_size x longest list squared with ``set_encoder="attention"``.

    Parameters
    ----------
    loss : Loss, default=None
        The loss, such as ``ListMLE()``, ``PMOP()`` or one of your own. None means
        ``RankNet("gain")`` for grades, whole numbers from 0 to 30, and ``RankNet()``
        for other labels.
    scorer : torch.nn.Module or callable, default=None
        A network of your own in place of the encoders: a module whose ``forward`` takes
        standardised candidates (n_lists, longest, n_features), and ``valid``
        (n_lists, longest), True where a row is not padding, if it has a parameter of
        that name; it returns one score each, (n_lists, longest) or with one column
        more. Each fit draws the weights of a copy again (by ``reset_parameters`` of
        the layers); to choose weights yourself pass a function that takes n_features
        and returns a module.
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
        (64, 32) the first is that of h, the others those of hidden layers of the
        scorer; 64 is short for (64, 64).
    dropout : float, default=0.5
        Share of the entries of a candidate's vector h that are left out in training. A
        ``scorer`` of your own has none but its own.
    learning_rate : float, default=0.001
        Step size of Adam.
    weight_decay : float, default=0.0001
        Strength of the L2 penalty, as Adam adds it to the gradient.
    batch_size : int or "auto", default="auto"
        Number of lists in a step; "auto" takes lists of some 512 rows together, from 8
        to 128 lists. Steps that need much memory are computed in parts.
    max_epochs : int, default=50
        Largest number of passes over the lists.
    early_stopping : bool or "auto", default="auto"
        Set whole lists apart, stop when the value on them no longer gets better, and
        keep the network of the best epoch. Each network has lists of its own. "auto"
        does so if there are at least ten lists.
    validation_fraction : float, default=0.2
        Share of the lists set apart.
    validation_metric : str, callable or RankingScorer, default=None
        What is measured on the lists set apart: None is the loss. A name
        (:func:`~skrank.metrics.metric_names`) such as "ndcg@10", a function
        ``metric(y, scores, groups)`` or a scorer is a metric to be large.
    n_epochs_no_change : int, default=10
        Epochs to wait for a better value.
    n_networks : int, default=3
        Number of networks, trained one after the other from other first weights. The
        mean of their scores ranks.
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
    extra_ : ndarray of shape (n_extra,)
        The loss's own parameters, such as the weight of ties; empty for most.
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
    >>> from skrank.datasets import make_ranking
    >>> from skrank.neural import MLPRanker
    >>> X, y, groups = make_ranking(n_lists=40, noise=0.0, random_state=0)
    >>> ranker = MLPRanker(random_state=0)
    >>> ranker.fit(X, y, groups).score(X, y, groups) > 0.9
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **NeuralRanker._parameter_constraints,
        "loss": [Loss, None],
        "scorer": [nn.Module, callable, None],
    }

    def __init__(
        self,
        loss=None,
        *,
        scorer=None,
        standardize="all",
        set_encoder="attention",
        history_encoder="lstm",
        hidden_size=64,
        dropout=0.5,
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
        self.scorer = scorer
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

    @property
    def extra_(self):
        """The loss's own parameters, ndarray of shape (n_extra,)."""
        extra = [network["head"].extra.detach().numpy() for network in self.networks_]
        return np.mean(extra, axis=0, dtype=np.float64)

    def _loss(self, y):
        """Return the loss to learn some labels with."""
        if self.loss is not None:
            return self.loss
        are_grades = y.min() >= 0 and y.max() <= LARGEST_GRADE and (y % 1 == 0).all()
        return RankNet("gain" if are_grades else None)

    def _labels(self, y, lists):
        return self._loss(y).check_labels(y, lists)

    def _head(self, data):
        extra = self._loss(data.y).extra_parameters(data.y, data.lists)
        if self.scorer is None:
            return Scorer(hidden_sizes(self.hidden_size), extra)
        return OwnScorer(self.scorer, self._inputs.candidates.n_columns, extra)

    def _network(self, head):
        if self.scorer is None:
            return super()._network(head)
        if self._inputs.history is not None or self._inputs.profile is not None:
            raise ValueError(
                "scorer= reads candidates alone, so that history and profile would be "
                "lost. Leave them out, or use scorer=None."
            )
        return nn.ModuleDict({"head": head})

    def _target(self, data, rng):
        return LossTarget(self._loss(data.y), data.y, data.lists)

    def _predict(self, networks, batch):
        return sum(batch_scores(network, batch) for network in networks) / len(networks)

    def _finish(self, scores, first):
        return scores if first is None else scores[first]
