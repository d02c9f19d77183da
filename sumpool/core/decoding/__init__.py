"""Beam search over a step function, and the rules that summaries obey."""
