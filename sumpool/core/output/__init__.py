"""Output heads: decoder states, and source tokens to copy -> log-probabilities."""
