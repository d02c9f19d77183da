"""Interpretation of summaries: attribution to the source, and evidence for readers."""
