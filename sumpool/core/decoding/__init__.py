"""Beam search and sampling over a step function, with constraints on summaries."""
