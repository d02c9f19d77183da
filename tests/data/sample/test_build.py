import hashlib
import json
from pathlib import Path

import pytest

from sumpool.data.config import Example
from sumpool.data.rfc_texts import series_files
from sumpool.data.sample.build import MAX_ARCHIVE_BYTES, MAX_TEXT_BYTES, MIN_TEXT_BYTES, build
from sumpool.data.sources import RfcSourceConfig, bundled_sample

ABSTRACT = "This abstract says in at least fifteen words what the whole of the document is all about here."


@pytest.fixture
def series(tmp_path: Path) -> Path:
    folder = tmp_path / "series"
    folder.mkdir()
    for number in range(1, 60):
        noise = (
            hashlib.shake_128(str(number).encode()).hexdigest(200).translate(str.maketrans("0123456789", "ghijklmnop"))
        )
        lines = [
            f"   Sentence {index} of RFC {number} has more words than {noise[index : index + 20]} in it."
            for index in range(200)
        ]
        (folder / f"rfc{number}.txt").write_text("1. Introduction\n\n" + "\n".join(lines))
        metadata = {"abstract": ABSTRACT, "obsoletes": [], "obsoleted_by": [], "updates": [], "updated_by": []}
        (folder / f"rfc{number}.json").write_text(json.dumps(metadata))
    (folder / "rfc1.txt").write_text("1. Introduction\n\n" + "   A text that is too short has few words.\n" * 100)
    return folder


def test_archive_holds_complete_files_within_its_size(series: Path, tmp_path: Path) -> None:
    sample = tmp_path / "rfc.tar.xz"
    numbers = build(series, sample, held_out=3, max_bytes=20_000)
    assert sample.stat().st_size <= 20_000
    assert sum(number % 10 == 7 for number in numbers) == sum(number % 10 == 3 for number in numbers) == 3
    assert 6 < len(numbers) < 50
    assert 1 not in numbers
    for kind in ("json", "txt"):
        files = list(series_files(sample, kind))
        assert [file.number for file in files] == numbers
        assert all(file.content == (series / f"rfc{file.number}.{kind}").read_bytes() for file in files)
    assert all(isinstance(row, Example) for row in RfcSourceConfig(path=sample).rows())


def test_archive_is_deterministic(series: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        build(series, tmp_path / name, held_out=2, max_bytes=30_000)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_bundled_archive_has_the_documented_sizes() -> None:
    assert bundled_sample().stat().st_size <= MAX_ARCHIVE_BYTES
    assert (bundled_sample().parent / "NOTICE").read_text().count("BCP 78")
    assert all(MIN_TEXT_BYTES <= len(file.content) <= MAX_TEXT_BYTES for file in series_files(bundled_sample(), "txt"))
