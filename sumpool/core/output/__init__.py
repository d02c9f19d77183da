"""Output heads: decoder states, and what may be copied -> log-probabilities."""
