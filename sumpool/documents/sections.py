"""Parts around a document's text: contents, references, appendices, acknowledgements, indexes, and captions."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sumpool.documents.document import TextBlock

_NUMBER = re.compile(r"^(?:[\dIVXivx]+(?:\.\d+)*\.?|[A-Z]\.)\s+")
_NAMES: Final = frozenset(
    re.split(
        r",\s+",
        """references, reference list, normative references, informative references, bibliography, works cited,
        literature cited, literature, further reading, acknowledgements, acknowledgments, acknowledgement,
        acknowledgment, appendix, appendices, annex, annexes, index, general index, notes and references, endnotes,
        literatur, literaturverzeichnis, quellen, quellenverzeichnis, danksagung, anhang, anhänge, stichwortverzeichnis,
        références, bibliographie, remerciements, annexe, index général, referencias, bibliografía, agradecimientos,
        apéndice, apéndices, anexo, anexos, índice alfabético, литература, список литературы, благодарности, приложение,
        приложения, предметный указатель, 参考文献, 附录, 附錄, 致谢, 致謝, 謝辞, 付録, 索引""",
    )
)
_APPENDIX = re.compile(
    r"(?:appendix|annex|anhang|annexe|apéndice|anexo|приложение)\s+(?:[^\W\d_]|\d+|[ivx]+)\b|(?:附录|附錄|付録)\s*[a-z\d一二三四五]",
    re.IGNORECASE,
)
_CONTENTS: Final = frozenset(
    re.split(
        r",\s+",
        """contents, table of contents, list of contents, short contents, brief contents, list of figures,
        list of tables, on this page, inhalt, inhaltsverzeichnis, inhaltsübersicht, sommaire, table des matières,
        contenido, índice, tabla de contenidos, índice general, indice, содержание, оглавление, 目录, 目錄, 目次""",
    )
)
_INDEX = re.compile(r"(?:\w+ )?index|stichwortverzeichnis|sach(?:register|verzeichnis)")
PAGE_REFERENCE: Final = re.compile(r"(?:\.\s?){4,}\s*(?:\d+|[ivxlc]+)$|\s{2,}\d+$")
"""End of an entry in a table of contents."""
_ENTRY_NUMBER = re.compile(
    r"^(?:[\dIVXivx]+(?:\.\d+)*[.)]?|[A-Z][.)])\s+|(?<![\s.])(?:\s*\.){2,}\s*\d*$|(?<!\s)\s+\d+$"
)
CAPTION: Final = re.compile(
    r"(figure|fig\.|table|tab\.|listing|algorithm|plate|scheme|abbildung|abb\.|tabelle|figura|tableau|tabla|tabela"
    r"|рисунок|рис\.|таблица|図|表|图)\s?([A-Z]\.?)?(\d+([.-]\d+)*\s?[a-z]?|[IVX]+)(?P<mark>[.:|—\u2013]|\s|$)",
    re.IGNORECASE,
)
"""Label at the beginning of a caption, such as "Figure 3:" or "Tab. II"; a sentence may begin so, too."""
_MIN_PROSE = 75
"""Characters of a paragraph that cannot be an entry of a table of contents."""
_MAX_ENTRY = 200
"""Characters of an entry that are looked at, from its end."""
_MIN_SHARE_BEFORE = 0.2
"""Share of the words before the first of these sections; the document of a smaller one is about references."""


def is_caption(text: str) -> bool:
    """Return whether a paragraph is a caption: its label ends in a mark, as in "Figure 3: ...", or is all of it."""
    label = CAPTION.match(text)
    return label is not None and (not label["mark"].isspace() or label.end() == len(text))


def is_contents_heading(heading: str) -> bool:
    """Return whether a heading opens a table of contents or an index."""
    name = heading.strip(" .:-").lower()
    return name in _CONTENTS or bool(_INDEX.fullmatch(name))


def is_back_matter(heading: str) -> bool:
    """Return whether a heading opens references, an appendix, acknowledgements or an index."""
    name = _NUMBER.sub("", heading).strip(" .:-\u2013\u2014").lower()
    return name in _NAMES or bool(_APPENDIX.match(name))


def cut_back_matter(blocks: Sequence[TextBlock]) -> tuple[tuple[TextBlock, ...], int]:
    """Remove the sections behind the text, each up to the next heading of its level or above.

    Returns:
        The other blocks, and the number of words removed.
    """
    words = [len(block.text.split()) for block in blocks]
    total = sum(words)
    kept: list[TextBlock] = []
    before = removed = 0
    level: int | None = None
    for block, count in zip(blocks, words, strict=True):
        if block.kind == "heading":
            if level is not None and block.level <= level:
                level = None
            if level is None and is_back_matter(block.text) and before >= _MIN_SHARE_BEFORE * total:
                level = block.level
        if level is None:
            kept.append(block)
            before += count
        else:
            removed += count
    return tuple(kept), removed


def mark_contents(blocks: Sequence[TextBlock]) -> tuple[TextBlock, ...]:
    """Turn the entries of tables of contents into notices.

    A table of contents goes from its heading to the first paragraph, or to the heading that its first entry names; so
    does every line with a page number behind dots.
    """
    marked: list[TextBlock] = []
    entries: set[str] | None = None
    for block in blocks:
        end = block.text[-_MAX_ENTRY:]
        may_be_name = entries is not None or len(end.rstrip(" .0123456789")) < _MIN_PROSE
        name = _ENTRY_NUMBER.sub("", end).strip(" .:-").lower() if may_be_name else ""
        is_long = len(block.text) >= _MIN_PROSE and block.text[-1] in ".!?:"
        if name in _CONTENTS and block.kind in ("heading", "paragraph", "list_item"):
            entries = set()
        elif block.kind == "paragraph" and (is_long or block.text[-1:] == "\u3002"):  # which ends no entry
            entries = entries if PAGE_REFERENCE.search(end) else None
        elif block.kind == "code" or (block.kind == "heading" and entries and name in entries):
            entries = None
        if entries is not None:
            entries.add(name)
        is_entry = entries is not None or (block.kind != "code" and PAGE_REFERENCE.search(end))
        marked.append(replace(block, kind="notice", level=0) if is_entry else block)
    return tuple(marked)
