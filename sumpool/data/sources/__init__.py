"""Where documents with summaries come from; each source one file."""
