"""Run folders: training setup, initial weights, model cards, metrics and sweeps."""
