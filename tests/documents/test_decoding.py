import builtins
from collections.abc import Mapping, Sequence
from types import ModuleType

import pytest

from sumpool.documents.decoding import decode_text, invisible_note
from sumpool.documents.detection import detect_format

GERMAN = "Die Größe der Straße zählt für Fußgänger, die über Brücken gehen müssen. " * 5
RUSSIAN = "Маршрутизатор пересылает пакеты между сетями и отбрасывает слишком длинные из них. " * 5


def test_utf8_needs_no_note() -> None:
    assert decode_text("\ufeffGrüße\r\nwelt\f".encode()) == ("Grüße\nwelt\f", ())


def test_marked_unicode_is_read() -> None:
    for encoding in ["utf-16", "utf-32"]:
        assert decode_text(GERMAN.encode(encoding)) == (GERMAN, (f"read as {encoding.upper()}",))
        big = (
            b"\xfe\xff" + GERMAN.encode("utf-16-be")
            if encoding == "utf-16"
            else b"\0\0\xfe\xff" + GERMAN.encode("utf-32-be")
        )
        assert decode_text(big).text == GERMAN


def test_utf16_without_a_mark_is_read() -> None:
    for encoding in ["utf-16-le", "utf-16-be"]:
        assert decode_text(GERMAN.encode(encoding)) == (GERMAN, ("read as UTF-16",))


def test_damaged_unicode_is_named() -> None:
    with pytest.raises(ValueError, match="must be UTF-16, got invalid bytes at position 6"):
        decode_text("ab".encode("utf-16") + b"\xd8")


def test_other_encodings_are_guessed() -> None:
    for text, encoding in [(GERMAN, "cp1252"), (RUSSIAN, "koi8-r"), (RUSSIAN, "cp1251")]:
        decoded, (note,) = decode_text(text.encode(encoding))
        assert decoded == text
        assert note.startswith("read as ")


def test_short_or_binary_bytes_are_named() -> None:
    with pytest.raises(ValueError, match="must be UTF-8, got byte 0xff at position 0; convert it"):
        decode_text(b"\xff")
    with pytest.raises(ValueError, match="must be text, got a null character at position 2"):
        decode_text(b"ab\0c")


def test_byte_outside_a_guessed_encoding_is_named() -> None:
    content = RUSSIAN.encode("cp1251") * 700 + b"\x98"
    with pytest.raises(ValueError, match=r"must be .* got byte 0x\w\w at position \d+"):
        decode_text(content)


def test_wrong_bytes_in_utf8_are_named() -> None:
    start, end = RUSSIAN[:50].encode(), RUSSIAN[50:].encode()
    text, notes = decode_text(start + b"\xff" + end)
    assert text == f"{RUSSIAN[:50]} {RUSSIAN[50:]}"
    assert notes == (f"read as UTF-8 without 1 wrong bytes, the first 0xff at {len(start)}",)


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if name == "chardet":
            raise ImportError(name)
        return real(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        ValueError, match=r"got byte 0xf6 .* or detect its encoding: pip install 'sumpool\[documents\]'"
    ):
        decode_text(GERMAN.encode("latin-1"))


def test_invisible_characters_are_counted() -> None:
    decoded = decode_text("a\u200bb\u202ec\ufff9\u2800 d\be".encode())
    assert decoded == ("abc d\be", ("4 invisible characters removed",))
    assert invisible_note(0) == ()
    assert invisible_note(1) == ("1 invisible character removed",)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_spaces_that_do_not_break_are_text(encoding: str) -> None:
    text = "Le conseil a décidé\u00a0: le pont sera fermé, et le port\u00ad aussi."
    assert decode_text(text.encode(encoding))[0] == text.replace("\u00ad", "")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "iso2022_jp", "iso2022_kr"])
def test_texts_of_other_scripts_without_a_mark_are_read(encoding: str) -> None:
    text = (
        "港の事務所は四十隻を数えた。\n船は水先人を待っていた。\n"
        if "kr" not in encoding
        else "항구 사무소는 배를 세었다.\n배는 기다렸다.\n"
    )
    content = text.encode(encoding)
    assert detect_format(content) == "text"
    assert decode_text(content).text == text


def test_bytes_with_zeros_are_no_text() -> None:
    for content in (b"\0\1\2\3" * 300, bytes(range(256)) * 4, b"ab\0\0cd\0\0" * 100):
        with pytest.raises(ValueError, match="got"):
            detect_format(content)
