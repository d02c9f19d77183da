"""Poolers: Tokens -> Tokens, fewer vectors in source order."""
