from pathlib import Path

import pytest

import sumpool.data.encoding
from sumpool.data.encoding import Span, spans
from sumpool.data.sources._base import Example
from sumpool.data.texts import Texts, TextsWriter


def texts(folder: Path, sizes: list[int]) -> Texts:
    with TextsWriter(folder, "test") as writer:
        for number, size in enumerate(sizes):
            writer.add(Example(str(number), "x" * size, "", "test"))
    return Texts.open(folder, "test")


def test_spans_have_similar_amounts_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sumpool.data.encoding, "_SPAN_BYTES", 1000)
    divided = list(spans(texts(tmp_path, [300, 300, 300, 5000, 10, 10, 900]), "test"))
    assert [(span.start, span.stop) for span in divided] == [(0, 2), (2, 3), (3, 4), (4, 6), (6, 7)]
    assert {span.split for span in divided} == {"test"}
    assert list(spans(texts(tmp_path / "few", [5, 5]), "test")) == [Span("test", 0, 2)]
    assert list(spans(texts(tmp_path / "none", []), "test")) == []
