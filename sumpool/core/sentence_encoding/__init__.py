"""One vector for every sentence of the document."""
