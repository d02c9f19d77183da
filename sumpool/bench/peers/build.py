"""The peers that stand beside our models, and what must be installed for them."""

from importlib.util import find_spec

from sumpool.bench.contender import Contender
from sumpool.bench.peers.transformers_models import bart, led, long_t5, pegasus_x
from sumpool.bench.peers.transformers_peer import Build, TransformersPeer
from sumpool.bench.workload import Conditions
from sumpool.core.model.config import ModelConfig
from sumpool.errors import RecipeError

_INSTALL = "pip install 'sumpool[peers]'"
_MODELS: dict[str, Build] = {"LED": led, "PEGASUS-X": pegasus_x, "LongT5": long_t5, "BART": bart}


def require_peers() -> None:
    """Make sure, before anything is measured, that there are peers.

    Raises:
        RecipeError: If none is installed.
    """
    if find_spec("transformers") is None:
        raise RecipeError(f"--peers must have transformers and ctranslate2, transformers is not installed: {_INSTALL}")


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
    return {name: TransformersPeer(build, long, conditions) for name, build in _MODELS.items()}
