"""`sumpool sample`: print a bundled document."""

from typing import Annotated

import typer

from sumpool.text.escaping import escape


def sample(
    id: Annotated[str, typer.Argument(metavar="ID", help="Document, such as RFC2587.")],
    reference: Annotated[
        bool, typer.Option("--reference", help="Print the authors' abstract instead of the document.")
    ] = False,
) -> None:
    """Print a bundled RFC as a model reads it: without page headers, boilerplate and its own abstract.

    To summarise it: sumpool sample RFC2587 | sumpool summarize

    Numbers that end in 7 are the test split; neither quickstart nor the shipped model is trained on them.
    """
    from sumpool.workflows.sample import sample_document

    example = sample_document(id)
    typer.echo(escape(example.summary if reference else example.document))
