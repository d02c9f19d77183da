import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sumpool.text.cleaning import (
    IGNORABLE,
    clean,
    cut_at_spaces,
    escape,
    escape_line,
    escape_markdown,
    escape_markdown_line,
    markdown_code,
    markdown_table,
    paragraphs,
    remove_invisible,
    reservoir_sample,
)
from tests.browser.hostile import PAYLOADS

BIDIRECTIONAL = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
ZERO_WIDTH = (*range(0x200B, 0x200E), *range(0x2060, 0x2065), *range(0x206A, 0x2070), 0xFEFF, 0x180E, 0xAD, 0x34F)
TAGS = (0xE0001, *range(0xE0020, 0xE0080))


def test_no_invisible_character_is_left_between_letters() -> None:
    for codes in [BIDIRECTIONAL, ZERO_WIDTH, TAGS]:
        assert [hex(code) for code in codes if clean(f"a{chr(code)}b") != "ab"] == []


def test_line_ends_become_line_feeds_and_accents_are_composed() -> None:
    assert {clean(f"a{end}b") for end in ("\r\n", "\r", "\f", "\v", "\x85", "\u2028")} == {"a\nb"}
    assert remove_invisible("cafe\u0301 u\u200b\u0308ber") == ("café über", 1)
    assert paragraphs("\n\n one\n two \n \t\n\n three\u00a0four\n") == ["one two", "three four"]
    assert paragraphs(" \n\n ") == []


def test_joiners_that_spelling_needs_stay() -> None:
    for text in ["کتابخانه‌ای تازه و ساخت‌وساز آغاز می‌شود.", "കണ്‍വീനര്‍ പറഞ്ഞു.", "क्‍ष र्‍य", "👨‍✈️ waved ❤️ and 🏴󠁧󠁢󠁥󠁮󠁧󠁿, 1️⃣, ❤️‍🔥."]:
        assert clean(text) == text
        assert remove_invisible(text) == (text, 0)
        assert escape_line(text) == text


def test_joiners_elsewhere_go() -> None:
    hidden = "🏴" + "".join(chr(0xE0000 + ord(letter)) for letter in "hiddenwords") + "\U000e007f"
    for text in ["a\u200cb", "a\u200d b", "می\u200c شود", "\u200cمی", "x\ufe0f", "می\u200b\u200cشود", hidden]:
        assert clean(text) == "".join(character for character in text if character.isalpha() or character in " 🏴")


def test_streams_are_sampled_uniformly_and_repeatably_and_short_ones_kept_in_order() -> None:
    assert reservoir_sample(["a", "b", "c"], 10) == ["a", "b", "c"]
    texts = [str(number) for number in range(10_000)]
    first = reservoir_sample(iter(texts), 100)
    assert first == reservoir_sample(iter(texts), 100)
    assert len(set(first)) == 100
    assert min(map(int, first)) < 1000
    assert max(map(int, first)) > 9000


def test_long_paragraphs_become_several_lines() -> None:
    words = " ".join(f"word{number}" for number in range(500))
    for text in (words, "x" * 250):
        lines = list(cut_at_spaces(text, 100))
        assert max(map(len, lines)) <= 100
        assert "".join(lines) == text


HOSTILE = "\x1b[31mred\x1b[0m\a\r\x9b2J[red]x[/]\u202etxt\ud800"
HARMLESS = r"\u001b[31mred\u001b[0m\u0007\u000d\u009b2J[red]x[/]\u202etxt\ud800"
FORGED = "d1\nerror: forged\u2028x\u200b\ufff9\u2800\ufeff\U000e0041"
ONE_LINE = r"d1\u000aerror: forged\u2028x\u200b\ufff9\u2800\ufeff\udb40\udc41"
MARKED = ["# a", "> b", "- c", "+ d", "12. e", "3) f", "* g", "===", "---", "- -", "<i>h</i>", "[i](j)", "![k](l)"]
MARKED += [
    "`m`",
    "a\n===",
    "a\n---",
    "&lt;n&gt;",
    "&#x202e;o",
    "| p | q |",
    "~~r~~",
    "\\# s",
    "***",
    "_t_",
    "1. u\n2. v",
]
"""Texts that Markdown lays out as more than a paragraph."""


def test_control_characters_are_escaped() -> None:
    assert escape(HOSTILE) == HARMLESS
    assert escape("naïve 要約\n\ttext ‰ 👩‍💻") == "naïve 要約\n\ttext ‰ 👩‍💻"
    assert escape_line(FORGED + HOSTILE) == ONE_LINE + HARMLESS
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
