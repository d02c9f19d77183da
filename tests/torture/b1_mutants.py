"""Damaged and hostile files of runs, exports, checkpoints, prepared data and the shipped model.

Half of the mutants change files that the manifest contradicts: bits, ends, blocks, names, and files of other steps. The
others change the manifest along, so that it vouches for deep JSON, values of wrong types and headers of other tensors.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any, Final

import torch

from sumpool.data.config import SPLITS
from sumpool.data.prepared_folder import find_or_prepare, verify_prepared
from sumpool.data.report import DataReport
from sumpool.data.shards import Shard
from sumpool.documents.document import Document
from sumpool.errors import SumpoolError
from sumpool.inference.loading import load_model
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.io.bounded import parse_json
from sumpool.io.manifest import NAME, SHIPPED, FileDigest, Manifest, _render
from sumpool.progress import no_op
from sumpool.recipe.load import load_recipe
from sumpool.runs.run_summary import summarize_run
from sumpool.text.tokenizer import load_tokenizer
from sumpool.training.checkpoint import Checkpoint, Checkpoints, TrainingState
from sumpool.workflows.export_model import export_model
from tests.conftest import TOY, story, write_rows, write_run
from tests.torture.figures import Measured, change_value

RANKER = "ranker.safetensors"
_SMALL = 32
"""Size of the states of a model that generates in no time."""
_DOCUMENTS = [Document("a", story(1, 12))]


@dataclass(frozen=True)
class Artefact:
    """A folder that commands read.

    Attributes:
        name: Name, for messages.
        folder: The folder.
        load: Reads a folder as commands do, and returns a digest of what was read.
        part: Folder within it that has a manifest and is changed.
        older_states: Digests of what is read instead if the newest part is damaged.
    """

    name: str
    folder: Path
    load: Callable[[Path], str]
    part: str = "."
    older_states: tuple[str, ...] = ()

    @cached_property
    def state(self) -> str:
        """Digest of the folder as it is."""
        return self.load(self.folder)


def artefacts(folder: Path) -> list[Artefact]:
    """Make an artefact of each kind in a new folder."""
    folder.mkdir()
    run = write_run(folder / "run")
    shutil.copy(SHIPPED / RANKER, run)
    manifest = Manifest.read(run)
    Manifest({**manifest.files, RANKER: FileDigest.of(run / RANKER)}, {"step": 3}).write(run)
    (run / "metrics.jsonl").write_text('{"kind": "step", "step": 3, "loss": 1.0}\n')
    (run / "README.md").write_text("# A run\n")
    export = export_model(run, folder / "export")
    shipped = Path(shutil.copytree(SHIPPED, folder / "shipped", ignore=shutil.ignore_patterns("*.py", "__pycache__")))
    checkpoints = Checkpoints(folder / "checkpoints", keep=3)
    for step in (1, 2, 3):
        save_checkpoint(checkpoints, step)
    older = Path(shutil.copytree(checkpoints.folder, folder / "older"))
    older_states = []
    for step in (3, 2):
        shutil.rmtree(older / checkpoints.path(step).name)
        older_states.append(_load_checkpoint(older))
    write_rows(folder / "rows.jsonl", seed=1)
    (folder / "toy.yaml").write_text(TOY.format(folder=folder))
    prepared = folder / "prepared"
    find_or_prepare(load_recipe(folder / "toy.yaml").data, prepared, skip_bad_rows=False, report=no_op, check=no_op)
    return [
        Artefact("run", run, _load_run),
        Artefact("export", export, _load_run),
        Artefact("prepared data", prepared, _load_prepared),
        Artefact("checkpoints", checkpoints.folder, _load_checkpoint, checkpoints.path(3).name, tuple(older_states)),
        Artefact("shipped model", shipped, _load_run),
    ]


def save_checkpoint(checkpoints: Checkpoints, step: int) -> None:
    """Save a checkpoint of random tensors."""
    torch.manual_seed(step)
    tensors = {name: torch.randn(40, 30) for name in ("weight", "other")}
    moments = {f"{name}:exp_avg": torch.randn(40, 30) for name in tensors}
    checkpoints.save(step, Checkpoint(tensors, moments, TrainingState(step=step)))


def _load_run(folder: Path) -> str:
    """Load a run folder with and without its neural model, and summarise."""
    digest = hashlib.sha256()
    summarize_run(folder)
    fast = Pipeline.open(RunFiles.open(folder, ["summarize.fast=true"]))
    for summary in fast.summarize(_DOCUMENTS):
        digest.update(summary.text.encode())
    loaded = load_model(folder, ["summarize.beams=1", "summarize.device=cpu"])
    for name, weights in sorted(loaded.model.state_dict().items()):
        digest.update(name.encode() + weights.numpy().tobytes())
    tokens = b"".join(loaded.tokenizer.token_bytes())
    digest.update(f"{loaded.lengths} {loaded.language} {loaded.recipe}".encode() + tokens)
    if loaded.model.config.dim <= _SMALL:
        digest.update("".join(summary.text for summary in Pipeline.of(loaded).summarize(_DOCUMENTS)).encode())
    return digest.hexdigest()


def _load_checkpoint(folder: Path) -> str:
    """Load the newest intact checkpoint."""
    digest = hashlib.sha256()
    newest = Checkpoints(folder, keep=3).load_newest()
    assert newest is not None
    for name, tensor in sorted({**newest.weights, **newest.moments}.items()):
        digest.update(name.encode() + tensor.double().numpy().tobytes())
    return digest.hexdigest() + json.dumps(asdict(newest.state), sort_keys=True)


def _load_prepared(folder: Path) -> str:
    """Read all documents of prepared data."""
    digest = hashlib.sha256()
    verify_prepared(folder, full=True)
    report = DataReport.load(folder)
    tokenizer = load_tokenizer(folder)
    for split in SPLITS:
        shard = Shard(folder, split, tokenizer.vocab_size)
        for index in range(len(shard)):
            item, example = shard[index], shard.text(index)
            target = b"" if item.target is None else item.target.tobytes()
            digest.update(item.id.encode() + item.ids.tobytes() + item.sentences.tobytes() + target)
            digest.update(repr(example).encode())
    return digest.hexdigest() + repr(report)


ID: Final = "B1"
FIGURE: Final = (
    "mutants of run, export, checkpoints, prepared data, shipped model: no silent load, traceback or answer after 5 s; "
    "each error names a file; the older checkpoint is taken"
)
NIGHT: Final = 1000
QUICK: Final = 20
_SECONDS = 5.0
_DEADLINE = 20
_BLOCK = 512
_JSON = (".json", ".jsonl")
_OTHER_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 3, 1e308, 1 << 70, "", "text", "\ud800", [], [[]], {}, {"a": 1}, float("nan"), "../../x",
)  # fmt: skip


def measure(count: int, folder: Path) -> Measured:
    """Load `count` mutants, in turn of each artefact."""
    made = artefacts(folder / "originals")
    assert all(artefact.state for artefact in made)  # before the first change
    kinds: Counter[str] = Counter()
    faults, slowest = [], 0.0
    for number in range(count):
        artefact = made[number % len(made)]
        kind, detail, seconds = _load_mutant(artefact, random.Random(number), folder / f"mutant-{number}")
        kinds[kind] += 1
        slowest = max(slowest, seconds)
        if kind in _FAULTS or seconds > _SECONDS:
            faults.append(f"{kind}: {detail}")
    text = ", ".join(f"{kinds[kind]:,} {kind}" for kind in sorted(kinds))
    return Measured.by_faults(f"{text}; slowest {slowest:.1f} s", faults, count)


_FAULTS = ("silent", "tracebacks", "hangs", "without a name")


def _load_mutant(artefact: Artefact, draw: random.Random, folder: Path) -> tuple[str, str, float]:
    """Copy an artefact by hard links, change one file of the copy, and load it; return outcome, detail and seconds."""
    shutil.copytree(artefact.folder, folder, copy_function=os.link)
    mutate, vouches = draw.choice(_MUTATIONS)
    part = folder / artefact.part
    change = mutate(part, draw)
    if vouches and (part / NAME).exists():
        _vouch(part)
    start = time.perf_counter()
    kind, told = _outcome(artefact, folder, vouches)
    seconds = time.perf_counter() - start
    shutil.rmtree(folder)
    return kind, f"{artefact.name}: {change}{told}", seconds


def _outcome(artefact: Artefact, folder: Path, vouches: bool) -> tuple[str, str]:
    """Load a mutant; return what that led to, and the error if there was one."""
    try:
        with _deadline():
            state = artefact.load(folder)
    except SumpoolError as error:
        is_named = folder.name in str(error) and "\n" not in str(error).strip()
        return "refused" if is_named else "without a name", f": {error!s:.200}"
    except TimeoutError:
        return "hangs", ""
    except Exception as error:
        return "tracebacks", f": {error!r:.200}"
    if state == artefact.state:
        return "loaded as before", ""
    if state in artefact.older_states:
        return "older checkpoint", ""
    return "loaded as listed" if vouches else "silent", ""


@contextmanager
def _deadline() -> Iterator[None]:
    """Raise a TimeoutError after some seconds, where signals exist."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_DEADLINE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _pick(folder: Path, draw: random.Random, *suffixes: str) -> Path:
    """Choose a file with something in it."""
    files = [path for path in _files(folder) if path.stat().st_size and (not suffixes or path.suffix in suffixes)]
    return draw.choice(files)


def _write(path: Path, content: bytes) -> None:
    """Replace a file, not the original that it is a link to."""
    path.unlink()
    path.write_bytes(content)


def _damage(folder: Path, draw: random.Random) -> str:
    """Flip a bit, cut the end, set a block to zeros, or exchange two blocks."""
    path = _pick(folder, draw)
    content = path.read_bytes()
    place = draw.randrange(len(content) if draw.random() < 0.5 else min(len(content), 2000))
    match draw.randrange(4):
        case 0:
            changed = content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :]
        case 1:
            changed = content[:place]
        case 2:
            changed = content[:place] + bytes(min(_BLOCK, len(content) - place)) + content[place + _BLOCK :]
        case _:
            size = min(_BLOCK, len(content) // 2)
            one, other = sorted(draw.randrange(len(content) - size + 1) for _ in range(2))
            mixed = bytearray(content)
            mixed[one : one + size] = content[other : other + size]
            mixed[other : other + size] = content[one : one + size]
            changed = bytes(mixed)
    _write(path, changed)
    return f"bytes from {place} of {path.name}"


def _remove(folder: Path, draw: random.Random) -> str:
    path = _pick(folder, draw)
    path.unlink()
    return f"no {path.name}"


def _add(folder: Path, draw: random.Random) -> str:
    name = draw.choice(("tokenizer.json", "vocabulary.json", "ranker.safetensors", "phrases.model", "report.json", "x"))
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_bytes(draw.randbytes(draw.randrange(40)))
    return f"other {name}"


def _rename(folder: Path, draw: random.Random) -> str:
    path = _pick(folder, draw)
    target = _pick(folder, draw)
    path.rename(target if draw.random() < 0.5 else path.with_name(f"{path.name}x"))
    return f"{path.name} renamed to {target.name}"


def _swap_files(folder: Path, draw: random.Random) -> str:
    """Exchange a file with one of the same name in another folder, such as that of another step."""
    path = _pick(folder, draw)
    others = [other for other in _files(folder.parent) if other.name == path.name and other != path] or [path]
    other = draw.choice(others)
    first, second = path.read_bytes(), other.read_bytes()
    _write(path, second)
    _write(other, first)
    return f"{path.name} of {path.parent.name} and {other.parent.name}"


def _replace_by_special(folder: Path, draw: random.Random) -> str:
    path = _pick(folder, draw)
    path.unlink()
    match draw.randrange(3):
        case 0:
            os.mkfifo(path)
        case 1:
            path.symlink_to("/dev/zero")
        case _:
            path.mkdir()
    return f"{path.name} is no file"


def _edit_manifest(folder: Path, draw: random.Random) -> str:
    path = folder / NAME
    if not path.exists():
        return _retype(folder, draw)
    tree = json.loads(path.read_bytes())
    change = change_value(tree, draw, _OTHER_VALUES)
    _write(path, json.dumps(tree, sort_keys=True, indent=1).encode())
    return f"manifest: {change}"


def _deepen(folder: Path, draw: random.Random) -> str:
    path = _pick(folder, draw, *_JSON)
    opening = draw.choice((b"[", b'{"a":', b'{"files":['))
    _write(path, opening * 100_000)
    return f"100,000 levels in {path.name}"


def _retype(folder: Path, draw: random.Random) -> str:
    """Change a value of a JSON file, or of the header of a safetensors file, to one of another type."""
    path = _pick(folder, draw, *_JSON, ".safetensors")
    content = path.read_bytes()
    start, end = 0, len(content)
    if path.suffix == ".safetensors":
        start, end = 8, 8 + int.from_bytes(content[:8], "little")
    elif path.suffix == ".jsonl":
        start = draw.choice([0, *(place + 1 for place, byte in enumerate(content[:-1]) if byte == ord("\n"))])
        end = content.find(b"\n", start) % (len(content) + 1)  # the end, without a line break
    tree = json.loads(content[start:end] or b"{}")
    change = change_value(tree, draw, _OTHER_VALUES)
    changed = json.dumps(tree).encode()
    head = len(changed).to_bytes(8, "little") if path.suffix == ".safetensors" else content[:start]
    _write(path, head + changed + content[end:])
    return f"{path.name}: {change}"


def _vouch(folder: Path) -> None:
    """Let the manifest of a folder list its files as they are."""
    path = folder / NAME
    try:
        tree = parse_json(path.read_bytes())
        for name in tree["files"]:
            if (folder / name).is_file():
                tree["files"][name] = asdict(FileDigest.of(folder / name))
    except (ValueError, LookupError, TypeError, AttributeError, OSError):
        return  # the manifest is the file that changed
    _write(path, _render(tree))


_MUTATIONS: tuple[tuple[Callable[[Path, random.Random], str], bool], ...] = (
    *((_damage, False),) * 4, (_remove, False), (_add, False), (_rename, False), (_swap_files, False),
    (_replace_by_special, False), (_edit_manifest, False), (_edit_manifest, True), (_deepen, False), (_deepen, True),
    *((_damage, True),) * 3, *((_retype, True),) * 3,
)  # fmt: skip
