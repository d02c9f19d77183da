"""Parts of workbooks as pandoc is given them: with texts in their cells, and numbers and dates as they are shown."""

import re
from datetime import datetime, timedelta
from typing import Final

from lxml import etree
from lxml.etree import _Element

from sumpool.documents.office.archive import CELL_MARK, DocumentArchive, local_name, prune, value

_RELATIONS: Final = "xl/_rels/workbook.xml.rels"
_TEXTS: Final = "xl/sharedStrings.xml"
_ESCAPE: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_TRUTH: Final = {"0": "FALSE", "1": "TRUE"}
_SHEETS: Final = "xl/worksheets/"
_DATE_NUMBERS: Final = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
"""Numbers of the formats of dates and times that every workbook has."""
_NO_DATE: Final = re.compile(r"\"[^\"]*\"|\\.|\[[^\[\]]*\]|general", re.IGNORECASE)
"""Parts of a format that say nothing about dates."""
_DATE: Final = re.compile(r"[ymdhs]", re.IGNORECASE)
_EPOCHS: Final = (datetime(1899, 12, 30), datetime(1904, 1, 1))
_MIN_DAYS, _MAX_DAYS = 366, 2_958_466
"""Days from which on a number is a date, and not how long something takes, and those until the year 10000."""


def prepare(archive: DocumentArchive) -> dict[str, bytes]:
    """Return the parts of a workbook that pandoc is given in place of its own.

    Texts that stand in their cells, which pandoc passes over, numbers, which it writes as 22.0, and dates, which are
    numbers of days, become results of formulas, which may be texts.

    Raises:
        ValueError: If it is nested too deeply; the message lacks the subject.
    """
    parts: dict[str, bytes] = {}
    if _RELATIONS in archive.names:  # whose names pandoc takes for relative
        parts[_RELATIONS] = archive.read(_RELATIONS).replace(b'Target="/xl/', b'Target="')
    dates: set[str] = set()  # styles of cells that are dates or times, by their numbers
    if "xl/styles.xml" in archive.names:
        root = archive.xml("xl/styles.xml")
        numbers = {str(number) for number in _DATE_NUMBERS}
        for shown in root.iter("{*}numFmt"):
            is_date = _DATE.search(_NO_DATE.sub("", value(shown, "formatCode")))
            (numbers.add if is_date else numbers.discard)(value(shown, "numFmtId"))
        styles = [style for group in root.iter("{*}cellXfs") for style in group]
        dates = {str(index) for index, style in enumerate(styles) if value(style, "numFmtId") in numbers}
    has_1904 = "xl/workbook.xml" in archive.names and any(
        value(part, "date1904") in ("1", "true") for part in archive.xml("xl/workbook.xml").iter("{*}workbookPr")
    )
    for name in archive.names:
        if name == _TEXTS:
            root = archive.xml(name)
            for item in root.iter("{*}si"):
                text = _text(item)
                item[:] = [item.makeelement(item.tag[:-2] + "t")]
                item[0].text = text
            parts[name] = etree.tostring(root)
        if name.startswith(_SHEETS) and name.endswith(".xml"):
            root = archive.xml(name)
            prune(root, lambda element, kind: kind == "row" and value(element, "hidden") in ("1", "true"))
            for cell in root.iter("{*}c"):
                if value(cell, "t") != "s":
                    text = _text(cell)
                    if value(cell, "t") == "b":
                        text = _TRUTH.get(text, text)
                    elif value(cell, "t") in ("", "n"):
                        text = _shown(text, _EPOCHS[has_1904] if value(cell, "s") in dates else None)
                    cell[:] = [cell.makeelement(cell.tag[:-1] + "v")]
                    cell[0].text = CELL_MARK + text if text else ""
                    cell.set("t", "str")
            parts[name] = etree.tostring(root)
    return parts


def _text(element: _Element) -> str:
    """Return the text of a cell: of all its runs, without the sounds of Japanese words and with escapes resolved.

    Escapes are for characters that XML has not, such as carriage returns at line breaks.
    """
    parts = (part for part in element.iter() if local_name(part.tag) in ("t", "v"))
    text = "".join(part.text or "" for part in parts if local_name(part.getparent().tag) != "rPh")
    return _ESCAPE.sub(lambda escape: char if (char := chr(int(escape[1], 16))).isprintable() else " ", text)


def _shown(number: str, epoch: datetime | None) -> str:
    """Return a number as it is shown: to fifteen digits, or as a date or time from the day that is 0."""
    try:
        days = float(number)
    except ValueError:
        return number
    if epoch is None or not (0 <= days < 1 or _MIN_DAYS <= days < _MAX_DAYS):
        return number if number.isdigit() else f"{days:.15g}"
    day, time = (epoch + timedelta(seconds=round(days * 86_400))).isoformat(" ").split()
    if days < 1:
        return time
    return day if time == "00:00:00" else f"{day} {time}"
