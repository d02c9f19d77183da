"""`sumpool generate`: text written by a language model, shown as it is generated."""

import json as json_lines
import sys
from pathlib import Path
from typing import Annotated

import typer

from sumpool.cli.console import working
from sumpool.cli.options import MOST_TOKENS, Changes, whole_number
from sumpool.errors import DataError, RecipeError
from sumpool.text.cleaning import escape, escape_line

_MOST_BYTES = 1 << 24
"""Longest prompt."""
_STDIN = "-"


def generate(
    run: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="Run folder of the language model; default: the newest one.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Argument(metavar="[PROMPT]", help="Beginning of the text; - reads standard input.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read the beginning of the text from a file; - is stdin.")
    ] = None,
    length: Annotated[int | None, whole_number("--length", "Characters to write, or tokens.", 1, MOST_TOKENS)] = None,
    temperature: Annotated[
        str | None,
        typer.Option(metavar="T", help="Temperature; 1 is the model's distribution, 0 takes the likeliest token."),
    ] = None,
    seed: Annotated[int | None, whole_number("--seed", "Seed of the first text.", 0, 2**31 - 1)] = None,
    count: Annotated[int, whole_number("--count", "Texts; each has its own seed.", 1, 100_000)] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per text.")] = False,
    changes: Changes = None,
) -> None:
    """Write text with a language model, from a prompt or from nothing.

    Prints prompt and text as it is generated, token by token. The prompt is normalised as the training text was;
    characters that the vocabulary lacks are named. Equal seeds give equal texts.
    """
    from sumpool.progress import Progress
    from sumpool.tasks.language_modeling.generation import generate as run_generate

    if prompt is not None and file:
        raise RecipeError("a prompt must be given once, got an argument and --file")
    if count > 1 and seed is not None and seed + count > 2**31:
        raise RecipeError(f"--seed must leave {count:,} seeds up to {2**31 - 1}, got {seed}")
    beginning = _read(prompt, file)
    shortcuts = {"length": length, "temperature": temperature, "seed": seed}
    assignments = [f"generate.{name}={value}" for name, value in shortcuts.items() if value is not None]
    with working() as output:
        texts = run_generate(
            run,
            beginning,
            count,
            overrides=[*(changes or ()), *assignments],
            report=output.report,
            check=output.check,
        )
        for number, text in enumerate(texts):
            if json:
                row = {"prompt": text.prompt, "text": "".join(text.parts), "seed": text.seed, "tokens": text.tokens}
                output.result(escape_line(json_lines.dumps(row, ensure_ascii=False)))
                continue
            if count > 1:
                output.report(Progress("generate", note=f"text {number + 1:,} of {count:,}, seed {text.seed}"))
            try:
                show(text.prompt)
                for part in text.parts:
                    show(part)
            finally:  # the line of a text ends, also of one that a signal stops
                sys.stdout.write("\n")
                sys.stdout.flush()


def show(text: str) -> None:
    """Write a part of a text, without effect on the terminal, and without waiting for the rest."""
    sys.stdout.write(escape(text))
    sys.stdout.flush()


def _read(prompt: str | None, file: Path | None) -> str:
    """Return the beginning of the text; empty without one.

    Raises:
        DataError: If it cannot be read, is too long, or is not UTF-8.
    """
    from sumpool.documents.files import open_input

    name = str(file) if file else prompt
    if name is None or (name != _STDIN and not file):
        return name or ""
    try:
        if name == _STDIN:
            data = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with open_input(Path(name)) as stream:
                data = stream.read(_MOST_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise DataError(f"{name} must be a file that can be read, got: {error.strerror}; check the path") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{name} must be text in UTF-8, got other bytes at {error.start:,}; convert it") from error
    if len(data) > _MOST_BYTES:
        raise DataError(f"{name} must have at most {_MOST_BYTES:,} bytes, got more; give the end of it")
    return text
