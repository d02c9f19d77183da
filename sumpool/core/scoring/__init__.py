"""Scorers: how much each vector is worth keeping."""
