"""Summarise with a trained model: load, chunk, generate, extract, write results."""
