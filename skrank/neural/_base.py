"""What the neural rankers share: lists in, a trained network, scores out."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
import torch
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, _fit_context
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from skrank._data.checks import Integers, as_written, finite_column
from skrank._data.grouping import Grouping, group_rows, list_weights
from skrank._data.groups import find_groups, takes_groups
from skrank._data.lists import Floats, Lists
from skrank.base import RankerMixin
from skrank.metrics import ndcg_score
from skrank.neural._batches import Batch, ListTables, Ragged, batches_of
from skrank.neural._list_data import ListData
from skrank.neural._reader import Reader
from skrank.neural._training import Course, Target


class NeuralRanker(RankerMixin, BaseEstimator):
    """Base of the neural rankers.

    A subclass defines ``_model``, the network behind the reader and what it learns of
    the labels; and ``_predict``, the scores of a batch.
    """

    _request = {"groups": True, "history": True, "profile": True}  # noqa: RUF012
    __metadata_request__fit = _request
    __metadata_request__score = _request
    __metadata_request__predict = _request
    _doc_link_module = "skrank"

    _parameter_constraints: dict = {  # noqa: RUF012
        "set_encoder": [StrOptions({"attention", "mlp"})],
        "history_encoder": [StrOptions({"lstm", "mlp"}), None],
        "hidden_size": [Integers(1)],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Integers(1)],
        "max_epochs": [Integers(1)],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_epochs_no_change": [Integers(1)],
        "n_jobs": [Integers(None), None],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _model(
        self, y: Floats, lists: Lists, rng: np.random.RandomState
    ) -> tuple[nn.Module, Target]:
        """Return the network behind the reader, and what to learn of the labels."""
        raise NotImplementedError

    def _predict(self, network: nn.ModuleDict, batch: Batch) -> Any:
        """Return a score of each candidate of a batch, (n_lists, longest)."""
        raise NotImplementedError

    @takes_groups
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X,
        y,
        groups=None,
        history=None,
        profile=None,
        *,
        sample_weight=None,
    ):
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of the candidates.
        y : array-like of shape (n_rows,)
            Labels, higher is better. A pandas object may carry the groups on an
            index level named "groups".
        groups : array-like of shape (n_rows,), default=None
            Label of each row's list: integers, strings or other hashable values, in
            any order.
        history : ListData, default=None
            Feature rows that the user of each list browsed, in order.
        profile : ListData, default=None
            One row for each list: its user, or its query.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row's list, constant inside a list.

        Returns
        -------
        self : estimator
            The fitted ranker.

        Raises
        ------
        ValueError
            If groups are missing, differ from the index of ``y`` or have another
            length; if values are not finite; if ``sample_weight`` varies inside a
            list; if ``history`` or ``profile`` miss a list or ``profile`` has not one
            row a list; if the loss is not finite.
        TypeError
            If ``history`` or ``profile`` is no ListData.
        """
        name = type(self).__name__
        groups = find_groups(y, groups, f"{name}.fit")
        X, y = validate_data(self, X, y, dtype=np.float64)
        grouping = group_rows(groups, len(y))
        lists = grouping.lists
        y = grouping.gather(finite_column(y, "y"))
        weights = list_weights(sample_weight, grouping)
        weights = np.ones(lists.n_lists) if weights is None else weights
        weights = weights / weights.mean()
        self._scalers = {}
        tables = self._tables(X, grouping, history, profile, fitting=True)
        rng = check_random_state(self.random_state)
        training, validation = self._split(lists, rng)

        device = torch.device(self.device)
        # Seeds torch for this fit alone: dropout and first weights use its own state.
        seeded = torch.random.fork_rng([device] if device.type == "cuda" else [])
        with seeded, threads(self.n_jobs):
            torch.manual_seed(rng.randint(np.iinfo(np.int32).max))
            head, target = self._model(y, lists, rng)
            network = nn.ModuleDict({"reader": self._reader(X), "head": head})
            network.to(device)
            course = Course(
                self.max_epochs,
                self.batch_size,
                self.n_epochs_no_change,
                self.learning_rate,
                self.weight_decay,
                int(self.verbose),
                name,
            )
            course.train(network, tables, target, weights, training, validation, rng)
        self.network_ = network.cpu()
        self.loss_curve_ = np.array(course.losses)
        self.validation_curve_ = np.array(course.validation_losses)
        self.n_epochs_ = len(course.losses)
        return self

    @takes_groups
    def predict(self, X, groups=None, history=None, profile=None):
        """Return scores that sort the rows of each list into its ranking.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of the candidates.
        groups : array-like of shape (n_rows,)
            One group label a row: a score depends on the whole list.
        history : ListData, default=None
            Rows browsed, if ``fit`` had them.
        profile : ListData, default=None
            Profiles, if ``fit`` had them.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            Larger is better inside a list. Scores of different lists do not compare.

        Raises
        ------
        NotFittedError
            If :meth:`fit` has not run.
        ValueError
            If groups are missing, or the data are not as in ``fit``.
        """
        grouping, tables = self._seen(X, groups, history, profile, "predict")
        scores = np.empty(grouping.lists.n_rows)
        for numbers, batch, network in self._batches(tables):
            padded = self._predict(network, batch)
            place_rows(scores, padded, batch, grouping.lists, numbers)
        return grouping.scatter(scores)

    @takes_groups
    def score(
        self, X, y, groups=None, sample_weight=None, *, history=None, profile=None
    ):
        """Return the mean NDCG of the lists, ranked by ``predict``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of the candidates.
        y : array-like of shape (n_rows,)
            Labels of at least 0, higher is better.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row's list, constant inside a list.
        history : ListData, default=None
            Rows browsed, if ``fit`` had them.
        profile : ListData, default=None
            Profiles, if ``fit`` had them.

        Returns
        -------
        score : float
            Mean NDCG, between 0 and 1.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ or labels are negative.
        """
        groups = find_groups(y, groups, f"{type(self).__name__}.score")
        scores = self.predict(X, groups, history, profile)
        return ndcg_score(np.asarray(y), scores, groups, sample_weight=sample_weight)

    def _reader(self, X):
        """Return the reader for tables of the widths seen in fit."""

        def width(name):
            scaler = self._scalers.get(name)
            return None if scaler is None else scaler.n_features_in_

        return Reader(
            X.shape[1],
            width("history"),
            width("profile"),
            self.hidden_size,
            self.set_encoder,
            self.history_encoder,
            self.dropout,
        )

    def _split(self, lists, rng):
        """Return the numbers of the training lists, and of the validation lists."""
        numbers = np.arange(lists.n_lists)
        if not self.early_stopping:
            return numbers, None
        if lists.n_lists < 2:
            raise ValueError(
                "early_stopping=True sets whole lists apart, and there is only one. "
                "Use early_stopping=False."
            )
        n_apart = int(np.ceil(self.validation_fraction * lists.n_lists))
        n_apart = min(n_apart, lists.n_lists - 1)
        drawn = rng.permutation(numbers)
        return np.sort(drawn[n_apart:]), np.sort(drawn[:n_apart])

    def _seen(self, X, groups, history, profile, method):
        """Return the lists of new rows, and their tables."""
        check_is_fitted(self)
        groups = find_groups(X, groups, f"{type(self).__name__}.{method}")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        grouping = group_rows(groups, len(X))
        return grouping, self._tables(X, grouping, history, profile)

    def _tables(self, X, grouping: Grouping, history, profile, fitting=False):
        """Return standardised tables of the lists, on the device."""
        # Predictions in float64 do not depend on the order of rows, but for 1e-15.
        dtype = torch.float32 if fitting else torch.float64
        device = torch.device(self.device)
        scaled = self._scaled("candidates", X, fitting)
        candidates = Ragged(
            grouping.gather(scaled), grouping.lists.sizes, dtype, device
        )
        browsed, profiles = None, None
        if self.history_encoder is None:
            history = None
        rows = self._rows("history", history, grouping, fitting)
        if rows is not None:
            table, sizes = rows
            browsed = Ragged(table, sizes, dtype, device)
        rows = self._rows("profile", profile, grouping, fitting)
        if rows is not None:
            table, sizes = rows
            if not np.all(sizes == 1):
                label = grouping.labels[np.argmax(sizes != 1)]
                raise ValueError(
                    "profile must have one row a list, but list "
                    f"{as_written(label)} has {sizes[sizes != 1][0]}. Several rows in "
                    "order are a history."
                )
            profiles = torch.as_tensor(table, dtype=dtype, device=device)
        return ListTables(candidates, browsed, profiles)

    def _rows(self, name, given, grouping, fitting):
        """Return the standardised rows that lists have besides candidates, if any."""
        if given is not None and not isinstance(given, ListData):
            raise TypeError(
                f"{name} must be a skrank.neural.ListData, got {type(given).__name__}: "
                "scikit-learn's tools would cut other containers by row."
            )
        if not fitting and (given is None) != (name not in self._scalers):
            had = "without" if given is not None else "with"
            raise ValueError(f"{type(self).__name__} was fitted {had} {name}.")
        if given is None:
            return None
        table, sizes = given.gather(grouping.labels.tolist(), name)
        return self._scaled(name, table, fitting), sizes

    def _scaled(self, name, table, fitting):
        """Return columns with mean 0 and variance 1 over the rows seen in fit."""
        if fitting:
            scaler = StandardScaler()
            self._scalers[name] = scaler
            if not len(table):  # nobody browsed anything
                scaler.fit(np.zeros((1, table.shape[1])))
                return table
            return scaler.fit_transform(table)
        scaler = self._scalers[name]
        if table.shape[1] != scaler.n_features_in_:
            raise ValueError(
                f"{name} has {table.shape[1]} features, but {type(self).__name__} was "
                f"fitted with {scaler.n_features_in_}."
            )
        return scaler.transform(table) if len(table) else table

    def _batches(self, tables: ListTables):
        """Yield list numbers, batch and network, lists of like length together."""
        network = copy.deepcopy(self.network_).double().to(self.device).eval()
        by_size = np.argsort(tables.candidates.sizes, kind="stable")
        with torch.no_grad(), threads(self.n_jobs):
            for numbers in batches_of(by_size, self.batch_size):
                yield numbers, tables.batch(numbers), network


@contextmanager
def threads(n_jobs):
    """Use so many threads inside: small networks lose time with more than one."""
    before = torch.get_num_threads()
    torch.set_num_threads(effective_n_jobs(n_jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def place_rows(out, padded, batch, lists, numbers):
    """Write what a batch says of its candidates to the places of their rows."""
    valid = batch.valid.cpu().numpy()
    place = np.arange(valid.shape[1])
    rows = (lists.starts[numbers][:, None] + place)[valid]
    out[..., rows] = padded.cpu().numpy()[..., valid]
