# ruff: noqa: RUF001  (letters of other scripts)
import re
from pathlib import Path

import pytest

from sumpool.text.language import languages
from sumpool.text.notices import _CONTENTS, _IMPRINT, _LICENCE, _patterns, is_notice, notice_kind

CLASSIFIED = [
    ("Copyright © 1999-2004 The Example Authors", "licence"),
    ("Permission is granted to copy, distribute and/or modify this document.", "licence"),
    ("THE SOFTWARE IS PROVIDED WITHOUT ANY WARRANTY OF ANY KIND.", "licence"),
    ("This manual is released under the GNU General Public License, version 2.", "licence"),
    ("Все права защищены.", "licence"),
    ("版权所有 张三", "licence"),
    ("Table of Contents", "contents"),
    ("1.2 Installation . . . . . . . . . . 12", "contents"),
    ("Version 1.2.3, 4 May 2011", "imprint"),
    ("Author: Jane Doe", "imprint"),
    ("The canonical source of this document is https://example.org/71.html.", "imprint"),
    ("Page 3 of 12", "imprint"),
    ("Версия документа: 5", "imprint"),
    ("Phone +49 30 1234", "imprint"),
    ("The gateway dials phone numbers.", ""),
    ("Version control systems record who changed a file.", ""),
    ("The release notes describe what is new for people who upgrade.", ""),
    ("The contents of the file are sent to the printer.", ""),
    ("", ""),
]
TEXTS = [text for text, _ in CLASSIFIED]
ROOT = Path(__file__).parents[2]


def test_notices_are_classified() -> None:
    for text, kind in CLASSIFIED:
        assert notice_kind(text) == kind
        assert is_notice(text) == bool(kind)


def test_an_address_in_a_long_paragraph_is_no_imprint() -> None:
    assert notice_kind(f"Bugs go to bugs@example.org. {'The list is read by many people. ' * 5}") == ""


def test_the_footer_of_chinese_manual_pages_is_an_imprint_but_not_their_mention() -> None:
    assert notice_kind("本页面中文版由中文 man 手册页计划提供。") == "imprint"
    assert not notice_kind("本项目对历史上存留下来的中文手册页进行整理、维护与翻新。")


@pytest.mark.slow
def test_patterns_of_notices_are_those_of_their_alternatives() -> None:
    others = [language.patterns for language in languages().values()]
    paragraphs = {" ".join(part.split()) for page in ROOT.glob("docs/*.md") for part in page.read_text().split("\n\n")}
    examples = [example for other in others for example in other.values()]
    for fast, english, name in zip(
        _patterns(), (_LICENCE, _CONTENTS, _IMPRINT), ("licence", "contents", "imprint"), strict=True
    ):
        plain = re.compile("|".join([*english, *(other[name] for other in others if name in other)]), re.IGNORECASE)
        for text in [*paragraphs, *examples, *TEXTS]:
            assert bool(fast.search(text)) == bool(plain.search(text)), text
