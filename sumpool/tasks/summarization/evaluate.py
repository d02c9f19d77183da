"""Evaluation of systems on the same documents: models of runs, and summaries from anywhere."""

import ctypes
import textwrap
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from html import escape
from io import BytesIO
from itertools import groupby, tee
from pathlib import Path
from typing import Final, Literal

from sumpool.data.config import Split
from sumpool.data.shards import Texts
from sumpool.documents.document import DEFAULT_OPTIONS, Document, TextBlock
from sumpool.documents.formats import check_libraries
from sumpool.documents.formats.text import text_spans
from sumpool.documents.read import parse_documents
from sumpool.errors import DataError, RecipeError
from sumpool.evaluation.predictions import References, join
from sumpool.evaluation.report import EvaluationReport
from sumpool.evaluation.rouge import EvaluationConfig
from sumpool.evaluation.scorer import Candidate, ReferenceDocument
from sumpool.evaluation.scores import SCORES
from sumpool.evaluation.task import IN_THE_RUN, EvaluationTask, Results, evaluate_tasks, file_sha256
from sumpool.inference.loading import LoadedModel, find_model, load_for_generation
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import choose_model
from sumpool.io.manifest import MODEL, SHIPPED
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.recipe.load import load_settings
from sumpool.recipe.schema import Recipe
from sumpool.runs.run_folder import evaluation_folder, prepared_data_of, spread
from sumpool.settings import Settings

_BASELINE_ROWS = ("LEAD", "LexRank", "TextRank", "random", "oracle")


def evaluate_systems(
    targets: Sequence[Path] = (),
    split: Split = "test",
    *,
    references: Path | None = None,
    names: Sequence[str] = (),
    skip_missing: bool = False,
    overrides: Sequence[str] = (),
    limit: int | None = None,
    results: Results = IN_THE_RUN,
    report: Report = no_op,
    check: Check = no_op,
) -> EvaluationReport:
    """Score the summaries of models and of files on the same documents, and make one table of all systems.

    Args:
        targets: The systems: run folders, whose models summarise the documents; files of summaries (JSON lines, CSV,
            TSV, or a summary per line); and, but for the first, folders of results. None takes
            the model that summarises by default.
        split: Part of the prepared data of the first run, whose documents all systems are scored on.
        references: File of documents with references, if no system is a run.
        names: Names of the systems in their order; others are named after their folders and files.
        skip_missing: Whether documents without a summary in a file are left out instead of an error.
        overrides: Settings to change, each like `summarize.beams=1`; without a run, of section `evaluate` alone.
        limit: Documents to take, evenly spread; None takes all.
        results: Destination of the results; by default `evaluation/<split>` in a run folder, or in the working
            directory for the shipped model, and `<name>-evaluation` beside a file, anew.
        report: Called with progress.
        check: Called between documents; when it raises, the scores so far are kept.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting, a name or the limit is wrong, or the folder of the results holds anything else.
        DataError: If the prepared data is missing, a row cannot be used, files do not fit together, or the results to
            resume are of another evaluation.
        ResourceError: If the disk is full or fails.
    """
    # 1. Find the systems, so that all their errors appear now.
    systems = [*targets] or [choose_model()]
    against = Path(results.against)
    if results.against and results.against not in names and against not in systems and against.exists():
        systems.append(against)
    files = [path for path in systems if references or path.is_file()]
    scored = [path for path in systems if (path / SCORES).is_file()]
    runs = {path: find_model(path, overrides) for path in systems if path not in (*files, *scored)}
    if systems[0] not in (*files, *runs):
        raise RecipeError(f"{systems[0]} must come after a run or a file of summaries, got results of an evaluation")
    named = _names(systems, names)
    compared = named[systems.index(against)] if results.against and against in systems else results.against
    if compared not in ("", *named) and not compared.startswith(_BASELINE_ROWS):
        raise RecipeError(f"--against must be a system ({', '.join(named)}) or a baseline, got {compared}")

    # 2. Open the documents, those of the first run that has its own.
    if references:
        documents = References.of_file(references)
        config = load_settings("--set", EvaluationSettings, {}, overrides).evaluate
        data = file_sha256(references)
    elif runs:
        # A model that was imported, or is the shipped one, comes without its data.
        folder, recipe = min(
            runs.values(),
            key=lambda run: (
                (run[1].data.source is None and run[1].data.prepared is None) or run[0].resolve() == SHIPPED.resolve()
            ),
        )
        config = next(iter(runs.values()))[1].evaluate
        prepared = prepared_data_of(folder, recipe, check)
        documents = _prepared_references(prepared, split, None if files else limit)
        data = file_sha256(prepared / split / "texts.jsonl")
    else:
        raise RecipeError(f"{files[0]} must come with --references FILE or a run, got a file alone")
    wanted = {documents.ids[index] for index in spread(len(documents.ids), limit)}

    def task_of(system: str, path: Path) -> EvaluationTask:
        if path in runs:
            return _task_of_run(system, *runs[path], documents, wanted, split, overrides, data, check)
        if path in files:
            joined = join(path, documents, skip_missing=skip_missing)
            return _task_of_file(system, path, joined, documents, wanted, data)
        return EvaluationTask(system, path, len(wanted), None, documents.read, {})

    # 3. Score each document, then make the table.
    tasks = [task_of(system, path) for system, path in zip(named, systems, strict=True)]
    for note in dict.fromkeys(note for task in tasks for note in task.notes):
        report(Progress("evaluate", note=note))
    return evaluate_tasks(tasks, config, replace(results, against=compared), report, check)


def _names(systems: Sequence[Path], chosen: Sequence[str]) -> list[str]:
    """Names of the systems: the chosen ones, then those of folders and files, or their paths where these repeat."""
    if len(chosen) > len(systems):
        raise RecipeError(f"--as must be given at most once per system, got {len(chosen)} for {len(systems)}")
    short = []
    for path in systems:
        folder = path.resolve()
        if path.is_dir() and (path / SCORES).is_file() and folder.parent.name == "evaluation":
            folder = folder.parent.parent  # the run that these results lie in
        short.append(folder.name if path.is_dir() else path.name.split(".")[0])
    names = [name if short.count(name) == 1 else str(path) for name, path in zip(short, systems, strict=True)]
    names[: len(chosen)] = chosen
    if len({*names}) < len(names) or not all(names):
        raise RecipeError(f"systems must have different names, got {', '.join(names)}; name them with --as")
    return names


def _prepared_references(prepared: Path, split: Split, limit: int | None) -> References:
    """Documents of a prepared split, evenly spread."""
    texts = Texts(prepared, split)
    indices = spread(len(texts), limit)
    if not indices:
        raise DataError(f"{prepared / split} must hold documents to evaluate, got none; take another split")

    def read() -> Iterator[ReferenceDocument]:
        for example in map(texts.__getitem__, indices):
            yield ReferenceDocument(example.id, example.summary, example.document)

    return References(prepared / split, "prepared data", True, [document.id for document in read()], read)


def _task_of_run(
    system: str,
    folder: Path,
    recipe: Recipe,
    documents: References,
    wanted: Set[str],
    split: Split,
    overrides: Sequence[str],
    data: str,
    check: Check,
) -> EvaluationTask:
    """Summaries that a model writes when they are asked for; it is loaded for that time only."""

    def candidates(done: Set[str]) -> Iterator[Candidate]:
        if wanted <= done:
            return iter(())
        rest = (document for document in documents.read() if document.id in wanted - done)
        return _summarize(rest, load_for_generation(folder, overrides), check)

    return EvaluationTask(
        system=system,
        folder=evaluation_folder(Path() if folder.resolve() == SHIPPED.resolve() else folder, split),
        documents=len(wanted),
        candidates=candidates,
        references=lambda: (document for document in documents.read() if document.id in wanted),
        identity={
            "model": file_sha256(folder / MODEL),
            "data": data,
            "documents": f"{len(wanted)} of {split}",
            **({"files": recipe.evaluate.files} if recipe.evaluate.files else {}),
            "decoding": recipe.summarize.model_dump_json(exclude={"batch_tokens"}),
        },
    )


def _task_of_file(
    system: str,
    path: Path,
    joined: tuple[dict[str, str], list[str]],
    documents: References,
    wanted: Set[str],
    data: str,
) -> EvaluationTask:
    """Summaries in a file."""
    all_summaries, notes = joined
    summaries = {id: summary for id, summary in all_summaries.items() if id in wanted}

    def references() -> Iterator[ReferenceDocument]:
        return (document for document in documents.read() if document.id in summaries)

    def candidates(done: Set[str]) -> Iterator[Candidate]:
        for document in references():
            if document.id not in done:
                yield Candidate(document, summaries[document.id])

    return EvaluationTask(
        system=system,
        folder=path.with_name(f"{path.name.split('.')[0]}-evaluation"),
        documents=len(summaries),
        candidates=candidates,
        references=references,
        identity={"summaries": file_sha256(path), "references": data, "documents": str(len(summaries))},
        notes=notes,
    )


class EvaluationSettings(Settings):
    """Settings of an evaluation without a run."""

    evaluate: EvaluationConfig = EvaluationConfig()


def _summarize(references: Iterable[ReferenceDocument], loaded: LoadedModel, check: Check) -> Iterator[Candidate]:
    """Summarise documents in their order; at most some hundred are read ahead."""
    read, same = tee(references)
    files = loaded.recipe.evaluate.files
    documents = (
        read_as_file(each.id, each.document or "", files) if files else Document(each.id, each.document or "")
        for each in read
    )
    summaries = Pipeline.of(loaded).summarize(documents, check=check)
    for summary, reference in zip(summaries, same, strict=True):
        share_read = summary.tokens_read / summary.tokens_total if summary.tokens_total else 1.0
        yield Candidate(reference, summary.text, share_read, summary.mode)


FileFormat = Literal["text", "html", "pdf"]
_SUFFIX: Final = {"text": ".txt", "html": ".html", "pdf": ".pdf"}
_TAGS: Final = {"paragraph": "p", "caption": "p", "notice": "p", "list_item": "li", "table_row": "p", "code": "pre"}
_COLUMNS = 88
"""Characters of a line of a PDF page."""
_PAGE, _TEXT_HEIGHT = (595, 842), 690
"""Points of a PDF page, and of its height those that hold lines."""


def read_as_file(id: str, text: str, kind: FileFormat) -> Document:
    """Return a text as it is read from a file of a format.

    Args:
        id: Name of the document.
        text: The text.
        kind: Format of the file.
    """
    content = _pdf(text) if kind == "pdf" else _html(text) if kind == "html" else text.encode()
    (document,) = parse_documents(f"{id}{_SUFFIX[kind]}", _SUFFIX[kind], lambda: content, DEFAULT_OPTIONS)
    return document


def _parts(text: str) -> Iterator[TextBlock]:
    for block, _ in text_spans(text):
        yield block if block.kind == "code" else replace(block, text=" ".join(block.text.split()))


def _html(text: str) -> bytes:
    body = ""
    for is_list, group in groupby(_parts(text), key=lambda block: block.kind == "list_item"):
        elements = ""
        for block in group:
            tag = f"h{min(max(block.level, 1) + 1, 6)}" if block.kind == "heading" else _TAGS[block.kind]
            elements += f"<{tag}>{escape(block.text)}</{tag}>\n"
        body += f"<ul>\n{elements}</ul>\n" if is_list else elements
    return f'<!doctype html><html><head><meta charset="utf-8"></head><body>\n{body}</body></html>'.encode()


def _pdf(text: str) -> bytes:
    """Write pages of one column in Helvetica, whose characters are those of Windows-1252; others become "?"."""
    check_libraries("pdf")
    from pypdfium2 import PdfDocument, raw  # here, as few evaluations need it

    file = PdfDocument.new()
    pages, height = [file.new_page(*_PAGE)], 0
    for block in _parts(text):
        font, size, leading = (b"Helvetica-Bold", 14, 22) if block.kind == "heading" else (b"Helvetica", 10, 12)
        part = f"\u2022 {block.text}" if block.kind == "list_item" else block.text
        lines = textwrap.wrap(part, _COLUMNS) if block.kind != "code" else part.splitlines()
        for line in ["", *lines]:
            if height + leading > _TEXT_HEIGHT:
                pages.append(file.new_page(*_PAGE))
                height = 0
            height += leading
            shown = line.encode("cp1252", "replace").decode("cp1252") + "\0"
            characters = (ctypes.c_ushort * len(shown))(*map(ord, shown))
            placed = raw.FPDFPageObj_NewTextObj(file, font, size)
            raw.FPDFText_SetText(placed, characters)
            raw.FPDFPageObj_Transform(placed, 1, 0, 0, 1, 72, 770 - height)
            raw.FPDFPage_InsertObject(pages[-1], placed)
    for page in pages:
        page.gen_content()
    content = BytesIO()
    file.save(content)
    return content.getvalue()
