"""Read ranking data from files, and draw it from a model."""

from skrank.datasets._generated import make_ranking
from skrank.datasets._letor import load_letor
from skrank.datasets._mode_choice import load_mode_choice

__all__ = ["load_letor", "load_mode_choice", "make_ranking"]
