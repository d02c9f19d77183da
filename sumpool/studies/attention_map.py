"""`sumpool bench attention-map`: a run and a document in, a picture of the encoder's attention weights out."""

import io
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor

from sumpool.core.attention._base import Attention
from sumpool.core.model.encoder import EncoderLayer
from sumpool.core.tokens import Tokens
from sumpool.data.batches import collate
from sumpool.data.shards import Item
from sumpool.documents.read import read_documents
from sumpool.documents.source_sentences import source_sentences
from sumpool.errors import DataError, RecipeError
from sumpool.inference.loading import LoadedModel, load_model
from sumpool.inference.model_input import encode_source
from sumpool.interpret.attention_maps import attention_map
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.replaceable import require_unlisted

MOST_TOKENS = 512
"""Tokens of the document that are drawn; a picture has not more pixels for them."""


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
    if path.suffix != ".png" or not path.parent.is_dir():
        raise RecipeError(f"--plot must name a .png file in a folder that is there, got {path}")
    require_unlisted(path)
    if find_spec("matplotlib") is None:
        raise RecipeError("attention-map must have matplotlib, which is not installed: pip install 'sumpool[plots]'")
    loaded = load_model(run)
    maps = [attention_map(*given) for given in _layer_inputs(loaded, document)]
    _draw(maps, path)
    return maps


@torch.no_grad()
def _layer_inputs(loaded: LoadedModel, name: str) -> list[tuple[Attention, Tensor, Tensor]]:
    """Encode the first tokens of a document; attention, states and positions of each layer."""
    document = next(iter(read_documents(name)))
    if document.error:
        raise DataError(document.error)
    sentences = source_sentences(document, loaded.splitter)
    source = encode_source(document, sentences, loaded.tokenizer, loaded.splitter).document
    length = min(MOST_TOKENS, loaded.recipe.model.source_length)
    item = Item(document.id, source.ids, source.sentences, None)
    batch = collate([item], length, 1, special_tokens=loaded.model.special_tokens).to(loaded.device)
    encoder = loaded.model.encoder
    inputs: list[tuple[Attention, Tensor, Tensor]] = []

    def note(attention: Attention, args: tuple[Tokens]) -> None:
        inputs.append((attention, args[0].states.clone(), args[0].positions))

    layers = [layer.attention for layer in encoder.layers if isinstance(layer, EncoderLayer)]
    hooks = [attention.register_forward_pre_hook(note) for attention in layers]
    chunked, encoder.chunked = encoder.chunked, False
    try:
        encoder(batch.ids, batch.mask, batch.sentences)
    finally:
        encoder.chunked = chunked
        for hook in hooks:
            hook.remove()
    return inputs


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
    content = io.BytesIO()
    figure.savefig(content, format="png")
    with disk_errors(path):
        replace_file(path, content.getvalue())
