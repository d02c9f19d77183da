"""Folders that commands read, each with the functions that read it and a digest of what they return."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from sumpool.data.inputs import SPLITS
from sumpool.data.prepared_folder import find_or_prepare, verify_prepared
from sumpool.data.report import DataReport
from sumpool.data.shards import Shard
from sumpool.documents.document import Document
from sumpool.inference.loading import load_model
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.io.manifest import SHIPPED, FileDigest, Manifest
from sumpool.progress import no_op
from sumpool.recipe.load import load_recipe
from sumpool.runs.run_summary import summarize_run
from sumpool.text.tokenizer import load_tokenizer
from sumpool.training.checkpoint import Checkpoint, Checkpoints, TrainingState
from sumpool.workflows.export_model import export_model
from tests.conftest import TOY, story, write_rows, write_run

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
        parts: Folders within it that have a manifest.
        load: Reads a folder as commands do, and returns a digest of what was read.
        state: Digest of the folder as it is.
        older_states: Digests of what is read instead if the newest part is damaged.
    """

    name: str
    folder: Path
    parts: tuple[str, ...]
    load: Callable[[Path], str]
    state: str
    older_states: tuple[str, ...] = ()


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
        Artefact("run", run, (".",), _load_run, _load_run(run)),
        Artefact("export", export, (".",), _load_run, _load_run(export)),
        Artefact("prepared data", prepared, (".",), _load_prepared, _load_prepared(prepared)),
        Artefact(
            "checkpoints",
            checkpoints.folder,
            (checkpoints.path(3).name,),
            _load_checkpoint,
            _load_checkpoint(checkpoints.folder),
            tuple(older_states),
        ),
        Artefact("shipped model", shipped, (".",), _load_run, _load_run(shipped)),
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
        digest.update(summary.summary.encode())
    loaded = load_model(folder, ["summarize.beams=1", "summarize.device=cpu"])
    for name, weights in sorted(loaded.model.state_dict().items()):
        digest.update(name.encode() + weights.numpy().tobytes())
    tokens = b"".join(loaded.tokenizer.token_bytes())
    digest.update(f"{loaded.lengths} {loaded.language} {loaded.recipe}".encode() + tokens)
    if loaded.model.config.dim <= _SMALL:
        digest.update("".join(summary.summary for summary in Pipeline.of(loaded).summarize(_DOCUMENTS)).encode())
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
