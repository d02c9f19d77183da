"""Formats that pandoc reads, and its limits."""

import importlib.util
import subprocess
import sys
from collections.abc import Callable

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS, TextBlock
from sumpool.documents.formats import PANDOC, _pandoc, load_format
from sumpool.errors import DataError
from tests.documents.formats.office_files import archive, docx, word_paragraph, xlsx

NESTED: list[tuple[str, Callable[[], bytes]]] = [
    ("mediawiki", lambda: b"".join(b"*" * depth + b" a\n" for depth in range(1, 400))),
    ("latex", lambda: rb"\begin{itemize}\item " * 3_000),
    ("latex", lambda: rb"\newcommand{\a}{\a\a}\a" + b"\n"),
    ("org", lambda: b"".join(b"  " * depth + b"- a\n" for depth in range(400))),
    ("typst", lambda: b"#let f(n) = f(n + 1)\n#f(1)\n"),
    ("jats", lambda: b"<article>" + b"<sec>" * 20_000),
    ("rtf", lambda: rb"{\rtf1 " + b"{" * 200_000),
    ("ipynb", lambda: b'{"nbformat": 4, "cells": ' + b"[" * 100_000),
]


def blocks(name: str, content: bytes) -> tuple[TextBlock, ...]:
    return load_format(name).parse(content, DEFAULT_OPTIONS).blocks


def test_missing_pandoc_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(_pandoc, "find_spec", lambda _: None)
    for name, title in PANDOC.items():
        message = rf"{title} files need pandoc, which is not installed: pip install 'sumpool\[pandoc\]'"
        with pytest.raises(DataError, match=message):
            blocks(name, b"x")


def test_sheets_number_the_pages() -> None:
    content = xlsx({"Ports": [["Port", "Ships"], ["Kiel", "41"]], "Sheet2": [["a", "1.50"]]})
    assert [(block.kind, block.text, block.page) for block in blocks("xlsx", content)] == [
        ("heading", "Ports", 1),
        ("table_row", "Port | Ships", 1),
        ("table_row", "Kiel | 41", 1),
        ("table_row", "a | 1.50", 2),
    ]


def test_other_files_are_not_read() -> None:
    for name, text in [
        ("latex", r"\documentclass{a}\begin{document}\input{/etc/passwd}Text.\end{document}"),
        ("org", "#+INCLUDE: /etc/passwd\nText.\n"),
        ("typst", '#include "/etc/passwd"\nText.\n'),
        ("mediawiki", "{{/etc/passwd}}\nText.\n"),
        ("man", ".TH A 1\n.so /etc/passwd\nText.\n"),
    ]:
        try:
            text = " ".join(block.text for block in blocks(name, text.encode()))
        except ValueError as error:
            text = str(error)
        assert "root:" not in text


@pytest.mark.slow
@pytest.mark.parametrize(("name", "content"), NESTED)
def test_hostile_texts_are_read_or_refused(name: str, content: Callable[[], bytes]) -> None:
    refusal = "must "
    try:
        blocks(name, content())
    except ValueError as error:
        refusal = str(error)
    assert refusal.startswith("must ")


@pytest.mark.slow
def test_a_bomb_of_paragraphs_is_refused() -> None:
    body = word_paragraph("a") * 500_000
    with pytest.raises(ValueError, match=r"^must "):
        blocks("docx", docx(body))


def test_damage_has_one_line() -> None:
    for name in ("docx", "odt", "pptx", "xlsx"):
        with pytest.raises(ValueError, match=r"^must [^\n]*$"):
            blocks(name, archive({"a.xml": "<a/>"}))


def test_the_package_does_not_import_docutils_or_look_for_pandoc() -> None:
    script = (
        "import sys; from sumpool.documents.read import read_documents; import sumpool.documents.detection;"
        "from sumpool.documents.formats import load_format; load_format('markdown');"
        "print([name for name in ('docutils', 'pypandoc', 'sumpool.documents.formats._pandoc') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
