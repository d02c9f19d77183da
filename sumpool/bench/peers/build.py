"""The peers that stand beside our models, and what must be installed for them."""

from importlib.util import find_spec

from sumpool.bench.peers.ctranslate2_peer import CTranslate2Peer, compute_types
from sumpool.bench.peers.transformers_models import bart, led, long_t5, pegasus_x
from sumpool.bench.peers.transformers_peer import Build, TransformersPeer
from sumpool.bench.systems.contender import Contender
from sumpool.bench.systems.workload import Conditions
from sumpool.core.model.config import ModelConfig
from sumpool.errors import RecipeError

_INSTALL = "pip install 'sumpool[peers]'"
_MODELS: dict[str, Build] = {"LED": led, "PEGASUS-X": pegasus_x, "LongT5": long_t5, "BART": bart}


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


def build_peers(config: ModelConfig, longest: int, conditions: Conditions, tokens: int) -> dict[str, Contender]:
    """Build all peers that are installed; their weights are made when they are first needed.

    Args:
        config: Our model, whose sizes they have.
        longest: Source tokens that they must be able to read.
        conditions: Vocabulary, device, precision and seed.
        tokens: Summary tokens that they must be able to write and to learn from.

    Returns:
        Peers by name.
    """
    sizes = {"source_length": longest, "target_length": max(tokens, config.target_length)}
    long = config.model_copy(update=sizes)
    peers: dict[str, Contender] = {name: TransformersPeer(build, long, conditions) for name, build in _MODELS.items()}
    if find_spec("ctranslate2") is not None:
        for kind in compute_types(conditions):
            peers[f"CTranslate2 {kind}"] = CTranslate2Peer(long, conditions, kind)
    return peers
