"""Read ranking data from files, and draw it from a model."""

from skrank.datasets._generated import make_ranking
from skrank.datasets._letor import load_letor

__all__ = ["load_letor", "make_ranking"]
