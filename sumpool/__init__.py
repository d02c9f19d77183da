"""sumpool learns to summarise long documents from your own data, from nothing."""

__version__ = "0.1.0"
