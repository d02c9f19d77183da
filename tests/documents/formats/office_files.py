"""Word-processor documents and books written by hand, for tests."""

import io
import zipfile
from collections.abc import Mapping, Sequence

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_NAMES = {name: name for name in ("office", "text", "table", "style")} | {"draw": "drawing", "fo": "xsl-fo-compatible"}
ODT_SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{path}:1.0"' for name, path in _NAMES.items()
)


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """Write a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in parts.items():
            target.writestr(name, content)
    return stream.getvalue()


def relationship(id: str, kind: str, target: str, more: str = "") -> str:
    """Write a relationship of a part of an Office file."""
    return f'<Relationship Id="{id}" Type="{RELATIONS}/{kind}" Target="{target}" {more}/>'


def _relationships(*entries: str) -> str:
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{"".join(entries)}</Relationships>'


def docx(body: str, parts: Mapping[str, str | bytes] | None = None, relations: str = "") -> bytes:
    """Write a Word document with elements of the body, and further parts and relationships of the main one."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{name.replace(" ", "")}"><w:name w:val="{name}"/></w:style>'
        for name in ("heading 1", "heading 2", "Title", "caption", "toc 1", "HTML Preformatted", "List Bullet")
    )
    return archive(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
            "_rels/.rels": _relationships(relationship("r1", "officeDocument", "word/document.xml")),
            "word/_rels/document.xml.rels": _relationships(relationship("s1", "styles", "styles.xml"), relations),
            "word/styles.xml": f'<w:styles xmlns:w="{W}">{styles}</w:styles>',
            "word/document.xml": f'<w:document xmlns:w="{W}" xmlns:r="{RELATIONS}"><w:body>{body}</w:body>'
            "</w:document>",
            **(parts or {}),
        }
    )


def word_paragraph(text: str, style: str = "") -> str:
    """Write a paragraph of a Word document."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{properties}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def odt(body: str, styles: str = "", parts: Mapping[str, str] | None = None) -> bytes:
    """Write an OpenDocument text."""
    return archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content {ODT_SPACES}><office:automatic-styles>{styles}"
            f"</office:automatic-styles><office:body><office:text>{body}</office:text></office:body>"
            "</office:document-content>",
            **(parts or {}),
        }
    )


def epub(
    chapters: Mapping[str, str],
    title: str = "A Book",
    properties: Mapping[str, str] | None = None,
    guide: str = "",
    parts: Mapping[str, str] | None = None,
) -> bytes:
    """Write a book of chapters, with attributes of their entries in the manifest, and entries of the guide."""
    items = "".join(
        f'<item id="i{number}" href="{name}" media-type="application/xhtml+xml" {(properties or {}).get(name, "")}/>'
        for number, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="i{number}"/>' for number in range(len(chapters)))
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
            f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></metadata>'
            f"<manifest>{items}</manifest><spine>{spine}</spine><guide>{guide}</guide></package>",
            **{f"OEBPS/{name}": markup for name, markup in chapters.items()},
            **(parts or {}),
        }
    )


def worksheet(rows: Sequence[str]) -> str:
    """Write a sheet of a workbook, given the cells of its rows."""
    numbered = "".join(f'<row r="{number}">{cells}</row>' for number, cells in enumerate(rows, 1))
    return f'<worksheet xmlns="{SHEET}"><sheetData>{numbered}</sheetData></worksheet>'


def xlsx(sheets: Mapping[str, Sequence[str]], parts: Mapping[str, str] | None = None, relations: str = "") -> bytes:
    """Write a workbook of sheets of rows, whose texts have bars between, and further parts of it."""
    names = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="s{n}"/>' for n, name in enumerate(sheets, 1))
    paths = [f"worksheets/sheet{number}.xml" for number in range(1, len(sheets) + 1)]
    return archive(
        {
            "_rels/.rels": _relationships(relationship("r1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{RELATIONS}"><sheets>{names}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": _relationships(
                *(relationship(f"s{number}", "worksheet", path) for number, path in enumerate(paths, 1)), relations
            ),
            **{
                f"xl/{path}": worksheet([_text_cells(row, number) for number, row in enumerate(rows, 1)])
                for path, rows in zip(paths, sheets.values(), strict=True)
            },
            **(parts or {}),
        }
    )


def _text_cells(row: str, number: int) -> str:
    return "".join(
        f'<c r="{column}{number}" t="inlineStr"><is><t>{text}</t></is></c>'
        for column, text in zip("ABCD", row.split(" | "), strict=False)
    )
