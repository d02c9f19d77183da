"""Mails: their text and its blocks."""
