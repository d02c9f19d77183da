import gzip
from pathlib import Path

import pytest

from sumpool.data.config import Example, Reject
from sumpool.data.sources import CsvSourceConfig
from sumpool.documents.files import zstd
from sumpool.errors import DataError


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows(path: Path, **settings: object) -> list[Example | Reject]:
    return list(CsvSourceConfig.model_validate({"train": path, "validation_share": 0, **settings}).rows())


def test_quoted_cells_keep_separators_quotes_and_line_breaks(tmp_path: Path) -> None:
    content = 'id,text,summary\r\n1,"One, ""two"".\r\n\r\nThree.",Short.\r\n\r\n2,Four.,"S; t\n"\r\n'
    assert rows(write(tmp_path / "x.csv", content)) == [
        Example("1", 'One, "two".\r\n\r\nThree.', "Short.", "train"),
        Example("2", "Four.", "S; t\n", "train"),
    ]


def test_byte_order_mark_other_alphabets_and_long_cells(tmp_path: Path) -> None:
    long = "word " * 100_000  # more than the default limit of Python
    path = write(tmp_path / "x.csv", f"\ufefftext,summary\nÜber Größe.,短い。\n{long},Short.\n")
    assert rows(path) == [
        Example(f"{path}:2", "Über Größe.", "短い。", "train"),
        Example(f"{path}:3", long, "Short.", "train"),
    ]


def test_compressed_files_are_read(tmp_path: Path) -> None:
    for suffix, compress in (("gz", gzip.compress), ("zst", zstd.compress)):
        path = write(tmp_path / f"x.csv.{suffix}", compress(b"id,text,summary\n1,Text.,Short.\n"))
        assert rows(path) == [Example("1", "Text.", "Short.", "train")]
        write(path, path.read_bytes()[:-9])
        with pytest.raises(DataError, match=r"must be complete, got: .* after line \d+; get the file again"):
            rows(path)


def test_invalid_row_is_rejected_with_its_first_line(tmp_path: Path) -> None:
    for bad, line, reason in [
        (b"b,Text.\n", 3, "must have 3 cells like the header, got 2"),
        (b"b,Text.,Short.,more\n", 3, "must have 3 cells like the header, got 4"),
        (b'b,"Text." and,Short.\n', 3, "must be a row of cells, got: ',' expected after '\"' in line 3"),
        (b"b,Caf\xe9,Short.\n", 3, "must be UTF-8, got byte 0xe9 at position 5; convert it (line 3)"),
        (b'b,"One\n\xfc",Short.\n', 3, "must be UTF-8, got byte 0xfc at position 0; convert it (line 4)"),
        (b"b,Te\0xt,Short.\n", 3, "must be text, got a null character at position 4 (line 3)"),
        (b"b, ,Short.\n", 3, "'text' must contain text, got an empty one"),
        (b"\n\n,Text.,Short.\n", 5, "'id' must contain text, got an empty one"),
    ]:
        path = write(tmp_path / "x.csv", b"id,text,summary\na,Text.,Short.\n" + bad + b"z,Last.,Short.\n")
        first, rejected, last = rows(path)
        assert rejected == Reject(f"{path}:{line}", reason)
        assert (first, last) == (Example("a", "Text.", "Short.", "train"), Example("z", "Last.", "Short.", "train"))


def test_quote_that_is_never_closed_is_named_by_its_row(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", 'id,text,summary\n1,Text.,Short.\n2,"Open,Short.\n3,Text.,Short.\n')
    reason = "must be a row of cells, got: a double quote that is never closed; set data.source.quotes=false"
    rejected = rows(path)[1]
    assert isinstance(rejected, Reject)
    assert rejected.where == f"{path}:3"
    assert rejected.reason.startswith(reason)
    assert rows(path, quotes=False)[1] == Example("2", '"Open', "Short.", "train")


@pytest.mark.parametrize("separator", [",", ";", "|", "\t"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_separator_is_that_of_the_header(tmp_path: Path, separator: str, quote: str) -> None:
    cells = [["id", '"text"', f"{quote}summary{quote}"], ["1", '"One, two; three|"', f"{quote}Short.{quote}"]]
    path = write(tmp_path / "x.csv", "".join(f"{separator.join(row)}\n" for row in cells))
    assert rows(path) == [Example("1", "One, two; three|", "Short.", "train")]


def test_tabs_separate_the_cells_of_tsv(tmp_path: Path) -> None:
    content = b"id\ttext, or body\tsummary, or tip, or it\n1\tText.\tShort.\n"
    path = write(tmp_path / "x.tsv.gz", gzip.compress(content))
    found = rows(path, document="text, or body", summary="summary, or tip, or it")
    assert found == [Example("1", "Text.", "Short.", "train")]


def test_header_must_be_usable(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x\.csv:1 must have different column names, got 'text' twice"):
        rows(write(tmp_path / "x.csv", "text,summary,text\n"))
    with pytest.raises(DataError, match=r"x\.csv:1 must be UTF-8, got byte 0xff"):
        rows(write(tmp_path / "x.csv", b"te\xffxt,summary\n"))
    with pytest.raises(
        DataError, match=r"must have a column 'body', got 'text', 'summary'; set data\.source\.document"
    ):
        rows(write(tmp_path / "x.csv", "text,summary\n"), document="body")
    with pytest.raises(DataError, match=r"none\.csv must be a file that can be read"):
        rows(tmp_path / "none.csv")
    assert rows(write(tmp_path / "x.csv", "")) == []
