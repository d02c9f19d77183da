"""`pipeline("summarization")` as transformers had it up to version 4: its call, its results, its lengths in tokens.

Differences: texts of any length are read, so that there is nothing to truncate; summaries have whole sentences as far
as `max_length` allows; settings of a search that a selection has not are without effect, and those that ask for several
or random summaries are refused.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, final, overload

from sumpool.errors import RecipeError
from sumpool.inference.summarizer import Summarizer
from sumpool.text.language import word_count

_SINGLE: Final = {"do_sample": False, "num_return_sequences": 1}
"""Settings of generation whose other values ask for what a selection cannot do."""
_SEARCH: Final = (
    "batch_size", "clean_up_tokenization_spaces", "early_stopping", "length_penalty", "no_repeat_ngram_size",
    "num_beams", "repetition_penalty", "temperature", "top_k", "top_p", "use_cache",
)  # fmt: skip
"""Settings of generation without effect."""
_ATTEMPTS: Final = 4
"""Lengths in words that are tried for a number of tokens."""
_WITHIN: Final = 0.9
"""Part of the allowed tokens that is asked for, as words are obeyed within 10 %."""
Summary = dict[str, Any]
"""`summary_text`, and `summary_token_ids` if asked for."""


def pipeline(
    task: str, model: str | Path | None = None, *, tokenizer: object = None, device: object = None
) -> "SummarizationPipeline":
    """Load the pipeline of a task.

    Args:
        task: "summarization".
        model: The run folder of a model, or "shipped"; None takes what `Summarizer.load` takes.
        tokenizer: Without effect, as a model comes with its tokenizer.
        device: Without effect, as the recipe of the model names its device.

    Raises:
        RecipeError: If the task is another one.
        CheckpointError: If there is no such model; names of the Hugging Face hub are none.
    """
    del tokenizer, device
    if task != "summarization":
        raise RecipeError(f"task must be summarization, got {task!r}")
    return SummarizationPipeline(Summarizer.load(model))


@final
class SummarizationPipeline:
    """Summarises texts as the pipeline of transformers did, with lengths in tokens of its tokenizer."""

    task: Final = "summarization"

    def __init__(self, summarizer: Summarizer) -> None:
        self.summarizer = summarizer
        self.tokenizer = summarizer.tokenizer

    @overload
    def __call__(self, documents: str | list[str], **options: Any) -> list[Summary]: ...  # noqa: ANN401

    @overload
    def __call__(self, documents: Iterable[str], **options: Any) -> Iterator[list[Summary]]: ...  # noqa: ANN401

    def __call__(
        self,
        documents: str | Iterable[str],
        *,
        min_length: int | None = None,
        max_length: int | None = None,
        min_new_tokens: int | None = None,
        max_new_tokens: int | None = None,
        return_text: bool = True,
        return_tensors: bool = False,
        truncation: object = None,
        **generation: object,
    ) -> list[Summary] | Iterator[list[Summary]]:
        """Summarise a text or several.

        Args:
            documents: A text, or several.
            min_length: Tokens that a summary has at least, unless the text has fewer.
            max_length: Tokens that a summary has at most; without limits, it has the usual length of the model.
            min_new_tokens: The same as `min_length`.
            max_new_tokens: The same as `max_length`.
            return_text: Whether the result has `summary_text`, empty for an empty text.
            return_tensors: Whether the result has `summary_token_ids`, a tensor.
            truncation: Without effect, as texts of any length are read.
            generation: Settings of generation.

        Returns:
            A list with a result for each text; of an iterator of texts, an iterator that yields a list of one for each.

        Raises:
            RecipeError: If an argument is wrong.
        """
        del truncation
        for name, value in generation.items():
            if name in _SINGLE and value != _SINGLE[name]:
                raise RecipeError(f"{name} must be {_SINGLE[name]}, got {value!r}: sentences are selected, not sampled")
            if name not in (*_SINGLE, *_SEARCH):
                raise RecipeError(f"{name} must be an argument of the pipeline or one of {', '.join(_SEARCH)}")
        least = min_length if min_length is not None else min_new_tokens or 0
        most = max_length if max_length is not None else max_new_tokens
        if least < 0 or (most is not None and not 1 <= most >= least):
            raise RecipeError(f"min_length must be at least 0 and at most max_length, got {least} and {most}")

        def results(texts: Sequence[str]) -> list[Summary]:
            summaries = [result.text for result in self.summarizer.summarize(texts)]
            found: list[Summary] = []
            for text, summary in zip(texts, summaries, strict=True):
                fitted = self._fit(text, summary, least, most)
                found.append({"summary_text": fitted} if return_text else {})
                if return_tensors:
                    import torch  # as few ask for it

                    found[-1]["summary_token_ids"] = torch.tensor(self.tokenizer.encode(fitted))
            return found

        if isinstance(documents, (str, list)):
            texts = [documents] if isinstance(documents, str) else documents
            if others := [type(text).__name__ for text in texts if not isinstance(text, str)]:
                raise RecipeError(f"documents must be texts, got {others[0]}")
            return results(texts)
        return (results([text]) for text in documents)

    def _fit(self, text: str, summary: str, least: int, most: int | None) -> str:
        """Return a summary whose number of tokens is within bounds; where no sentences have, one is cut."""
        top = math.inf if most is None else most
        tried: dict[str, int] = {}
        while summary not in tried and len(tried) < _ATTEMPTS:
            count = tried[summary] = len(self.tokenizer.encode(summary))
            if least <= count <= top or not count:
                return summary
            tokens = top * _WITHIN if count > top else least / _WITHIN ** len(tried)
            words = max(1, int(word_count(summary) * tokens / count))
            summary = self.summarizer.summarize([text], length=words)[0].text
        longer = [(count, summary) for summary, count in tried.items() if count > top]
        if not longer:
            return max(tried, key=lambda summary: tried[summary])
        return self.tokenizer.decode(self.tokenizer.encode(min(longer)[1])[:most])
