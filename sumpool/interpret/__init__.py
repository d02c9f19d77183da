"""Interpretation of summaries: provenance of pooled vectors and attention to sentences."""
