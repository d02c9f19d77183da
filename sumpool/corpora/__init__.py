"""Summaries of corpora on many machines by Ray Data; requires the extra `ray`."""
