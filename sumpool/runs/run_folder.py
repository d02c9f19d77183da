"""Run folder: made for one recipe and one set of prepared data, never used for others, locked while it is trained."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from sumpool.data.config import Split
from sumpool.data.prepared_folder import content_digest, find_by_content, verify_prepared
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.io.atomic import disk_errors, remove_temporary, replace_file, replace_folder, temporary_path
from sumpool.io.lock import HOLDER_SUFFIX, locked, locked_for_writing
from sumpool.io.manifest import MODEL, RECIPE, REPORT, FileDigest, Manifest
from sumpool.io.manifest import NAME as MANIFEST
from sumpool.io.replaceable import is_free, other_content, replace_listed_file
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.recipe.load import dump_recipe, load_any_recipe
from sumpool.recipe.schema import BaseRecipe
from sumpool.recipe.task import find_task
from sumpool.text.tokenizer import tokenizer_files
from sumpool.training.checkpoint import TrainingState
from sumpool.training.config import TrainConfig
from sumpool.training.processes import Processes
from sumpool.training.update import schedule_factor

LOCK = ".lock"
_WITHOUT_MANIFEST = {LOCK, LOCK + HOLDER_SUFFIX}
"""Files that a run may have before its manifest."""
MUTABLE_SETTINGS = (
    "select.",  # the ranker is fitted after training
    "data.",  # the content of the prepared data is compared instead
    "summarize.",
    "evaluate.",
    "bench.",
    "train.device",
    "train.validate_every",
    "train.rouge_documents",
    "train.patience",
    "train.auto_batch",
    "train.parallel",
    "train.checkpoint_activations",
    "train.checkpoint_every",
    "train.keep",
    "train.allow_shared_texts",
    "train.log",
)
"""Prefixes of settings that may change when a run is resumed, because no past update depends on them."""
ENDLESS_SCHEDULES = ("constant", "inverse_sqrt")
"""Schedules that do not depend on train.steps, which may then also be lowered; it may always be raised."""


@contextmanager
def opened(run: Path, recipe: BaseRecipe, prepared: Path, processes: Processes, report: Report) -> Iterator[bool]:
    """Lock a run folder for the duration of a block, and begin or open its run.

    Args:
        run: The folder.
        recipe: The recipe.
        prepared: Folder of the prepared data.
        processes: The processes of the training, of which the first one opens the folder.
        report: Receives a note if a finished run continues to a later end.

    Yields:
        Whether the run has ended.

    Raises:
        RecipeError: If the folder holds something else, or the run of another recipe.
        DataError: If it holds a run with other data.
        CheckpointError: If it is damaged, or another process holds the lock.
        ResourceError: If the disk is full or fails.
    """
    if processes.is_main:
        require_run_folder(run)
        with disk_errors(run):
            run.mkdir(parents=True, exist_ok=True)

    def refuse(holder: str) -> None:
        raise CheckpointError(
            f"{run} must be used by one run at a time, but process {holder} is training there: "
            "wait for it, stop it, or give another folder with --out"
        )

    with locked(run / LOCK, refuse) if processes.is_main else nullcontext():
        yield processes.from_main(lambda: _open(run, recipe, prepared, report))


def require_run_folder(run: Path) -> None:
    """Check that a folder may hold a run: it is new, empty, or has the manifest of a run.

    Raises:
        RecipeError: If it is a file or holds something else; nothing is changed.
    """
    other = other_content(run, "run", _WITHOUT_MANIFEST)
    if other:
        raise RecipeError(f"{run} must be new, empty or the folder of a run, got {other}: name another with --out")


def _open(run: Path, recipe: BaseRecipe, prepared: Path, report: Report) -> bool:
    """Begin the run of a recipe with its data, or open the run that they have begun; return whether it has ended."""
    note = ""
    data = recipe.data.model_copy(update={"prepared": prepared, "verify": False})
    recipe = recipe.model_copy(update={"data": data})
    with disk_errors(run):
        remove_temporary(run)
        if (run / MANIFEST).exists() and Manifest.read(run).files:
            note = _continue(run, recipe, prepared)
        else:
            # The manifest lists the files as incoming ones until they are complete.
            copied = (*(path.name for path in tokenizer_files(prepared)), REPORT, *find_task(recipe.task).files)
            contents = {RECIPE: dump_recipe(recipe).encode()}
            contents |= {name: (prepared / name).read_bytes() for name in copied}
            files = {name: FileDigest.of_bytes(content) for name, content in contents.items()}
            Manifest({}, incoming=files).write(run)
            for name, content in contents.items():
                replace_file(run / name, content)
            Manifest(files, {"data": content_digest(prepared)}).write(run)
    facts = Manifest.read(run).facts
    patience, stale = recipe.train.patience, facts.get("stale_validations", 0)
    if "finished" in facts and (facts["finished"] >= recipe.train.steps or 0 < patience <= stale):
        return True
    if note:
        report(Progress("train", note=note))
    return False


def extension_note(before: int, config: TrainConfig) -> str:
    """Describe how settings move the end of a run of so many steps to a later one; empty if they do not."""
    after, schedule = config.steps, config.schedule
    if after <= before or not before:
        return ""
    note = f"train.steps is raised from {before:,} to {after:,}"
    if schedule.kind in ENDLESS_SCHEDULES:
        return f"{note}; the result is that of an uninterrupted run"
    old, new = (config.learning_rate * schedule_factor(before - 1, schedule, steps) for steps in (before, after))
    return (
        f"{note}: the {schedule.kind} schedule is now that of {after:,} steps, so that the learning rate rises from "
        f"{old:.2g} to {new:.2g}; the result is not that of an uninterrupted run"
    )


def _continue(run: Path, recipe: BaseRecipe, prepared: Path) -> str:
    """Compare the run in the folder with recipe and data, save the settings that may change, and note a later end."""
    manifest = Manifest.read(run)
    manifest.verify(run, manifest.files.keys() - {MODEL})  # weights are verified where they are loaded
    before = load_any_recipe(run / RECIPE)
    changed = differences(before, recipe)
    if changed:
        raise RecipeError(
            f"{run} must go on with the recipe that it began with, got {', '.join(changed)}: "
            "put these back, or train into another folder with --out"
        )
    if manifest.facts.get("data") != content_digest(prepared):
        raise DataError(
            f"{run} must go on with the data that it began with, but {prepared} holds other data: "
            "name the old folder as data.prepared, or train into another folder with --out"
        )
    text = dump_recipe(recipe)
    if (run / RECIPE).read_text(encoding="utf-8") != text:
        temporary_path(run / RECIPE).write_text(text, encoding="utf-8")
        replace_listed_file(run / RECIPE, {})
    return extension_note(before.train.steps, recipe.train)


def differences(before: BaseRecipe, now: BaseRecipe) -> list[str]:
    """List the changed settings of a run that must not change, with both values."""
    old, new = (dict(_settings(recipe.model_dump(mode="json"))) for recipe in (before, now))
    mutable = set(MUTABLE_SETTINGS)
    if now.train.steps > before.train.steps or now.train.schedule.kind in ENDLESS_SCHEDULES:
        mutable.add("train.steps")
    if now.train.select_by != "loss":
        mutable.remove("train.rouge_documents")  # scores of other documents cannot be compared
    changed = [key for key in (*old, *(new.keys() - old.keys())) if old.get(key) != new.get(key)]
    return [
        f"{key} {new.get(key)!r} instead of {old.get(key)!r}" for key in changed if not key.startswith(tuple(mutable))
    ]


def _settings(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any JSON
    """Yield the leaves of a recipe with their dotted paths."""
    match tree:
        case dict():
            for key, value in tree.items():
                yield from _settings(value, f"{path}.{key}" if path else key)
        case list() if any(isinstance(value, dict) for value in tree):
            for number, value in enumerate(tree):
                yield from _settings(value, f"{path}[{number}]")
        case _:
            yield path, tree


def require_new(folder: Path) -> None:
    """Check that a folder is new or empty.

    Raises:
        RecipeError: If there is something in it, or it cannot be replaced.
    """
    if not is_free(folder, "name another folder"):
        raise RecipeError(f"{folder} must be new or an empty folder, got other content; name another folder")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Make a folder, new or empty, that appears when it is complete.

    Yields:
        The folder to fill.

    Raises:
        RecipeError: If there is something in it by now, or another process makes it.
        ResourceError: If the disk is full or fails.
    """
    with disk_errors(folder):
        folder.resolve().parent.mkdir(parents=True, exist_ok=True)
    with locked_for_writing(folder, "name another folder"):
        require_new(folder)
        with disk_errors(folder), replace_folder(folder.resolve()) as new:
            yield new


def finish(run: Path, state: TrainingState) -> None:
    """Record in the manifest that a run has ended.

    Raises:
        CheckpointError: If the manifest is broken.
        ResourceError: If the disk is full or fails.
    """
    manifest = Manifest.read(run)
    facts = {**manifest.facts, "finished": state.step, "stale_validations": state.stale_validations}
    with disk_errors(run):
        Manifest(manifest.files, facts, manifest.incoming).write(run)


def prepared_data_of(run: Path, recipe: BaseRecipe, check: Check = no_op) -> Path:
    """Return the folder with the prepared data of a run after verifying its files.

    The folder in the recipe is taken if it exists or the caller has named it; otherwise a folder beside it with the
    content that the run was trained on, whatever its name.

    Args:
        run: The run folder.
        recipe: Its recipe, with the overrides of the caller.
        check: Called while files are hashed.

    Raises:
        DataError: If the folder is missing or no prepared data, or a file in it is damaged.
        RecipeError: If the model was imported, and the settings name no folder.
    """
    folder = recipe.prepared_folder
    named = recipe.data.prepared
    if named is None and recipe.data.source is None:
        raise RecipeError(
            f"data.prepared must be a folder of prepared data, got nothing: {run} was imported and has no documents of "
            "its own; name some with --set data.prepared=FOLDER"
        )
    if not named or (not folder.is_dir() and named == load_any_recipe(run).data.prepared):
        with suppress(CheckpointError):  # loading the run reports the damage
            digest = Manifest.read(run).facts.get("data")
            folder = (find_by_content(digest, folder.parent) if digest else None) or folder
    if not folder.is_dir():
        raise DataError(
            f"{folder} must be the prepared data of {run}, but there is no such folder; run sumpool prepare, or name "
            "it with --set data.prepared=FOLDER"
        )
    verify_prepared(folder, full=recipe.data.verify, check=check)
    return folder


def evaluation_folder(run: Path, split: Split) -> Path:
    """Return the folder of a run that an evaluation of a split writes to by default."""
    return run / "evaluation" / split


def spread(documents: int, limit: int | None) -> list[int]:
    """Indices of evenly spread documents, since their order often has a meaning (the oldest first)."""
    if limit is not None and limit < 1:
        raise RecipeError(f"the limit must be at least 1 document, got {limit}")
    count = documents if limit is None else min(limit, documents)
    return [number * documents // count for number in range(count)]
