"""Concentration of a trained model's attention on few sentences, and cost of its decoder (Manakul and Gales, 2021).

Figure 1 is of the model's weights: the attention to all words is summed over sentences, and the sums of the best ones
are averaged over the tokens of a summary and over summaries. Table 1 and Appendix B fit times by polynomials in the
lengths of summary and document; a model of the same shape with random weights takes the same time. The fastest
repetitions are fitted, which other work disturbs least, where the paper averages a hundred.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sumpool.bench.measures import Work, interleave
from sumpool.bench.results import Column, Result, Row, where
from sumpool.bench.workload import Conditions, Documents, Subject
from sumpool.core.cross_attention import CrossAttentionConfig, FullCrossAttentionConfig, SentenceCrossAttentionConfig
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.layers import split_heads
from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.sentences import Sentences, sum_over_sentences
from sumpool.core.selection import (
    IdealSelectionConfig,
    ModelFreeSelectionConfig,
    RandomSelectionConfig,
    SelectionConfig,
)
from sumpool.data.batches import Batch, TrainingData
from sumpool.data.shards import Shard
from sumpool.errors import DataError
from sumpool.inference.loading import LoadedModel
from sumpool.progress import Check
from sumpool.runs.run_folder import prepared_data_of, spread
from sumpool.studies.config import SparsityConfig
from sumpool.studies.study import Steps, make_table
from sumpool.text.tokenizer import same_tokenizer
from sumpool.training.fit import validate
from sumpool.training.weights import needed_weights, set_weights, weights_of

MODES = ("forward and backward", "forward", "inference")
PUBLISHED = {"forward and backward": (1.08, 0.17), "forward": (1.14, 0.25), "inference": (9.96, 1.30)}
"""c2 / c1 in thousandths and c3 / c1 in millionths of Table 1, for BART at 1,024 source tokens."""
TERMS = ("1", "M", "N", "M N", "M^2", "N^2")
PUBLISHED_SURFACE = (1.0, 3.78e-3, 3.15e-3, 1.47e-6, 7.26e-7, 7.79e-7)
_SHOWN = (1, 2, 3, 5, 10, 15, 20, 25, 30)
"""Numbers of sentences in the table; JSON and picture have all."""


def measure_sparsity(
    attention: Iterable[Sequence[Tensor]],
    losses: Iterable[Row],
    config: ModelConfig,
    settings: SparsityConfig,
    conditions: Conditions,
    steps: Steps,
) -> Result:
    """Sum up the attention of a trained model, and time one of its shape."""
    surface = len(settings.surface_lengths) * len(settings.targets)
    tasks = len(MODES) * len(settings.targets) + surface
    steps.total = settings.documents + tasks * (settings.repeats + 1)
    documents = []
    for layers in attention:
        steps()
        documents.append(layers)
    compared = list(losses)
    kept = []
    for number, of_layer in enumerate(zip(*documents, strict=True), 1):
        most = max(shares.size(1) for shares in of_layer)
        total = torch.zeros(most, dtype=torch.float64)
        for shares in of_layer:
            best = shares.double().sort(dim=1, descending=True).values.cumsum(1).mean(0).cpu()  # (sentences,)
            total += torch.cat([best, torch.ones(most - len(best))])
        kept.append(Row({"layer": number, "kept": tuple((total / len(of_layer)).tolist())}))
    longest = max(settings.length, *settings.surface_lengths)
    sizes = {"source_length": longest, "target_length": max(settings.targets)}
    subject = Subject(config.model_copy(update=sizes), conditions)

    def infer(documents: Documents) -> None:
        subject.generate(documents, beams=1, tokens=documents.target.size(1))

    modes = dict(zip(MODES, (subject.train, subject.score, infer), strict=True))
    times = _times(modes, [settings.length], settings, steps, conditions)
    times += _times({"surface": subject.train}, settings.surface_lengths, settings, steps, conditions)
    mean = sum(layers[0].size(1) for layers in documents) / len(documents)
    facts = {"documents": len(documents), "mean_sentences": mean}
    return sparsity_result(kept, compared, times, facts, settings)


def _times(
    tasks: Mapping[str, Callable[[Documents], None]], lengths: Sequence[int], settings: SparsityConfig, steps: Steps,
    conditions: Conditions,
) -> list[Row]:  # fmt: skip
    """Time some modes at all lengths of the summary and these of the document."""
    turns: dict[tuple[str, int, int], Work] = {}
    for target, length in product(settings.targets, lengths):
        documents = Documents.random(settings.batch, length, target, conditions)
        turns |= {(mode, target, length): partial(work, documents) for mode, work in tasks.items()}
    timings = interleave(turns, settings.repeats, conditions.device, steps)
    return [Row(dict(zip(("mode", "target", "length"), key, strict=True)), timing) for key, timing in timings.items()]


def sparsity_result(
    kept: list[Row], losses: list[Row], times: list[Row], facts: Mapping[str, Any], settings: SparsityConfig
) -> Result:
    """Tables of Figure 1, the loss by selection, Table 1 and Appendix B."""
    known = {**settings.model_dump(), **facts}
    layers = {str(row["layer"]): row for row in kept}
    best = [
        Row({"sentences": str(count), **{name: f"{row['kept'][:count][-1]:.3f}" for name, row in layers.items()}})
        for count in _SHOWN
    ]
    enough = {name: str(needed(row["kept"], 0.9)) for name, row in layers.items()}
    seen = sorted(losses[0]["nats"])
    nats = [row.also({str(sentences): row["nats"][sentences] for sentences in seen}) for row in losses]
    modes = []
    for mode in MODES:  # Table 1: c1 + c2 M + c3 M^2
        of_mode = where(times, {"mode": mode})
        coefficients, (_, second, third), r_squared = regress(
            [(1, row["target"], row["target"] ** 2) for row in of_mode], [row["fastest"] for row in of_mode]
        )
        paper = dict(zip(("paper_second", "paper_third"), PUBLISHED[mode], strict=True))
        values = {"coefficients": coefficients, "second": second, "third": third, "r_squared": r_squared}
        modes.append(Row({"mode": mode, **values, **paper}))
    surface = where(times, {"mode": "surface"})
    sizes = [(row["target"], row["length"]) for row in surface]
    polynomials = [(1, target, length, target * length, target**2, length**2) for target, length in sizes]
    _, ratios, r_squared = regress(polynomials, [row["fastest"] for row in surface])
    terms = [
        Row({"term": name, "ratio": ratio, "paper": paper})
        for name, ratio, paper in zip(TERMS, ratios, PUBLISHED_SURFACE, strict=True)
    ]
    counts = {"count": len(settings.targets), "least": min(settings.targets), "most": max(settings.targets)}
    known |= counts | {"samples": len(surface), "r_squared": r_squared}
    columns = [Column(f"layer {name}", name) for name in layers]
    losing = [Column(f"{count} sentence{'s' * (count > 1)}", str(count), ",.5f") for count in seen]
    tables = [
        make_table("kept", [*best, Row({"sentences": "for 90 %", **enough})], known, columns=columns),
        make_table("losses", nats, known, columns=losing),
        make_table("modes", modes, known),
        make_table("surface", terms, known),
    ]
    return Result({"layers": kept, "losses": losses, "times": times, "modes": modes}, tables, facts)


def regress(terms: Sequence[Sequence[float]], times: Sequence[float]) -> tuple[list[float], list[float | None], float]:
    """Fit times = sum of coefficient * term.

    Returns:
        Coefficients; the same in proportion to the first, None where that is not positive, which is noise; and the
        explained share of the variance.
    """
    matrix, measured = np.asarray(terms, float), np.asarray(times, float)
    scale = np.abs(matrix).max(0)  # squares of lengths beside a one would cost digits
    scale[scale == 0] = 1
    solution, *_ = np.linalg.lstsq(matrix / scale, measured, rcond=None)
    residual = float(((measured - matrix / scale @ solution) ** 2).sum())
    variance = float(((measured - measured.mean()) ** 2).sum())
    coefficients = (solution / scale).tolist()
    ratios = [part / coefficients[0] if coefficients[0] > 0 else None for part in coefficients]
    return coefficients, ratios, 1 - residual / variance if variance else 1.0


def needed(kept: Sequence[float], share: float) -> int:
    """Sentences that it takes to hold a share of the attention."""
    return next((best for best, attention in enumerate(kept, 1) if attention >= share), len(kept))


def validation_batches(loaded: LoadedModel, documents: int) -> Iterator[Batch]:
    """Validation documents of a run, evenly spread, each as a batch; errors are those of `validation_data`."""
    data = validation_data(loaded)
    for index in spread(len(data.validation), documents):
        yield data.batch(data.validation, [index])


def validation_data(loaded: LoadedModel) -> TrainingData:
    """Open the validation documents of a run.

    Raises:
        DataError: If the prepared data is missing, has the vocabulary of another model, or no validation document.
    """
    prepared = prepared_data_of(loaded.folder, loaded.recipe)
    if not same_tokenizer(loaded.folder, prepared):
        raise DataError(
            f"{prepared} must have the vocabulary of {loaded.folder}, got another one: name the data that the model "
            "was trained on with --set data.prepared=FOLDER"
        )
    shard = Shard(prepared, "validation")
    if not len(shard):
        raise DataError(f"{prepared / 'validation'} must hold a document with a summary, got none: prepare more data")
    config, special_tokens = loaded.recipe.model, loaded.model.special_tokens
    lengths = (config.source_length, config.target_length)
    return TrainingData(shard, shard, *lengths, loaded.recipe.seed, special_tokens=special_tokens)


@torch.inference_mode()
def sentence_attention(model: SummarizationModel, batch: Batch) -> list[list[Tensor]]:
    """Sentence attention of every decoder layer under teacher forcing with the reference summaries (Equation 4).

    The weights are those of the queries and keys over all words, without sentence selection: for full cross-attention
    the weights in use, for sentence selection the weights to select from. Heads are averaged, as in Figure 1.

    Args:
        model: Model in evaluation mode.
        batch: Documents with summaries, on the model's device.

    Returns:
        For each document and layer a tensor (target, sentences) without padding; rows sum to 1. Sentences without a
        vector in the memory are omitted.

    Raises:
        ValueError: If the batch has no summaries.
    """
    if batch.target is None:
        raise ValueError("batch must have summaries, got documents alone")
    layers = [layer.cross_attention for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
    memory = model.encode(batch.ids, batch.mask, batch.sentences)
    inputs: list[Tensor] = []
    with ExitStack() as hooks:
        for layer in layers:
            hooks.enter_context(layer.register_forward_pre_hook(lambda _, args: inputs.append(args[0])))
        model.score(memory, batch.target)
    sentences = Sentences.find(memory.tokens)
    weights = []
    for layer, states in zip(layers, inputs, strict=True):
        key, _ = layer.key_value(zero_padding(memory.tokens.states, memory.tokens.mask)).chunk(2, dim=-1)
        query, key = split_heads(layer.query(states), layer.heads), split_heads(key, layer.heads)
        scores = query @ key.transpose(2, 3) / query.size(-1) ** 0.5  # (batch, heads, target, length)
        membership = sentences.membership(memory.tokens.mask, scores.dtype)
        weights.append(sum_over_sentences(scores, memory.tokens.mask, membership).exp().mean(1))  # over heads
    counts, targets = sentences.mask.sum(1), (batch.target != batch.pad).sum(1)
    return [[layer[row, : targets[row], : counts[row]] for layer in weights] for row in range(len(batch.documents))]


def selection_losses(loaded: LoadedModel, documents: int, sentences: Sequence[int], check: Check) -> Iterator[Row]:
    """Validation losses where a token sees selected sentences only, selection by selection.

    Yields `selection` and `nats` by number of sentences; full attention first, and last the model's own selection, if
    it has one that learns. The weights of the word attention serve all selections.

    Raises:
        DataError: If the prepared data is missing, or has no validation document.
    """
    selections: dict[str, SelectionConfig] = {
        config.kind: config for config in (IdealSelectionConfig(), RandomSelectionConfig(), ModelFreeSelectionConfig())
    }
    learned = loaded.recipe.model.decoder.cross_attention
    if isinstance(learned, SentenceCrossAttentionConfig):
        selections[learned.selection.kind] = learned.selection
    data = validation_data(loaded)
    settings = loaded.recipe.train.model_copy(update={"validate_documents": documents})

    def loss(cross_attention: CrossAttentionConfig) -> float:
        config = loaded.recipe.model
        decoder = config.decoder.model_copy(update={"cross_attention": cross_attention})
        with torch.device(loaded.device):
            model = SummarizationModel(
                config.model_copy(update={"decoder": decoder}),
                loaded.model.vocabulary,
                loaded.model.encoder.word_starts,
                loaded.model.special_tokens,
            )
        set_weights(model, needed_weights(model, weights_of(loaded.model)), str(loaded.folder))
        return validate(model, data, settings, loaded.device, check)[0]

    yield Row({"selection": "full", "nats": dict.fromkeys(sentences, loss(FullCrossAttentionConfig()))})
    for kind, selection in selections.items():
        configs = {seen: SentenceCrossAttentionConfig(sentences=seen, selection=selection) for seen in sentences}
        yield Row({"selection": kind, "nats": {seen: loss(attention) for seen, attention in configs.items()}})
