"""The server of tools, as a process that the client of the SDK starts."""

import asyncio
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import exit_code

SAMPLES = Path(__file__).parents[1] / "documents/formats/samples"


def _call(folder: Path, calls: Iterable[tuple[str, dict[str, str]]]) -> tuple[list[Any], list[tuple[str, bool]]]:
    """Tools of a server, and the answers to calls: text, and whether it is an error."""
    mcp = pytest.importorskip("mcp")

    async def run() -> tuple[list[Any], list[tuple[str, bool]]]:
        command = ["-m", "sumpool", "mcp", str(folder), "--model", "shipped"]
        process = mcp.StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        async with mcp.Client(process) as client:
            tools = (await client.list_tools()).tools
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
            return tools, [(result.content[0].text, result.is_error) for result in results]

    return asyncio.run(run())


def test_tools_summarise_and_give_evidence(tmp_path: Path) -> None:
    (tmp_path / "two.mbox").write_bytes(2 * b"From a@b Mon Jan  1 00:00:00 2024\nSubject: S\n\nHosts send packets.\n\n")
    (tmp_path / "report.pdf").write_bytes((SAMPLES / "pdf.pdf").read_bytes())
    (tmp_path / "link.txt").symlink_to(SAMPLES / "text.txt")
    tools, answers = _call(
        tmp_path,
        [
            ("summarise", {"path": "report.pdf", "length": "1s"}),
            ("evidence", {"path": str(tmp_path / "report.pdf"), "length": "1s"}),
            ("summarise", {"text": "Hosts send packets."}),
            ("summarise", {"path": "link.txt"}),
            ("summarise", {"path": "https://example.org/"}),
            ("evidence", {"text": "Hosts send packets.", "path": "report.pdf"}),
            ("evidence", {"path": "two.mbox"}),
            ("evidence", {"text": " "}),
            ("evidence", {"text": "Hosts send packets.", "length": "some"}),
        ],
    )
    assert [tool.name for tool in tools] == ["summarise", "evidence"]
    sentence = "A gateway forwards packets between networks, and drops those that are too long."
    assert answers[0] == (f"# On Gateways and Packets\n\n{sentence}", False) or answers[0] == (sentence, False)
    text, is_error = answers[1]
    assert text.endswith(f"- {sentence}\n\n## Evidence\n\n1. {sentence}\n    - 100% (page 1): {sentence}")
    assert not is_error
    assert answers[2] == ("Hosts send packets.", False)
    for (text, is_error), message in zip(
        answers[3:],
        (
            f"path must be a file of {tmp_path}, got link.txt",
            f"path must be a file of {tmp_path}, got https://example.org/",
            "a tool must be given path or text, got both or none",
            "two.mbox must be one document, got 2; pass the text of one",
            "the document must hold text, got none",
            "summarize.length must be",
        ),
        strict=True,
    ):
        assert is_error
        assert message in text


def test_folder_and_library_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("mcp", str(tmp_path / "none")) == 2
    assert "FOLDER must be a folder, got" in capsys.readouterr().err
    monkeypatch.setattr("sumpool.cli.mcp.find_spec", lambda _: None)
    assert exit_code("mcp") == 2
    assert "sumpool mcp must have mcp, which is not installed: pip install 'sumpool[mcp]'" in capsys.readouterr().err
