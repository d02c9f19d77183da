"""A model with the structure of a family of Hugging Face, saved as transformers reads it.

The inverse of `sumpool.pretrained.config`, `generation` and `weights`: an import of the folder is the same model.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sumpool.core.cross_attention import FullCrossAttentionConfig
from sumpool.core.decoding.config import DecodingConfig, Lengths
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.output import TiedOutputConfig
from sumpool.errors import CheckpointError
from sumpool.pretrained.config import CONFIG, FAMILIES, GENERATION, FamilyName
from sumpool.pretrained.weights import WEIGHTS, sinusoidal_positions
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.training.weights import save_tensors, weights_of


def find_family(model: SummarizationModel) -> FamilyName:
    """Return the family that a model belongs to.

    Raises:
        CheckpointError: If no family computes what the model does.
    """
    config = model.config
    attentions = {layer.attention.kind for layer in config.encoder}
    parts = {
        "an encoder with pooling": any(layer.pool for layer in config.encoder),
        f"attention {', '.join(sorted(attentions))}": attentions not in ({"vanilla"}, {"sliding_window"}),
        f"cross_attention {config.decoder.cross_attention.kind}": not isinstance(
            config.decoder.cross_attention, FullCrossAttentionConfig
        ),
        f"output {config.output.kind}": not isinstance(config.output, TiedOutputConfig),
        f"positions {config.positions}": {config.positions, config.decoder.positions} != {"learned"},
        "a length predictor": config.decoder.predict_length,
        "positions inside the attention": any(
            layer.attention.model_dump().get("positions", "none") != "none" for layer in config.encoder
        ),
    }
    problem = next((part for part, is_there in parts.items() if is_there), None)
    if problem is None:
        first = all(layer.attention.model_dump().get("global_first") for layer in config.encoder)
        tables = [embed.positions for embed in (model.encoder.embed, model.decoder.embed)]
        weights = [table.weight for table in tables if table is not None]
        for name, family in FAMILIES.items():
            if (
                (config.norm, config.embedding_norm) == (family.norm, family.embedding_norm)
                and ("sliding_window" in attentions) == ("attention.first.query" in family.attention) == first
                and (family.scales_embedding or not config.scale_embedding)
                and (
                    family.positions == "learned"
                    or all(torch.equal(weight, sinusoidal_positions(*weight.shape)) for weight in weights)
                )
            ):
                return name
        problem = f"{config.norm}-norm, embedding_norm {config.embedding_norm} and attention {attentions.pop()}"
    raise CheckpointError(
        f"--format huggingface must have a model with the structure of {', '.join(FAMILIES)}, got {problem}; export it "
        "as safetensors or onnx"
    )


def save_pretrained(
    folder: Path,
    model: SummarizationModel,
    decoding: DecodingConfig,
    lengths: Lengths,
    tokenizer: HuggingFaceTokenizer,
    dtype: torch.dtype = torch.float32,
) -> FamilyName:
    """Write `config.json`, `generation_config.json`, `model.safetensors` and the tokenizer.

    Args:
        folder: An existing folder.
        model: The model on the CPU.
        decoding: Settings of summaries.
        lengths: Shortest and longest summary in tokens.
        tokenizer: The model's tokenizer.
        dtype: Data type of the weights.

    Returns:
        The family of the model.

    Raises:
        CheckpointError: If no family computes what the model does.
    """
    name = find_family(model)
    weights = {key: tensor.to(dtype) for key, tensor in _weights(model, name).items()}
    save_tensors(weights, folder / WEIGHTS, {"format": "pt"})
    special_tokens = tokenizer.special_tokens
    roles = {
        "pad_token_id": special_tokens.pad,
        "eos_token_id": special_tokens.eos,
        "bos_token_id": special_tokens.prefix[0] if special_tokens.prefix else None,
        "decoder_start_token_id": special_tokens.decoder_start,
    }
    dumped = {
        CONFIG: _config(model, name) | roles | {"dtype": str(dtype).removeprefix("torch.")},
        GENERATION: {  # see `sumpool.pretrained.config.to_decoding_config`
            "num_beams": decoding.beams,
            "length_penalty": decoding.length_penalty,
            "early_stopping": decoding.early_stopping or ("never" if decoding.length_formula == "sumpool" else False),
            "no_repeat_ngram_size": decoding.no_repeat_tokens,
            "min_length": lengths.minimum + 1 if lengths.minimum else 0,
            "max_length": lengths.maximum + 1 + decoding.force_end,
            "forced_bos_token_id": decoding.begin_with[0] if decoding.begin_with else None,
            "forced_eos_token_id": special_tokens.eos if decoding.force_end else None,
            "suppress_tokens": list(special_tokens.suppressed),
            **roles,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",  # reads tokenizer.json as it is
            "model_max_length": model.config.source_length,
            **tokenizer.special_names(),
        },
    }
    for file, tree in dumped.items():
        (folder / file).write_text(json.dumps(tree, indent=2) + "\n", "utf-8")
    tokenizer.save(folder)
    return name


def _config(model: SummarizationModel, name: FamilyName) -> dict[str, Any]:
    """Return the entries of `config.json` but for special tokens."""
    config = model.config
    layers = {"encoder": len(config.encoder), "decoder": config.decoder.layers}
    sizes: dict[str, Any] = {}
    for half, count in layers.items():
        sizes |= {
            f"{half}_layers": count,
            f"{half}_attention_heads": config.heads,
            f"{half}_ffn_dim": config.feed_forward,
        }
    if name == "led":
        windows = [layer.attention.model_dump()["window"] for layer in config.encoder]
        sizes |= {
            "attention_window": windows,
            "max_encoder_position_embeddings": config.source_length,
            "max_decoder_position_embeddings": config.target_length,
        }
    else:
        sizes["max_position_embeddings"] = max(config.source_length, config.target_length)
    return {
        "architectures": [FAMILIES[name].architecture],
        "model_type": name,
        "is_encoder_decoder": True,
        "tie_word_embeddings": True,
        "vocab_size": model.vocabulary,
        "d_model": config.dim,
        **sizes,
        "num_hidden_layers": layers["encoder"],
        "activation_function": config.activation,
        "scale_embedding": config.scale_embedding,
        "dropout": config.dropout,
    }


def _weights(model: SummarizationModel, name: FamilyName) -> dict[str, Tensor]:
    """Return the weights under the names of transformers."""
    ours, family, config = weights_of(model), FAMILIES[name], model.config
    prefix = "led" if name == "led" else "model"
    bias = ours.pop("output.bias", torch.zeros(model.vocabulary))
    theirs = {f"{prefix}.shared.weight": ours.pop("embedding.weight"), "final_logits_bias": bias[None]}
    length = 0 if name == "led" else max(config.source_length, config.target_length)
    for half, layers in (("encoder", len(config.encoder)), ("decoder", config.decoder.layers)):
        positions = ours.pop(f"{half}.embed.positions.weight")
        if family.positions == "learned":
            after = max(0, length - len(positions))  # rows that are never looked up
            padded = torch.nn.functional.pad(positions, (0, 0, family.unused_positions, after))
            theirs[f"{prefix}.{half}.embed_positions.weight"] = padded
        for weight, sources in family.weights(half, layers):  # maps and norms are split into those of the original
            for source, chunk in zip(sources, ours.pop(weight).chunk(len(sources)), strict=True):
                theirs[f"{prefix}.{source}"] = chunk
    assert not ours, f"weights of no part: {list(ours)[:3]}"
    return {key: tensor.contiguous() for key, tensor in theirs.items()}
