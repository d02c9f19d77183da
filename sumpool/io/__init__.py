"""Files that survive a crash: atomic replacement, manifests, locks and resumable JSON lines."""
