"""Recipes: one YAML file that describes a run."""
