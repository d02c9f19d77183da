"""Offline HTML pages: escaping, the shared style, and a policy that lets a page load and run nothing."""

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Final

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""Control, bidirectional and surrogate characters, which have no place in HTML or reorder the text around them."""
_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
"""Those of `html.escape`, whose module brings all entities along."""
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")

_PAGE: Final = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-$digest'; \
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>$title</title>
<style>$style</style>
</head>
<body>
$body
</body>
</html>
""")


def escape_html(text: str) -> str:
    """Escape a text for the content of elements and for quoted attributes.

    Control and bidirectional characters become replacement characters.
    """
    return _UNSAFE.sub("\ufffd", text).translate(_ESCAPES)


def language_attribute(language: str) -> str:
    """Return the attribute of an element in a language, with a space before it; empty if the language is no tag."""
    return f' lang="{language}"' if _LANGUAGE.fullmatch(language) else ""


def html_page(title: str, body: str, style: str) -> str:
    """Return a page that needs no other file and runs no script.

    Args:
        title: Title, plain text.
        body: Markup of the body, with everything else escaped.
        style: Style sheet after the shared one, without text of documents.

    Raises:
        ValueError: If the style contains markup.
    """
    sheet = files("sumpool.io").joinpath("page.css").read_text("utf-8") + style
    if "<" in sheet:
        raise ValueError("style must be free of markup, got '<'")
    digest = b64encode(sha256(sheet.encode()).digest()).decode()
    return _PAGE.substitute(digest=digest, title=escape_html(title), style=sheet, body=body)
