"""Sentence encoders: one vector per sentence."""
