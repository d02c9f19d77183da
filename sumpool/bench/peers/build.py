"""Peers beside our models, and the libraries that they need."""

from importlib.metadata import version
from importlib.util import find_spec

from sumpool.bench.config import BenchConfig
from sumpool.bench.peers.ctranslate2_peer import CTranslate2Peer, compute_types
from sumpool.bench.peers.transformers_peer import BUILDS, TransformersPeer
from sumpool.bench.systems.workload import Conditions, Contender
from sumpool.core.model.config import ModelConfig
from sumpool.errors import RecipeError
from sumpool.progress import Progress, Report

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
    peers = build_peers(config, max(settings.lengths), conditions, max(settings.generate, settings.target))
    unknown = [name for name in settings.peers if name not in peers]
    if unknown:
        raise RecipeError(f"bench.peers must name some of {', '.join(peers)}, got {', '.join(unknown)}")
    return {name: peers[name] for name in settings.peers or peers}


def build_peers(config: ModelConfig, longest: int, conditions: Conditions, tokens: int) -> dict[str, Contender]:
    """Build all peers that are installed, by name; their weights are created when they are first needed."""
    long = config.model_copy(update={"source_length": longest, "target_length": max(tokens, config.target_length)})
    peers: dict[str, Contender] = {name: TransformersPeer(build, long, conditions) for name, build in BUILDS.items()}
    if find_spec("ctranslate2") is not None:
        for kind in compute_types(conditions):
            peers[f"CTranslate2 {kind}"] = CTranslate2Peer(long, conditions, kind)
    return peers
