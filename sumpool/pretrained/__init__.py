"""Conversion of pretrained models of Hugging Face: BART and LED."""
