"""Losses of ranked lists: values and gradients in the scores."""

from skrank.losses.base import Loss as Loss
from skrank.losses.davidson import Davidson as Davidson
from skrank.losses.davidsonluce import DavidsonLuce as DavidsonLuce
from skrank.losses.listmle import ListMLE as ListMLE
from skrank.losses.listnet import ListNet as ListNet
from skrank.losses.pmop import PMOP as PMOP
from skrank.losses.ranknet import RankNet as RankNet
from skrank.losses.rankregression import RankRegression as RankRegression
from skrank.losses.ranksvm import RankSVM as RankSVM
from skrank.losses.raokupper import RaoKupper as RaoKupper

# All classes that are imported above are public, so that a new loss is one line here.
__all__ = [name for name, thing in globals().items() if isinstance(thing, type)]
