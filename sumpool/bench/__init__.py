"""How fast, how large, and at what count of operations."""
