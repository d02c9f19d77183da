"""Files, folders and streams as documents to summarise."""
