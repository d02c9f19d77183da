"""Detection of a document's format from its content and the suffix of its name; the content decides in doubt."""

import re
import zipfile
import zlib
from io import BytesIO
from typing import Final

from sumpool.documents.decoding import unmarked_utf16
from sumpool.documents.formats import FORMATS, PANDOC
from sumpool.io.bounded import parse_json

ROWS: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".csv": "csv", ".tsv": "tsv"}
"""Kind of rows of each suffix of file names."""
ROW_KINDS: Final = frozenset(ROWS.values())

_CLOCK: Final = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})"
_FRACTION: Final = r"[.,](\d{1,3})"
CUE: Final = re.compile(
    rf"[ \t]*{_CLOCK}(?:{_FRACTION})?(?:[ \t]*-->[ \t]*|,){_CLOCK}{_FRACTION}(?:[ \t]+[^\n]*)?[ \t]*$", re.MULTILINE
)
"""Line with the times of a cue of subtitles."""
STAMP: Final = re.compile(rf"(?<!\s)\s*(?:\[{_CLOCK}(?:[.:]\d{{1,3}})?\])+", re.ASCII)
"""Times before a line of lyrics or captions (LRC)."""
_LRC: Final = re.compile(r"(?:\[[a-z#]{1,8}:[^\]\n]*\]\s*|\s+)*+\[\d{1,3}:\d\d[.:]\d{2,3}\]")
_HEAD = 2**16
"""Bytes that a text is recognised by."""
_COMPOUND: Final = b"\xd0\xcf\x11\xe0"
_OUTLOOK: Final = "__substg1.0_".encode("utf-16-le")
_MAGIC: Final[dict[str, bytes | tuple[bytes, ...]]] = {
    "a PNG image": b"\x89PNG",
    "a JPEG image": b"\xff\xd8\xff",
    "a GIF image": b"GIF8",
    "a TIFF image": (b"II*\0", b"MM\0*"),
    "a program": (b"\x7fELF", b"MZ\x90", b"\xca\xfe\xba\xbe", b"\0asm"),
    "an old Office file (.doc, .xls, .ppt); save it as .docx": _COMPOUND,
    "a PostScript file; convert it to PDF": b"%!PS",
    "a SQLite database": b"SQLite format 3",
    "a 7z archive; unpack it": b"7z\xbc\xaf",
    "a RAR archive; unpack it": b"Rar!",
    "a bzip2 archive; unpack it": b"BZh",
    "an xz archive; unpack it": b"\xfd7zXZ",
    "a Debian package or an archive; unpack it": b"!<arch>",
    "a DjVu file; convert it to PDF": b"AT&TFORM",
    "an Ogg recording": b"OggS",
    "an MP3 recording": b"ID3",
    "a recording or an image": b"RIFF",
    "a font": (b"wOFF", b"wOF2", b"\0\1\0\0"),
    "a pickle": b"\x80\x02",
}
_ZIPS: Final = {"word/": "docx", "xl/": "xlsx", "ppt/": "pptx"}
_HTML = re.compile(r"\s*(?><\?xml[^>]*>\s*)?(?><!--(?>.*?-->)\s*)*+(?:<!doctype\s+html|<html|<head|<body)", re.I | re.S)
_TAGS = re.compile(r"</?(?:p|div|h[1-6]|ul|ol|li|table|tr|td|br|span|a|body|title)\b[^<>]*>", re.IGNORECASE)
_MAIL_FIELD = re.compile(
    r"(?:return-path|received|from|to|subject|date|message-id|mime-version|content-type|delivered-to|reply-to|cc"
    r"|x-[\w-]+|list-[\w-]+|dkim-signature|user-agent|in-reply-to|references|sender): ?",
    re.IGNORECASE,
)
_ROFF = re.compile(r"^\.(?:TH|Dd)\s", re.MULTILINE)
_MDOC = re.compile(r"^\.Dd\s", re.MULTILINE)
_RFC = re.compile(r"^(?:Request for Comments|RFC|Internet[- ]Draft)\b", re.MULTILINE | re.IGNORECASE)
_RFC_PAGE = re.compile(
    r"\[Page \d+\]|^Network Working Group\b|^Internet (?:Engineering|Research) Task Force\b|\bISSN: 2070-1721",
    re.MULTILINE,
)
_BEGINNINGS: Final = {
    "rtf": re.compile(r"\{\\rtf\d"),
    "latex": re.compile(r"(?:%.*\n|\s)*\\(?:documentclass|RequirePackage)\b"),
    "org": re.compile(r"(?:#.*\n|\s)*#\+(?:title|author|options|startup|date):", re.IGNORECASE),
    "typst": re.compile(r"(?://.*\n|\s)*(?:#set [\w.]+\(|#show[ :]|#import \"@|#let [\w-]+ ?[=(])"),
    "jats": re.compile(r"(?:<[?!][^<>]*>\s*)*<article\b[^>]*>\s*(?:<processing-meta|<front\b)"),
}
"""Beginnings of texts that pandoc reads."""
_RST = re.compile(
    r"^\.\. (?:[\w-]+(?::[\w-]+)*::|_[^:\n]+:(?:\s|$)|\|[^|\n]+\| )|:(?:ref|doc|class|func|mod|meth|term|file|option):`"
    r"|``[^`\n]+``|`[^`<\n]+ <[^>\n]+>`_|^\S.*::$",
    re.MULTILINE,
)
_RST_TITLE = re.compile(r"^(?=\S)(?P<title>.{3,})\n(?P<mark>[=\-~^\"'`#*+])(?P=mark){2,}$", re.MULTILINE)
_MARKDOWN_STRONG = re.compile(
    r"^(?:```|~~~)\w*$|\[[^\]\n]{1,200}\]\([^)\s]{1,500}\)|^\|(?: *:?-+:? *\|)+$", re.MULTILINE
)
_MARKDOWN = re.compile(_MARKDOWN_STRONG.pattern + r"|^#{1,6} \S|\*\*[^*\n]{1,200}\*\*|^[*-] \[[ x]\] ", re.MULTILINE)
_MARKDOWN_HEADING = re.compile(r"(?:\A|\n\n)#(#{0,5}) [^\s#][^\n]*(?<![.:])(?=\n(?!#)|\Z)")
"""Heading alone or above text; the next line of a comment would have the mark as well."""
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:(?!---)(?:[\w-]+:|[ \t#-])[^\n]*\n)++---[ \t]*(?:\n|\Z)")
_WIKI_HEADING = re.compile(r"^={2,6}[^=\n]+={2,6}\s*$", re.MULTILINE)
_WIKI = re.compile(r"\[\[[^\]\n]{1,200}\]\]|\'{3}[^\'\n]{1,200}\'{3}|^\{\|", re.MULTILINE)
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\b\x1b")


def detect_format(content: bytes, suffix: str = "") -> str:
    """Return the format of a document: a module of `sumpool.documents.formats` or a kind of rows.

    Args:
        content: Uncompressed content.
        suffix: Suffix of the name in lower case, with its dot; empty if there is none.

    Raises:
        ValueError: If the content is of a kind that cannot be read; the message lacks the subject.
    """
    if binary := _binary_format(content):
        return binary
    named = ROWS.get(suffix) or FORMATS.get(suffix, "")
    if named in ROW_KINDS or not content.strip():
        return named or "text"
    head = content[:_HEAD]  # of which other encodings than Unicode are taken for Latin-1
    marks = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
    encoding = marks.get(head[:2]) or unmarked_utf16(content) or ("utf-8" if b"\xef" in head[:1] else "latin-1")
    text = head.decode(encoding, "ignore").lstrip("\ufeff").replace("\r\n", "\n")
    if named in ("", "text", "html") and _BEGINNINGS["jats"].match(text.lstrip()):
        return "jats"
    if named not in ("mail", "markdown", *PANDOC) and is_html(text):
        return "html"
    return named if named not in ("", "text", "man", "mdoc") else _text_format(text, content)


def supported_suffixes() -> str:
    """Return the suffixes of all formats, for messages."""
    return ", ".join(dict.fromkeys((".txt", *FORMATS, *ROWS)))


def is_html(text: str) -> bool:
    """Return whether a text is HTML, by its beginning or its tags."""
    if _HTML.match(text):
        return True
    start = text[:4096].lstrip()
    return start.startswith("<") and len(_TAGS.findall(start)) >= max(6, len(start) // 200)


def _binary_format(content: bytes) -> str:
    """Return the format of content that is not text; empty for text."""
    if b"%PDF-" in content[:1024]:
        return "pdf"
    if content.startswith(b"PAR1"):
        return "parquet"
    if content.startswith(b"PK\x03\x04"):
        return _zip_format(content)
    kind = next((name for name, magic in _MAGIC.items() if content.startswith(magic)), "")
    if content.startswith(_COMPOUND) and _OUTLOOK in content:
        kind = "a mail of Outlook (.msg); save it as .eml"
    head = content[:4096]
    is_wide = head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff", b"\x1b$)C")) or unmarked_utf16(content)
    controls = 0 if is_wide else len(head) - len(head.translate(None, _CONTROLS))
    if not kind and controls > max(1, len(head) // 50):
        kind = "binary data"
    if kind:
        raise ValueError(f"must be text or one of {supported_suffixes()}, got {kind}")
    return ""


def _zip_format(content: bytes) -> str:
    """Return the format of a zip archive."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            names = archive.namelist()
            kinds = []
            for name in ("mimetype", "META-INF/manifest.xml"):
                # Other compressions unpack more than they are asked for.
                known = name in names and archive.getinfo(name).compress_type in (
                    zipfile.ZIP_STORED,
                    zipfile.ZIP_DEFLATED,
                )
                if known:
                    with archive.open(name) as part:
                        kinds.append(part.read(500))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError, zlib.error, EOFError) as error:
        raise ValueError(f"must be a complete file, got a damaged zip archive: {error}; get the file again") from error
    if "META-INF/container.xml" in names or any(b"epub" in kind for kind in kinds):
        return "epub"
    if any(b"opendocument.text" in kind for kind in kinds):
        return "odt"
    for start, kind in _ZIPS.items():
        if any(name.startswith(start) for name in names):
            return kind
    raise ValueError("must be a document, got a zip archive; unpack it")


def _text_format(text: str, content: bytes) -> str:
    """Return the format of a text whose name says nothing."""
    start = text.lstrip()
    for name, beginning in _BEGINNINGS.items():
        if beginning.match(start):
            return name
    if start.startswith("<?xml"):
        raise ValueError("must be text, got XML; convert it to HTML")
    if start[:1] in ("{", "[") and (kind := _json_kind(start, content)):
        return kind
    if start[:1] in (".", "'") and _ROFF.search(text):
        return "mdoc" if _MDOC.search(text) else "man"
    if is_mail(start):
        return "mail"
    first, _, rest = start.partition("\n")  # a cue may have its number above its times
    times = rest.split("\n", 1)[0] if first.strip().isdigit() else first
    if start.startswith("WEBVTT") or _LRC.match(start) or CUE.match(times):
        return "subtitles"
    if _RFC.search(text[:4096]) and _RFC_PAGE.search(text):
        return "rfc"
    rst = len(_RST.findall(text)) + len(_RST_TITLE.findall(text))
    markdown = len(_MARKDOWN.findall(text))
    if rst >= 3 and rst > markdown and _RST.search(text):
        return "rst"
    if _WIKI_HEADING.search(text) and len(_WIKI.findall(text)) >= max(2, markdown):
        return "mediawiki"
    if markdown >= 3 and _MARKDOWN_STRONG.search(text):
        return "markdown"
    headings = _MARKDOWN_HEADING.findall(text)
    is_headed = len(headings) > 1 and any(headings)
    return "markdown" if is_headed or _FRONT_MATTER.match(text) else "text"


def is_mail(text: str) -> bool:
    """Return whether a text begins with the header of a mail, or of a web archive (MHT), which nobody has sent."""
    names: set[str] = set()
    for line in text.split("\n", 60)[:60]:
        if not line.strip():
            break
        field = _MAIL_FIELD.match(line)
        if field:
            names.add(field[0].rstrip(": ").lower())
        elif not line[0].isspace() and not (line.startswith("From ") and not names) and ":" not in line:
            return False
    is_web_archive = names >= {"mime-version", "content-type"}
    return is_web_archive or (len(names) >= 3 and bool(names & {"from", "received", "return-path"}))


def _json_kind(text: str, content: bytes) -> str:
    """Return "jsonl" or "ipynb"; empty for what is no JSON."""
    lines = text.split("\n", 1)
    try:
        is_json_lines = isinstance(parse_json(lines[0]), dict)
    except ValueError:
        is_json_lines = len(lines) == 1 and len(text) > _HEAD // 2 and text.startswith('{"')
    if is_json_lines:
        return "jsonl"
    try:
        parse_json(content)
    except ValueError:
        return ""
    if '"nbformat"' in text or '"cell_type"' in text:
        return "ipynb"
    raise ValueError("must be text or JSON lines, got other JSON; write one object per line")
