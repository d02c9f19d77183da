"""Between text and numbers: sentences and pieces."""
