"""The `sumpool` command: its subcommands, standard streams that are closed or lack characters, and errors."""

import atexit
import codecs
import errno
import gc
import os
import re
import sys
from collections.abc import Callable
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, Final, final

import typer
from typer.core import TyperCommand, TyperGroup

from sumpool import __version__
from sumpool.cli.console import discard_output, print_message, wrapped
from sumpool.errors import (
    Interrupted,
    RecipeError,
    ResourceError,
    SumpoolError,
    advise_smaller_batches,
    first_line,
    is_out_of_memory,
)
from sumpool.io.manifest import SHIPPED
from sumpool.text.cleaning import escape_characters

READER_GONE: Final = 141
"""Exit code if the reader of standard output has ended, as that of a process stopped by SIGPIPE."""
COMMANDS: Final = {
    "prepare": "Prepare the data of a recipe and print statistics.",
    "train": "Train a model, or resume an interrupted run.",
    "summarize": "Summarise documents with a trained model.",
    "convert": "Convert documents to Markdown: what was read of them, and what a summary rests on.",
    "serve": "Summarise over HTTP: a web page, and POST /v1/summaries.",
    "mcp": "Offer the tools summarise and evidence to agents, over the Model Context Protocol.",
    "classify": "Label documents with a trained classifier.",
    "evaluate": "Score summaries of one or several systems with ROUGE, beside baselines.",
    "bench": "Measure speed and memory of a model by length.",
    "study": "Reproduce a table or figure of a paper, or list what can be reproduced.",
    "export": "Copy a model without checkpoints and logs, to pass it on.",
    "init": "Write a recipe that adapts the shipped model to your documents.",
    "mark": "Write a sheet for each document, on which a reader marks what a summary should consist of.",
    "recipes": "List the recipes that come with sumpool, or print one.",
    "sample": "Print a bundled RFC as a model reads it.",
    "runs": "List runs, the newest first.",
    "use": "Choose the run that summarises by default.",
    "show": "Describe a run.",
    "import": "Import a pretrained BART, LED, Marian, mBART or PEGASUS.",
}
"""Commands in the order of the help, and the first line of the help of each."""
_MODULES = {"import": "import_model"}
"""Modules of commands with other names."""
ADVICE: Final = {
    "prepare": "prepare with fewer processes (--set data.workers=1) or a smaller data.vocabulary",
    "train": advise_smaller_batches(),
    "summarize": "select sentences without the model (--fast), or read less (--set summarize.batch_tokens=1024)",
    "evaluate": "read less at once (--set summarize.batch_tokens=1024)",
    "bench": "measure shorter documents (--length) or smaller batches (--set bench.batch=1)",
    "import": "close other programs, or import a smaller model",
    "export": "close other programs",
}
"""What to do about missing memory, by commands that load PyTorch."""
_LIBRARIES, _THREAD = 1 << 30, 256 << 20
"""Address space of PyTorch and the libraries beside it, and of each of its threads."""

_RESOURCE_EXIT = 6
_EMPTY = re.compile("--[a-z-]+=")
_LIMITS = {errno.EMFILE, errno.ENFILE, errno.EAGAIN}
_NO_THREAD = "can't start new thread"
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def load_command(name: str) -> Callable[..., None]:
    """Import the function of a command from `sumpool/cli/NAME.py`; those of all commands take most of the start."""
    name = _MODULES.get(name, name)
    command: Callable[..., None] = getattr(import_module(f"sumpool.cli.{name}"), name)
    return command


@final
class Commands(TyperGroup):
    """Group of commands whose functions are imported when they are called."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - as typer passes them
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()} | dict(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - types that typer keeps private
        """Return the command that is called, imported, with its name and arguments; `summarise` is `summarize`."""
        if args[0] == "summarise":
            args = ["summarize", *args[1:]]
        if args[0] in COMMANDS:
            own = typer.Typer(add_completion=False, rich_markup_mode=None)
            own.command(args[0])(load_command(args[0]))
            self.commands[args[0]] = typer.main.get_command(own)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="sumpool",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # keeps --help fast, and interprets no user input as markup
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command("help")
def show_help(
    context: typer.Context,
    command: Annotated[str | None, typer.Argument(metavar="[COMMAND]", help="Command, or recipe.")] = None,
    section: Annotated[
        str | None,
        typer.Argument(metavar="[SECTION]", help="Section, kind or setting of recipes: train, halving, train.steps."),
    ] = None,
) -> None:
    """Show the help of sumpool, of a command or of the settings of recipes.

    sumpool help recipe prints the reference of all settings as Markdown; with SECTION, of one.
    """
    if command == "recipe":
        from sumpool.cli.recipe_reference import describe, page

        typer.echo(wrapped(describe(section)) if section else page())
        return
    app([*([command] if command else []), "--help"], prog_name=context.find_root().info_name)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sumpool {__version__}")
        raise typer.Exit


@app.callback()
def sumpool(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error, and details; accepted anywhere.")
    ] = False,
) -> None:
    """Train summarisers for long documents from scratch, on your own data, on one machine or several.

    First steps: sumpool sample RFC2587 | sumpool summarize; sumpool train quickstart; sumpool init DATA for your own
    documents. The order of a project: init, prepare, train, summarize, evaluate, bench.
    """
    del version, debug  # both are handled before a command runs


def main() -> None:
    """Run the command line; errors show a traceback only with --debug."""
    arguments = sys.argv[1:]
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    debug = "--debug" in options
    command = next((word for word in options if not word.startswith("-")), "")
    if debug:  # show what the package logs, such as the precision that it has chosen
        import logging

        logger = logging.getLogger("sumpool")
        logger.setLevel(logging.DEBUG)
        logger.addHandler(logging.StreamHandler())
    gc.set_threshold(50_000)  # garbage collection takes an eighth of the import time and frees nothing
    atexit.register(gc.freeze)  # half a second for all objects of torch at the end of the process
    try:
        open_streams()
        empty = next((word for word in arguments if not word or (word in options and _EMPTY.fullmatch(word))), None)
        if empty is not None:
            raise RecipeError(f"no argument must be empty, got {empty!r} (is a variable of the shell not set?)")
        if "--fast" not in options:
            require_address_space(command)
        app([word for word in options if word != "--debug"] + arguments[len(options) :])
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        discard_output()
        print_message("standard output must be read to its end, but its reader has gone")
        sys.exit(READER_GONE)
    except Exception as error:
        code, message = explain(error, command)
        end_output()  # else the interpreter ends with a code of its own if the disk is full
        if debug:
            raise
        print_message(message)
        sys.exit(code)


def require_address_space(command: str) -> None:
    """Check the limit of address space, with too little of which libraries abort or loop instead of failing.

    Raises:
        ResourceError: If the limit is too low for the command.
    """
    if command not in ADVICE or sys.platform == "win32":
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    threads = int(wanted) if wanted.isdecimal() and wanted != "0" else os.cpu_count() or 1
    needed = _LIBRARIES + _THREAD * threads
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise ResourceError(
            f"the limit of address space must be at least {needed // 1024:,} KiB for sumpool {command}, got "
            f"{limit // 1024:,} KiB: raise it (ulimit -v), or use fewer threads (OMP_NUM_THREADS=1)"
        )


def explain(error: Exception, command: str = "") -> tuple[int, str]:
    """Return the exit code and the message of an error of a command."""
    if is_out_of_memory(error):
        place = f" in sumpool {command}" if command else ""
        advice = ADVICE.get(command, "close other programs")
        return _RESOURCE_EXIT, f"error: memory ran out{place} ({first_line(error)}); {advice}"
    match error:
        case Interrupted():
            return error.status, str(error)
        case SumpoolError():
            return error.exit_code, f"error: {error}".replace(str(SHIPPED), SHIPPED.name)
        case OSError() if error.errno in _NO_SPACE:
            where = f"{error.filename}: " if error.filename else ""
            size = getattr(error, "needed", 0)
            needed = f", {size:,} bytes or more are needed" if size else ""
            advice = "free some space and run the same command again"
            return _RESOURCE_EXIT, f"error: {where}{error.strerror}{needed}; {advice}"
        case OSError() | RuntimeError() if getattr(error, "errno", None) in _LIMITS or str(error) == _NO_THREAD:
            advice = "raise the limits of this process (ulimit -n, ulimit -u), or end other processes"
            return _RESOURCE_EXIT, f"error: {first_line(error)}; {advice}"
        case OSError() if error.errno == errno.ENAMETOOLONG:
            return 2, f"error: {error.filename} must be a shorter name, got one that the disk cannot hold"
        case OSError() if error.filename is not None:
            return 3, f"error: {error.filename}: {error.strerror}"
        case ModuleNotFoundError() if error.name == "torch":
            needs = f"sumpool {command} needs PyTorch, which is not installed"
            return RecipeError.exit_code, f"error: {needs}: pip install 'sumpool[torch]'"
    name = type(error).__name__
    return 1, f"error: {name}: {first_line(error)}; this is a bug in sumpool, run again with --debug to see where"


def open_streams() -> None:
    """Replace a closed stderr, and write characters that an encoding lacks as JSON escapes.

    Raises:
        RecipeError: If stdout is closed.
    """
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is None:  # its number is the lowest free one; else the next file that is opened gets it, and messages
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    codecs.register_error("json", _escape_unencodable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="json")
    if sys.stdout is None:
        raise RecipeError("standard output must be open, but it is closed: redirect it, such as to /dev/null")


def end_output() -> None:
    """Write what is still buffered for stdout, or discard it where it cannot be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        discard_output()


def _escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError), "streams of text are written only"
    return escape_characters(error.object[error.start : error.end]), error.end
