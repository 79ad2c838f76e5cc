"""The base of the neural rankers: checks, training of networks, and scores."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted
from torch import nn

from skrank._data.checks import Integers, finite_column
from skrank._data.features import validate_features
from skrank._data.grouping import group_rows
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Floats, Indices, Lists
from skrank._data.rollback import keeps_old_state
from skrank._data.weights import list_weights
from skrank.base import RankerMixin
from skrank.neural._batches import MOST_ROWS, Batch, bounded_parts
from skrank.neural._callbacks import (
    CallbackSupportMixin,
    FitTasks,
    with_callbacks,
)
from skrank.neural._copies import by_content
from skrank.neural._device import find_device, own_settings, prediction_device, seeded
from skrank.neural._encoders import Encoder
from skrank.neural._fitting import (
    LabelledLists,
    NewLists,
    hidden_sizes,
    padded_curves,
    train_network,
)
from skrank.neural._inputs import ListInputs
from skrank.neural._trainer import Target
from skrank.neural._validation import place_rows


class NeuralRanker(RankerMixin, CallbackSupportMixin, BaseEstimator):
    """Base of the neural rankers.

    A subclass defines ``_head``, the network after the encoder; ``_labels``, which
    checks labels once a fit; ``_target``, which makes the loss of a network from them;
    and ``_predict``, the scores of a batch.
    """

    _request = {"groups": True, "history": True, "profile": True}  # noqa: RUF012
    __metadata_request__fit = _request
    __metadata_request__score = _request
    __metadata_request__predict = _request
    _doc_link_module = "skrank"

    _parameter_constraints: dict = {  # noqa: RUF012
        "standardize": [StrOptions({"all", "list"})],
        "set_encoder": [StrOptions({"attention", "mlp"})],
        "history_encoder": [StrOptions({"lstm", "mlp"}), None],
        "hidden_size": [Integers(1), tuple, list],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Integers(1), StrOptions({"auto"})],
        "max_epochs": [Integers(1)],
        "early_stopping": ["boolean", StrOptions({"auto"})],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "validation_metric": [str, callable, None],
        "n_epochs_no_change": [Integers(1)],
        "n_networks": [Integers(1)],
        "warm_start": ["boolean"],
        "n_jobs": [Integers(None), None],
        "device": [str, torch.device],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _pair_cost = 0.0  # of a pair of candidates in training, in rows

    def _labels(self, y: Floats, lists: Lists) -> Floats:
        """Return the labels to learn, checked."""
        return y

    def _head(self, data: LabelledLists) -> nn.Module:
        """Return the network behind the encoder, its weights drawn."""
        raise NotImplementedError

    def _target(self, data: LabelledLists, rng: np.random.RandomState) -> Target:
        """Return the target of a network, which has the loss."""
        raise NotImplementedError

    def _predict(self, networks: list[nn.ModuleDict], batch: Batch) -> Any:
        """Return a score of each candidate of a batch, (n_lists, longest)."""
        raise NotImplementedError

    def _finish(self, scores: Floats, first: Indices | None) -> Floats:
        """Return scores without differences between equal rows, see by_content."""
        raise NotImplementedError

    @suggests_groups
    @keeps_old_state
    @with_callbacks
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
        """Train the networks.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features of the candidates.
        y : array-like of shape (n_rows,)
            Labels, higher is better; where 1 is the best, as places in a race, pass
            :func:`~skrank.interop.from_ranks` of them. A pandas object may carry the
            groups on an index level named "groups".
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
            The fitted ranker. A fit that raises leaves it as it was.

        Raises
        ------
        ValueError
            If groups are missing, differ from the index of ``y`` or have another
            length; if values are not finite; if ``sample_weight`` varies inside a
            list; if ``history`` or ``profile`` miss a list or ``profile`` has not one
            row a list; if the loss or the validation value is not finite; if
            ``device`` is not there.
        TypeError
            If ``history`` or ``profile`` is not a ListData.
        """
        name = type(self).__name__
        groups = find_groups(y, groups, f"{name}.fit", "y")
        device = find_device(self.device)
        previous = self._previous_fit()
        dense = {"accept_sparse": False, "dtype": np.float64}
        X, y = validate_features(self, X, y, reset=previous is None, **dense)
        metadata = {
            **{"groups": groups, "history": history, "profile": profile},
            "sample_weight": sample_weight,
        }
        tasks = FitTasks(self, X, y, metadata, self.n_networks)
        grouping = group_rows(groups, len(y))
        weights = list_weights(sample_weight, grouping)
        y = self._labels(grouping.gather(finite_column(y, "y")), grouping.lists)
        if previous is None:
            self._inputs = ListInputs(
                name, self.standardize == "list", self.history_encoder is not None
            ).fit(X, grouping, history, profile)
        arguments = X, grouping, history, profile
        tables = self._inputs.tables(*arguments, torch.float32, device)
        weights = np.ones(grouping.lists.n_lists) if weights is None else weights
        data = LabelledLists(tables, grouping.lists, y, weights / weights.mean())
        rng = check_random_state(self.random_state)
        networks, records = [], []
        for number in range(self.n_networks):
            with (
                own_settings(device, self.n_jobs, training=True),
                seeded(device, int(rng.randint(np.iinfo(np.int32).max))),
                tasks.network(self.max_epochs, partial(self._state, networks)) as after,
            ):
                start = None if previous is None else previous[number]
                network, record = train_network(self, data, rng, device, start, after)
            networks.append(network.cpu())
            records.append(record)
        self._store(networks, records)
        tasks.end(self._state(networks))
        return self

    def _previous_fit(self):
        """Return the networks to go on from with ``warm_start``, or None."""
        if not (self.warm_start and hasattr(self, "networks_")):
            return None
        if len(self.networks_) != self.n_networks:
            raise ValueError(
                f"warm_start=True: the last fit had n_networks={len(self.networks_)} "
                f"and this one has {self.n_networks}. Use warm_start=False."
            )
        return self.networks_

    def _network(self, head):
        """Return the encoder for tables of the widths that fit had, and the head."""
        inputs = self._inputs
        encoder = Encoder(
            inputs.candidates.n_columns,
            None if inputs.history is None else inputs.history.n_columns,
            None if inputs.profile is None else inputs.profile.n_columns,
            hidden_sizes(self.hidden_size)[0],
            self.set_encoder,
            self.history_encoder,
            self.dropout,
        )
        return nn.ModuleDict({"encoder": encoder, "head": head})

    def _store(self, networks, records):
        """Store the networks, and the records of their training."""
        self.networks_ = networks
        self.loss_curves_ = padded_curves([record.losses for record in records])
        self.validation_curves_ = padded_curves(
            [record.validation_values for record in records]
        )
        self.n_epochs_ = self.loss_curves_.shape[1]

    def _state(self, networks, network=None):
        """Return the attributes of a ranker with these networks so far."""
        if network is not None:
            networks = [*networks, copy.deepcopy(network).cpu()]
        return {"networks_": networks, "_inputs": self._inputs}

    @suggests_groups
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
        new = self._new_lists(X, groups, history, profile, "predict")
        scores = np.empty(new.lists.n_rows)
        with self._predicting(new) as batches:
            for numbers, batch, networks in batches:
                padded = self._predict(networks, batch)
                place_rows(scores, padded, batch, new.lists, numbers)
        return new.grouping.scatter(self._finish(scores, new.first))

    @suggests_groups
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
        return self._ndcg(X, y, groups, sample_weight, history=history, profile=profile)

    def _new_lists(self, X, groups, history, profile, method):
        """Return the lists of new rows and their tables."""
        check_is_fitted(self)
        groups = find_groups(X, groups, f"{type(self).__name__}.{method}", "X")
        dense = {"accept_sparse": False, "dtype": np.float64}
        X = validate_features(self, X, reset=False, **dense)
        grouping, first = by_content(X, group_rows(groups, len(X)))
        device = prediction_device(find_device(self.device))
        # In float64 predictions depend on the order of rows by no more than 1e-15.
        tables = self._inputs.tables(
            X, grouping, history, profile, torch.float64, device
        )
        return NewLists(grouping, tables, first, device)

    @contextmanager
    def _predicting(self, new, most_rows=MOST_ROWS, most_pairs=np.inf):
        """Give an iterator over list numbers, their batch and the networks."""
        networks = [
            copy.deepcopy(network).double().to(new.device).eval()
            for network in self.networks_
        ]
        sizes = new.lists.sizes
        parts = bounded_parts(
            np.arange(len(sizes)), sizes, most_rows=most_rows, most_pairs=most_pairs
        )
        with own_settings(new.device, self.n_jobs, training=False):
            yield ((part, new.tables.batch(part), networks) for part in parts)

    @property
    def network_(self):
        """The first network, torch.nn.ModuleDict, on the CPU."""
        return self.networks_[0]

    @property
    def loss_curve_(self):
        """Mean training loss of each epoch, ndarray of shape (n_epochs,)."""
        return np.nanmean(self.loss_curves_, axis=0)

    @property
    def validation_curve_(self):
        """Mean value on the lists set apart, ndarray of shape (n_epochs,) or (0,)."""
        return np.nanmean(self.validation_curves_, axis=0)
