"""`sumpool mcp`: summaries and their evidence as tools of agents, over the Model Context Protocol."""

from functools import lru_cache
from importlib.util import find_spec
from json import dumps
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Final

import typer

from sumpool import __version__
from sumpool.cli.options import Run
from sumpool.documents.document import Document
from sumpool.documents.read import read_documents
from sumpool.errors import DataError, RecipeError, SumpoolError

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from sumpool.inference.pipeline import EvidenceKind, Pipeline

_LENGTHS: Final = 4
"""Lengths for which what has been loaded is kept."""
_INSTRUCTIONS: Final = (
    "Summaries consist of sentences of the document. Call evidence instead of summarise where a reader must be able to "
    "check them: it adds page or line, and what the document does not say."
)


def mcp(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Folder whose files may be read; the current one by default.")
    ] = Path(),
    model: Run = None,
) -> None:
    """Offer the tools summarise and evidence to agents, over the Model Context Protocol.

    An agent starts the command and speaks through standard input and output. It may pass texts, and files of FOLDER in
    any format that sumpool summarize reads. Needs the extra mcp: pip install sumpool[mcp].
    """
    if find_spec("mcp") is None:
        raise RecipeError("sumpool mcp must have mcp, which is not installed: pip install 'sumpool[mcp]'")
    if not folder.is_dir():
        raise RecipeError(f"FOLDER must be a folder, got {folder}; check the path")
    build_server(folder.resolve(), model).run()


def build_server(folder: Path, model: Path | None) -> "MCPServer":
    """Build the server.

    Args:
        folder: Folder whose files may be read.
        model: Run folder of the model; None takes what `choose_model` does.

    Raises:
        CheckpointError: If there is no model.
    """
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    from sumpool.inference.pipeline import Pipeline
    from sumpool.inference.rendering import Rendering
    from sumpool.inference.run_files import RunFiles, choose_model

    run, lock = choose_model(model), Lock()
    server = MCPServer("sumpool", instructions=_INSTRUCTIONS, version=__version__, log_level="ERROR")

    @lru_cache(_LENGTHS)
    def pipeline(length: str) -> "Pipeline":
        return Pipeline.open(RunFiles.open(run, [f"summarize.length={dumps(length)}"] if length else ()))

    def answer(path: str, text: str, length: str, evidence: "EvidenceKind | None") -> str:
        try:
            if bool(path) == bool(text):
                raise DataError("a tool must be given path or text, got both or none")
            document = Document("text", text)
            if path:
                file = (folder / path).resolve()
                if not file.is_relative_to(folder) or not file.is_file():
                    raise DataError(f"path must be a file of {folder}, got {path}")
                document, *others = read_documents(str(file))
                if others:
                    raise DataError(f"{path} must be one document, got {1 + len(others):,}; pass the text of one")
            with lock:  # a model computes for one caller at a time
                (summary,) = pipeline(length).summarize([document], evidence=evidence)
        except SumpoolError as error:
            raise ToolError(str(error)) from error
        if summary.reason:
            raise ToolError(summary.reason)
        notes = "".join(f"\n\nNote: {note}" for note in summary.notes)
        return Rendering("markdown", "bullets" if evidence else "paragraph").render(summary) + notes

    @server.tool()
    def summarise(path: str = "", text: str = "", length: str = "") -> str:
        """Summarise a document in its own sentences, whatever its length.

        Args:
            path: A file, such as a PDF, DOCX, HTML or Markdown file; relative to the folder of the server, or absolute.
            text: A text, instead of a file.
            length: 150w (words), 5s (sentences), 10% (of the document), short, medium or long; by default as needed.
        """
        return answer(path, text, length, None)

    @server.tool()
    def evidence(path: str = "", text: str = "", length: str = "") -> str:
        """Summarise a document and say where each sentence stands: page or line, and the sentences it comes from.

        Args:
            path: A file, such as a PDF, DOCX, HTML or Markdown file; relative to the folder of the server, or absolute.
            text: A text, instead of a file.
            length: 150w (words), 5s (sentences), 10% (of the document), short, medium or long; by default as needed.
        """
        return answer(path, text, length, "sources")

    return server
