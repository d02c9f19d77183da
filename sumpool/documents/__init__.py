"""Documents to summarise: files, folders, JSON lines and stdin."""
