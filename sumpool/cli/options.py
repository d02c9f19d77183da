"""Arguments and options common to several commands."""

import re
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from sumpool.errors import RecipeError
from sumpool.io.manifest import run_folder

LARGEST = 2**62
"""Largest number of options that have no limit of their own."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_SHOWN = 40
"""Characters of a value that a message shows."""


def whole_number(
    name: str,
    description: str,
    least: int = 1,
    most: int = LARGEST,
    *,
    metavar: str = "N",
    envvar: str | None = None,
) -> Any:  # noqa: ANN401 - as typer.Option
    """Return an option that takes a whole number within bounds; other values raise `RecipeError`."""

    def parse(value: str | int) -> int:
        text = str(value)
        if not _WHOLE.fullmatch(text) or not least <= int(text) <= most:
            rule = f"must be a whole number of at least {least} and at most {most}"
            raise RecipeError(f"{name} {rule}, got {_shorten(text)!r}")
        return int(text)

    return typer.Option(name, metavar=metavar, parser=parse, help=description, envvar=envvar)


def token_count(name: str, description: str) -> Any:  # noqa: ANN401 - as typer.Option
    """Return an option that takes the length of a document."""
    return whole_number(name, description, 1, 10_000_000, metavar="TOKENS")


def choice(name: str, words: object, description: str) -> Any:  # noqa: ANN401 - as typer.Option
    """Return an option that takes one of the words of a `Literal`; other values raise `RecipeError`."""
    values = get_args(words)

    def parse(value: str) -> str:
        if value not in values:
            raise RecipeError(f"{name} must be one of {', '.join(values)}, got {_shorten(value)!r}")
        return value

    return typer.Option(name, metavar="|".join(values), parser=parse, help=description)


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _find(path: Path) -> Path:
    from sumpool.recipe.files import find_recipe

    return find_recipe(path)


RecipePath = Annotated[
    Path,
    typer.Argument(
        metavar="RECIPE",
        help="A recipe file, or a name that `sumpool recipes` lists, such as quickstart.",
        callback=_find,
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="A.B=C", help="Change a setting of the recipe, such as train.steps=100; repeatable."),
]
RUN_HELP = "Run folder of the model, or shipped; default: the run that `sumpool use` has marked, else shipped."
Run = Annotated[Path | None, typer.Option("--model", metavar="RUN", help=RUN_HELP)]
RunFolder = Annotated[
    Path, typer.Argument(metavar="RUN", parser=run_folder, help="Run folder of the model, or shipped.")
]
Verify = Annotated[
    bool, typer.Option("--verify", help="Compare the prepared data with all its hashes; default: what has changed.")
]
VERIFY = "data.verify=true"
"""Setting of `--verify`."""
Documents = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE|FOLDER|-", help="Documents, JSON lines or folders; - or nothing reads standard input."
    ),
]
Glob = Annotated[str, typer.Option(metavar="PATTERN", help="File names to read from folders.")]
Field = Annotated[str | None, typer.Option(metavar="NAME", help="Field of the text in rows, such as JSON lines.")]
KeepReferences = Annotated[bool, typer.Option("--keep-references", help="Read references and appendices too.")]
MaxBytes = Annotated[int, whole_number("--max-bytes", "Largest file that is read, in bytes after decompression.")]
Password = Annotated[
    str, typer.Option(metavar="TEXT", envvar="SUMPOOL_PASSWORD", help="Password of encrypted PDF files.")
]
Ocr = Annotated[
    str,
    typer.Option(
        metavar="LANGUAGE", help="Recognise the text of scans by ocrmypdf, in languages such as eng or deu+fra."
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue where the same command was interrupted.")]
