"""`sumpool sample`: print a bundled document."""

import re
import textwrap
from typing import Annotated

import typer

from sumpool.errors import DataError
from sumpool.text.cleaning import escape

_WIDTH = 90
"""Characters of an abstract in the list."""


def sample(
    id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Document, such as RFC2587; default: list the test split.")
    ] = None,
    reference: Annotated[
        bool, typer.Option("--reference", help="Print the authors' abstract instead of the document.")
    ] = False,
) -> None:
    """Print a bundled RFC as a model reads it: without page headers, boilerplate and its own abstract.

    To summarise it: sumpool sample RFC2587 | sumpool summarize

    Numbers that end in 7 are the test split; neither quickstart nor the shipped model is trained on them.
    """
    from sumpool.data.sources import RfcSourceConfig

    if id is None:
        for row in RfcSourceConfig().examples("test"):
            typer.echo(escape(f"{row.id:<8} {textwrap.shorten(row.summary, _WIDTH, placeholder=' ...')}"))
        return
    number = re.fullmatch(r"(?:RFC)?([1-9]\d{0,8})", id, re.IGNORECASE | re.ASCII)
    example = RfcSourceConfig().example(int(number[1])) if number else None
    if not example:
        raise DataError(f"{id} must be a document of the bundled sample, such as RFC2587, got none")
    typer.echo(escape(example.summary if reference else example.document))
