"""HTTP service: summaries of posted documents, by one model in one process."""
