"""One story per command, readable from top to bottom."""
