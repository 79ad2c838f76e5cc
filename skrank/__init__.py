"""Learning to rank for scikit-learn users."""

from skrank._groups import with_groups
from skrank._lists import Lists

__version__ = "0.1.0"

__all__ = ["Lists", "with_groups"]
