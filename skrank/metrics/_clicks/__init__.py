"""Click models as metrics."""
