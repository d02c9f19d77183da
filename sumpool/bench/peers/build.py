"""Peers beside our models, and the libraries that they need."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec

import torch

from sumpool.bench.config import BenchConfig
from sumpool.bench.peers.ctranslate2_peer import CTranslate2Peer, compute_types
from sumpool.bench.peers.fastest import FastestPeer
from sumpool.bench.peers.process import PeerProcess
from sumpool.bench.peers.transformers_peer import BUILDS, TransformersPeer
from sumpool.bench.systems.workload import NAMES, Conditions, Contender, Documents
from sumpool.core.model.config import ModelConfig
from sumpool.errors import RecipeError
from sumpool.progress import Progress, Report

_TRIAL, _TRIAL_WRITTEN = 1024, 16
"""Tokens, at most, of the documents that compare precisions, and of what is written about them."""
LIBRARIES = ("transformers", "ctranslate2", "accelerate")
_INSTALL = "pip install 'sumpool[peers]'"


def require_peers() -> tuple[str, ...]:
    """Make sure, before anything is measured, that there are peers.

    Returns:
        A sentence for each library whose peers are missing.

    Raises:
        RecipeError: If there are none at all; those of CTranslate2 are made from those of transformers.
    """
    if find_spec("transformers") is None:
        raise RecipeError(f"--peers must have transformers and ctranslate2, transformers is not installed: {_INSTALL}")
    if find_spec("ctranslate2") is None:
        return (f"CTranslate2 is left out, ctranslate2 is not installed: {_INSTALL}",)
    return ()


def require_trainer() -> None:
    """Make sure, before anything is measured, that transformers can train.

    Raises:
        RecipeError: If it cannot.
    """
    for library in ("transformers", "accelerate"):
        if find_spec(library) is None:
            raise RecipeError(f"bench trainer must have {library}, which is not installed: {_INSTALL}")


def library_versions() -> dict[str, str]:
    """Versions of the installed libraries of peers, by name."""
    return {name: version(name) for name in LIBRARIES if find_spec(name)}


def chosen_peers(
    config: ModelConfig, settings: BenchConfig, conditions: Conditions, report: Report
) -> dict[str, Contender]:
    """Build the installed peers that the settings name, or all of them.

    Raises:
        RecipeError: If there are none, or one that is asked for is not among them.
    """
    for sentence in require_peers():
        report(Progress("bench", note=sentence))
    peers = build_peers(config, settings, conditions)
    unknown = [name for name in settings.peers if name not in peers]
    if unknown:
        raise RecipeError(f"bench.peers must name some of {', '.join(peers)}, got {', '.join(unknown)}")
    return {name: peers[name] for name in settings.peers or peers}


def build_peers(config: ModelConfig, settings: BenchConfig, conditions: Conditions) -> dict[str, Contender]:
    """Build all peers that are installed, by name, each to run in its fastest precision."""
    target = max(settings.generate, settings.target, config.target_length)
    long = config.model_copy(update={"source_length": max(settings.lengths), "target_length": target})
    trial = Documents.random(settings.batch, min(*settings.lengths, _TRIAL), settings.target, conditions)
    written = min(settings.generate, _TRIAL_WRITTEN)
    peers: dict[str, Contender] = {}
    for name, build in BUILDS.items():
        models: dict[str, Callable[[], Contender]] = {
            precision: partial(TransformersPeer, build, long, replace(conditions, precision=dtype))
            for dtype, precision in NAMES.items()
        }
        peers[name] = FastestPeer(models, trial, settings.beams, written)
    if find_spec("ctranslate2") is not None:
        threads = torch.get_num_threads()
        peers["CTranslate2"] = PeerProcess(
            partial(_ctranslate2, long, conditions, threads, trial, settings.beams, written)
        )
    return peers


def _ctranslate2(
    config: ModelConfig, conditions: Conditions, threads: int, trial: Documents, beams: int, written: int
) -> Contender:
    """CTranslate2 in its process, where torch has one thread: it only creates the weights."""
    torch.set_num_threads(1)
    kinds = compute_types(conditions.device)
    engines = {kind: partial(CTranslate2Peer, config, conditions, kind, threads) for kind in kinds}
    return FastestPeer(engines, trial, beams, written)
