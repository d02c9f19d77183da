"""Documents of every format, made from samples by mutations and from the pieces of their grammars, for seconds each.

`fuzzed(name, number, samples)` makes one again.
"""

import io
import random
import re
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Sequence
from itertools import count as numbers
from pathlib import Path
from typing import Final, get_args

from sumpool.documents.document import DEFAULT_OPTIONS, TextBlock, TextBlockKind
from sumpool.documents.formats import FORMATS
from sumpool.documents.read import parse_documents
from sumpool.documents.worker import TOO_LARGE, TOO_LONG, ran_out_of_time
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.io.manifest import SHIPPED
from tests.torture.figures import Measured

ID: Final = "B5"
FIGURE: Final = "mutated and recombined documents of every reader: a summary or a reason, no traceback, no crash"
NIGHT: Final = 3600
QUICK: Final = 0
SAMPLES: Final = Path(__file__).parents[1] / "documents" / "formats" / "samples"
_ROWS: Final = {
    "csv": b'id,text,title\n1,"Gateways forward packets, and drop ""long"" ones.",A\n2,Hosts send packets.,B\n',
    "tsv": b"id\ttext\n1\tGateways forward packets between networks.\n2\tHosts send packets.\n",
    "jsonl": b'{"id": "1", "text": "Gateways forward \\u00e9 packets."}\n{"id": 2, "document": "Hosts.", "x": [1.5]}\n',
}
_SECONDS: Final = 4.0
"""Processor time for sentences and summary of a document, of which the largest have some hundred kilobytes."""
_MOST_BYTES: Final = 2**19
_TOKEN = re.compile(rb"\\?[\w:.-]+|\s+|.", re.DOTALL)
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_NUMBERS: Final = (b"0", b"-1", b"1e309", b"65536", b"2147483648", b"99999999999999999999", "\u0663".encode(), b"")
_SNIPPETS: Final = (
    b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>&x;",
    b"<!ENTITY % p SYSTEM 'http://127.0.0.1:1/'>%p;",
    b"<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='/etc/passwd' parse='text'/>",
    b"<?xml-stylesheet href='http://127.0.0.1:1/'?>",
    b"<iframe src='file:///etc/passwd'></iframe><script>alert(1)</script>",
    b"<div>" * 300,
    b'Content-Type: message/external-body; access-type=local-file; name="/etc/passwd"\n\n',
    b"\n--one\nContent-Type: multipart/mixed; boundary=one\n\n--one\n",
    b"../../../../etc/passwd",
    b"\xff\xfe\x00",
    b"=?utf-8?b?====?=",
    b"\xf3\xa0\x80\x81\xe2\x80\xae\xcc\x81\xed\xa0\x80",
    b"\x00\x0b\x0c\x1b\x85\xe2\x80\xa8",
)


def measure(count: int, folder: Path) -> Measured:
    """Read and summarise documents of each reader for `count` seconds."""
    del folder
    pipeline = Pipeline.open(RunFiles.open(SHIPPED, ["summarize.fast=true"]))
    found: list[str] = []
    outcomes: Counter[str] = Counter()
    for name in (*samples_of(SAMPLES), *_ROWS):
        samples = samples_of(SAMPLES).get(name) or [_ROWS[name]]
        end = time.monotonic() + count
        for number in numbers():
            if time.monotonic() > end:
                break
            outcome = outcome_of(name, fuzzed(name, number, samples), pipeline)
            outcomes[outcome.partition(":")[0]] += 1
            if outcome.startswith("fault"):
                found.append(f"{name} {number} {outcome}")
    text = f"{outcomes['read']:,} read, {outcomes['refused']:,} refused, {outcomes['budget']:,} of them by the budget"
    return Measured.by_faults(text, found, outcomes.total())


def samples_of(folder: Path) -> dict[str, list[bytes]]:
    """Return the contents of the files NAME.SUFFIX of a folder by the name of their format."""
    samples: dict[str, list[bytes]] = {}
    for path in sorted(folder.iterdir()):
        samples.setdefault(path.name.partition(".")[0], []).append(path.read_bytes())
    return samples


def suffix_of(name: str) -> str:
    """Return a suffix of a format, which is that of plain text for those that only their content tells."""
    return f".{name}" if name in _ROWS else next((suffix for suffix, kind in FORMATS.items() if kind == name), ".txt")


def outcome_of(name: str, content: bytes, pipeline: Pipeline) -> str:
    """Read and summarise a content.

    Args:
        name: Name of its format.
        content: The content.
        pipeline: Summarises without a model.

    Returns:
        "read", "refused", "budget" if the reason is that it takes too much, or "fault: ...".
    """
    outcome = "refused"
    try:
        start = time.process_time()
        for document in parse_documents(name, suffix_of(name), lambda: content, DEFAULT_OPTIONS):
            if document.error.endswith((TOO_LARGE, TOO_LONG)):
                fault = _fault(name, content)
                return f"fault: {fault}" if fault else "budget"
            if document.error and " must " not in document.error:
                return f"fault: {document.error}"
            check_blocks(document.blocks)
            (summary,) = pipeline.summarize([document])
            assert summary.text or summary.reason, "neither a summary nor a reason"
            outcome = outcome if document.error else "read"
        seconds = time.process_time() - start
        return f"fault: {seconds:.1f} s" if seconds > _SECONDS else outcome
    except Exception as error:
        return f"fault: {error!r}"


def check_blocks(blocks: Sequence[TextBlock]) -> None:
    """Assert that blocks are as `TextBlock` describes them."""
    for block in blocks:
        assert block.kind in get_args(TextBlockKind), block
        assert block.kind == "code" or block.text == " ".join(block.text.split()), block
        assert block.level > 0 or block.kind not in ("heading", "list_item"), block
        assert block.line is None or block.line > 0, block
        assert block.page is None or block.page > 0, block


_AGAIN: Final = """
import sys
from sumpool.documents import worker
from sumpool.documents.read import documents_of
from sumpool.documents.document import DEFAULT_OPTIONS
content = sys.stdin.buffer.read()
worker._set_budget(len(content))
for document in documents_of(sys.argv[1], sys.argv[1], sys.argv[2], content, DEFAULT_OPTIONS):
    pass
"""


def _fault(name: str, content: bytes) -> str:
    """Read a content again in a process that shows its traceback; return what is wrong but for the budget."""
    command = [sys.executable, "-c", _AGAIN, name, suffix_of(name)]
    done = subprocess.run(command, input=content, capture_output=True, check=False)
    if done.returncode < 0:
        return "" if ran_out_of_time(done.returncode) else f"signal {-done.returncode}"
    return done.stderr.decode(errors="replace").strip().rpartition("\n")[2]


def fuzzed(name: str, number: int, samples: Sequence[bytes]) -> bytes:
    """Return a document of a format that a number tells: a sample with changes, or pieces of samples.

    Args:
        name: Name of the format.
        number: Seed of the changes.
        samples: Documents of the format.
    """
    draw = random.Random(f"{name} {number}")
    content = draw.choice(samples)
    if draw.random() < 0.02:
        return draw.randbytes(draw.randrange(300))
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return changed(content, draw)
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(stream, "w") as target:
        parts = [part for part in source.namelist() if not part.endswith((".png", ".jpg", ".jpeg", "/"))]
        chosen = draw.choice([*parts, ""])
        for part in parts:
            text = source.read(part)
            target.writestr(part, changed(text, draw) if part == chosen else text)
    return stream.getvalue() if chosen else changed(stream.getvalue(), draw)


def changed(content: bytes, draw: random.Random) -> bytes:
    """Return content of which some bytes, tokens and numbers are deleted, changed, repeated, moved or put in."""
    target = content
    for _ in range(draw.choice((1, 1, 2, 3, 5, 8))):
        start = draw.randrange(max(1, len(target)))
        end = start + draw.randint(1, 60)
        match draw.randrange(9):
            case 0:
                target = target[:start] + bytes([draw.randrange(256)]) + target[start + 1 :]
            case 1:
                target = target[:start] + target[end:]
            case 2:
                target = target[:start] + draw.choice(_SNIPPETS) + target[start:]
            case 3:
                target = target[:start] + target[max(0, start - 80) : start] * draw.randint(1, 20) + target[start:]
            case 4:
                target = target if draw.random() < 0.8 else target[:end]
            case 5 if found := list(_NUMBER.finditer(target)):
                place = draw.choice(found)
                target = target[: place.start()] + draw.choice(_NUMBERS) + target[place.end() :]
            case _:
                target = _recombined(target, content, draw)
    return target[:_MOST_BYTES]


def _recombined(target: bytes, content: bytes, draw: random.Random) -> bytes:
    """Return a target with tokens of a content repeated or nested at one place."""
    tokens, others = _TOKEN.findall(target), _TOKEN.findall(content)
    if not tokens or not others:
        return content
    place, first = draw.randrange(len(tokens)), draw.randrange(len(others))
    piece = b"".join(others[first : first + draw.choice((1, 1, 2, 3, 5, 12))])
    piece *= draw.choice((1, 1, 1, 2, 3, 30, 300))
    behind = draw.choice((0, 0, 1, 3))
    return b"".join([*tokens[:place], piece, *tokens[place + behind :]])
