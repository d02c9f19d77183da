"""Peers of the benchmark of a corpus: weights on disk, and a trial that chooses precision and batch."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import torch

from sumpool.bench.corpus.peer_process import PeerJob
from sumpool.bench.corpus.process import ProcessRun
from sumpool.bench.peers.ctranslate2_peer import CTranslate2Peer, compute_types
from sumpool.bench.peers.transformers_peer import BUILDS, TransformersPeer
from sumpool.bench.systems.workload import Conditions
from sumpool.core.model.config import ModelConfig
from sumpool.errors import RecipeError

CTRANSLATE2 = "CTranslate2"
NAMES = (*BUILDS, CTRANSLATE2)
_SHORT = {"float32": "fp32", "bfloat16": "bf16"}
_PRECISIONS = ("float32", "bfloat16")
Run = Callable[[Sequence[str]], ProcessRun]
"""Runs a command to its end."""


@dataclass(frozen=True)
class CorpusPeer:
    """A peer, ready to run; `problem` is why it cannot."""

    name: str
    job: PeerJob | None = None
    problem: str = ""

    @property
    def precision(self) -> str | None:
        """Precision that was the fastest."""
        return _SHORT.get(self.job.precision, self.job.precision) if self.job else None


def peer_names(chosen: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the peers that the settings ask for, or of all.

    Raises:
        RecipeError: If one is unknown.
    """
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        raise RecipeError(f"bench.peers must name some of {', '.join(NAMES)}, got {', '.join(unknown)}")
    return tuple(chosen) or NAMES


def peer_command(job: PeerJob, path: Path) -> list[str]:
    """Write a job to a file; returns the command that does it."""
    path.write_text(json.dumps(job.to_dict()))
    return [sys.executable, "-m", "sumpool.bench.corpus.peer_process", str(path)]


def prepare_peer(
    name: str, config: ModelConfig, conditions: Conditions, trial: PeerJob, memory: float, run: Run
) -> CorpusPeer:
    """Write random weights of a peer in the sizes of our model, and choose precision and batch by a trial.

    Args:
        name: Name of the peer.
        config: Our model.
        conditions: Vocabulary, device and seed.
        trial: The job of a trial, whose library, model and precision are filled in.
        memory: Bytes that the process may use.
        run: Runs a command.
    """
    library = "ctranslate2" if name == CTRANSLATE2 else "transformers"
    for needed in dict.fromkeys(("transformers", library)):
        if find_spec(needed) is None:
            return CorpusPeer(name, problem=f"{needed} is not installed: pip install 'sumpool[peers]'")
    long = config.model_copy(update={"target_length": max(config.target_length, trial.generate + 2)})
    folder = Path(trial.model) / name
    fastest: tuple[float, PeerJob] | None = None
    problems: list[str] = []
    kinds = compute_types(conditions.device) if library == "ctranslate2" else _PRECISIONS
    for kind in kinds:
        try:
            model = _write_weights(name, long, conditions, kind, folder)
        except (ImportError, RuntimeError, ValueError) as error:  # a version of the library that does not fit
            problems.append(f"{type(error).__name__}: {error}".splitlines()[0])
            continue
        job = replace(trial, library=library, model=str(model), precision=kind)
        for batch in job.batches:  # one process each, so that its peak is its own
            one = replace(job, batches=(batch,))
            result = run(peer_command(one, folder / "trial.json"))
            if result.problem or (result.memory or 0) > memory:
                problems.append(result.problem or f"more than {memory / 2**30:g} GiB (bench.memory)")
                break
            seconds = result.rows[0]["seconds"]
            if fastest is None or seconds < fastest[0]:
                fastest = seconds, replace(one, is_trial=False)
    return CorpusPeer(name, fastest[1]) if fastest else CorpusPeer(name, problem=problems[0])


def _write_weights(name: str, config: ModelConfig, conditions: Conditions, kind: str, folder: Path) -> Path:
    """Write random weights; those of CTranslate2 are converted to its compute type when they are loaded."""
    if name == CTRANSLATE2:
        path = folder / "model"
        if not path.is_dir():
            path.mkdir(parents=True)
            CTranslate2Peer(config, conditions, kind, threads=1).specification().save(str(path))
        return path
    import_module("transformers").utils.logging.disable_progress_bar()
    path = folder / kind
    peer = TransformersPeer(BUILDS[name], config, replace(conditions, precision=getattr(torch, kind)))
    peer.model.save_pretrained(path)
    return path
