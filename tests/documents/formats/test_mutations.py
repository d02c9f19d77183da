"""Damaged and hostile documents: blocks or a `ValueError`, and nothing is opened or fetched."""

import io
import random
import socket
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS
from sumpool.documents.formats import load_format

SAMPLES = Path(__file__).parent / "samples"
SNIPPETS = (
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
)


def mutated(content: bytes, generator: random.Random) -> bytes:
    """Return content with some bytes deleted, changed, repeated or put in."""
    target = bytearray(content)
    for _ in range(generator.randint(1, 5)):
        start = generator.randrange(max(1, len(target)))
        match generator.randrange(4):
            case 0:
                target[start : start + 1] = bytes([generator.randrange(256)])
            case 1:
                del target[start : start + generator.randint(1, 60)]
            case 2:
                target[start:start] = generator.choice(SNIPPETS)
            case _:
                target[start:start] = target[max(0, start - 80) : start] * generator.randint(1, 20)
    return bytes(target)


def mutated_archive(content: bytes, generator: random.Random) -> bytes:
    """Return an archive with one mutated part."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(stream, "w") as target:
        chosen = generator.choice(source.namelist())
        for name in source.namelist():
            part = source.read(name)
            target.writestr(name, mutated(part, generator) if name == chosen else part)
    return stream.getvalue()


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["html", "docx", "odt", "pptx", "xlsx", "epub", "mail"])
def test_mutated_documents_open_nothing(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module, (path,) = load_format(name), SAMPLES.glob(f"{name}.*")
    content = path.read_bytes()
    text = "\n".join(block.text for block in module.parse(content, DEFAULT_OPTIONS).blocks)  # imports the libraries

    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("opened")

    def open_pipes(file: object, *arguments: object, **options: object) -> object:
        return opener(file, *arguments, **options) if isinstance(file, int) else refuse()

    opener: Callable[..., object] = io.open
    mutate = mutated_archive if zipfile.is_zipfile(io.BytesIO(content)) else mutated
    contents = [mutate(content, random.Random(seed)) for seed in range(count)]
    for mutant in contents:  # loads the statistics of the encodings that are guessed
        with suppress(ValueError):
            module.parse(mutant, DEFAULT_OPTIONS)
    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr(io, "open", open_pipes)  # of pandoc
    monkeypatch.setattr(socket, "socket", refuse)
    outcomes: list[str] = []
    refusals: list[str] = []
    for mutant in contents:
        try:
            parsed = module.parse(mutant, DEFAULT_OPTIONS)
            outcomes.append("\n".join(block.text for block in parsed.blocks))
        except ValueError as error:
            refusals.append(str(error))
    assert len(outcomes) + len(refusals) == count
    assert all(refusal.startswith("must ") for refusal in refusals)
    assert text
    assert not any("root:" in outcome for outcome in outcomes)
