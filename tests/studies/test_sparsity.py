"""Attention of a summary to sentences, against loops over layers, heads and sentences."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from sumpool.bench.measures import Timing
from sumpool.bench.results import Row, unique, where
from sumpool.bench.workload import Conditions
from sumpool.core.model.config import ModelConfig
from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import Batch
from sumpool.data.config import Example
from sumpool.data.prepared_folder import write_manifest
from sumpool.data.shards import Item, ShardWriter, TextsWriter
from sumpool.errors import DataError
from sumpool.progress import Progress, no_op
from sumpool.special_tokens import EOS
from sumpool.studies.config import SparsityConfig
from sumpool.studies.run import run_study
from sumpool.studies.sparsity import MODES, measure_sparsity, needed, regress, sentence_attention, sparsity_result
from sumpool.studies.study import Steps

SHORT = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
LONG = torch.tensor([[0.4, 0.3, 0.2, 0.1]])
MODEL = ModelConfig.model_validate(
    {"dim": 16, "heads": 2, "feed_forward": 16, "source_length": 4, "target_length": 2, "decoder": {"layers": 2},
     "encoder": [{"attention": {"kind": "vanilla"}}]}
)  # fmt: skip
LOSSES = [
    Row({"selection": "full", "nats": {1: 2.0, 5: 2.0}}),
    Row({"selection": "random", "nats": {1: 2.5, 5: 2.25}}),
]
SETTINGS = SparsityConfig(documents=2, length=8, targets=(1, 2, 3), surface_lengths=(4, 6, 8), repeats=1)


def test_attention_of_the_best_sentences_and_times_stand_beside_those_of_the_paper() -> None:
    conditions = Conditions(vocabulary=8, device=torch.device("cpu"), precision=torch.float32)
    layers, steps = [[SHORT, SHORT.flip(0)], [LONG, LONG]], Steps()
    found = measure_sparsity(layers, LOSSES, MODEL, SETTINGS, conditions, steps)
    first, second = found.rows["layers"]
    best, two = (0.5 + 0.7 + 0.5 + 0.6) / 4, (0.8 + 0.9 + 0.8 + 0.9) / 4
    expected = ((best + 0.4) / 2, (two + 0.7) / 2, (1 + 0.9) / 2, 1.0)
    assert first["kept"] == pytest.approx(expected, abs=1e-6)
    assert second["kept"] == first["kept"]
    assert needed(first["kept"], 0.9) == 3
    times = found.rows["times"]
    assert [len(where(times, {"mode": mode})) for mode in MODES] == [3, 3, 3]
    assert len(where(times, {"mode": "surface"})) == 9
    assert unique(found.rows["modes"], "mode") == [*MODES]
    assert steps.done == steps.total == 2 + (9 + 9) * 2
    kept, losses, modes, surface = found.tables
    assert losses.headings() == ["selection", "1 sentence", "5 sentences"]
    assert losses.cells() == [("full", "2.00000", "2.00000"), ("random", "2.50000", "2.25000")]
    assert kept.headings() == ["sentences", "layer 1", "layer 2"]
    assert kept.cells()[1] == ("2", "0.775", "0.775")
    assert kept.cells()[-1] == ("for 90 %", "3", "3")
    assert modes.cells()[2][0] == "inference"
    assert modes.cells()[2][-2:] == ("9.96", "1.30")
    assert surface.cells()[1][2] == "0.00378"


LENGTHS = [50, 100, 150, 200, 250, 300]


def test_polynomials_are_fitted_with_their_explained_variance() -> None:
    terms = [(1, length, length**2) for length in LENGTHS]
    found, ratios, r_squared = regress(terms, [2 + 0.01 * length + 3e-6 * length**2 for length in LENGTHS])
    assert found == pytest.approx([2, 0.01, 3e-6], rel=1e-6)
    assert ratios == pytest.approx([1, 0.005, 1.5e-6], rel=1e-6)
    assert r_squared == pytest.approx(1)
    assert 0 < regress([(1, length) for length in LENGTHS], [1, 2, 1, 2, 1, 2])[2] < 0.2


def test_what_is_not_known_is_not_told() -> None:
    def times(mode: str, seconds: float) -> list[Row]:
        labels = [{"mode": mode, "target": target, "length": length} for target in (1, 2, 3) for length in (4, 6, 8)]
        return [Row(label, Timing((seconds * label["target"],))) for label in labels]  # type: ignore[operator]

    kept = [Row({"layer": 1, "kept": (1.0,)})]
    measured = [row for mode in (*MODES, "surface") for row in times(mode, -1.0)]
    facts = {"documents": 1, "mean_sentences": 1.0}
    _, _, modes, _ = sparsity_result(kept, LOSSES, measured, facts, SETTINGS).tables
    assert modes.cells()[0][1:3] == ("-", "-")


SMALL = ("study.documents=3", "study.length=16", "study.targets=[1, 2, 3]", "study.repeats=1")


def prepare(folder: Path, documents: int, run: Path | None = None) -> list[str]:
    """Write validation documents in the vocabulary of a run, and say where they are."""
    folder = folder / "prepared"
    random = np.random.default_rng(5)
    with ShardWriter(folder, "validation", 300) as shard, TextsWriter(folder, "validation") as texts:
        for number in range(documents):
            ids = random.integers(5, 300, 60)
            shard.add(Item(str(number), ids, np.arange(60) // 9, random.integers(5, 300, 7)))
            texts.add(Example(id=str(number), document="", summary="", split="validation"))
    if run:
        shutil.copyfile(run / "tokenizer.model", folder / "tokenizer.model")
    write_manifest(folder, {}, no_op)
    return [*SMALL, "study.surface_lengths=[4,6,10]", f"data.prepared={folder}"]


def test_a_trained_model_is_looked_at_and_its_shape_is_timed(run_folder: Path, tmp_path: Path) -> None:
    heard: list[Progress] = []
    overrides = [*prepare(tmp_path, 7, run_folder), "study.loss_sentences=[1, 30]"]
    found = run_study("sparsity", run_folder, overrides=overrides, report=heard.append)
    assert (found.recipe, found.suite) == ("random", "sparsity")
    assert found.result.facts["documents"] == 3
    assert {*unique(where(found.result.rows["times"], {"mode": "surface"}), "length")} == {4, 6, 10}
    kept = found.result.rows["layers"][0]["kept"]
    assert list(kept) == sorted(kept)
    assert kept[-1] == pytest.approx(1)
    assert json.loads(found.to_json())["settings"]["study"]["documents"] == 3
    assert len(found.tables()) == 5
    assert heard[-1].done == heard[-1].total
    losses = {row["selection"]: dict(row["nats"]) for row in found.result.rows["losses"]}
    assert list(losses) == ["full", "ideal", "random", "model_free"]
    full = losses.pop("full")
    assert full[1] == full[30]
    for nats in losses.values():
        assert nats[30] == pytest.approx(full[30], abs=1e-5)  # no document has so many sentences
        assert nats[1] != pytest.approx(full[1], abs=1e-5)


def test_documents_may_be_fewer_but_must_be_those_of_the_run(run_folder: Path, tmp_path: Path) -> None:
    heard: list[Progress] = []
    few = prepare(tmp_path / "few", 2, run_folder)
    assert run_study("sparsity", run_folder, overrides=few, report=heard.append).result.facts["documents"] == 2
    assert heard[-1].done == heard[-1].total
    with pytest.raises(DataError, match="validation must hold a document with a summary, got none"):
        run_study("sparsity", run_folder, overrides=prepare(tmp_path / "none", 0, run_folder))
    with pytest.raises(DataError, match=r"prepared must have the vocabulary of .*, got another one: name the data"):
        run_study("heads", run_folder, overrides=prepare(tmp_path / "other", 2)[-1:])


VOCAB, DIM, HEADS = 60, 16, 2
CROSS = {"full": {"kind": "full"}, "sentence": {"kind": "sentence", "sentences": 2, "selection": {"kind": "random"}}}


def make_model(kind: str) -> SummarizationModel:
    torch.manual_seed(1)
    encoder = [{"attention": {"kind": "blockwise", "block": 16}, "pool": {"kind": "halving", "keep": 20}}]
    decoder = {"layers": 2, "cross_attention": CROSS[kind]}
    sizes = {"dim": DIM, "heads": HEADS, "feed_forward": 32}
    config = ModelConfig.model_validate({**sizes, "encoder": encoder, "decoder": decoder})
    return SummarizationModel(config, VOCAB).double().eval()


def random_batch(vocab_size: int, *lengths: int) -> Batch:
    """Documents of these lengths with sentences of seven tokens; the first summary is shorter than the others."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, vocab_size, mask.shape).masked_fill(~mask, 0)
    target = torch.randint(5, vocab_size, (len(lengths), 9))
    target[:, 8] = EOS
    target[0, 4:] = torch.tensor([EOS, 0, 0, 0, 0])
    sentences = (torch.arange(max(lengths)) // 7).expand(mask.shape)
    return Batch(ids, mask, sentences, target, tuple(map(str, lengths)))


def one(batch: Batch, number: int) -> Batch:
    real = int(batch.mask[number].sum())
    assert batch.target is not None
    target = batch.target[number : number + 1]
    ids, mask, sentences = (part[number : number + 1, :real] for part in (batch.ids, batch.mask, batch.sentences))
    return Batch(ids, mask, sentences, target, batch.documents[number : number + 1])


@pytest.mark.parametrize("kind", list(CROSS))
def test_sentence_attention_sums_full_attention_over_sentences(kind: str) -> None:
    model, batch = make_model(kind), random_batch(VOCAB, 90, 33)
    inputs: list[Tensor] = []
    layers = [layer.cross_attention for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
    hooks = [layer.query.register_forward_pre_hook(lambda _, args: inputs.append(args[0])) for layer in layers]
    weights = sentence_attention(model, batch)
    for hook in hooks:
        hook.remove()
    with torch.no_grad():
        memory = model.encode(batch.ids, batch.mask, batch.sentences).tokens
        for document, position in ((0, 0), (0, 4), (1, 8)):
            real = memory.mask[document]
            sentences = memory.sentences[document, real]
            for number, layer in enumerate(layers):
                query = layer.query(inputs[number][document, position])
                key = layer.key_value(memory.states[document, real])[:, :DIM]
                parts = zip(query.chunk(HEADS), key.chunk(HEADS, dim=1), strict=True)
                word_weights = torch.stack([(k @ q / (DIM / HEADS) ** 0.5).softmax(0) for q, k in parts]).mean(0)
                expected = torch.stack([word_weights[sentences == sentence].sum() for sentence in sentences.unique()])
                torch.testing.assert_close(weights[document][number][position], expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", list(CROSS))
def test_padding_is_omitted(kind: str) -> None:
    model, batch = make_model(kind), random_batch(VOCAB, 90, 33, 5)
    weights = sentence_attention(model, batch)
    assert [layers[0].size(0) for layers in weights] == [5, 9, 9]
    assert weights[2][0].size(1) == 1
    for number, layers in enumerate(weights):
        (alone,) = sentence_attention(model, one(batch, number))
        for actual, expected in zip(layers, alone, strict=True):
            torch.testing.assert_close(actual.sum(1), torch.ones(len(actual), dtype=actual.dtype))
            torch.testing.assert_close(actual, expected[: len(actual)], atol=1e-12, rtol=0)


def test_hooks_are_removed_and_summaries_are_required() -> None:
    model = make_model("full")
    sentence_attention(model, random_batch(VOCAB, 30))
    assert not any(module._forward_pre_hooks for module in model.modules())
    with pytest.raises(ValueError, match="batch must have summaries, got documents alone"):
        sentence_attention(model, replace(random_batch(VOCAB, 30), target=None))
