import re
from base64 import b64encode
from hashlib import sha256

import pytest

from sumpool.io.html import escape_html, html_page


def test_escape() -> None:
    for text, expected in [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("a\" onclick='b' &amp;", "a&quot; onclick=&#x27;b&#x27; &amp;amp;"),
        ("a\x00b\x1b[31m\u202ec\u2066\ud800", "a\ufffdb\ufffd[31m\ufffdc\ufffd\ufffd"),
        ("tab\tline\nend\r", "tab\tline\nend\r"),
        ("Größe 標準", "Größe 標準"),
    ]:
        assert escape_html(text) == expected


def test_the_policy_allows_the_style_alone() -> None:
    page = html_page("A <b>", "<p>$x</p>", ".a { color: red; }")
    style = re.search("<style>(.*)</style>", page, re.DOTALL)
    assert style is not None
    assert style[1].endswith(".a { color: red; }")
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}';" in page
    assert '<html lang="en">' in page
    assert "<title>A &lt;b&gt;</title>" in page
    assert "<p>$x</p>" in page
    assert "script" not in page
    assert not re.search(r"https?:|//", page)


def test_styles_are_no_markup() -> None:
    with pytest.raises(ValueError, match="style must be free of markup, got '<'"):
        html_page("", "", "</style>")
