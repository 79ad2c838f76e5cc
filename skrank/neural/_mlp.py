"""A listwise scorer with STARank's reader and any loss of the package."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from skrank._data.lists import Floats, Indices, Lists
from skrank.losses import ListMLE, Loss
from skrank.neural._base import NeuralRanker
from skrank.neural._batches import Batch
from skrank.neural._compiled_loss import CompiledLoss


class Scorer(nn.Module):
    """One score for each candidate, v . tanh(W h), and the loss's own parameters.

    It is the arranger without a state.
    """

    def __init__(self, hidden_size: int, extra: Floats) -> None:
        super().__init__()
        self.of_row = nn.Linear(hidden_size, hidden_size)
        self.v = nn.Linear(hidden_size, 1, bias=False)
        self.extra = nn.Parameter(torch.as_tensor(extra, dtype=torch.float32))

    def forward(self, h: Tensor) -> Tensor:
        """Return scores (n_lists, longest) of vectors (n_lists, longest, H)."""
        return self.v(torch.tanh(self.of_row(h)))[..., 0]


class LossTarget:
    """Labels under a loss of the package."""

    def __init__(self, loss: Loss, y: Floats, lists: Lists) -> None:
        self.loss, self.y, self.lists = loss, y, lists

    def redraw(self, rng: np.random.RandomState) -> None:
        """Leave all as it is: a loss draws once a fit."""

    def values(self, network: nn.ModuleDict, batch: Batch, numbers: Indices) -> Tensor:
        """Return the loss of each list of a batch, (n_lists,)."""
        head = network["head"]
        assert isinstance(head, Scorer)
        h, _ = network["reader"](batch)
        scores = head(h)[batch.valid]
        lists = Lists(self.lists.sizes[numbers])
        place = np.arange(lists.n_rows) - lists.expand(lists.starts)
        y = self.y[lists.expand(self.lists.starts[numbers]) + place]
        extra: Tensor = head.extra
        limit = self.loss.extra_limit
        extra = extra.clamp(-limit, limit) if np.isfinite(limit) else extra
        prepared = self.loss.prepare(y, lists)
        return CompiledLoss.apply(scores, extra, self.loss, prepared, lists)


class MLPRanker(NeuralRanker):
    r"""Neural ranker that scores candidates, trained by any loss of the package.

    Minimises the mean over lists of a loss :math:`\ell(s, y)` of

    .. math:: s_d = v \cdot \tanh(W h_d)

    where h is made by the reader of :class:`STARanker` from the candidates, the
    history and the profile. So it differs from that one by the arranger alone, and
    shows what arranging gains. Losses run compiled, in float64 on the CPU, and their
    own parameters (the weight of ties) are learned too. Memory of a step is
    proportional to batch_size x longest list squared with ``set_encoder="attention"``.

    Parameters
    ----------
    loss : Loss, default=None
        The loss, such as ``RankNet()``, ``PMOP()`` or one of your own; None means
        ``ListMLE()``.
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
    extra_ : ndarray of shape (n_extra,)
        The loss's own parameters, such as the weight of ties; empty for most.
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
    >>> from skrank.datasets import make_ranking
    >>> from skrank.losses import RankNet
    >>> from skrank.neural import MLPRanker
    >>> X, y, groups = make_ranking(n_lists=40, noise=0.0, random_state=0)
    >>> ranker = MLPRanker(RankNet(), max_epochs=20, random_state=0)
    >>> ranker.fit(X, y, groups).score(X, y, groups) > 0.9
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **NeuralRanker._parameter_constraints,
        "loss": [Loss, None],
    }

    def __init__(
        self,
        loss=None,
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

    @property
    def extra_(self):
        """The loss's own parameters, ndarray of shape (n_extra,)."""
        return self.network_["head"].extra.detach().numpy().astype(np.float64)

    def _model(self, y, lists, rng):
        loss = ListMLE() if self.loss is None else self.loss
        target = LossTarget(loss, loss.check_labels(y, lists), lists)
        head = Scorer(self.hidden_size, loss.extra_parameters(target.y, lists))
        return head, target

    def _predict(self, network, batch):
        h, _ = network["reader"](batch)
        return network["head"](h)
