"""Measures: time, memory, counted operations, machine speed and statistics of them."""
