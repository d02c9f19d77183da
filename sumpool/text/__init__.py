"""Text to piece ids with sentence numbers, and back."""
