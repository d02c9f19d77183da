"""Ranking and selection of the sentences of a document."""
