from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from sumpool.core.decoding import beam
from sumpool.core.decoding.beam import sample
from sumpool.core.decoding.config import DecodingConfig, Hypothesis, Lengths, Ranking
from sumpool.core.decoding.constraints import NoRepeatTokens
from sumpool.core.model.encoder import Memory
from sumpool.core.model.summarizer import DecoderState
from sumpool.data.shards import Item
from sumpool.errors import RecipeError, ResourceError
from sumpool.inference.generation import Generated, Generator
from sumpool.inference.loading import LoadedModel, load_for_generation, load_model
from tests.conftest import story


@pytest.fixture(scope="module")
def loaded(run_folder: Path) -> LoadedModel:
    return load_model(run_folder)


def chunk(loaded: LoadedModel, text: str) -> Item:
    ids = np.array(loaded.tokenizer.encode(text), np.uint16)
    return Item("story", ids, np.zeros(len(ids), np.int32), None)


def generate(loaded: LoadedModel, lengths: Lengths, **settings: object) -> list[str]:
    """Summarise ten stories."""
    generator = Generator(loaded.model, loaded.tokenizer, DecodingConfig.model_validate(settings), lengths)
    return [summary.text for summary in generator.generate([chunk(loaded, story(number, 12)) for number in range(10)])]


def repeats(texts: list[str]) -> int:
    return sum(len(text.split()) - len(set(text.split())) for text in texts)


def test_summaries_begin_with_tokens_of_the_vocabulary(loaded: LoadedModel) -> None:
    config = DecodingConfig(begin_with=(5, loaded.model.vocabulary))
    with pytest.raises(RecipeError, match=f"below the vocabulary of the model, {loaded.model.vocabulary}, got"):
        Generator(loaded.model, loaded.tokenizer, config, Lengths(1, 3))


def test_the_rule_against_repeats_can_be_set(loaded: LoadedModel) -> None:
    assert repeats(generate(loaded, Lengths(24, 24), no_repeat_words=0)) > 0
    assert repeats(generate(loaded, Lengths(24, 24), no_repeat_words=1)) == 0


@pytest.mark.parametrize(("chunks", "threads"), [(1, 1), (4, 1), (5, 2)])
def test_a_few_chunks_are_generated_on_one_thread(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch, chunks: int, threads: int
) -> None:
    threads_of = []

    def search(*args: Any, **settings: Any) -> list[list[Hypothesis]]:  # noqa: ANN401 - what the search takes
        threads_of.append(torch.get_num_threads())
        return beam.search(*args, **settings)

    monkeypatch.setattr("sumpool.inference.generation.search", search)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        generator = Generator(loaded.model, loaded.tokenizer, DecodingConfig(beams=1), Lengths(1, 3))
        generator.generate([chunk(loaded, story(number, 4)) for number in range(chunks)])
        threads_of.append(torch.get_num_threads())
    finally:
        torch.set_num_threads(before)
    assert threads_of == [threads, 2]


def test_the_settings_reach_the_search(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    search = Mock(side_effect=beam.search)
    monkeypatch.setattr("sumpool.inference.generation.search", search)
    first = loaded.tokenizer.encode("hosts")[0]
    settings = {"length_penalty": 2.0, "length_formula": "transformers", "early_stopping": True, "force_end": False}
    texts = generate(
        loaded, Lengths(6, 9), beams=2, begin_with=[first], no_repeat_words=0, no_repeat_tokens=2, **settings
    )
    assert all(text.startswith(loaded.tokenizer.decode([first])) for text in texts)
    assert search.call_args.args[3] == Ranking(2, 2.0, "transformers", early_stopping=True, force_end=False)
    assert search.call_args.args[4].constraints == [NoRepeatTokens(2)]


def test_a_predicted_length_leaves_fixed_lengths(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    for settings, bounds, predicted, expected in (
        ({}, Lengths(6, 24, 12), 10.0, Lengths(8, 12, 10)),
        ({}, Lengths(6, 24, 12), 30.0, Lengths(24, 24, 24)),
        ({"max_length": 20}, Lengths(6, 20), 10.0, Lengths(8, 20)),
        ({"max_length": 20}, Lengths(6, 20), 30.0, Lengths(20, 20)),
        ({"min_length": 5}, Lengths(5, 24, 12), 10.0, Lengths(5, 12, 10)),
        ({"min_length": 11}, Lengths(11, 24, 12), 10.0, Lengths(11, 12, 11)),
        ({"min_length": 20}, Lengths(20, 24, 20), 10.0, Lengths(20, 20, 20)),
        ({"min_length": 20, "max_length": 22}, Lengths(20, 22), 10.0, Lengths(20, 22)),
    ):
        search = Mock(return_value=[[Hypothesis((), 0.0, 0.0)]] * 10)
        monkeypatch.setattr("sumpool.inference.generation.search", search)
        monkeypatch.setattr(loaded.model, "predict_lengths", Mock(return_value=torch.full((10,), predicted)))
        generate(loaded, bounds, **settings)
        assert search.call_args.args[2] == [expected] * 10


def test_a_search_ends_with_the_document(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    search = Mock(return_value=[[Hypothesis((), 0.0, 0.0)]])
    monkeypatch.setattr("sumpool.inference.generation.search", search)
    short = chunk(loaded, "Hosts.")
    Generator(loaded.model, loaded.tokenizer, DecodingConfig(), Lengths(20, 40, 30)).generate([short])
    assert search.call_args.args[2] == [Lengths(len(short.ids), len(short.ids), len(short.ids))]


@pytest.mark.parametrize("precision", ["int8", pytest.param("fp32", marks=pytest.mark.slow)])
def test_batch_mates_change_no_bit(run_folder: Path, precision: str) -> None:
    loaded = load_for_generation(run_folder, [f"summarize.precision={precision}"])
    config = DecodingConfig(mbr=True, samples=5, temperature=2.0)
    generator = Generator(loaded.model, loaded.tokenizer, config, Lengths(4, 30))
    chunks = [chunk(loaded, story(number, 1 + 3 * number)) for number in range(6)]
    alone = [generator.generate([document])[0] for document in chunks]
    assert generator.generate(chunks) == alone
    assert generator.generate(chunks[::-1]) == alone[::-1]
    assert generator.generate(chunks[1:4]) == alone[1:4]


def test_a_batch_that_memory_cannot_hold_is_halved(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    start, sizes = loaded.model.start, []

    def small(memory: Memory, beams: int, *, independent: bool) -> DecoderState:
        sizes.append(len(memory.source.ids))
        if len(memory.source.ids) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return start(memory, beams, independent=independent)

    expected = generate(loaded, Lengths(4, 9))
    monkeypatch.setattr(loaded.model, "start", small)
    assert generate(loaded, Lengths(4, 9)) == expected
    assert sizes == [10, 5, 2, 3, 5, 2, 3]


@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [
        (MemoryError, ResourceError, r"memory must hold story, \d+ tokens with 4 beams, but it ran out"),
        (RuntimeError("shapes differ"), RuntimeError, "shapes differ"),
    ],
)
def test_a_document_that_memory_cannot_hold_is_named_and_other_errors_are_not_hidden(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch, error: object, raised: type[Exception], message: str
) -> None:
    monkeypatch.setattr(loaded.model, "encode", Mock(side_effect=error))
    with pytest.raises(raised, match=message):
        generate(loaded, Lengths(4, 9))


def test_sentences_need_samples_and_no_search(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [chunk(loaded, story(number, 9 + number)) for number in range(3)]

    def generated(**settings: Any) -> list[Generated]:  # noqa: ANN401 - settings
        config = DecodingConfig(samples=2, **settings)
        return Generator(loaded.model, loaded.tokenizer, config, Lengths(4, 12)).generate(chunks)

    drawing = Mock(side_effect=sample)
    monkeypatch.setattr("sumpool.inference.generation.sample", drawing)
    searched = generated(mbr=True)
    assert drawing.call_args.args[2] == [Lengths(2, 24)] * 3  # from half to twice the lengths
    assert all(each.text and each.score for each in searched)
    monkeypatch.setattr("sumpool.inference.generation.search", Mock(side_effect=AssertionError))
    assert generated(mode="extractive") == [Generated("", None, each.samples) for each in searched]
