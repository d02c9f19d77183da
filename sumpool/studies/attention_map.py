"""`sumpool study attention-map`: a run and a document in, a picture of the encoder's attention weights out."""

from pathlib import Path

import torch
from torch import Tensor, nn

from sumpool.core.attention._base import Attention
from sumpool.core.nn.layers import merge_heads, split_heads
from sumpool.core.tokens import Tokens
from sumpool.data.batches import Batch, collate
from sumpool.data.shards import Item
from sumpool.documents.read import read_documents
from sumpool.documents.source_sentences import source_sentences
from sumpool.errors import CheckpointError, DataError
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.ranking.content_selection import encode_source
from sumpool.studies.approximation import attention_inputs
from sumpool.studies.plots import require_plots, save_figure

MOST_TOKENS = 512
"""Tokens of the document that are drawn; a picture has not more pixels for them."""

_PARTS = 3
"""Queries, keys and values, the output of the joint projection."""


def draw_attention_map(run: Path | None, document: str, path: Path) -> list[Tensor]:
    """Draw the attention weights of every layer and head of an encoder as a PNG.

    Args:
        run: The run folder; None takes the newest run.
        document: File of the document, whose first tokens are drawn.
        path: The PNG.

    Returns:
        Weights of each layer, (heads, queries, keys).

    Raises:
        RecipeError: If the file is no PNG, its folder does not exist, or matplotlib is missing.
        DataError: If the document cannot be read or is empty.
        CheckpointError: If the run is missing or damaged, or an attention has no such weights.
    """
    require_plots(path)
    loaded = load_model(run)
    inputs = attention_inputs(loaded, _first_tokens(loaded, document))
    maps = [attention_map(attention, tokens.states, tokens.positions) for attention, tokens in inputs]
    _draw(maps, path)
    return maps


def _first_tokens(loaded: LoadedModel, name: str) -> Batch:
    """Read the first tokens of a document."""
    document = next(iter(read_documents(name)))
    if document.error:
        raise DataError(document.error)
    sentences = source_sentences(document, loaded.splitter)
    source, _ = encode_source(document, sentences, loaded.tokenizer, loaded.splitter)
    length = min(MOST_TOKENS, loaded.recipe.model.source_length)
    item = Item(document.id, source.ids, source.sentences, None)
    return collate([item], length, 1, special_tokens=loaded.model.special_tokens)


def _draw(maps: list[Tensor], path: Path) -> None:
    """Draw a row per layer and a column per head; weights from 0 to the 99th percentile of the head."""
    from matplotlib.figure import Figure

    columns = max(len(weights) for weights in maps)
    figure = Figure(figsize=(2.2 * columns + 0.6, 2.2 * len(maps) + 0.6), dpi=120, layout="constrained")
    panels = figure.subplots(len(maps), columns, squeeze=False)
    for layer, weights in enumerate(maps):
        for head, matrix in enumerate(weights.float().cpu()):
            axes = panels[layer, head]
            most = max(float(matrix.abs().flatten().quantile(0.99)) if matrix.numel() < 2**24 else 1.0, 1e-9)
            least = -most if float(matrix.min()) < -1e-6 else 0.0
            axes.imshow(matrix.numpy(), cmap="RdBu_r" if least else "viridis", vmin=least, vmax=most)
            axes.set_title(f"layer {layer + 1}, head {head + 1}", fontsize="small")
            axes.tick_params(labelsize=6)
    figure.supxlabel("key")
    figure.supylabel("query")
    save_figure(figure, path)


@torch.no_grad()
def attention_map(attention: Attention, states: Tensor, positions: Tensor) -> Tensor:
    """Return the attention weights of a document.

    They are read off the attention itself: with the values of a document replaced by unit vectors, its output before
    the output projection is its weights, head_dim of their columns at a time. They are exact for every attention that
    is linear in the values of its tokens, also the implied weights of kernels and low-rank approximations, which may
    be negative or not sum to 1.

    Args:
        attention: The attention.
        states: (1, length, dim), what enters it, without padding.
        positions: (1, length), positions in the source.

    Returns:
        (heads, length, length), of queries by keys.

    Raises:
        CheckpointError: If the attention has no weights of tokens on tokens that do not depend on the values.
    """
    heads, length, block = attention.heads, states.size(1), attention.block
    if block and length > block:
        weights = states.new_zeros(heads, length, length)
        for start in range(0, length, block):
            part = slice(start, start + block)
            weights[:, part, part] = attention_map(attention, states[:, part], positions[:, part])
        return weights
    projected, merged = _trace(attention, states, positions, None)
    width = merged.size(-1) // heads
    if projected.shape == (1, length, _PARTS * merged.size(-1)):
        value = projected.chunk(_PARTS, dim=-1)[-1]
        starts = range(0, length, width)
        columns = [_columns(attention, states, positions, start, width) for start in starts]
        weights = torch.cat(columns, dim=-1)[..., :length]
        if torch.allclose(merge_heads(weights[None] @ split_heads(value, heads)), merged, rtol=1e-3, atol=1e-4):
            return weights
    raise CheckpointError(
        f"{type(attention).__name__} must mix the values of tokens with weights that do not depend on them, "
        "got another mixture; draw a model with another attention"
    )


def _columns(attention: Attention, states: Tensor, positions: Tensor, start: int, width: int) -> Tensor:
    """Weights on `width` tokens from `start` on, (heads, length, width); 0 beyond the end."""
    units = torch.eye(states.size(1), dtype=states.dtype, device=states.device)[:, start : start + width]
    units = nn.functional.pad(units, (0, width - units.size(1)))
    _, merged = _trace(attention, states, positions, units.repeat(1, attention.heads)[None])
    return split_heads(merged, attention.heads)[0]


def _trace(attention: Attention, states: Tensor, positions: Tensor, value: Tensor | None) -> tuple[Tensor, Tensor]:
    """Output of the joint projection, with other values if given, and input of the output projection."""
    seen: list[Tensor] = []

    def project(_: nn.Module, __: object, output: Tensor) -> Tensor:
        replaced = output if value is None else torch.cat([output[..., : -value.size(-1)], value], dim=-1)
        seen.append(replaced)
        return replaced

    def keep(_: nn.Module, args: tuple[Tensor, ...]) -> None:
        seen.append(args[0])

    hooks = [attention.project.register_forward_hook(project), attention.out.register_forward_pre_hook(keep)]
    try:
        attention(Tokens.of_states(states, positions=positions))
    finally:
        for hook in hooks:
            hook.remove()
    return seen[0], seen[-1]
