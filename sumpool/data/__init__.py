"""From documents with summaries to batches of numbers."""
