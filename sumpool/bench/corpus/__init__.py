"""Benchmark of a corpus: whole processes from their start to the last summary."""
