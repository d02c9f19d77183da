"""Evaluation: ROUGE, intervals and tests, baselines, measures of copying."""
