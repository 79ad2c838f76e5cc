"""Losses of ranked lists: values and gradients in the scores."""

from skrank.losses.base import Loss
from skrank.losses.listmle import ListMLE
from skrank.losses.listnet import ListNet
from skrank.losses.ranknet import RankNet

__all__ = ["ListMLE", "ListNet", "Loss", "RankNet"]
