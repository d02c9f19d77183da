"""Models that were trained elsewhere, read from their folders: Hugging Face BART and LED."""
