"""Input documents: files, folders, JSON lines and standard input."""
