"""stub until text is merged"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    """stub."""

    id: str
    text: str
    error: str = ""
