"""Shared mathematics, named by what it is."""
