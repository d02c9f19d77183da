"""Language models of running text: loading, scores of a text, and generation."""
