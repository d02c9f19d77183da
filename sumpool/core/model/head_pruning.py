"""Attentions of a model by name, the choice of heads to remove, and the settings of the model without them."""

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from sumpool.core.attention._base import Attention
from sumpool.core.cross_attention._base import CrossAttention
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import CausalAttention
from sumpool.core.scoring.attention_mass import AttentionMassScorerConfig

PrunableAttention = Attention | CausalAttention | CrossAttention


def attentions(model: nn.Module) -> dict[str, PrunableAttention]:
    """All attentions of a model by their names, such as `encoder.layers.0.attention`, in the order of the model."""
    return {name: module for name, module in model.named_modules() if isinstance(module, PrunableAttention)}


def fixed_attentions(model: nn.Module, config: ModelConfig) -> dict[str, str]:
    """Attentions whose heads cannot be removed without changing what the others do, with the reasons."""
    reasons: dict[str, str] = {}
    for name, attention in attentions(model).items():
        if not isinstance(attention, CausalAttention) and not attention.independent_heads:
            reasons[name] = "its heads depend on each other"
    for index, layer in enumerate(config.encoder):
        if isinstance(getattr(layer.pool, "scorer", None), AttentionMassScorerConfig):
            reasons[f"encoder.layers.{index}.attention"] = "the pooling after it scores by the weights of all heads"
    return reasons


def choose_heads(importance: Mapping[str, Tensor], share: float, fixed: Mapping[str, str]) -> dict[str, list[int]]:
    """Choose the heads to keep: the least important ones of the whole model go, but for one of each attention.

    Args:
        importance: Importance of the heads of each attention by its name, (heads,).
        share: Share of all heads to remove, rounded to the nearest number.
        fixed: Attentions that keep all heads.

    Returns:
        Indices of the heads to keep, by the name of the attention.

    Raises:
        ValueError: If the share removes no head, or more than can be removed.
    """
    total = sum(map(len, importance.values()))
    removed = round(share * total)
    most = sum(len(heads) - 1 for name, heads in importance.items() if name not in fixed)
    if not 0 < removed <= most:
        rule = f"remove 1 to {most} of {total} heads, as every attention keeps one"
        rule += f" and {len(fixed)} keep all" if fixed else ""
        raise ValueError(f"the share of heads must {rule}, got {share:g}, which are {removed}")
    kept = {name: list(range(len(heads))) for name, heads in importance.items()}
    ranked = sorted(
        (value, name, head) for name in kept.keys() - fixed for head, value in enumerate(importance[name].tolist())
    )
    for _, name, head in ranked:
        if removed and len(kept[name]) > 1:
            kept[name].remove(head)
            removed -= 1
    return kept


def prune(model: nn.Module, kept: Mapping[str, Sequence[int]]) -> None:
    """Remove all heads but some, in place.

    Args:
        model: The model.
        kept: Indices of the heads to keep, by the name of the attention; attentions that are not named keep all.

    Raises:
        ValueError: If the heads of a named attention depend on each other.
    """
    for name, attention in attentions(model).items():
        if len(kept.get(name, ())) not in (0, attention.heads):
            attention.prune_heads(kept[name])


def pruned_config(config: ModelConfig, model: nn.Module) -> ModelConfig:
    """Settings of a model that lacks some heads of `config`."""
    heads = {name: attention.head_indices for name, attention in attentions(model).items()}

    def kept(name: str) -> tuple[int, ...] | None:
        return None if len(heads[name]) == config.heads else heads[name]

    def by_layer(name: str) -> tuple[tuple[int, ...], ...] | None:
        layers = [
            heads[key] for layer in range(config.decoder.layers) if (key := f"decoder.layers.{layer}.{name}") in heads
        ]
        return tuple(layers) if any(len(layer) < config.heads for layer in layers) else None

    encoder = tuple(
        layer.model_copy(update={"kept_heads": kept(f"encoder.layers.{index}.attention")})
        for index, layer in enumerate(config.encoder)
    )
    changes = {"kept_heads": by_layer("attention"), "kept_cross_heads": by_layer("cross_attention")}
    return config.model_copy(update={"encoder": encoder, "decoder": config.decoder.model_copy(update=changes)})
