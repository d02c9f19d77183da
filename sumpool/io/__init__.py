"""Files: atomic replacement, manifests, locks, resumable JSON lines, bounded reading, file names and HTML pages."""
