"""Parts of workbooks as pandoc is given them: with texts in their cells, and numbers as they are written."""

from collections.abc import Callable, Iterable
from typing import Final

from sumpool.documents.document import TextBlock
from sumpool.documents.office.archive import DocumentArchive, local_name
from sumpool.documents.office.elements import CELL_MARK, prune, value

_RELATIONS: Final = "xl/_rels/workbook.xml.rels"
_TRUTH: Final = {"0": "FALSE", "1": "TRUE"}
_SHEETS: Final = "xl/worksheets/"


def prepare(archive: DocumentArchive, read: Callable[[bytes], Iterable[TextBlock]]) -> dict[str, bytes]:
    """Return the parts of a workbook that pandoc is given in place of its own.

    Texts that stand in their cells, which pandoc passes over, and numbers, which it writes as 22.0, become results of
    formulas, which may be texts.

    Raises:
        ValueError: If it is nested too deeply; the message lacks the subject.
    """
    from lxml import etree

    del read
    parts: dict[str, bytes] = {}
    if _RELATIONS in archive.names:  # whose names pandoc takes for relative
        parts[_RELATIONS] = archive.read(_RELATIONS).replace(b'Target="/xl/', b'Target="')
    for name in archive.names:
        if name.startswith(_SHEETS) and name.endswith(".xml"):
            root = archive.xml(name)
            prune(root, lambda element, kind: kind == "row" and value(element, "hidden") in ("1", "true"))
            for cell in root.iter("{*}c"):
                if value(cell, "t") != "s":
                    text = "".join(part.text or "" for part in cell.iter() if local_name(part.tag) in ("t", "v"))
                    text = _TRUTH.get(text, text) if value(cell, "t") == "b" else text
                    cell[:] = [cell.makeelement(cell.tag[:-1] + "v")]
                    cell[0].text = CELL_MARK + text if text else ""
                    cell.set("t", "str")
            parts[name] = etree.tostring(root)
    return parts
