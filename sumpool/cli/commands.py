"""The commands of `sumpool`, of which only the one that is called is imported, as all take most of the start."""

from collections.abc import Callable
from typing import Any, Final, final

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS: Final = {
    "prepare": "Prepare the data of a recipe and print statistics.",
    "train": "Train a model, or resume an interrupted run.",
    "summarize": "Summarise documents with a trained model.",
    "serve": "Summarise over HTTP: a web page, and POST /v1/summaries.",
    "classify": "Label documents with a trained classifier.",
    "generate": "Write text with a language model, from a prompt or from nothing.",
    "evaluate": "Score summaries with ROUGE, beside baselines.",
    "bench": "Measure speed and memory of a model by length.",
    "study": "Reproduce a table or figure of a paper, or list what can be reproduced.",
    "export": "Copy a model without checkpoints and logs, to pass it on.",
    "push": "Export a model and upload it to the Hugging Face hub.",
    "prune": "List the importance of attention heads, and mask the least important.",
    "init": "Write a recipe for your documents.",
    "mark": "Write a sheet for each document, on which a reader marks what a summary should consist of.",
    "recipes": "List the recipes that come with sumpool, or print one.",
    "sample": "Print a bundled RFC as a model reads it.",
    "runs": "List runs, the newest first.",
    "show": "Describe a run.",
    "import": "Import a pretrained BART, LED, Marian, mBART or PEGASUS.",
}
"""Commands in the order of the help, and the first line of the help of each."""


def load(name: str) -> Callable[..., None]:  # noqa: C901 - one branch a command
    """Import the function of a command."""
    match name:
        case "prepare":
            from sumpool.cli.prepare import prepare

            return prepare
        case "train":
            from sumpool.cli.train import train

            return train
        case "summarize":
            from sumpool.cli.summarize import summarize

            return summarize
        case "serve":
            from sumpool.cli.serve import serve

            return serve
        case "classify":
            from sumpool.cli.classify import classify

            return classify
        case "generate":
            from sumpool.cli.generate import generate

            return generate
        case "evaluate":
            from sumpool.cli.evaluate import evaluate

            return evaluate
        case "bench":
            from sumpool.cli.bench import bench

            return bench
        case "study":
            from sumpool.cli.study import study

            return study
        case "export":
            from sumpool.cli.export import export

            return export
        case "push":
            from sumpool.cli.push import push

            return push
        case "prune":
            from sumpool.cli.prune import prune

            return prune
        case "init":
            from sumpool.cli.init import init

            return init
        case "mark":
            from sumpool.cli.mark import mark

            return mark
        case "recipes":
            from sumpool.cli.recipes import recipes

            return recipes
        case "sample":
            from sumpool.cli.sample import sample

            return sample
        case "runs":
            from sumpool.cli.runs import runs

            return runs
        case "show":
            from sumpool.cli.show import show

            return show
        case "import":
            from sumpool.cli.import_model import import_model

            return import_model
    raise ValueError(f"name must be one of {', '.join(COMMANDS)}, got {name!r}")


@final
class Commands(TyperGroup):
    """Group of commands whose functions are imported when they are called."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - as typer passes them
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()} | dict(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - types that typer keeps private
        """Return the command that is called, imported, with its name and arguments."""
        if args[0] in COMMANDS:
            own = typer.Typer(add_completion=False, rich_markup_mode=None)
            own.command(args[0])(load(args[0]))
            self.commands[args[0]] = typer.main.get_command(own)
        return super().resolve_command(ctx, args)
