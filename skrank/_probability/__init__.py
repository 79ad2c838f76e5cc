"""What fitted models of probabilities can tell."""
