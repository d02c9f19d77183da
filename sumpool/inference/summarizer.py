"""Python API: summarise texts and files with a trained model; results with source spans."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypedDict, Unpack, final, overload

from pydantic import ValidationError

from sumpool.core.decoding.config import DecodingConfig
from sumpool.documents.document import Document
from sumpool.documents.read import join_documents, read_documents
from sumpool.errors import DataError, RecipeError
from sumpool.inference.loading import LoadedModel, load_for_generation
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.summary import Summary
from sumpool.recipe.load import error_messages
from sumpool.text.tokenizer import Tokenizer

Mode = Literal["extractive", "abstractive"]
Length = int | str
_Documents = Iterable[str | Path | Document]


class _Options(TypedDict, total=False):
    """Options of `Summarizer.summarize`, which describes them."""

    length: Length | None
    mode: Mode | None
    evidence: bool
    focus: str
    key_points: int
    sections: bool


@final
class Summarizer:
    """A trained model that summarises texts and files.

    Several threads may use one object: the model computes for one thread at a time, and everything else runs
    concurrently. Results do not depend on other threads, nor, on a CPU, on the other documents of a call; on a GPU
    batching may round the last digits of a score differently.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        """Use a loaded model; `load` is the usual constructor."""
        self._loaded = loaded
        self._lock = threading.Lock()

    @classmethod
    def load(cls, path: str | Path | None = None, *, overrides: Sequence[str] = ()) -> "Summarizer":
        """Load a model.

        Args:
            path: The run folder of the model, or "shipped"; None takes the run that `sumpool use` has marked in `runs`,
                or the shipped model if there is none.
            overrides: Settings of the model's recipe to change, each like `summarize.beams=1`.

        Raises:
            CheckpointError: If there is no model, or it is damaged.
            DataError: If its tokenizer or another file is damaged.
            RecipeError: If a setting is wrong.
        """
        return cls(load_for_generation(None if path is None else Path(path), overrides))

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the model."""
        return self._loaded.tokenizer

    @overload
    def summarize(  # type: ignore[overload-overlap]  # a str is an iterable of str, but here one text
        self, documents: str | Path, *, together: Literal[False] = False, **options: Unpack[_Options]
    ) -> Summary: ...

    @overload
    def summarize(
        self, documents: _Documents, *, together: Literal[False] = False, **options: Unpack[_Options]
    ) -> list[Summary]: ...

    @overload
    def summarize(self, documents: _Documents, *, together: Literal[True], **options: Unpack[_Options]) -> Summary: ...

    def summarize(
        self,
        documents: str | Path | _Documents,
        *,
        length: Length | None = None,
        mode: Mode | None = None,
        evidence: bool = False,
        focus: str = "",
        key_points: int = 0,
        sections: bool = False,
        together: bool = False,
    ) -> Summary | list[Summary]:
        """Summarise one document or several.

        Args:
            documents: A text (`str`) or a file (`Path`: .txt, .md or .jsonl, also with .gz or .zst), or an iterable of
                them, or of documents as `sumpool.documents` reads them. A folder or a file of JSON lines counts as
                all its documents.
            length: Length of the summaries: a number of words, "150w" (words), "5s" (sentences), "10%" (of the words of
                each document), or "short", "medium" or "long": half, once or twice the usual length of the model's
                summaries. Words are obeyed within 10 %, by whole sentences; where the model cannot write so much,
                sentences of the document are taken. None takes the settings of the model.
            mode: "abstractive" generates text, "extractive" selects sentences of the document. None takes the setting
                of the model.
            evidence: Whether results name the sources of each sentence.
            focus: Topic or question by which sentences of the document are selected; empty for none.
            key_points: Number of further sentences of the document.
            sections: Whether results have one or two sentences of each section.
            together: Whether an iterable of documents has one result, a digest of them all.

        Returns:
            The result of a single text or file, or of all documents together; else a list of results, in order. In a
            list, a document that cannot be summarised has a result with a reason.

        Raises:
            DataError: If a single document cannot be read, holds no text, or is several documents.
            RecipeError: If an argument is wrong.
            ResourceError: If memory runs out.
        """
        changes = {"focus": focus, "key_points": key_points, "sections": sections}
        is_single = isinstance(documents, str | Path)
        names = [documents] if isinstance(documents, str | Path) else documents
        if together:
            names = [join_documents(list(_read(names)))]
        results = list(self._results(names, length, mode, changes, evidence=evidence))
        if not is_single and not together:
            return results
        if len(results) != 1:
            raise DataError(f"{documents} must be one document, got {len(results)}; summarize([path]) takes several")
        if results[0].reason:
            raise DataError(results[0].reason)
        return results[0]

    def stream(
        self,
        documents: Iterable[str | Path],
        *,
        length: Length | None = None,
        mode: Mode | None = None,
        lookahead: int = 1,
    ) -> Iterator[Summary]:
        """Summarise documents one after the other, however many there are.

        Args:
            documents: Texts and files as in `summarize`; read only as fast as results are taken.
            length: As in `summarize`.
            mode: As in `summarize`.
            lookahead: Documents that are read before the first of them is summarised; more are batched, which is
                faster on a GPU.

        Yields:
            Results in the order of the documents; one with a reason for a document that cannot be summarised.

        Raises:
            RecipeError: If an argument is wrong.
            ResourceError: If memory runs out.
        """
        if lookahead < 1:
            raise RecipeError(f"lookahead must be at least 1 document, got {lookahead}")
        return self._results(documents, length, mode, {}, lookahead=lookahead)

    def _results(
        self,
        documents: _Documents,
        length: Length | None,
        mode: Mode | None,
        changes: Mapping[str, object],
        *,
        lookahead: int | None = None,
        evidence: bool = False,
    ) -> Iterator[Summary]:
        # wrong arguments are reported by the call itself, not by the first result
        if not isinstance(documents, Iterable):
            raise RecipeError(f"documents must be texts or files, got {type(documents).__name__}")
        given = {"mode": mode, "length": f"{length}w" if isinstance(length, int) else length}
        changed = {**changes, **{name: value for name, value in given.items() if value is not None}}
        try:
            config = DecodingConfig.model_validate({**self._loaded.recipe.summarize.model_dump(), **changed})
        except ValidationError as error:
            raise RecipeError("; ".join(error_messages(error, DecodingConfig))) from error
        recipe = self._loaded.recipe.model_copy(update={"summarize": config})
        summaries = Pipeline.of(replace(self._loaded, recipe=recipe)).summarize(
            _read(documents),
            evidence="sources" if evidence else None,
            lookahead=lookahead,
            model_lock=self._lock,
        )
        return (replace(summary, source=()) for summary in summaries)  # many times as long as a summary


def _read(documents: _Documents) -> Iterator[Document]:
    for number, document in enumerate(documents, 1):
        if isinstance(document, Document):
            yield document
        elif isinstance(document, Path):
            yield from read_documents(str(document))
        elif isinstance(document, str):
            yield Document(str(number), document)
        else:
            raise RecipeError(f"a document must be a str (text) or a Path (file), got {type(document).__name__}")
