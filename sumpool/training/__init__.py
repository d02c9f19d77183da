"""Training: from prepared data to trained weights."""
