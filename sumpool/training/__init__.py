"""From prepared data to trained weights."""
