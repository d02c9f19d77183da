"""Word-processor documents and books written by hand, for tests."""

import io
import zipfile
from collections.abc import Mapping

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns"
ODT_SPACES = " ".join(
    f'xmlns:{name}="{_OFFICE}:{path}:1.0"'
    for name, path in {
        "office": "office",
        "text": "text",
        "table": "table",
        "style": "style",
        "draw": "drawing",
        "fo": "xsl-fo-compatible",
    }.items()
)


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """Write a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in parts.items():
            target.writestr(name, content)
    return stream.getvalue()


def docx(body: str, parts: Mapping[str, str | bytes] | None = None, relations: str = "") -> bytes:
    """Write a Word document.

    Args:
        body: Elements of the body, with the prefix "w".
        parts: Further parts.
        relations: Further relationships of the main part.
    """
    package = "http://schemas.openxmlformats.org/package/2006"
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{name.replace(" ", "")}"><w:name w:val="{name}"/></w:style>'
        for name in ("heading 1", "heading 2", "Title", "caption", "toc 1", "HTML Preformatted", "List Bullet")
    )
    return archive(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
            f'Type="{RELATIONS}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="s1" '
            f'Type="{RELATIONS}/styles" Target="styles.xml"/>{relations}</Relationships>',
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
    """Write a book.

    Args:
        chapters: Markup by name of the part.
        title: Title.
        properties: Attributes of entries of the manifest by name of the part.
        guide: Entries of the guide.
        parts: Further parts.
    """
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


def xlsx(sheets: Mapping[str, list[list[str]]]) -> bytes:
    """Write a workbook.

    Args:
        sheets: Rows of cells by name of the sheet.
    """
    package = "http://schemas.openxmlformats.org/package/2006"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    parts: dict[str, str | bytes] = {
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{RELATIONS}"><sheets>'
        + "".join(
            f'<sheet name="{name}" sheetId="{number}" r:id="s{number}"/>' for number, name in enumerate(sheets, 1)
        )
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        + "".join(
            f'<Relationship Id="s{number}" Type="{RELATIONS}/worksheet" Target="worksheets/sheet{number}.xml"/>'
            for number in range(1, len(sheets) + 1)
        )
        + "</Relationships>",
    }
    for number, rows in enumerate(sheets.values(), 1):
        cells = "".join(
            f'<row r="{row}">'
            + "".join(
                f'<c r="{chr(64 + column)}{row}" t="inlineStr"><is><t>{text}</t></is></c>'
                for column, text in enumerate(texts, 1)
            )
            + "</row>"
            for row, texts in enumerate(rows, 1)
        )
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>'
        )
    return archive(parts)
