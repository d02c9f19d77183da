import sys

import pytest

from sumpool.documents.decoding import decode_text, invisible_note
from sumpool.documents.detection import detect_format

GERMAN = "Die Größe der Straße zählt für Fußgänger, die über Brücken gehen müssen. " * 5
RUSSIAN = "Маршрутизатор пересылает пакеты между сетями и отбрасывает слишком длинные из них. " * 5


PORT = "港の事務所は四十隻を数えた。\n船は水先人を待っていた。\n"
OFFICE = "항구 사무소는 배를 세었다.\n배는 기다렸다.\n"


def test_unicode_is_read() -> None:
    for content, text, note in [
        ("\ufeffGrüße\r\nwelt\f".encode(), "Grüße\nwelt\f", ""),
        (GERMAN.encode("utf-16"), GERMAN, "read as UTF-16"),
        (GERMAN.encode("utf-32"), GERMAN, "read as UTF-32"),
        (b"\xfe\xff" + GERMAN.encode("utf-16-be"), GERMAN, "read as UTF-16"),
        (b"\0\0\xfe\xff" + GERMAN.encode("utf-32-be"), GERMAN, "read as UTF-32"),
        (GERMAN.encode("utf-16-le"), GERMAN, "read as UTF-16"),
        (GERMAN.encode("utf-16-be"), GERMAN, "read as UTF-16"),
    ]:
        assert decode_text(content) == (text, (note,) if note else ())
    for encoding in ("utf-16-le", "utf-16-be"):
        assert decode_text("fermé\u00a0: le port\u00ad aussi".encode(encoding))[0] == "fermé\u00a0: le port aussi"


@pytest.mark.parametrize(
    ("text", "encoding"), [(PORT, "utf-16-le"), (PORT, "utf-16-be"), (PORT, "iso2022_jp"), (OFFICE, "iso2022_kr")]
)
def test_texts_of_other_scripts_without_a_mark_are_read(text: str, encoding: str) -> None:
    content = text.encode(encoding)
    assert detect_format(content) == "text"
    assert decode_text(content)[0] == text


def test_other_encodings_are_guessed() -> None:
    for text, encoding in [(GERMAN, "cp1252"), (RUSSIAN, "koi8-r"), (RUSSIAN, "cp1251")]:
        decoded, (note,) = decode_text(text.encode(encoding))
        assert decoded == text
        assert note.startswith("read as ")


def test_what_is_no_text_in_an_encoding_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for content, message in [
        ("ab".encode("utf-16") + b"\xd8", "must be UTF-16, got invalid bytes at position 6"),
        (b"\xff", "must be UTF-8, got byte 0xff at position 0; convert it"),
        (b"ab\0c", "must be text, got a null character at position 2"),
        (RUSSIAN.encode("cp1251") * 700 + b"\x98", r"must be .* got byte 0x\w\w at position \d+"),
    ]:
        with pytest.raises(ValueError, match=message):
            decode_text(content)
    monkeypatch.setitem(sys.modules, "chardet", None)
    message = r"got byte 0xf6 .* or detect its encoding: pip install 'sumpool\[documents\]'"
    with pytest.raises(ValueError, match=message):
        decode_text(GERMAN.encode("latin-1"))


def test_wrong_bytes_in_utf8_are_named() -> None:
    start, end = RUSSIAN[:50].encode(), RUSSIAN[50:].encode()
    text, notes = decode_text(start + b"\xff" + end)
    assert text == f"{RUSSIAN[:50]} {RUSSIAN[50:]}"
    assert notes == (f"read as UTF-8 without 1 wrong bytes, the first 0xff at {len(start)}",)


def test_invisible_characters_are_counted() -> None:
    decoded = decode_text("a\u200bb\u202ec\ufff9\u2800 d\be".encode())
    assert decoded == ("abc d\be", ("4 invisible characters removed",))
    assert invisible_note(0) == ()
    assert invisible_note(1) == ("1 invisible character removed",)
