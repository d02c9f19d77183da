"""Documents of a run's data that its model is evaluated on."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sumpool.corpora.split import SplitSummary
from sumpool.data.sources._base import Example, Split
from sumpool.data.texts import Texts
from sumpool.errors import DataError, RecipeError
from sumpool.evaluation.scorer import Candidate, ReferenceDocument
from sumpool.evaluation.task import EvaluationTask, file_sha256
from sumpool.inference.model_choice import SHIPPED
from sumpool.inference.summary import Summary
from sumpool.io.manifest import MODEL
from sumpool.progress import Check
from sumpool.recipe.schema import Recipe
from sumpool.runs.run_folder import prepared_data_of
from sumpool.runs.run_metrics import evaluation_folder


@dataclass(frozen=True)
class RunDocuments:
    """Documents of a run's data that its model is evaluated on.

    Attributes:
        run: The run folder.
        recipe: Its recipe with the settings that are changed.
        prepared: Folder of its data.
        split: Part of the data.
        texts: Documents of the split.
        indices: Those that are taken.
    """

    run: Path
    recipe: Recipe
    prepared: Path
    split: Split
    texts: Texts
    indices: Sequence[int]

    @classmethod
    def open(cls, run: Path, recipe: Recipe, split: Split, limit: int | None, check: Check) -> Self:
        """Verify the data of a run and open a split.

        Raises:
            RecipeError: If the limit is wrong, or there is no data.
            DataError: If the data is damaged, or the split is empty.
        """
        prepared = prepared_folder(run, recipe, check)
        texts = Texts.open(prepared, split)
        indices = spread(len(texts), limit)
        if not indices:
            raise DataError(f"{prepared / split} must hold documents to evaluate, got none; take another split")
        return cls(run, recipe, prepared, split, texts, indices)

    @property
    def results(self) -> Path:
        """Folder of the results if no other is named."""
        return evaluation_folder(Path() if self.run.resolve() == SHIPPED.resolve() else self.run, self.split)

    def task(self, candidates: Callable[[Set[str]], Iterator[Candidate]]) -> EvaluationTask:
        """Return the evaluation of the documents with their summaries, as `EvaluationTask` takes them."""
        return EvaluationTask(
            system=self.recipe.name,
            folder=self.results,
            documents=len(self.indices),
            split=self.split,
            candidates=candidates,
            references=lambda: _read_references(self.texts, self.indices),
            identity={
                "model": file_sha256(self.run / MODEL),
                "data": file_sha256(self.prepared / self.split / "texts.jsonl"),
                "documents": f"{len(self.indices)} of {self.split}",
                **({"files": self.recipe.evaluate.files} if self.recipe.evaluate.files else {}),
                "decoding": self.recipe.summarize.model_dump_json(exclude={"batch_tokens"}),
            },
        )


def prepared_folder(run: Path, recipe: Recipe, check: Check) -> Path:
    """Return the verified prepared data of a model; an imported model has none unless the settings name it."""
    if recipe.data.source is None and recipe.data.prepared is None:
        raise RecipeError(
            f"data.prepared must be a folder of prepared data, got nothing: {run} was imported and has no "
            "documents of its own; name some with --set data.prepared=FOLDER"
        )
    return prepared_data_of(run, recipe, check)


def candidate_of(example: Example, summary: Summary | SplitSummary) -> Candidate:
    """Return a document with its summary, to be scored."""
    share_read = summary.tokens_read / summary.tokens_total if summary.tokens_total else 1.0
    return Candidate(example.id, summary.summary, example.summary, example.document, share_read, summary.mode)


def _read_references(texts: Texts, indices: Iterable[int]) -> Iterator[ReferenceDocument]:
    for example in map(texts.__getitem__, indices):
        yield ReferenceDocument(example.id, example.summary, example.document)


def spread(documents: int, limit: int | None) -> list[int]:
    """Indices of evenly spread documents, since their order often has a meaning (the oldest first)."""
    if limit is not None and limit < 1:
        raise RecipeError(f"the limit must be at least 1 document, got {limit}")
    count = documents if limit is None else min(limit, documents)
    return [number * documents // count for number in range(count)]
