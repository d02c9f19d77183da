import random
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sumpool.data.config import Example, Reject
from sumpool.data.sources import ParquetSourceConfig
from sumpool.documents.read import read_documents
from sumpool.errors import DataError, RecipeError
from tests.data.sources.conftest import examples, row


def write_table(path: Path, *rows: Mapping[str, object], group: int = 3) -> Path:
    """Write rows in small groups."""
    pq.write_table(pa.Table.from_pylist(list(rows)), path, row_group_size=group)
    return path


def test_a_file_that_expands_to_too_much_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = pa.Table.from_pylist([row(document="a" * 2**25)])
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    with pytest.raises(DataError, match=r"x\.parquet must expand to at most 300 times its size, got more"):
        list(ParquetSourceConfig(path=path).rows())
    (failed,) = read_documents(str(path))
    assert "must hold text that suits its size" in failed.error


def test_files_per_split_are_reads(tmp_path: Path) -> None:
    for number in (2, 1):
        write_table(tmp_path / f"train-{number:05}.parquet", row(f"{number}a"), row(f"{number}b"))
    config = ParquetSourceConfig(
        train=tmp_path / "train-*.parquet",
        validation=write_table(tmp_path / "validation.parquet", row("3")),
        test=write_table(tmp_path / "[test].parquet", row("4")),
    )
    splits = [(example.id, example.split) for example in examples(config)]
    assert splits == [(name, "train") for name in ("1a", "1b", "2a", "2b")] + [("3", "validation"), ("4", "test")]
    assert [path.name for path in config.files()] == [
        "train-00001.parquet",
        "train-00002.parquet",
        "validation.parquet",
        "[test].parquet",
    ]


def test_row_number_is_the_default_id(tmp_path: Path) -> None:
    path = write_table(tmp_path / "x.parquet", *({"text": f"Text {n}.", "summary": "S."} for n in range(200)), group=70)
    found = [example.id for example in examples(ParquetSourceConfig(train=path, validation_share=0))]
    assert found == [f"{path}:{number}" for number in range(1, 201)]


def test_invalid_utf_8_is_rejected_with_its_row(tmp_path: Path) -> None:
    bad = pa.Array.from_buffers(pa.string(), 2, pa.array([b"fine", b"a\xff"]).buffers())
    table = pa.table({"id": ["1", "2"], "document": bad, "summary": ["S.", "S."]})
    pq.write_table(table, tmp_path / "x.parquet")
    config = ParquetSourceConfig(train=tmp_path / "x.parquet", validation_share=0)
    example, rejected = config.rows()
    assert example == Example("1", "fine", "S.", "train")
    assert rejected == Reject(f"{tmp_path / 'x.parquet'}:2", "must be UTF-8, got byte 0xff at position 1; convert it")


def test_memory_is_bounded_in_large_row_groups(tmp_path: Path) -> None:
    letters = random.Random(1)
    texts = [letters.randbytes(5000).hex() for _ in range(2000)]  # 20 MB a column
    table = pa.table({"document": texts, "summary": texts})
    path = tmp_path / "x.parquet"
    pq.write_table(table, path, row_group_size=2000, use_dictionary=False, write_batch_size=32)
    del table
    before, peak = pa.total_allocated_bytes(), 0
    for example, text in zip(ParquetSourceConfig(train=path, validation_share=0).rows(), texts, strict=True):
        assert isinstance(example, Example)
        assert example.document == text
        peak = max(peak, pa.total_allocated_bytes() - before)
    assert peak < 8e6


def test_missing_column_is_an_error(tmp_path: Path) -> None:
    path = write_table(tmp_path / "x.parquet", row())
    for setting in ["document", "summary", "id"]:
        config = ParquetSourceConfig.model_validate({"path": path, setting: "nmae"})
        message = f"must have a column 'nmae', got 'id', 'document', 'summary'; set data.source.{setting} to its name"
        for method in (config.rows, config.notes):
            with pytest.raises(DataError, match=message):
                list(method())


def test_pattern_without_match_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = ParquetSourceConfig(train=write_table(tmp_path / "a.parquet", row()), test=tmp_path / "test-*.parquet")
    for method in (config.rows, config.notes, config.files):
        with pytest.raises(DataError, match=r"test-\*\.parquet must name a file, got none; check data\.source\.test"):
            list(method())
    monkeypatch.chdir(tmp_path)
    assert list(ParquetSourceConfig(path=Path("?.parquet")).files()) == [Path("a.parquet")]


def test_file_of_another_format_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_text('{"document": "Text."}')
    with pytest.raises(DataError, match=r"x\.parquet must be a Parquet file, got: [^\n]*; get the file again$"):
        list(ParquetSourceConfig(path=path).rows())
    path.unlink()
    path.mkdir()
    with pytest.raises(DataError, match=r"x\.parquet must be a Parquet file, got: "):
        list(ParquetSourceConfig(path=path).rows())


def test_damaged_file_is_an_error_with_its_row(tmp_path: Path) -> None:
    path = write_table(tmp_path / "x.parquet", *(row(str(number)) for number in range(200)), group=70)
    content = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(2).column(1).dictionary_page_offset
    content[start : start + 60] = bytes(60)
    path.write_bytes(content)
    # Rows come 64 at a time, across groups.
    with pytest.raises(DataError, match=r"x\.parquet must be complete, got: [^\n]* after row 128; get the file again$"):
        list(ParquetSourceConfig(path=path).rows())


def test_missing_pyarrow_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_table(tmp_path / "x.parquet", row())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RecipeError, match=r"must have pyarrow, .*: pip install 'sumpool\[parquet\]'"):
        list(ParquetSourceConfig(path=path).rows())
