"""Benchmarks: models by document length, the suites of the papers, and peers of other libraries."""
