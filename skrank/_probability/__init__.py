"""Probabilities, likelihoods and standard errors of fitted models."""
