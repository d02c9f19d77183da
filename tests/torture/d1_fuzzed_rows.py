"""JSON lines with faults of every kind, prepared, summarised and evaluated."""

import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Final

from sumpool.data.config import DataConfig
from sumpool.data.prepare import ingest, read_rows
from sumpool.data.sources import JsonlSourceConfig
from sumpool.documents.read import read_all
from sumpool.errors import SumpoolError
from sumpool.evaluation.predictions import References, join
from sumpool.progress import no_op
from tests.conftest import story
from tests.torture.figures import Measured

ID: Final = "D1"
FIGURE: Final = (
    "fuzzed rows: no traceback; rows read = kept + rejected; a document per row; every message names the file"
)
NIGHT: Final = 10_000
QUICK: Final = 60
_PLACES = ("rows.jsonl", "document ", "data.source")
_LONG = 10_000_000
"""Bytes of a long line, one file in a thousand."""


def measure(count: int, folder: Path) -> Measured:
    """Read `count` files in three commands."""
    draw = random.Random(5)
    faults: list[str] = []
    outcomes: Counter[str] = Counter()
    path = folder / "rows.jsonl"
    for number in range(count):
        content = _content(draw, _LONG if number % 1000 == 999 else 0)
        path.write_bytes(content)
        rows = sum(bool(line.strip()) for line in content.split(b"\n"))
        for name, read in (("prepare", _prepare), ("summarize", _summarize), ("evaluate", _evaluate)):
            try:
                outcomes[read(path, rows)] += 1
            except SumpoolError as error:
                outcomes["refused"] += 1
                if not any(place in str(error) for place in _PLACES):
                    faults.append(f"{name} of file {number} tells {error}")
            except Exception as error:
                faults.append(f"{name} of file {number}: {error!r}"[:200])
    told = ", ".join(f"{times:,} {outcome}" for outcome, times in sorted(outcomes.items()))
    return Measured.by_faults(told, faults, count)


def _prepare(path: Path, rows: int) -> str:
    config = DataConfig(source=JsonlSourceConfig(path=path), vocabulary=300)
    for skips in (False, True):
        new = path.with_name("new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        try:
            rows_read = read_rows(config, no_op)
            documents, rejected, _ = ingest(rows_read, new, skip_bad_rows=skips, report=no_op, check=no_op)
        except SumpoolError:
            if skips:
                raise
            continue
        assert sum(documents.values()) + rejected == rows, f"{documents} and {rejected} of {rows} rows"
        listed = (new / "rejects.jsonl").read_text().splitlines()
        assert len(listed) == rejected, "rejects.jsonl differs"
    return "prepared"


def _summarize(path: Path, rows: int) -> str:
    documents = list(read_all([str(path)]))
    assert len(documents) == max(rows, 1), f"{len(documents)} documents of {rows} rows"
    assert all(document.text.strip() or document.error for document in documents) or rows, "an empty document"
    return "read"


def _evaluate(path: Path, rows: int) -> str:
    join(path, References.of_file(path))
    assert rows, "no rows"
    return "joined"


def _content(draw: random.Random, long: int) -> bytes:
    """Return a file of some lines, of which some have a fault."""
    lines = [_line(draw, number) for number in range(draw.randint(1, 6))]
    if long:
        lines.append(json.dumps({"id": "long", "document": "word " * (long // 5), "summary": "s"}).encode())
    content = draw.choice((b"\n", b"\n", b"\r\n")).join(lines) + draw.choice((b"\n", b""))
    return (b"\xef\xbb\xbf" if draw.random() < 0.1 and lines[0].strip() else b"") + content


_VALUES: tuple[object, ...] = (
    *(None, True, 5, 1e300, [], ["a", "b"], {"x": {"y": []}}, "", " ", "\x00", "a\u2028b\u2029c\x85d", "\ud800"),
)
_PIECES = (b"\xff", b"\xc3\x28", b"\x00", b'"', b"}", b"\\", "\u2028".encode(), b"\xed\xa0\x80", b"\r")
_NO_OBJECTS = (b"", b"   ", b"null", b"[1]", b'"text"', b"NaN", b"1e999", b"[" * 5000 + b"]" * 5000, b"{" * 3000)


def _line(draw: random.Random, number: int) -> bytes:
    """Return a row, or one with another value, other keys, damaged bytes, or none."""
    row: dict[str, object] = {"id": f"d{number}", "document": story(number, 3), "summary": story(number, 1)}
    line, key = json.dumps(row, ensure_ascii=False).encode(), draw.choice(list(row))
    place = draw.randrange(len(line))
    if draw.random() < 0.5:
        return json.dumps(row).encode()
    match draw.randrange(4):
        case 0:
            return json.dumps(row | {key: draw.choice(_VALUES)}).encode()
        case 1:
            fewer = {name: value for name, value in row.items() if name != key}
            renamed = {f"{name}\n": value for name, value in row.items()}
            others = (fewer, renamed, row | {"x" * draw.randint(1, 9): 1}, row | {"id": "d0"})
            return json.dumps(draw.choice(others)).encode()
        case 2:
            return draw.choice((line[:place], line[:place] + draw.choice(_PIECES) + line[place:]))
        case _:
            return draw.choice((*_NO_OBJECTS, line * 2))
