"""Explain what to install if PyTorch is missing; the package imports this first."""

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "skrank.neural needs PyTorch, which is not installed: pip install "
        "'skrank[neural]' (or pip install torch). The rest of skrank works without it."
    ) from error
