"""Captions of figures and tables, recognised by their label."""

import re
from typing import Final

CAPTION: Final = re.compile(
    r"(figure|fig\.|table|tab\.|listing|algorithm|plate|scheme|abbildung|abb\.|tabelle|figura|tableau|tabla|tabela"
    r"|рисунок|рис\.|таблица|図|表|图)\s?([A-Z]\.?)?(\d+([.-]\d+)*\s?[a-z]?|[IVX]+)(?P<mark>[.:|—\u2013]|\s|$)",
    re.IGNORECASE,
)
"""Label at the beginning of a caption, such as "Figure 3:" or "Tab. II"; a sentence may begin so, too."""


def is_caption(text: str) -> bool:
    """Return whether a paragraph is a caption: its label ends in a mark, as in "Figure 3: ...", or is all of it."""
    label = CAPTION.match(text)
    return label is not None and (not label["mark"].isspace() or label.end() == len(text))
