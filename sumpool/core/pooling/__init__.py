"""Poolers: Tokens -> Tokens with fewer vectors, in source order."""
