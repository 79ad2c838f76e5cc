"""Fit a linear scorer: data, objective, solvers."""
