"""Scorers: importance of each vector, (batch, length)."""
