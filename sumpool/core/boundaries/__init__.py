"""Boundary predictors: where segments end, for segment pooling."""
