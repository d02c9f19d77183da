"""The pipeline of transformers 4: examples of its documentation, and lengths in tokens."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from sumpool import RecipeError, pipeline
from sumpool.errors import CheckpointError
from sumpool.inference.hf_pipeline import SummarizationPipeline
from sumpool.inference.summarizer import Summarizer
from tests.conftest import story

APPLE = "An apple a day, keeps the doctor away"


@pytest.fixture(scope="module")
def summarize() -> SummarizationPipeline:
    return pipeline("summarization", model="shipped")


@pytest.fixture(scope="module")
def fast() -> SummarizationPipeline:
    return SummarizationPipeline(Summarizer.load("shipped", overrides=["summarize.fast=true"]))


def test_results_have_the_documented_form(summarize: SummarizationPipeline) -> None:
    result = [{"summary_text": APPLE}]
    assert summarize(APPLE, min_length=5, max_length=20) == result
    assert summarize(APPLE, min_length=50) == result
    assert summarize([APPLE, APPLE], truncation=True, do_sample=False, num_beams=4) == result * 2
    assert summarize([APPLE, ""], clean_up_tokenization_spaces=True) == [*result, {"summary_text": ""}]
    assert summarize([]) == []
    stream = summarize(text for text in (APPLE, "Hosts send packets."))
    assert isinstance(stream, Iterator)
    assert list(stream) == [result, [{"summary_text": "Hosts send packets."}]]
    (both,) = summarize(APPLE, return_tensors=True)
    assert both["summary_text"] == APPLE
    assert isinstance(both["summary_token_ids"], torch.Tensor)
    assert summarize.tokenizer.decode(both["summary_token_ids"].tolist()) == APPLE
    assert list(summarize(APPLE, return_text=False, return_tensors=True)[0]) == ["summary_token_ids"]


@pytest.mark.parametrize(
    ("bounds", "least", "most"),
    [
        ({"max_length": 130, "min_length": 100}, 100, 130),
        ({"max_new_tokens": 30}, 1, 30),
        ({"min_new_tokens": 200}, 200, 400),
        ({"max_length": 81, "min_length": 80}, 80, 81),
        ({"max_length": 3}, 3, 3),
    ],
)
def test_lengths_are_tokens(fast: SummarizationPipeline, bounds: Any, least: int, most: int) -> None:  # noqa: ANN401
    (result,) = fast(story(5, 60), **bounds)
    assert least <= len(fast.tokenizer.encode(result["summary_text"])) <= most


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: run(APPLE, do_sample=True), "do_sample must be False, got True: sentences are selected"),
        (lambda run: run(APPLE, max_lenght=5), "max_lenght must be an argument of the pipeline or one of batch_size"),
        (lambda run: run(APPLE, min_length=9, max_length=8), "at most max_length, got 9 and 8"),
        (lambda run: run(APPLE, min_length=-1), "at least 0 and at most max_length, got -1 and None"),
        (lambda run: run(APPLE, max_length=0), "at most max_length, got 0 and 0"),
        (lambda run: run([APPLE, None]), "documents must be texts, got NoneType"),
    ],
)
def test_wrong_arguments_are_refused(summarize: SummarizationPipeline, call: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(RecipeError, match=message):
        call(summarize)


def test_other_tasks_and_models_are_refused() -> None:
    with pytest.raises(RecipeError, match="task must be summarization, got 'translation'"):
        pipeline("translation")
    with pytest.raises(CheckpointError, match="facebook/bart-large-cnn must be a run folder"):
        pipeline("summarization", model="facebook/bart-large-cnn")
