"""PDF files written by hand, for tests."""

import hashlib
import re
from collections.abc import Sequence

FONTS = {"F1": "Times-Roman", "F2": "Times-Bold", "F3": "Courier", "F4": "Times-Italic"}


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


def pdf(
    pages: Sequence[str | bytes],
    *,
    title: str = "",
    catalog: str = "",
    count: int | None = None,
    layers: Sequence[str] = (),
) -> bytes:
    """Write a PDF file of content streams.

    The page tree claims `count` pages. Layers L0, L1 ... of the content streams are on if their name is in capitals.
    """
    first = 4 + 2 * len(pages)
    properties = " ".join(f"/L{number} {first + number} 0 R" for number in range(len(layers)))
    if layers:
        hidden = " ".join(f"{first + number} 0 R" for number, name in enumerate(layers) if not name.isupper())
        groups = " ".join(f"{first + number} 0 R" for number in range(len(layers)))
        catalog += f" /OCProperties << /OCGs [{groups}] /D << /OFF [{hidden}] >> >>"
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
            f"/Resources << /Font << {fonts} >> /Properties << {properties} >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
    objects += [f"<< /Type /OCG /Name ({name}) >>".encode() for name in layers]
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


_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def encrypted(content: bytes, password: str) -> bytes:
    """Encrypt the streams of a file written by `pdf` (standard handler, revision 2)."""
    padded = (password.encode("latin-1") + _PADDING)[:32]
    owner = _rc4(_md5(padded)[:5], padded)
    key = _md5(padded + owner + (-4 & 0xFFFFFFFF).to_bytes(4, "little") + bytes(16))[:5]

    def encrypt(match: re.Match[bytes]) -> bytes:
        stream_key = _md5(key + int(match[1]).to_bytes(3, "little") + b"\0\0")[:10]
        return match[0][: match.start(2) - match.start()] + _rc4(stream_key, match[2]) + b"\nendstream"

    content = re.sub(rb"(\d+) 0 obj\n<< /Length \d+ >>\nstream\n(.*?)\nendstream", encrypt, content, flags=re.DOTALL)
    entry = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{owner.hex()}> /U <{_rc4(key, _PADDING).hex()}> /P -4 >>"
    return content.replace(b"/Root 1 0 R", f"/Root 1 0 R {entry} /ID [<{'00' * 16}> <{'00' * 16}>]".encode())


def _md5(content: bytes) -> bytes:
    return hashlib.md5(content, usedforsecurity=False).digest()


def _rc4(key: bytes, content: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    result = bytearray()
    i = j = 0
    for byte in content:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        result.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(result)
