"""The command ``skrank``."""
