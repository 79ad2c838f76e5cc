"""Losses of ranked lists: values and gradients in the scores."""

from skrank.losses.base import Loss
from skrank.losses.davidson import Davidson
from skrank.losses.davidsonluce import DavidsonLuce
from skrank.losses.listmle import ListMLE
from skrank.losses.listnet import ListNet
from skrank.losses.pmop import PMOP
from skrank.losses.ranknet import RankNet
from skrank.losses.rankregression import RankRegression
from skrank.losses.ranksvm import RankSVM
from skrank.losses.raokupper import RaoKupper

__all__ = [
    "PMOP",
    "Davidson",
    "DavidsonLuce",
    "ListMLE",
    "ListNet",
    "Loss",
    "RankNet",
    "RankRegression",
    "RankSVM",
    "RaoKupper",
]
