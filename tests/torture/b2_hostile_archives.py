"""Pickles under every accepted name, malformed headers, archives with other names and links, and archive bombs."""

import gzip
import io
import json
import os
import pickle
import random
import shutil
import tarfile
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

import torch

from sumpool.data.config import SourceConfig
from sumpool.data.sources import (
    CsvSourceConfig,
    DatasetsSourceConfig,
    FolderSourceConfig,
    JsonlSourceConfig,
    ParquetSourceConfig,
    RfcSourceConfig,
)
from sumpool.documents.files import zstd
from sumpool.documents.read import read_documents
from sumpool.errors import SumpoolError
from sumpool.inference.loading import load_model
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.recipe.load import load_recipe
from sumpool.training.checkpoint import FILES, Checkpoints
from sumpool.training.hardware import peak
from sumpool.workflows.import_model import import_model
from tests.conftest import relist, write_run
from tests.torture.b1_mutants import save_checkpoint
from tests.torture.b3_bombs import EPUB, ODT, parquet, zipped
from tests.torture.figures import Measured

ID: Final = "B2"
FIGURE: Final = "pickles, headers, names, links and bombs: nothing run or written, 200 MB and 2 s at most for each"
NIGHT: Final = 400
QUICK: Final = 6
_SECONDS = 2.0
_BYTES = 200 * 2**20
_BOMB = 200 * 2**20
_NAMES = ("../outside", "/tmp/sumpool-outside", "..\\outside", "word/../../../outside")
_RUN_FILES = ("model.safetensors", "tokenizer.model", "report.json", "ranker.safetensors")
_MODEL_FILES = (
    "config.json", "generation_config.json", "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
    "tokenizer.json", "vocab.json", "merges.txt", "added_tokens.json", "tokenizer_config.json",
)  # fmt: skip
_DOCUMENTS = (
    ".txt", ".md", ".rst", ".man", ".html", ".pdf", ".docx", ".odt", ".epub", ".eml", ".jsonl", ".csv", ".tsv",
    ".parquet", ".txt.gz", ".jsonl.gz", ".jsonl.zst", ".pkl", "",
)  # fmt: skip


def _rows(config: Callable[..., SourceConfig], folder: bool = False) -> Callable[[Path], object]:
    """Return a function that reads the rows of a file, or of the folder that it is in."""
    return lambda path: list(config(path=path.parent if folder else path).rows())


_SOURCES: dict[str, Callable[[Path], object]] = {
    **dict.fromkeys(("rows.jsonl", "rows.jsonl.gz", "rows.jsonl.zst"), _rows(JsonlSourceConfig)),
    **dict.fromkeys(("rows.csv", "rows.csv.gz"), _rows(CsvSourceConfig)),
    "rows.parquet": _rows(ParquetSourceConfig),
    "series.tar.xz": _rows(RfcSourceConfig),
    "data/a.txt": _rows(FolderSourceConfig, True),
    **dict.fromkeys(("set/state.json", "set/dataset_dict.json"), _rows(DatasetsSourceConfig, True)),
    "recipe.yaml": load_recipe,
}


@dataclass(frozen=True)
class Case:
    """A hostile file, and what reads it.

    Attributes:
        name: Name, for messages.
        run: Writes the file into an empty folder and reads it.
        prepare: Makes the content of the file, if that takes long, before time and memory are measured.
    """

    name: str
    run: Callable[[Path], object]
    prepare: Callable[[], object] = lambda: None


class Payload:
    """Object whose unpickling makes a file."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self.canary}",)


def measure(count: int, folder: Path) -> Measured:
    """Read `count` hostile files, each kind in turn."""
    canary = folder / "canary"
    run = write_run(folder / "run")
    cases = [*_pickles(run, canary), *_headers(run), *_archives(), *_bombs()]
    random.Random(1).shuffle(cases)
    faults, slowest, largest = [], 0.0, 0
    for number in range(count):
        case = cases[number % len(cases)]
        work = folder / "work"
        work.mkdir()
        listed = _listing(folder, work)
        case.prepare()
        seconds, used, problem = _read(case, work)
        slowest, largest = max(slowest, seconds), max(largest, used)
        if canary.exists() or _listing(folder, work) != listed or Path("/tmp/sumpool-outside").exists():
            problem = "wrote outside or ran code"
        if seconds > _SECONDS or used > _BYTES:
            problem = f"{seconds:.1f} s, {used / 2**20:.0f} MB"
        if problem:
            faults.append(f"{case.name}: {problem}")
        shutil.rmtree(work)
    text = f"{count - len(faults):,} of {count:,}; slowest {slowest:.1f} s, most {largest / 2**20:.0f} MB"
    return Measured.by_faults(text, faults, count)


def _read(case: Case, work: Path) -> tuple[float, int, str]:
    """Run a case; return seconds, additional memory in bytes, and the problem if it ends in a traceback."""
    problem, seconds = "", 0.0

    def read() -> None:
        nonlocal problem, seconds
        start = time.perf_counter()
        try:
            case.run(work)
        except SumpoolError:
            pass
        except Exception as error:
            problem = repr(error)[:200]
        seconds = time.perf_counter() - start

    used = peak(read, torch.device("cpu")) or 0
    return seconds, used, problem


def _listing(folder: Path, without: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if not path.is_relative_to(without))


def _documents(path: Path) -> None:
    for document in read_documents(str(path)):
        assert document.text or document.error, "a document has text or an error"


def _run_with(name: str, content: bytes, run: Path, work: Path) -> None:
    """Load a copy of a run with another content of a file, which its manifest lists."""
    copy = Path(shutil.copytree(run, work / "run"))
    (copy / name).write_bytes(content)
    relist(copy, name)

    def open_run(folder: Path) -> Pipeline:
        return Pipeline.open(RunFiles.open(folder))

    for load in (open_run, partial(load_model, overrides=["summarize.min_length=auto"])):
        try:
            load(copy)
        except SumpoolError:
            continue


def _checkpoint_with(name: str, content: bytes, work: Path) -> None:
    checkpoints = Checkpoints(work / "checkpoints", keep=2)
    save_checkpoint(checkpoints, 1)
    folder = checkpoints.path(1)
    (folder / name).write_bytes(content)
    relist(folder, name, "checkpoint")
    checkpoints.load_newest()


def _import_with(name: str, content: bytes, work: Path) -> None:
    folder = work / "model"
    folder.mkdir()
    config = {"model_type": "bart", "vocab_size": 300, "d_model": 8, "encoder_layers": 1, "decoder_layers": 1}
    sizes = {f"{half}_{size}": 2 for half in ("encoder", "decoder") for size in ("attention_heads", "ffn_dim")}
    (folder / "config.json").write_text(json.dumps(config | sizes))
    (folder / name).write_bytes(content)
    import_model(str(folder), work / "out")


def _file_with(name: str, content: bytes | Callable[[], bytes], read: Callable[[Path], object], work: Path) -> None:
    path = work / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content() if callable(content) else content)
    read(path)


def _pickles(run: Path, canary: Path) -> list[Case]:
    """Return pickles, and YAML that names a function, under every name that is read."""
    content = pickle.dumps(Payload(canary), protocol=2)
    yaml = f"name: !!python/object/apply:os.system ['touch {canary}']\n".encode()
    return [
        *(Case(f"pickle as {name} of a run", partial(_run_with, name, content, run)) for name in _RUN_FILES),
        *(Case(f"pickle as {name} of a checkpoint", partial(_checkpoint_with, name, content)) for name in FILES),
        *(Case(f"pickle as {name} of a model", partial(_import_with, name, content)) for name in _MODEL_FILES),
        *(
            Case(f"pickle as document{suffix}", partial(_file_with, f"document{suffix}", content, _documents))
            for suffix in _DOCUMENTS
        ),
        *(Case(f"pickle as {name}", partial(_file_with, name, content, read)) for name, read in _SOURCES.items()),
        Case("YAML that names a function", partial(_file_with, "recipe.yaml", yaml, load_recipe)),
        Case("YAML in a run that names a function", partial(_run_with, "recipe.yaml", yaml, run)),
    ]


def _headers(run: Path) -> list[Case]:
    """Return safetensors files with malformed headers."""

    def file(tree: object, data: int = 0) -> bytes:
        header = json.dumps(tree).encode()
        return len(header).to_bytes(8, "little") + header + bytes(data)

    def entry(start: int, end: int, *shape: int) -> dict[str, object]:
        return {"dtype": "F32", "shape": list(shape), "data_offsets": [start, end]}

    contents = {
        "length 2^63": (1 << 63).to_bytes(8, "little") + b"{}",
        "length 2^64 - 1": b"\xff" * 8 + b"{}",
        "100 MB": (100 << 20).to_bytes(8, "little") + b" " * (100 << 20),
        "overlapping": file({"a": entry(0, 8, 2), "b": entry(4, 12, 2)}, 12),
        "hole": file({"a": entry(0, 8, 2), "b": entry(12, 20, 2)}, 20),
        "beyond the end": file({"a": entry(0, 1 << 40, 1 << 38)}, 8),
        "overflow": file({"a": entry(0, 0, 1 << 62, 1 << 62, 0)}),
        "negative": file({"a": entry(-8, 0, 2)}, 8),
        "deep": (200_000).to_bytes(8, "little") + b"[" * 200_000,
        "many tensors": file({f"t{number}": entry(0, 0, 0) for number in range(300_000)}),
    }
    return [
        case
        for name, content in contents.items()
        for case in (
            Case(f"header: {name}", partial(_run_with, "model.safetensors", content, run)),
            Case(f"header of a ranker: {name}", partial(_run_with, "ranker.safetensors", content, run)),
            Case(f"header of a checkpoint: {name}", partial(_checkpoint_with, "optimizer.safetensors", content)),
            Case(f"header of a model: {name}", partial(_import_with, "model.safetensors", content)),
        )
    ]


def _tar(entries: Sequence[tuple[tarfile.TarInfo, bytes]], mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for info, content in entries:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def _archives() -> list[Case]:
    """Return archives whose entries have names outside the folder, or are links."""
    link = zipfile.ZipInfo("word/document.xml")
    link.external_attr = 0o120777 << 16
    names: dict[str | zipfile.ZipInfo, bytes] = dict.fromkeys(_NAMES, b"x")
    office = {
        ".docx": {link: b"/etc/passwd", **names},
        ".odt": {"mimetype": ODT, **names},
        ".epub": {"mimetype": EPUB, **names},
    }
    links = []
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
        links.append(tarfile.TarInfo("rfc1.txt"))
        links[-1].type, links[-1].linkname = kind, "/etc/passwd"
    outside = [tarfile.TarInfo(f"{name}/rfc2.txt") for name in _NAMES]
    series = _tar([*((info, b"") for info in links), *((info, b"text") for info in outside)])
    return [
        *(
            Case(f"names in {suffix}", partial(_file_with, f"document{suffix}", zipped(parts), _documents))
            for suffix, parts in office.items()
        ),
        Case("names and links in a series", partial(_file_with, "series.tar.gz", series, _SOURCES["series.tar.xz"])),
    ]


def _bombs() -> list[Case]:
    """Return sources of training data that expand to a thousand times their size; B3 has those of documents."""
    packed = {".gz": cache(lambda: gzip.compress(bytes(_BOMB), 9)), ".zst": cache(lambda: zstd.compress(bytes(_BOMB)))}

    def bomb(file: str, make: Callable[[], bytes], read: Callable[[Path], object]) -> Case:
        made = cache(make)
        return Case(f"bomb {file}", partial(_file_with, file, made, read), made)

    return [
        *(bomb(f"rows.jsonl{suffix}", make, _SOURCES["rows.jsonl"]) for suffix, make in packed.items()),
        bomb("rows.csv.gz", packed[".gz"], _SOURCES["rows.csv.gz"]),
        bomb("series.tar.gz", lambda: _tar([(tarfile.TarInfo("rfc1.txt"), bytes(_BOMB))]), _SOURCES["series.tar.xz"]),
        bomb("rfc/rfc1.txt.gz", packed[".gz"], _rows(RfcSourceConfig, True)),
        bomb("a.zip", lambda: zipped({"mimetype": bytes(_BOMB)}), _documents),
        bomb("rows.parquet", partial(parquet, 1, _BOMB, False), _SOURCES["rows.parquet"]),
    ]
