"""Run folders: training setup, initial weights, and model cards."""
