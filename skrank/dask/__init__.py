"""Fit linear rankers on Dask, for data larger than the memory of one machine.

Needs the extra "dask": ``pip install "skrank[dask]"``.
"""

from skrank.dask._evaluate import evaluate, predict
from skrank.dask._fit import fit
from skrank.dask._parquet import letor_to_parquet
from skrank.dask._sizes import register_sizes
from skrank.dask._summary import summary

try:
    register_sizes()
except ImportError as error:
    raise ImportError('skrank.dask needs dask: pip install "skrank[dask]".') from error

__all__ = ["evaluate", "fit", "letor_to_parquet", "predict", "summary"]
