"""Conversion of pretrained models of Hugging Face."""
