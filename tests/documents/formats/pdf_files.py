"""PDF files written by hand, for tests."""

from collections.abc import Sequence

FONTS = {
    "F1": "Times-Roman",
    "F2": "Times-Bold",
    "F3": "Courier",
    "F4": "Times-Italic",
}


def show(text: str, x: float, y: float, size: float = 10, font: str = "F1", before: str = "") -> str:
    """Draw a text, y from the bottom of a page of 792 points."""
    escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"BT {before} /{font} {size} Tf 1 0 0 1 {x} {y} Tm ({escaped}) Tj ET\n"


def show_lines(lines: Sequence[str], x: float, y: float, size: float = 10, leading: float = 12) -> str:
    """Draw lines one below the other."""
    return "".join(show(line, x, y - number * leading, size) for number, line in enumerate(lines))


def wrap(text: str, characters: int) -> list[str]:
    """Break a text into lines."""
    lines: list[str] = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= characters:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def pdf(pages: Sequence[str | bytes], *, title: str = "", catalog: str = "", count: int | None = None) -> bytes:
    """Write a PDF file.

    Args:
        pages: Content streams.
        title: Title in the information dictionary.
        catalog: Further entries of the catalog.
        count: Number of pages that the page tree claims.
    """
    fonts = " ".join(
        f"/{name} << /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>"
        for name, font in FONTS.items()
    )
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode(),
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages) if count is None else count} >>".encode(),
        f"<< /Title ({title}) >>".encode(),
    ]
    for number, page in enumerate(pages):
        stream = page if isinstance(page, bytes) else page.encode("cp1252")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            f"/Resources << /Font << {fonts} >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
    return assemble(objects, "/Info 3 0 R")


def assemble(objects: Sequence[bytes], trailer: str = "") -> bytes:
    """Write the objects of a PDF file with their table; the first one is the catalog."""
    content = b"%PDF-1.7\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(content))
        content += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{len(content)}\n%%EOF\n"
    return content + end.encode()
