"""Losses of ranked lists: values and gradients in the scores."""

from skrank.losses.base import Loss
from skrank.losses.listnet import ListNet

__all__ = ["ListNet", "Loss"]
