import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sumpool.text.cleaning import (
    IGNORABLE,
    clean,
    escape,
    escape_line,
    escape_markdown,
    escape_markdown_line,
    markdown_code,
    markdown_table,
)
from tests.browser.hostile import PAYLOADS

HOSTILE = "\x1b[31mred\x1b[0m\a\r\x9b2J[red]x[/]\u202etxt\ud800"
HARMLESS = r"\u001b[31mred\u001b[0m\u0007\u000d\u009b2J[red]x[/]\u202etxt\ud800"
FORGED = "d1\nerror: forged\u2028x\u200b\ufff9\u2800\ufeff\U000e0041"
ONE_LINE = r"d1\u000aerror: forged\u2028x\u200b\ufff9\u2800\ufeff\udb40\udc41"
MARKED: tuple[str, ...] = (
    "# a",
    "> b",
    "- c",
    "+ d",
    "12. e",
    "3) f",
    "* g",
    "===",
    "---",
    "- -",
    "<i>h</i>",
    "[i](j)",
    "![k](l)",
    "`m`",
)
MARKED += ("a\n===", "a\n---", "&lt;n&gt;", "&#x202e;o", "| p | q |", "~~r~~", "\\# s", "***", "_t_", "1. u\n2. v")
"""Texts that Markdown lays out as more than a paragraph."""


def test_control_characters_are_escaped() -> None:
    assert escape(HOSTILE) == HARMLESS
    assert escape("naïve 要約\n\ttext ‰ 👩‍💻") == "naïve 要約\n\ttext ‰ 👩‍💻"


def test_line_feeds_and_invisible_characters_of_a_line_are_escaped() -> None:
    assert escape_line(FORGED + HOSTILE) == ONE_LINE + HARMLESS


def test_escaped_json_is_equivalent() -> None:
    line = json.dumps({"summary": "\x9b\x7f\u202e"}, ensure_ascii=False)
    assert escape(line) != line
    assert json.loads(escape(line)) == json.loads(line)


@pytest.mark.slow
def test_what_is_removed_from_documents_is_escaped_in_lines() -> None:
    removed = [chr(code) for code in range(0x110000) if not clean(chr(code))]
    assert len(removed) > 4000
    assert [character for character in removed if escape_line(character) == character] == []
    assert {"\ufff9", "\ufffb", "\u2800"} <= set(removed)
    assert not re.search(f"[{IGNORABLE}]", escape_line("".join(removed)))


def test_markdown_shows_texts_as_they_are() -> None:
    for text in MARKED:
        page = MarkdownIt("gfm-like", {"linkify": False}).render(escape_markdown(text))
        shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert page == f"<p>{shown}</p>\n"


@given(st.text(max_size=20))
def test_a_cell_is_one_cell_of_one_line(text: str) -> None:
    lines = markdown_table([["a", "b"], [escape_markdown_line(text), "1"]])
    assert len("\n".join(lines).splitlines()) == 3
    page = MarkdownIt("gfm-like", {"linkify": False}).render("\n".join(lines))
    assert re.findall("<t[hd]>", page) == ["<th>", "<th>", "<td>", "<td>"]
    assert set(re.findall("<([a-z]+)", page)) == {"table", "thead", "tbody", "tr", "th", "td"}


def test_payloads_are_no_elements_of_a_page() -> None:
    for start in ("", "# ", "| ", "\t"):
        for payload in PAYLOADS:
            page = MarkdownIt("gfm-like", {"linkify": False}).render(escape_markdown(start + payload[:1000]))
            assert set(re.findall("<([a-z]+)", page)) <= {"p", "pre", "code"}


def test_a_code_span_holds_a_path() -> None:
    for text in ["runs/a", "a`b", "``", "a\nb", "`"]:
        assert MarkdownIt().render(markdown_code(text)) == f"<p><code>{escape_line(text)}</code></p>\n"
