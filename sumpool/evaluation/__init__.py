"""How good summaries are: ROUGE with intervals, baselines beside it, and how much is copied."""
