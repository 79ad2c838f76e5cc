"""Export fitted linear rankers: to search engines, SQL, ONNX and JSON."""

from skrank.export._engines import smallest_offset, to_elasticsearch, to_solr
from skrank.export._formula import LinearFormula, linear_formula
from skrank.export._onnx import to_onnx
from skrank.export._sql import to_sql

__all__ = [
    "LinearFormula",
    "linear_formula",
    "smallest_offset",
    "to_elasticsearch",
    "to_onnx",
    "to_solr",
    "to_sql",
]
